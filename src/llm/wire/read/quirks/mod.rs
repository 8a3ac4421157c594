//! Deviations of providers from the streaming protocol that no body of `fixtures/wires` shows.

mod calls;
mod errors;

use proptest::prelude::*;

use super::{DecodeProgress, Decoder};
use crate::base::testing::assert_has;
use crate::chat::usage::Tokens;
use crate::llm::catalog::row;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::{Delta, FinishReason, Reply};
use crate::llm::wire::{ErrorContext, Wire};

fn decoder(wire: Wire, name: &str) -> Decoder {
    Decoder::new(wire, ErrorContext::new(row(name).unwrap()))
}

/// Decodes `body` as `name` sends it, in reads of `size` bytes.
fn read_in(wire: Wire, name: &str, body: &[u8], size: usize) -> Result<Reply, Failure> {
    let mut decoder = decoder(wire, name);
    for bytes in body.chunks(size) {
        if decoder.feed(bytes) != DecodeProgress::More {
            break;
        }
    }
    finish(decoder)
}

/// The outcome when the body ends here.
fn finish(mut decoder: Decoder) -> Result<Reply, Failure> {
    decoder.end();
    decoder.into_result()
}

fn read_as(wire: Wire, name: &str, body: &str) -> Result<Reply, Failure> {
    let whole = read_in(wire, name, body.as_bytes(), usize::MAX);
    let bytes = read_in(wire, name, body.as_bytes(), 1);
    match (&whole, &bytes) {
        (Ok(one), Ok(two)) => {
            let seen = |reply: &Reply| (reply.calls.len(), reply.finish.clone(), reply.usage);
            assert_eq!((said(one), seen(one)), (said(two), seen(two)));
        }
        (Err(one), Err(two)) => assert_eq!(
            (&one.kind, one.problem.one_line(), &one.partial.text),
            (&two.kind, two.problem.one_line(), &two.partial.text)
        ),
        other => panic!("{other:?}"),
    }
    whole
}

fn read(body: &str) -> Result<Reply, Failure> {
    read_as(Wire::Completions, "openai-compat", body)
}

fn compatible() -> Decoder {
    decoder(Wire::Completions, "openai-compat")
}

fn ollama(body: &str) -> Result<Reply, Failure> {
    read_as(Wire::Ollama, "ollama", body)
}

fn anthropic(body: &str) -> Result<Reply, Failure> {
    read_as(Wire::Anthropic, "anthropic", body)
}

fn kind(outcome: Result<Reply, Failure>) -> FailureKind {
    outcome.unwrap_err().kind
}

fn text(outcome: Result<Reply, Failure>) -> String {
    outcome.unwrap().text
}

/// Text and thinking.
fn said(reply: &Reply) -> (&str, &str) {
    (&reply.text, &reply.thinking)
}

/// Chunks with these choices, `[DONE]` at the end.
fn chunks(choices: &[&str]) -> String {
    let mut body: String = choices
        .iter()
        .map(|choice| format!("data: {{\"choices\":[{choice}]}}\n\n"))
        .collect();
    body.push_str("data: [DONE]\n\n");
    body
}

fn delta(delta: &str) -> String {
    format!("{{\"index\":0,\"delta\":{delta}}}")
}

const TEXT: &str = r#"{"delta":{"content":"Hi"}}"#;
const STOP: &str = r#"{"delta":{},"finish_reason":"stop"}"#;

#[test]
fn q04_no_end_marker_but_a_finish_reason() {
    let body = format!("data: {{\"choices\":[{TEXT}]}}\n\ndata: {{\"choices\":[{STOP}]}}");
    assert_eq!(text(read(&body)), "Hi");
    let mut decoder = compatible();
    decoder.feed((body + "\n\n").as_bytes());
    assert!(decoder.is_complete());
}

#[test]
fn q06_the_end_marker_ends_the_reading() {
    let mut decoder = compatible();
    let body = chunks(&[TEXT]) + "data: junk\n\n";
    assert_eq!(decoder.feed(body.as_bytes()), DecodeProgress::Done);
    assert_eq!(decoder.feed(b"more junk"), DecodeProgress::Done);
    assert_eq!(finish(decoder).unwrap().text, "Hi");
}

