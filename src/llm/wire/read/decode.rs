//! The decoder: takes reads, returns text as it arrives, and a reply or a failure at the end.

use super::framing::{BodyReader, ProtocolError};
use crate::base::problem::Problem;
use crate::llm::catalog::variable;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::{Delta, Reply};
use crate::llm::wire::{ErrorContext, Wire, errors};

/// How chunks of chat completions identify themselves.
const CHAT_COMPLETION: &[u8] = b"chat.completion";

/// Whether to read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeProgress {
    More,
    /// The end marker was read: stop, even if the server keeps the connection open.
    Done,
    /// The stream contains an error or is not a reply; [`Decoder::into_result`] says which.
    Failed,
}

/// Decodes one body of status 200: bytes in, deltas out, a reply or a failure at the end.
///
/// ```text
/// loop { feed(bytes); deltas() }   until the body ends or the progress is not More
/// end(); deltas(); into_result()
/// ```
pub struct Decoder {
    context: ErrorContext,
    reading: BodyReader,
    failed: Option<ProtocolError>,
}

impl Decoder {
    pub(in crate::llm::wire) fn new(wire: Wire, context: ErrorContext) -> Self {
        Self {
            context,
            reading: BodyReader::new(wire),
            failed: None,
        }
    }

    /// Takes one read. After anything but [`DecodeProgress::More`] further input is ignored.
    pub fn feed(&mut self, bytes: &[u8]) -> DecodeProgress {
        if self.failed.is_none() && self.reading.draft.error.is_none() {
            self.failed = self.reading.feed(bytes).err();
        }
        let draft = &self.reading.draft;
        if self.failed.is_some() || draft.error.is_some() {
            DecodeProgress::Failed
        } else if draft.done {
            DecodeProgress::Done
        } else {
            DecodeProgress::More
        }
    }

    /// The body has ended, or nothing more of it will be read: releases text that was held back.
    pub fn end(&mut self) {
        if self.failed.is_none() && self.reading.draft.error.is_none() {
            self.failed = self.reading.finish().err();
        }
        self.reading.draft.end_text();
    }

    /// Returns the text and thinking since the last call, in order.
    pub fn deltas(&mut self) -> impl Iterator<Item = Delta<'_>> {
        self.reading.draft.deltas()
    }

    /// The reply, after [`Decoder::end`].
    ///
    /// # Errors
    /// If the reply was cut off (neither a finish reason nor an end marker), contains an error, or is not a reply at all.
    pub fn into_result(mut self) -> Result<Reply, Failure> {
        if let Some(error) = self.failed.take() {
            return Err(self.broken(&error));
        }
        self.check_error()?;
        let draft = &self.reading.draft;
        let strange = !self.reading.stray.is_empty();
        if draft.events == 0 && !draft.done && strange {
            let stray = std::mem::take(&mut self.reading.stray);
            return Err(self.broken(&ProtocolError::Foreign(stray)));
        }
        let half_a_call = draft.torn && draft.calls.any_broken();
        if !draft.done && (draft.finish.is_none() || half_a_call) {
            return Err(self.cut());
        }
        Ok(self
            .reading
            .draft
            .reply(self.context.row, &self.context.model))
    }

    /// True when the complete reply has arrived although the body has not ended: a connection that breaks or falls silent now loses nothing.
    pub fn is_complete(&self) -> bool {
        let draft = &self.reading.draft;
        draft.done || draft.finish.is_some() && !draft.calls.any_broken()
    }

    /// The partial reply for a failure found elsewhere: a reset, silence, cancellation. Its calls are left out.
    pub fn into_partial(self) -> Reply {
        self.reading.draft.partial()
    }

    fn take_partial(&mut self) -> Reply {
        std::mem::take(&mut self.reading.draft).partial()
    }

    fn check_error(&mut self) -> Result<(), Failure> {
        let draft = &mut self.reading.draft;
        if let Some(error) = draft.error.take() {
            if let Some(id) = draft.response_id.take() {
                self.context.request_id = Some(id);
            }
            let failure = errors::in_stream(&self.context, &error);
            return Err(failure.with_partial(self.take_partial()));
        }
        if draft.finish.as_deref() == Some("error") {
            let name = self.context.row.name;
            let problem = Problem::network(format!(
                "{name} ended the reply with an error and no reason."
            ))
            .next("Try again, or choose another provider: --provider NAME.");
            return Err(
                Failure::new(FailureKind::Server, problem).with_partial(self.take_partial())
            );
        }
        Ok(())
    }

    fn cut(&mut self) -> Failure {
        let name = self.context.row.name;
        let partial = self.take_partial();
        let what = if partial.text.is_empty() && partial.thinking.is_empty() {
            format!("{name} closed the connection without an answer.")
        } else {
            format!("The reply of {name} broke off.")
        };
        let problem = Problem::network(what).next("Try again.");
        Failure::new(FailureKind::Cut, problem)
            .passing()
            .with_partial(partial)
    }

    fn broken(&mut self, error: &ProtocolError) -> Failure {
        let name = self.context.row.name;
        if let ProtocolError::Foreign(bytes) = error
            && self.reading.speaks(Wire::Responses)
            && bytes
                .windows(CHAT_COMPLETION.len())
                .any(|part| part == CHAT_COMPLETION)
        {
            let problem = Problem::network(format!(
                "{name} answers with chat completions where a response was expected."
            ))
            .next(format!("Set {}=completions.", variable(name, "WIRE")));
            return Failure::new(FailureKind::Protocol, problem).with_partial(self.take_partial());
        }
        let what = match error {
            ProtocolError::TooLong(cap) => {
                let megabytes = cap / (1024 * 1024);
                format!("{name} sent more than {megabytes} MB in one piece, which is not a reply.")
            }
            ProtocolError::Foreign(bytes) => {
                let part = errors::quoted(&self.context, &errors::first_part(bytes));
                format!("{name} answered with something that is not a model's reply: \"{part}\".")
            }
        };
        let problem = Problem::network(what).next(format!(
            "Check that {} is the address of a model service.",
            self.context.url_variable
        ));
        Failure::new(FailureKind::Protocol, problem).with_partial(self.take_partial())
    }
}
