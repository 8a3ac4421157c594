//! The lines of made-up turns: each in its place, whole, and adding up.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::app::json_stream::line_writer::CLIPPED;
use crate::base::cancel::Cancel;
use crate::chat::event::Level;

/// Lines that are written to a file.
struct Written {
    file: File,
    lines: AnswerLines,
}

impl Written {
    fn new(detail: LineDetail) -> Self {
        let file = tempfile::tempfile().unwrap();
        let writer = LineWriter::to(file.try_clone().unwrap(), Cancel::new());
        let lines = AnswerLines::new(Arc::new(writer), detail);
        lines.begin_turn("m");
        Self { file, lines }
    }

    fn of(detail: LineDetail, events: impl IntoIterator<Item = Event>) -> Vec<Value> {
        let mut written = Self::new(detail);
        events
            .into_iter()
            .for_each(|event| written.lines.emit(event));
        written.lines.end_turn().unwrap();
        written.read()
    }

    fn read(&mut self) -> Vec<Value> {
        let mut text = String::new();
        self.file.rewind().unwrap();
        self.file.read_to_string(&mut text).unwrap();
        for line in text.lines() {
            assert!(line.len() < 1 << 20, "{} bytes", line.len());
        }
        let read = |line| serde_json::from_str(line).unwrap();
        text.lines().map(read).collect()
    }
}

fn delta(text: &str) -> Event {
    Event::Delta(text.to_owned())
}

fn call(id: &str, args: &str) -> ToolCall {
    ToolCall::new(id, "tree", args)
}

fn done(id: &str) -> Event {
    Event::ToolDone {
        id: id.to_owned(),
        name: "tree".to_owned(),
        failed: id == "b",
        end: CallEnd::Success,
        took: Duration::from_millis(7),
        answered_by: Vec::new(),
        text: format!("result {id}"),
        images: Vec::new(),
        display: None,
    }
}

fn turn(input: u64, cached: u64) -> Event {
    Event::Turn(TurnUsage {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        tokens: Tokens {
            input,
            cached,
            output: 2,
            ..Tokens::default()
        },
        cost: 0.5,
        cost_estimated: false,
        plan: None,
    })
}

/// The type of each line, with the kind of block or event in it.
fn kinds(lines: &[Value]) -> Vec<String> {
    let kind = |line: &Value| {
        let detail = match line["type"].as_str().unwrap() {
            "assistant" | "user" => &line["message"]["content"][0]["type"],
            "stream_event" => &line["event"]["type"],
            _ => &line["subtype"],
        };
        format!(
            "{} {}",
            line["type"].as_str().unwrap(),
            detail.as_str().unwrap()
        )
    };
    lines.iter().map(kind).collect()
}

#[test]
fn a_reply_that_was_cut_is_one_message_with_its_calls_and_what_follows_is_another() {
    for stop in [StopReason::MaxTokens, StopReason::Refusal] {
        let lines = Written::of(
            LineDetail::Partial,
            [
                delta("Look"),
                Event::ReplyEnded(stop),
                Event::ToolsStarted(vec![call("a", "{}")]),
                done("a"),
                delta("Cut"),
                Event::ReplyEnded(stop),
                // A sub-agent tells its parent of nothing between two replies.
                delta("More"),
                Event::ReplyEnded(StopReason::EndTurn),
            ],
        );
        let blocks = lines.iter().filter(|line| line["type"] == "assistant");
        let ids: Vec<&Value> = blocks.map(|line| &line["message"]["id"]).collect();
        assert_eq!(ids.len(), 4);
        assert_eq!(ids[0], ids[1]);
        assert!(ids[1] != ids[2] && ids[2] != ids[3], "{ids:?}");
        let count = |kind: &str| {
            let kinds = kinds(&lines).into_iter();
            kinds
                .filter(|line| *line == format!("stream_event {kind}"))
                .count()
        };
        assert_eq!([count("message_start"), count("message_stop")], [3, 3]);
    }
}

