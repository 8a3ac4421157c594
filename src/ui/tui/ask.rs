//! The question that a tool asks the person, as rows above the input.

use ratatui::text::{Line, Span};

use crate::app::session::show::Question;
use crate::base::text::clip;
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

/// The rows of the question, within `room` of them. What does not fit goes in this order: the reason and the place, the end of the
/// command, the long words for the keys; nobody is to say yes to a command whose beginning he cannot see.
pub(super) fn rows(
    asked: &Asked,
    columns: usize,
    room: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let matter = &asked.question.matter;
    let place = matter
        .place()
        .map(|dir| clean_line(&dir.display().to_string()));
    let mut rows = Vec::new();
    if room > 3 {
        rows.push(rule(matter.question(), columns, theme));
    }
    let text = matter.text();
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
    let keys = keys(asked.why, columns, room, theme);
    let free = room.saturating_sub(rows.len() + keys.len());
    let whole = shown.len();
    if whole > COMMAND_ROWS.min(free) {
        shown.truncate(COMMAND_ROWS.min(free.saturating_sub(1)).max(1));
    }
    let hidden = whole - shown.len();
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
        let mut facts = wrap::words(&[facts], columns, &Hang::blanks(1));
        facts.truncate(room.saturating_sub(rows.len() + keys.len()));
        rows.extend(facts);
    }
    rows.extend(keys);
    rows
}

/// What the keys do; short where the long words would take half of the room.
fn keys(why: bool, columns: usize, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (long, short) = if why {
        (
            "Enter sends the word to Marvin   Esc just no",
            "Enter or Esc",
        )
    } else {
        (
            "y once   a always exactly this   n no   e no, and tell Marvin why",
            "y a n e   F1 help",
        )
    };
    let row = |words| {
        let words = [Span::styled(words, theme.accent)];
        wrap::words(&words, columns, &Hang::blanks(1))
    };
    let rows = row(long);
    if rows.len() * 2 > room {
        row(short)
    } else {
        rows
    }
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
