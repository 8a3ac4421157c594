//! Replaces one exact passage, and finds the most similar line when it does not occur.

use super::seek::places;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, escape_controls, plural};

/// `text` with its only occurrence of `old` replaced by `new`, literally. `name` is the file in messages.
///
/// If the passage occurs only with other line breaks (CRLF or LF), that occurrence is used, and `new` gets its line breaks. A file with CRLF
/// throughout keeps it.
///
/// # Errors
/// `Input` when `old` is empty, equals `new`, or occurs more than once (with the count and the lines); `Missing` when it does not occur, with the
/// most similar line.
pub fn replace_once(text: &str, old: &str, new: &str, name: &str) -> Outcome<String> {
    if old.is_empty() {
        return Err(Problem::input("old_str is empty.")
            .next("Give the exact text to replace; to add to the end of a file use append_file."));
    }
    if old == new {
        return Err(
            Problem::input("old_str and new_str are the same, so nothing would change.")
                .next("Give the new text in new_str."),
        );
    }
    match occurrences(text, old).as_slice() {
        [] => {}
        [at] => {
            let all_windows = text.contains("\r\n") && !has_bare_feed(text);
            let new = if all_windows && !new.contains('\r') {
                new.replace('\n', "\r\n")
            } else {
                new.to_owned()
            };
            return Ok(splice(text, *at, at + old.len(), &new));
        }
        many => return Err(too_many(text, many, name)),
    }
    let (flat, offsets) = with_line_feeds(text);
    let (old, _) = with_line_feeds(old);
    match occurrences(&flat, &old).as_slice() {
        [] => Err(not_found(text, &old, name)),
        [at] => {
            let origin = |at: usize| offsets.get(at).copied().unwrap_or(text.len());
            let (start, end) = (origin(*at), origin(at + old.len()));
            let passage = text.get(start..end).unwrap_or_default();
            let (new, _) = with_line_feeds(new);
            let new = if passage.contains("\r\n") {
                new.replace('\n', "\r\n")
            } else {
                new
            };
            Ok(splice(text, start, end, &new))
        }
        many => {
            let places: Vec<usize> = many
                .iter()
                .map(|at| offsets.get(*at).copied().unwrap_or_default())
                .collect();
            Err(too_many(text, &places, name))
        }
    }
}

fn splice(text: &str, start: usize, end: usize, new: &str) -> String {
    let head = text.get(..start).unwrap_or_default();
    let tail = text.get(end..).unwrap_or_default();
    [head, new, tail].concat()
}

/// Offsets of `part` in `text`, overlapping ones included.
fn occurrences(text: &str, part: &str) -> Vec<usize> {
    let Some(first) = text.find(part) else {
        return Vec::new();
    };
    let rest = text.as_bytes().get(first..).unwrap_or_default();
    let places = places(rest, part.as_bytes().to_vec());
    places.map(|at| first + at).collect()
}

fn has_bare_feed(text: &str) -> bool {
    text.split_inclusive('\n')
        .any(|line| line.ends_with('\n') && !line.ends_with("\r\n"))
}

/// The text with only line feeds, and for each byte (and the end) its offset in the original. A CRLF maps to its carriage return.
fn with_line_feeds(text: &str) -> (String, Vec<usize>) {
    let mut flat = String::with_capacity(text.len());
    let mut offsets = Vec::with_capacity(text.len() + 1);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let c = match (c, chars.peek()) {
            ('\r', Some((_, '\n'))) => {
                chars.next();
                '\n'
            }
            _ => c,
        };
        offsets.extend(at..at + c.len_utf8());
        flat.push(c);
    }
    offsets.push(text.len());
    (flat, offsets)
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|b| *b == b'\n').count() + 1
}

fn too_many(text: &str, places: &[usize], name: &str) -> Problem {
    let lines: Vec<String> = places
        .iter()
        .take(10)
        .map(|at| line_of(text, *at).to_string())
        .collect();
    let more = if places.len() > lines.len() {
        ", …"
    } else {
        ""
    };
    Problem::input(format!(
        "old_str occurs {} in {name} (lines {}{more}); it must occur exactly once.",
        plural(places.len(), "time"),
        lines.join(", ")
    ))
    .next("Add the lines before or after the place you mean to old_str.")
}

fn not_found(text: &str, old: &str, name: &str) -> Problem {
    let problem = Problem::new(
        ProblemKind::Missing,
        format!("old_str occurs 0 times in {name}."),
    );
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    let Some(at) = similar(&lines, &wanted) else {
        return problem.next(format!("Read {name} and copy the passage exactly."));
    };
    let first = wanted
        .iter()
        .find(|line| !line.trim().is_empty())
        .copied()
        .unwrap_or_default();
    let problem = match lines.get(at) {
        Some(line) if line.trim() == first.trim() && *line != first => {
            problem.next(format!("Line {} differs in white space only.", at + 1))
        }
        Some(line) if *line == first => problem.next(format!(
            "Its first line is line {}; a later one differs.",
            at + 1
        )),
        _ => problem.next(format!("The most similar line is line {}.", at + 1)),
    };
    problem
        .next("Copy the passage exactly, without line numbers.")
        .facts(numbered(&lines, at, wanted.len().clamp(3, 10)))
}

