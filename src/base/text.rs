//! Cutting, indenting and comparing text, always on character boundaries.

use crate::base::shared_sort::SharedSort as _;

/// The first `max` characters of `text`, with `…` when something was cut.
pub(crate) fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

/// The longest prefix of `text` that has at most `max` bytes and ends between characters.
pub(crate) fn head(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max))
        .unwrap_or_default()
}

/// The longest suffix of `text` that has at most `max` bytes and begins between characters.
pub(crate) fn tail(text: &str, max: usize) -> &str {
    let from = text.len().saturating_sub(max);
    text.get(text.ceil_char_boundary(from)..)
        .unwrap_or_default()
}

/// `1 file`, `2 files`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// `1 token`, `12,345 tokens`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", thousands(count))
    }
}

/// `512 bytes`, `12 KB` (1024 bytes each, rounded up), `3.4 MB`.
pub(crate) fn file_size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        0..KIB => counted(bytes, "byte"),
        KIB..MIB => format!("{} KB", bytes.div_ceil(KIB)),
        _ => format!("{}.{} MB", bytes / MIB, bytes % MIB * 10 / MIB),
    }
}

/// 1,234,567.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The candidates most similar to `word`, best first: those within a third of its length in edits, or beginning with it.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let wanted: Vec<char> = clip(word, 64).to_lowercase().chars().collect();
    let limit = (wanted.len() / 3).clamp(1, 4);
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let other: Vec<char> = candidate.to_lowercase().chars().collect();
            let edits = distance(&wanted, &other);
            let within =
                wanted.len() >= 3 && (other.starts_with(&wanted) || wanted.starts_with(&other));
            (edits <= limit || within)
                .then_some((if within { edits.min(limit) } else { edits }, candidate))
        })
        .collect();
    scored.shared_sort_by_key(|(edits, candidate)| (*edits, candidate.len()));
    scored
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// `did you mean "x"?` if a candidate is similar.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let near = nearest(word, candidates);
    let quoted: Vec<String> = near.iter().map(|n| format!("\"{n}\"")).collect();
    (!quoted.is_empty()).then(|| format!("did you mean {}?", quoted.join(" or ")))
}

/// A number with at most `places` decimals and no trailing zeros: `12`, `0.5`, `-3.25`; never `-0`.
pub(crate) fn trim_decimals(number: f64, places: usize) -> String {
    let text = format!("{number:.places$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    if text == "-0" { "0" } else { text }.to_owned()
}

/// `text` with its first letter in upper case.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// `text` with its first letter in lower case.
pub(crate) fn uncapitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}

/// `text` without anything that HTML or XML takes for markup between tags.
pub(crate) fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The number of edits (insert, delete, replace, swap of adjacent characters) between two words.
pub(crate) fn edits(one: &str, other: &str) -> usize {
    let chars = |text: &str| text.chars().collect::<Vec<char>>();
    distance(&chars(one), &chars(other))
}

fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut table = vec![0usize; (a.len() + 1) * width];
    let at = |table: &Vec<usize>, i: usize, j: usize| {
        table.get(i * width + j).copied().unwrap_or_default()
    };
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let best = if i == 0 || j == 0 {
                i + j
            } else {
                let same = a.get(i - 1) == b.get(j - 1);
                let mut best = (at(&table, i - 1, j) + 1)
                    .min(at(&table, i, j - 1) + 1)
                    .min(at(&table, i - 1, j - 1) + usize::from(!same));
                if i > 1 && j > 1 && a.get(i - 1) == b.get(j - 2) && a.get(i - 2) == b.get(j - 1) {
                    best = best.min(at(&table, i - 2, j - 2) + 1);
                }
                best
            };
            if let Some(cell) = table.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    at(&table, a.len(), b.len())
}

/// Makes control characters, escape sequences and bidirectional overrides visible, so that text from outside cannot move a terminal's cursor. Newlines and tabs
/// stay.
pub(crate) fn escape_controls(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c.to_string(),
            c if c.is_control() => format!("\\x{:02x}", u32::from(c)),
            '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => format!("\\u{{{:04x}}}", u32::from(c)),
            c => c.to_string(),
        })
        .collect()
}

/// The text on one line, whole, with its line breaks and control characters made visible.
pub(crate) fn breaks_shown(text: &str) -> String {
    escape_controls(text.trim()).replace('\n', " ⏎ ")
}

/// The words separated by single spaces, on one line.
pub(crate) fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A title, a name or a snippet from outside on one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    escape_controls(&single_spaced(text))
}

/// `text` with `instead` for `word`, in whatever case its letters of ASCII are.
pub(crate) fn replaced_in_any_case(text: &str, word: &str, instead: &str) -> String {
    let (lower, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in lower.match_indices(&word) {
        out.push_str(text.get(from..at).unwrap_or_default());
        out.push_str(instead);
        from = at + found.len();
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_trimmed() {
        for (number, places, wanted) in [
            (12.0, 2, "12"),
            (0.5, 1, "0.5"),
            (-0.0, 1, "0"),
            (-0.04, 1, "0"),
            (100.0, 0, "100"),
            (2.345_678, 3, "2.346"),
        ] {
            assert_eq!(trim_decimals(number, places), wanted);
        }
    }

    #[test]
    fn cuts_never_split_a_character() {
        assert_eq!(clip("größe", 3), "grö…");
        assert_eq!(clip("größe", 5), "größe");
        assert_eq!((head("größe", 3), tail("größe", 3)), ("gr", "ße"));
    }

    #[test]
    fn markup_is_shown_literally() {
        assert_eq!(escape_markup("<b>&</b>"), "&lt;b&gt;&amp;&lt;/b&gt;");
    }

    #[test]
    fn similar_words_are_suggested() {
        assert_eq!(
            nearest("read_fiel", ["read_file", "tree", "git_log"]),
            ["read_file"]
        );
        assert_eq!(nearest("opnai", ["openai", "ollama"]), ["openai"]);
        assert_eq!(nearest("completely", ["openai", "ollama"]), [] as [&str; 0]);
        assert_eq!(
            did_you_mean("--promt", ["--prompt", "--plain"]).as_deref(),
            Some("did you mean \"--prompt\"?")
        );
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            (thousands(1_234_567).as_str(), thousands(999).as_str()),
            ("1,234,567", "999")
        );
    }

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(
            escape_controls("a\x1b[31m\u{202e}b\n"),
            "a\\x1b[31m\\u{202e}b\n"
        );
    }
}
