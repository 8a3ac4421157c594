//! The help overlay, drawn from the key table and the table of commands.

use ratatui::text::{Line, Span};

use super::ask::rule;
use crate::app::session::commands;
use crate::ui::keys;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;
use crate::ui::text::wrap::{self, Hang};

/// Columns of the keys, where there is room.
const KEYS: usize = 26;

/// All its rows.
pub(super) fn rows(columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut rows = vec![rule("Help: Esc closes, PgDn goes on", columns, theme)];
    for group in keys::help() {
        rows.push(Line::styled(group.title, theme.heading));
        for (keys, doc) in &group.lines {
            rows.extend(pair(keys, doc, columns, theme));
        }
    }
    rows.push(Line::styled("Commands", theme.heading));
    for row in commands::ROWS {
        let name = format!("{} {}", row.names.join(", "), row.args);
        rows.extend(pair(name.trim_end(), row.about, columns, theme));
    }
    rows.extend(pair(
        "!COMMAND",
        "run anything else in your shell",
        columns,
        theme,
    ));
    rows.extend(pair(
        "@path",
        "attach a file to the message",
        columns,
        theme,
    ));
    rows
}

fn pair(left: &str, right: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let keys = KEYS.min(columns / 2);
    let key = Span::styled(
        format!("  {}", width::pad(&width::clip(left, keys), keys + 1)),
        theme.code,
    );
    let hang = Hang {
        first: vec![key],
        rest: vec![Span::raw(" ".repeat(keys + 3))],
    };
    wrap::words(
        &[Span::styled(right.to_owned(), theme.text)],
        columns,
        &hang,
    )
}
