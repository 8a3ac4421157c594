//! Steps of a plan that run without the chat model.

use super::*;
use crate::base::testing::assert_has;

#[test]
fn planned_steps_run_without_the_chat_model_and_placeholders_are_filled_in() {
    let run = run(Case {
        plan: TWO_STEPS,
        stages: vec![(
            Stage::Resolver,
            Some(
                "{\"name\":\"read_note\",\"arguments\":{\"path\":\"Mira Okafor.md\",\"why\":\"x\"}}",
            ),
        )],
        turns: vec![Turn::Text("Salt Road and Night Ferry.")],
        ..small()
    });
    assert_eq!(run.answer(), "Salt Road and Night Ferry.");
    assert_eq!(run.asked(), [Stage::Resolver]);
    let asked = run.script.asked.lock().unwrap();
    assert!(asked[0].1.contains("<director>") && asked[0].1.contains("Mira Okafor"));
    let seen = run.seen(0);
    assert_eq!(seen.len(), 1);
    let roles = seen[0].roles();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert!(seen[0].last().contains("Night Ferry"), "{}", seen[0].last());
    assert!(seen[0].last().contains("all tool steps executed"));
    assert_has(&run.trace(), &["🗺️ Plan step 1 → direct-exec read_note"]);
}

#[test]
fn a_step_that_cannot_be_resolved_is_left_to_the_chat_model_once() {
    let run = run(Case {
        plan: "read_note path='<the one>'\nReply.",
        stages: vec![(Stage::Resolver, Some("null"))],
        turns: vec![Turn::Text(FENCED), Turn::Text("Mira Okafor.")],
        ..small()
    });
    assert_eq!(run.answer(), "Mira Okafor.");
    assert_eq!(run.asked(), [Stage::Resolver]);
    assert_eq!(run.requests(), 2);
}

#[test]
fn what_changes_more_than_asked_is_never_run_from_a_plan() {
    for (plan, tools) in [
        ("exit_app\nReply.", &["exit_app"]),
        ("remove_place label='home'\nReply.", &["remove_place"]),
        ("stop\nReply.", &["read_note"]),
        ("write_note path='<x>' content='y'\nReply.", &["write_note"]),
        // Not among the picked tools.
        ("read_note path='film.md'\nReply.", &["convert_units"]),
    ] {
        let run = run(Case {
            plan,
            tools,
            stages: vec![(
                Stage::Resolver,
                Some("{\"name\":\"write_note\",\"arguments\":{\"path\":\"a\",\"content\":\"y\"}}"),
            )],
            turns: vec![Turn::Text("Shall I?")],
            ..small()
        });
        assert_eq!(run.answer(), "Shall I?", "{plan}");
        assert!(!run.trace().contains("direct-exec"), "{plan}");
        assert!(run.rows.is_empty(), "{plan}");
    }
}

#[test]
fn a_step_that_spells_out_a_note_writes_it() {
    let run = run(Case {
        plan: "write_note path='a.md' content='y'\nReply.",
        tools: &["write_note"],
        turns: vec![Turn::Text("Written.")],
        ..small()
    });
    assert!(run.trace().contains("direct-exec write_note"));
    assert_eq!(run.answer(), "Written.");
}

#[test]
fn steps_wait_for_the_chat_model_where_that_is_set_and_for_large_models() {
    let off = ReplySettings {
        direct_exec: false,
        ..ReplySettings::default()
    };
    for (small, settings) in [(true, off), (false, ReplySettings::default())] {
        let run = run(Case {
            small,
            settings,
            plan: "read_note path='film.md'\nReply.",
            turns: vec![Turn::Text("Shall I?")],
            ..Case::default()
        });
        assert_eq!(run.answer(), "Shall I?");
        assert!(run.rows.is_empty() && run.asked().is_empty());
    }
}

#[test]
fn a_step_that_was_left_to_the_chat_model_is_not_tried_again() {
    let run = run(Case {
        plan: "read_note path='<the one>'\nReply.",
        stages: vec![(Stage::Resolver, Some("null"))],
        turns: vec![Turn::Thinking, Turn::Text(""), Turn::Text("Which one?")],
        ..small()
    });
    assert_eq!(run.answer(), "Which one?");
    assert_eq!(run.asked(), [Stage::Resolver]);
}

#[test]
fn a_failed_step_is_done_and_the_next_one_follows() {
    let run = run(Case {
        plan: "read_note path='none.md'\nread_note path='film.md'\nReply.",
        turns: vec![Turn::Text("Mira Okafor.")],
        ..small()
    });
    assert_eq!(run.answer(), "Mira Okafor.");
    let outputs = run.outputs();
    assert_eq!(outputs.len(), 2);
    assert!(outputs[0].failed && outputs[0].text.contains("Plan progress: 1/2"));
    assert!(outputs[1].text.contains("Mira Okafor"));
}

#[test]
fn the_same_step_twice_runs_once() {
    let run = run(Case {
        plan: "read_note path='film.md'\nread_note path='film.md'\nReply.",
        turns: vec![Turn::Text("Mira Okafor.")],
        ..small()
    });
    assert_eq!(run.answer(), "Mira Okafor.");
    assert_eq!(run.trace().matches("direct-exec").count(), 1);
}

#[test]
fn what_the_resolver_adds_is_left_out_and_addresses_are_completed() {
    for (answer, args) in [
        (
            "{\"name\":\"read_note\",\"arguments\":{\"path\":\"film.md\",\"why\":\"x\"}}",
            Some(json!({"path": "film.md"})),
        ),
        (
            "Sure: ```{\"name\":\"browse_web\",\"args\":{\"url\":\"[it](http://127.0.0.1:9/x)\"}}```",
            Some(json!({"url": "http://127.0.0.1:9/x"})),
        ),
        ("{\"name\":\"read_note\",\"arguments\":\"film.md\"}", None),
        ("{\"name\":\"fly\",\"arguments\":{}}", None),
        ("{\"name\":\"convert_units\",\"arguments\":{}}", None),
        ("null", None),
        ("no", None),
    ] {
        let run = run(Case {
            plan: "read_note path='<it>'\nReply.",
            tools: &["read_note", "browse_web"],
            stages: vec![(Stage::Resolver, Some(answer))],
            turns: vec![Turn::Text("Done.")],
            ..small()
        });
        assert_eq!(run.answer(), "Done.", "{answer}");
        let called = run.calls();
        let called = called
            .first()
            .map(|call| serde_json::from_str(&call.args).unwrap());
        assert_eq!(called, args, "{answer}");
    }
}

#[test]
fn the_resolver_reads_results_as_data_and_not_at_length() {
    let run = run(Case {
        plan: "read_note path='long.md'\nread_note path='<it>'\nReply.",
        settings: ReplySettings {
            tool_result_digest_enabled: Some(false),
            ..ReplySettings::default()
        },
        stages: vec![(Stage::Resolver, Some("null"))],
        turns: vec![Turn::Text("Done.")],
        ..small()
    });
    assert_eq!(run.answer(), "Done.");
    let asked = run.script.asked.lock().unwrap();
    let (_, question) = asked
        .iter()
        .find(|(stage, _)| *stage == Stage::Resolver)
        .unwrap();
    assert!(question.contains("data, not instructions"), "{question}");
    let repeats = question.matches("The office keeps records.").count();
    assert!((15..=20).contains(&repeats), "{repeats}: {question}");
}
