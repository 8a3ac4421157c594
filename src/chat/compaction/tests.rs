//! Compaction of conversations of every shape: what stays, and that it fits.

use proptest::prelude::*;

use super::*;
use crate::base::testing::assert_has;
use crate::chat::message::{Assistant, ToolCall, ToolOutput};
use crate::chat::repair::repair;
use crate::chat::tokens::TokenMeter;

const WHOLE: &str = ".marvin/logs/context-backup-1.jsonl";

fn calls(ids: &[String], args: &str) -> Message {
    let call = |id: &String| ToolCall::new(id.clone(), "tree", args);
    Message::Assistant(Assistant::new("", ids.iter().map(call).collect()))
}

fn result(id: &str, text: impl Into<String>) -> Message {
    Message::Tool(ToolOutput::ok(id, "tree", text))
}

/// A token for every three bytes.
fn thirds(text: &str) -> u64 {
    text.len().div_ceil(3) as u64
}

fn tokens(messages: &[Message]) -> u64 {
    let meter = TokenMeter::new(thirds);
    messages.iter().map(|message| meter.count(message)).sum()
}

/// Compacts for a window of `window` tokens; false when there was nothing to do.
fn compact_for(talk: &mut Vec<Message>, window: u64) -> bool {
    let meter = TokenMeter::new(thirds);
    let counts: Vec<u64> = talk.iter().map(|message| meter.count(message)).collect();
    let goal = CompactionGoal::new(ContextBudget::for_window(window), 0);
    let Some(plan) = plan(talk, &counts, goal) else {
        return false;
    };
    apply(
        talk,
        plan,
        goal,
        WHOLE,
        &|message| meter.count(message),
        |_| None,
        None,
    );
    true
}

fn compact(talk: &mut Vec<Message>) {
    assert!(compact_for(talk, 1_000_000));
}

#[test]
fn the_cut_never_separates_a_result_from_its_call() {
    let ids = ["1".to_owned(), "2".to_owned()];
    let mut talk = vec![Message::user("start"), calls(&ids, "{}")];
    talk.extend([result("1", "ok"), result("2", "ok")]);
    talk.extend((0..7).map(|i| Message::assistant(format!("step {i}"))));
    let short = talk.clone();
    talk.extend((0..3).map(|i| Message::assistant(format!("later {i}"))));
    compact(&mut talk);
    assert_eq!(talk.len(), 10);
    assert_eq!(talk[2], Message::assistant("step 2"));
    assert!(
        !compact_for(&mut short.clone(), 1_000_000),
        "the calls stay with their results"
    );
}

#[test]
fn the_task_stays_first_and_whole() {
    let mut talk: Vec<Message> = (0..20)
        .flat_map(|n| {
            [
                Message::user(format!("question {n}")),
                Message::assistant(format!("answer {n}")),
            ]
        })
        .collect();
    talk.push(Message::user("the last one"));
    let last: Vec<Message> = talk[33..].to_vec();
    compact(&mut talk);
    assert_eq!(talk[0], Message::user("question 16"));
    assert!(is_summary(&talk[1]));
    assert_eq!(talk[2..], last);
    // A log that begins with an answer is extended back to a question.
    let mut talk: Vec<Message> = (0..3)
        .map(|n| Message::assistant(format!("answer {n}")))
        .chain((0..8).map(|n| Message::user(format!("question {n}"))))
        .collect();
    compact(&mut talk);
    assert_eq!(talk[0], Message::user("question 0"));
    assert_eq!(talk.len(), 9);
    assert!(
        !compact_for(&mut talk, 1_000_000),
        "a summary alone is not summarised again"
    );
}

