//! The path fence: every file access of a coding tool goes through a handle on the working directory.
//!
//! Three layers, each enough for the attempts it knows: [`Rel`] judges the text; `engine` opens the folder beneath the handle, so
//! that no link and no swap leads out; `place` climbs back from the opened folder to the root and compares device and inode of
//! every step, which finds `.tickets`, `.git` and `.marvin/upstream` however they were reached, and refuses a folder that was
//! moved out meanwhile. Identity was chosen over reading `/proc/self/fd`, which is a text again and exists on one system only.

mod engine;
mod ignored;
mod listing;
mod located;
mod read;
mod rel_path;
mod root;
mod walk;
mod write;

#[cfg(test)]
mod escapes;

pub(crate) use crate::disk::beneath::listing::Look;
pub(crate) use crate::disk::beneath::rel_path::Rel;
pub(crate) use ignored::IGNORE_FILES;
pub(crate) use read::{Entry, FileKind};
pub(crate) use root::Root;
pub(crate) use walk::{Found, Visit, WalkFile};
