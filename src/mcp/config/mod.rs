//! Servers as files name them. It starts and asks none.
//!
//! [`files`] reads the user's file and that of the project, and [`edit`] changes them. [`configured`] is one server as it stands there; used, it becomes an
//! [`entry`], with its variables written out ([`expand`]), which of its values are secrets ([`secrets`]) apart. Called by the command line and by what opens a
//! run.

pub(crate) mod configured;
pub(crate) mod edit;
pub(crate) mod entry;
pub(crate) mod expand;
pub(crate) mod files;
mod secrets;
