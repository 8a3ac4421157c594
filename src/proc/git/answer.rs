//! git's output, or its error message as a problem with the next step.

use std::path::Path;

use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::proc::child::ProgramOutput;

/// git's standard output.
///
/// # Errors
/// It failed or timed out.
pub(super) fn said(dir: &Path, done: ProgramOutput) -> Outcome<String> {
    if done.success() {
        return Ok(done.stdout.text().trim_end().to_owned());
    }
    if done.timed_out {
        return Err(Problem::timeout(format!("git {}.", done.ending())));
    }
    let words = format!(
        "{}\n{}",
        done.stderr.text().trim(),
        done.stdout.text().trim()
    );
    let words = unrepeated(&words);
    let words = words.trim();
    let problem = Problem::input(format!(
        "git: {}",
        if words.is_empty() {
            done.ending()
        } else {
            text::clip(words, 4000)
        }
    ));
    // diff reports it as a warning, or only by a usage page.
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

/// git's message without lines that it quotes from a file. git reads the commit of nested repositories (submodules and others) whose folders were
/// not checked: the file whose lines it quotes may be a symlink.
fn unrepeated(words: &str) -> String {
    const FILE: &str = "packed-refs";
    let lines = words.lines().map(|line| match line.find(FILE) {
        Some(at) => text::head(line, at + FILE.len()),
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// True when git failed because of an unreadable object, in any of its messages for that.
pub(super) fn lacks_objects(done: &ProgramOutput) -> bool {
    const WORDS: [&str; 6] = [
        "lazy fetching",
        "promisor",
        "not read",
        "cannot read",
        "unable to read",
        "bad object",
    ];
    let words = done.stderr.text().to_lowercase();
    !done.success() && WORDS.iter().any(|word| words.contains(word))
}

/// Objects missing in a partial clone are not fetched: that would run programs which the repository names.
pub(super) fn not_here(done: &ProgramOutput) -> Problem {
    Problem::missing(format!(
        "This is a partial clone: not all of this repository's objects are here, and fetching them on the way is switched off. git: {}",
        text::clip(unrepeated(&done.stderr.text()).trim(), 1000)
    ))
    .next("run_command with the same git command fetches what it needs.")
}

/// The problem when there is no repository at `dir` or above.
pub(super) fn no_repository(dir: &Path) -> Problem {
    Problem::missing(format!("{} is not in a git repository.", dir.display()))
        .next("run_command with \"git init\" makes one.")
}
