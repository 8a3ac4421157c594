//! Calls of the chat model, and what becomes of them.

use super::*;
use crate::base::testing::assert_has;
use crate::reply::testing::catalogue;
use crate::reply::tools::catalogue::TOOL_SEARCH;
use crate::tools::engine::approval::ApprovalRequest;

#[test]
fn a_large_model_makes_its_calls_itself_and_gets_no_nudges() {
    let run = run(Case {
        plan: "read_note path='film.md'\nReply.",
        turns: vec![
            Turn::Calls(vec![
                ("read_note", json!({"path": "film.md"})),
                ("read_note", json!({"path": "none.md"})),
            ]),
            Turn::Text("Mira Okafor."),
        ],
        ..Case::default()
    });
    assert_eq!(run.answer(), "Mira Okafor.");
    let seen = run.seen(1);
    assert_eq!(
        seen[0].tools,
        ["read_note", "convert_units", "stop", "tool_search"]
    );
    assert_eq!(seen[1].roles(), ["user", "assistant", "tool", "tool"]);
    let results = outputs(&seen[1].messages);
    assert!(results[0].text.contains("Mira") && !results[0].failed);
    assert!(results[1].failed && !results[1].text.contains("Plan progress"));
    assert!(run.trace().contains("❌ read_note error:"));
}

#[test]
fn a_server_that_refuses_tools_is_asked_without_them_and_remembered() {
    let run = run_large(vec![
        Turn::Status(400),
        Turn::Text(FENCED),
        Turn::Text("Mira."),
    ]);
    assert_eq!(run.answer(), "Mira.");
    assert!(!run.script.takes_tools());
    let seen = run.seen(2);
    assert!(!seen[0].tools.is_empty() && seen[1].tools.is_empty());
    assert!(seen[0].system.starts_with("Native") && seen[1].system.starts_with("Text"));
    assert!(seen[2].last().starts_with("[Tool result: read_note]\n"));
}

#[test]
fn a_server_that_refuses_both_has_another_reason() {
    let run = run_large(vec![Turn::Status(400), Turn::Status(400)]);
    assert_eq!(run.outcome, TurnOutcome::Nothing);
    assert!(run.script.takes_tools());
    assert_eq!(run.requests(), 2);
}

#[test]
fn other_failures_leave_the_loop_at_once() {
    for turn in [Turn::Status(500), Turn::Status(422), Turn::Down] {
        let run = run_large(vec![turn]);
        assert_eq!(run.outcome, TurnOutcome::Nothing);
        assert_eq!(run.requests(), 1);
    }
}

#[test]
fn another_model_may_take_over_until_something_was_written() {
    let takes_over = run(Case {
        has_successor: true,
        turns: vec![
            Turn::Calls(vec![("read_note", json!({"path": "film.md"}))]),
            Turn::Down,
            Turn::Text("Mira Okafor."),
        ],
        ..Case::default()
    });
    assert_eq!(takes_over.answer(), "Mira Okafor.");
    assert_eq!((takes_over.requests(), takes_over.warnings()), (3, 0));
    let wrote = run(Case {
        has_successor: true,
        tools: &["write_note"],
        turns: vec![
            Turn::Calls(vec![(
                "write_note",
                json!({"path": "a.md", "content": "b"}),
            )]),
            Turn::Down,
            Turn::Text("Again."),
        ],
        ..Case::default()
    });
    assert_eq!(wrote.outcome, TurnOutcome::Nothing);
    assert_eq!((wrote.requests(), wrote.warnings()), (2, 1));
    let both = run(Case {
        has_successor: true,
        turns: vec![Turn::Down, Turn::Down],
        ..Case::default()
    });
    assert_eq!(both.outcome, TurnOutcome::Nothing);
    let events = both.script.events.lock().unwrap();
    let told = events.iter().find_map(|event| match event {
        Event::Notice(_, words) => Some(words.as_str()),
        _ => None,
    });
    assert!(
        told.is_some_and(|told| told.contains("Copilot failed too")),
        "{told:?}"
    );
}

#[test]
fn several_written_calls_run_in_order_and_each_is_nudged() {
    let run = run(Case {
        parts: &["what the film note says", "what the other note says"],
        turns: vec![
            Turn::Text(
                "Let me see.\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"film.md\"}}\n```\n```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"Mira Okafor.md\"}}\n```",
            ),
            Turn::Text("Both."),
        ],
        ..small()
    });
    assert_eq!(run.answer(), "Both.");
    let seen = run.seen(1);
    assert_eq!(seen[1].roles(), ["user", "assistant", "user", "user"]);
    let texts: Vec<&str> = seen[1]
        .messages
        .iter()
        .filter_map(|row| match row {
            Message::User(user) => Some(user.text.as_str()),
            _ => None,
        })
        .collect();
    assert!(texts[1].contains("answered 1 of 2 parts"), "{}", texts[1]);
    assert!(texts[2].contains("Night Ferry") && !texts[2].contains("answered"));
}

