//! Ignore rules, folder by folder.
//!
//! A repository may contain anything in place of an ignore file. Symlinks are not followed, as in git; devices and pipes are not opened; and no line that could
//! overflow the stack reaches the glob parser.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::open_beneath::FOLDER;
use super::read::open_name;
use super::root::Root;
use crate::base::patterns::glob_excess;
use crate::disk::beneath::rel_path::RelPath;

/// git's own ignore file, the only one that a listing respects.
pub(super) const GIT_IGNORE: [&str; 1] = [".gitignore"];

/// The ignore files that a search respects, the later ones stronger: git's own, and those of the search tools.
pub(crate) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// An ignore file longer than this is not read.
const MAX_IGNORE_FILE_BYTES: u64 = 256 * 1024;

/// Maximum ignore patterns in one listing or walk; further ones are dropped. Each is compiled, and a repository may have thousands of them in thousands of
/// folders.
const MAX_PATTERNS: usize = 20_000;

const MAX_FOLDER_PATTERNS: usize = 2_000;

pub(super) struct IgnoreRules {
    own: Gitignore,
    up: Option<Rc<IgnoreRules>>,
    /// Patterns that may still be read.
    left: Rc<Cell<usize>>,
}

impl IgnoreRules {
    /// No rules.
    pub(super) fn none() -> Rc<Self> {
        Rc::new(Self {
            own: Gitignore::empty(),
            up: None,
            left: Rc::new(Cell::new(MAX_PATTERNS)),
        })
    }

    /// The rules that apply in `rel` from the folders above it: inside the root through the fence, above it up to the top of the repository. Those above are
    /// only matched against names, never shown.
    pub(super) fn above(root: &Root, rel: &RelPath, files: &[&str]) -> Rc<Self> {
        let mut rules = Self::none();
        let mut above: Vec<&Path> = root.path().ancestors().collect();
        let top = above.iter().position(|dir| dir.join(".git").exists());
        // Outside a repository, ignore files of parent folders do not apply.
        above.truncate(top.map_or(0, |top| top + 1));
        for (place, folder) in above.iter().enumerate().rev() {
            if Some(place) == top {
                let exclude = folder.join(".git/info/exclude");
                rules = Self::with(folder, vec![open_path(&exclude)], rules);
            }
            if place > 0 {
                let opened = files.iter().map(|name| open_path(&folder.join(name)));
                rules = Self::with(folder, opened.collect(), rules);
            }
        }
        let mut inside = Vec::new();
        let mut folder = rel.clone();
        while !folder.is_here() {
            folder = folder.parent();
            inside.push(folder.clone());
        }
        for folder in inside.iter().rev() {
            rules = Self::below(root, folder, rules, files);
        }
        rules
    }

    /// The rules inside `folder`, whose own files come first.
    pub(super) fn below(root: &Root, folder: &RelPath, up: Rc<Self>, files: &[&str]) -> Rc<Self> {
        match root.open_folder(folder) {
            Ok(dir) => Self::of_folder(root, dir.as_fd(), folder, up, files),
            Err(_) => up,
        }
    }

    /// [`IgnoreRules::below`] for a folder that is open.
    pub(super) fn of_folder(
        root: &Root,
        dir: BorrowedFd<'_>,
        folder: &RelPath,
        up: Rc<Self>,
        files: &[&str],
    ) -> Rc<Self> {
        let opened: Vec<Option<File>> = files
            .iter()
            .map(|name| open_name(dir, name.as_ref(), OFlags::RDONLY).ok())
            .collect();
        if opened.iter().all(Option::is_none) {
            return up;
        }
        Self::with(&root.path().join(folder.as_str()), opened, up)
    }

    /// The rules that these files, the later ones stronger, set for `folder`.
    fn with(folder: &Path, files: Vec<Option<File>>, up: Rc<Self>) -> Rc<Self> {
        let mut builder = GitignoreBuilder::new(folder);
        let budget = Rc::clone(&up.left);
        let mut left = budget.get().min(MAX_FOLDER_PATTERNS);
        let before = left;
        for file in files.into_iter().flatten() {
            let Some(text) = text(file) else { continue };
            for line in text.lines().filter(|line| glob_excess(line).is_none()) {
                if line.trim().is_empty() || line.starts_with('#') {
                    continue;
                }
                if left == 0 {
                    break;
                }
                left -= 1;
                // A line that is not a valid pattern hides nothing.
                let _ = builder.add_line(None, line);
            }
        }
        budget.set(budget.get().saturating_sub(before - left));
        match builder.build() {
            Ok(own) if !own.is_empty() => Rc::new(Self {
                own,
                up: Some(up),
                left: budget,
            }),
            _ => up,
        }
    }

    /// True when the innermost rule that matches the path hides it.
    pub(super) fn hides(&self, base: &Path, rel: &RelPath, folder: bool) -> bool {
        if self.own.is_empty() && self.up.is_none() {
            return false;
        }
        let path = base.join(rel.as_str());
        let mut rules = Some(self);
        while let Some(here) = rules {
            match here.own.matched(&path, folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = here.up.as_deref(),
            }
        }
        false
    }
}

/// An ordinary file outside the root.
fn open_path(path: &Path) -> Option<File> {
    let dir = openat(CWD, path.parent()?, FOLDER, Mode::empty()).ok()?;
    open_name(dir.as_fd(), path.file_name()?, OFlags::RDONLY).ok()
}

/// The file's text; `None` when it is too long.
fn text(file: File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(MAX_IGNORE_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    (bytes.len() as u64 <= MAX_IGNORE_FILE_BYTES)
        .then(|| String::from_utf8_lossy(&bytes).into_owned())
}
