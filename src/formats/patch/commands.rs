//! Line commands on one file: blocks `REPLACE n`, `INSERT n`, `DELETE n [count]`, separated by `---`. Every number refers to the file as it was
//! before the patch.

use super::edit::{FileLine, rebuild, split};
use super::parse::PatchLine;
use super::{EditedText, split_bom, without_last_break};
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, escape_controls, plural};

const EXAMPLE: &str = "Blocks look like this, separated by a line with only ---:\nREPLACE 3\nthe new third line\n---\nINSERT 5\na line after the fifth\n---\nDELETE 8 2";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Replace,
    Insert,
    Delete,
}

struct LineCommand {
    act: Act,
    /// The line, 1-based; 0 inserts before the first.
    line: usize,
    /// Number of lines removed.
    count: usize,
    new: Vec<String>,
    /// Its line in the patch, 1-based.
    number: usize,
}

/// True when the text begins with a command.
pub fn is_commands(text: &str) -> bool {
    let text = super::wrap::fence(text.trim()).unwrap_or(text);
    text.lines()
        .find(|line| !matches!(line.trim(), "" | "---"))
        .is_some_and(|line| command(line).is_some())
}

/// Applies the commands of `patch` to the text `old`; `name` is the file in messages.
///
/// # Errors
/// `Input` with the line of the patch that is not a command, a line that the file does not have, or two commands for one line.
pub fn apply_commands(old: &str, patch: &str, name: &str) -> Outcome<EditedText> {
    let (mark, body) = split_bom(old);
    let lines = split(body);
    let commands = parse(patch)?;
    let mut ranges: Vec<(usize, usize, usize)> = Vec::new();
    for command in &commands {
        check(command, lines.len(), name)?;
        if command.count > 0 {
            ranges.push((command.line, command.line + command.count, command.number));
        }
    }
    ranges.sort_unstable();
    for (one, other) in ranges.iter().zip(ranges.iter().skip(1)) {
        if other.0 < one.1 {
            return Err(Problem::input(format!(
                "The commands at lines {} and {} of the patch both change line {} of {name}.",
                one.2.min(other.2),
                one.2.max(other.2),
                other.0
            ))
            .next("Numbers refer to the file before the patch; change each line once."));
        }
    }
    let mut changes: Vec<(usize, Vec<PatchLine>)> = commands
        .iter()
        .map(|command| change(command, &lines))
        .collect();
    // Stable: insertions after one line stay in the order of the patch, and before what replaces the next line.
    changes.shared_sort_by_key(|(at, change)| {
        (*at, matches!(change.first(), Some(PatchLine::Remove(_))))
    });
    let places: Vec<(usize, &[PatchLine])> = changes
        .iter()
        .map(|(at, change)| (*at, change.as_slice()))
        .collect();
    let mut text = rebuild(&lines, &places);
    if !body.is_empty() && !body.ends_with('\n') {
        text = without_last_break(text);
    }
    Ok(EditedText {
        text: format!("{mark}{text}"),
        report: commands
            .iter()
            .map(|command| report_line(command, &lines))
            .collect(),
    })
}

fn check(command: &LineCommand, total: usize, name: &str) -> Outcome<()> {
    let invalid = |what: String| {
        let has = plural(total, "line");
        Err(Problem::input(format!(
            "{what} (line {} of the patch): {name} has {has}.",
            command.number
        ))
        .next("Nothing was changed. Numbers refer to the file before the patch; file_read_lines shows them."))
    };
    let last = command.line.saturating_add(command.count.max(1)) - 1;
    match command.act {
        Act::Insert if command.line > total => {
            invalid(format!("INSERT {} is past the end", command.line))
        }
        Act::Replace | Act::Delete if command.line == 0 => invalid("There is no line 0".to_owned()),
        Act::Replace | Act::Delete if last > total => invalid(format!("There is no line {last}")),
        _ => Ok(()),
    }
}

