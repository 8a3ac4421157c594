//! Text as a terminal takes it: cleaned, measured, wrapped.
