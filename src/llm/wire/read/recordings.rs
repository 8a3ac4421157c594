//! Every recorded body decodes to its expected result: whole, byte by byte, and cut in two at every position.

// Tests report that they skip, and how many cases they ran.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::Value;

use super::decode::Decoder;
use super::draft::Draft;
use super::framing::Reading;
use crate::llm::catalog::row;
use crate::llm::failure::Why;
use crate::llm::provider::Delta;
use crate::llm::wire::errors::{self, Code, Said};
use crate::llm::wire::{Asked, Wire};

#[derive(Deserialize)]
struct Index {
    recordings: Vec<Recording>,
}

#[derive(Deserialize)]
struct Recording {
    file: String,
    status: u16,
    expected: Expected,
}

#[derive(Deserialize)]
struct Expected {
    outcome: String,
    text: String,
    reasoning: String,
    tool_calls: Vec<Call>,
    finish_reason: Option<String>,
    usage: Option<Counts>,
    error: Option<Error>,
    signatures: Vec<String>,
    done_marker: bool,
    events: usize,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Call {
    id: Option<String>,
    name: String,
    arguments_raw: Option<String>,
    arguments: Value,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Counts {
    prompt: Option<u64>,
    completion: Option<u64>,
    total: Option<u64>,
}

#[derive(Deserialize)]
struct Error {
    message: String,
    code: Value,
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// The recordings, beside the project or its worktrees.
fn index() -> Option<(PathBuf, Index)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = ["../shared/recordings", "../../shared/recordings"]
        .into_iter()
        .find_map(|place| {
            let folder = here.join(place);
            let text = std::fs::read(folder.join("INDEX.json")).ok()?;
            Some((folder, serde_json::from_slice(&text).unwrap()))
        });
    if found.is_none() {
        eprintln!("skipped: there is no folder ../shared/recordings beside the project");
    }
    found
}

fn wire(file: &str) -> Wire {
    if file.ends_with(".ndjson") {
        Wire::Ollama
    } else {
        Wire::OpenAi
    }
}

/// Reads all of `reads` to the end; also gives the text that was handed over.
fn read<'a>(wire: Wire, reads: impl Iterator<Item = &'a [u8]>) -> (Reading, String, String) {
    let mut reading = Reading::new(wire);
    let (mut text, mut thinking) = (String::new(), String::new());
    let mut on = |delta: Delta<'_>| match delta {
        Delta::Text(piece) => text.push_str(piece),
        Delta::Thinking(piece) => thinking.push_str(piece),
    };
    for bytes in reads {
        reading.feed(bytes, &mut on).unwrap();
    }
    reading.finish(&mut on).unwrap();
    (reading, text, thinking)
}

fn same_error(want: Option<&Error>, said: Option<&Said>) {
    let code = |said: &Said| match &said.code {
        Some(Code::Word(word)) => Value::from(word.as_str()),
        Some(Code::Number(number)) => Value::from(*number),
        None => Value::Null,
    };
    assert_eq!(
        said.map(|said| (said.message.as_str(), code(said), said.kind.as_deref())),
        want.map(|want| (
            want.message.as_str(),
            want.code.clone(),
            want.kind.as_deref()
        ))
    );
}

fn same_draft(want: &Expected, draft: &Draft) {
    assert_eq!(draft.text, want.text);
    assert_eq!(draft.reasoning, want.reasoning);
    let calls: Vec<Call> = draft
        .calls
        .slots()
        .iter()
        .map(|slot| Call {
            id: Some(slot.id.clone()).filter(|id| !id.is_empty()),
            name: slot.name.clone(),
            arguments_raw: (!slot.object).then(|| slot.args.clone()),
            arguments: match slot.args.as_str() {
                "" => serde_json::json!({}),
                args => serde_json::from_str(args).unwrap_or(Value::Null),
            },
        })
        .collect();
    assert_eq!(calls, want.tool_calls);
    assert_eq!(draft.finish, want.finish_reason);
    let usage = draft.usage.map(|usage| Counts {
        prompt: usage.prompt,
        completion: usage.completion,
        total: usage.total,
    });
    assert_eq!(usage, want.usage);
    same_error(want.error.as_ref(), draft.error.as_ref());
    let mut signatures = Vec::new();
    if draft.extra.is_some() {
        signatures.push("message.extra_content");
    }
    if !draft.details.is_empty() {
        signatures.push("reasoning_details");
    }
    if draft.calls.slots().iter().any(|slot| slot.extra.is_some()) {
        signatures.push("tool_calls.extra_content");
    }
    assert_eq!(signatures, want.signatures);
    assert_eq!(draft.done, want.done_marker, "done marker");
    assert_eq!(draft.events, want.events, "events");
    let complete = draft.error.is_none() && (draft.done || draft.finish.is_some());
    assert_eq!(complete, want.outcome == "complete");
}

/// The state after a line does not depend on where the line was cut; equal states read the rest alike.
fn every_cut(wire: Wire, body: &[u8], chosen: &dyn Fn(usize) -> bool) -> usize {
    let mut cuts = 0;
    let mut at = 0;
    let mut before = Reading::new(wire);
    let feed = |reading: &mut Reading, bytes: &[u8]| reading.feed(bytes, &mut |_| {}).unwrap();
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let mut after = before.clone();
        feed(&mut after, line);
        for cut in (0..line.len()).filter(|cut| chosen(at + cut)) {
            let mut other = before.clone();
            feed(&mut other, &line[..cut]);
            feed(&mut other, &line[cut..]);
            assert!(other == after, "cut at {}", at + cut);
            cuts += 1;
        }
        before = after;
        at += line.len();
    }
    cuts
}

