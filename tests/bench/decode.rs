//! Time that decoding takes per delta (framing, JSON, assembly, in the reads that a socket gives), a page of a megabyte as text, and a search among
//! 5,000 tools.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use marvin::testing::llm::{Delta, Dialect, ErrorContext, row};
use marvin::testing::tools::{self, ToolContext};
use marvin::testing::{Cancel, NullSink, ToolCall};

const DELTAS: usize = 100_000;

fn main() {
    for (name, body) in [
        ("openai-compat", openai()),
        ("openai", responses()),
        ("anthropic", anthropic()),
        ("ollama", ollama()),
    ] {
        for size in [usize::MAX, 16 * 1024, 1400, 240] {
            let size = size.min(body.len());
            let best = (0..7)
                .map(|_| once(name, &body, size))
                .min()
                .unwrap_or_default();
            let nanoseconds = best.as_nanos() as f64 / DELTAS as f64;
            println!(
                "{name:<13} reads of {size:>9} bytes, {} bytes a delta: {nanoseconds:>6.1} ns a delta",
                body.len() / DELTAS
            );
        }
    }
    let page = page();
    let best = (0..7).map(|_| shown(&page)).min().unwrap_or_default();
    let milliseconds = best.as_secs_f64() * 1000.0;
    println!(
        "page       of {:>9} bytes as text: {milliseconds:>6.1} ms",
        page.len()
    );
    let (first, least) = searches();
    println!(
        "search among {TOOLS} tools: {:.3} ms, the first one with its index {:.1} ms",
        least.as_secs_f64() * 1000.0,
        first.as_secs_f64() * 1000.0
    );
}

/// Tools of a server that are searched.
const TOOLS: usize = 5_000;

/// The first search, which makes the index, and the shortest of those after it.
fn searches() -> (Duration, Duration) {
    let verbs = [
        "list", "delete", "update", "merge", "export", "archive", "share",
    ];
    let things = [
        "invoice", "ticket", "branch", "customer", "sensor", "page", "order", "meeting",
    ];
    let tool = |n: usize| {
        let of = |words: &[&'static str]| words.iter().cycle().nth(n % words.len()).copied();
        let (verb, thing) = (
            of(&verbs).unwrap_or_default(),
            of(&things).unwrap_or_default(),
        );
        let schema = format!(
            r#"{{"type":"object","properties":{{"{thing}_id":{{"type":"string","description":"which {thing}, as list_{thing} has it"}},"reason":{{"type":"string","description":"why, for the log"}}}}}}"#
        );
        let summary = format!("Will {verb} a {thing} of the workspace, and say what became of it.");
        (format!("work__{verb}_{thing}_{n}"), summary, schema)
    };
    let session = tools::session_that_searches((0..TOOLS).map(tool));
    let ctx = ToolContext::new(session, Cancel::new(), Arc::new(NullSink));
    let call = ToolCall::new(
        "a",
        "tool_search",
        r#"{"query":"merge the customers of a workspace"}"#,
    );
    let search = || {
        let start = Instant::now();
        let found = tools::run_one(&ctx, black_box(&call)).output.text;
        let time = start.elapsed();
        assert!(found.contains("work__merge_customer"), "{found}");
        time
    };
    let first = search();
    let least = (0..200).map(|_| search()).min().unwrap_or_default();
    (first, least)
}

/// Makes a page into text.
fn shown(page: &str) -> Duration {
    let start = Instant::now();
    let text = marvin::testing::html::page(black_box(page)).text;
    let time = start.elapsed();
    assert!(text.len() > page.len() / 4);
    time
}

/// A typical page of a megabyte.
fn page() -> String {
    let part = |n: usize| {
        format!(
            "<section id=\"s{n}\"><h2>Harbour {n}</h2><p>The <a href=\"/f{n}\" title=\"Ferry\">ferry</a> leaves at <b>09:15</b> &mdash; daily \
             but on Sundays<sup><a href=\"#n\">[{n}]</a></sup>. Tickets cost &euro;4.50 &amp; are sold on board.</p><ul class=\"list\">\
             <li>Brest</li><li>Roscoff and around</li></ul><table class=\"t\"><tr><th>Port</th><th>HW</th></tr><tr><td>Brest</td><td>05:01\
             </td></tr></table><div class=\"note\" style=\"margin:1em\"><span>Note:</span> nothing to see.</div></section>\n"
        )
    };
    let mut page = "<!doctype html><title>Harbours</title><style>p{color:red}</style>".to_owned();
    for n in 0.. {
        if page.len() >= 1_000_000 {
            break;
        }
        page.push_str(&part(n));
    }
    page
}

/// Decodes `body` in reads of `size` bytes.
fn once(name: &str, body: &[u8], size: usize) -> Duration {
    let Some(row) = row(name) else {
        return Duration::ZERO;
    };
    let mut text = 0;
    let start = Instant::now();
    let mut decoder = Dialect::of(row, row.base).decoder(ErrorContext::new(row));
    let mut count = |delta: Delta<'_>| {
        if let Delta::Text(piece) = delta {
            text += piece.len();
        }
    };
    for read in body.chunks(size) {
        decoder.feed(black_box(read));
        decoder.deltas().for_each(&mut count);
    }
    decoder.end();
    decoder.deltas().for_each(&mut count);
    let reply = decoder.into_result();
    let time = start.elapsed();
    assert!(reply.is_ok_and(|reply| reply.text.len() == text && text > DELTAS));
    time
}

fn openai() -> Vec<u8> {
    let chunk = |n: usize| {
        format!(
            "data: {{\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"gpt-5.1\",\
             \"system_fingerprint\":\"fp_0123456789\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{n}\"}},\
             \"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        )
    };
    let mut body: String = (0..DELTAS).map(chunk).collect();
    body.push_str("data: [DONE]\n\n");
    body.into_bytes()
}

fn responses() -> Vec<u8> {
    let chunk = |n: usize| {
        let padding = "x".repeat(1 + n % 16);
        format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{n},\"item_id\":\"msg_0123456789\",\
             \"output_index\":0,\"content_index\":0,\"delta\":\" word{n}\",\"logprobs\":[],\"obfuscation\":\"{padding}\"}}\n\n"
        )
    };
    let mut body: String = (0..DELTAS).map(chunk).collect();
    body.push_str("event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n");
    body.into_bytes()
}

fn anthropic() -> Vec<u8> {
    let chunk = |n: usize| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\" word{n}\"}}}}\n\n"
        )
    };
    let mut body: String = (0..DELTAS).map(chunk).collect();
    body.push_str("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    body.into_bytes()
}

fn ollama() -> Vec<u8> {
    let chunk = |n: usize| {
        format!(
            "{{\"model\":\"qwen3:14b\",\"created_at\":\"2025-10-09T17:58:55.337823Z\",\"message\":{{\"role\":\"assistant\",\"content\":\" word{n}\"}},\"done\":false}}\n"
        )
    };
    let mut body: String = (0..DELTAS).map(chunk).collect();
    body.push_str("{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n");
    body.into_bytes()
}
