//! Blocks as rows of a terminal.
use super::split::Block;
use crate::ui::text::theme::Theme;
use ratatui::text::Line;

/// The rows of a block at a width.
pub fn lay_out(block: &Block, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let _ = (block, width, theme);
    Vec::new()
}