/// The line of the file most similar to the first non-blank wanted line; `None` when none is close.
pub(super) fn similar(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let first = wanted
        .iter()
        .map(|line| line.trim())
        .find(|line| !line.is_empty())?;
    let mut best = None;
    for (index, line) in lines.iter().enumerate().take(200_000) {
        let score = similarity(line.trim(), first);
        if score >= 50 && best.is_none_or(|(max, _)| score > max) {
            best = Some((score, index));
        }
    }
    best.map(|(_, index)| index)
}

/// From 0 to 100: the share of the longer line covered by common prefix and suffix. Cheap on purpose: every line of a large file is compared.
fn similarity(a: &str, b: &str) -> usize {
    let longest = a.len().max(b.len());
    if longest == 0 {
        return 0;
    }
    let shortest = a.len().min(b.len());
    let start = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let end = a
        .bytes()
        .rev()
        .zip(b.bytes().rev())
        .take_while(|(x, y)| x == y)
        .count();
    (start + end).min(shortest) * 100 / longest
}

/// `count` lines of the file, starting one line before `at`, numbered as `read_file` does.
pub(super) fn numbered(lines: &[&str], at: usize, count: usize) -> String {
    lines
        .iter()
        .enumerate()
        .skip(at.saturating_sub(1))
        .take(count + 1)
        .map(|(index, line)| format!("{}. {}", index + 1, clip(&escape_controls(line), 200)))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use proptest::prelude::*;

    #[test]
    fn a_self_overlapping_passage_takes_linear_time() {
        let (text, old) = ("a\n".repeat(60_000), "a\r\n".repeat(30_000));
        let begun = crate::base::cpu_time::CpuTime::now();
        let problem = replace_once(&text, &old, "b", "f").unwrap_err().one_line();
        assert!(problem.contains("occurs 30001 times"), "{problem}");
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn exactly_one_occurrence_is_replaced_literally() {
        let replace = |text, old, new| replace_once(text, old, new, "f");
        assert_eq!(
            replace("a b c", "b", "$0 $& \\1 ${x}").unwrap(),
            "a $0 $& \\1 ${x} c"
        );
        assert_eq!(replace("a b c", " b", "").unwrap(), "a c");
        let text = replace("x\nb\nb\n", "b", "c").unwrap_err().one_line();
        assert_has(&text, &["2 times", "lines 2, 3"]);
        let text = replace("aaa", "aa", "b").unwrap_err().one_line();
        assert!(text.contains("2 times"), "{text}");
        assert!(replace("a", "", "x").is_err());
        assert!(replace("a", "a", "a").is_err());
        assert!(replace("ßßß", "ßß", "x").is_err());
    }

    #[test]
    fn line_breaks_are_matched() {
        let replace = |text, old, new| replace_once(text, old, new, "f");
        assert_eq!(
            replace("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n").unwrap(),
            "x\r\ny\r\nc\r\n"
        );
        assert_eq!(
            replace("a\r\nb\r\n", "b", "x\ny").unwrap(),
            "a\r\nx\r\ny\r\n"
        );
        assert_eq!(replace("a\nb\n", "a\r\nb", "x\r\ny").unwrap(), "x\ny\n");
        assert_eq!(
            replace("a\r\nb\nc\n", "a\nb\nc", "x\ny").unwrap(),
            "x\r\ny\n"
        );
        assert_eq!(
            replace("a\r\nb\nc\n", "c", "x\ny").unwrap(),
            "a\r\nb\nx\ny\n"
        );
        let text = replace("a\r\nb\r\na\r\nb\r\n", "a\nb", "x")
            .unwrap_err()
            .one_line();
        assert_has(&text, &["2 times", "lines 1, 3"]);
    }

    #[test]
    fn a_miss_shows_the_most_similar_line() {
        let file = "fn main() {\n    let total = 1;\n    print(total);\n}\n";
        let miss = |old| {
            replace_once(file, old, "x", "src/main.rs")
                .unwrap_err()
                .for_model()
        };
        let text = miss("\tlet total = 1;\n");
        assert_has(&text, &["0 times", "Line 2 differs in white space"]);
        assert!(text.contains("2.     let total = 1;"), "{text}");
        assert!(miss("let total = 2;").contains("most similar line is line 2"));
        assert!(miss("    print(total);\n]").contains("a later one differs"));
        assert!(!miss("completely different words").contains("similar"));
    }

    proptest! {
        #[test]
        fn only_the_passage_changes(head in "[xy\r\n]{0,8}", tail in "[xy\r\n]{0,8}", new in "[xy$\\\\]{1,6}") {
            let text = format!("{head}<old é>{tail}");
            let changed = replace_once(&text, "<old é>", &new, "f").unwrap();
            prop_assert_eq!(changed, format!("{head}{new}{tail}"));
        }

        #[test]
        fn any_texts_give_a_result(text in "[ab\r\né]{0,12}", old in "[ab\r\né]{0,4}", new in "[ab\r\n]{0,4}") {
            let _ = replace_once(&text, &old, &new, "f");
        }
    }
}
