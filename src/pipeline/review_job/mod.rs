//! A review of a code base in the background: started by a tool, done by a Marvin of its own that outlives the conversation.
//!
//! [`start`] checks the repository, makes a worktree and a record, and starts the process. [`work`] is that process: it holds the lock of the job, walks
//! through the rounds ([`subject`]), and writes how it ended. [`scope`] says which files and documents it is about.

mod record;
mod scope;
pub(crate) mod start;
mod subject;
pub(crate) mod work;