#[test]
fn q18_the_last_usage_counts_wherever_it_is() {
    let tokens = |input, output| {
        Some(Tokens {
            input,
            output,
            ..Tokens::default()
        })
    };
    for (chunk, want) in [
        (
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}"#,
            tokens(3, 4),
        ),
        (
            r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":4}}}"#,
            tokens(3, 4),
        ),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":null}}"#,
            tokens(3, 0),
        ),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":17}}"#,
            tokens(3, 14),
        ),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":null,"completion_tokens":null}}"#,
            tokens(1, 1),
        ),
        (r#"{"choices":[],"usage":null}"#, tokens(1, 1)),
        (r#"{"choices":[],"usage":"many"}"#, tokens(1, 1)),
    ] {
        let early = r#"data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
        let body = format!("{early}\n\ndata: {chunk}\n\ndata: [DONE]\n\n");
        assert_eq!(read(&body).unwrap().usage, want, "{chunk}");
    }
    assert_eq!(read(&chunks(&[TEXT])).unwrap().usage, None);
}

#[test]
fn q21_thinking_is_kept_apart_wherever_it_stands() {
    for piece in [
        r#"{"reasoning":"hm","reasoning_content":null}"#,
        r#"{"reasoning":"hm","reasoning_content":"hm"}"#,
        r#"{"content":"<thought>hm</thought>"}"#,
    ] {
        let reply = read(&chunks(&[&delta(piece), TEXT, STOP])).unwrap();
        assert_eq!(said(&reply), ("Hi", "hm"), "{piece}");
    }
}

#[test]
fn deltas_come_in_their_order_and_together() {
    let mut decoder = compatible();
    let pieces = [
        r#"{"reasoning":"a"}"#,
        r#"{"reasoning":"b"}"#,
        r#"{"content":"c"}"#,
        r#"{"content":"d"}"#,
    ]
    .map(delta);
    let body = chunks(&pieces.each_ref().map(String::as_str));
    decoder.feed(body.as_bytes());
    let seen: Vec<Delta<'_>> = decoder.deltas().collect();
    assert_eq!(seen, [Delta::Thinking("ab"), Delta::Text("cd")]);
    assert_eq!(decoder.deltas().count(), 0);
}

#[test]
fn q22_empty_and_null_content_say_nothing() {
    let pieces = [
        r#"{"role":"assistant","content":""}"#,
        r#"{"content":null}"#,
        "{}",
    ]
    .map(delta);
    let mut decoder = decoder(Wire::Completions, "gemini");
    let body = chunks(&[&pieces[0], &pieces[1], &pieces[2], STOP]);
    decoder.feed(body.as_bytes());
    decoder.end();
    assert_eq!(decoder.deltas().count(), 0);
    let reply = decoder.into_result().unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("", FinishReason::Done)
    );
}

#[test]
fn text_that_only_its_encoding_breaks_is_mended() {
    let body =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFb \\ud83d\"}}]}\n\ndata: [DONE]\n\n";
    let reply = read_in(Wire::Completions, "openai-compat", body, usize::MAX).unwrap();
    assert_eq!(reply.text, "a\u{fffd}b \u{fffd}");
}

/// What of a stream is shown, in order: thinking in parentheses.
fn shown(wire: Wire, name: &str, events: &[&str]) -> String {
    let mut decoder = decoder(wire, name);
    let mut all = String::new();
    let mut show = |decoder: &mut Decoder| {
        for delta in decoder.deltas() {
            match delta {
                Delta::Text(text) => all.push_str(text),
                Delta::Thinking(text) => all.push_str(&format!("({text})")),
                Delta::Signature(_) | Delta::Notice(..) => {}
            }
        }
    };
    for event in events {
        let line = match wire {
            Wire::Ollama => format!("{event}\n"),
            _ => format!("data: {event}\n\n"),
        };
        decoder.feed(line.as_bytes());
        show(&mut decoder);
    }
    decoder.end();
    show(&mut decoder);
    decoder.into_result().unwrap();
    all
}

