//! Finding a program on the search path of children, or the one of a command that the user set.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::proc::{child_env, writable_by_commands};

/// Finds the program `name` on the search path of child processes. Relative entries are skipped: the current directory must not decide which
/// program runs.
pub(crate) fn find_program(name: &str, env: &Env) -> Option<PathBuf> {
    find_on_path(name, &child_env::search_path(env))
}

/// All programs called `name` on the search path of child processes, in its order.
pub(crate) fn find_all(name: &str, env: &Env) -> Vec<PathBuf> {
    let path = child_env::search_path(env);
    let found = on_path(name, &path);
    found
        .filter(|file| !writable_by_commands::has(file))
        .collect()
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

/// The first executable file called `name` in the absolute directories of `path`, and not in those that commands of a model may change.
pub(crate) fn find_on_path(name: &str, path: &str) -> Option<PathBuf> {
    on_path(name, path).find(|file| !writable_by_commands::has(file))
}

/// As [`find_on_path`], for a program that runs in the sandbox, or that the user was asked about.
pub(crate) fn find_for_command(name: &str, path: &str) -> Option<PathBuf> {
    on_path(name, path).next()
}

/// The executable files called `name` in the absolute directories of `path`.
fn on_path(name: &str, path: &str) -> impl Iterator<Item = PathBuf> {
    let is_name = !name.is_empty() && !name.contains('/');
    path.split(':')
        .filter(move |dir| is_name && dir.starts_with('/'))
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
    fn a_program_that_a_command_could_have_written_is_not_marvins() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let [writable, linked, own] = ["work/bin", "linked", "own"].map(|name| dir.join(name));
        for folder in [&writable, &linked, &own] {
            fs::create_dir_all(folder).unwrap();
        }
        for folder in [&writable, &own] {
            fs::write(folder.join("prog"), "").unwrap();
            fs::set_permissions(folder.join("prog"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::os::unix::fs::symlink(writable.join("prog"), linked.join("prog")).unwrap();
        let path = [&writable, &linked, &own].map(|folder| folder.display().to_string());
        let path = path.join(":");
        assert_eq!(find_on_path("prog", &path), Some(writable.join("prog")));
        writable_by_commands::note([dir.join("work")]);
        assert_eq!(find_on_path("prog", &path), Some(own.join("prog")));
        assert_eq!(find_for_command("prog", &path), Some(writable.join("prog")));
        let left = writable_by_commands::without(&path);
        assert_eq!(left, format!("{}:{}", linked.display(), own.display()));
    }

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
