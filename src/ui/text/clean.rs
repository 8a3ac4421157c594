//! Sanitizes outside text for a terminal: no escape sequences, no control characters, nothing that reorders or hides text.
//!
//! Sequences that a terminal would execute are removed entirely; single control characters are shown as symbols. Letters of every script, joined emoji, and a
//! bounded number of marks on a letter stay.

use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// Maximum marks on one letter; text that stacks more is meant to overlap adjacent lines.
const MAX_MARKS: u8 = 8;
/// How many bytes of an operating system command or device control string are skipped before it counts as unterminated.
const MAX_STRING_BYTES: usize = 64 * 1024;
/// The same for a control sequence.
const MAX_CONTROL_BYTES: usize = 256;
/// Columns between tab stops.
const TAB_COLUMNS: usize = 4;

/// A filter for text that arrives in chunks: the result does not depend on how the text is cut.
#[derive(Clone, Debug)]
pub struct Cleaner {
    within: EscapeState,
    /// The last character was a carriage return, which became a newline.
    after_return: bool,
    /// The last character written.
    last: char,
    marks: u8,
    /// A pending joiner, waiting for a character to join.
    joiner: bool,
    /// Characters since the last newline.
    column: usize,
}

/// The position in an escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EscapeState {
    Text,
    /// After the escape character.
    Escape,
    /// After an escape character and intermediates: one final byte follows.
    Final,
    /// In a control sequence, for this many bytes.
    Control(usize),
    /// In a string that lasts until its terminator, for this many bytes.
    String(usize),
}

impl Default for Cleaner {
    fn default() -> Self {
        Self {
            within: EscapeState::Text,
            after_return: false,
            last: '\n',
            marks: 0,
            joiner: false,
            column: 0,
        }
    }
}

