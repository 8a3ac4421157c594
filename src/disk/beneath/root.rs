//! `Root`: the working directory as a handle.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, fstat, openat};

use super::open_beneath::{AccessError, FOLDER, FolderId, OpenMethod, id};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::disk::beneath::rel_path::RelPath;
use crate::disk::paths::PROJECT_FOLDER;

/// A working directory. Clones share the handle; it stays the same folder when its path is renamed.
#[derive(Debug, Clone)]
pub struct Root {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) path: PathBuf,
    pub(super) engine: OpenMethod,
    pub(super) id: FolderId,
    /// What messages call it.
    pub(super) called: Cow<'static, str>,
    /// It lies in Marvin's own folder, whose files only the owner may read.
    private: bool,
    /// The directory whose guarded parts stay closed: they may lie below this one as well.
    pub(super) kept: Option<Arc<Root>>,
}

/// The default name of the directory in messages.
pub(super) const WORKING: &str = "working directory";
impl Root {
    /// Opens a folder as working directory.
    ///
    /// # Errors
    /// The folder is missing, is not a folder, or may not be entered.
    pub fn open(dir: &Path) -> Outcome<Self> {
        let engine = if cfg!(target_os = "linux") {
            OpenMethod::Kernel
        } else {
            OpenMethod::Walk
        };
        Self::open_with(dir, engine)
    }

    pub(super) fn open_with(dir: &Path, engine: OpenMethod) -> Outcome<Self> {
        let fail = |reason: std::io::Error| {
            let kind = if reason.kind() == std::io::ErrorKind::NotFound {
                ProblemKind::Missing
            } else {
                ProblemKind::System
            };
            let mut problem = Problem::system(
                format!("Cannot use {} as working directory", dir.display()),
                reason,
            )
            .next("Name an existing folder.");
            problem.kind = kind;
            problem
        };
        let path = dir.canonicalize().map_err(fail)?;
        let handle =
            openat(CWD, &path, FOLDER, Mode::empty()).map_err(|errno| fail(errno.into()))?;
        let id = id(&fstat(&handle).map_err(|errno| fail(errno.into()))?);
        let private = path.iter().any(|part| part == PROJECT_FOLDER);
        Ok(Self {
            handle: Arc::new(handle),
            path,
            engine,
            id,
            called: Cow::Borrowed(WORKING),
            private,
            kept: None,
        })
    }

    /// The same folder with another name in messages: "notes folder".
    #[must_use]
    pub fn called(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.called = name.into();
        self
    }

    /// The same folder, in which everything that `first` closes stays closed: a process that moves to the folder above its project must not get at the
    /// project's tickets that way.
    #[must_use]
    pub fn keeping_closed(mut self, first: &Arc<Self>) -> Self {
        self.kept = Some(Arc::clone(first));
        self
    }

    /// The folder `rel` as a root of its own, opened through this one.
    ///
    /// # Errors
    /// It is missing, not a folder, leads outside, or lies, perhaps through a symlink, in a guarded part, which the new root would not know.
    pub fn inner(&self, rel: &RelPath) -> Outcome<Self> {
        let open = || -> Result<Self, AccessError> {
            let handle = self.open_folder(rel)?;
            if let Some(guard) = self.guard(handle.as_fd(), None)? {
                return Err(AccessError::Guard(guard));
            }
            let id = id(&fstat(&handle)?);
            Ok(Self {
                handle: Arc::new(handle),
                path: self.path.join(rel.as_str()),
                engine: self.engine,
                id,
                called: self.called.clone(),
                private: self.is_private(rel),
                kept: self.kept.clone(),
            })
        };
        open().map_err(|stop| self.problem("open", rel, stop))
    }

    /// True for everything in Marvin's own folder of a project.
    pub(super) fn is_private(&self, rel: &RelPath) -> bool {
        self.private || rel.parts().any(|part| part == PROJECT_FOLDER)
    }

    /// The directory's absolute path without links, as it was when opened: for messages and for programs started there.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks the text of a path. The disk is not touched before the path is used.
    ///
    /// # Errors
    /// `Refused` for an absolute path, `..`, NUL and `.tickets`; `Input` for an empty path. Each shows the directory.
    pub fn check(&self, text: &str) -> Outcome<RelPath> {
        RelPath::parse(text).map_err(|bad| self.with_listing(self.refusal(text, bad)))
    }

    /// [`Root::check`] for a path that will be written, with a check of the disk: the nearest existing folder must lie inside and outside the guarded parts.
    /// Nothing is changed.
    pub fn check_write(&self, text: &str) -> Outcome<RelPath> {
        let rel = self.check(text)?;
        self.may_write(&rel)
            .map_err(|stop| self.problem("write", &rel, stop))?;
        Ok(rel)
    }

    /// True when the folder behind the handle was deleted.
    pub(super) fn is_gone(&self) -> bool {
        if fstat(&*self.handle).is_ok_and(|stat| stat.st_nlink == 0) {
            return true;
        }
        // File systems that do not count links of folders: then no entry can be opened, not even the folder itself.
        openat(&*self.handle, ".", FOLDER, Mode::empty()).is_err()
    }
}
