//! Lists and reports that the user asks for: each is a text made on a thread, from what is on disk. Files are looked for while the user types one's name.

pub(super) mod file_search;
pub(super) mod profiles;
pub(super) mod theme;
pub(super) mod usage;
