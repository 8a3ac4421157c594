//! Deviations of providers from the streaming protocol, one test each.

use proptest::prelude::*;

use super::{Decoder, Progress};
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
        if decoder.feed(bytes) != Progress::More {
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
        (Ok(one), Ok(two)) => assert_eq!(
            (
                &one.text,
                &one.thinking,
                one.calls.len(),
                &one.finish,
                one.usage
            ),
            (
                &two.text,
                &two.thinking,
                two.calls.len(),
                &two.finish,
                two.usage
            )
        ),
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
    assert_eq!(read(&body).unwrap().text, "Hi");
    let mut decoder = decoder(Wire::Completions, "openai-compat");
    decoder.feed((body + "\n\n").as_bytes());
    assert!(decoder.is_complete());
}

#[test]
fn q05_closed_early_keeps_the_text_and_runs_no_call() {
    let call = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}"#;
    for tail in ["", "data: {\"choices\":[{\"del", "data: {\"choices\""] {
        let body = chunks(&[TEXT, call]).replace("data: [DONE]\n\n", tail);
        let failure = read(&body).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Cut, "{tail}");
        assert_eq!(failure.partial.text, "Hi");
        assert!(failure.partial.calls.is_empty());
    }
    assert_eq!(read("").unwrap_err().kind, FailureKind::Cut);
    assert_eq!(read(": ping\n\n").unwrap_err().kind, FailureKind::Cut);
}

#[test]
fn q06_the_end_marker_ends_the_reading() {
    let mut decoder = decoder(Wire::Completions, "openai-compat");
    let body = chunks(&[TEXT]) + "data: junk\n\n";
    assert_eq!(decoder.feed(body.as_bytes()), Progress::Done);
    assert_eq!(decoder.feed(b"more junk"), Progress::Done);
    assert_eq!(finish(decoder).unwrap().text, "Hi");
}

#[test]
fn q07_data_that_is_no_json_breaks_the_stream() {
    let body =
        chunks(&[TEXT]).replace("data: [DONE]", "data: {\"choices\":[oops]}\n\ndata: [DONE]");
    let failure = read(&body).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.problem.one_line().contains("oops"));
    assert_eq!(failure.partial.text, "Hi");
}

