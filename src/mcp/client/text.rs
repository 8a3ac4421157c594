//! Text of servers on its way to models and people.

use std::iter::Peekable;
use std::str::Chars;

/// Without escape sequences, control characters but newline and tab, bidirectional controls, characters without width and the tag characters of Unicode: what
/// cannot be seen tells nobody anything.
pub(crate) fn clean(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c,
                '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            c if is_hidden(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// What follows an escape character (ECMA-48 section 5): without it the rest of a sequence would be read as text.
fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        // A string, which ends with a line at the latest.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while chars
                .next_if(|c| !matches!(c, '\n' | '\u{7}' | '\u{9c}' | '\u{1b}'))
                .is_some()
            {}
            chars.next_if(|c| matches!(c, '\u{7}' | '\u{9c}'));
        }
        // A sequence with a blank is used by nobody, and a lone escape character stands before words.
        Some('!'..='~') => {
            while chars.next_if(|c| matches!(c, '!'..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        _ => {}
    }
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
            "ab\n\tcdé👩"
        );
        for (text, seen) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;title\nnext", "\nnext"),
            ("a\u{1b}(Bb\u{1b}", "ab"),
            ("\u{1b} words", " words"),
            ("\u{1b}[31", ""),
            ("\u{1b}é", "é"),
        ] {
            assert_eq!(clean(text), seen, "{text:?}");
        }
        assert_eq!(clipped(" \u{200b}abc", 2), "ab…");
    }
}