#[test]
fn half_a_character_is_told_where_its_text_ends() {
    let completions = |pieces: &[&str]| {
        let chunk = |choice: &str| format!("{{\"choices\":[{choice}]}}");
        let mut events: Vec<String> = pieces.iter().map(|piece| chunk(&delta(piece))).collect();
        events.extend([chunk(STOP), "[DONE]".to_owned()]);
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        shown(Wire::Completions, "openai-compat", &events)
    };
    let (half, other) = (r#"{"content":"q\ud83d"}"#, r#"{"content":"\ude00r"}"#);
    let thought = r#"{"reasoning_content":"q\ud83d"}"#;
    let call =
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"tree","arguments":"{}"}}]}"#;
    let (empty, end) = (
        r#"{"role":"assistant","content":""}"#,
        r#"{"content":"end"}"#,
    );
    for (pieces, expected) in [
        (vec![half], "q\u{fffd}"),
        (vec![half, call], "q\u{fffd}"),
        (vec![half, end], "q\u{fffd}end"),
        (vec![end, end, half, end], "endendq\u{fffd}end"),
        (vec![half, other], "q\u{1f600}r"),
        (vec![half, empty, other], "q\u{1f600}r"),
        (vec![half, half], "q\u{fffd}q\u{fffd}"),
        (vec![half, r#"{"content":"a\ude00"}"#], "q\u{fffd}a\u{fffd}"),
        (vec![r#"{"content":"\ud83d"}"#, other], "\u{1f600}r"),
        (
            vec![half, r#"{"reasoning_content":"hm"}"#, end],
            "q\u{fffd}(hm)end",
        ),
        (vec![thought, end], "(q)(\u{fffd})end"),
        (vec![thought, call], "(q)(\u{fffd})"),
        (
            vec![r#"{"content":"end","reasoning_content":"q\ud83d"}"#],
            "(q\u{fffd})end",
        ),
        (
            vec![
                r#"{"content":"<think>q\ud83d"}"#,
                r#"{"content":"</think>end"}"#,
            ],
            "(q)(\u{fffd})end",
        ),
    ] {
        assert_eq!(completions(&pieces), expected, "{pieces:?}");
    }
    // A stream of blocks, with signs of life between them.
    let block =
        |delta: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
    let (half, other) = (
        block(r#"{"type":"text_delta","text":"q\ud83d"}"#),
        block(r#"{"type":"text_delta","text":"\ude00r"}"#),
    );
    let call = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"tree","input":{}}}"#;
    let ping = r#"{"type":"ping"}"#;
    let stop = r#"{"type":"message_stop"}"#;
    for (events, expected) in [
        (vec![&*half, ping, &*other, stop], "q\u{1f600}r"),
        (vec![&*half, ping, call, stop], "q\u{fffd}"),
    ] {
        assert_eq!(shown(Wire::Anthropic, "anthropic", &events), expected);
    }
    let half = r#"{"message":{"content":"q\ud83d"},"done":false}"#;
    let call = r#"{"message":{"content":"","tool_calls":[{"function":{"name":"tree","arguments":{}}}]},"done":false}"#;
    let done = r#"{"message":{"content":""},"done":true,"done_reason":"stop"}"#;
    assert_eq!(
        shown(Wire::Ollama, "ollama", &[half, call, done]),
        "q\u{fffd}"
    );
    // Where the text comes once more it is the same text.
    let half = r#"{"type":"response.output_text.delta","output_index":0,"delta":"q\ud83d"}"#;
    let text = r#"{"type":"response.output_text.done","output_index":0,"text":"q\ud83d"}"#;
    let item = r#"{"type":"message","content":[{"type":"output_text","text":"q\ud83d"}]}"#;
    let item_done =
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
    let done = format!(
        r#"{{"type":"response.completed","response":{{"status":"completed","output":[{item}]}}}}"#
    );
    for events in [
        vec![half, text, &*item_done, &*done],
        vec![half, &*done],
        vec![text, &*item_done, &*done],
        vec![&*done],
    ] {
        assert_eq!(
            shown(Wire::Responses, "openai", &events),
            "q\u{fffd}",
            "{events:?}"
        );
    }
    let whole = r#"{"choices":[{"message":{"content":"q\ud83d"},"finish_reason":"stop"}]}"#;
    assert_eq!(read(whole).unwrap().text, "q\u{fffd}");
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..20),
                proptest::sample::select(vec![
                    "data: ", "\n\n", "\n", "\r", "{", "}", "[", "]", ":", ",", "\"", "null", "1", "event: error\n", "[DONE]",
                    "\"choices\":[", "\"delta\":{", "\"tool_calls\":[", "\"function\":{", "\"arguments\":", "\"content\":",
                    "\"error\":", "\"message\":", "\"done\":true", "\"type\":", "\"content_block_start\"", "<think>", "\\ud83d",
                    "{\"type\":\"response.output_text.delta\",", "{\"type\":\"response.output_item.done\",\"item\":{", "\"delta\":\"a\"}",
                    "\"output_index\":1,", "\"type\":\"message\",", "\"type\":\"reasoning\",", "\"type\":\"function_call\",",
                    "{\"type\":\"response.completed\",\"response\":{\"output\":[{",
                ]).prop_map(|text| text.as_bytes().to_vec()),
            ],
            0..40,
        ),
        size in 1usize..50,
    ) {
        let body = pieces.concat();
        for (wire, name) in [(Wire::Completions, "gemini"), (Wire::Ollama, "ollama"), (Wire::Anthropic, "anthropic"), (Wire::Responses, "openai")] {
            let _ = read_in(wire, name, &body, size);
        }
    }
}

#[test]
fn members_that_come_twice_and_nothing_in_lists_are_read_past() {
    let end = "data: [DONE]\n\n";
    for chunk in [
        r#"{"choices":[{"delta":{"content":"A","content":"A"}}]}"#,
        r#"{"usage":null,"choices":[null,{"delta":{"content":"A"}}],"usage":null}"#,
        r#"{"choices":[{"delta":{"content":["A",null,{"type":"text","text":""}]}}]}"#,
    ] {
        let reply = read(&format!("data: {chunk}\n\n{end}")).unwrap();
        assert_eq!(reply.text, "A", "{chunk}");
    }
    let calls = r#"{"choices":[{"delta":{"tool_calls":[null,{"id":"a","function":{"name":"tree","arguments":null}}]}}]}"#;
    let reply = read(&format!("data: {calls}\n\n{end}")).unwrap();
    assert_eq!((reply.calls.len(), &*reply.calls[0].args), (1, "{}"));
    let line = r#"{"message":{"tool_calls":[null,{"function":{"name":"tree","arguments":{}}}]},"done":true}"#;
    let reply = ollama(line).unwrap();
    assert_eq!(reply.calls.len(), 1);
    let message = r#"{"type":"message","content":[null,{"type":"text","text":"A"}],"stop_reason":"end_turn"}"#;
    let reply = anthropic(message).unwrap();
    assert_eq!(reply.text, "A");
}

#[test]
fn answers_in_one_piece_are_read_wherever_a_server_puts_them() {
    let ollama = |body: &str| ollama(body).unwrap();
    let compatible = |body: &str| read(body).unwrap();
    for (reply, text, thinking) in [
        (
            compatible(r#"{"choices":[{"text":"hi","finish_reason":"stop"}]}"#),
            "hi",
            "",
        ),
        (compatible(r#"{"content":"hi","stop":true}"#), "hi", ""),
        (compatible("{}"), "", ""),
        (
            compatible(
                "{\"choices\":[{\"delta\":{\"content\":\"h\"}}]}\n{\"choices\":[{\"delta\":{\"content\":\"i\"},\"finish_reason\":\"stop\"}]}\n",
            ),
            "hi",
            "",
        ),
        (
            compatible(r#"{"choices":[{"message":{"content":"hi","thinking":"hm"}}]}"#),
            "hi",
            "hm",
        ),
        (ollama(r#"{"content":"hi","done":true}"#), "hi", ""),
        (
            ollama(r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#),
            "hi",
            "",
        ),
    ] {
        assert_eq!(said(&reply), (text, thinking));
    }
}