impl Cleaner {
    /// Appends the safe form of `text` to `out`. Carriage returns become newlines, tabs become blanks up to the next stop.
    pub fn push(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.within == EscapeState::Text {
                let clean = printable(rest);
                if clean > 0 {
                    self.copy(rest.get(..clean).unwrap_or_default(), out);
                    rest = rest.get(clean..).unwrap_or_default();
                    continue;
                }
            }
            let mut chars = rest.chars();
            if let Some(c) = chars.next() {
                self.step(c, out);
            }
            rest = chars.as_str();
        }
    }

    /// A span of printable ASCII and newlines is copied as it is.
    fn copy(&mut self, span: &str, out: &mut String) {
        let span = match span.strip_prefix('\n') {
            Some(rest) if self.after_return => rest,
            _ => span,
        };
        self.after_return = false;
        self.joiner = false;
        let Some(last) = span.chars().next_back() else {
            return;
        };
        out.push_str(span);
        self.last = last;
        self.marks = 0;
        self.column = match span.rfind('\n') {
            Some(at) => span.len() - at - 1,
            None => self.column + span.len(),
        };
    }

    fn step(&mut self, c: char, out: &mut String) {
        match self.within {
            EscapeState::Text => self.text(c, out),
            EscapeState::Escape => match c {
                '[' => self.within = EscapeState::Control(0),
                ']' | 'P' | 'X' | '^' | '_' => self.within = EscapeState::String(0),
                ' '..='/' => self.within = EscapeState::Final,
                '0'..='~' => self.within = EscapeState::Text,
                _ => self.restart(c, out),
            },
            EscapeState::Final => match c {
                ' '..='/' => {}
                '0'..='~' => self.within = EscapeState::Text,
                _ => self.restart(c, out),
            },
            EscapeState::Control(length) => match c {
                ' '..='?' if length < MAX_CONTROL_BYTES => {
                    self.within = EscapeState::Control(length + 1);
                }
                '@'..='~' => self.within = EscapeState::Text,
                _ => self.restart(c, out),
            },
            // A newline ends it too, so an unterminated sequence hides a line at most.
            EscapeState::String(length) => match c {
                '\u{7}' | '\u{9c}' | '\u{18}' | '\u{1a}' => self.within = EscapeState::Text,
                '\n' | '\r' => self.restart(c, out),
                '\u{1b}' => self.within = EscapeState::Escape,
                _ if length >= MAX_STRING_BYTES => self.restart(c, out),
                _ => self.within = EscapeState::String(length + c.len_utf8()),
            },
        }
    }

    /// The sequence ended before this character.
    fn restart(&mut self, c: char, out: &mut String) {
        self.within = EscapeState::Text;
        self.text(c, out);
    }

    fn text(&mut self, c: char, out: &mut String) {
        let after_return = std::mem::take(&mut self.after_return);
        match c {
            '\u{1b}' => self.within = EscapeState::Escape,
            '\u{9b}' => self.within = EscapeState::Control(0),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.within = EscapeState::String(0),
            '\n' if after_return => {}
            '\r' => {
                self.put('\n', out);
                self.after_return = true;
            }
            '\u{85}' | '\u{2028}' | '\u{2029}' => self.put('\n', out),
            '\t' => {
                for _ in 0..TAB_COLUMNS - self.column % TAB_COLUMNS {
                    self.put(' ', out);
                }
            }
            '\u{0}'..='\u{1f}' if c != '\n' => self.put(control_picture(c), out),
            '\u{7f}' => self.put('\u{2421}', out),
            '\u{80}'..='\u{9f}' => self.put(char::REPLACEMENT_CHARACTER, out),
            _ if hidden(c) => {}
            // Invisible tag characters, used to hide instructions from a reader: one symbol for a run of them.
            '\u{e0000}'..='\u{e007f}' => {
                if self.last != char::REPLACEMENT_CHARACTER {
                    self.put(char::REPLACEMENT_CHARACTER, out);
                }
            }
            '\u{200d}' => self.joiner = !self.last.is_ascii() && self.marks < MAX_MARKS,
            '\u{200c}' => {
                if !self.last.is_ascii() && self.last.is_alphabetic() {
                    self.mark(c, out);
                }
            }
            _ if marks(c) => self.mark(c, out),
            _ => self.put(c, out),
        }
    }

    /// Writes a character that stands alone or is joined to the previous one.
    fn put(&mut self, c: char, out: &mut String) {
        let joined = std::mem::take(&mut self.joiner) && !c.is_ascii();
        if joined {
            out.push('\u{200d}');
        }
        out.push(c);
        self.marks = if joined { self.marks + 1 } else { 0 };
        self.last = c;
        self.column = if c == '\n' { 0 } else { self.column + 1 };
    }

    /// Writes a character that modifies the one before.
    fn mark(&mut self, c: char, out: &mut String) {
        if self.marks < MAX_MARKS {
            out.push(c);
            self.marks += 1;
        }
    }
}

/// The sanitized text; borrowed if nothing had to be changed.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if printable(text) == text.len() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    Cleaner::default().push(text, &mut out);
    if out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out)
    }
}

/// The safe form of a name or a title, on one line: newlines are shown as a symbol, tabs as one blank.
pub(crate) fn clean_line(text: &str) -> String {
    let flat = text.replace('\t', " ");
    clean(&flat).replace('\n', "\u{2424}")
}

/// Length of the prefix that is printable ASCII and newlines.
fn printable(text: &str) -> usize {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) || *byte == b'\n';
    let bytes = text.as_bytes();
    // Whole chunks first: the compiler vectorizes this.
    let chunks = bytes.chunks_exact(32);
    let whole = chunks
        .take_while(|chunk| chunk.iter().fold(true, |all, byte| all & plain(byte)))
        .count()
        * 32;
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().take_while(|byte| plain(byte)).count()
}

