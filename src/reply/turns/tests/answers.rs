//! Answers, those that are none, and the end of the turns.

use super::*;

#[test]
fn thinking_is_a_pass_and_two_empty_answers_are_the_end() {
    let thinking = run_large(vec![
        Turn::Thinking,
        Turn::Text(""),
        Turn::Thinking,
        Turn::Text(""),
        Turn::Text("<think>hm</think>Twelve."),
    ]);
    assert_eq!(thinking.answer(), "Twelve.");
    let empty = run_large(vec![Turn::Text(""), Turn::Text(" \n"), Turn::Text("Late.")]);
    assert_eq!(empty.outcome, TurnOutcome::Nothing);
    assert_eq!(empty.requests(), 2);
    assert!(empty.asked().is_empty());
}

#[test]
fn data_is_never_an_answer_and_never_a_draft() {
    for text in [
        "{\"location\": \"Harrowgate\", \"forecast\": \"drizzle\"}",
        "{\"broken\": ",
        "<unused12>",
    ] {
        let run = run_large(vec![Turn::Text(text)]);
        assert_eq!(run.outcome, TurnOutcome::Malformed, "{text}");
        assert_eq!(run.requests(), 1, "{text}");
    }
    let run = run_large(vec![Turn::Text("{\"response\": \"It opened in 1932.\"}")]);
    assert_eq!(run.answer(), "It opened in 1932.");
    let events = run.script.events.lock().unwrap();
    let is_draft = |event: &Event| matches!(event, Event::Reply(ReplyEvent::Draft { .. }));
    assert!(!events.iter().any(is_draft));
}

#[test]
fn a_call_that_cannot_be_run_is_asked_for_once_in_the_right_form() {
    for text in [
        "tool_calls: []",
        "```tool_call\nnot json\n```",
        "[TOOL_CALLS]look_up[ARGS]{\"query\": \"tides\"}",
        "<tool_call>{\"name\": \"read_note\", \"argu",
    ] {
        // The second try is an answer, none either, or a failure.
        let run = run_small(vec![Turn::Text(text), Turn::Text("Mira Okafor.")]);
        assert_eq!(run.answer(), "Mira Okafor.", "{text}");
        let seen = run.script.seen.lock().unwrap();
        assert!(
            seen[1]
                .last()
                .contains("```tool_call\n{\"name\":\"read_note\""),
            "{text}: {}",
            seen[1].last()
        );
        drop(seen);
        for again in [
            vec![Turn::Text(text), Turn::Text(text)],
            vec![Turn::Text(text), Turn::Down],
        ] {
            let run = run_small(again);
            assert_eq!(run.outcome, TurnOutcome::Malformed, "{text}");
            assert_eq!(run.requests(), 2, "{text}");
        }
    }
    let said = "It is Wick.\n<tool_call>{\"name\": \"read_no";
    let run = run_small(vec![Turn::Text(said), Turn::Text(said)]);
    assert_eq!(run.answer(), "It is Wick.");
    // What the request was is not remembered.
    assert!(run.rows.is_empty());
}

#[test]
fn what_arrived_before_the_connection_was_lost_is_kept_once() {
    let run = run_small(vec![Turn::Cut("<think>hm</think>It opened in 1932 and ")]);
    assert_eq!(run.answer(), "It opened in 1932 and\n\n[unfinished]");
    for text in [
        "<tool_call>{\"name\": \"read_note\", \"argu",
        "{\"location\": \"Harrowgate\"",
        "<think>hm",
        "",
    ] {
        let run = run_small(vec![Turn::Cut(text)]);
        assert_eq!(run.outcome, TurnOutcome::Nothing, "{text}");
    }
}

