//! The working directory of a session and its fence.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::disk::beneath::Root;

#[derive(Default)]
pub struct WorkingDir {
    state: RwLock<WorkingDirState>,
}

#[derive(Default, Clone)]
struct WorkingDirState {
    root: Option<Arc<Root>>,
    /// The first working directory of the process.
    first: Option<Arc<Root>>,
    /// The directory that cannot be left: given at start, or that of a run without a user.
    bound: Option<Arc<Root>>,
    /// The current directory if it was not taken because it is home or `/`.
    untaken: Option<PathBuf>,
    /// It came from `--working-dir` or a parent process.
    is_given: bool,
    /// Folders beside it, whose files have absolute paths.
    added: Vec<AddedFolder>,
}

/// A folder of `--add-dir`.
#[derive(Clone)]
struct AddedFolder {
    /// Its path as it was given, which may lead through links.
    given: PathBuf,
    root: Arc<Root>,
}

impl WorkingDir {
    /// Takes `root`; `given` when it came from `--working-dir` or a parent process, and therefore cannot be left.
    pub fn set(&self, root: Root, given: bool) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let root = Arc::new(root);
        if given {
            state.bound = Some(Arc::clone(&root));
            state.is_given = true;
        }
        state.first.get_or_insert_with(|| Arc::clone(&root));
        state.root = Some(root);
    }

    /// Makes the directory in which this process started one that cannot be left: nobody can be asked about another one.
    pub fn bind_to_first(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.bound.is_none() {
            state.bound = state.first.clone();
        }
    }

    /// Remembers a current directory that is not a project (home or `/`).
    pub fn leave_unset(&self, current: PathBuf) {
        self.state
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .untaken = Some(current);
    }

    /// The fence of the working directory.
    pub fn root(&self) -> Option<Arc<Root>> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .root
            .clone()
    }

    /// Adds a folder beside it.
    pub(crate) fn add(&self, given: PathBuf, root: Root) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let root = Arc::new(root);
        state.added.push(AddedFolder { given, root });
    }

    /// The folders beside it.
    pub(crate) fn added(&self) -> Vec<Arc<Root>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let added = state.added.iter();
        added.map(|added| Arc::clone(&added.root)).collect()
    }

    /// The added folder in which an absolute path lies, and the path there.
    pub(crate) fn added_with(&self, path: &str) -> Option<(Arc<Root>, String)> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let path = Path::new(path);
        state.added.iter().find_map(|added| {
            let rest = path.strip_prefix(added.root.path());
            let rest = rest.or_else(|_| path.strip_prefix(&added.given)).ok()?;
            let rest = match rest.to_str()? {
                "" => ".",
                rest => rest,
            };
            Some((Arc::clone(&added.root), rest.to_owned()))
        })
    }

    /// Whether it came from `--working-dir` or a parent process.
    pub fn is_given(&self) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.is_given
    }

    /// The directory that cannot be left, if there is one.
    pub fn bound(&self) -> Option<Arc<Root>> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .bound
            .clone()
    }

    /// The directory in which the process started.
    pub fn first(&self) -> Option<Arc<Root>> {
        self.state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .first
            .clone()
    }

    /// Why none is set, in parentheses after a space; empty when there is nothing to say.
    pub(super) fn unset_because(&self) -> String {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.untaken.as_ref().map_or_else(String::new, |dir| {
            format!(
                " (the current directory, {}, is not taken for one)",
                dir.display()
            )
        })
    }
}
