//! Every body decodes to its expected result: whole, byte by byte, and cut in two at every position. Ours stand in `fixtures/wires`, a
//! folder for each case with the body and what must come of it; bodies that public projects recorded are read where they lie beside the
//! checkout.

// Tests report that they skip, and how many cases they ran.
#![allow(clippy::print_stderr)]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

mod cases;

use cases::{Call, Counts, Error, Expected, Index, Recording, Seen, WIRES, index, ours};

use super::decode::Decoder;
use super::draft::ReplyDraft;
use super::framing::BodyReader;
use super::output_items::SavedItem;
use crate::llm::catalog::ROWS;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::{Delta, FinishReason, Reply};
use crate::llm::wire::errors::{self, ErrorCode, ProviderError};
use crate::llm::wire::{ErrorContext, Wire};

/// Reads all of `reads` to the end; also gives the text that was handed over.
fn read<'a>(wire: Wire, reads: impl Iterator<Item = &'a [u8]>) -> (BodyReader, String, String) {
    let mut reading = BodyReader::new(wire);
    let (mut text, mut thinking) = (String::new(), String::new());
    let mut show = |reading: &mut BodyReader| {
        for delta in reading.draft.deltas() {
            match delta {
                Delta::Text(piece) => text.push_str(piece),
                Delta::Thinking(piece) => thinking.push_str(piece),
                Delta::Signature(_) | Delta::Notice(..) => {}
            }
        }
    };
    for bytes in reads {
        reading.feed(bytes).unwrap();
        show(&mut reading);
    }
    reading.finish().unwrap();
    show(&mut reading);
    (reading, text, thinking)
}

fn same_error(want: Option<&Error>, said: Option<&ProviderError>) {
    let code = |said: &ProviderError| match &said.code {
        Some(ErrorCode::Word(word)) => Value::from(word.as_str()),
        Some(ErrorCode::Number(number)) => Value::from(*number),
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

fn same_draft(want: &Expected, draft: &ReplyDraft) {
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
        cached: usage.cached,
        cache_write: usage.written,
        reasoning: usage.reasoning,
    });
    // Recordings of chat completions say nothing about the parts.
    let whole_only = want.replay.is_none() && want.seen.about.is_empty();
    let usage = usage.map(|usage| match whole_only {
        true => Counts {
            cached: None,
            cache_write: None,
            reasoning: None,
            ..usage
        },
        false => usage,
    });
    assert_eq!(usage, want.usage);
    same_error(want.error.as_ref(), draft.error.as_ref());
    let mut signatures = Vec::new();
    if draft.extra_content.is_some() {
        signatures.push("message.extra_content");
    }
    if !draft.details.is_empty() {
        signatures.push("reasoning_details");
    }
    if draft.calls.slots().iter().any(|slot| slot.extra.is_some()) {
        signatures.push("tool_calls.extra_content");
    }
    if draft.blocks.to_json().is_some() {
        signatures.push("thinking_blocks");
    }
    if let Some(replay) = &want.replay {
        same_replay(replay, draft);
        assert_eq!(draft.refusal, want.refusal);
    } else {
        assert_eq!(signatures, want.signatures);
    }
    assert_eq!(draft.done, want.done_marker, "done marker");
    // Nothing is read behind an error.
    assert!(
        draft.events == want.events || draft.error.is_some(),
        "events"
    );
    let complete = draft.error.is_none() && (draft.done || draft.finish.is_some());
    assert_eq!(complete, want.outcome == "complete");
}

/// The items that go back, named as in the index: kind, and phase or id.
fn same_replay(want: &[String], draft: &ReplyDraft) {
    let id = |at: usize| draft.calls.slots().get(at).map(|slot| slot.id.clone());
    let mut items: Vec<String> = draft
        .items
        .saved_items(id)
        .iter()
        .map(|item| match item {
            SavedItem::Reasoning(_) => "reasoning".to_owned(),
            SavedItem::Message { phase: None, .. } => "message".to_owned(),
            SavedItem::Message {
                phase: Some(phase), ..
            } => format!("message:{phase}"),
            SavedItem::Call(id) => format!("function_call:{id}"),
        })
        .collect();
    // An empty message is not worth a place.
    items.retain(|item| item != "message" || !draft.text.is_empty());
    assert_eq!(items, want);
}

