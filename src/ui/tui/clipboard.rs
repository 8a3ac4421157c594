//! Copies to the clipboard of the user's terminal by OSC 52, also over ssh: where no program of the desktop does it.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Maximum bytes of text; terminals drop longer sequences.
const MAX_CLIPBOARD_BYTES: usize = 74_000;

/// Copies `text`. False when it is too long for terminals.
pub(super) fn copy(text: &str, out: &mut impl Write) -> io::Result<bool> {
    if text.len() > MAX_CLIPBOARD_BYTES {
        return Ok(false);
    }
    write!(out, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
    out.flush()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_copied_as_base64_and_long_text_is_refused() {
        let mut out = Vec::new();
        assert!(copy("fn main() {}\x1b", &mut out).unwrap());
        assert_eq!(out, b"\x1b]52;c;Zm4gbWFpbigpIHt9Gw==\x07");
        assert!(!copy(&"x".repeat(MAX_CLIPBOARD_BYTES + 1), &mut out).unwrap());
    }
}
