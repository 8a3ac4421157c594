//! The help overlay, drawn from the key table and the table of commands.

use ratatui::text::{Line, Span};

use super::ask::rule;
use crate::app::session::commands;
use crate::ui::keys;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;
use crate::ui::text::wrap::{self, HangingIndent};

pub(super) fn rows(columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let groups: Vec<(&str, Vec<(String, &str)>)> = keys::help()
        .into_iter()
        .map(|group| (group.title, group.lines))
        .chain([("Commands", commands())])
        .collect();
    let entries = groups.iter().flat_map(|(_, entries)| entries);
    let widest = entries.map(|(name, _)| width::of(name)).max();
    // On a narrow screen the explanations keep half of it.
    let left = widest.unwrap_or_default().min(columns / 2);
    let mut rows = vec![rule("Help: Esc closes, PgDn scrolls", columns, theme)];
    for (title, entries) in groups {
        rows.push(Line::styled(title, theme.heading));
        for (name, about) in entries {
            rows.extend(entry(&name, about, left, columns, theme));
        }
    }
    rows
}

fn commands() -> Vec<(String, &'static str)> {
    let rows = commands::ROWS.iter().map(|row| (row.synopsis(), row.about));
    let others = [
        ("!COMMAND", "run anything else in your shell"),
        ("@path", "attach a file to the message"),
    ];
    rows.chain(others.map(|(name, about)| (name.to_owned(), about)))
        .collect()
}

/// A name in `left` columns and its explanation beside it; a longer name has rows of its own.
fn entry(
    name: &str,
    about: &str,
    left: usize,
    columns: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let explanation = vec![Span::raw(" ".repeat(left + 3))];
    let mut rows = Vec::new();
    let first = if width::of(name) > left {
        rows.extend(wrap::text(name, theme.code, columns, 2));
        explanation.clone()
    } else {
        let name = format!("  {}", width::pad(name, left + 1));
        vec![Span::styled(name, theme.code)]
    };
    let hang = HangingIndent {
        first,
        rest: explanation,
    };
    let about = Span::styled(about.to_owned(), theme.text);
    rows.extend(wrap::words(&[about], columns, &hang));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::ColorMode;

    #[test]
    fn names_are_never_cut() {
        let theme = Theme::new(ColorMode::None);
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        for columns in [20, 40, 80, 200] {
            let rows = rows(columns, &theme);
            // The first is the title.
            let text: Vec<String> = rows.iter().skip(1).map(ToString::to_string).collect();
            let all = squeezed(&text.concat());
            let groups = keys::help();
            let keys = groups.iter().flat_map(|group| &group.lines);
            let names = keys.map(|(name, _)| name.to_owned());
            for name in names.chain(commands().into_iter().map(|(name, _)| name)) {
                assert!(
                    all.contains(&squeezed(&name)),
                    "{columns}: {name}\n{text:#?}"
                );
            }
        }
    }
}
