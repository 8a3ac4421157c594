//! Applies the chunks of one update to a text: pure, no disk.
//!
//! Only lines marked `-` and `+` change: a context line that matched despite a different space or dash stays as it is in the file.

use std::borrow::Cow;

use super::parse::{PatchChunk, PatchLine};
use super::seek::LineIndex;
use crate::base::problem::{Problem, ProblemKind};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, escape_controls};

/// Lines of the file shown when the place was not found.
const SHOWN_LINES: usize = 10;

/// The text after all chunks. Ends in a line break; new lines get the line break of the line they replace, otherwise the file's most common one.
///
/// # Errors
/// `Missing` when the place of a chunk is not found, with the expected lines and the nearby text. `name` is the file.
pub fn new_text(old: &str, chunks: &[PatchChunk], name: &str) -> Result<String, Problem> {
    let (mark, body) = match old.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", old),
    };
    let lines = split(body);
    let texts = LineIndex::new(lines.iter().map(|line| line.text).collect());
    let mut places: Vec<(usize, Cow<'_, [PatchLine]>)> = Vec::new();
    let mut from = 0;
    for chunk in chunks {
        if let Some(anchor) = &chunk.anchor {
            from = texts
                .seek(&[anchor], from, false)
                .ok_or_else(|| no_anchor(chunk, anchor, &texts, from, name))?
                + 1;
        }
        let wanted = wanted(&chunk.lines);
        if wanted.is_empty() {
            places.push((texts.lines.len(), Cow::Borrowed(&chunk.lines)));
            continue;
        }
        let (at, changes) = place(&texts, chunk, &wanted, from)
            .ok_or_else(|| place_not_found(chunk, &wanted, &texts, from, name))?;
        places.push((at, changes));
        from = at + wanted.len().min(texts.lines.len() - at);
    }
    // Additions at the end come last, regardless of their order in the patch; all others are in order already.
    places.shared_sort_by_key(|(at, _)| *at);
    let places: Vec<(usize, &[PatchLine])> =
        places.iter().map(|(at, lines)| (*at, &**lines)).collect();
    Ok(format!("{mark}{}", rebuild(&lines, &places)))
}

/// A line and its break.
pub(super) struct FileLine<'a> {
    pub(super) text: &'a str,
    end: &'a str,
}

/// The lines of a text, each with its own break.
pub(super) fn split(text: &str) -> Vec<FileLine<'_>> {
    text.split_inclusive('\n')
        .map(|line| {
            let text = line.strip_suffix('\n').unwrap_or(line);
            let text = match line.len() - text.len() {
                0 => text,
                _ => text.strip_suffix('\r').unwrap_or(text),
            };
            FileLine {
                text,
                end: line.get(text.len()..).unwrap_or_default(),
            }
        })
        .collect()
}

/// The most frequent line break of the file; the first one among equals, and LF if there is none.
fn most_frequent_break<'a>(lines: &[FileLine<'a>]) -> &'a str {
    let windows = lines.iter().filter(|line| line.end == "\r\n").count();
    let unix = lines.iter().filter(|line| line.end == "\n").count();
    let first_is_windows = lines.first().is_some_and(|line| line.end == "\r\n");
    if windows > unix || (windows == unix && first_is_windows) {
        "\r\n"
    } else {
        "\n"
    }
}

/// The lines that the file must contain.
pub(super) fn wanted(lines: &[PatchLine]) -> Vec<&str> {
    lines
        .iter()
        .filter_map(|line| match line {
            PatchLine::Keep(text) | PatchLine::Remove(text) => Some(text.as_str()),
            PatchLine::Add(_) => None,
        })
        .collect()
}

/// Where the chunk matches, and the lines it was matched with: an empty last line may match the end of the file.
fn place<'a>(
    texts: &LineIndex<'_>,
    chunk: &'a PatchChunk,
    wanted: &[&str],
    from: usize,
) -> Option<(usize, Cow<'a, [PatchLine]>)> {
    if let Some(at) = texts.seek(wanted, from, chunk.at_end) {
        return Some((at, Cow::Borrowed(&chunk.lines)));
    }
    let [shorter @ .., ""] = wanted else {
        return None;
    };
    let at = if shorter.is_empty() {
        Some(from).filter(|from| *from == texts.lines.len())
    } else {
        texts.seek(shorter, from, chunk.at_end)
    };
    Some((at?, Cow::Owned(without_last_blank(&chunk.lines))))
}

