//! Requests of a reply in a small window.

use super::*;

/// The tokens of a request, as the loop counts them.
fn tokens(seen: &Seen) -> usize {
    let bytes: usize = seen.messages.iter().map(|one| one.len() + 16).sum();
    (bytes + seen.system.len()) * 2 / 7
}

fn talk(exchanges: usize) -> Vec<Message> {
    (0..exchanges)
        .flat_map(|n| {
            [
                Message::user(format!("question {n}")),
                Message::assistant(format!("answer {n} {}", "word ".repeat(150))),
            ]
        })
        .collect()
}

#[test]
fn what_was_said_first_is_left_out_when_the_window_is_full() {
    let run = run(Case {
        window: 1_500,
        tools: &[],
        history: talk(20),
        turns: vec![Turn::Text("Yes.")],
        ..small()
    });
    assert_eq!(run.answer(), "Yes.");
    let seen = run.seen(0);
    assert!(tokens(&seen[0]) < 1_500, "{}", tokens(&seen[0]));
    assert_eq!(seen[0].roles()[0], "user");
    assert_eq!(seen[0].last(), "what do the notes say");
    let said = |text: &str| {
        let mut all = seen[0].messages.iter();
        all.any(|one| matches!(one, Message::User(user) if user.text == text))
    };
    assert!(said("question 19") && !said("question 0"));
    assert!(run.trace().contains("earlier messages left out"));
}

#[test]
fn results_that_are_too_large_together_are_shortened_and_stay_with_their_calls() {
    let reads = || {
        let call = |path: &'static str| ("read_note", json!({"path": path}));
        Turn::Calls(vec![call("all-keys.md"), call("long.md"), call("film.md")])
    };
    let run = run(Case {
        window: 1_000,
        history: talk(3),
        turns: vec![reads(), Turn::Text("Done.")],
        ..Case::default()
    });
    assert_eq!(run.answer(), "Done.");
    let seen = run.seen(1);
    assert!(tokens(&seen[1]) < 1_000, "{}", tokens(&seen[1]));
    assert_eq!(
        seen[1].roles(),
        ["user", "assistant", "tool", "tool", "tool"]
    );
    let results = outputs(&seen[1].messages);
    assert!(results[0].text.contains("whole is in "), "{results:?}");
    assert!(results[2].text.contains("Mira Okafor"));
}

#[test]
fn a_reply_found_too_long_is_asked_for_once_more_with_less() {
    let run = run(Case {
        history: talk(20),
        turns: vec![Turn::TooLong, Turn::Text("Yes.")],
        ..small()
    });
    assert_eq!(run.answer(), "Yes.");
    let seen = run.seen(1);
    assert!(seen[1].messages.len() < seen[0].messages.len());
    drop(seen);
    let run = run_small(vec![Turn::TooLong]);
    assert_eq!(run.requests(), 1, "there is nothing to leave out");
}
