//! Code as rows: coloured, broken only at the end of a row, and without a prefix that would be copied with it.

use super::highlight::{self, HighlightState, SyntaxRole};
use crate::ui::text::theme::{ColorMode, Theme};
use crate::ui::text::wrap::{HangingIndent, hard, words};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// The row with the language of the code.
pub(super) fn label(
    info: &str,
    width: usize,
    hang: &HangingIndent,
    theme: &Theme,
) -> Vec<Line<'static>> {
    if info.trim().is_empty() {
        return Vec::new();
    }
    words(&[Span::styled(info.trim(), theme.dim)], width, hang)
}

/// The rows of some lines of code in the language that `info` names.
pub(super) fn rows<'a>(
    lines: impl Iterator<Item = &'a str>,
    (info, mut state): (&str, HighlightState),
    width: usize,
    hang: &HangingIndent,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let grammar = highlight::grammar(info);
    let known = !std::ptr::eq(grammar, highlight::grammar(""));
    let mut out = Vec::new();
    for line in lines {
        let mut spans = Vec::new();
        highlight::line(grammar, &mut state, line, |text, role| {
            spans.push(Span::styled(text, style(role, known, theme)));
        });
        out.extend(hard(&spans, width, hang));
    }
    out
}

fn style(role: SyntaxRole, known: bool, theme: &Theme) -> Style {
    match role {
        SyntaxRole::Plain if known || theme.mode == ColorMode::None => theme.text,
        SyntaxRole::Plain => theme.code,
        SyntaxRole::Keyword => theme.keyword,
        SyntaxRole::String => theme.string,
        SyntaxRole::Comment => theme.comment,
        SyntaxRole::Number => theme.number,
        SyntaxRole::Name => theme.name,
        SyntaxRole::Added => theme.added,
        SyntaxRole::Removed => theme.removed,
    }
}
