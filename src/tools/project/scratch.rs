//! Keeps Marvin's own working files in a project out of its commits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::problem::Outcome;
use crate::disk::atomic::{self, Access};
use crate::disk::lock::Lock;
use crate::disk::paths::{PROJECT_JOBS, PROJECT_LOGS, PROJECT_MEMORIES};
use crate::proc::git::{Git, repository};
use crate::tools::engine::context::ToolContext;

/// Folders below the working directory that are not part of the project.
const SCRATCH: [&str; 3] = [PROJECT_LOGS, PROJECT_MEMORIES, PROJECT_JOBS];
/// Another process adds its lines within milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The folder for long output: the project's log folder, or the profile's where there is no project, nothing may be written in it, or a symlink leads its
/// folder out of it.
///
/// # Errors
/// There is none: the profile has no folder.
pub(crate) fn long_output(ctx: &ToolContext) -> Outcome<PathBuf> {
    let root = (ctx.session.working_dir.root()).filter(|_| !ctx.session.policy.readonly);
    let inside = root.filter(|root| {
        let logs = root.check(PROJECT_LOGS).and_then(|rel| root.exists(&rel));
        logs.is_ok()
    });
    match inside {
        Some(root) => Ok(root.path().join(PROJECT_LOGS)),
        None => Ok(ctx.session.paths.profile(&ctx.session.profile())?.logs()),
    }
}

/// Adds the scratch folders to the repository's own exclude list, once. Does nothing without a repository, if the repository belongs to another directory, or
/// if the list cannot be written: none of that must make the caller fail.
pub(crate) fn hide(ctx: &ToolContext) {
    if let Some(root) = ctx.session.working_dir.root() {
        let _ = hide_in(ctx, root.path());
    }
}

/// [`hide`] for another folder.
///
/// # Errors
/// The list cannot be read or written, or the repository belongs to another directory.
pub(crate) fn hide_in(ctx: &ToolContext, dir: &Path) -> Outcome<()> {
    // Checking two files is cheaper than starting a process.
    let Some(repository_found) = repository::find(dir)? else {
        return Ok(());
    };
    let list = repository_found.common().join("info/exclude");
    let lines = lines_for(repository_found.top() == Some(dir));
    if !is_inside(repository_found.common(), &list)
        || with_missing_lines(atomic::read(&list, atomic::STATE_CAP)?, &lines).is_none()
    {
        return Ok(());
    }
    // Refuses a repository that does not belong to this directory.
    Git::open(dir, &ctx.session.env, &ctx.stop)?;
    // The repository's folder itself is locked: a lock file beside the list would be one more file in somebody else's folder.
    let _lock = Lock::folder(repository_found.common(), LOCK_TIMEOUT, &ctx.stop)?;
    match with_missing_lines(atomic::read(&list, atomic::STATE_CAP)?, &lines) {
        Some(text) => atomic::write(&list, &text, Access::Usual),
        None => Ok(()),
    }
}

/// Patterns with a slash are relative to the top of the repository.
fn lines_for(at_top: bool) -> [String; 3] {
    SCRATCH.map(|folder| {
        if at_top {
            format!("{folder}/")
        } else {
            format!("**/{folder}/")
        }
    })
}

/// The list with its missing lines appended; `None` when none are missing.
fn with_missing_lines(old: Option<Vec<u8>>, lines: &[String]) -> Option<Vec<u8>> {
    let mut text = old.unwrap_or_default();
    let missing: Vec<&String> = lines
        .iter()
        .filter(|line| {
            !text
                .split(|byte| *byte == b'\n')
                .any(|has| has.trim_ascii_end() == line.as_bytes())
        })
        .collect();
    if missing.is_empty() {
        return None;
    }
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    for line in missing {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    Some(text)
}

/// False when a link leads from the repository's folder to a file elsewhere, which would get the lines.
fn is_inside(common: &Path, list: &Path) -> bool {
    let folder = list.parent().unwrap_or(common);
    let there = |path: &Path| path.symlink_metadata().is_ok();
    [list, folder].into_iter().all(|path| {
        !there(path)
            || path
                .canonicalize()
                .is_ok_and(|real| real.starts_with(common))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(old: &[u8]) -> Option<String> {
        with_missing_lines(Some(old.to_vec()), &lines_for(true))
            .map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn only_missing_lines_are_appended() {
        let all = ".marvin/logs/\n.marvin/memories/\n.marvin/jobs/\n";
        assert_eq!(
            with_missing_lines(None, &lines_for(true)).unwrap(),
            all.as_bytes()
        );
        assert_eq!(
            after(b"# mine\r\n*.o").unwrap(),
            format!("# mine\r\n*.o\n{all}")
        );
        assert_eq!(after(all.as_bytes()), None);
        assert_eq!(
            after(b".marvin/memories/  \r\n.marvin/jobs/\n.marvin/logs/"),
            None
        );
        assert_eq!(
            after(b".marvin/memories/\n#.marvin/logs/\n").unwrap(),
            ".marvin/memories/\n#.marvin/logs/\n.marvin/logs/\n.marvin/jobs/\n"
        );
        assert_eq!(lines_for(false)[0], "**/.marvin/logs/");
    }
}
