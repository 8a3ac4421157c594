//! Floor 4: what Marvin stores for a user, with one module for each file.
//!
//! A module owns its file: where it is, its format, its lock, what happens when it is broken; a test refuses other callers of its path. Tools, the session and
//! the flow read and write through it. Nothing here knows a model, a socket or who asks.

pub(crate) mod bookmarks;
pub(crate) mod calendar;
pub(crate) mod chat_log;
pub(crate) mod cost_log;
pub(crate) mod input_history;
pub(crate) mod mcp_tokens;
pub(crate) mod memory;
pub(crate) mod notes;
pub(crate) mod places;
pub(crate) mod preferences;
pub(crate) mod profiles;
pub(crate) mod project_documents;
pub(crate) mod project_texts;
pub(crate) mod review_jobs;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod spotify_account;
pub(crate) mod subscriptions;
pub(crate) mod tickets;
pub(crate) mod trusted_projects;
pub(crate) mod usage;

/// A home folder of a test's own, and where Marvin's files are in it.
#[cfg(test)]
fn home() -> (tempfile::TempDir, crate::disk::paths::Paths) {
    use crate::{base::env::Env, disk::paths::Paths};
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().to_str().unwrap();
    let paths = Paths::new(&Env::from([("MARVIN_CONFIG_DIR", dir)]));
    (home, paths)
}
