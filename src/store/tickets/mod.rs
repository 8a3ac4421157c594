//! Tickets: Markdown files with front matter in one folder, in the format of the `tk` script.

pub(crate) mod change;
pub(crate) mod folder;
pub(crate) mod graph;
pub(crate) mod location;