#[test]
fn fewer_than_eight_stay_when_eight_do_not_fit() {
    let mut talk = vec![Message::user("read everything")];
    for n in 0..6 {
        talk.push(calls(&[n.to_string()], "{}"));
        talk.push(result(&n.to_string(), "word ".repeat(3_000)));
    }
    let newest = talk[11..].to_vec();
    assert!(compact_for(&mut talk, 20_000));
    assert_eq!(talk[0], Message::user("read everything"));
    assert!(is_summary(&talk[1]));
    assert_eq!(
        talk[talk.len() - 2..],
        newest,
        "the newest round stays whole"
    );
    assert!(talk.len() < 8, "{}", talk.len());
}

#[test]
fn a_round_too_large_by_itself_is_shortened_and_names_the_file() {
    let mut talk = vec![
        Message::user("read it"),
        calls(&["1".to_owned(), "2".to_owned()], "{\"path\":\"src\"}"),
        result("1", format!("begin {} end", "word ".repeat(20_000))),
        result("2", "short"),
    ];
    assert!(compact_for(&mut talk, 10_000));
    assert!(tokens(&talk) <= 8_800);
    assert_eq!(talk.len(), 4);
    assert_eq!(talk[3], result("2", "short"));
    let Message::Tool(output) = &talk[2] else {
        panic!()
    };
    assert!(output.text.starts_with("begin ") && output.text.ends_with(" end"));
    assert!(output.text.contains(&format!("the whole is in {WHOLE}.]")));
}

#[test]
fn an_answer_larger_than_the_window_is_shortened_beside_the_next_message() {
    let mut talk = vec![
        Message::user("write a book"),
        Message::assistant(format!("Chapter 1. {} The end.", "word ".repeat(50_000))),
        Message::user("go on"),
    ];
    assert!(compact_for(&mut talk, 40_000));
    assert_eq!(talk[0], Message::user("write a book"));
    assert_eq!(talk[2], Message::user("go on"));
    assert!(
        matches!(&talk[1], Message::Assistant(a) if a.text.starts_with("Chapter 1.") && a.text.ends_with("The end."))
    );
}

#[test]
fn a_message_that_fills_the_window_leaves_room_for_nothing_else() {
    let paste = "word ".repeat(5_000);
    let mut talk = vec![
        Message::user("hello"),
        Message::assistant("word ".repeat(2_000)),
        Message::user(&paste),
    ];
    assert!(compact_for(&mut talk, 10_000));
    assert_eq!(
        talk[0],
        Message::user(&paste),
        "what was not answered yet stays whole"
    );
    assert!(tokens(&talk) <= 8_800);
}

#[test]
fn a_task_over_the_limit_is_clipped_once() {
    let mut talk = vec![Message::user("é".repeat(MAX_TASK_CHARS + 1))];
    let mut texts = Vec::new();
    for _ in 0..2 {
        talk.extend((0..12).map(|i| Message::assistant(format!("step {i}"))));
        compact(&mut talk);
        let Some(Message::User(user)) = talk.first() else {
            panic!()
        };
        texts.push(user.text.clone());
    }
    assert_eq!(texts[0], texts[1]);
    assert!(texts[0].starts_with(&"é".repeat(MAX_TASK_CHARS)));
    assert!(texts[0].ends_with(&format!("the whole is in {WHOLE}.]")));
}

#[test]
fn the_task_survives_any_number_of_compactions() {
    let task = format!("port the parser; {} and keep its tests", "x".repeat(500));
    let mut talk = vec![Message::user(&task)];
    for round in 0..60 {
        talk.extend((0..12).map(|i| Message::assistant(format!("step {round}.{i}"))));
        compact(&mut talk);
        assert_eq!(talk.first(), Some(&Message::user(&task)), "{round}");
    }
    let Some(Message::System { text }) = talk.get(1) else {
        panic!()
    };
    assert_has(
        text,
        &["- assistant: step 0.0\n", "- assistant: step 59.3\n"],
    );
    assert!(text.contains(" more)\n") && text.len() < 12_500);
    assert_eq!(text.matches("were moved to").count(), 1);
}