#[test]
fn q08_an_error_in_a_chunk_comes_before_its_choices() {
    for choices in [
        "",
        ",\"choices\":[]",
        ",\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]",
    ] {
        let error =
            format!("data: {{\"error\":{{\"code\":502,\"message\":\"gone\"}}{choices}}}\n\n");
        let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n";
        let body = chunks(&[TEXT]).replace("data: [DONE]", &format!("{error}{usage}data: [DONE]"));
        let failure = read(&body).unwrap_err();
        assert_eq!(
            (&failure.kind, failure.partial.text.as_str()),
            (&FailureKind::Server, "Hi")
        );
        assert!(failure.problem.one_line().contains("gone"));
    }
    let inside = chunks(&[r#"{"delta":{},"error":{"message":"gone"}}"#]);
    assert_eq!(read(&inside).unwrap_err().kind, FailureKind::Server);
    assert_eq!(
        read(&chunks(&[r#"{"finish_reason":"error"}"#]))
            .unwrap_err()
            .kind,
        FailureKind::Server
    );
    assert_eq!(
        read(&chunks(&[TEXT, STOP]).replace("{\"choices\"", "{\"error\":null,\"choices\""))
            .unwrap()
            .text,
        "Hi"
    );
}

#[test]
fn q09_an_event_named_error() {
    let body = "event: error\ndata: {\"error\":{\"message\":\"bad\",\"code\":\"tool_use_failed\",\"failed_generation\":\"f(\"}}\n\n";
    assert_eq!(
        read(body).unwrap_err().kind,
        FailureKind::BadCall { wrote: "f(".into() }
    );
    assert!(
        read("event: error\ndata: it broke\n\n")
            .unwrap_err()
            .problem
            .what
            .contains("it broke")
    );
}

#[test]
fn q10_a_line_that_begins_with_error() {
    let failure =
        read(&chunks(&[TEXT]).replace("data: [DONE]", "error: {\"message\":\"no memory\"}"))
            .unwrap_err();
    assert!(
        failure.problem.what.contains("no memory"),
        "{:?}",
        failure.problem
    );
    assert_eq!(failure.partial.text, "Hi");
    let bare = chunks(&[TEXT]).replace("data: [DONE]", "{\"error\":\"upstream\"}");
    assert!(read(&bare).unwrap_err().problem.what.contains("upstream"));
}

#[test]
fn q11_errors_under_status_200() {
    for body in [
        r#"{"error":"no"}"#,
        r#"[{"error":{"message":"no"}}]"#,
        r#"{"detail":"no"}"#,
        r#"{"object":"error","message":"no"}"#,
    ] {
        for (wire, name) in [
            (Wire::Completions, "gemini"),
            (Wire::Ollama, "ollama"),
            (Wire::Anthropic, "anthropic"),
        ] {
            let failure = read_as(wire, name, body).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Server, "{name} {body}");
            assert!(
                failure.problem.what.ends_with("no."),
                "{}",
                failure.problem.what
            );
        }
    }
}

#[test]
fn junk_is_named() {
    for (body, part) in [
        ("<!doctype html><title>Sign in</title>", "\"Sign in\""),
        ("upstream connect error\n", "upstream connect error"),
        ("\"just text\"", "just text"),
    ] {
        let failure = read(body).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Protocol, "{body}");
        assert!(
            failure.problem.what.contains(part),
            "{}",
            failure.problem.what
        );
    }
    assert_eq!(
        read_as(Wire::Ollama, "ollama", "<html>x").unwrap_err().kind,
        FailureKind::Protocol
    );
}

#[test]
fn a_server_that_ignores_stream_is_understood() {
    let body = "\n{\n \"choices\": [{\"message\": {\"content\": \"Hi\", \"tool_calls\": [{\"id\": \"a\", \"function\": {\"name\": \"f\", \"arguments\": \"{}\"}}]}, \"finish_reason\": \"stop\"}]\n}";
    let reply = read(body).unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("Hi", 1));
    assert_eq!(
        read("{\"choices\":[{\"message\"").unwrap_err().kind,
        FailureKind::Cut
    );
    let native = "{\n\"message\":{\"content\":\"Hi\"},\n\"done\":true}";
    assert_eq!(read_as(Wire::Ollama, "ollama", native).unwrap().text, "Hi");
    let lines = "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n";
    assert_eq!(read(lines).unwrap().text, "ab");
}

#[test]
fn an_endless_line_is_refused() {
    let mut decoder = decoder(Wire::Completions, "openai-compat");
    decoder.feed(b"data: ");
    let read = vec![b'x'; 1024 * 1024];
    assert!((0..64).any(|_| decoder.feed(&read) == Progress::Failed));
    assert!(finish(decoder).unwrap_err().problem.what.contains("32 MB"));
}

#[test]
fn q17_choices_may_be_empty_null_or_missing() {
    let body = "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\ndata: {\"choices\":null}\n\ndata: {\"id\":1}\n\n";
    assert_eq!(
        read(&(body.to_owned() + &chunks(&[TEXT]))).unwrap().text,
        "Hi"
    );
    assert_eq!(read("{}").unwrap().text, "");
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
fn q19_q20_calls_come_once_whatever_the_finish_reasons() {
    let call = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}"#;
    let more = r#"{"delta":{"content":"and"},"finish_reason":"stop"}"#;
    let reply = read(&chunks(&[TEXT, call, more, STOP])).unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("Hiand", 1));
}

#[test]
fn q21_thinking_is_kept_apart_wherever_it_stands() {
    for piece in [
        r#"{"reasoning_content":"hm"}"#,
        r#"{"reasoning":"hm","reasoning_content":null}"#,
        r#"{"reasoning":"hm","reasoning_content":"hm"}"#,
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#,
        r#"{"content":"<think>hm</think>\n\n"}"#,
        r#"{"content":"<thought>hm</thought>"}"#,
    ] {
        let reply = read(&chunks(&[&delta(piece), TEXT, STOP])).unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.thinking.as_str()),
            ("Hi", "hm"),
            "{piece}"
        );
    }
    let body =
        "{\"message\":{\"thinking\":\"hm\"}}\n{\"message\":{\"content\":\"Hi\"},\"done\":true}\n";
    let reply = read_as(Wire::Ollama, "ollama", body).unwrap();
    assert_eq!((reply.text.as_str(), reply.thinking.as_str()), ("Hi", "hm"));
}

