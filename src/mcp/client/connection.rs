//! What can be asked of a server, whatever its era and whatever lies between.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::text::clipped;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

/// Silence after which a process that has shown no sign of life since its start does not know the request by which its era is found out.
pub(crate) const PROBE: Duration = Duration::from_secs(5);

/// How long an operation may take, what stops it, and who hears how far it is.
#[derive(Clone, Copy)]
pub(crate) struct Wait<'a> {
    /// Without a sign of life.
    pub limit: Duration,
    /// However much progress is reported.
    pub total: Duration,
    pub stop: &'a Cancel,
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// The key of the server's entry that sets `limit`.
    pub key: Option<&'static str>,
}

impl<'a> Wait<'a> {
    pub(crate) fn new(limit: Duration, stop: &'a Cancel) -> Self {
        Self {
            limit,
            total: limit,
            stop,
            progress: None,
            key: None,
        }
    }

    /// Progress begins the limit anew, up to `total`.
    pub(crate) fn up_to(self, total: Duration) -> Self {
        Self {
            total: total.max(self.limit),
            ..self
        }
    }

    /// Names the key that sets the limit, for the error.
    pub(crate) fn set_by(self, key: &'static str) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }

    /// Tells `progress` how far it is.
    pub(crate) fn heard_by(self, progress: &'a (dyn Fn(&Progress) + Sync)) -> Self {
        Self {
            progress: Some(progress),
            ..self
        }
    }
}

/// How far an operation is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

impl Progress {
    /// Of the parameters of a notification; `None` where they have no number.
    pub(super) fn read(params: &Value) -> Option<Self> {
        Some(Self {
            done: params.get("progress")?.as_f64()?,
            total: params.get("total").and_then(Value::as_f64),
            message: (params.get("message").and_then(Value::as_str)).map(|text| clipped(text, 200)),
        })
    }

    /// `message (2/3)`.
    pub(crate) fn words(&self) -> String {
        let count = match self.total {
            Some(total) => format!("{}/{total}", self.done),
            None => self.done.to_string(),
        };
        match self.message.as_deref() {
            None | Some("") => count,
            Some(message) => format!("{message} ({count})"),
        }
    }
}

/// The lists of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The field of a page that has the items.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The capability without which a server has no such list.
    pub(crate) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}

/// What a connection found out about how a server wants to be spoken to; remembered, the next one need not find out again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spoken {
    /// The revision of the protocol.
    pub version: String,
    /// Over HTTP: with a stream of events, as 2024-11-05 had it.
    pub by_event_stream: bool,
}

/// What a server says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServerFacts {
    /// `{name, version}`, for showing.
    pub info: Value,
    /// The revision that is spoken.
    pub version: String,
    pub is_modern: bool,
    pub by_event_stream: bool,
    /// Null when it said nothing of them.
    pub capabilities: Value,
    pub instructions: Option<String>,
    /// For how long these facts hold, and for whom: `ttlMs` and `cacheScope`, if it said so.
    pub freshness: Freshness,
}

impl ServerFacts {
    /// Whether it has a capability. One that said nothing of them may have it.
    pub(crate) fn has(&self, capability: &str) -> bool {
        match &self.capabilities {
            Value::Object(all) => all.get(capability).is_some_and(|own| !own.is_null()),
            _ => true,
        }
    }

    /// `modern` or `legacy`.
    pub(crate) fn era(&self) -> &'static str {
        match self.is_modern {
            true => "modern",
            false => "legacy",
        }
    }

    pub(crate) fn spoken(&self) -> Spoken {
        Spoken {
            version: self.version.clone(),
            by_event_stream: self.by_event_stream,
        }
    }
}

/// For how long a result may be kept, and for whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Freshness {
    pub ttl: Duration,
    /// It holds for one token alone.
    pub is_private: bool,
}

impl Freshness {
    /// What holds where both have to hold.
    #[must_use]
    pub(crate) fn strictest(self, other: Self) -> Self {
        Self {
            ttl: self.ttl.min(other.ttl),
            is_private: self.is_private || other.is_private,
        }
    }

    /// Of a result; what it does not say counts as the strictest.
    pub(crate) fn read(result: &Value) -> Self {
        let ttl = result.get("ttlMs").and_then(Value::as_u64);
        Self {
            ttl: Duration::from_millis(ttl.unwrap_or_default()),
            is_private: result.get("cacheScope").and_then(Value::as_str) != Some("public"),
        }
    }
}

/// What a server tells without having been asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerEvent {
    /// A list has changed; some tell it several times in a row.
    Changed(List),
    /// A resource that is watched has changed.
    ResourceUpdated(String),
    /// A message for its log, cleaned.
    Log { level: String, text: String },
    /// Something of it is left out, in a sentence.
    Notice(String),
    /// The connection itself tells this: by then it is known how a process that has just started wants to be spoken to, unless that never answers.
    SettledBy(Instant),
}

/// Who hears of [`ServerEvent`]s, on a thread of the connection: it must not wait.
pub(crate) trait ServerEvents: Send + Sync {
    fn happened(&self, event: ServerEvent);
}

/// A connection to a server. Operations may overlap; the first one opens it.
pub(crate) trait Connection: Send + Sync {
    /// Opens it.
    ///
    /// # Errors
    /// The server does not answer, or speaks no version that is known here.
    fn open(&self, wait: Wait<'_>) -> Outcome<ServerFacts>;

    /// One page of a list; of one that the server does not have, an empty one.
    ///
    /// # Errors
    /// The server does not answer, or with an error.
    fn page(&self, list: List, cursor: Option<&str>, wait: Wait<'_>) -> Outcome<Value>;

    /// The result of a call; one of a tool that failed is a result too.
    ///
    /// # Errors
    /// The server does not answer, or with an error.
    fn call(&self, tool: &str, args: &Map<String, Value>, wait: Wait<'_>) -> Outcome<Value>;

    /// The contents of a resource.
    ///
    /// # Errors
    /// As [`Self::call`].
    fn read(&self, uri: &str, wait: Wait<'_>) -> Outcome<Value>;

    /// The messages of a prompt.
    ///
    /// # Errors
    /// As [`Self::call`].
    fn prompt(&self, name: &str, args: &Map<String, Value>, wait: Wait<'_>) -> Outcome<Value>;

    /// Values that complete `argument`, a name and its beginning; `reference` is that of a prompt or of a template of resources, `others` what is known
    /// already.
    ///
    /// # Errors
    /// As [`Self::call`].
    fn complete(
        &self,
        reference: &Value,
        argument: (&str, &str),
        others: &Map<String, Value>,
        wait: Wait<'_>,
    ) -> Outcome<Value>;

    /// From now on the server may use this folder; if it is another one, an open server is told.
    fn move_to(&self, working_dir: &Path, stop: &Cancel);

    /// From now on events tell of changes of these resources, and of no others.
    fn watch(&self, uris: &[String]);

    /// Tools that were left out of the pages so far, and why.
    fn refused_tools(&self) -> Vec<(String, String)>;

    /// The last lines that the server wrote for people, cleaned; at most `most`.
    fn last_words(&self, most: usize) -> Vec<String>;

    /// Whether there is a connection now.
    fn is_open(&self) -> bool;

    /// Stops all that waits for it, for good: only [`Self::close`] makes sense after it.
    fn stop(&self);

    /// Ends it, and the server if it is a process of ours. A later operation opens it again.
    fn close(&self);
}
