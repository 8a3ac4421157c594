//! Web addresses in words.

use std::borrow::Cow;

use crate::base::text;

/// `line` with a phrase in place of every link and every bare address outside parentheses.
pub(super) fn in_words(line: &str) -> Cow<'_, str> {
    if !line.contains(['[', ':', '.']) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    line_in_words(line, &mut out);
    Cow::Owned(out)
}

fn line_in_words(line: &str, out: &mut String) {
    // Where the last parenthesis of the line closes: one that opens after it encloses nothing.
    let last_close = line.rfind(')').unwrap_or(0);
    // Without a closing part after it, no bracket begins a link.
    let last_link = line.rfind("](").unwrap_or(0);
    let (mut at, mut depth) = (0usize, 0usize);
    let mut previous = ' ';
    while let Some(c) = line.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = line.get(at..).unwrap_or_default();
        let link = match c {
            '[' if at < last_link.min(last_close) => markdown_link(rest),
            '!' if rest.starts_with("![") && at < last_link => {
                markdown_link(rest.get(1..).unwrap_or_default()).map(|link| Link {
                    is_image: true,
                    len: link.len + 1,
                    ..link
                })
            }
            _ => None,
        };
        if let Some(link) = link {
            out.push_str(&link.phrase());
            at += link.len;
            previous = ')';
            continue;
        }
        if let Some((place, len)) = bracketed(rest) {
            out.push_str(&place.to_string());
            at += len;
            previous = 'x';
            continue;
        }
        match c {
            '(' if at < last_close => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !(previous.is_ascii_alphanumeric() || previous == '_') {
            let len = address_len(rest);
            if let Some(place) = rest.get(..len).and_then(place) {
                out.push_str(&place.to_string());
                at += len;
                previous = 'x';
                continue;
            }
        }
        out.push(c);
        previous = c;
        at += c.len_utf8();
    }
}

/// An address that is all there is in a pair of brackets, and the bytes of both.
fn bracketed(text: &str) -> Option<(SpokenAddress<'_>, usize)> {
    let pairs = [('(', ')'), ('[', ']'), ('<', '>')];
    let (_, close) = pairs
        .into_iter()
        .find(|(open, _)| text.starts_with(*open))?;
    let address = text.get(1..)?;
    let len = address_len(address);
    let place = address.get(..len).and_then(place)?;
    let is_all = address.get(len..)?.starts_with(close);
    is_all.then_some((place, len + 2))
}

struct Link<'a> {
    text: &'a str,
    target: &'a str,
    is_image: bool,
    /// Bytes of the whole link.
    len: usize,
}

impl Link<'_> {
    fn phrase(&self) -> String {
        match place(self.target) {
            Some(place) if !self.is_image => {
                format!("Link to {place} with the text '{}'", self.text)
            }
            _ => self.text.to_owned(),
        }
    }
}

/// Longest text of a link, and longest address, in bytes: more is no link but a bracket.
const MAX_LINK_BYTES: usize = 2_000;

/// `[text](address)` at the start.
fn markdown_link(text: &str) -> Option<Link<'_>> {
    let near = text::head(text, MAX_LINK_BYTES);
    let end = near.find("](")?;
    let inside = near.get(1..end)?;
    // The innermost bracket begins the link.
    if inside.contains('[') && !inside.contains(']') {
        return None;
    }
    let start = end + 2;
    let target = text::head(text.get(start..)?, MAX_LINK_BYTES);
    let mut depth = 0usize;
    let close = target.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
        None
    })?;
    // A title may follow the address.
    let address = target
        .get(..close)?
        .split_whitespace()
        .next()
        .unwrap_or_default();
    Some(Link {
        text: inside,
        target: address.trim_matches(['<', '>']),
        is_image: false,
        len: start + close + 1,
    })
}

/// A domain, and whether an address is its first page.
struct SpokenAddress<'a> {
    domain: &'a str,
    is_home: bool,
}

impl std::fmt::Display for SpokenAddress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_home {
            write!(f, "{} homepage", self.domain)
        } else {
            write!(f, "a page under {}", self.domain)
        }
    }
}

/// What follows the scheme.
fn without_scheme(address: &str) -> Option<&str> {
    let strip = |prefix: &str| {
        let start = address.get(..prefix.len())?;
        start
            .eq_ignore_ascii_case(prefix)
            .then(|| address.get(prefix.len()..))
            .flatten()
    };
    strip("https://").or_else(|| strip("http://"))
}

fn without_www(host: &str) -> Option<&str> {
    let (start, rest) = host.split_at_checked(4)?;
    start.eq_ignore_ascii_case("www.").then_some(rest)
}

/// Bytes of the address at the start, without the punctuation of the sentence; 0 when there is none.
fn address_len(text: &str) -> usize {
    if without_scheme(text).is_none() && without_www(text).is_none() {
        return 0;
    }
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '<' | '>' | '"' | '(' | ')' | '[' | ']' | '。' | '、' | '，' | '」' | '”'
            )
    };
    let len = text.find(ends).unwrap_or(text.len());
    let address = text.get(..len).unwrap_or_default();
    address
        .trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~', '`'])
        .len()
}

fn place(address: &str) -> Option<SpokenAddress<'_>> {
    let rest = match without_scheme(address) {
        Some(rest) => rest,
        None => without_www(address).map(|_| address)?,
    };
    let host_len = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(host_len)?;
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let domain = without_www(host).unwrap_or(host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    (domain.starts_with(char::is_alphanumeric)).then_some(SpokenAddress {
        domain,
        is_home: path.is_empty() || path == "/",
    })
}
