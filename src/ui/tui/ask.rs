//! The question that a tool asks the user, as rows above the input.
//!
//! Directory, command and reason are shown in full; what does not fit can be scrolled to. No key approves before the last row was on the screen, nor in the
//! first half second: such a key was meant for something else. Beside a draft, letters and Enter belong to the draft until Tab chooses the question.

use std::time::{Duration, Instant};

use ratatui::text::{Line, Span};

use crate::app::session::ui_update::PendingQuestion;
use crate::base::text::plural;
use crate::ui::text::clean::clean_line;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;
use crate::ui::text::wrap::{self, HangingIndent};

/// How long a question is on the screen before a key answers it.
const SETTLE: Duration = Duration::from_millis(500);
/// Between the entries of a hint.
const ENTRY_GAP: &str = "   ";
/// A longer question leaves half of the room to the conversation.
const SHORT_ROWS: usize = 10;

/// Whom the next key is for while a question is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum KeyTarget {
    /// Nobody can tell: it was on its way before the question was seen.
    #[default]
    Unclear,
    /// The text that the user writes.
    Draft,
    Question,
}

/// A question, and the state of its answer.
pub(super) struct QuestionPrompt {
    pub(super) question: PendingQuestion,
    /// The model's text just before the call.
    pub(super) reason: String,
    /// The user is writing the reason for a no.
    pub(super) declining: bool,
    /// Whom the next key is for.
    pub(super) key_target: KeyTarget,
    /// The user wants to answer it, although there is a draft.
    pub(super) is_chosen: bool,
    /// When it first appeared on the screen.
    painted: Option<Instant>,
    /// The first of its rows in view, and how many are in view.
    top: usize,
    window: usize,
    /// All of its rows are in view at once.
    fits: bool,
    /// The last of its rows has been in view.
    read: bool,
}

impl QuestionPrompt {
    pub(super) fn new(question: PendingQuestion, reason: String) -> Self {
        Self {
            question,
            reason,
            declining: false,
            key_target: KeyTarget::Unclear,
            is_chosen: false,
            painted: None,
            top: 0,
            window: 0,
            fits: false,
            read: false,
        }
    }

    /// It is about something that is asked only once, and answered by yes or no.
    pub(super) fn is_a_plain_yes(&self) -> bool {
        let request = &self.question.request;
        !request.takes_reason() && !request.is_open()
    }

    /// True when all of it has been in view.
    pub(super) fn is_read(&self) -> bool {
        self.read
    }

    /// True when it was on the screen long enough for a key to be meant for it.
    pub(super) fn has_settled(&self) -> bool {
        self.painted.is_some_and(|at| at.elapsed() >= SETTLE)
    }

    /// It is on the screen now.
    pub(super) fn painted(&mut self) {
        self.painted.get_or_insert_with(Instant::now);
    }

    /// Something else covered it.
    pub(super) fn hidden(&mut self) {
        self.painted = None;
    }

    /// Scrolls by rows; the next frame clamps the position. False when all of it is in view anyway.
    pub(super) fn scroll(&mut self, rows: isize) -> bool {
        if self.fits {
            return false;
        }
        self.top = self.top.saturating_add_signed(rows);
        true
    }

    /// Rows of a page; one row overlaps.
    pub(super) fn page(&self) -> isize {
        isize::try_from(self.window.saturating_sub(1).max(1)).unwrap_or(1)
    }
}