/// Whether both read the rest alike. Behind the end marker nothing is read, so a line break that only one of them took makes no difference.
fn alike(one: &BodyReader, other: &BodyReader) -> bool {
    one == other || one.draft.done && one.draft == other.draft
}

/// The state after a line does not depend on where the line was cut; equal states read the rest alike.
fn every_cut(wire: Wire, body: &[u8], chosen: &dyn Fn(usize) -> bool) -> usize {
    let mut cuts = 0;
    let mut at = 0;
    let mut before = BodyReader::new(wire);
    let feed = |reading: &mut BodyReader, bytes: &[u8]| {
        reading.feed(bytes).unwrap();
        reading.draft.deltas().for_each(drop);
    };
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let mut after = before.clone();
        feed(&mut after, line);
        for cut in (0..line.len()).filter(|cut| chosen(at + cut)) {
            let mut other = before.clone();
            feed(&mut other, &line[..cut]);
            feed(&mut other, &line[cut..]);
            assert!(alike(&other, &after), "cut at {}", at + cut);
            cuts += 1;
        }
        before = after;
        at += line.len();
    }
    cuts
}

/// Which positions of a body are cut: all of a small one, the ends and 500 others of a large one.
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
        same_error(want.error.as_ref(), Some(&ProviderError::from_body(body)));
        let asked = ErrorContext::new(recording.row());
        let failure = errors::from_response(&asked, recording.status, &|_| None, body);
        same_failure(&want.seen, &failure);
        return 0;
    }
    let wire = recording.wire();
    if want.outcome == "broken" {
        for size in [usize::MAX, 1] {
            let failure = decode(recording, body, size).unwrap_err();
            assert_eq!(failure.partial.text, want.text, "{size}");
            same_failure(&want.seen, &failure);
        }
        return 0;
    }
    let (reading, text, thinking) = read(wire, std::iter::once(body));
    same_draft(want, &reading.draft);
    assert_eq!(
        (text.as_str(), thinking.as_str()),
        (want.text.as_str(), want.reasoning.as_str())
    );
    let (bytes, text, thinking) = read(wire, body.chunks(1));
    assert!(alike(&bytes, &reading), "byte by byte");
    assert_eq!(
        (text.as_str(), thinking.as_str()),
        (want.text.as_str(), want.reasoning.as_str())
    );
    outcome(recording, body);
    every_cut(wire, body, &chosen(body.len()))
}

fn decode(recording: &Recording, body: &[u8], size: usize) -> Result<Reply, Failure> {
    let mut decoder = Decoder::new(recording.wire(), ErrorContext::new(recording.row()));
    for bytes in body.chunks(size) {
        decoder.feed(bytes);
    }
    decoder.end();
    decoder.into_result()
}

/// What the rest of the program sees.
fn outcome(recording: &Recording, body: &[u8]) {
    let want = &recording.expected;
    match (decode(recording, body, usize::MAX), want.outcome.as_str()) {
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
            if let Some(finish) = &want.seen.finish {
                assert_eq!(&finish_word(&reply.finish), finish);
            }
        }
        (Err(failure), "error" | "truncated") => {
            assert_eq!(failure.partial.text, want.text);
            assert!(failure.partial.calls.is_empty());
            same_failure(&want.seen, &failure);
        }
        (other, _) => panic!("{other:?}"),
    }
}

fn same_failure(want: &Seen, failure: &Failure) {
    if let Some(why) = &want.why {
        assert_eq!(why_word(&failure.kind), why, "{failure:?}");
    }
    let line = failure.problem.for_model();
    assert!(line.contains(&want.says), "no {:?} in {line}", want.says);
}

fn finish_word(finish: &FinishReason) -> String {
    match finish {
        FinishReason::Unknown => "unsaid".to_owned(),
        FinishReason::Done => "done".to_owned(),
        FinishReason::Length => "length".to_owned(),
        FinishReason::WindowFull => "window full".to_owned(),
        FinishReason::Filtered(why) if why.is_empty() => "filtered".to_owned(),
        FinishReason::Filtered(why) => format!("filtered: {why}"),
        FinishReason::Refused(words) => format!("refused: {words}"),
        FinishReason::Incomplete(reason) => format!("incomplete: {reason}"),
        FinishReason::Other(word) => format!("other: {word}"),
    }
}

