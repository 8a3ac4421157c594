//! Styled text wrapped to a width.
use ratatui::text::{Line, Span};

/// Spaces or marks before the first and the following rows.
#[derive(Clone, Debug, Default)]
pub struct Hang {
    /// Before the first row.
    pub first: Vec<Span<'static>>,
    /// Before the others.
    pub rest: Vec<Span<'static>>,
}

/// Wraps by words.
pub fn words(spans: &[Span<'_>], width: usize, hang: &Hang) -> Vec<Line<'static>> {
    let _ = (spans, width, hang);
    Vec::new()
}

/// Breaks at the width only.
pub fn hard(spans: &[Span<'_>], width: usize, hang: &Hang) -> Vec<Line<'static>> {
    let _ = (spans, width, hang);
    Vec::new()
}
