//! The decoder: reads in, text as it comes, a reply or a failure at the end.

use super::framing::{BodyReader, ProtocolError};
use crate::base::problem::Problem;
use crate::llm::catalog::variable;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::{Delta, Reply};
use crate::llm::wire::{ErrorContext, Wire, errors};

/// Whether to read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More may come.
    More,
    /// The end marker came: stop reading, even if the server keeps the connection open.
    Done,
}

/// Decodes one body of status 200.
#[derive(Debug)]
pub struct Decoder {
    asked: ErrorContext,
    reading: BodyReader,
}

impl Decoder {
    pub(in crate::llm::wire) fn new(wire: Wire, asked: ErrorContext) -> Self {
        Self {
            asked,
            reading: BodyReader::new(wire),
        }
    }

    /// Takes one read and reports the text in it.
    ///
    /// # Errors
    /// When the stream contains an error or is not a reply; the decoder must not be used afterwards.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        on: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Progress, Failure> {
        if let Err(why) = self.reading.feed(bytes, on) {
            self.reading.draft.end_text(on);
            return Err(self.broken(&why));
        }
        if self.reading.draft.error.is_some() {
            self.reading.draft.end_text(on);
            self.check_error()?;
        }
        Ok(if self.reading.draft.done {
            Progress::Done
        } else {
            Progress::More
        })
    }

    /// The body ended, or the end marker came.
    ///
    /// # Errors
    /// If the reply was cut off (neither a finish reason nor an end marker), contains an error, or is not a reply at all.
    pub fn finish(mut self, on: &mut dyn FnMut(Delta<'_>)) -> Result<Reply, Failure> {
        if let Err(why) = self.reading.finish(on) {
            return Err(self.broken(&why));
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
        Ok(self.reading.draft.reply(self.asked.row))
    }

    /// True when the whole reply has arrived although the body has not ended: a connection that breaks or falls silent now loses nothing.
    pub fn is_complete(&self) -> bool {
        let draft = &self.reading.draft;
        draft.done || draft.finish.is_some() && !draft.calls.any_broken()
    }

    /// The partial reply for a failure found elsewhere: a reset, silence, cancellation. Its calls are left out.
    pub fn so_far(self) -> Reply {
        self.reading.draft.so_far()
    }

    fn take_so_far(&mut self) -> Reply {
        std::mem::take(&mut self.reading.draft).so_far()
    }

    fn check_error(&mut self) -> Result<(), Failure> {
        let draft = &mut self.reading.draft;
        if let Some(said) = draft.error.take() {
            let failure = errors::in_stream(&self.asked, &said);
            return Err(failure.after(self.take_so_far()));
        }
        if draft.finish.as_deref() == Some("error") {
            let name = self.asked.row.name;
            let problem = Problem::network(format!(
                "{name} ended the reply with an error and no reason."
            ))
            .next("Try again, or choose another provider: --provider NAME.");
            return Err(Failure::new(FailureKind::Server, problem).after(self.take_so_far()));
        }
        Ok(())
    }

    fn cut(&mut self) -> Failure {
        let name = self.asked.row.name;
        let so_far = self.take_so_far();
        let what = if so_far.text.is_empty() && so_far.thinking.is_empty() {
            format!("{name} closed the connection without an answer.")
        } else {
            format!("The reply of {name} broke off.")
        };
        let problem = Problem::network(what).next("Try again.");
        Failure::new(FailureKind::Cut, problem).after(so_far)
    }

    fn broken(&mut self, why: &ProtocolError) -> Failure {
        let name = self.asked.row.name;
        let what = match why {
            ProtocolError::TooLong(cap) => {
                let megabytes = cap / (1024 * 1024);
                format!("{name} sent more than {megabytes} MB in one piece, which is not a reply.")
            }
            ProtocolError::Foreign(bytes) => {
                let part = errors::quoted(&self.asked, &errors::first_part(bytes));
                format!("{name} answered with something that is not a model's reply: \"{part}\".")
            }
        };
        let problem = Problem::network(what).next(format!(
            "Check that {} is the address of a model service.",
            variable(name, "URL")
        ));
        Failure::new(FailureKind::Protocol, problem).after(self.take_so_far())
    }
}
