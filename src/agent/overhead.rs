//! What goes with the messages of a request and takes part of the window too.

use crate::chat::tokens::estimate;

/// What goes with the messages of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Overhead {
    /// Bytes of the system prompt and the schemas.
    pub bytes: usize,
    /// Tokens of the schemas.
    pub schemas: usize,
}

impl Overhead {
    pub(super) fn tokens(self) -> u64 {
        estimate(self.bytes)
    }
}
