//! A text of blocks as lines for a terminal or a pipe.

use super::markup::Block;

/// Widest term that has its explanation beside it, in columns.
const MAX_TERM_COLUMNS: usize = 26;

/// How marks are shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Style {
    /// Headings and what is typed are bold; for terminals.
    pub is_bold: bool,
    /// Words in lower case to highlight.
    pub found: Vec<String>,
}

impl Style {
    /// Characters alone.
    pub(crate) const PLAIN: Self = Self {
        is_bold: false,
        found: Vec::new(),
    };
}

/// The blocks in lines of at most `columns`; only code and single words are longer.
pub(crate) fn text(blocks: &[Block], columns: usize, style: &Style) -> String {
    let mut out = String::new();
    let mut before: Option<&Block> = None;
    for block in blocks {
        let same = |other: &Block| std::mem::discriminant(other) == std::mem::discriminant(block);
        let follows_title = matches!(before, Some(Block::Heading(_) | Block::Section(_)));
        if !(before.is_none() || follows_title || (before.is_some_and(same) && is_dense(block))) {
            out.push('\n');
        }
        lines(block, columns, style, &mut out);
        before = Some(block);
    }
    out
}

/// Blocks of its kind have no empty line between them.
fn is_dense(block: &Block) -> bool {
    matches!(block, Block::Item(_) | Block::Rows(_) | Block::Code(_))
}

fn lines(block: &Block, columns: usize, style: &Style, out: &mut String) {
    match block {
        Block::Section(title) | Block::Heading(title) => {
            let title = if matches!(block, Block::Section(_)) {
                title.to_uppercase()
            } else {
                title.clone()
            };
            paint(
                &format!("`{}`", title.replace('`', "")),
                style,
                &mut false,
                out,
            );
            out.push('\n');
        }
        Block::Paragraph(text) => hanging("", 0, text, columns, style, out),
        Block::Item(text) => hanging("- ", 2, text, columns, style, out),
        Block::Code(lines) => {
            for line in lines {
                out.push_str("    ");
                paint(line, style, &mut false, out);
                out.push('\n');
            }
        }
        Block::Rows(rows) => {
            let widths = rows.iter().map(|(term, _)| width(term));
            let short: Vec<usize> = widths.filter(|width| *width <= MAX_TERM_COLUMNS).collect();
            // Where most terms are long, explanations begin in a line of their own.
            let indent = match short.iter().max() {
                Some(widest) if short.len() * 2 > rows.len() => widest + 4,
                _ => 6,
            };
            for (term, text) in rows {
                let term = format!("  `{}`", term.replace('`', ""));
                if width(&term) + 2 > indent {
                    paint(&term, style, &mut false, out);
                    out.push('\n');
                    hanging(&" ".repeat(indent), indent, text, columns, style, out);
                } else {
                    let blanks = indent - width(&term);
                    let lead = format!("{term}{}", " ".repeat(blanks));
                    hanging(&lead, indent, text, columns, style, out);
                }
            }
        }
    }
}

fn width(text: &str) -> usize {
    text.chars().filter(|c| *c != '`').count()
}

/// `lead`, which is `indent` columns wide, and the text after it, broken at blanks.
fn hanging(lead: &str, indent: usize, text: &str, columns: usize, style: &Style, out: &mut String) {
    let room = columns.saturating_sub(indent).max(20);
    let mut is_code = false;
    paint(lead, style, &mut false, out);
    let mut line = String::new();
    let mut is_first = true;
    let mut flush = |line: &mut String, is_first: &mut bool, out: &mut String| {
        if !*is_first {
            out.push_str(&" ".repeat(indent));
        }
        paint(line, style, &mut is_code, out);
        out.push('\n');
        line.clear();
        *is_first = false;
    };
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > room {
            flush(&mut line, &mut is_first, out);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    flush(&mut line, &mut is_first, out);
    // A lead without a text ends in blanks.
    let end = out.trim_end_matches([' ', '\n']).len();
    out.truncate(end);
    out.push('\n');
}

/// Appends a line with its marks shown; `is_code` says whether it begins, and then whether it ends, inside of backticks.
fn paint(line: &str, style: &Style, is_code: &mut bool, out: &mut String) {
    let mut cells: Vec<(char, bool)> = Vec::new();
    for c in line.chars() {
        if c == '`' {
            *is_code = !*is_code;
        } else {
            cells.push((c, *is_code));
        }
    }
    let hits = hits(&cells, &style.found);
    let mut current = (false, false);
    for (at, (c, code)) in cells.iter().enumerate() {
        let wanted = (
            style.is_bold && *code && *c != ' ',
            style.is_bold && hits.get(at) == Some(&true),
        );
        if wanted != current {
            out.push_str(codes(wanted, current));
            current = wanted;
        }
        out.push(*c);
    }
    if current != (false, false) {
        out.push_str("\x1b[0m");
    }
}

/// Which characters belong to one of the words.
fn hits(cells: &[(char, bool)], words: &[String]) -> Vec<bool> {
    let mut hits = vec![false; cells.len()];
    for word in words.iter().filter(|word| !word.is_empty()) {
        let wanted: Vec<char> = word.chars().collect();
        for (start, window) in cells.windows(wanted.len()).enumerate() {
            let fits = window
                .iter()
                .zip(&wanted)
                .all(|((c, _), wanted)| c.to_lowercase().eq(std::iter::once(*wanted)));
            if fits {
                for hit in hits.iter_mut().skip(start).take(wanted.len()) {
                    *hit = true;
                }
            }
        }
    }
    hits
}

/// The sequence that changes from one look to another: bold, and reverse for what was searched.
fn codes((bold, found): (bool, bool), current: (bool, bool)) -> &'static str {
    match (bold, found) {
        (false, false) => "\x1b[0m",
        (true, false) if current == (false, false) => "\x1b[1m",
        (true, false) => "\x1b[0;1m",
        (false, true) => "\x1b[0;7m",
        (true, true) => "\x1b[0;1;7m",
    }
}
