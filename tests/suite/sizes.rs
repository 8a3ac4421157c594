//! Replies that are compressed or have no end.
