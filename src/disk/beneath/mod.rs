//! The path fence: every file access of a coding tool goes through a handle on the working directory.
//!
//! Three independent layers: [`RelPath`] checks the text; `open_beneath` opens the folder beneath the handle, so that no symlink and no concurrent swap leads
//! out; `located` climbs back from the opened folder to the root and compares device and inode of every step, which finds `.tickets`, `.git` and
//! `.marvin/upstream` however they were reached, and refuses a folder that was moved out meanwhile. Inodes were chosen over reading `/proc/self/fd`, which is
//! text again and exists on Linux only.
//!
//! Called by the tools of a project and by the pipeline. It knows what is guarded, not why a tool asks.

mod ignored;
mod listing;
mod located;
mod open_beneath;
mod read;
mod refusal;
mod rel_path;
mod root;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use crate::disk::beneath::listing::ListingOptions;
pub(crate) use crate::disk::beneath::rel_path::RelPath;
pub(crate) use ignored::IGNORE_FILES;
pub(crate) use read::{DirEntry, FileKind};
pub(crate) use root::Root;
pub(crate) use walk::{WalkEntry, WalkFile, WalkRun, WalkVisitor};