/// The positions at which a body is cut: all of a small one, the ends and 500 others of a large one.
fn chosen(length: usize) -> impl Fn(usize) -> bool {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut picked = std::collections::HashSet::new();
    for _ in 0..500 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        picked.insert((seed >> 33) as usize % length.max(1));
    }
    move |at| length <= 16_384 || at < 4096 || at + 4096 > length || picked.contains(&at)
}

fn check(recording: &Recording, body: &[u8]) -> usize {
    let want = &recording.expected;
    if recording.status >= 400 {
        same_error(want.error.as_ref(), Some(&Said::from_body(body)));
        return 0;
    }
    let wire = wire(&recording.file);
    let (reading, text, thinking) = read(wire, std::iter::once(body));
    same_draft(want, &reading.draft);
    assert_eq!(
        (text.as_str(), thinking.as_str()),
        (want.text.as_str(), want.reasoning.as_str())
    );
    let (bytes, text, thinking) = read(wire, body.chunks(1));
    assert!(bytes == reading, "byte by byte");
    assert_eq!(
        (text.as_str(), thinking.as_str()),
        (want.text.as_str(), want.reasoning.as_str())
    );
    outcome(recording, wire, body);
    every_cut(wire, body, &chosen(body.len()))
}

/// The outcome as the rest of the program sees it.
fn outcome(recording: &Recording, wire: Wire, body: &[u8]) {
    let want = &recording.expected;
    let mut decoder = Decoder::new(wire, Asked::new(row("openai-compat").unwrap()));
    let result = match decoder.feed(body, &mut |_| {}) {
        Ok(_) => decoder.finish(&mut |_| {}),
        Err(failure) => Err(failure),
    };
    match (result, want.outcome.as_str()) {
        (Ok(reply), "complete") => {
            assert_eq!(reply.text, want.text);
            let runnable = want
                .tool_calls
                .iter()
                .filter(|call| !call.arguments.is_null());
            let nulls = want.tool_calls.iter().filter(|call| {
                call.arguments.is_null() && call.arguments_raw.as_deref() == Some("null")
            });
            assert_eq!(reply.calls.len(), runnable.count() + nulls.count());
            for call in &reply.calls {
                assert!(!call.id.is_empty());
                serde_json::from_str::<serde_json::Map<String, Value>>(&call.args).unwrap();
            }
        }
        (Err(failure), "error") => {
            assert_eq!(failure.so_far.text, want.text);
            assert!(failure.so_far.calls.is_empty());
        }
        (other, _) => panic!("{other:?}"),
    }
}

#[test]
fn every_recording_decodes_as_expected_wherever_it_is_cut() {
    let Some((folder, index)) = index() else {
        return;
    };
    let (next, cuts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failed = std::sync::Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(recording) =
                    index.recordings.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let body = std::fs::read(folder.join(&recording.file)).unwrap();
                    match std::panic::catch_unwind(|| check(recording, &body)) {
                        Ok(n) => {
                            cuts.fetch_add(n, Ordering::Relaxed);
                        }
                        Err(_) => failed.lock().unwrap().push(recording.file.as_str()),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} of {}: {failed:#?}",
        failed.len(),
        index.recordings.len()
    );
    eprintln!("{} recordings, {cuts:?} cuts", index.recordings.len());
}
type Right = fn(&Why) -> bool;

/// The failure kind that a recorded error's file name implies.
fn sort_of(file: &str) -> Option<Right> {
    let rules: [(&str, Right); 10] = [
        ("error-401", |why| *why == Why::Auth),
        ("error-403", |why| *why == Why::Auth),
        ("error-50", |why| *why == Why::Server),
        ("context-length", |why| *why == Why::TooLong),
        ("no-tools", |why| *why == Why::NoTools),
        (
            "tool-use-failed",
            |why| matches!(why, Why::BadCall { wrote } if !wrote.is_empty()),
        ),
        ("openai/error-429", |why| *why == Why::Quota),
        ("groq/error-429", |why| *why == Why::TooLarge),
        ("error-429", |why| matches!(why, Why::RateLimited { .. })),
        ("error-404", |why| {
            matches!(why, Why::Refused | Why::NoSuchPath)
        }),
    ];
    let rule = rules.iter().find(|(part, _)| file.contains(part))?;
    Some(rule.1)
}

#[test]
fn recorded_errors_are_sorted() {
    let Some((folder, index)) = index() else {
        return;
    };
    for recording in index.recordings.iter().filter(|r| r.status >= 400) {
        let Some(right) = sort_of(&recording.file) else {
            continue;
        };
        let body = std::fs::read(folder.join(&recording.file)).unwrap();
        let provider = recording.file.split('/').next().and_then(row);
        let asked = Asked::new(provider.or(row("openai-compat")).unwrap());
        let failure = errors::from_response(&asked, recording.status, &|_| None, &body);
        assert!(right(&failure.why), "{}: {failure:?}", recording.file);
        assert!(failure.problem.what.contains(asked.row.name), "{failure:?}");
    }
}
