//! Draws the menus of commands and files over the rows above the input.

use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::base::text::thousands;
use crate::ui::editor::complete::Menu;
use crate::ui::editor::file_menu::FileMenu;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// Maximum rows of a menu, without the one that counts.
const MENU_ROWS: usize = 8;

/// Draws the menu of commands so that it ends above row `bottom`. The last row counts the candidates when not all of them are shown.
pub(super) fn commands(menu: &Menu, buffer: &mut Buffer, bottom: usize, theme: &Theme) {
    let room = bottom.min(MENU_ROWS);
    let columns = usize::from(buffer.area.width);
    let candidates = &menu.candidates;
    if room == 0 || columns == 0 || candidates.is_empty() {
        return;
    }
    let at = menu.selected.unwrap_or(0);
    let first = first_shown(at, candidates.len(), room);
    let abouts = menu
        .abouts
        .iter()
        .map(|about| about.as_deref().unwrap_or_default());
    let shown = candidates.iter().zip(abouts).skip(first).take(room);
    let shown: Vec<(&String, &str)> = shown.collect();
    let counts = counts(at, candidates.len(), shown.len(), bottom);
    let widest = |text: &dyn Fn(&(&String, &str)) -> usize| shown.iter().map(text).max();
    let name_columns = widest(&|(name, _)| width::of(name)).unwrap_or_default() + 2;
    let about_columns = match widest(&|(_, about)| width::of(about)).unwrap_or_default() {
        0 => 0,
        columns => columns + 1,
    };
    let wide = (name_columns + about_columns).min(columns);
    let mut y = bottom - shown.len() - usize::from(counts.is_some());
    for (row, (name, about)) in shown.into_iter().enumerate() {
        let (name_style, about_style) = if Some(first + row) == menu.selected {
            let selected = theme.accent.add_modifier(Modifier::REVERSED);
            (selected, selected)
        } else {
            (theme.accent, theme.text)
        };
        let name = width::pad(&format!(" {name}"), name_columns);
        let name = width::clip(&name, wide);
        let left = wide - width::of(&name);
        let about = width::pad(&width::clip(about, left), left);
        let line = Line::from(vec![
            Span::styled(name, name_style),
            Span::styled(about, about_style),
        ]);
        put(buffer, y, line);
        y += 1;
    }
    put_counts(buffer, y, counts, theme.dim);
}

/// Draws the menu of files so that it ends above row `bottom`. The last row counts the matches when not all of them are shown.
pub(super) fn files(menu: &FileMenu, buffer: &mut Buffer, bottom: usize, theme: &Theme) {
    let room = bottom.min(MENU_ROWS);
    let columns = usize::from(buffer.area.width);
    if room == 0 || columns == 0 {
        return;
    }
    let first = first_shown(menu.at, menu.paths.len(), room);
    let shown: Vec<&String> = menu.paths.iter().skip(first).take(room).collect();
    let counts = counts(menu.at, menu.count, shown.len(), bottom);
    let widest = shown.iter().map(|path| width::of(path)).max();
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
    put_counts(buffer, y, counts, theme.dim);
}

/// The first row of `count` that is shown, with row `at` in view.
fn first_shown(at: usize, count: usize, room: usize) -> usize {
    (at + 1)
        .saturating_sub(room)
        .min(count.saturating_sub(room))
}

/// Which one of how many, when not all are shown and there is a row for it.
fn counts(at: usize, count: usize, shown: usize, bottom: usize) -> Option<String> {
    (count > shown && bottom > shown).then(|| {
        let (at, count) = (thousands(at as u64 + 1), thousands(count as u64));
        format!(" {at} of {count}")
    })
}

fn put_counts(buffer: &mut Buffer, y: usize, counts: Option<String>, style: Style) {
    if let Some(text) = counts {
        let text = width::clip(&text, usize::from(buffer.area.width));
        put(buffer, y, Line::from(Span::styled(text, style)));
    }
}

