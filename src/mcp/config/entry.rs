//! One server of a configuration, read and expanded: what a client needs to reach it.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::base::redact::is_secret_field;

/// A server as it is configured.
#[derive(Debug, Clone)]
pub(crate) struct ServerEntry {
    /// As the file has it.
    pub name: String,
    /// SHA-256 of the entry as it stands in the file, in hexadecimal: what is remembered of the server is remembered under it.
    pub hash: String,
    pub reach: Reach,
    pub limits: Limits,
    /// A revision that settles which era is spoken.
    pub protocol: Option<String>,
    /// Names or `*` patterns; empty means all.
    pub included: Vec<String>,
    /// Names or `*` patterns; these win over [`Self::included`].
    pub excluded: Vec<String>,
    /// Its tools are offered directly, however many there are.
    pub is_always_loaded: bool,
    /// Values of it that nobody is shown.
    pub secrets: EntrySecrets,
}

/// Values that let in somewhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntrySecrets {
    /// Those that are meant for that.
    pub keys: Vec<String>,
    /// Those that may be, and came from variables.
    pub values: Vec<String>,
    /// Those whose names say what they are.
    pub named: Vec<NamedValue>,
}

/// A value of a field.
#[derive(Debug, Clone)]
pub(crate) struct NamedValue {
    pub name: String,
    pub value: String,
    /// It came from a variable.
    pub is_given: bool,
}

impl EntrySecrets {
    /// With what the names say. That takes a pattern of milliseconds, which a start must not wait for.
    pub(crate) fn settled(self) -> Self {
        let Self {
            mut keys,
            mut values,
            named,
        } = self;
        for NamedValue {
            name,
            value,
            is_given,
        } in named
        {
            match is_secret_field(&name, &value) {
                true => keys.push(value),
                false if is_given => values.push(value),
                false => {}
            }
        }
        Self {
            keys,
            values,
            named: Vec::new(),
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// A program that reads and writes lines.
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http(HttpReach),
    /// HTTP with a stream of events, as 2024-11-05 had it.
    Sse(HttpReach),
}

/// An address and what goes with each request to it.
#[derive(Debug, Clone)]
pub(crate) struct HttpReach {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// The entry's `oauth` object, or null.
    pub oauth: Value,
}

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// From the start until the first list is there.
    pub startup: Duration,
    /// A call that reports no progress.
    pub call: Duration,
    /// A call, however much it reports.
    pub total: Duration,
    /// After this time without a request a program is ended, until it is needed again.
    pub idle: Duration,
}
