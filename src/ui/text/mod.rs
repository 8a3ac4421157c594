//! Text for a terminal: cleaned, measured, wrapped, coloured.

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
