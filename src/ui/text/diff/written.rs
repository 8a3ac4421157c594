//! Patches as they were written, which sessions of older versions have of an edit.

use super::{DiffRow, DiffRowKind};

/// The rows of `*** Begin Patch` with its files, of a unified diff, or of only `+` and `-` lines.
pub(super) fn rows(text: &str) -> Vec<DiffRow<'_>> {
    let mut rows: Vec<DiffRow<'_>> = Vec::new();
    let (mut old, mut new): (Option<usize>, Option<usize>) = (None, None);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (kind, text) = match line.as_bytes().first() {
            Some(b'*') if line.starts_with("*** ") => {
                (old, new) = (None, line.starts_with("*** Add File: ").then_some(1));
                match line.trim_end() {
                    "*** Begin Patch" | "*** End Patch" | "*** End of File" => continue,
                    _ => (DiffRowKind::File, line.get(4..).unwrap_or_default()),
                }
            }
            Some(b'-')
                if line.starts_with("--- ")
                    && lines.peek().is_some_and(|next| next.starts_with("+++ ")) =>
            {
                let to = lines
                    .next()
                    .and_then(|next| next.get(4..))
                    .unwrap_or_default();
                let from = line.get(4..).unwrap_or_default();
                (
                    DiffRowKind::File,
                    if to.trim() == "/dev/null" { from } else { to },
                )
            }
            Some(b'@') if line.starts_with("@@") => {
                (old, new) = places(line);
                (DiffRowKind::Note, line)
            }
            Some(b'+') => (DiffRowKind::Added, line.get(1..).unwrap_or_default()),
            Some(b'-') => (DiffRowKind::Removed, line.get(1..).unwrap_or_default()),
            Some(b' ') => (DiffRowKind::Same, line.get(1..).unwrap_or_default()),
            None => (DiffRowKind::Same, ""),
            Some(_) => (DiffRowKind::Note, line),
        };
        rows.push(DiffRow::numbered(kind, text, &mut old, &mut new));
    }
    rows
}

/// The line numbers of `@@ -1,2 +3,4 @@`; `None` where the header has none.
fn places(line: &str) -> (Option<usize>, Option<usize>) {
    let place = |sign: char| {
        let mut words = line.split(' ');
        let word = words.find_map(|word| word.strip_prefix(sign))?;
        word.split(',').next()?.parse().ok()
    };
    match (place('-'), place('+')) {
        (Some(old), Some(new)) => (Some(old), Some(new)),
        _ => (None, None),
    }
}
