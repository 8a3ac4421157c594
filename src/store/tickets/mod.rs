//! Tickets: Markdown files with front matter in one folder, in the form of the `tk` script.

pub mod change;
pub mod folder;
pub mod graph;
pub mod location;