#[test]
fn refusals_are_results_and_never_failures() {
    let run = run_large(vec![
        Turn::Calls(vec![("bookmark_list", json!({}))]),
        read("film.md"),
        Turn::Calls(vec![
            ("read_note", json!({"path": "film.md"})),
            ("readNote", json!({"path": "Mira Okafor.md"})),
            ("read_note", json!({"path": "Mira Okafor.md"})),
        ]),
        Turn::Text("Done."),
    ]);
    assert_eq!(run.answer(), "Done.");
    let seen = run.seen(3);
    assert!(seen[1].last().contains("bookmark_list") && seen[1].last().contains("read_note"));
    assert!(seen[2].last().contains("Mira Okafor"));
    let outputs = run.outputs();
    assert_eq!(outputs.len(), 5);
    assert!(outputs.iter().all(|output| !output.failed));
    assert!(outputs[2].text.contains("already called"));
    assert!(outputs[3].text.contains("Night Ferry"));
    assert!(outputs[4].text.contains("already called"));
}

#[test]
fn found_tools_can_be_called_from_the_next_request_on() {
    let search = || Turn::Calls(vec![(TOOL_SEARCH, json!({"query": "read a note"}))]);
    let found = run(Case {
        tools: &["convert_units"],
        found: Some(&["read_note", "no_such_tool"]),
        turns: vec![search(), read("film.md"), Turn::Text("Mira.")],
        ..Case::default()
    });
    assert_eq!(found.answer(), "Mira.");
    {
        let seen = found.seen(2);
        assert_eq!(
            seen[1].tools,
            ["convert_units", "read_note", "stop", "tool_search"]
        );
        assert!(seen[1].last().contains("read_note: ") && !seen[1].last().contains("no_such"));
        assert!(seen[2].last().contains("Mira Okafor"));
        assert!(found.trace().contains("🔧 Discovered 1 tool(s): read_note"));
    }
    let nothing = run(Case {
        tools: &["convert_units"],
        turns: vec![search(), Turn::Text("No tool.")],
        ..Case::default()
    });
    assert_eq!(nothing.seen(1)[1].tools.len(), 3);
    assert!(nothing.trace().contains("🔍 No new tools found"));
}

#[test]
fn stop_ends_the_reply_at_once() {
    for turn in [
        Turn::Calls(vec![
            ("stop", json!({})),
            ("read_note", json!({"path": "film.md"})),
        ]),
        Turn::Text("```tool_call\n{\"name\": \"stop\", \"arguments\": {}}\n```"),
    ] {
        let run = run_large(vec![turn]);
        assert_eq!(run.outcome, TurnOutcome::Stop);
        assert_eq!(run.requests(), 1);
        assert!(!run.trace().contains("🛠️"));
    }
}

#[test]
fn a_small_model_gets_notes_on_a_long_result() {
    let long = || {
        Turn::Text(
            "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"long.md\"}}\n```",
        )
    };
    for (notes, has, lacks) in [
        (
            Some("According to the note, at nine."),
            "at nine.",
            "Zephyr-88",
        ),
        (Some("NONE"), "Zephyr-88", "NONE"),
        (None, "Zephyr-88", "nine"),
    ] {
        let run = run(Case {
            turns: vec![long(), Turn::Text("At nine.")],
            stages: vec![(Stage::ToolDigest, notes)],
            ..small()
        });
        assert_eq!(run.asked(), [Stage::ToolDigest]);
        let seen = run.seen(1);
        assert!(seen[1].last().contains(has) && !seen[1].last().contains(lacks));
    }
    let large = run_large(vec![read("long.md"), Turn::Text("At nine.")]);
    assert!(large.asked().is_empty());
}

#[test]
fn five_calls_of_an_answer_run_and_each_has_an_id_of_its_own() {
    let calls: Vec<_> = (0..7)
        .map(|number| ("read_note", json!({"path": format!("{number}.md")})))
        .collect();
    let run = run(Case {
        settings: ReplySettings {
            same_tool_cap: 100,
            ..ReplySettings::default()
        },
        turns: vec![Turn::Calls(calls), Turn::Text("Done.")],
        ..Case::default()
    });
    assert_eq!(run.outputs().len(), 5);
    let calls = run.calls();
    let mut ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert!(
        ids.len() == 5 && ids.iter().all(|id| !id.is_empty()),
        "{ids:?}"
    );
}

#[test]
fn a_tool_that_switches_the_profile_ends_the_reply() {
    let run = run(Case {
        tools: &["switch_profile"],
        turns: vec![
            Turn::Calls(vec![("switch_profile", json!({"name": "winter"}))]),
            Turn::Text("Too late."),
        ],
        ..Case::default()
    });
    assert_eq!(run.outcome, TurnOutcome::Switch, "{}", run.trace());
    assert_eq!(run.requests(), 1);
}

#[test]
fn tools_are_searched_for_what_the_model_wants_or_else_for_the_message() {
    for (query, expected) in [("trains", "trains"), (" ", "what do the notes say")] {
        let run = run_large(vec![
            Turn::Calls(vec![(TOOL_SEARCH, json!({"query": query}))]),
            Turn::Text("None."),
        ]);
        assert_eq!(*run.script.searched.lock().unwrap(), [expected]);
    }
}

