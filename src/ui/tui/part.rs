//! The parts of a conversation on the screen: bounded, and laid out independently, however long the conversation is.

use ratatui::text::{Line, Span};

use super::band;
use super::layout_context::LayoutContext;
use super::thinking::ThinkingPart;
use super::tool::{self, ToolCallCell};
use crate::ui::markdown::block::Block;
use crate::ui::markdown::layout::lay_out;
use crate::ui::markdown::split::{BYTES, LINES};
use crate::ui::text::wrap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    You,
    Marvin,
}

/// The style of plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// What the user said.
    Message,
    Command,
    System,
    Error,
    /// Secondary text: marks and hints.
    Dim,
    /// A line about the session, on one row.
    Remark,
    /// Preformatted lines: lists, command output.
    Listing,
}

#[derive(Debug, Clone)]
pub(super) enum ChatPart {
    /// An empty row.
    Gap,
    /// Who speaks, and when.
    Label {
        who: Speaker,
        time: String,
    },
    /// Part of an answer.
    Block(Block),
    /// Plain text, cleaned, at most a block long.
    Text {
        tone: Tone,
        text: String,
    },
    /// What the model thought; it has no rows while thinking is hidden.
    Thinking(ThinkingPart),
    Tool(Box<ToolCallCell>),
}

impl ChatPart {
    pub(super) fn rows(&self, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
        let theme = layout_ctx.theme;
        match self {
            Self::Gap => vec![Line::default()],
            Self::Label {
                who: Speaker::You,
                time,
            } => vec![band::label(time, layout_ctx)],
            Self::Label {
                who: Speaker::Marvin,
                time,
            } => {
                let mut spans = vec![Span::styled("marvin", theme.assistant)];
                if !time.is_empty() {
                    spans.push(Span::styled(format!("  {time}"), theme.dim));
                }
                vec![Line::from(spans)]
            }
            Self::Block(block) => lay_out(block, layout_ctx.width, theme),
            Self::Text { tone, text } => plain_rows(text, *tone, layout_ctx),
            Self::Thinking(part) if layout_ctx.shows_thinking => part.rows(layout_ctx),
            Self::Thinking(_) => Vec::new(),
            Self::Tool(call) => tool::rows(call, layout_ctx),
        }
    }

    /// True while its rows change with time.
    pub(super) fn is_animated(&self) -> bool {
        matches!(self, Self::Tool(call) if call.runs())
    }
}

fn plain_rows(text: &str, tone: Tone, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
    let theme = layout_ctx.theme;
    let style = match tone {
        Tone::Message => return band::message_rows(text, layout_ctx),
        Tone::Command => return band::command_rows(text, layout_ctx),
        Tone::Listing => theme.text,
        Tone::System => theme.system,
        Tone::Error => theme.error,
        Tone::Dim => theme.dim,
        // One row where it fits.
        Tone::Remark => {
            return wrap::text(text.replace('\n', " "), theme.dim, layout_ctx.width, 0);
        }
    };
    text.split('\n')
        .flat_map(|line| {
            let (indent, line) = match tone {
                Tone::Listing => listing_row(line, layout_ctx.width),
                _ => (0, line),
            };
            wrap::text(line, style, layout_ctx.width, indent)
        })
        .collect()
}

/// A row of a list that is too long continues under its own beginning. Blanks that leave less than half the width for the text are cut.
fn listing_row(line: &str, columns: usize) -> (usize, &str) {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    (indent.min(columns / 2), text)
}

/// Splits cleaned text into parts of bounded size, at line breaks where there are any.
pub(super) fn texts(tone: Tone, text: &str) -> Vec<ChatPart> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut lines = 0;
    for line in text.trim_end_matches('\n').split('\n') {
        let mut rest = line;
        loop {
            let (head, tail) = rest.split_at(crate::base::text::head(rest, BYTES).len());
            if lines > 0 && (lines >= LINES || part.len() + head.len() > BYTES) {
                let text = std::mem::take(&mut part);
                parts.push(ChatPart::Text { tone, text });
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
    parts.push(ChatPart::Text { tone, text: part });
    parts
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::ui::text::theme::{ColorMode, Theme};

    #[test]
    fn a_long_row_of_a_list_continues_under_its_own_beginning() {
        let indented = |columns: usize, text: &str| format!("{}{text}", " ".repeat(columns));
        for (line, width, wanted) in [
            (
                indented(4, "one two three"),
                12,
                vec![indented(4, "one two"), indented(4, "three")],
            ),
            // The first word has no room behind the blanks.
            (
                indented(10, "something else"),
                16,
                vec![indented(8, "somethin"), indented(8, "g else")],
            ),
            (indented(30, "one two"), 20, vec![indented(10, "one two")]),
            (indented(10, "one"), 16, vec![indented(8, "one")]),
        ] {
            let rows = listing_rows(&line, width);
            assert_eq!(rows, wanted, "{line:?} in {width}");
        }
    }

    fn listing_rows(text: &str, width: usize) -> Vec<String> {
        let theme = Theme::new(ColorMode::None);
        let layout_ctx = LayoutContext {
            width,
            theme: &theme,
            now: Instant::now(),
            shows_thinking: false,
        };
        let rows = plain_rows(text, Tone::Listing, layout_ctx);
        rows.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn long_text_is_split_without_loss() {
        let text = (0..200)
            .map(|n| format!("line {n}"))
            .collect::<Vec<_>>()
            .join("\n");
        let joined = |text: &str| {
            let parts = texts(Tone::Message, text);
            let parts: Vec<String> = parts
                .into_iter()
                .map(|part| match part {
                    ChatPart::Text { text, .. } => text,
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
}
