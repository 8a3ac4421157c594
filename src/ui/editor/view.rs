//! The visible rows of the input.

/// What to draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Rows, none wider than asked for.
    pub rows: Vec<String>,
    /// Column and row of the cursor.
    pub cursor: (usize, usize),
    /// Rows hidden above; counting stops at 99.
    pub above: usize,
    /// Rows hidden below; counting stops at 99.
    pub below: usize,
}