/// Writes a row. A menu lies over the conversation: neither its text nor its looks may show through.
fn put(buffer: &mut Buffer, y: usize, line: Line<'static>) {
    let columns = buffer.area.width;
    let Ok(y) = u16::try_from(y) else { return };
    for x in 0..columns {
        if let Some(cell) = buffer.cell_mut((x, y)) {
            cell.reset();
        }
    }
    buffer.set_line(0, y, &line, columns);
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
    use std::borrow::Cow;

    use super::*;
    use crate::app::session::ui_update::FoundFiles;
    use crate::ui::editor::Editor;
    use crate::ui::editor::complete::Sources;
    use crate::ui::keys::Action;
    use crate::ui::text::theme::ColorMode;
    use ratatui::layout::Rect;

    struct Commands;

    impl Sources for Commands {
        fn commands(&self) -> Vec<String> {
            (1..=20).map(|n| format!("/t{n:02}")).collect()
        }

        fn about(&self, command: &str) -> Option<Cow<'static, str>> {
            (command == "/t02").then_some("the second".into())
        }
    }

    /// A screen full of text with every look that there is.
    fn full_screen() -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 12));
        let look = Style::new()
            .fg(ratatui::style::Color::Yellow)
            .bg(ratatui::style::Color::Blue)
            .underline_color(ratatui::style::Color::Rgb(128, 0, 1))
            .add_modifier(Modifier::DIM | Modifier::ITALIC);
        for y in 0..12 {
            buffer.set_string(0, y, "x".repeat(40), look);
        }
        buffer
    }

    fn row(buffer: &Buffer, y: u16) -> String {
        let cells = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol());
        let text: String = cells.collect();
        text.trim_end().to_owned()
    }

    /// Whether the row has nothing of what was beneath it.
    fn is_clear(buffer: &Buffer, y: u16) -> bool {
        (0..buffer.area.width).all(|x| {
            let cell = &buffer[(x, y)];
            let italic = cell.modifier.contains(Modifier::ITALIC);
            let underline = cell.underline_color;
            cell.symbol() != "x" && !italic && underline == ratatui::style::Color::Reset
        })
    }

    #[test]
    fn nothing_shows_through_a_menu_and_its_last_row_counts() {
        let theme = Theme::new(ColorMode::Ansi16);
        let mut editor = Editor::new();
        for c in "/t".chars() {
            editor.act(Action::Insert(c), &Commands);
        }
        let mut buffer = full_screen();
        commands(editor.menu().unwrap(), &mut buffer, 10, &theme);
        assert_eq!(row(&buffer, 0), "x".repeat(40));
        assert_eq!(row(&buffer, 1), " /t01");
        assert_eq!(row(&buffer, 2), " /t02 the second");
        assert_eq!(row(&buffer, 8), " /t08");
        assert_eq!(row(&buffer, 9), " 1 of 20");
        assert_eq!(row(&buffer, 10), "x".repeat(40));
        assert!((1..10).all(|y| is_clear(&buffer, y)), "{buffer:?}");
        // The text about a command has the terminal's own look.
        assert_eq!(buffer[(8, 2)].style(), buffer[(39, 2)].style());

        let mut editor = Editor::new();
        for c in "@a".chars() {
            editor.act(Action::Insert(c), &());
        }
        editor.set_found_files(&FoundFiles {
            query: "a".to_owned(),
            paths: vec!["a.rs".to_owned(), "b/a.rs".to_owned()],
            count: 7_000,
            is_complete: true,
        });
        let mut buffer = full_screen();
        files(editor.file_menu().unwrap(), &mut buffer, 10, &theme);
        assert_eq!(row(&buffer, 6), "x".repeat(40));
        assert_eq!(row(&buffer, 7), " a.rs");
        assert_eq!(row(&buffer, 8), " b/a.rs");
        assert_eq!(row(&buffer, 9), " 1 of 7,000");
        assert!((7..10).all(|y| is_clear(&buffer, y)), "{buffer:?}");
    }

    #[test]
    fn of_a_long_path_the_end_is_shown() {
        assert_eq!(end_of("src/deep/main.rs", 9), "…/main.rs");
        assert_eq!(end_of("日本/日本", 6), "…/日本");
        assert_eq!(end_of("a", 0), "…");
    }
}
