//! The branch of a folder, read from git's own files: a status line must not start a program for it.
//!
//! The formats are those of gitrepository-layout(5): `HEAD` holds `ref: refs/heads/NAME` or a commit, and in a linked worktree or a submodule `.git` is a
//! file that names the folder in which `HEAD` lies.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Git's files are a line long; more is not read.
const MAX_BYTES: u64 = 4096;
/// Characters of a commit that are shown when no branch is checked out.
const COMMIT_CHARS: usize = 7;

/// The branch that is checked out in the repository around `dir`, else the beginning of the commit; `None` outside of repositories.
pub(crate) fn branch(dir: &Path) -> Option<String> {
    let git = dir.ancestors().find_map(|dir| git_dir(&dir.join(".git")))?;
    parse_head(&read(&git.join("HEAD"))?)
}

/// The folder of the repository around `dir`.
pub(crate) fn repository(dir: &Path) -> Option<&Path> {
    dir.ancestors()
        .find(|dir| git_dir(&dir.join(".git")).is_some())
}

/// The folder that `.git` is, or names.
fn git_dir(path: &Path) -> Option<PathBuf> {
    if fs::metadata(path).ok()?.is_dir() {
        return Some(path.to_owned());
    }
    let text = read(path)?;
    let named = parse_gitdir(&text)?;
    Some(path.parent()?.join(named))
}

/// The text of a small regular file; anything else might block.
fn read(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What `HEAD` says: the name of the branch, or the beginning of the commit.
pub(crate) fn parse_head(text: &str) -> Option<String> {
    let line = text.lines().next()?.trim();
    if let Some(name) = line.strip_prefix("ref:") {
        let name = name.trim();
        let name = name.strip_prefix("refs/heads/").unwrap_or(name);
        return (!name.is_empty()).then(|| name.to_owned());
    }
    let is_commit = line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    line.get(..COMMIT_CHARS)
        .filter(|_| is_commit)
        .map(str::to_owned)
}

/// The folder that a `.git` file names.
fn parse_gitdir(text: &str) -> Option<&str> {
    let named = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    (!named.is_empty()).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn head_names_a_branch_or_a_commit() {
        let commit = "0123456789abcdef0123456789abcdef01234567\n";
        for (text, expected) in [
            ("ref: refs/heads/main\n", Some("main")),
            ("ref: refs/heads/fix/retry", Some("fix/retry")),
            (
                "ref: refs/remotes/origin/x\n",
                Some("refs/remotes/origin/x"),
            ),
            (commit, Some("0123456")),
            ("ref: \n", None),
            ("0123456", None),
            ("", None),
            ("\u{e9}".repeat(40).as_str(), None),
        ] {
            assert_eq!(parse_head(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn folders_worktrees_and_repositories_within_are_told_apart() {
        let top = tempfile::tempdir().unwrap();
        let dir = |name: &str| top.path().join(name);
        assert_eq!(branch(top.path()), None);
        put(&dir("a/.git/HEAD"), "ref: refs/heads/main\n");
        fs::create_dir_all(dir("a/src/deep")).unwrap();
        assert_eq!(branch(&dir("a/src/deep")).as_deref(), Some("main"));
        // A linked worktree names its folder absolutely, a submodule relatively.
        put(&dir("a/.git/worktrees/w/HEAD"), "ref: refs/heads/work\n");
        let absolute = format!("gitdir: {}\n", dir("a/.git/worktrees/w").display());
        put(&dir("w/.git"), &absolute);
        assert_eq!(branch(&dir("w")).as_deref(), Some("work"));
        put(&dir("a/.git/modules/m/HEAD"), &"a".repeat(40));
        put(&dir("a/m/.git"), "gitdir: ../.git/modules/m\n");
        assert_eq!(branch(&dir("a/m")).as_deref(), Some("aaaaaaa"));
        // A broken one says nothing.
        put(&dir("b/.git"), "gitdir: /nowhere\n");
        assert_eq!(branch(&dir("b")), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "(ref: ?|refs/heads/|[0-9a-f]{40}|\\PC|[\\x00-\\x1f]){0,6}") {
            if let Some(name) = parse_head(&text) {
                prop_assert!(!name.is_empty() && !name.contains('\n'));
            }
            let _named = parse_gitdir(&text);
        }
    }
}
