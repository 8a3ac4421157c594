//! The question that a tool asks the person, as rows above the input.

use ratatui::text::{Line, Span};

use crate::app::session::show::Question;
use crate::base::text::{clip, visible};
use crate::tools::context::Matter;
use crate::ui::text::clean::clean_line;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;
use crate::ui::text::wrap::{self, Hang};

/// Rows of a command that are shown here; a longer one stands in the conversation.
pub(super) const COMMAND_ROWS: usize = 8;
/// Characters of the reason.
const REASON: usize = 200;

/// A question, and how far its answer is.
pub(super) struct Asked {
    pub(super) question: Question,
    /// What the model said just before.
    pub(super) reason: String,
    /// The person is writing why not.
    pub(super) why: bool,
}

/// The text that the question is about, with control characters made visible.
pub(super) fn matter(matter: &Matter) -> String {
    match matter {
        Matter::Command { command, .. } => visible(command),
        Matter::WorkingDir { dir } => visible(&dir.display().to_string()),
    }
}

/// The rows of the question.
pub(super) fn rows(asked: &Asked, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (title, place) = match &asked.question.matter {
        Matter::Command { dir, .. } => (
            "Run this command?",
            Some(clean_line(&dir.display().to_string())),
        ),
        Matter::WorkingDir { .. } => ("Work in this directory?", None),
    };
    let mut rows = vec![rule(title, columns, theme)];
    let text = matter(&asked.question.matter);
    let mut shown: Vec<Line<'static>> = text
        .lines()
        .flat_map(|line| {
            wrap::hard(
                &[Span::styled(line.to_owned(), theme.code)],
                columns,
                &Hang::blanks(1),
            )
        })
        .collect();
    let hidden = shown.len().saturating_sub(COMMAND_ROWS);
    shown.truncate(COMMAND_ROWS);
    rows.append(&mut shown);
    if hidden > 0 {
        rows.push(Line::styled(
            format!(" … {hidden} more rows; all of it stands above"),
            theme.error,
        ));
    }
    let mut facts = Vec::new();
    facts.extend(place.map(|place| format!("in {place}")));
    if !asked.reason.is_empty() {
        facts.push(format!("because \"{}\"", clip(&asked.reason, REASON)));
    }
    if !facts.is_empty() {
        let facts = Span::styled(facts.join("  "), theme.dim);
        rows.extend(wrap::words(&[facts], columns, &Hang::blanks(1)));
    }
    let keys = if asked.why {
        "Enter sends the word to Marvin   Esc just no"
    } else {
        "y once   a always exactly this   n no   e no, and tell Marvin why"
    };
    rows.extend(wrap::words(
        &[Span::styled(keys, theme.accent)],
        columns,
        &Hang::blanks(1),
    ));
    rows
}

/// A rule with a title in it.
pub(super) fn rule(title: &str, columns: usize, theme: &Theme) -> Line<'static> {
    let title = width::clip(&format!("── {title} "), columns);
    let rest = columns.saturating_sub(width::of(&title));
    Line::styled(format!("{title}{}", "─".repeat(rest)), theme.accent)
}

/// The last sentence of what the model said before it asked.
pub(super) fn reason(said: &str) -> String {
    let last = said
        .trim()
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    clean_line(last.unwrap_or_default().trim())
}