/// The symbol for a C0 control character.
fn control_picture(c: char) -> char {
    char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Characters that reorder the following text, or are invisible and unneeded.
fn hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0080}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// Characters that belong to the one before: combining marks, variation selectors, skin tones, half-width sound marks.
fn marks(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}' | '\u{ff9e}' | '\u{ff9f}')
        || (!c.is_ascii() && c.width() == Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_are_removed_entirely() {
        for (first_unsafe, want) in [
            ("a\x1b[31mred\x1b[0m", "ared"),
            ("a\u{9b}31mred", "ared"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\u{9d}52;c;aGk=\u{9c}x", "x"),
            ("\x1bPq#0;2;0\x1b\\after", "after"),
            ("\x1b(Bplain\x1b7\x1b=", "plain"),
            ("\x1b\x1b[2Jx", "x"),
            ("\x1b]0;never ended\nnext", "\nnext"),
            ("\x1b[12\u{e9}", "\u{e9}"),
            ("end\x1b", "end"),
        ] {
            assert_eq!(clean(first_unsafe), want, "{first_unsafe:?}");
        }
        let endless = format!("\x1b]{}tail", "x".repeat(MAX_STRING_BYTES));
        assert_eq!(clean(&endless), "tail");
        let endless = format!("\x1b[{}", "1".repeat(MAX_CONTROL_BYTES + 3));
        assert_eq!(clean(&endless), "111");
    }

    #[test]
    fn controls_are_shown_and_lines_stay_lines() {
        assert_eq!(clean("a\x08b\x00\x7f\u{80}"), "a␈b␀␡\u{fffd}");
        assert_eq!(clean("a\r\nb\rc\n\nd\u{2028}e"), "a\nb\nc\n\nd\ne");
        assert_eq!(clean("\r\r\n\r\n"), "\n\n\n");
        assert_eq!(clean("a\tb\n\tc"), "a   b\n    c");
        assert_eq!(clean_line("a\tb\nc\x1b[2J"), "a b␤c");
    }

    #[test]
    fn nothing_is_reordered_hidden_or_piled_up() {
        assert_eq!(
            clean("x\u{202e}y\u{2066}z\u{200e}\u{61c}\u{200b}\u{feff}"),
            "xyz"
        );
        assert_eq!(clean("hi\u{e0041}\u{e0042} you"), "hi\u{fffd} you");
        let zalgo = format!("a{}b", "\u{301}".repeat(50));
        assert_eq!(clean(&zalgo), format!("a{}b", "\u{301}".repeat(8)));
        assert_eq!(clean("pass\u{200d}word\u{200c}s"), "passwords");
    }

    #[test]
    fn scripts_and_emoji_stay() {
        for text in [
            "größe e\u{301}",
            "👩‍👩‍👧‍👦 👍🏽 ❤\u{fe0f} 🏳\u{fe0f}\u{200d}🌈 🇵🇹",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "日本語 한국어 שלום",
        ] {
            assert!(
                matches!(clean(text), Cow::Borrowed(same) if same == text),
                "{text:?}"
            );
        }
    }

    fn first_unsafe() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[\\x00-\\x1f\\x7f-\\u{9f}]{0,3}",
            "\\PC{0,4}",
            "[a-z0-9;\\[\\]\\\\ ]{0,6}",
            "[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{2069}\u{61c}\u{301}\u{1f469}\u{1f3fb}]{0,4}",
            "[\u{e0000}-\u{e01ff}]{0,3}",
            Just("\x1b]0;".to_owned()),
            Just("\x1b[".to_owned()),
            Just("\x1b\\".to_owned()),
            Just("\r\n".to_owned()),
        ];
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    /// Independent of `hidden`, so that a gap in that is noticed.
    fn safe(c: char) -> bool {
        let reorders = matches!(u32::from(c), 0x61c | 0x200b | 0x200e | 0x200f | 0xfeff | 0x202a..=0x202e | 0x2066..=0x2069);
        !reorders && (c == '\n' || !c.is_control()) && !('\u{e0000}'..='\u{e007f}').contains(&c)
    }

    proptest! {
        #[test]
        fn nothing_dangerous_comes_out_however_it_is_cut(text in first_unsafe(), cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6)) {
            let whole = clean(&text).into_owned();
            prop_assert!(whole.chars().all(safe), "{whole:?}");
            prop_assert_eq!(clean(&whole), whole.as_str(), "clean text stays");
            let mut at: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let (mut cleaner, mut out) = (Cleaner::default(), String::new());
            for pair in at.windows(2) {
                cleaner.push(&text[pair[0]..pair[1]], &mut out);
            }
            prop_assert_eq!(out, whole);
        }
    }
}
