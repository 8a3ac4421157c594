//! The pieces of a conversation on the screen: bounded parts that are laid out independently, however long the conversation is.

use std::time::{Duration, Instant};

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::tool::{self, Call};
use crate::ui::markdown::layout::lay_out;
use crate::ui::markdown::split::{BYTES, Block, LINES};
use crate::ui::text::theme::Theme;
use crate::ui::text::wrap::{self, Hang};

/// Frames of the sign that something runs.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Duration of a spinner frame.
pub(super) const SPIN: Duration = Duration::from_millis(125);
/// From here on a wait says which key ends it.
pub(super) const LONG: Duration = Duration::from_secs(10);

/// The speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    You,
    Marvin,
}

/// How plain text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// The user's text.
    Plain,
    /// Words of the system.
    System,
    /// Failures.
    Error,
    /// Secondary text: marks, hints.
    Dim,
    /// Lines verbatim: lists, output of commands.
    Listing,
}

/// One part.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// An empty row.
    Gap,
    /// The speaker, and the time.
    Label { who: Who, time: String },
    /// Part of an answer.
    Block(Block),
    /// Plain text, cleaned, at most a block long.
    Text { tone: Tone, text: String },
    /// A tool call.
    Tool(Box<Call>),
}

/// The parameters that layout depends on.
#[derive(Clone, Copy)]
pub(super) struct Sheet<'a> {
    pub(super) width: usize,
    pub(super) theme: &'a Theme,
    pub(super) now: Instant,
}

impl Piece {
    /// The rows of the piece.
    pub(super) fn rows(&self, sheet: Sheet<'_>) -> Vec<Line<'static>> {
        let theme = sheet.theme;
        match self {
            Self::Gap => vec![Line::default()],
            Self::Label { who, time } => {
                let (name, style) = match who {
                    Who::You => ("you", theme.you),
                    Who::Marvin => ("marvin", theme.assistant),
                };
                let mut spans = vec![Span::styled(name, style)];
                if !time.is_empty() {
                    spans.push(Span::styled(format!("  {time}"), theme.dim));
                }
                vec![Line::from(spans)]
            }
            Self::Block(block) => lay_out(block, sheet.width, theme),
            Self::Text { tone, text } => plain(text, *tone, sheet),
            Self::Tool(call) => tool::rows(call, sheet),
        }
    }

    /// True while its rows change with time.
    pub(super) fn moves(&self) -> bool {
        matches!(self, Self::Tool(call) if call.runs())
    }
}

fn plain(text: &str, tone: Tone, sheet: Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let style = match tone {
        Tone::Plain | Tone::Listing => theme.text,
        Tone::System => theme.system,
        Tone::Error => theme.error,
        Tone::Dim => theme.dim,
    };
    text.split('\n')
        .flat_map(|line| {
            // A list row that is too long continues under its own start.
            let indent = match tone {
                Tone::Listing => line.len() - line.trim_start_matches(' ').len(),
                _ => 0,
            };
            let hang = Hang {
                rest: Hang::blanks(indent).rest,
                ..Hang::default()
            };
            let spans = [Span::styled(line.to_owned(), style)];
            wrap::words(&spans, sheet.width, &hang)
        })
        .collect()
}

/// Cleaned text in parts of bounded size, cut at line ends where there are any.
pub(super) fn texts(tone: Tone, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut part = String::new();
    let mut lines = 0;
    for line in text.trim_end_matches('\n').split('\n') {
        let mut rest = line;
        loop {
            let (head, tail) = rest.split_at(crate::base::text::head(rest, BYTES).len());
            if lines > 0 && (lines >= LINES || part.len() + head.len() > BYTES) {
                let text = std::mem::take(&mut part);
                pieces.push(Piece::Text { tone, text });
                lines = 0;
            }
            if lines > 0 {
                part.push('\n');
            }
            part.push_str(head);
            lines += 1;
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
    }
    pieces.push(Piece::Text { tone, text: part });
    pieces
}

/// The sign that something has run since `since`.
pub(super) fn spinner(since: Instant, now: Instant) -> &'static str {
    let frame = now.saturating_duration_since(since).as_millis() / SPIN.as_millis();
    let at = usize::try_from(frame).unwrap_or_default() % SPINNER.len();
    SPINNER.get(at).copied().unwrap_or("·")
}

/// A duration for display: `0.4s`, `12s`, `3m 05s`.
pub(super) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// The same for something that runs: whole seconds, so that it changes once in each.
pub(super) fn running(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        _ => took(time),
    }
}

/// `left` and, at the end of the row, `right`; the left is cut when both do not fit.
pub(super) fn two_ends(left: (&str, Style), right: (&str, Style), width: usize) -> Line<'static> {
    use crate::ui::text::width;
    let room = width.saturating_sub(width::of(right.0) + 1);
    let shown = width::clip(left.0, room);
    let gap = room.saturating_sub(width::of(&shown)) + 1;
    Line::from(vec![
        Span::styled(shown, left.1),
        Span::raw(" ".repeat(gap)),
        Span::styled(right.0.to_owned(), right.1),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_becomes_bounded_parts_and_nothing_is_lost() {
        let text = (0..200)
            .map(|n| format!("line {n}"))
            .collect::<Vec<_>>()
            .join("\n");
        let joined = |text: &str| {
            let parts = texts(Tone::Plain, text);
            let parts: Vec<String> = parts
                .into_iter()
                .map(|piece| match piece {
                    Piece::Text { text, .. } => text,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(parts.iter().all(|part| part.len() <= BYTES + 1));
            parts
        };
        assert_eq!(joined(&text).join("\n"), text);
        assert_eq!(joined(&text).len(), 4);
        let wide = "é".repeat(20_000);
        assert_eq!(joined(&wide).concat(), wide);
    }

    #[test]
    fn times_read_well() {
        assert_eq!(took(Duration::from_millis(412)), "0.4s");
        assert_eq!(took(Duration::from_secs(185)), "3m 05s");
        assert_eq!(running(Duration::from_millis(6900)), "6s");
    }
}
