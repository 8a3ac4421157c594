//! Paths as the client knows them: it may have named a folder by a path that leads through symbolic links, and knows no other for the files in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folders of a session that the client named otherwise than Marvin does, each with its real path first.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenPaths(Vec<(PathBuf, PathBuf)>);

impl GivenPaths {
    /// Of the folders that the client gave.
    pub(super) fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let folders = folders.into_iter().filter_map(|given| {
            let real = given.canonicalize().ok()?;
            (real != given).then(|| (real, given.to_owned()))
        });
        Self(folders.collect())
    }

    /// The client's path for a real one.
    pub(super) fn of(&self, real: &Path) -> PathBuf {
        let mut folders = self.0.iter();
        let given = folders.find_map(|(folder, given)| {
            let rest = real.strip_prefix(folder).ok()?;
            // The folder itself, without a slash at its end.
            Some(match rest.as_os_str().is_empty() {
                true => given.clone(),
                false => given.join(rest),
            })
        });
        given.unwrap_or_else(|| real.to_owned())
    }
}

/// The paths of a session's files as the client sees them.
#[derive(Debug, Clone, Default)]
pub(super) struct ShownPaths {
    root: Option<PathBuf>,
    given: Arc<GivenPaths>,
}

impl ShownPaths {
    /// In a session that works in `root`.
    pub(super) fn new(root: Option<&Path>, given: Arc<GivenPaths>) -> Self {
        let root = root.map(Path::to_owned);
        Self { root, given }
    }

    /// The path of a file as a tool names it: of the working directory, or a whole one.
    pub(super) fn of(&self, path: &str) -> PathBuf {
        let whole = self
            .root
            .as_ref()
            .map_or_else(|| path.into(), |root| root.join(path));
        self.given.of(&whole)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_lies_in_a_folder_has_the_path_that_the_folder_was_given_with() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (real, link) = (dir.join("real"), dir.join("link"));
        fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        let paths = GivenPaths::new([link.as_path(), dir.as_path(), Path::new("/nothing/there")]);
        for (path, expected) in [
            (real.join("a/b"), link.join("a/b")),
            (real.clone(), link.clone()),
            (dir.join("really"), dir.join("really")),
            (PathBuf::from("/else"), PathBuf::from("/else")),
        ] {
            assert_eq!(paths.of(&path), expected);
        }
    }
}
