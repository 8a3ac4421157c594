//! Files: the ones Marvin owns (state, logs, locks) and the fence around a working directory.

pub mod atomic;
pub mod beneath;
pub mod jsonl;
pub mod lock;
pub mod paths;
pub mod preferences;
pub mod profiles;
pub mod records;
pub mod size_limit;
pub mod swap;
mod tail;
pub mod yaml;
mod yaml_lines;
