//! What a line of Markdown begins, as far as can be told without the lines after it.

/// The block that a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineStart<'a> {
    Fence(Fence, &'a str),
    Heading,
    /// `---`, `***`, `___`.
    Rule,
    /// An item of a list; its number when the list is ordered.
    Item {
        number: Option<u64>,
        /// The columns up to the text of the item.
        content: usize,
        /// Nothing follows the marker.
        empty: bool,
    },
    /// `>`.
    Quote,
    /// Anything else.
    Text,
}

/// The marks that open a code block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// Whether the line closes what this fence opened.
    pub(super) fn closed_by(self, line: &str) -> bool {
        let marks = line.trim();
        marks.len() >= self.length && marks.chars().all(|c| c == self.mark)
    }

    /// Whether the line may still become the closing fence.
    pub(super) fn maybe_closed_by(self, line: &str) -> bool {
        let marks = line.trim();
        !marks.is_empty() && marks.chars().all(|c| c == self.mark)
    }
}

pub(super) fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// Columns of the blanks a line begins with; a tab counts as four.
pub(super) fn indent(line: &str) -> usize {
    line.bytes()
        .map_while(|byte| match byte {
            b' ' => Some(1),
            b'\t' => Some(4),
            _ => None,
        })
        .sum()
}

/// The line without up to `columns` of its blanks.
pub(super) fn dedent(line: &str, columns: usize) -> &str {
    let mut left = columns;
    let mut rest = line;
    while left > 0 {
        rest = match rest.as_bytes().first() {
            Some(b' ') => {
                left -= 1;
                rest.get(1..).unwrap_or_default()
            }
            Some(b'\t') => {
                left = left.saturating_sub(4);
                rest.get(1..).unwrap_or_default()
            }
            _ => break,
        };
    }
    rest
}

/// The block that the line begins; `line` is without its indentation.
pub(super) fn start(line: &str) -> LineStart<'_> {
    let text = line.trim();
    match text.as_bytes().first() {
        Some(b'`' | b'~') => fence(text),
        Some(b'#') => heading(text),
        Some(b'>') => LineStart::Quote,
        Some(b'-' | b'*' | b'_' | b'+') if is_rule(text) => LineStart::Rule,
        Some(b'-' | b'*' | b'+') => item(line, text, 1, None),
        Some(b'0'..=b'9') => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let number = text.get(..digits).and_then(|number| number.parse().ok());
            match text.as_bytes().get(digits) {
                Some(b'.' | b')') if digits <= 9 => item(line, text, digits + 1, number),
                _ => LineStart::Text,
            }
        }
        _ => LineStart::Text,
    }
}

/// Whether the line turns the one before it into a heading.
pub(super) fn underlines(line: &str) -> bool {
    let text = line.trim();
    indent(line) < 4
        && !text.is_empty()
        && (text.bytes().all(|byte| byte == b'=') || text.bytes().all(|byte| byte == b'-'))
}

/// Whether `head` and `line` begin a table.
pub(super) fn delimits(head: &str, line: &str) -> bool {
    let bars = line
        .bytes()
        .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' '));
    bars && line.contains('-')
        && line.contains('|')
        && head.contains('|')
        && columns(head) == columns(line)
}

/// Number of cells of a table row.
fn columns(line: &str) -> usize {
    let text = line.trim();
    let text = text.strip_prefix('|').unwrap_or(text);
    let mut cells = 1;
    let mut escaped = false;
    let mut open = false;
    for byte in text.bytes() {
        open = true;
        match byte {
            b'\\' => escaped = !escaped,
            b'|' if !escaped => {
                cells += 1;
                open = false;
            }
            _ => escaped = false,
        }
    }
    if open { cells } else { cells - 1 }
}

fn fence(text: &str) -> LineStart<'_> {
    let mark = if text.starts_with('~') { '~' } else { '`' };
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    if length < 3 || (mark == '`' && info.contains('`')) {
        return LineStart::Text;
    }
    LineStart::Fence(Fence { mark, length }, info.trim())
}

fn heading(text: &str) -> LineStart<'_> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if level <= 6 && (rest.is_empty() || rest.starts_with([' ', '\t'])) {
        LineStart::Heading
    } else {
        LineStart::Text
    }
}

fn is_rule(text: &str) -> bool {
    let Some(mark) = text.chars().next().filter(|mark| *mark != '+') else {
        return false;
    };
    let marks = text.chars().filter(|c| *c == mark).count();
    marks >= 3 && text.chars().all(|c| c == mark || c == ' ')
}

fn item<'a>(line: &str, text: &str, marker: usize, number: Option<u64>) -> LineStart<'a> {
    let rest = text.get(marker..).unwrap_or_default();
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return LineStart::Text;
    }
    let blanks = match indent(rest) {
        blanks @ 1..=4 => blanks,
        _ => 1,
    };
    LineStart::Item {
        number,
        content: indent(line) + marker + blanks,
        empty: rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_the_expected_blocks() {
        let is_item = |line| matches!(start(line), LineStart::Item { .. });
        assert!(is_item("- a") && is_item("  12) b") && is_item("* c") && is_item("+"));
        assert!(!is_item("-a") && !is_item("1.5 times") && !is_item("**bold**"));
        assert_eq!(start("# a"), LineStart::Heading);
        assert_eq!(start("#tag"), LineStart::Text);
        assert_eq!(start("- - -"), LineStart::Rule);
        assert_eq!(start("***"), LineStart::Rule);
        assert!(matches!(start("```rust x"), LineStart::Fence(_, "rust x")));
        assert_eq!(start("``` a ``` b"), LineStart::Text);
        assert_eq!(start("``"), LineStart::Text);
        assert!(underlines("---") && underlines("==") && !underlines("=-"));
    }

    #[test]
    fn a_table_needs_equal_columns_in_head_and_delimiter() {
        assert!(delimits("| a | b |", "|---|:-:|"));
        assert!(delimits("a | b", "--- | ---"));
        assert!(!delimits("a | b", "---"));
        assert!(!delimits("a | b | c", "|---|---|"));
        assert!(!delimits("text", "|---|"));
    }

    #[test]
    fn a_fence_is_closed_by_one_at_least_as_long() {
        let LineStart::Fence(fence, _) = start("````") else {
            panic!()
        };
        assert!(fence.closed_by("````") && fence.closed_by("  ````` "));
        assert!(!fence.closed_by("```") && !fence.closed_by("~~~~"));
        assert!(
            fence.maybe_closed_by("``")
                && !fence.maybe_closed_by("")
                && !fence.maybe_closed_by("``x")
        );
    }
}