#[test]
fn deltas_come_in_their_order_and_together() {
    let mut decoder = decoder(Wire::Completions, "openai-compat");
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
    let refusal = chunks(&[&delta(r#"{"refusal":"I will not."}"#), STOP]);
    assert_eq!(
        read(&refusal).unwrap().finish,
        FinishReason::Refused("I will not.".into())
    );
}

#[test]
fn q30_a_call_cut_by_the_limit_is_kept_apart() {
    for finish in [
        r#""finish_reason":"length""#,
        r#""finish_reason":"tool_calls","native_finish_reason":"MAX_TOKENS""#,
    ] {
        let cut = format!(
            r#"{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"f","arguments":"{{\"x\":"}}}}]}},{finish}}}"#
        );
        let reply = read(&chunks(&[TEXT, &cut])).unwrap();
        assert_eq!((reply.finish, reply.calls.len()), (FinishReason::Length, 0));
        assert_eq!((reply.text.as_str(), reply.cut_calls.len()), ("Hi", 1));
    }
}

#[test]
fn q31_calls_count_whatever_the_finish_reason() {
    let call = r#"{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]},"finish_reason":"stop"}"#;
    assert_eq!(read(&chunks(&[call])).unwrap().calls[0].args, r#"{"x":1}"#);
}

#[test]
fn q32_ollama_sends_calls_in_any_line() {
    let body = concat!(
        r#"{"message":{"content":"","tool_calls":[{"function":{"index":0,"name":"f","arguments":{}}}]},"done":false}"#,
        "\n",
        r#"{"message":{"content":"","tool_calls":[{"function":{"index":0,"name":"f","arguments":{"x":1}}}]},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":6}"#,
        "\n",
    );
    let reply = read_as(Wire::Ollama, "ollama", body).unwrap();
    let args: Vec<&str> = reply.calls.iter().map(|call| call.args.as_str()).collect();
    assert_eq!(args, ["{}", r#"{"x":1}"#]);
    assert_ne!(reply.calls[0].id, reply.calls[1].id);
    assert_eq!(
        reply.usage.map(|usage| (usage.input, usage.output)),
        Some((5, 6))
    );
    let error = "{\"message\":{\"content\":\"Hi\"}}\n{\"error\":\"out of memory\"}\n";
    let failure = read_as(Wire::Ollama, "ollama", error).unwrap_err();
    assert_eq!(
        (failure.partial.text.as_str(), failure.kind),
        ("Hi", FailureKind::Server)
    );
    let cut = "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n{\"mess";
    assert_eq!(
        read_as(Wire::Ollama, "ollama", cut).unwrap_err().kind,
        FailureKind::Cut
    );
}

#[test]
fn q33_extra_content_is_kept_with_its_call_or_message() {
    let body = chunks(&[
        r#"{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S"}}}]}}"#,
        r#"{"delta":{"extra_content":{"google":{"thought":true}}}}"#,
        r#"{"delta":{"extra_content":{"google":{"thought_signature":"M"}}}}"#,
    ]);
    let reply = read_as(Wire::Completions, "gemini", &body).unwrap();
    let call = reply.calls[0].provider_state.clone().unwrap();
    assert_eq!(call.provider, "gemini");
    assert_eq!(
        call.json,
        r#"{"extra_content":{"google":{"thought_signature":"S"}}}"#
    );
    assert_eq!(
        reply.provider_state.unwrap().json,
        r#"{"extra_content":{"google":{"thought":true,"thought_signature":"M"}}}"#
    );
}

#[test]
fn q34_reasoning_details_are_kept_joined() {
    let body = chunks(&[
        r#"{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}}"#,
        r#"{"delta":{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0}]}}"#,
        TEXT,
    ]);
    let reply = read_as(Wire::Completions, "openrouter", &body).unwrap();
    assert_eq!(
        reply.provider_state.unwrap().json,
        r#"{"reasoning_details":[{"type":"reasoning.text","text":"ab","index":0}]}"#
    );
}

#[test]
fn q35_thinking_goes_back_only_where_it_is_wanted_and_with_calls() {
    let call = r#"{"delta":{"reasoning_content":"hm","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}"#;
    let kept = |name, choice| {
        read_as(Wire::Completions, name, &chunks(&[choice]))
            .unwrap()
            .provider_state
    };
    assert_eq!(
        kept("deepseek", call).unwrap().json,
        r#"{"reasoning_content":"hm"}"#
    );
    assert_eq!(kept("xai", call), None);
    assert_eq!(
        kept("deepseek", r#"{"delta":{"reasoning_content":"hm"}}"#),
        None
    );
}

#[test]
fn text_that_only_its_encoding_breaks_is_mended() {
    let body =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFb \\ud83d\"}}]}\n\ndata: [DONE]\n\n";
    let reply = read_in(Wire::Completions, "openai-compat", body, usize::MAX).unwrap();
    assert_eq!(reply.text, "a\u{fffd}b ");
}

#[test]
fn a_character_cut_between_two_pieces_is_whole_again() {
    let call = |args: &str| {
        format!(
            r#"{{"delta":{{"tool_calls":[{{"index":0,"function":{{"name":"f","arguments":"{args}"}}}}]}}}}"#
        )
    };
    let arguments = [
        r#"{\"text\":\"so far \ud83d"#,
        r#"\ude00 and on"#,
        r#" alone \ude00\"}"#,
    ]
    .map(call);
    let [a, b, c] = &arguments;
    let reply = read(&chunks(&[a, b, c])).unwrap();
    assert_eq!(
        reply.calls[0].args,
        "{\"text\":\"so far \u{1f600} and on alone \u{fffd}\"}"
    );
    let text = [
        r#"{"delta":{"content":"a\ud83d"}}"#,
        r#"{"delta":{"content":"\ude00b"}}"#,
    ];
    assert_eq!(read(&chunks(&text)).unwrap().text, "a\u{1f600}b");
    let line = |text: &str| format!("{{\"message\":{{\"content\":\"{text}\"}},\"done\":false}}\n");
    let body = format!(
        "{}{}{{\"done\":true}}\n",
        line("a\\ud83d"),
        line("\\ude00b")
    );
    assert_eq!(
        read_as(Wire::Ollama, "ollama", &body).unwrap().text,
        "a\u{1f600}b"
    );
    let part = |json: &str| {
        format!(
            "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{json}\"}}}}\n\n"
        )
    };
    let body = format!(
        "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{{}}}}}}\n\n{}{}data: {{\"type\":\"message_stop\"}}\n\n",
        part(r#"{\"x\":\"\ud83d"#),
        part(r#"\ude00\"}"#)
    );
    let reply = read_as(Wire::Anthropic, "anthropic", &body).unwrap();
    assert_eq!(reply.calls[0].args, "{\"x\":\"\u{1f600}\"}");
}

#[test]
fn anthropic_streams_blocks() {
    let body = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"S"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":1}"}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
        r#"{"type":"message_stop"}"#,
    ]
    .map(|data| format!("event: x\ndata: {data}\n\n"))
    .concat();
    let reply = read_as(Wire::Anthropic, "anthropic", &body).unwrap();
    assert_eq!((reply.text.as_str(), reply.thinking.as_str()), ("Hi", "hm"));
    let calls: Vec<(&str, &str)> = reply
        .calls
        .iter()
        .map(|c| (c.id.as_str(), c.args.as_str()))
        .collect();
    assert_eq!(calls, [("a", "{\"x\":1}"), ("b", "{}")]);
    assert_eq!(reply.finish, FinishReason::Done);
    assert_eq!(
        reply.usage.map(|usage| (usage.input, usage.output)),
        Some((15, 7))
    );
    assert_eq!(
        reply.provider_state.unwrap().json,
        r#"{"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"S"}]}"#
    );
    let (cut, _) = body
        .split_once("event: x\ndata: {\"type\":\"message_delta\"")
        .unwrap();
    let failure = read_as(Wire::Anthropic, "anthropic", cut).unwrap_err();
    assert_eq!(
        (failure.kind, failure.partial.calls.len()),
        (FailureKind::Cut, 0)
    );
}

#[test]
fn anthropic_errors_and_whole_messages() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    assert_eq!(
        read_as(Wire::Anthropic, "anthropic", error)
            .unwrap_err()
            .kind,
        FailureKind::Server
    );
    let whole = r#"{"type":"message","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"stop_reason":"max_tokens","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let reply = read_as(Wire::Anthropic, "anthropic", whole).unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.calls.len(), reply.finish),
        ("Hi", 1, FinishReason::Length)
    );
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
    let reply = read_as(Wire::Ollama, "ollama", line).unwrap();
    assert_eq!(reply.calls.len(), 1);
    let message = r#"{"type":"message","content":[null,{"type":"text","text":"A"}],"stop_reason":"end_turn"}"#;
    let reply = read_as(Wire::Anthropic, "anthropic", message).unwrap();
    assert_eq!(reply.text, "A");
}

#[test]
fn text_before_an_error_can_be_shown_and_is_kept() {
    let mut decoder = decoder(Wire::Completions, "openai-compat");
    let body = format!(
        "data: {{\"choices\":[{TEXT}]}}\n\ndata: {{\"error\":{{\"message\":\"broken\"}}}}\n\n"
    );
    assert_eq!(decoder.feed(body.as_bytes()), Progress::Failed);
    assert_eq!(decoder.feed(b"data: more\n\n"), Progress::Failed);
    decoder.end();
    assert_eq!(decoder.deltas().collect::<Vec<_>>(), [Delta::Text("Hi")]);
    assert_eq!(decoder.into_result().unwrap_err().partial.text, "Hi");
}

#[test]
fn answers_in_one_piece_are_read_wherever_a_server_puts_them() {
    let ollama = |body: &str| read_as(Wire::Ollama, "ollama", body).unwrap();
    let compatible = |body: &str| read(body).unwrap();
    for (reply, text, thinking) in [
        (
            compatible(r#"{"choices":[{"text":"hi","finish_reason":"stop"}]}"#),
            "hi",
            "",
        ),
        (compatible(r#"{"content":"hi","stop":true}"#), "hi", ""),
        (
            compatible(r#"{"choices":[{"message":{"content":"hi","thinking":"hm"}}]}"#),
            "hi",
            "hm",
        ),
        (
            ollama(
                r#"{"message":{"role":"assistant","content":"hi","thinking":"hm"},"done":true,"eval_count":3}"#,
            ),
            "hi",
            "hm",
        ),
        (ollama(r#"{"content":"hi","done":true}"#), "hi", ""),
        (
            ollama("{\n \"message\": {\"content\": \"hi\"},\n \"done\": true\n}\n"),
            "hi",
            "",
        ),
        (
            ollama(r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#),
            "hi",
            "",
        ),
    ] {
        assert_eq!(
            (reply.text.as_str(), reply.thinking.as_str()),
            (text, thinking)
        );
    }
    for body in [
        r#"{"message":{"tool_calls":[{"function":{"name":"tree","arguments":{"path":"a"}}}]},"done":true}"#,
        r#"{"message":{"tool_calls":[{"function":{"name":"tree","arguments":"{\"path\":\"a\"}"}}]},"done":true}"#,
    ] {
        assert_eq!(ollama(body).calls[0].args, r#"{"path":"a"}"#);
    }
}
