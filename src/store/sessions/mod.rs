//! Conversations on disk: a file of records for each, which grows as things happen and can be replayed.
//!
//! A session is `sessions/<UUID>.jsonl` in its profile. A kill at any moment costs at most the record that was being written: the user's message is written
//! before it is sent, messages that wait are written too, and an answer while it arrives. One process at a time has a session; the lock is beside it, in
//! `sessions/locks`.

mod earlier;
mod file;
mod forget;
mod id;
mod list;
pub(crate) mod log;
mod on_disk;
mod open;
mod pieces;
pub(crate) mod record;
pub(crate) mod replay;
mod store;
mod summary;
#[cfg(test)]
mod tests;

pub(crate) use forget::ForgetTexts;
pub use id::SessionId;
pub(crate) use open::OpenedSession;
pub use replay::Replay;
pub use store::SessionStore;
pub(crate) use summary::ListCursor;
pub use summary::SessionSummary;
