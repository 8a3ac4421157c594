//! Text of servers on its way to models and people.

/// Without control characters but newline and tab, bidirectional controls, characters without width and the tag characters of Unicode: what cannot be seen tells nobody anything.
pub(crate) fn clean(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c,
                '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

/// The first `max` characters, cleaned.
pub(crate) fn clipped(text: &str, max: usize) -> String {
    // What is hidden does not count, but nobody sends a page of it.
    let head: String = text.chars().take(max.saturating_mul(4)).collect();
    crate::base::text::clip(clean(&head).trim(), max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_left_out() {
        assert_eq!(
            clean("a\u{1b}[31mb\r\n\tc\u{202e}d\u{200b}\u{e0041}é👩"),
            "a[31mb\n\tcdé👩"
        );
        assert_eq!(clipped(" \u{200b}abc", 2), "ab…");
    }
}
