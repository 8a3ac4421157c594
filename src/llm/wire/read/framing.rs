//! Detects the framing of a body by its first byte and extracts the payloads.

use std::ops::ControlFlow;

use serde_json::value::RawValue;

use super::draft::ReplyDraft;
use super::payload::payload;
use crate::formats::lines::{LineSplitter, MAX_LINE_BYTES, TooLong};
use crate::formats::sse::{SseEvents, SseItem};
use crate::llm::wire::Wire;
use crate::llm::wire::errors::ProviderError;
use crate::llm::wire::read::repair_json;

/// How much of a body that is not a reply is kept for the error message.
const MAX_STRAY_BYTES: usize = 4096;

/// A violation of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProtocolError {
    /// A line, event or body exceeds the limit, in bytes.
    TooLong(usize),
    /// A payload that is not JSON. It ends the stream: if it were skipped, half a tool call could pass for a complete one.
    Foreign(Vec<u8>),
}

impl From<TooLong> for ProtocolError {
    fn from(error: TooLong) -> Self {
        Self::TooLong(error.cap)
    }
}

/// The state while reading a body: framing and draft. With equal states the rest is read alike, which the tests rely on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BodyReader {
    wire: Wire,
    framing: Framing,
    pub(super) draft: ReplyDraft,
    /// Lines that do not belong to the protocol.
    pub(super) stray: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Framing {
    /// Only white space so far.
    Unknown,
    Sse(SseEvents),
    Lines(LineSplitter),
    /// JSON that is not streamed.
    Whole(Vec<u8>),
    /// A web page.
    Junk,
}

impl BodyReader {
    pub(super) fn new(wire: Wire) -> Self {
        Self {
            wire,
            framing: Framing::Unknown,
            draft: ReplyDraft::default(),
            stray: Vec::new(),
        }
    }

    pub(super) fn speaks(&self, wire: Wire) -> bool {
        self.wire == wire
    }

