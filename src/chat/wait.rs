//! What an answer is waiting for.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// What is awaited before the next piece of an answer can come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Wait {
    /// The program that answers is being started.
    Start {
        /// What people call it.
        program: &'static str,
    },
    /// There is no connection to the provider yet.
    Connection {
        /// Its name.
        provider: &'static str,
    },
    /// The provider has the request and has sent nothing yet.
    FirstByte {
        /// Its name.
        provider: &'static str,
        /// The model that a server on this machine may have to load first.
        #[serde(skip_serializing_if = "Option::is_none")]
        loads: Option<String>,
    },
    /// The next attempt after a failure.
    Retry {
        /// Its name.
        provider: &'static str,
        /// It asked to send less often.
        is_rate_limit: bool,
        /// Time until then, from when this was said.
        #[serde(rename = "wait_ms", serialize_with = "milliseconds")]
        wait: Duration,
        /// Which one it is; the first is 1.
        attempt: u64,
        /// How many there may be.
        most: u64,
        /// The HTTP status of the failure, if there was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    },
    /// The conversation is being shortened.
    Compaction,
}

fn milliseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