#[test]
fn the_trace_has_no_secrets() {
    let run = run_large(vec![
        Turn::Calls(vec![(
            "read_note",
            json!({"path": "password=hunter2-tail"}),
        )]),
        Turn::Text("No."),
    ]);
    let trace = run.trace();
    assert_has(&trace, &["🛠️ Agent", "❌ read_note"]);
    assert!(!trace.contains("hunter2"), "{trace}");
}

#[test]
fn no_model_reads_a_secret_in_a_result() {
    for (name, notes) in [
        ("keys.md", None),
        (
            "all-keys.md",
            Some("According to the note, there is an office."),
        ),
        ("all-keys.md", Some("NONE")),
    ] {
        for is_small in [true, false] {
            let run = run(Case {
                small: is_small,
                turns: vec![read(name), Turn::Text("It is the harbour office.")],
                stages: vec![(Stage::ToolDigest, notes)],
                ..Case::default()
            });
            let asked = run.script.asked.lock().unwrap();
            let digests = asked.iter().map(|(_, user)| user.as_str());
            let seen = run.seen(1);
            for text in digests.chain([seen[1].last()]) {
                for secret in ["hunterNOTE3", "ada@", "AKIA2222"] {
                    assert!(!text.contains(secret), "{name}: {text}");
                }
            }
            for (_, user) in asked.iter() {
                assert!(user.contains("Harbour office: token=[REDACTED]"), "{user}");
                let result = user.split_once("RESULT OF read_note\n").unwrap().1;
                assert!(!result.contains('\n'), "on one line: {result}");
            }
            assert_eq!(asked.is_empty(), !is_small || name == "keys.md");
        }
    }
}

#[test]
fn a_label_of_a_result_is_not_written_in_the_place_of_its_secret() {
    let note = |content: &str| {
        let args = json!({"path": "keys.md", "content": content});
        Turn::Calls(vec![("write_note", args)])
    };
    let run = run(Case {
        small: false,
        tools: &["read_note", "write_note"],
        turns: vec![
            read("keys.md"),
            note("Harbour office: token=[REDACTED], now open."),
            Turn::Text("I left it as it is."),
        ],
        ..Case::default()
    });
    let seen = run.seen(2);
    let last = seen[2].last();
    assert_has(last, &["would replace a secret by the label"]);
}

/// Agrees, and keeps what it was asked.
#[derive(Default)]
struct Agreeing(Mutex<Vec<String>>);

impl Approver for Agreeing {
    fn ask(&self, request: ApprovalRequest, _: &Cancel) -> Outcome<()> {
        self.0.lock().unwrap().push(request.text());
        Ok(())
    }
}

#[test]
fn a_tool_and_who_is_asked_get_the_value_and_no_model_does() {
    let labels = ConversationLabels::default();
    labels
        .redact_said("subscribe me to the topic 555123, which is my OTP, and tell bob@example.com");
    let user = Arc::new(Agreeing::default());
    let run = run(Case {
        tools: &["ntfy_subscribe", "write_note", "read_note"],
        labels,
        user: Some(Arc::clone(&user) as Arc<dyn Approver>),
        turns: vec![
            Turn::Calls(vec![("ntfy_subscribe", json!({"topic": "[REDACTED_OTP]"}))]),
            Turn::Calls(vec![(
                "write_note",
                json!({"path": "bob.md", "content": "To: [REDACTED_EMAIL]"}),
            )]),
            read("bob.md"),
            Turn::Text("Done."),
        ],
        ..Case::default()
    });
    assert_eq!(run.answer(), "Done.");
    assert_eq!(*user.0.lock().unwrap(), ["555123"]);
    assert_has(&run.outputs()[0].text, &["ubscribed to [REDACTED_OTP]"]);
    assert!(!run.outputs()[1].failed, "{}", run.outputs()[1].text);
    let read = run.outputs()[2];
    assert_has(&read.text, &["To: [REDACTED_EMAIL]"]);
    let seen = run.seen(3);
    let shown = format!("{:?} {:?} {}", run.rows, seen[3].messages, run.trace());
    for secret in ["bob@example.com", "555123"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn nothing_is_condensed_for_a_reply_that_was_stopped() {
    let run = run(Case {
        turns: vec![
            Turn::Text(
                "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"long.md\"}}\n```",
            ),
            Turn::Text("Late."),
        ],
        stops_after_tool: true,
        ..small()
    });
    assert_eq!(run.outcome, TurnOutcome::Cancelled);
    assert!(run.asked().is_empty());
    assert_eq!(run.requests(), 1);
}

#[test]
fn calls_that_share_an_id_get_one_each() {
    let call = |path: &str| ToolCall::new("same", "read_note", json!({"path": path}).to_string());
    let reply = Reply {
        calls: vec![call("film.md"), call("long.md")],
        ..Reply::default()
    };
    let tools = session_tools::known_tools(&catalogue(None));
    let ChatAnswer::Calls(row) = chat_answer::read(reply, &tools, &OwnLines::default(), &[]) else {
        panic!("no calls");
    };
    assert_eq!(row.calls.len(), 2);
    assert_ne!(row.calls[0].id, row.calls[1].id);
}
