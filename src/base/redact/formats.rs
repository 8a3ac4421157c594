//! Keys and tokens that say by how they begin what they are, and which of them are in a text.
//!
//! Who gives out a key publishes its prefix, so that scanners find what should not lie about. A prefix and enough of the right characters after it are a
//! secret; length alone is not, because digests, ids and long names are long too.

use std::sync::LazyLock;

use super::hit::Hit;

/// Bytes after a prefix within which the telling part of a key is.
const MAX_CHUNK_OFFSET: usize = 256;

pub(super) struct KeyFormat {
    pub prefix: &'static str,
    rest: Rest,
    label: &'static str,
}

impl KeyFormat {
    /// The format in `line`.
    fn parse(line: &'static str) -> Option<Self> {
        let mut columns = line.split_ascii_whitespace();
        let prefix = columns.next()?;
        let kind = columns.next()?;
        let min = columns.next()?.parse().ok()?;
        let rest = match kind {
            "alnum" => Alnum(min),
            "upper" => Upper(min),
            "hex" => Hex(min),
            "word" => Word(min),
            "any" => Any(min),
            "chunk" => Chunk(min),
            _ => return None,
        };
        Some(Self {
            prefix,
            rest,
            label: columns.next()?,
        })
    }
}

/// What follows a prefix: at least so many characters of a kind.
#[derive(Clone, Copy)]
enum Rest {
    /// Letters and digits.
    Alnum(usize),
    /// Capital letters and digits.
    Upper(usize),
    /// Hexadecimal digits, and neither letter nor digit after them.
    Hex(usize),
    /// Letters, digits, `_` and `-`.
    Word(usize),
    /// The same and `.`, `+`, `/`, `=`, `~`, `%`.
    Any(usize),
    /// As [`Rest::Word`], with so many letters and digits side by side and a digit among them: the prefix is the beginning of ordinary names too.
    Chunk(usize),
}
use Rest::{Alnum, Any, Chunk, Hex, Upper, Word};

use crate::base::shared_sort::SharedSort as _;

impl Rest {
    fn takes(self, byte: u8) -> bool {
        match self {
            Alnum(_) => byte.is_ascii_alphanumeric(),
            Upper(_) => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Hex(_) => byte.is_ascii_hexdigit(),
            Word(_) | Chunk(_) => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Any(_) => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b'%')
            }
        }
    }

    /// How many bytes at the beginning of `rest` belong to a key; `None` if it is none.
    fn length(self, rest: &str) -> Option<usize> {
        if let Chunk(min) = self {
            // A long run of names is looked at only here, because it may begin many times.
            let begin = rest
                .as_bytes()
                .get(..MAX_CHUNK_OFFSET)
                .unwrap_or(rest.as_bytes());
            let len = begin.iter().take_while(|byte| self.takes(**byte)).count();
            if !has_chunk(rest.get(..len)?, min) {
                return None;
            }
        }
        let len = rest.bytes().take_while(|byte| self.takes(*byte)).count();
        let run = rest.get(..len)?;
        // The end of a sentence is no part of it.
        let run = run.trim_end_matches('.');
        let is_key = match self {
            Alnum(min) | Upper(min) | Word(min) | Any(min) => run.len() >= min,
            Hex(min) => {
                let after = rest.as_bytes().get(len);
                run.len() >= min && !after.is_some_and(u8::is_ascii_alphanumeric)
            }
            Chunk(_) => true,
        };
        is_key.then_some(run.len())
    }
}

#[cfg(test)]
impl KeyFormat {
    /// A regular expression of what may follow the prefix.
    pub(super) fn sample(&self) -> String {
        match self.rest {
            Alnum(min) => format!("[A-Za-z0-9]{{{min},{}}}", min + 4),
            Upper(min) => format!("[A-Z0-9]{{{min},{}}}", min + 4),
            Hex(min) => format!("[0-9a-f]{{{min}}}"),
            Word(min) => format!("[A-Za-z0-9_-]{{{}}}[a-z0-9]", min - 1),
            Any(min) => format!("[A-Za-z0-9_+/-]{{{}}}[a-z0-9]", min - 1),
            Chunk(min) => format!("[A-Za-z0-9]{{{min},{}}}7", min + 4),
        }
    }
}

/// True when `text` has `min` letters and digits side by side, and a digit among them.
pub(super) fn has_chunk(text: &str, min: usize) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|chunk| chunk.len() >= min && chunk.bytes().any(|byte| byte.is_ascii_digit()))
}

/// The formats, as the comments of `formats.txt` explain; the build leaves them out.
const TABLE: &str = include_str!(concat!(env!("OUT_DIR"), "/formats.txt"));

