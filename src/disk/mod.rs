//! Floor 2: files: Marvin's own (state, logs, locks) and the fence around a working directory.
//!
//! Called by `store`, `tools`, `pipeline` and `app` for all their files. It knows neither what is in a file (but for JSON and YAML) nor who the user is:
//! [`paths`] has the names, and reads nothing.

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
