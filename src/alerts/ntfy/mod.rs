//! Push messages of ntfy: asking servers for them, and sending one.

use std::time::Duration;

pub(crate) mod answer;
pub(crate) mod poll;
pub(crate) mod reminder_topic;
pub mod send;
pub(crate) mod topic;

/// Longest wait for a server.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(8);
