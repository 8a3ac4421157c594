//! What git said, or its own words as a problem with the next step.

use std::path::Path;

use crate::base::error::{Outcome, Problem};
use crate::base::text;
use crate::proc::child::Done;

/// What git said on standard output.
///
/// # Errors
/// It failed or took too long.
pub(super) fn said(dir: &Path, done: Done) -> Outcome<String> {
    if done.success() {
        return Ok(done.stdout.text().trim_end().to_owned());
    }
    if done.timed_out {
        return Err(Problem::limit(format!("git {}.", done.ending())));
    }
    let words = format!(
        "{}\n{}",
        done.stderr.text().trim(),
        done.stdout.text().trim()
    );
    let words = words.trim();
    let problem = Problem::input(format!(
        "git: {}",
        if words.is_empty() {
            done.ending()
        } else {
            text::clip(words, 4000)
        }
    ));
    Err(if words.contains("not a git repository") {
        no_repository(dir)
    } else if words.contains("would be overwritten") {
        problem.next("Commit these changes first, or restore the files.")
    } else if words.contains("did not match any file") {
        problem.next("git_branch lists the branches, git_log the commits.")
    } else {
        problem
    })
}

/// There is no repository at `dir` or above.
pub(super) fn no_repository(dir: &Path) -> Problem {
    Problem::missing(format!("{} is not in a git repository.", dir.display()))
        .next("run_command with \"git init\" makes one.")
}
