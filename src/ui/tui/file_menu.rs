//! Draws the menu of files over the rows above the status line.

use ratatui::buffer::Buffer;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::base::text::thousands;
use crate::ui::editor::file_menu::FileMenu;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// Maximum rows of the menu.
const MENU_ROWS: usize = 8;

/// Draws `menu` so that it ends above row `bottom`. The last row counts the matches when not all of them are shown.
pub(super) fn draw(menu: &FileMenu, buffer: &mut Buffer, bottom: usize, theme: &Theme) {
    let room = bottom.min(MENU_ROWS);
    let columns = usize::from(buffer.area.width);
    if room == 0 || columns == 0 {
        return;
    }
    let first = (menu.at + 1).saturating_sub(room);
    let first = first.min(menu.paths.len().saturating_sub(room));
    let shown: Vec<&String> = menu.paths.iter().skip(first).take(room).collect();
    let counts = (menu.count > shown.len() && bottom > shown.len()).then(|| {
        let (at, count) = (thousands(menu.at as u64 + 1), thousands(menu.count as u64));
        format!(" {at} of {count}")
    });
    let texts = shown.iter().map(|path| path.as_str());
    let widest = texts.chain(counts.as_deref()).map(width::of).max();
    let wide = (widest.unwrap_or_default() + 2).min(columns);
    let mut y = bottom - shown.len() - usize::from(counts.is_some());
    for (row, path) in shown.into_iter().enumerate() {
        let style = if first + row == menu.at {
            theme.accent.add_modifier(Modifier::REVERSED)
        } else {
            theme.accent
        };
        // Of a long path the end says more.
        let room = wide.saturating_sub(2);
        let path = if width::of(path) > room {
            end_of(path, room)
        } else {
            path.clone()
        };
        let text = width::pad(&width::clip(&format!(" {path}"), wide), wide);
        put(buffer, y, Line::styled(text, style));
        y += 1;
    }
    if let Some(text) = counts {
        let text = width::pad(&width::clip(&text, wide), wide);
        put(buffer, y, Line::from(Span::styled(text, theme.dim)));
    }
}

fn put(buffer: &mut Buffer, y: usize, line: Line<'static>) {
    let columns = buffer.area.width;
    if let Ok(y) = u16::try_from(y) {
        buffer.set_line(0, y, &line, columns);
    }
}

/// The end of `path` in at most `columns`.
fn end_of(path: &str, columns: usize) -> String {
    let room = columns.saturating_sub(1);
    let mut start = path.len();
    for (at, _) in path.char_indices().rev() {
        if path.get(at..).is_some_and(|end| width::of(end) > room) {
            break;
        }
        start = at;
    }
    format!("…{}", path.get(start..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!(end_of("src/deep/main.rs", 9), "…/main.rs");
        assert_eq!(end_of("日本/日本", 6), "…/日本");
        assert_eq!(end_of("a", 0), "…");
    }
}
