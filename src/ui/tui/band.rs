//! Bands: rows of what the user said, filled from edge to edge, so that turns are found while scrolling.
//!
//! The fill is the style of the whole row, no text: what is selected in a terminal is what was said, beginning where the row begins. Without colours a rule
//! leads a message instead.

use ratatui::text::{Line, Span};

use super::layout_context::LayoutContext;
use crate::ui::text::theme::{ColorMode, Theme};
use crate::ui::text::width;
use crate::ui::text::wrap::{self, HangingIndent};

/// Begins a message that was heard.
pub(super) const SPOKEN: &str = "🎤 ";
/// Begin and end of a folded paste in a message.
const PASTED: (&str, char) = ("[pasted ", ']');
/// Characters within which that ends.
const MAX_PASTED: usize = 60;

/// The first row of a message: who and when.
pub(super) fn label(time: &str, layout_ctx: LayoutContext<'_>) -> Line<'static> {
    let theme = layout_ctx.theme;
    let time = match time {
        "" => String::new(),
        time => format!("  {time}"),
    };
    if theme.mode != ColorMode::None {
        let spans = vec![
            Span::styled("you", theme.band_label),
            Span::styled(time, theme.band_dim),
        ];
        return Line::from(spans).style(theme.band);
    }
    let used = width::of("── you ") + width::of(&time);
    let rest = "─".repeat(layout_ctx.width.saturating_sub(used));
    Line::from(vec![
        Span::styled("── ", theme.dim),
        Span::styled("you", theme.you),
        Span::styled(format!("{time} {rest}"), theme.dim),
    ])
}

pub(super) fn message_rows(text: &str, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
    let theme = layout_ctx.theme;
    let rows = text.split('\n').flat_map(|line| {
        let spans = message_spans(line, theme);
        wrap::words(&spans, layout_ctx.width, &HangingIndent::default())
    });
    rows.map(|row| row.style(theme.band)).collect()
}

pub(super) fn command_rows(text: &str, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
    let theme = layout_ctx.theme;
    let style = match theme.mode {
        ColorMode::None => theme.dim,
        _ => theme.band,
    };
    let rows = text.split('\n').flat_map(|line| {
        let sign_end = line.len() - line.strip_prefix("$ ").unwrap_or(line).len();
        let (sign, command) = line.split_at_checked(sign_end).unwrap_or(("", line));
        let spans = [
            Span::styled(sign.to_owned(), theme.band_dim),
            Span::styled(command.to_owned(), style),
        ];
        wrap::words(&spans, layout_ctx.width, &HangingIndent::default())
    });
    rows.map(|row| row.style(theme.band)).collect()
}

/// One row of a message that waits until the answer ends.
pub(super) fn queued_row(words: &str, layout_ctx: LayoutContext<'_>) -> Line<'static> {
    let theme = layout_ctx.theme;
    let words = width::clip(&format!("queued  {words}"), layout_ctx.width);
    Line::from(Span::styled(words, theme.band_dim)).style(theme.band)
}

/// A line of a message; what is attached to it is told apart.
fn message_spans(line: &str, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut rest = line;
    let mut plain = String::new();
    while let Some(c) = rest.chars().next() {
        let begins_word = plain.chars().next_back().is_none_or(char::is_whitespace);
        let attached = if begins_word { attachment(rest) } else { 0 };
        let (shown, after) = rest.split_at_checked(attached).unwrap_or(("", rest));
        if shown.is_empty() {
            plain.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        spans.push(Span::styled(std::mem::take(&mut plain), theme.band));
        spans.push(Span::styled(shown.to_owned(), theme.band_mark));
        rest = after;
    }
    spans.push(Span::styled(plain, theme.band));
    spans.retain(|span| !span.content.is_empty());
    spans
}

/// Bytes of the folded paste or of the mention of a file that the text begins with; 0 without one.
fn attachment(text: &str) -> usize {
    if text.starts_with(PASTED.0) {
        let mut start = text.char_indices().take(MAX_PASTED);
        return start
            .find(|(_, c)| *c == PASTED.1)
            .map_or(0, |(end, _)| end + 1);
    }
    let Some(name) = text.strip_prefix('@') else {
        return 0;
    };
    let length = match name.strip_prefix('"') {
        Some(quoted) => quoted.find('"').map_or(0, |end| end + 2),
        None => name.find(char::is_whitespace).unwrap_or(name.len()),
    };
    if length == 0 { 0 } else { length + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marked(line: &str) -> Vec<String> {
        let theme = Theme::new(ColorMode::Ansi256);
        let spans = message_spans(line, &theme);
        let text: String = spans.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(text, line);
        let marked = spans.iter().filter(|span| span.style == theme.band_mark);
        marked.map(|span| span.content.to_string()).collect()
    }

    #[test]
    fn what_is_attached_is_told_apart() {
        for (line, expected) in [
            ("plain text, me@example.org", &[][..]),
            ("[pasted 40 lines] what is it?", &["[pasted 40 lines]"]),
            (
                "look at @src/a.rs and @\"my file\".",
                &["@src/a.rs", "@\"my file\""],
            ),
            ("@", &[]),
            ("@ alone, [pasted", &[]),
            ("日本 @ü.png", &["@ü.png"]),
        ] {
            assert_eq!(marked(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_lost(line in "[a @\"\\[\\]pasted日]{0,40}") {
            marked(&line);
        }
    }
}