/// The lines of a chunk without the empty old line at their end and the empty new line that corresponds to it.
fn without_last_blank(lines: &[PatchLine]) -> Vec<PatchLine> {
    let mut lines = lines.to_vec();
    let was_old = |line: &PatchLine| !matches!(line, PatchLine::Add(_));
    if let Some(index) = lines.iter().rposition(was_old)
        && let PatchLine::Keep(_) = lines.remove(index)
    {
        lines.insert(index, PatchLine::Add(String::new()));
    }
    let is_new = |line: &PatchLine| !matches!(line, PatchLine::Remove(_));
    if let Some(index) = lines.iter().rposition(is_new)
        && let Some(PatchLine::Keep(text) | PatchLine::Add(text)) = lines.get(index)
        && text.is_empty()
        && let PatchLine::Keep(text) = lines.remove(index)
    {
        lines.insert(index, PatchLine::Remove(text));
    }
    lines
}

/// The text with `places`, given in file order, changed. Every line ends in a break: new ones in that of the line they replace, otherwise in the most frequent
/// one.
pub(super) fn rebuild(lines: &[FileLine<'_>], places: &[(usize, &[PatchLine])]) -> String {
    let usual = most_frequent_break(lines);
    let mut out = String::new();
    let mut put = |text: &str, end: &str| {
        out.push_str(text);
        out.push_str(if end.is_empty() { usual } else { end });
    };
    let mut at = 0;
    for (place, changes) in places {
        for line in lines.get(at..*place).unwrap_or_default() {
            put(line.text, line.end);
        }
        at = (*place).max(at);
        // Breaks of removed lines, waiting for the lines that replace them.
        let mut ends = std::collections::VecDeque::new();
        for line in *changes {
            match line {
                PatchLine::Keep(_) => {
                    if let Some(line) = lines.get(at) {
                        put(line.text, line.end);
                    }
                    at += 1;
                    ends.clear();
                }
                PatchLine::Remove(_) => {
                    ends.push_back(lines.get(at).map_or("", |line| line.end));
                    at += 1;
                }
                PatchLine::Add(text) => put(text, ends.pop_front().unwrap_or_default()),
            }
        }
    }
    for line in lines.get(at..).unwrap_or_default() {
        put(line.text, line.end);
    }
    out
}

fn no_anchor(
    chunk: &PatchChunk,
    anchor: &str,
    texts: &LineIndex<'_>,
    from: usize,
    name: &str,
) -> Problem {
    let problem = Problem::new(
        ProblemKind::Missing,
        format!(
            "The line \"{}\" after \"@@\" (line {} of the patch) is not in {name}{}.",
            clip(&escape_controls(anchor), 120),
            chunk.number,
            seek_after(from)
        ),
    );
    if anchor.starts_with('-') && anchor.contains(" +") && anchor.contains("@@") {
        return problem.next("\"@@\" takes no line numbers here: write \"@@\" alone, or a whole line of the file after it.");
    }
    not_found_hint(problem, &[anchor], texts, from, name)
}

fn place_not_found(
    chunk: &PatchChunk,
    wanted: &[&str],
    texts: &LineIndex<'_>,
    from: usize,
    name: &str,
) -> Problem {
    let expected: Vec<String> = wanted
        .iter()
        .take(SHOWN_LINES)
        .map(|line| clip(&escape_controls(line), 200))
        .collect();
    let problem = Problem::new(
        ProblemKind::Missing,
        format!(
            "The expected lines of the change at line {} of the patch are not {} {name}{}.",
            chunk.number,
            if chunk.at_end { "at the end of" } else { "in" },
            seek_after(from)
        ),
    );
    let mut problem = match texts.seek(wanted, from, false).filter(|_| chunk.at_end) {
        Some(at) => problem.next(format!(
            "They stand at line {}: leave out \"*** End of File\".",
            at + 1
        )),
        None => not_found_hint(problem, wanted, texts, from, name),
    };
    let facts = problem.facts.take().unwrap_or_default();
    problem.facts(
        format!("Expected:\n{}\n\n{facts}", expected.join("\n"))
            .trim_end()
            .to_owned(),
    )
}

fn seek_after(from: usize) -> String {
    if from == 0 {
        String::new()
    } else {
        format!(" after line {from}")
    }
}

/// Says that the place is earlier in the file, or shows the most similar lines.
fn not_found_hint(
    problem: Problem,
    wanted: &[&str],
    texts: &LineIndex<'_>,
    from: usize,
    name: &str,
) -> Problem {
    if let Some(at) = texts.seek(wanted, 0, false).filter(|_| from > 0) {
        return problem.next(format!(
            "They stand at line {}, before an earlier change: put the changes in the order of the file.",
            at + 1
        ));
    }
    let problem = problem.next(format!("Read {name} again and copy the lines exactly."));
    match super::replace::similar(&texts.lines, wanted) {
        Some(at) => {
            let problem = problem.next(format!("The most similar line is line {}.", at + 1));
            problem.facts(super::replace::numbered(
                &texts.lines,
                at,
                wanted.len().clamp(3, SHOWN_LINES),
            ))
        }
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Section, parse};
    use super::*;
    use proptest::prelude::*;

    fn edited(old: &str, body: &str) -> Result<String, Problem> {
        let text = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch");
        let patch = parse(&text).unwrap();
        let [Section::Update { chunks, .. }] = patch.sections.as_slice() else {
            panic!("{patch:?}")
        };
        new_text(old, chunks, "f")
    }

    #[track_caller]
    fn becomes(old: &str, body: &str, new: &str) {
        assert_eq!(edited(old, body).unwrap(), new, "{body}");
    }

    #[track_caller]
    fn fails(old: &str, body: &str, words: &[&str]) {
        let text = edited(old, body).unwrap_err().for_model();
        for words in words {
            assert!(text.contains(words), "{words} not in {text}");
        }
    }

    #[test]
    fn context_keeps_the_files_own_text() {
        let body = "@@\n a\n b - c\n-d\n+D";
        becomes("  a \nb – c\nd\n", body, "  a \nb – c\nD\n");
        becomes("\u{feff}a\n", "@@\n-a\n+b", "\u{feff}b\n");
    }

    #[test]
    fn line_breaks_follow_the_replaced_line_or_the_file() {
        let body = "@@\n-a\n-b\n+A\n+B\n+C";
        becomes("a\r\nb\nc\n", body, "A\r\nB\nC\nc\n");
        let all = "a\r\nx\r\nb\r\nc\r\n";
        becomes("a\r\nb\r\nc", "@@\n a\n+x", all);
        becomes("", "@@\n+x", "x\n");
        becomes("x", "@@\n-x", "");
        becomes("a\n\n", "@@\n-a\n+b", "b\n\n");
        becomes("a\rb\n", "@@\n-a\rb\n+c", "c\n");
    }

    #[test]
    fn an_empty_last_line_may_mean_the_end_of_the_file() {
        becomes("a\nb\n", "@@\n-b\n+B\n", "a\nB\n");
        becomes("a\nb\n", "@@\n+z\n@@\n-b\n+B", "a\nB\nz\n");
        becomes("a\nb\n", "@@\n-b\n-\n+B\n+C", "a\nB\nC\n");
        // An empty file ends where it begins.
        becomes("", "@@\n+a\n\n+b", "a\n\nb\n");
        assert!(edited("x\n", "@@\n+a\n\n+b").is_err());
    }

    #[test]
    fn end_of_file_chunks_match_only_at_the_end() {
        let words = ["not at the end of f", "line 1: leave out"];
        fails("a\nb\n", "@@\n-a\n+A\n*** End of File", &words);
    }

    #[test]
    fn a_missing_place_is_explained() {
        let old = "fn one() {\n    let x = 1;\n}\n";
        let words = ["line 3 of the patch", "line 2", "let x = 1;", "let x = 2;"];
        fails(old, "@@\n-    let x = 2;\n+y", &words);
        let words = ["line 1, before an earlier change"];
        fails("a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A", &words);
        let words = ["takes no line numbers"];
        fails("a\n", "@@ -1,2 +1,2 @@\n-a\n+A", &words);
    }

    /// An edit script: for each line of the file keep it, remove it, or insert a line before it.
    fn scripts() -> impl Strategy<Value = Vec<(String, u8, String)>> {
        proptest::collection::vec(("[a-c ]{0,3}", 0u8..4, "[a-dé]{0,3}"), 1..12)
    }

    proptest! {
        #[test]
        fn a_generated_edit_gives_the_text_it_was_made_from(script in scripts(), crlf: bool) {
            let end = if crlf { "\r\n" } else { "\n" };
            let (mut old, mut new, mut body) = (String::new(), String::new(), String::from("@@\n"));
            for (line, act, added) in &script {
                if *act >= 2 {
                    new.push_str(&format!("{added}{end}"));
                    body.push_str(&format!("+{added}\n"));
                }
                old.push_str(&format!("{line}{end}"));
                if act % 2 == 0 {
                    new.push_str(&format!("{line}{end}"));
                    body.push_str(&format!(" {line}\n"));
                } else {
                    body.push_str(&format!("-{line}\n"));
                }
            }
            prop_assert_eq!(edited(&old, body.trim_end_matches('\n')).unwrap(), new);
        }

        #[test]
        fn any_chunks_give_a_result(old in "[ab \r\n]{0,20}", body in proptest::collection::vec("(@@( [ab])?|[ +\\-][ab ]{0,2})", 1..8)) {
            let text = format!("*** Begin Patch\n*** Update File: f\n{}\n*** End Patch", body.join("\n"));
            if let Ok(patch) = parse(&text)
                && let [Section::Update { chunks, .. }] = patch.sections.as_slice()
                && let Ok(new) = new_text(&old, chunks, "f")
            {
                prop_assert!(new.is_empty() || new.ends_with('\n'));
            }
        }
    }
}
