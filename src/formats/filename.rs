//! Safe file names from untrusted sources: a header or an address.

use super::address::decoded;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, head};

/// Maximum length of a name in bytes; leaves room for a number.
const MAX_NAME_BYTES: usize = 200;

/// The name in a `Content-Disposition` header (RFC 6266), verbatim.
pub(crate) fn disposition(header: &str) -> Option<String> {
    let mut plain = None;
    for part in parameters(header) {
        let (key, value) = part.split_once('=')?;
        match key.trim().to_ascii_lowercase().as_str() {
            "filename*" => {
                let mut pieces = value.trim().trim_matches('"').splitn(3, '\'');
                let charset = pieces.next().unwrap_or_default();
                if let (Some(_), Some(name)) = (pieces.next(), pieces.next())
                    && charset.eq_ignore_ascii_case("utf-8")
                {
                    return Some(decoded(name));
                }
            }
            "filename" => plain = Some(unquoted(value.trim())),
            _ => {}
        }
    }
    plain
}

/// The parts between semicolons outside quotes, without the first.
fn parameters(header: &str) -> Vec<&str> {
    let (mut parts, mut from, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in header.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ';' if !quoted => {
                parts.push(header.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(header.get(from..).unwrap_or_default());
    parts
        .into_iter()
        .skip(1)
        .filter(|part| part.contains('='))
        .collect()
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else {
        return value.to_owned();
    };
    let mut out = String::new();
    let mut escaped = false;
    for c in inner.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => break,
            c => {
                out.push(c);
                escaped = false;
            }
        }
    }
    out
}

/// `name` as a file name: its last path segment, not hidden, without characters that confuse a shell or a terminal.
pub(crate) fn safe(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = escape_controls(last);
    let clean: String = shown
        .chars()
        .map(|c| match c {
            '\n' | '\t' | '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\\' => '_',
            c => c,
        })
        .collect();
    let clean = clean
        .trim()
        .trim_start_matches(['.', '-', ' '])
        .trim_end_matches(['.', ' ']);
    (!clean.is_empty()).then(|| shortened(clean))
}

/// `name` if it is an ordinary file name.
///
/// # Errors
/// `Refused` for folders, `..`, hidden names and leading hyphens.
pub(crate) fn chosen(name: &str) -> Outcome<String> {
    let name = name.trim();
    if name.len() <= MAX_NAME_BYTES && safe(name).as_deref() == Some(name) {
        return Ok(name.to_owned());
    }
    let shown = clip(&escape_controls(name), 80);
    let problem = Problem::refused(format!("\"{shown}\" cannot be the name of the file."));
    Err(match safe(name) {
        Some(better) => problem.next(format!(
            "Give a plain name without folders, for example \"{better}\"."
        )),
        None => problem.next("Give a plain name such as \"report.pdf\"."),
    })
}

fn shortened(name: &str) -> String {
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    let (stem, extension) = parts(name);
    let extension = head(extension, 20);
    format!(
        "{}{extension}",
        head(stem, MAX_NAME_BYTES - extension.len())
    )
}

/// `name`, `name (2)`, `name (3)` … with the number before the extension; `count` begins at 1.
pub(crate) fn numbered(name: &str, count: usize) -> String {
    if count < 2 {
        return name.to_owned();
    }
    let (stem, extension) = parts(name);
    format!("{stem} ({count}){extension}")
}

/// A name before its extension and the extension with its dot; `.tar.gz` is one.
fn parts(name: &str) -> (&str, &str) {
    let at = match name.rfind('.') {
        Some(at) if at > 0 => at,
        _ => return (name, ""),
    };
    let stem = name.get(..at).unwrap_or_default();
    let at = stem
        .strip_suffix(".tar")
        .filter(|stem| !stem.is_empty())
        .map_or(at, str::len);
    name.split_at_checked(at).unwrap_or((name, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_give_file_names() {
        for (header, want) in [
            ("attachment; filename=a.pdf", Some("a.pdf")),
            (
                "attachment; filename=\"a; b \\\"c\\\".pdf\"; size=3",
                Some("a; b \"c\".pdf"),
            ),
            (
                "inline; FILENAME*=UTF-8''na%C3%AFve%20file.txt; filename=x",
                Some("na\u{ef}ve file.txt"),
            ),
            ("attachment; filename*=UTF-8'en'a.txt", Some("a.txt")),
            ("attachment; filename=\"../../x\"", Some("../../x")),
            ("attachment", None),
            ("filename=a", None),
            ("attachment; filename=\"open", Some("open")),
        ] {
            assert_eq!(disposition(header).as_deref(), want, "{header}");
        }
    }

    #[test]
    fn unsafe_names_are_made_safe() {
        for (name, want) in [
            ("../../x", Some("x")),
            ("..\\..\\evil.exe", Some("evil.exe")),
            ("/etc/passwd", Some("passwd")),
            (".bashrc", Some("bashrc")),
            ("-rf", Some("rf")),
            ("..", None),
            ("a/", None),
            ("", None),
            ("a\0b\n\u{202e}gpj.exe", Some("a_x00b__u{202e}gpj.exe")),
            (
                "Bericht 2026 \u{1f389}.pdf",
                Some("Bericht 2026 \u{1f389}.pdf"),
            ),
            ("a:b?.txt. ", Some("a_b_.txt")),
        ] {
            assert_eq!(safe(name).as_deref(), want, "{name:?}");
        }
        let long = safe(&format!("{}.tar.gz", "\u{e9}".repeat(300))).unwrap();
        assert!(
            long.len() <= 200 && long.ends_with("\u{e9}.tar.gz"),
            "{long}"
        );
        assert!(chosen("a b.pdf").is_ok());
        let long = "x".repeat(300);
        for wrong in ["../x", "a/b", "..", "", ".x", "-o", "a\0b", &long] {
            assert!(chosen(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_number_goes_before_the_extension() {
        for (name, want) in [
            ("a.pdf", "a (2).pdf"),
            ("a.tar.gz", "a (2).tar.gz"),
            ("a", "a (2)"),
            ("a.b.c", "a.b (2).c"),
            (".tar.gz", ".tar (2).gz"),
        ] {
            assert_eq!(numbered(name, 2), want);
        }
        assert_eq!(numbered("a.pdf", 1), "a.pdf");
    }

    proptest! {
        #[test]
        fn a_safe_name_is_one_segment_and_stays_the_same(name in "\\PC{0,40}|[./\\\\a\u{0}\u{202e}\\- ]{0,12}|[a\u{e9}.]{0,400}") {
            if let Some(safe_name) = safe(&name) {
                prop_assert!(!safe_name.contains(['/', '\\', '\0']) && !safe_name.starts_with(['.', '-']));
                prop_assert!(!safe_name.is_empty() && safe_name.len() <= MAX_NAME_BYTES);
            }
            let _ = disposition(&name);
        }
    }
}