pub(super) static FORMATS: LazyLock<Vec<KeyFormat>> =
    LazyLock::new(|| TABLE.lines().filter_map(KeyFormat::parse).collect());

/// One pattern of all prefixes would be an automaton of more than half a megabyte.
struct Prefixes {
    /// A bit for each pair of bytes: some prefix begins with it.
    pairs: Vec<u64>,
    /// By their first byte, the longest first: after "sk-ant-" the letters may be too few for "sk-".
    by_byte: Vec<Vec<&'static str>>,
}

static PREFIXES: LazyLock<Prefixes> = LazyLock::new(|| {
    let (mut pairs, mut by_byte) = (vec![0; 1 << 10], vec![Vec::new(); 1 << 8]);
    for prefix in FORMATS.iter().map(|format| format.prefix) {
        let first = prefix.bytes().next().map(usize::from);
        let group = first.and_then(|first| by_byte.get_mut(first));
        if let (Some((word, bit)), Some(group)) = (pair(prefix.as_bytes()), group) {
            if let Some(bits) = pairs.get_mut(word) {
                *bits |= bit;
            }
            group.push(prefix);
        }
    }
    for group in &mut by_byte {
        group.shared_sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
    }
    Prefixes { pairs, by_byte }
});

/// The place of the first two bytes among [`Prefixes::pairs`].
fn pair(bytes: &[u8]) -> Option<(usize, u64)> {
    let [first, second, ..] = bytes else {
        return None;
    };
    let pair = usize::from(*first) << 8 | usize::from(*second);
    Some((pair >> 6, 1 << (pair & 63)))
}

impl Prefixes {
    fn may_begin(&self, rest: &[u8]) -> bool {
        let bits = pair(rest).and_then(|(word, bit)| Some(self.pairs.get(word)? & bit));
        bits.is_some_and(|bits| bits != 0)
    }

    /// The longest one with which `rest` begins.
    fn longest(&self, rest: &[u8]) -> Option<&'static str> {
        let group = self.by_byte.get(usize::from(*rest.first()?))?;
        let mut group = group.iter().copied();
        group.find(|prefix| rest.starts_with(prefix.as_bytes()))
    }
}

/// The keys of a known format in `text`.
pub(super) fn keys(text: &str) -> Vec<Hit> {
    let prefixes = &*PREFIXES;
    let mut found = Vec::new();
    let mut start = 0;
    while let Some((before, rest)) = text.as_bytes().split_at_checked(start) {
        if rest.is_empty() {
            break;
        }
        let key = prefixes
            .may_begin(rest)
            .then(|| prefixes.longest(rest))
            .flatten()
            .filter(|prefix| is_beginning(before, prefix))
            .and_then(|_| key_at(text.get(start..)?));
        start += match key {
            Some((len, label)) => {
                found.push(Hit::whole(start..start + len, label));
                len
            }
            None => 1,
        };
    }
    found
}

/// The length of the key with which `rest` begins, and its label.
fn key_at(rest: &str) -> Option<(usize, &'static str)> {
    FORMATS.iter().find_map(|format| {
        let after = rest.strip_prefix(format.prefix)?;
        let len = format.rest.length(after)?;
        Some((format.prefix.len() + len, format.label))
    })
}

/// True when a key with `prefix` may begin after `before`: after a letter or digit only where that ends an escape (`\n`, `%0A`) that stands for something else.
fn is_beginning(before: &[u8], prefix: &str) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
        // A short prefix occurs within other keys too.
        [.., b'_' | b'-' | b'.'] => prefix.len() > 3 && prefix.ends_with(['_', '-', '.']),
        [.., last] => !last.is_ascii_alphanumeric() && *last != b'+',
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_names_the_page_that_tells_it_and_longer_prefixes_come_first() {
        let mut comment = "";
        let mut rows = 0;
        let source = include_str!("formats.txt");
        for line in source.lines().filter(|line| !line.is_empty()) {
            if line.starts_with('#') {
                comment = line;
            } else {
                assert!(comment.starts_with("# https://"), "{line}");
                let format = KeyFormat::parse(line);
                assert!(format.is_some_and(|one| one.prefix.len() > 1), "{line}");
                rows += 1;
            }
        }
        assert_eq!(FORMATS.len(), rows);
        for (at, format) in FORMATS.iter().enumerate() {
            for earlier in &FORMATS[..at] {
                let is_hidden = format.prefix != earlier.prefix
                    && format.prefix.starts_with(earlier.prefix)
                    && format.label != earlier.label;
                assert!(!is_hidden, "{} before {}", earlier.prefix, format.prefix);
            }
        }
    }
}
