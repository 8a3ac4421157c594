//! Finds a repository by its files, and checks that it belongs to the directory it was found in.
//!
//! A `.git` may be a file, a symlink or a folder that points at a repository elsewhere. After unpacking an archive with such a `.git`, the user
//! would commit into, and read from, another repository. It is followed only when that repository's own records name this directory: those of a
//! linked worktree, or core.worktree as submodules have it.

use std::path::{Path, PathBuf};

use super::canonical_or_same;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;

/// A `.git` file is one line; git itself refuses long ones.
const MAX_POINTER_BYTES: u64 = 64 * 1024;

/// A repository and the directory it was found in. Paths are free of links.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    home: PathBuf,
    bare: bool,
    git: PathBuf,
    common: PathBuf,
}

/// The repository around `dir`. Accepts everything that git would, and more: git is kept from searching further up (see [`Repository::ceiling`]), so it
/// works in this one or none.
///
/// # Errors
/// A `.git` file that names no repository.
pub(crate) fn find(dir: &Path) -> Outcome<Option<Repository>> {
    for home in canonical_or_same(dir).ancestors() {
        let entry = home.join(".git");
        if entry.is_file() {
            return Ok(Some(Repository::new(home, false, &pointed_at(&entry)?)));
        }
        if has(&entry, "HEAD") {
            return Ok(Some(Repository::new(home, false, &entry)));
        }
        let parts = has(home, "objects") && has(home, "refs");
        if has(home, "HEAD") && (parts || has(home, "commondir")) {
            return Ok(Some(Repository::new(home, true, home)));
        }
    }
    Ok(None)
}

impl Repository {
    fn new(home: &Path, bare: bool, git: &Path) -> Self {
        let git = canonical_or_same(git);
        let common = match read_pointer(&git.join("commondir")) {
            Some(path) => canonical_or_same(&git.join(path)),
            None => git.clone(),
        };
        Self {
            home: home.to_owned(),
            bare,
            git,
            common,
        }
    }

    /// The top of the working tree; `None` in a bare repository.
    pub(crate) fn top(&self) -> Option<&Path> {
        (!self.bare).then_some(&self.home)
    }

    /// The repository's folder, or that of this linked worktree.
    pub(crate) fn git(&self) -> &Path {
        &self.git
    }

    /// The folder of the repository that its worktrees share.
    pub(crate) fn common(&self) -> &Path {
        &self.common
    }

    /// The folder from which upwards git must not look for a repository.
    pub(crate) fn ceiling(&self) -> Option<&Path> {
        self.home.parent()
    }

    /// True for a linked worktree.
    pub(crate) fn is_linked(&self) -> bool {
        self.git != self.common
    }

    /// Whether git may work here; `worktrees` are the values of core.worktree.
    ///
    /// # Errors
    /// `Refused` when the files are kept elsewhere, or the repository is not this directory's.
    pub(crate) fn check(&self, worktrees: &[PathBuf]) -> Outcome<()> {
        let named = |path: &PathBuf| canonical_or_same(&self.git.join(path));
        if let Some(other) = worktrees.iter().find(|path| named(path) != self.home) {
            return Err(Problem::refused(format!(
                "The repository's configuration puts its files into another directory, {}.",
                text::escape_controls(&other.to_string_lossy())
            ))
            .next("Remove core.worktree from its configuration."));
        }
        if self.bare && !worktrees.is_empty() {
            return Err(Problem::refused(format!(
                "{} is itself a repository's folder, and its configuration calls it the project's folder too (core.worktree): a checkout would write its settings and hooks.",
                self.home.display()
            ))
            .next("Remove core.worktree from its configuration."));
        }
        let inside = self.git.starts_with(&self.home) && self.common.starts_with(&self.home);
        if inside || self.is_recorded() || (!self.is_linked() && !worktrees.is_empty()) {
            return Ok(());
        }
        Err(Problem::refused(format!(
            "{} leads to the repository {}, which knows nothing of this directory.",
            self.home.join(".git").display(),
            self.common.display()
        ))
        .next("If both are yours: \"git worktree repair\" for a worktree that was moved, else \"git config core.worktree\" with this directory."))
    }

    /// The repository lists this directory as one of its worktrees.
    fn is_recorded(&self) -> bool {
        let Some(back) = read_pointer(&self.git.join("gitdir")) else {
            return false;
        };
        self.git.parent() == Some(&self.common.join("worktrees"))
            && canonical_or_same(&self.git.join(back)) == canonical_or_same(&self.home.join(".git"))
    }
}

/// The target of a `.git` file.
fn pointed_at(entry: &Path) -> Outcome<PathBuf> {
    let target = read_pointer(entry).and_then(|line| {
        let path = line.strip_prefix("gitdir:")?;
        Some(entry.parent()?.join(path.trim_start()))
    });
    match target {
        Some(target) if target.is_dir() => Ok(target),
        Some(target) => Err(Problem::missing(format!(
            "{} names the repository {}, which is not there.",
            entry.display(),
            text::escape_controls(&target.to_string_lossy())
        ))
        .next("Bring that repository back, or remove the file and make a new one.")),
        None => Err(Problem::input(format!(
            "{} is a file and does not say where the repository is.",
            entry.display()
        ))
        .next("It should read \"gitdir: PATH\".")),
    }
}

/// The single line of a file in git's records.
fn read_pointer(path: &Path) -> Option<String> {
    let text = open::text(path, MAX_POINTER_BYTES).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// True when `dir` has an entry of this name, even a dangling symlink.
fn has(dir: &Path, name: &str) -> bool {
    dir.join(name).symlink_metadata().is_ok()
}
