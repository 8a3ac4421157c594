//! The input: set apart from the conversation by rules, with its prompt, and with words about what can be typed while it is empty.

use ratatui::text::{Line, Span};

use super::frame_content::FrameContent;
use crate::app::session::ui_update::SessionStatus;
use crate::ui::keys::{self, Action};
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

const MAX_ROWS: usize = 12;
/// Screens with so many rows have a rule above the input.
const RULE_ABOVE_FROM: usize = 11;
/// Screens with so many have one below it too.
const RULE_BELOW_FROM: usize = 18;
/// Screens with so many have an empty row above all that.
const SPACE_FROM: usize = 30;

/// The rows of the input, and where the cursor is in them.
pub(super) struct InputArea {
    pub(super) rows: Vec<Line<'static>>,
    /// Column and row.
    pub(super) cursor: (usize, usize),
    /// Empty rows before it.
    pub(super) space: usize,
    /// Rules above and below.
    pub(super) above: Option<Line<'static>>,
    pub(super) below: Option<Line<'static>>,
}

impl InputArea {
    pub(super) fn new(scene: &mut FrameContent<'_>, columns: usize, screen_rows: usize) -> Self {
        let theme = scene.theme;
        let prompt = prompt(scene, columns);
        let indent = width::of(&prompt);
        let room = columns.saturating_sub(indent).max(1);
        let max = (screen_rows / 3).clamp(1, MAX_ROWS);
        let placeholder = placeholder(scene, room.saturating_sub(1));
        let input = scene.editor.rows(room, max);
        let (x, row) = input.cursor;
        let mut rows: Vec<Line<'static>> = Vec::with_capacity(max);
        for text in input.rows.into_iter().take(max) {
            let lead = match rows.len() {
                0 => prompt.clone(),
                _ => " ".repeat(indent),
            };
            let spans = [
                Span::styled(lead, theme.accent),
                Span::styled(text, theme.text),
            ];
            rows.push(spans.into_iter().collect());
        }
        if rows.is_empty() {
            rows.push(Line::styled(prompt, theme.accent));
        }
        if let (Some(words), Some(first)) = (placeholder, rows.first_mut()) {
            first.push_span(Span::styled(words, theme.dim));
        }
        let rule = |from| (screen_rows >= from).then(|| rule(columns, scene.status, theme));
        Self {
            rows,
            cursor: (indent + x, row),
            space: usize::from(screen_rows >= SPACE_FROM),
            above: rule(RULE_ABOVE_FROM),
            below: rule(RULE_BELOW_FROM),
        }
    }
}

/// A rule beside the input; in shell mode, where what is typed is run, it has the prompt's colour.
fn rule(columns: usize, status: &SessionStatus, theme: &Theme) -> Line<'static> {
    let style = match status.shell {
        Some(_) => theme.accent,
        None => theme.dim,
    };
    Line::styled("─".repeat(columns), style)
}

fn prompt(scene: &FrameContent<'_>, columns: usize) -> String {
    if let Some(searching) = scene.editor.searching() {
        let sign = if searching.failed {
            "no match"
        } else {
            "search"
        };
        return width::clip(&format!("({sign}: {}) ", searching.query), columns / 2);
    }
    match &scene.open_question {
        Some(open_question) if open_question.declining => {
            match open_question.question.request.is_open() {
                true => "answer: ",
                false => "why not: ",
            }
        }
        _ if scene.status.shell.is_some() => "$ ",
        _ => "> ",
    }
    .to_owned()
}

/// What an empty input says, in at most `room` columns; `None` where letters go elsewhere, or where there is no room for it.
fn placeholder(scene: &FrameContent<'_>, room: usize) -> Option<String> {
    let covered = scene.overlay.is_some() || scene.help.is_some() || scene.open_question.is_some();
    let voice = scene.status.voice.as_ref();
    let records = voice.is_some_and(|voice| voice.phase.is_some() || voice.is_paused);
    if covered || records || !scene.editor.is_empty() || scene.editor.searching().is_some() {
        return None;
    }
    let help = keys::name(Action::Help).unwrap_or_default();
    let keys = format!("{help} keys");
    let is_busy = scene.status.running.iter().any(|call| !call.background);
    // Each is shorter than the one before.
    let forms: [&[&str]; 5] = match &scene.status.shell {
        _ if is_busy => [
            &["What you send is queued until this ends", "Esc stops it"],
            &["What you send is queued", "Esc stops"],
            &["Enter queues", "Esc stops"],
            &["Esc stops"],
            &[],
        ],
        Some(_) => [
            &["A command of the shell", "/ commands", "/shell ends this"],
            &["A command", "/shell ends this"],
            &["/shell ends this"],
            &[],
            &[],
        ],
        None => [
            &["Ask anything", "@ file", "/ commands", "! shell", &keys],
            &["Ask anything", "@ file", "/ commands", &keys],
            &["Ask anything", "/ commands", &keys],
            &["Ask anything", "/ commands"],
            &["Ask anything"],
        ],
    };
    let forms = forms.iter().map(|parts| parts.join(" · "));
    let mut fitting = forms.filter(|words| !words.is_empty() && width::of(words) <= room);
    fitting.next()
}
