//! ntfy push messages: polling servers, and sending.

use std::time::Duration;

pub(crate) mod answer;
pub(crate) mod poll;
pub(crate) mod reminder_topic;
pub(crate) mod send;
pub(crate) mod topic;

/// Maximum wait for a server.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(8);
