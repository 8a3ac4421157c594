//! Code as rows: coloured, broken only at the end of a row, and without a prefix that would be copied with it. Rules above and below mark it, so that it is
//! code without colours too.

use super::highlight::{self, HighlightState, SyntaxRole};
use crate::ui::text::theme::{ColorMode, Theme};
use crate::ui::text::width;
use crate::ui::text::wrap::{HangingIndent, hard};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

const RULE_COLUMNS: usize = 24;

/// The rule above code, with its language.
pub(super) fn opening(
    info: &str,
    width: usize,
    hang: &HangingIndent,
    theme: &Theme,
) -> Line<'static> {
    let language = match info.trim() {
        "" => "code",
        info => info,
    };
    rule(&format!("── {language} "), width, hang, theme)
}

/// The rule below it.
pub(super) fn closing(width: usize, hang: &HangingIndent, theme: &Theme) -> Line<'static> {
    rule("", width, hang, theme)
}

fn rule(title: &str, width: usize, hang: &HangingIndent, theme: &Theme) -> Line<'static> {
    let room = width.saturating_sub(width::of_spans(&hang.first));
    let title = width::clip(title, room);
    let rest = RULE_COLUMNS.min(room).saturating_sub(width::of(&title));
    let rule = Span::styled(format!("{title}{}", "─".repeat(rest)), theme.dim);
    Line::from_iter(hang.first.iter().cloned().chain([rule]))
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