    /// Takes one read; input after `draft.done` is ignored.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        if self.draft.done {
            return Ok(());
        }
        let read = self.push(bytes);
        if self.draft.calls.bytes() > MAX_LINE_BYTES {
            return Err(ProtocolError::TooLong(MAX_LINE_BYTES));
        }
        read
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        match &mut self.framing {
            Framing::Unknown => {
                // A byte order mark counts as white space.
                let blank = |byte: &u8| b" \t\r\n\xEF\xBB\xBF".contains(byte);
                let Some(at) = bytes.iter().position(|byte| !blank(byte)) else {
                    return Ok(());
                };
                let rest = bytes.get(at..).unwrap_or_default();
                self.framing = match (rest.first(), self.wire) {
                    (Some(b'<'), _) => Framing::Junk,
                    (Some(b'{'), Wire::Ollama) => Framing::Lines(LineSplitter::default()),
                    (Some(b'{' | b'[' | b'"'), _) => Framing::Whole(Vec::new()),
                    _ => Framing::Sse(SseEvents::default()),
                };
                self.push(rest)
            }
            Framing::Sse(events) => {
                let (wire, draft, stray) = (self.wire, &mut self.draft, &mut self.stray);
                let mut broken = None;
                let flow = events.feed(bytes, &mut |item| {
                    event(wire, item, draft, stray).unwrap_or_else(|error| {
                        broken = Some(error);
                        ControlFlow::Break(())
                    })
                });
                broken.map_or(Ok(()), Err)?;
                Ok(flow.map(drop)?)
            }
            Framing::Lines(_) => self.push_lines(bytes),
            Framing::Whole(body) => {
                if body.len() + bytes.len() > MAX_LINE_BYTES {
                    return Err(ProtocolError::TooLong(MAX_LINE_BYTES));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
            Framing::Junk => {
                append_stray(&mut self.stray, bytes);
                // No more than this is shown, and the page may never end.
                if self.stray.len() >= MAX_STRAY_BYTES {
                    return Err(ProtocolError::Foreign(std::mem::take(&mut self.stray)));
                }
                Ok(())
            }
        }
    }

    fn push_lines(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        let mut rest = bytes;
        loop {
            let Framing::Lines(lines) = &mut self.framing else {
                return self.push(rest);
            };
            let Some(line) = lines.next(&mut rest)? else {
                return Ok(());
            };
            let line = line.bytes();
            match payload(self.wire, "", line, &mut self.draft) {
                Ok(()) => {}
                // The first line of an object that spans several lines.
                Err(error) if error.is_eof() && self.draft.events == 0 => {
                    let mut body = line.to_vec();
                    body.push(b'\n');
                    self.framing = Framing::Whole(body);
                }
                Err(_) => return Err(ProtocolError::Foreign(beginning(line))),
            }
            if self.draft.done {
                return Ok(());
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), ProtocolError> {
        let read = if self.draft.done { Ok(()) } else { self.end() };
        self.draft.end_half(self.wire);
        self.draft.end_text();
        read
    }

    fn end(&mut self) -> Result<(), ProtocolError> {
        let wire = self.wire;
        let draft = &mut self.draft;
        match &mut self.framing {
            Framing::Unknown | Framing::Junk => {}
            Framing::Sse(events) => {
                let stray = &mut self.stray;
                // A last event without its end that cannot be parsed was cut off together with the body.
                let mut torn = false;
                events.finish(&mut |item| {
                    torn |= event(wire, item, draft, stray).is_err();
                    ControlFlow::Continue(())
                })?;
                draft.torn = torn;
            }
            Framing::Lines(lines) => {
                if let Some(line) = lines.finish() {
                    draft.torn = payload(wire, "", &line, draft).is_err();
                }
            }
            Framing::Whole(body) => {
                let body = std::mem::take(body);
                whole(wire, &body, draft)?;
            }
        }
        Ok(())
    }
}

/// One item of an event stream.
fn event(
    wire: Wire,
    item: SseItem<'_>,
    draft: &mut ReplyDraft,
    stray: &mut Vec<u8>,
) -> Result<ControlFlow<()>, ProtocolError> {
    match item {
        SseItem::Event { name, data } => {
            let data = data.trim_ascii();
            if data == b"[DONE]" {
                draft.done = true;
            } else if name == "error" && matches!(wire, Wire::Completions | Wire::Ollama) {
                // The data of an `event: error` is the error, whatever its form.
                draft.events += 1;
                draft.error = draft
                    .error
                    .take()
                    .or_else(|| Some(ProviderError::from_body(data)));
            } else if !data.is_empty() {
                payload(wire, name, data, draft)
                    .map_err(|_| ProtocolError::Foreign(beginning(data)))?;
            }
        }
        SseItem::Stray(line) => {
            let line = line.trim_ascii();
            // `error: {…}` from llama.cpp servers, and bare JSON from proxies that lost their connection.
            let error = line
                .strip_prefix(b"error:")
                .map(|rest| ProviderError::from_body(rest.trim_ascii()))
                .or_else(|| ProviderError::read(line));
            match error {
                Some(error) => {
                    draft.events += 1;
                    draft.error.get_or_insert(error);
                }
                None => append_stray(stray, &[line, b"\n"].concat()),
            }
        }
    }
    Ok(if draft.done {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    })
}

/// A JSON body without framing: one completion, or several values in a row.
fn whole(wire: Wire, body: &[u8], draft: &mut ReplyDraft) -> Result<(), ProtocolError> {
    draft.whole = true;
    let foreign = || ProtocolError::Foreign(beginning(body));
    let repaired = repair_json::repaired(body, None, false);
    let body = repaired.as_ref().map_or(body, |repaired| &repaired.bytes);
    let mut values = 0;
    for value in serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>() {
        let value = match value {
            Ok(value) => value.get().as_bytes(),
            Err(error) if error.is_eof() => {
                draft.torn = true;
                return Ok(());
            }
            Err(_) => return Err(foreign()),
        };
        values += 1;
        if value.starts_with(b"[") {
            let list: Vec<&RawValue> = serde_json::from_slice(value).map_err(|_| foreign())?;
            for item in list {
                payload(wire, "", item.get().as_bytes(), draft).map_err(|_| foreign())?;
            }
        } else {
            payload(wire, "", value, draft).map_err(|_| foreign())?;
        }
    }
    // A single value is the complete reply, with or without a finish reason.
    draft.done |= values == 1;
    Ok(())
}

fn beginning(bytes: &[u8]) -> Vec<u8> {
    bytes.get(..MAX_STRAY_BYTES).unwrap_or(bytes).to_vec()
}

fn append_stray(kept: &mut Vec<u8>, more: &[u8]) {
    let room = MAX_STRAY_BYTES.saturating_sub(kept.len());
    kept.extend_from_slice(more.get(..room).unwrap_or(more));
}
