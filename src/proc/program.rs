//! Finding a program on the search path of children.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::proc::child_env;

/// Finds the program `name` on the search path of child processes. Relative entries are skipped: the current directory must not decide which
/// program runs.
pub(crate) fn find_program(name: &str, env: &Env) -> Option<PathBuf> {
    find_on_path(name, &child_env::search_path(env))
}

/// All programs called `name` on the search path of child processes, in its order.
pub(crate) fn find_all(name: &str, env: &Env) -> Vec<PathBuf> {
    on_path(name, &child_env::search_path(env)).collect()
}

/// The first executable file called `name` in the absolute directories of `path`.
pub(crate) fn find_on_path(name: &str, path: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    on_path(name, path).next()
}

/// The executable files called `name` in the absolute directories of `path`.
fn on_path(name: &str, path: &str) -> impl Iterator<Item = PathBuf> {
    path.split(':')
        .filter(|dir| dir.starts_with('/'))
        .map(move |dir| Path::new(dir).join(name))
        .filter(|file| is_executable(file))
}

/// True for a regular file with any execute bit.
pub(super) fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_executable_files_in_absolute_directories_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
        for folder in [&first, &second] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("prog"), "").unwrap();
        }
        fs::create_dir(first.join("folder")).unwrap();
        fs::set_permissions(second.join("prog"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!(".:src:{}:{}", first.display(), second.display());
        assert_eq!(find_on_path("prog", &path), Some(second.join("prog")));
        assert_eq!(find_on_path("folder", &path), None);
        assert_eq!(find_on_path("second/prog", &path), None);
        assert_eq!(
            find_program("prog", &Env::from([("PATH", path.as_str())])),
            Some(second.join("prog"))
        );
    }
}
