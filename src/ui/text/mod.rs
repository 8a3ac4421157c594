//! Text as a terminal takes it: cleaned, measured, wrapped, coloured.

pub mod clean;
pub mod diff;
pub mod theme;
pub mod width;
pub mod wrap;
