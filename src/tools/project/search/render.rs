//! Renders hits as text: blocks of `path:line`, hits marked with `>`, and a count.

use std::fmt::Write as _;

use super::{SearchHits, SearchQuery};
use crate::base::text::{clip, escape_controls, plural};

/// Maximum characters of a line that are shown.
const MAX_SHOWN_CHARS: usize = 300;

pub(super) fn render(found: &SearchHits, query: &SearchQuery<'_>) -> String {
    let mut out = String::new();
    let mut before: Option<(&str, u64)> = None;
    for line in &found.lines {
        let next =
            before.is_some_and(|(path, number)| path == line.path && number + 1 == line.number);
        if before.is_some() && !next && query.context > 0 {
            out.push_str("--\n");
        }
        let mark = if line.hit { '>' } else { ' ' };
        let text = escape_controls(&clip(&line.text, MAX_SHOWN_CHARS));
        let _ = writeln!(
            out,
            "{mark} {}:{}: {text}",
            escape_controls(&line.path),
            line.number
        );
        before = Some((&line.path, line.number));
    }
    let hits = found.hits;
    let files: std::collections::BTreeSet<&str> = found
        .lines
        .iter()
        .filter(|line| line.hit)
        .map(|line| line.path.as_str())
        .collect();
    match hits {
        0 => {
            let _ = write!(out, "No match for {}", query.pattern);
            if query.glob != "*" {
                let _ = write!(out, " in files named {}", query.glob);
            }
            out.push('.');
        }
        _ => {
            let _ = write!(
                out,
                "{} in {}",
                plural(hits, "hit"),
                plural(files.len(), "file")
            );
            out.push_str(if found.more {
                "; there are more, raise max_results or narrow the pattern."
            } else {
                "."
            });
        }
    }
    for problem in found.problems.iter().take(5) {
        let _ = write!(out, "\nNot searched: {problem}");
    }
    out
}
