//! Finding a program on the search path of children, or the one of a command that the user set.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
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

/// The program and the arguments of a command that the user set in `variable`.
pub(crate) fn user_command(
    variable: &str,
    command: &str,
    env: &Env,
) -> Outcome<(PathBuf, Vec<String>)> {
    let words = shlex::split(command).ok_or_else(|| {
        Problem::config(format!("A quote in {variable} is not closed."))
            .next("Close it, or escape it with \\.")
    })?;
    let mut words = words.into_iter();
    let name = words.next().unwrap_or_default();
    let program = if name.contains('/') {
        Some(PathBuf::from(&name)).filter(|path| path.is_file())
    } else {
        find_program(&name, env)
    };
    let program = program.ok_or_else(|| {
        let what = format!("{variable} names the program \"{name}\", which was not found.");
        Problem::config(what).next("Correct it, or write the program's whole path.")
    })?;
    Ok((program, words.collect()))
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
