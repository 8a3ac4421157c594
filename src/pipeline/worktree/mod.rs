//! Linked worktrees of runs and reviews: each works in a folder and on a branch of its own, and the user's files stay as they are.
//!
//! [`features`] knows those of features. [`start`] finds the worktree of a run that is continued, or makes one; [`place`] says where it is. The repository
//! keeps a [`record`] of each, and [`state`] is what became of it. [`merge`] brings the work into the branch of the user, [`own_files`] settles what
//! conflicts of Marvin's own, [`resolve`] has a child settle the rest, and [`remove`] cleans up.

pub(crate) mod features;
mod instructions;
pub(crate) mod merge;
mod own_files;
mod place;
pub(crate) mod record;
pub(crate) mod remove;
pub(crate) mod resolve;
pub(crate) mod start;
pub(crate) mod state;