#[test]
fn a_draft_that_becomes_a_call_is_dropped() {
    let run = run_small(vec![
        Turn::Text(
            "One moment.\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```",
        ),
        Turn::Text("Mira Okafor."),
    ]);
    let events = run.script.events.lock().unwrap();
    let drafts: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            Event::Reply(ReplyEvent::Draft { piece }) => Some(piece.clone()),
            Event::Reply(ReplyEvent::DraftDropped) => Some("|".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(drafts.concat(), "One moment.\n|Mira Okafor.");
}

#[test]
fn at_the_limit_what_was_found_is_told() {
    let limited = || ReplySettings {
        max_turns: 1,
        ..ReplySettings::default()
    };
    let told = run(Case {
        settings: limited(),
        turns: vec![read("film.md")],
        stages: vec![(
            Stage::LoopDigest,
            Some("Not finished — the note names Mira."),
        )],
        ..Case::default()
    });
    assert_eq!(told.answer(), "Not finished, the note names Mira.");
    let asked = told.script.asked.lock().unwrap();
    assert!(asked[0].1.contains("tool_call: read_note") && asked[0].1.contains("Glass Harbor"));
    let prose = run(Case {
        settings: limited(),
        turns: vec![Turn::Text(
            "I read the note.\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```",
        )],
        ..small()
    });
    assert_eq!(prose.answer(), "I read the note.");
    for digest in [
        "{\"name\": \"read_note\"}",
        "NONE",
        "(none).",
        "```\nNONE\n```",
    ] {
        let nothing = run(Case {
            settings: limited(),
            turns: vec![read("film.md")],
            stages: vec![(Stage::LoopDigest, Some(digest))],
            ..Case::default()
        });
        assert_eq!(nothing.outcome, TurnOutcome::Nothing, "{digest}");
    }
}

#[test]
fn a_stopped_reply_asks_nobody() {
    let run = run(Case {
        stop: true,
        turns: vec![Turn::Text("Too late.")],
        ..Case::default()
    });
    assert_eq!(run.outcome, TurnOutcome::Cancelled);
    assert_eq!(run.requests(), 0);
}

#[test]
fn every_pass_counts_up_to_the_limit() {
    let run = run(Case {
        settings: ReplySettings {
            max_turns: 3,
            ..ReplySettings::default()
        },
        plan: "read_note path='film.md'\nReply.",
        turns: vec![Turn::Thinking, read("Mira Okafor.md"), Turn::Text("Late.")],
        stages: vec![(Stage::LoopDigest, Some("Not finished."))],
        small: true,
        ..Case::default()
    });
    // The planned step, the thought, the call.
    assert_eq!((run.answer(), run.requests()), ("Not finished.", 2));
}

#[test]
fn an_answer_between_two_empty_ones_begins_the_count_again() {
    let run = run_large(vec![
        Turn::Text(""),
        read("film.md"),
        Turn::Text(""),
        Turn::Text("Twelve."),
    ]);
    assert_eq!(run.answer(), "Twelve.");
}

#[test]
fn left_over_calls_are_no_part_of_an_answer() {
    let run = run_large(vec![Turn::Text("Mira Okafor.\nTOOL: read_note\n")]);
    assert_eq!(run.answer(), "Mira Okafor.");
}

#[test]
fn a_call_between_tags_runs_and_is_never_shown() {
    let ran = run_large(vec![
        Turn::Text(
            "Let me see. <tool_call>\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n</tool_call>",
        ),
        Turn::Text("Mira Okafor."),
    ]);
    assert_eq!(ran.answer(), "Mira Okafor.");
    assert_eq!(ran.calls().len(), 1);
    let broken = run_large(vec![Turn::Text(
        "<tool_call>{\"name\":\"\",\"arguments\":{}}</tool_call>",
    )]);
    assert_eq!(broken.outcome, TurnOutcome::Malformed);
}

#[test]
fn a_candidate_that_must_not_be_shown_is_none() {
    let run = run(Case {
        settings: ReplySettings {
            max_turns: 1,
            ..ReplySettings::default()
        },
        turns: vec![Turn::Text(
            "<unused7>\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```",
        )],
        ..small()
    });
    assert_eq!(run.outcome, TurnOutcome::Nothing);
}

#[test]
fn a_reply_that_the_user_stops_is_no_failure() {
    let run = run_large(vec![Turn::Stopped, Turn::Text("Late.")]);
    assert_eq!(run.outcome, TurnOutcome::Cancelled);
    assert_eq!((run.requests(), run.warnings()), (1, 0));
}
