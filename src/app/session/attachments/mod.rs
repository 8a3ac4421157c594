//! What goes with a message: files that it mentions, images of the command line, images that were pasted.

pub(in crate::app) mod attach;
pub(super) mod attaching;