fn why_word(why: &FailureKind) -> &'static str {
    match why {
        FailureKind::Auth => "auth",
        FailureKind::RateLimited { .. } => "rate-limited",
        FailureKind::Quota => "quota",
        FailureKind::TooLarge => "too-large",
        FailureKind::TooLong => "too-long",
        FailureKind::NoTools => "no-tools",
        FailureKind::BadCall { wrote } if !wrote.is_empty() => "bad-call",
        FailureKind::NoSuchPath => "no-such-path",
        FailureKind::OtherWire => "other-wire",
        FailureKind::NoSummaries => "no-summaries",
        FailureKind::Refused => "refused",
        FailureKind::Filtered => "filtered",
        FailureKind::Server => "server",
        FailureKind::Cut => "cut",
        FailureKind::Protocol => "protocol",
        _ => "another",
    }
}

/// The outcome as a reader of replies must know of every dialect.
const EVERYWHERE: [&str; 11] = [
    "text",
    "thinking",
    "one-call",
    "parallel-calls",
    "whole",
    "empty-reply",
    "empty-body",
    "cut",
    "broken-json",
    "error-in-stream",
    "error-401",
];

#[test]
fn our_own_bodies_decode_as_expected_wherever_they_are_cut() {
    let (folder, index) = ours();
    for (wire, case) in WIRES
        .iter()
        .flat_map(|wire| EVERYWHERE.map(|case| (wire.0, case)))
    {
        let start = format!("{wire}/{case}/");
        let has = |recording: &Recording| recording.file.starts_with(&start);
        assert!(index.recordings.iter().any(has), "no {start}");
    }
    for provider in ROWS {
        let asked = |recording: &Recording| recording.row().name == provider.name;
        assert!(index.recordings.iter().any(asked), "{}", provider.name);
    }
    all(&folder, &index);
}

#[test]
fn every_recording_decodes_as_expected_wherever_it_is_cut() {
    for wire in ["", "responses"] {
        if let Some((folder, index)) = index(wire) {
            all(&folder, &index);
        }
    }
}

fn all(folder: &Path, index: &Index) {
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
type Right = fn(&FailureKind) -> bool;

/// The failure kind that a recorded error's file name implies.
fn sort_of(file: &str) -> Option<Right> {
    let rules: [(&str, Right); 10] = [
        ("error-401", |why| *why == FailureKind::Auth),
        ("error-403", |why| *why == FailureKind::Auth),
        ("error-50", |why| *why == FailureKind::Server),
        ("context-length", |why| *why == FailureKind::TooLong),
        ("no-tools", |why| *why == FailureKind::NoTools),
        (
            "tool-use-failed",
            |why| matches!(why, FailureKind::BadCall { wrote } if !wrote.is_empty()),
        ),
        ("openai/error-429", |why| *why == FailureKind::Quota),
        ("groq/error-429", |why| *why == FailureKind::TooLarge),
        ("error-429", |why| {
            matches!(why, FailureKind::RateLimited { .. })
        }),
        ("error-404", |why| {
            matches!(why, FailureKind::Refused | FailureKind::NoSuchPath)
        }),
    ];
    let rule = rules.iter().find(|(part, _)| file.contains(part))?;
    Some(rule.1)
}

#[test]
fn recorded_errors_are_sorted() {
    let Some((folder, index)) = index("") else {
        return;
    };
    for recording in index.recordings.iter().filter(|r| r.status >= 400) {
        let Some(right) = sort_of(&recording.file) else {
            continue;
        };
        let body = std::fs::read(folder.join(&recording.file)).unwrap();
        let asked = ErrorContext::new(recording.row());
        let failure = errors::from_response(&asked, recording.status, &|_| None, &body);
        assert!(right(&failure.kind), "{}: {failure:?}", recording.file);
        assert!(failure.problem.what.contains(asked.row.name), "{failure:?}");
    }
}
