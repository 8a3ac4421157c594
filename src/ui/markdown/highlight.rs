//! Code coloured by small tables.

/// Where a line begins: in plain code, or inside something that began on an earlier line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Plain code.
    #[default]
    Plain,
}
