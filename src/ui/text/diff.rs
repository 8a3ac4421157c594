//! Changes to a file, as coloured lines.
use super::theme::Theme;
use ratatui::text::Line;

/// A change as it is shown.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// The rows.
    pub lines: Vec<Line<'static>>,
}

/// How a change is shown.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Columns.
    pub width: usize,
    /// Rows at most, the one that tells of the rest included.
    pub rows: usize,
    /// Colours.
    pub theme: &'a Theme,
}

/// The change from one text to another.
pub fn between(old: &str, new: &str, frame: Frame<'_>) -> Drawn {
    let _ = (old, new, frame);
    Drawn::default()
}

/// A patch as it was written.
pub fn patch(text: &str, frame: Frame<'_>) -> Drawn {
    let _ = (text, frame);
    Drawn::default()
}