fn change(command: &LineCommand, lines: &[FileLine<'_>]) -> (usize, Vec<PatchLine>) {
    let at = match command.act {
        Act::Insert => command.line,
        Act::Replace | Act::Delete => command.line.saturating_sub(1),
    };
    let removed = lines.iter().skip(at).take(command.count);
    let removed = removed.map(|line| PatchLine::Remove(line.text.to_owned()));
    let new = command.new.iter().cloned().map(PatchLine::Add);
    (at, removed.chain(new).collect())
}

fn report_line(command: &LineCommand, lines: &[FileLine<'_>]) -> String {
    let line = command.line;
    let old = lines
        .get(line.saturating_sub(1))
        .map_or("", |line| line.text);
    let old = clip(&escape_controls(old), 60);
    let new = plural(command.new.len(), "line");
    match command.act {
        Act::Replace => format!("REPLACE {line}: \"{old}\" by {new}"),
        Act::Insert if line == 0 => format!("INSERT 0: {new} before the first"),
        Act::Insert => format!("INSERT {line}: {new} after \"{old}\""),
        Act::Delete => format!(
            "DELETE {line}: {} from \"{old}\"",
            plural(command.count, "line")
        ),
    }
}

/// The command of a header line, with its numbers.
fn command(line: &str) -> Option<(Act, usize, Option<usize>)> {
    let line = line.trim();
    let mut words = line.strip_suffix(':').unwrap_or(line).split_whitespace();
    let act = match words.next()?.to_ascii_uppercase().as_str() {
        "REPLACE" => Act::Replace,
        "INSERT" => Act::Insert,
        "DELETE" => Act::Delete,
        _ => return None,
    };
    let line = words.next()?.parse().ok()?;
    let count = match words.next() {
        Some(word) if act == Act::Delete => Some(word.parse().ok()?),
        Some(_) => return None,
        None => None,
    };
    words.next().is_none().then_some((act, line, count))
}

fn parse(text: &str) -> Outcome<Vec<LineCommand>> {
    let text = super::wrap::fence(text.trim()).unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut commands: Vec<LineCommand> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        let starts = commands.is_empty()
            || index
                .checked_sub(1)
                .is_some_and(|before| is_separator(&lines, before));
        if let (true, Some((act, line, count))) = (starts, command(line)) {
            let count = match act {
                Act::Replace => 1,
                Act::Insert => 0,
                Act::Delete => count.unwrap_or(1),
            };
            if act == Act::Delete && count == 0 {
                return Err(invalid(number, "a count of 0 deletes nothing"));
            }
            commands.push(LineCommand {
                act,
                line,
                count,
                new: Vec::new(),
                number,
            });
            continue;
        }
        if is_separator(&lines, index) || (commands.is_empty() && matches!(line.trim(), "" | "---"))
        {
            continue;
        }
        match commands.last_mut() {
            None => return Err(invalid(number, "there is no command")),
            Some(last) if last.act == Act::Delete => {
                if !line.trim().is_empty() {
                    return Err(invalid(number, "DELETE takes no text"));
                }
            }
            Some(last) => last.new.push(unescaped(line).to_owned()),
        }
    }
    if let Some(empty) = commands
        .iter()
        .find(|command| command.act != Act::Delete && command.new.is_empty())
    {
        return Err(invalid(empty.number, "the text is missing"));
    }
    if commands.is_empty() {
        return Err(Problem::input("The patch is empty.").next(EXAMPLE));
    }
    Ok(commands)
}

fn invalid(number: usize, what: &str) -> Problem {
    Problem::input(format!("Line {number} of the patch: {what}.")).next(EXAMPLE)
}

/// Whether the line at `at` separates two blocks: `---` alone, followed by a command or the end. Elsewhere it is text.
fn is_separator(lines: &[&str], index: usize) -> bool {
    if lines.get(index).map(|line| line.trim_end()) != Some("---") {
        return false;
    }
    match lines.get(index + 1) {
        Some(next) => command(next).is_some(),
        None => true,
    }
}

/// `\---` is the text `---` where a separator would be read.
fn unescaped(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if rest.trim_start_matches('\\').trim_end() == "---" => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn apply_to(old: &str, patch: &str) -> Result<String, String> {
        apply_commands(old, patch, "n.md")
            .map(|apply_to| apply_to.text)
            .map_err(|problem| problem.one_line())
    }

    #[test]
    fn numbers_refer_to_the_original_file() {
        let patch = "DELETE 1 2\n---\nINSERT 0\ntop\n---\nREPLACE 4\nfour\n4b\n---\nINSERT 3\nx\n---\nINSERT 3:\ny\n---\n";
        assert!(is_commands(patch));
        assert_eq!(
            apply_to("1\n2\n3\n4\n5\n", patch).unwrap(),
            "top\n3\nx\ny\nfour\n4b\n5\n"
        );
        assert_eq!(apply_to("", "INSERT 0\na").unwrap(), "a\n");
        assert_eq!(apply_to("a\r\nb", "replace 2\nc").unwrap(), "a\r\nc");
        assert_eq!(apply_to("a\nb\n", "REPLACE 1\n\n").unwrap(), "\nb\n");
    }

    #[test]
    fn text_may_contain_the_separator() {
        assert_eq!(
            apply_to("a\n", "REPLACE 1\n---\ntitle: x\n---\nDELETED 3\n---\n").unwrap(),
            "---\ntitle: x\n---\nDELETED 3\n"
        );
        assert_eq!(
            apply_to("a\n", "REPLACE 1\n\\---\nDELETE 3\n\\---\n").unwrap(),
            "---\nDELETE 3\n---\n"
        );
    }

    #[test]
    fn an_invalid_command_is_refused_with_its_line() {
        for (patch, words) in [
            (
                "REPLACE 9\nx",
                "There is no line 9 (line 1 of the patch): n.md has 3 lines.",
            ),
            ("REPLACE 0\nx", "There is no line 0"),
            ("DELETE 3 2", "There is no line 4"),
            ("DELETE 3 18446744073709551615", "There is no line"),
            ("INSERT 4\nx", "past the end"),
            ("REPLACE 1\nx\n---\nDELETE 1", "both change line 1"),
            (
                "DELETE 1 2\n---\nREPLACE 2\nx",
                "lines 1 and 3 of the patch both change line 2",
            ),
            ("REPLACE 1", "the text is missing"),
            ("DELETE 1 0", "deletes nothing"),
            ("DELETE 1\nx", "takes no text"),
            ("CHANGE 1\nx", "no command"),
            ("", "empty"),
        ] {
            let error = apply_to("1\n2\n3\n", patch).unwrap_err();
            assert!(error.contains(words), "{patch:?}: {error}");
        }
        assert!(!is_commands("@@ -1 +1 @@\n-REPLACE 1\n"));
    }

    proptest! {
        #[test]
        fn replacing_one_line_leaves_all_others(lines in proptest::collection::vec("[a-z]{0,3}", 1..9), at in 0usize..9, new in "[a-z-]{0,4}") {
            let at = at % lines.len();
            let old: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut wanted = lines.clone();
            wanted[at] = new.clone();
            let wanted: String = wanted.iter().map(|line| format!("{line}\n")).collect();
            prop_assume!(new != "---");
            prop_assert_eq!(apply_to(&old, &format!("REPLACE {}\n{new}\n", at + 1)), Ok(wanted));
        }

        #[test]
        fn any_text_gives_a_result(old in "[ab\r\n]{0,9}", lines in proptest::collection::vec("(REPLACE|INSERT|DELETE) [0-9]{1,2}( [0-9])?|---|\\PC{0,4}", 0..9)) {
            let _ = apply_to(&old, &lines.join("\n"));
        }
    }
}
