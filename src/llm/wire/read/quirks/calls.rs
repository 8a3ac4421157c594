//! Calls in a stream, and what goes back with them.

use super::*;

#[test]
fn q19_q20_calls_come_once_whatever_the_finish_reasons() {
    let call = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}"#;
    let more = r#"{"delta":{"content":"and"},"finish_reason":"stop"}"#;
    let reply = read(&chunks(&[TEXT, call, more, STOP])).unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("Hiand", 1));
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
    let reply = ollama(body).unwrap();
    let args: Vec<&str> = reply.calls.iter().map(|call| call.args.as_str()).collect();
    assert_eq!(args, ["{}", r#"{"x":1}"#]);
    assert_ne!(reply.calls[0].id, reply.calls[1].id);
    assert_eq!(
        reply.usage.map(|usage| (usage.input, usage.output)),
        Some((5, 6))
    );
    let error = "{\"message\":{\"content\":\"Hi\"}}\n{\"error\":\"out of memory\"}\n";
    let failure = ollama(error).unwrap_err();
    assert_eq!(
        (failure.partial.text.as_str(), failure.kind),
        ("Hi", FailureKind::Server)
    );
    let cut = "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n{\"mess";
    assert_eq!(kind(ollama(cut)), FailureKind::Cut);
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
    let pieces = [
        r#"{"delta":{"content":"a\ud83d"}}"#,
        r#"{"delta":{"content":"\ude00b"}}"#,
    ];
    assert_eq!(text(read(&chunks(&pieces))), "a\u{1f600}b");
    let line = |text: &str| format!("{{\"message\":{{\"content\":\"{text}\"}},\"done\":false}}\n");
    let body = format!(
        "{}{}{{\"done\":true}}\n",
        line("a\\ud83d"),
        line("\\ude00b")
    );
    assert_eq!(text(ollama(&body)), "a\u{1f600}b");
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
    let reply = anthropic(&body).unwrap();
    assert_eq!(reply.calls[0].args, "{\"x\":\"\u{1f600}\"}");
}
