//! Text for a terminal: cleaned, measured, wrapped, coloured.
//!
//! `clean` is the only way of text from outside to a terminal. Called by everything in `ui`; it knows no session, no key and no terminal, but which colours
//! a theme has.

pub(crate) mod cell_mark;
pub(crate) mod clean;
pub(crate) mod diff;
pub(crate) mod meter;
pub(crate) mod spinner;
pub(crate) mod theme;
pub(crate) mod wait_words;
pub(crate) mod web_address;
pub(crate) mod width;
pub(crate) mod wrap;
