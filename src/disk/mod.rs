//! Floor 2: files: Marvin's own (state, logs, locks) and the fence around a working directory.

pub(crate) mod atomic;
pub(crate) mod beneath;
pub(crate) mod git_head;
pub(crate) mod json_records;
pub(crate) mod jsonl;
pub(crate) mod lock;
pub(crate) mod paths;
pub(crate) mod size_limit;
pub(crate) mod swap;
mod tail;
#[cfg(test)]
mod tests;
pub(crate) mod yaml;
