//! The levels of a server's log.

/// The least important first (RFC 5424 section 6.2.1).
pub(super) const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];
