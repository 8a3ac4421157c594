//! Bytes to keys.
