//! Turns the end of a git call into its output or a problem with the next step.

use std::path::Path;

use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::proc::child::ProgramOutput;

/// git's standard output.
pub(super) fn git_output(dir: &Path, output: ProgramOutput) -> Outcome<String> {
    if output.success() {
        return Ok(output.stdout.text().trim_end().to_owned());
    }
    if output.timed_out {
        return Err(Problem::timeout(format!("git {}.", output.ending())));
    }
    let words = format!(
        "{}\n{}",
        output.stderr.text().trim(),
        output.stdout.text().trim()
    );
    let words = without_quoted_lines(&words);
    let words = words.trim();
    let problem = Problem::input(format!(
        "git: {}",
        if words.is_empty() {
            output.ending()
        } else {
            text::clip(words, 4000)
        }
    ));
    // diff reports it as a warning, or only prints its usage.
    let none = ["not a git repository", "usage: git diff --no-index"];
    let lower = words.to_lowercase();
    Err(if none.iter().any(|words| lower.contains(words)) {
        no_repository(dir)
    } else if words.contains("would be overwritten") {
        problem.next("Commit these changes first, or restore the files.")
    } else if words.contains("did not match any file") {
        problem.next("git_branch lists the branches, git_log the commits.")
    } else {
        problem
    })
}

/// git's message without lines that it quotes from a file. git reads the commit of nested repositories (submodules and others) whose folders were not checked:
/// the file whose lines it quotes may be a symlink.
fn without_quoted_lines(words: &str) -> String {
    const FILE: &str = "packed-refs";
    let lines = words.lines().map(|line| {
        let mut ends = line.match_indices(FILE).map(|(at, _)| at + FILE.len());
        // Its lock is another file.
        let end = ends.find(|end| {
            !line
                .get(*end..)
                .is_some_and(|rest| rest.starts_with(".lock'"))
        });
        end.map_or(line, |end| text::head(line, end))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// True when git failed because of an unreadable object, in any of its messages for that.
pub(super) fn lacks_objects(output: &ProgramOutput) -> bool {
    const WORDS: [&str; 6] = [
        "lazy fetching",
        "promisor",
        "not read",
        "cannot read",
        "unable to read",
        "bad object",
    ];
    let words = output.stderr.text().to_lowercase();
    !output.success() && WORDS.iter().any(|word| words.contains(word))
}

/// Objects missing in a partial clone are not fetched: that would run programs which the repository names.
pub(super) fn not_here(output: &ProgramOutput) -> Problem {
    Problem::missing(format!(
        "This is a partial clone: not all of this repository's objects are here, and fetching them on the way is switched off. git: {}",
        text::clip(without_quoted_lines(&output.stderr.text()).trim(), 1000)
    ))
    .next("run_command with the same git command fetches what it needs.")
}

/// The problem when there is no repository at `dir` or above.
pub(super) fn no_repository(dir: &Path) -> Problem {
    Problem::missing(format!("{} is not in a git repository.", dir.display()))
        .next("run_command with \"git init\" makes one.")
}