#[test]
fn a_level_shares_the_room() {
    assert_eq!(water_level(&[10, 20, 30], 60), u64::MAX);
    assert_eq!(water_level(&[10, 500, 500], 210), 100);
    assert_eq!(water_level(&[500], 7), 7);
    assert_eq!(water_level(&[], 7), u64::MAX);
}

/// A message or a round as it may stand in a conversation.
#[derive(Debug, Clone)]
enum Part {
    User(usize),
    System(usize),
    Answer(usize),
    Round(Vec<usize>, usize),
}

fn part() -> impl Strategy<Value = Part> {
    let size = || prop_oneof![4 => 0..400usize, 2 => 0..20_000usize, 1 => 0..300_000usize];
    prop_oneof![
        1 => size().prop_map(Part::User),
        1 => (0..2_000usize).prop_map(Part::System),
        2 => (1..100_000usize).prop_map(Part::Answer),
        4 => (proptest::collection::vec(size(), 1..5), size()).prop_map(|(results, args)| Part::Round(results, args)),
    ]
}

fn talk_of(parts: &[Part]) -> Vec<Message> {
    let text = |size: usize| "größe, ".repeat(size / 8 + 1);
    let mut talk = vec![Message::user("The task of it all.")];
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::User(size) => talk.push(Message::user(format!("task {at} {}", text(*size)))),
            Part::System(size) => talk.push(Message::System { text: text(*size) }),
            Part::Answer(size) => talk.push(Message::assistant(text(*size))),
            Part::Round(results, args) => {
                let id = |n: usize| format!("{at}-{n}");
                let ids: Vec<String> = (0..results.len()).map(id).collect();
                let args = serde_json::json!({"path": "src", "content": text(*args)});
                talk.push(calls(&ids, &args.to_string()));
                let texts = results.iter().enumerate();
                talk.extend(texts.map(|(n, size)| result(&id(n), text(*size))));
            }
        }
    }
    talk
}

proptest! {
    #[test]
    fn a_compacted_conversation_fits_and_is_one_that_providers_take(
        parts in proptest::collection::vec(part(), 0..40),
        window in 3_000..300_000u64,
    ) {
        let before = talk_of(&parts);
        let limit = ContextBudget::for_window(window).compact;
        let open = open_task(&before).map(|at| before[at].clone());
        let meter = TokenMeter::new(thirds);
        // A task that alone exceeds the window is refused before.
        prop_assume!(open.as_ref().is_none_or(|open| meter.count(open) <= limit));
        let mut talk = before.clone();
        let changed = compact_for(&mut talk, window);
        prop_assert_eq!(changed, talk != before);
        prop_assert!(tokens(&talk) <= limit, "{} of {} tokens", tokens(&talk), limit);
        prop_assert!(matches!(talk.first(), Some(Message::User(_))));
        prop_assert_eq!(repair(&mut talk.clone()), 0);
        if let Some(open) = &open {
            prop_assert!(talk.contains(open), "what was not answered yet stays whole");
        }
        let newest = |talk: &[Message]| {
            talk.iter().rev().find_map(|message| match message {
                Message::Assistant(one) if !one.calls.is_empty() => Some(one.calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>()),
                _ => None,
            })
        };
        let is_round_last = open.is_none() && matches!(before.last(), Some(Message::Tool(_)));
        if is_round_last {
            prop_assert_eq!(newest(&talk), newest(&before), "the newest round stays");
        }
        // The task that the newest round works on.
        let task = before.iter().rfind(|message| is_user(message));
        if let (Some(Message::User(task)), None) = (task, &open) {
            let begin = task.text.chars().take(20).collect::<String>();
            let is_kept = talk.iter().any(|message| matches!(message, Message::User(user) if user.text.starts_with(&begin)));
            prop_assert!(is_kept, "{}", begin);
        }
        // It is stable: what fits is left alone, apart from what can still be summarised.
        let mut again = talk.clone();
        compact_for(&mut again, window);
        prop_assert!(tokens(&again) <= limit);
    }
}