#[test]
fn thoughts_text_and_calls_are_blocks_of_one_message() {
    let lines = Written::of(
        LineDetail::Partial,
        [
            Event::Thinking("Hm.".to_owned()),
            delta("Let "),
            delta("me."),
            turn(12, 5),
            Event::ReplyEnded(StopReason::ToolUse),
            Event::ToolsStarted(vec![call("a", r#"{"path":"x"}"#), call("b", "")]),
            done("b"),
            done("a"),
            delta("Done."),
            turn(20, 0),
            Event::ReplyEnded(StopReason::EndTurn),
        ],
    );
    let expected = [
        "stream_event message_start",
        "stream_event content_block_start",
        "stream_event content_block_delta",
        "stream_event content_block_stop",
        "assistant thinking",
        "stream_event content_block_start",
        "stream_event content_block_delta",
        "stream_event content_block_delta",
        "stream_event content_block_stop",
        "assistant text",
        "stream_event content_block_start",
        "stream_event content_block_delta",
        "stream_event content_block_stop",
        "assistant tool_use",
        "stream_event content_block_start",
        "stream_event content_block_delta",
        "stream_event content_block_stop",
        "assistant tool_use",
        "stream_event message_delta",
        "stream_event message_stop",
        "user tool_result",
        "user tool_result",
        "stream_event message_start",
        "stream_event content_block_start",
        "stream_event content_block_delta",
        "stream_event content_block_stop",
        "assistant text",
        "stream_event message_delta",
        "stream_event message_stop",
    ];
    assert_eq!(kinds(&lines), expected);
    let text = &lines[9]["message"];
    assert_eq!(
        text["content"],
        json!([{"type": "text", "text": "Let me."}])
    );
    assert_eq!(
        text["usage"],
        json!({"input_tokens": 7, "output_tokens": 2, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0})
    );
    assert_eq!(lines[4]["message"]["id"], lines[17]["message"]["id"]);
    assert_ne!(lines[4]["message"]["id"], lines[26]["message"]["id"]);
    assert_eq!(
        lines[4]["message"]["content"][0],
        json!({"type": "thinking", "thinking": "Hm.", "signature": ""})
    );
    assert_eq!(
        lines[17]["message"]["content"][0],
        json!({"type": "tool_use", "id": "b", "name": "tree", "input": {}})
    );
    assert_eq!(lines[18]["event"]["delta"]["stop_reason"], "tool_use");
    // In call order, although the second was done first.
    assert_eq!(
        lines[20]["message"]["content"][0],
        json!({"type": "tool_result", "tool_use_id": "a", "content": "result a", "is_error": false})
    );
    assert_eq!(lines[21]["message"]["content"][0]["is_error"], true);
    assert_eq!(
        lines[21]["tool_use_result"],
        json!({"duration_ms": 7, "end": "success"})
    );
    assert_eq!(lines[27]["event"]["delta"]["stop_reason"], "end_turn");
}

#[test]
fn what_is_counted_is_that_of_the_turn_and_of_its_last_message() {
    let written = Written::new(LineDetail::ResultOnly);
    for event in [
        delta("First."),
        turn(12, 5),
        Event::ReplyEnded(StopReason::ToolUse),
        Event::ToolsStarted(vec![call("a", "{}")]),
        done("a"),
        Event::Wait(Wait::Compaction),
        turn(900, 0),
        Event::Compacted {
            before: 9,
            after: 3,
        },
        delta("Sec"),
        delta("ond."),
        turn(20, 0),
        Event::ReplyEnded(StopReason::EndTurn),
    ] {
        written.lines.emit(event);
    }
    let tally = written.lines.end_turn().unwrap();
    assert_eq!((tally.requests, tally.text.as_str()), (2, "Second."));
    assert_eq!((tally.tokens.input, tally.tokens.cached), (32, 5));
    assert_eq!(tally.stop, Some(StopReason::EndTurn));
    assert!(written.lines.end_turn().is_none(), "told once");
    let mut written = written;
    assert!(written.read().is_empty());
}

#[test]
fn waits_compactions_and_notices_are_system_lines() {
    let lines = Written::of(
        LineDetail::Blocks,
        [
            Event::Wait(Wait::Retry {
                provider: "p",
                is_rate_limit: true,
                wait: Duration::from_secs(2),
                attempt: 1,
                most: 2,
                status: Some(429),
            }),
            Event::Notice(Level::Info, "Note.".to_owned()),
            Event::Wait(Wait::Compaction),
            Event::Compacted {
                before: 9,
                after: 3,
            },
        ],
    );
    let shown: Vec<Value> = lines
        .into_iter()
        .map(|mut line| {
            let map = line.as_object_mut().unwrap();
            map.retain(|key, _| !["type", "uuid", "session_id"].contains(&key.as_str()));
            line
        })
        .collect();
    assert_eq!(
        shown,
        [
            json!({"subtype": "api_retry", "attempt": 1, "max_retries": 2, "retry_delay_ms": 2000, "error_status": 429, "error": "rate_limit"}),
            json!({"subtype": "marvin", "event": {"type": "notice", "data": ["info", "Note."]}}),
            json!({"subtype": "status", "status": "compacting"}),
            json!({"subtype": "status", "status": null}),
            json!({"subtype": "compact_boundary", "compact_metadata": {"trigger": "auto", "pre_tokens": 9, "post_tokens": 3}}),
        ]
    );
}

#[test]
fn a_text_that_is_longer_than_a_line_is_several_blocks_and_a_result_is_clipped() {
    let long = "\"long\"\n".repeat(300_000);
    let lines = Written::of(
        LineDetail::Blocks,
        [
            delta(&long),
            Event::ReplyEnded(StopReason::ToolUse),
            Event::ToolsStarted(vec![call("a", "{}")]),
            Event::ToolDone {
                id: "a".to_owned(),
                name: "tree".to_owned(),
                failed: false,
                end: CallEnd::Success,
                took: Duration::ZERO,
                answered_by: Vec::new(),
                text: long.clone(),
                images: Vec::new(),
                display: None,
            },
        ],
    );
    let said: String = lines
        .iter()
        .filter_map(|line| line["message"]["content"][0]["text"].as_str())
        .collect();
    assert_eq!(said, long);
    let result = lines.last().unwrap()["message"]["content"][0]["content"].clone();
    assert!(result.as_str().unwrap().ends_with(CLIPPED));
}

#[test]
fn an_attempt_that_is_made_again_begins_a_new_message() {
    let lines = Written::of(
        LineDetail::Partial,
        [
            Event::Thinking("Hm.".to_owned()),
            Event::Wait(Wait::Retry {
                provider: "p",
                is_rate_limit: false,
                wait: Duration::ZERO,
                attempt: 1,
                most: 2,
                status: None,
            }),
            delta("Yes."),
            Event::ReplyEnded(StopReason::EndTurn),
        ],
    );
    let starts = kinds(&lines);
    let starts = starts
        .iter()
        .filter(|kind| kind.ends_with("message_start"))
        .count();
    assert_eq!(starts, 2);
}

/// Follows a stream as a client does: blocks by their index, whole at their end.
#[derive(Default)]
struct Client {
    open: Option<(usize, Option<usize>)>,
    blocks: Vec<(usize, Value)>,
    said: HashMap<String, Vec<Value>>,
}

impl Client {
    fn event(&mut self, event: &Value) {
        match (event["type"].as_str().unwrap(), &mut self.open) {
            ("message_start", open @ None) => *open = Some((0, None)),
            ("content_block_start", Some((next, open @ None))) => {
                assert_eq!(event["index"], *next);
                *open = Some(*next);
                self.blocks.push((*next, event["content_block"].clone()));
            }
            ("content_block_delta", Some((_, Some(index)))) => {
                assert_eq!(event["index"], *index);
                let delta = event["delta"].as_object().unwrap();
                let (_, block) = self.blocks.last_mut().unwrap();
                match delta["type"].as_str().unwrap() {
                    "input_json_delta" => {
                        let whole = delta["partial_json"].as_str().unwrap();
                        block["input"] = serde_json::from_str(whole).unwrap();
                    }
                    kind => {
                        let name = kind.trim_end_matches("_delta");
                        let text = block[name].as_str().unwrap().to_owned();
                        block[name] = json!(text + delta[name].as_str().unwrap());
                    }
                }
            }
            ("content_block_stop", Some((next, open @ Some(_)))) => {
                (*open, *next) = (None, *next + 1);
            }
            ("message_delta", Some((_, None))) => {}
            ("message_stop", open @ Some((_, None))) => *open = None,
            (kind, open) => panic!("{kind} with {open:?}"),
        }
    }

    fn assistant(&mut self, message: &Value) {
        let (_, streamed) = self.blocks.last().unwrap();
        assert_eq!(&message["content"][0], streamed);
        let id = message["id"].as_str().unwrap().to_owned();
        self.said.entry(id).or_default().push(streamed.clone());
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => "\\PC{0,6}".prop_map(Event::Delta),
        2 => "\\PC{0,6}".prop_map(Event::Thinking),
        2 => Just(turn(9, 3)),
        2 => prop_oneof![Just(StopReason::EndTurn), Just(StopReason::ToolUse), Just(StopReason::MaxTokens)].prop_map(Event::ReplyEnded),
        2 => prop::collection::vec("[a-d]", 1..4).prop_map(|ids| {
            Event::ToolsStarted(ids.iter().map(|id| call(id, r#"{"path":"x"}"#)).collect())
        }),
        3 => "[a-d]".prop_map(|id| done(&id)),
        1 => Just(Event::Wait(Wait::Compaction)),
        1 => Just(Event::Notice(Level::Warning, "n".to_owned())),
        1 => Just(Event::Wait(Wait::Connection { provider: "p" })),
    ]
}

proptest! {
    #[test]
    fn the_pieces_add_up_to_the_blocks_whatever_happens(events in prop::collection::vec(any_event(), 0..40)) {
        let lines = Written::of(LineDetail::Partial, events.clone());
        let mut client = Client::default();
        for line in &lines {
            match line["type"].as_str().unwrap() {
                "stream_event" => client.event(&line["event"]),
                "assistant" => client.assistant(&line["message"]),
                _ => {}
            }
        }
        prop_assert!(client.open.is_none());
        let blocks: usize = client.said.values().map(Vec::len).sum();
        prop_assert_eq!(blocks, client.blocks.len(), "every block is told whole");
        let said: String = events.iter().filter_map(|event| match event {
            Event::Delta(text) => Some(text.as_str()),
            _ => None,
        }).collect();
        let told: String = lines.iter().filter_map(|line| line["message"]["content"][0]["text"].as_str()).collect();
        prop_assert_eq!(said, told);
        // Without pieces the same blocks.
        let whole = Written::of(LineDetail::Blocks, events);
        let blocks = |lines: &[Value]| -> Vec<Value> {
            let told = lines.iter().filter(|line| line["type"] == "assistant" || line["type"] == "user");
            told.map(|line| line["message"]["content"].clone()).collect()
        };
        prop_assert_eq!(blocks(&whole), blocks(&lines));
    }
}

#[test]
fn a_thought_has_its_signature_also_without_text() {
    let signed = |text: &str| Event::ThoughtSigned(text.to_owned());
    let lines = Written::of(
        LineDetail::Partial,
        [
            Event::Thinking("Hm.".to_owned()),
            signed("SI"),
            signed("G=="),
            delta("Hi"),
            signed("ALONE"),
            Event::ReplyEnded(StopReason::EndTurn),
        ],
    );
    let blocks = lines.iter().filter(|line| line["type"] == "assistant");
    let blocks: Vec<&Value> = blocks.map(|line| &line["message"]["content"][0]).collect();
    assert_eq!(
        blocks,
        [
            &json!({"type": "thinking", "thinking": "Hm.", "signature": "SIG=="}),
            &json!({"type": "text", "text": "Hi"}),
            &json!({"type": "thinking", "thinking": "", "signature": "ALONE"}),
        ]
    );
    let signatures = lines
        .iter()
        .filter_map(|line| line["event"]["delta"]["signature"].as_str());
    assert_eq!(signatures.collect::<String>(), "SIG==ALONE");
}

#[test]
fn a_request_that_is_sent_again_counts_once() {
    let asks = || {
        Event::Wait(Wait::FirstByte {
            provider: "p",
            loads: None,
        })
    };
    let written = Written::new(LineDetail::ResultOnly);
    assert!(!written.lines.has_asked());
    for event in [
        asks(),
        turn(10, 0),
        Event::Wait(Wait::Retry {
            provider: "p",
            is_rate_limit: false,
            wait: Duration::from_secs(1),
            attempt: 1,
            most: 2,
            status: None,
        }),
        asks(),
        turn(10, 0),
        Event::ReplyEnded(StopReason::EndTurn),
        asks(),
        turn(10, 0),
    ] {
        written.lines.emit(event);
    }
    assert!(written.lines.has_asked());
    let tally = written.lines.end_turn().unwrap();
    assert_eq!((tally.requests, tally.tokens.input), (2, 30));
}

#[test]
fn a_refused_call_of_a_child_is_told_with_its_arguments() {
    let file = tempfile::tempfile().unwrap();
    let writer = LineWriter::to(file.try_clone().unwrap(), Cancel::new());
    let child = AnswerLines::for_parent(Arc::new(writer));
    child.begin_turn("m");
    child.emit(Event::ToolsStarted(vec![call("c1", r#"{"path":"a"}"#)]));
    child.emit(Event::Denied {
        id: "c1".to_owned(),
        name: "tree".to_owned(),
        reason: DenialReason::Asked,
        message: "No.".to_owned(),
    });
    let mut of_child = Written { file, lines: child };
    let denied = of_child.read().pop().unwrap();
    let mut parent = Written::new(LineDetail::Blocks);
    parent.lines.emit(Event::ChildLine {
        call: "c9".to_owned(),
        line: denied.to_string(),
    });
    let tally = parent.lines.end_turn().unwrap();
    assert_eq!(
        serde_json::to_value(&tally.denials).unwrap(),
        json!([{"tool_name": "tree", "tool_use_id": "c1", "tool_input": {"path": "a"}}])
    );
    let line = parent.read().pop().unwrap();
    assert_eq!(
        (&line["subtype"], &line["parent_tool_use_id"]),
        (&json!("permission_denied"), &json!("c9"))
    );
    assert_eq!(line["tool_input"], Value::Null);
}

#[test]
fn refused_calls_fit_into_a_line_together() {
    let written = Written::new(LineDetail::Blocks);
    let long = json!({"path": "a", "content": "x".repeat(900_000)}).to_string();
    let calls = ["c1", "c2", "c3"].map(|id| call(id, &long));
    written.lines.emit(Event::ToolsStarted(calls.to_vec()));
    for call in &calls {
        written.lines.emit(Event::Denied {
            id: call.id.clone(),
            name: call.name.clone(),
            reason: DenialReason::Mode,
            message: "No.".to_owned(),
        });
    }
    let denials = written.lines.end_turn().unwrap().denials;
    for (most, count) in [(3 << 20, 3), (500_000, 3), (1_000, 2), (100, 0)] {
        let fitted = Denied::all_fitted(&denials, most);
        let json = serde_json::to_string(&fitted).unwrap();
        assert!(
            json.len() <= most && fitted.len() == count,
            "{most}: {}",
            json.len()
        );
    }
    let half = Denied::all_fitted(&denials, 500_000);
    assert_eq!(half[2].tool_input["path"], "a");
}
