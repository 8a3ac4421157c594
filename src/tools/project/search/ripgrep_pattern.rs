//! A pattern as ripgrep takes it: it finds at least the lines that the pattern finds alone.

/// The pattern for ripgrep, which searches whole texts; none when it might miss a line there. ripgrep does not see that `\r\n` ends a line.
pub(super) fn ripgrep_pattern(text: &str) -> Option<String> {
    if means_another_on_a_text(text) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut classes = 0_usize;
    while let Some(sign) = rest.next() {
        match sign {
            '\\' => {
                out.push(sign);
                out.extend(rest.next());
            }
            '[' => {
                classes += 1;
                out.push(sign);
                // A bracket that comes first is one of the characters.
                out.extend(rest.next_if_eq(&'^'));
                out.extend(rest.next_if_eq(&']'));
            }
            ']' => {
                classes = classes.saturating_sub(1);
                out.push(sign);
            }
            '$' if classes == 0 => {
                if !matches!(rest.peek(), None | Some(')' | '|')) {
                    return None;
                }
                out.push_str("(?:\\r?$)");
            }
            _ => out.push(sign),
        }
    }
    Some(out)
}

/// Whether it may behave differently on a whole text: by anchors of the text, or by flags that change what `^`, `$` and `.` mean.
pub(super) fn means_another_on_a_text(pattern: &str) -> bool {
    let flags = pattern.replace("(?:", "").replace("(?i)", "");
    ["\\A", "\\z", "(?"].iter().any(|part| flags.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_line_may_have_a_carriage_return() {
        for (pattern, expected) in [
            ("a$", Some("a(?:\\r?$)")),
            ("(a$|b)$", Some("(a(?:\\r?$)|b)(?:\\r?$)")),
            ("a\\$", Some("a\\$")),
            ("[$]", Some("[$]")),
            ("[]$]$", Some("[]$](?:\\r?$)")),
            ("[^]$]x", Some("[^]$]x")),
            ("[a[$]b]$", Some("[a[$]b](?:\\r?$)")),
            ("\\[$", Some("\\[(?:\\r?$)")),
            ("(?i)a(?:b)$", Some("(?i)a(?:b)(?:\\r?$)")),
            ("$\\b", None),
            ("a$*", None),
            ("(?s)a.b", None),
            ("\\Aa", None),
            ("a\\z", None),
            ("", Some("")),
            ("\\", Some("\\")),
        ] {
            assert_eq!(ripgrep_pattern(pattern).as_deref(), expected, "{pattern}");
        }
    }
}
