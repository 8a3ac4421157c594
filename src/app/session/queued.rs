//! What waits to be sent.

use std::borrow::Cow;

use crate::app::profile;
use crate::base::problem::Outcome;
use crate::base::text::{clip, one_line};
use crate::disk::paths::Paths;
use crate::voice::languages::Language;

/// What is done with a line that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueuedKind {
    Message,
    /// It is a message that Copilot answers, whatever answers otherwise.
    ToCopilot,
    /// It names a profile, which becomes the active one.
    ChangeProfile,
}

/// How a message came in that was not typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) language: Option<&'static Language>,
}

/// A message that has not been sent yet, or a change that its turn waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Queued {
    pub(super) kind: QueuedKind,
    pub(super) text: String,
    /// It was sent before, and is sent again after a change of the profile.
    pub(super) resent: bool,
    /// It was spoken rather than typed.
    pub(super) spoken: Option<Spoken>,
}

impl Queued {
    pub(super) fn new(kind: QueuedKind, text: String) -> Self {
        Self {
            kind,
            text,
            resent: false,
            spoken: None,
        }
    }

    /// The change to the profile `name`, after the messages that wait.
    ///
    /// # Errors
    /// It is no name of a profile.
    pub(super) fn profile_change(name: &str, paths: &Paths) -> Outcome<Self> {
        Ok(Self::new(
            QueuedKind::ChangeProfile,
            profile::name(paths, name)?,
        ))
    }

    /// The line that says it again.
    pub(super) fn typed(&self) -> Cow<'_, str> {
        let command = match self.kind {
            QueuedKind::Message => return Cow::Borrowed(&self.text),
            QueuedKind::ToCopilot => "/pro",
            QueuedKind::ChangeProfile => "/profile",
        };
        format!("{command} {}", self.text).into()
    }
}

/// Characters of a message that was not sent, in the notice about it.
const MAX_UNSENT_CHARS: usize = 60;

/// Tells of messages that waited and were not sent.
pub(super) fn not_sent(texts: &[String]) -> Option<String> {
    let first = one_line(&clip(texts.first()?, MAX_UNSENT_CHARS));
    Some(match texts.len() {
        1 => format!("A message that waited was not sent: \"{first}\"."),
        more => {
            format!("{more} messages that waited were not sent, the first of them \"{first}\".")
        }
    })
}
