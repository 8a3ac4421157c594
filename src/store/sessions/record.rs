//! The records of a session's file, one JSON object a line.
//!
//! Each message has a number, so that a later record can name it: what the model sees is a list of numbers, and a line that was lost takes nothing else
//! with it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

use crate::chat::display::Display;
use crate::chat::event::CallEnd;
use crate::chat::message::Message;

/// The version of the format. A file of a higher one is listed, but not continued.
pub(crate) const VERSION: u32 = 1;

/// What the first line says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionHeader {
    /// Of the format.
    pub version: u32,
    /// The session's UUID.
    pub id: String,
    /// When it began, in UTC.
    pub time: String,
    /// The folder that it began in.
    pub cwd: String,
    /// The project that it began in; absent outside of projects. Files of older versions do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The profile that it belongs to.
    pub profile: String,
    /// Who answered first.
    pub provider: String,
    /// With this model.
    pub model: String,
    /// The session that it is a copy of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// Where a session is held.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionPlace {
    /// The folder.
    pub cwd: String,
    /// The project; `None` outside of projects.
    pub workspace: Option<String>,
}

/// Why what the model sees is another list now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContextCause {
    /// The session began with what the chat log remembers.
    Seed,
    /// Older messages were summarised.
    Compaction,
    /// Files were attached to the user's message.
    Attachment,
    /// The model gets shorter results than the user has seen, or a note with them.
    Shortened,
    /// Another reason: too many messages, a repair, another profile.
    #[serde(other)]
    Change,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnResult {
    #[default]
    Complete,
    Stopped,
    #[serde(other)]
    Failed,
}

/// How a turn ended, and why it failed: one line without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TurnEnding {
    pub result: TurnResult,
    pub error: Option<String>,
}

impl From<TurnResult> for TurnEnding {
    fn from(result: TurnResult) -> Self {
        Self {
            result,
            error: None,
        }
    }
}

/// What a session has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// US dollars.
    #[serde(default)]
    pub cost: f64,
    /// A part of it is an estimate.
    #[serde(default, skip_serializing_if = "is_false")]
    pub estimated: bool,
    /// AI credits.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub credits: f64,
}

impl Spent {
    /// Both together.
    pub(crate) fn plus(self, more: Self) -> Self {
        Self {
            cost: self.cost + more.cost,
            estimated: self.estimated || more.estimated,
            credits: self.credits + more.credits,
        }
    }

    /// What came after `before`.
    pub(crate) fn minus(self, before: Self) -> Self {
        Self {
            cost: (self.cost - before.cost).max(0.0),
            estimated: self.estimated,
            credits: (self.credits - before.credits).max(0.0),
        }
    }
}

/// The end of a turn, with what a list of sessions shows: only the end of a file has to be read for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TurnRecord {
    pub time: String,
    #[serde(default)]
    pub result: TurnResult,
    /// Why it failed, on one line, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The session's so far.
    #[serde(default)]
    pub spent: Spent,
    /// Messages of the user and of Marvin so far.
    #[serde(default)]
    pub messages: usize,
    /// The beginning of the user's first message.
    #[serde(default)]
    pub first: String,
    /// The session's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Bytes of a call's visual form that are kept.
const MAX_DISPLAY_BYTES: usize = 256 << 10;

/// What the user saw of a call, beside its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallRecord {
    pub end: CallEnd,
    /// Its run time in milliseconds, without the time it waited for the user.
    pub took_ms: u64,
    /// Outside services that it got responses from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
}

/// Bytes of the thoughts before one answer that are kept.
pub(super) const MAX_THOUGHT_BYTES: usize = 256 << 10;

impl CallRecord {
    /// The same without a visual form that is too large to be kept.
    pub(super) fn limited(mut self) -> Self {
        self.display
            .take_if(|display| display.bytes() > MAX_DISPLAY_BYTES);
        self
    }
}

/// A newer Marvin may write another form; the message beside it must not be lost for that.
fn known_call<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<CallRecord>>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(serde_json::from_value(value).ok())
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NumberedMessage<'a> {
    pub n: u64,
    pub message: Cow<'a, Message>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Record<'a> {
    /// The first line.
    Session(SessionHeader),
    /// Something was said, called or returned: shown to the user, and sent to the model from now on.
    Message {
        n: u64,
        time: String,
        message: Cow<'a, Message>,
        /// Of a result that came as its call ended.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "known_call"
        )]
        call: Option<Box<CallRecord>>,
        /// What the model thought before it wrote an answer. An editor shows it again, and no model is sent it. The file is private and has all that
        /// thoughts are about, messages and results, so it keeps them too; for some providers it has to anyway, in [`crate::chat::message::ProviderState`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thought: Option<String>,
    },
    /// What the model sees from now on. What is missing stays visible for the user; what is new here is not shown.
    Context {
        time: String,
        cause: ContextCause,
        order: Vec<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        new: Vec<NumberedMessage<'a>>,
    },
    /// Another model answers.
    Model {
        time: String,
        provider: String,
        model: String,
    },
    /// The user gave the session a name.
    Name { time: String, name: String },
    /// The message with this number was taken back, with all that came after it.
    Undo { time: String, from: u64 },
    /// A turn has ended.
    Turn(TurnRecord),
    /// The messages that wait to be sent: all of them, in the place of those of an earlier record.
    Waiting { time: String, texts: Vec<String> },
    /// It went on in another project than the one that it began in.
    Workspace { time: String, path: String },
    /// More of an answer that arrives. The message takes its place; without one the process ended before the answer did.
    Piece { time: String, text: String },
    /// A record of a newer Marvin.
    #[serde(other)]
    Unknown,
}

/// What a line is.
pub(crate) enum Line {
    Record(Record<'static>),
    /// Nothing, or a record that this version does not know.
    Passed,
    /// Not a record.
    Corrupt,
}

impl Line {
    /// Reads a line without its end.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        if bytes.trim_ascii().is_empty() {
            return Self::Passed;
        }
        match serde_json::from_slice(bytes) {
            Ok(Record::Unknown) => Self::Passed,
            Ok(record) => Self::Record(record),
            // An object of another form is of a newer version.
            Err(_) => {
                match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(bytes) {
                    Ok(_) => Self::Passed,
                    Err(_) => Self::Corrupt,
                }
            }
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
