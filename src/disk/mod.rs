//! Files: the ones Marvin owns (state, logs, locks) and the fence around a working directory.

pub mod atomic;
pub mod beneath;
pub mod json_records;
pub mod jsonl;
pub mod lock;
pub mod paths;
pub mod search;
pub mod size_limit;
pub mod swap;
mod tail;
pub mod yaml;