/// The rows of the question, within `room` of them.
pub(super) fn rows(
    open_question: &mut QuestionPrompt,
    columns: usize,
    room: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let has_title = room > 3;
    let keys_rows = keys(open_question, columns, room, theme).len();
    let keys_rows = keys_rows.min(room.saturating_sub(1));
    let free = room.saturating_sub(usize::from(has_title) + keys_rows);
    let body = body(open_question, columns, theme);
    let whole = body.len();
    open_question.window = whole.min(free.min(SHORT_ROWS.max(free / 2)));
    open_question.top = open_question.top.min(whole - open_question.window);
    let below = whole - open_question.window - open_question.top;
    open_question.fits = open_question.window == whole;
    open_question.read |= open_question.window > 0 && below == 0;
    let mut rows = Vec::new();
    if has_title {
        let title = open_question.question.request.question();
        // Once all of it was read, the hint names the keys that answer instead.
        rows.push(match below {
            1.. if open_question.read => {
                let title = format!("{title} ── {} below", plural(below, "row"));
                rule(&title, columns, theme)
            }
            _ => rule(title, columns, theme),
        });
    }
    rows.extend(
        body.into_iter()
            .skip(open_question.top)
            .take(open_question.window),
    );
    let more = plural(below, "more row");
    let fitting = |long: &str, short: &str| {
        let rows = hint(long, columns, theme);
        match rows.len() > keys_rows {
            true => hint(short, columns, theme),
            false => rows,
        }
    };
    let mut keys = match open_question.key_target {
        _ if open_question.declining => keys(open_question, columns, room, theme),
        KeyTarget::Unclear => hint("Keys are accepted in a moment.", columns, theme),
        KeyTarget::Draft if open_question.read => fitting(
            "Tab: answer this, your text stays   Esc no",
            "Tab: answer this",
        ),
        KeyTarget::Draft => fitting(
            &format!("Tab: answer this, your text stays   PgDn: {more}   Esc no"),
            "Tab: answer this",
        ),
        KeyTarget::Question if open_question.read => keys(open_question, columns, room, theme),
        KeyTarget::Question if open_question.is_a_plain_yes() => fitting(
            &format!("Space or PgDn: {more}   n no"),
            &format!("Space: {below} more"),
        ),
        KeyTarget::Question => fitting(
            &format!("Space or PgDn: {more}   n no   e no, and why"),
            &format!("Space: {below} more"),
        ),
    };
    // The same height for every text, so that nothing moves when it changes.
    keys.resize(keys_rows, Line::default());
    rows.extend(keys);
    rows
}

/// The details to read before approving. Only the command is indented: none of its lines can be mistaken for the directory or the reason, nor the rest of a
/// line for another one.
fn body(open_question: &QuestionPrompt, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let request = &open_question.question.request;
    let mut rows = Vec::new();
    let hang = HangingIndent {
        first: vec![Span::raw(" ")],
        rest: vec![Span::raw("   ")],
    };
    for line in request.text().lines() {
        let line = Span::styled(line.to_owned(), theme.code);
        rows.extend(wrap::command(&[line], columns, &hang));
    }
    if let Some(dir) = request.dir() {
        let place = format!("in {}", clean_line(&dir.display().to_string()));
        let place = Span::styled(place, theme.dim);
        rows.extend(wrap::hard(&[place], columns, &HangingIndent::default()));
    }
    if !open_question.reason.is_empty() {
        let reason = format!("because \"{}\"", open_question.reason);
        rows.extend(wrap::text(reason, theme.dim, columns, 0));
    }
    rows
}

/// The key help; the short form if the long one would take half of the room.
fn keys(
    open_question: &QuestionPrompt,
    columns: usize,
    room: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let is_open = open_question.question.request.is_open();
    let for_good = open_question.question.request.means_for_good();
    let with_rule =
        for_good.map(|what| format!("y once   a always {what}   n no   e no, and tell Marvin why"));
    let (long, short) = if open_question.declining && is_open {
        ("Enter sends what you wrote   Esc goes back", "Enter or Esc")
    } else if is_open {
        (
            "y as it is filled in   e write it   n decline   Esc no answer",
            "y e n Esc",
        )
    } else if open_question.declining {
        (
            "Enter sends the comment to Marvin   Esc just no",
            "Enter or Esc",
        )
    } else {
        match &with_rule {
            Some(words) => (words.as_str(), "y a n e   F1 help"),
            None if open_question.is_a_plain_yes() => {
                ("y or Enter yes   n no   Esc no answer", "y n Esc")
            }
            None => (
                "y yes   n no   e no, and tell Marvin why",
                "y n e   F1 help",
            ),
        }
    };
    let rows = hint(long, columns, theme);
    if rows.len() * 2 > room {
        hint(short, columns, theme)
    } else {
        rows
    }
}

/// Entries between three blanks, each whole in a row where there is room for it.
fn hint(words: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines: Vec<String> = Vec::new();
    for entry in words.split(ENTRY_GAP) {
        match lines.last_mut() {
            Some(line) if 1 + width::of(line) + ENTRY_GAP.len() + width::of(entry) <= columns => {
                line.push_str(ENTRY_GAP);
                line.push_str(entry);
            }
            _ => lines.push(entry.to_owned()),
        }
    }
    let wrapped = |line| wrap::text(line, theme.accent, columns, 1);
    lines.into_iter().flat_map(wrapped).collect()
}

/// A horizontal rule with a title in it.
pub(super) fn rule(title: &str, columns: usize, theme: &Theme) -> Line<'static> {
    let title = width::clip(&format!("── {title} "), columns);
    let rest = columns.saturating_sub(width::of(&title));
    Line::styled(format!("{title}{}", "─".repeat(rest)), theme.accent)
}

/// The last sentence of the model's text before the call.
pub(super) fn reason(said: &str) -> String {
    let last = said
        .trim()
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    clean_line(last.unwrap_or_default().trim())
}
