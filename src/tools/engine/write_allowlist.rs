//! Checks before writing: the files that a restricted child process may write, and programs that hooks run.

use std::path::{Path, PathBuf};

use super::context::SessionContext;
use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::{RelPath, Root};

/// Refuses to write a program that a hook runs, and a file that `MARVIN_WRITABLE_FILES` does not list. The listed paths are relative to the directory in
/// which the process started: changing the working directory does not select other files. Symlinks on the way are refused, because they could make an
/// allowed name refer to another file.
pub(crate) fn may_write(session: &SessionContext, root: &Root, path: &RelPath) -> Outcome<()> {
    let wanted = root.path().join(path.as_str());
    // Where commands run outside as well, a person reads along.
    if session.sandbox.fence().is_some() && is_run_by_hooks(session, &wanted) {
        return Err(Problem::refused(format!(
            "{} may not be written: a hook of the user runs it, outside the sandbox.",
            path.as_str()
        ))
        .next("Leave it to the user, and say what is to be changed in it."));
    }
    let Some(files) = &session.policy.writable else {
        return Ok(());
    };
    let first = session.working_dir.first();
    let base = first.as_deref().unwrap_or(root).path();
    let refused = |reason: &str| {
        let only = files.join(", ");
        let mut problem = Problem::refused(format!(
            "{} may not be written in this process{reason}.",
            path.as_str()
        ))
        .next(format!("Only these files may be written: {only}."));
        if base != root.path() {
            problem = problem.next(format!("They are paths from {}.", base.display()));
        }
        Err(problem)
    };
    if !files.iter().any(|file| base.join(file) == wanted) {
        return refused("");
    }
    if root.goes_through_link(path) {
        return refused(", because it is a link or lies behind one");
    }
    Ok(())
}

fn is_run_by_hooks(session: &SessionContext, wanted: &Path) -> bool {
    let programs = session.hooks.programs();
    let Some(work) = session.working_dir.root().filter(|_| !programs.is_empty()) else {
        return false;
    };
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let wanted = real(wanted.to_owned());
    let mut programs = programs.iter().map(|program| work.path().join(program));
    programs.any(|program| real(program) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::tools::engine::policy::ToolPolicy;
    use std::fs;

    #[test]
    fn the_named_files_stay_the_same_when_the_working_directory_changes() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir_all(work.join("sub")).unwrap();
        fs::write(work.join("secret.rs"), "").unwrap();
        std::os::unix::fs::symlink("secret.rs", work.join("link.md")).unwrap();
        std::os::unix::fs::symlink("..", work.join("sub/up")).unwrap();
        let bounds = ToolPolicy {
            writable: Some(
                ["a.md", "sub/b.md", "link.md", "sub/up/a.md"]
                    .map(str::to_owned)
                    .to_vec(),
            ),
            ..ToolPolicy::default()
        };
        let session = SessionContext::new(Env::default(), bounds);
        let allowed = |dir: &Path, path: &str| {
            session.working_dir.set(Root::open(dir).unwrap(), false);
            let root = session.working_dir.root().unwrap();
            may_write(&session, &root, &root.check(path).unwrap())
        };
        for (at, path, is_allowed) in [
            ("", "a.md", true),
            ("", "./a.md", true),
            ("", "sub/b.md", true),
            ("", "c.md", false),
            ("", "link.md", false),
            ("", "sub/up/a.md", false),
            ("sub", "b.md", true),
            ("sub", "a.md", false),
            ("sub", "sub/b.md", false),
            ("", "a.md", true),
        ] {
            let answer = allowed(&work.join(at), path);
            assert_eq!(answer.is_ok(), is_allowed, "{at} {path}: {answer:?}");
        }
        let message = allowed(&work.join("sub"), "a.md").unwrap_err().for_model();
        assert!(message.contains("They are paths from"), "{message}");
    }
}
