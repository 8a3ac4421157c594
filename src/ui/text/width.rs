//! How many columns a text takes, counted as ratatui's buffer places cells: one grapheme cluster after the other.
//!
//! A whole string measured at once can come out narrower (Arabic ligatures), so every measurement goes through here.

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Columns of one grapheme cluster; 0 for controls and for lone marks, which the buffer skips.
pub(crate) fn of_cluster(cluster: &str) -> usize {
    match cluster.as_bytes() {
        [] => 0,
        [byte] => usize::from(!byte.is_ascii_control()),
        _ if cluster.contains(char::is_control) => 0,
        _ => usize::from(cluster.cell_width()),
    }
}

/// Columns of a text on one row.
pub(crate) fn of(text: &str) -> usize {
    if is_printable_ascii(text) {
        return text.len();
    }
    clusters(text).map(|(_, columns)| columns).sum()
}

/// Columns of the spans of a row. `Line::width` measures whole spans at once and may differ.
pub fn of_spans<'a>(spans: impl IntoIterator<Item = &'a ratatui::text::Span<'a>>) -> usize {
    spans.into_iter().map(|span| of(&span.content)).sum()
}

/// The grapheme clusters of a text with their columns.
pub(crate) fn clusters(text: &str) -> impl DoubleEndedIterator<Item = (&str, usize)> {
    text.graphemes(true)
        .map(|cluster| (cluster, of_cluster(cluster)))
}

/// The longest prefix of `text` that takes at most `columns`, ending between clusters, and the columns it takes.
pub(crate) fn prefix(text: &str, columns: usize) -> (&str, usize) {
    let (mut end, mut used) = (0, 0);
    for (cluster, wide) in clusters(text) {
        if used + wide > columns {
            break;
        }
        end += cluster.len();
        used += wide;
    }
    (text.get(..end).unwrap_or_default(), used)
}

/// `text` in at most `columns`, with `…` in the last one when something was cut.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    if text.len() <= columns && is_printable_ascii(text) {
        return text.to_owned();
    }
    let (whole, _) = prefix(text, columns);
    if whole.len() == text.len() {
        return whole.to_owned();
    }
    let (mut prefix_text, _) = prefix(text, columns.saturating_sub(1));
    prefix_text = prefix_text.trim_end();
    if columns == 0 {
        return String::new();
    }
    format!("{prefix_text}…")
}

/// `text` padded with blanks to `columns`.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(of(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Whether every byte is printable ASCII, one column wide.
fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn columns_match_the_buffer() {
        for text in [
            "plain",
            "größe",
            "日本語",
            "e\u{301}\u{302}x",
            "👩‍👩‍👧‍👦!",
            "🇵🇹x",
            "👍🏽",
            "❤\u{fe0f}",
            "سلام لا",
            "ｶﾞ",
            "한국어",
            "क्षि",
            "a\u{7}b\u{200b}c",
            "\u{301}alone",
        ] {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 1));
            let (end, _) = buffer.set_stringn(0, 0, text, 80, Style::new());
            assert_eq!(of(text), usize::from(end), "{text:?}");
        }
    }

    #[test]
    fn cutting_never_splits_a_cluster() {
        assert_eq!(prefix("日本語", 5), ("日本", 4));
        assert_eq!(prefix("👩‍👩‍👧‍👦x", 1), ("", 0));
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("日本語", 6), "日本語");
        assert_eq!(
            (clip("abc", 1), clip("abc", 0)),
            ("…".into(), String::new())
        );
        assert_eq!(pad("日", 4), "日  ");
    }
}
