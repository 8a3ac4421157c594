//! Where a new worktree is and how it is called: a free name made of its task, below Marvin's own folder. Not in the repository itself, where workspaces of
//! cargo and npm, file watchers and `git status` would find it.

use std::path::{Path, PathBuf};

use super::record;
use crate::base::ids::stable_hash;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::paths::Paths;
use crate::proc::git::{Git, repository};

/// Before the name in that of a branch.
const PREFIX: &str = "marvin";
/// Beside the repository, where Marvin's own folder is not writable.
const BESIDE: &str = ".marvin-worktrees";
/// Characters of a name that is made of a task.
const MAX_SLUG_CHARS: usize = 40;
/// For a task without a letter.
const NO_SLUG: &str = "run";

/// A name, a branch and a folder that are free.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FreePlace {
    pub name: String,
    pub branch: String,
    pub path: PathBuf,
}

/// The place of a new worktree: `branch` names its branch, unless it gets one of its name.
///
/// # Errors
/// No folder for it is writable.
pub(super) fn free(
    git: &Git<'_>,
    paths: &Paths,
    slug: &str,
    branch: Option<&str>,
) -> Outcome<FreePlace> {
    let dir = folder(git, paths)?;
    let project = git.top()?.file_name().unwrap_or_default();
    let known = record::all(git.common());
    // `marvin/x` cannot be made where there is a branch `marvin`.
    let separator = match git.branch_commit(PREFIX)? {
        Some(_) => '-',
        None => '/',
    };
    let mut number = 1u32;
    loop {
        let name = match number {
            1 => slug.to_owned(),
            _ => format!("{slug}-{number}"),
        };
        let own = branch.map_or_else(|| format!("{PREFIX}{separator}{name}"), str::to_owned);
        let above = dir.join(&name);
        let is_free = !known.iter().any(|record| record.name == name)
            && above.symlink_metadata().is_err()
            && (branch.is_some() || git.branch_commit(&own)?.is_none());
        if is_free {
            // The folder is called as the project is: tools take a project's name from there.
            return Ok(FreePlace {
                path: above.join(project),
                name,
                branch: own,
            });
        }
        number += 1;
    }
}

/// The folder of this repository's worktrees, which is made.
fn folder(git: &Git<'_>, paths: &Paths) -> Outcome<PathBuf> {
    let top = git.top()?;
    let hash = stable_hash(&git.common().to_string_lossy()) & 0xffff_ffff;
    let project = top.file_name().unwrap_or_default().to_string_lossy();
    let own = format!("{project}-{hash:08x}");
    let made = |dir: PathBuf| -> Outcome<PathBuf> {
        atomic::make_folder(&dir, Access::Private)?;
        // As git will know it.
        let dir = dir.canonicalize().unwrap_or(dir);
        tempfile::tempfile_in(&dir).map_err(|error| {
            Problem::system(format!("Cannot write into {}", dir.display()), error)
        })?;
        Ok(dir)
    };
    let first = paths.worktrees().and_then(|dir| made(dir.join(&own)));
    first.or_else(|problem| match beside(top) {
        Some(dir) => made(dir.join(&own)),
        None => Err(problem),
    })
}

/// A folder beside the repository, unless that would be in another one.
fn beside(top: &Path) -> Option<PathBuf> {
    let above = top.parent()?;
    match repository::find(above) {
        Ok(None) => Some(above.join(BESIDE)),
        _ => None,
    }
}

/// The first words of a task as part of a branch's and a folder's name.
pub(super) fn slug(task: &str) -> String {
    let line = task.lines().map(str::trim).find(|line| !line.is_empty());
    let mut slug = String::new();
    let words = line.unwrap_or_default().to_lowercase();
    for word in words.split(|c: char| !c.is_alphanumeric()) {
        let length = slug.chars().count();
        if word.is_empty() {
            continue;
        }
        if length == 0 {
            slug = word.chars().take(MAX_SLUG_CHARS).collect();
        } else if length + 1 + word.chars().count() <= MAX_SLUG_CHARS {
            slug.push('-');
            slug.push_str(word);
        } else {
            break;
        }
    }
    match slug.is_empty() {
        true => NO_SLUG.to_owned(),
        false => slug,
    }
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_name_is_made_of_the_first_words_of_a_task() {
        for (task, name) in [
            ("Add a --json flag!", "add-a-json-flag"),
            ("\n  Count words\nof a file", "count-words"),
            ("../../etc/passwd .lock", "etc-passwd-lock"),
            ("Größe der Dateien", "größe-der-dateien"),
            ("单词", "单词"),
            ("?!", "run"),
            ("", "run"),
            (
                "Build a program that counts the words of a file and prints them",
                "build-a-program-that-counts-the-words-of",
            ),
        ] {
            assert_eq!(slug(task), name, "{task}");
        }
        assert_eq!(slug(&"x".repeat(100)).len(), 40);
    }
}
