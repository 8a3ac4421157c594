//! Calls in a stream, and what goes back with them.

use super::*;

#[test]
fn q30_a_call_cut_by_the_limit_is_kept_apart() {
    let cut = r#"{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]},"finish_reason":"tool_calls","native_finish_reason":"MAX_TOKENS"}"#;
    let reply = read(&chunks(&[TEXT, cut])).unwrap();
    assert_eq!((reply.finish, reply.calls.len()), (FinishReason::Length, 0));
    assert_eq!((reply.text.as_str(), reply.cut_calls.len()), ("Hi", 1));
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
