//! ripgrep as a child: which files in some folders have a line that matches.
//!
//! It opens files by path, so a folder that was swapped for a link would lead it out, if it could read what lies there. So it runs in a domain of its own,
//! which reads beneath the folder's handle, and its libraries, and nothing else.

use std::collections::HashSet;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::child::ProgramSpec;
use super::program::find_program;
use super::sandbox::landlock_abi;
use super::sandbox::policy::Policy;
use crate::base::cancel::Cancel;
use crate::base::env::Env;

/// Where the libraries of programs are.
const LIBRARIES: [&str; 7] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/etc/ld.so.cache",
];

/// No configuration file, no colours, names that end with a NUL; and of a folder every text file in it, whatever it is called.
const FLAGS: [&str; 9] = [
    "--no-config",
    "--files-with-matches",
    "--null",
    "--color=never",
    "--no-ignore",
    "--hidden",
    "--max-depth=1",
    "--no-mmap",
    "-e",
];

/// A ripgrep that can be held.
#[derive(Debug)]
pub(crate) struct Ripgrep {
    program: PathBuf,
}

#[derive(Debug)]
pub(crate) struct SearchedFolder {
    /// A path by which a child enters it.
    pub dir: PathBuf,
    /// The entries that may be read: `.` is all of them.
    pub readable: Vec<String>,
}

impl Ripgrep {
    /// The one on the search path, where this system can hold it.
    pub(crate) fn find(env: &Env) -> Option<Self> {
        // The program of the unit tests is no Marvin, which would become the layer.
        if cfg!(test) {
            return None;
        }
        let program = find_program("rg", env)?.canonicalize().ok()?;
        landlock_abi().is_ok().then_some(Self { program })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.program
    }

    /// The files that have a line with `pattern`, and those that it could not read, right in the folders `folders`; these are `.` or begin with `./`, as do the
    /// names of the files. None when it could not search them all, or does not take the pattern.
    pub(crate) fn files_with(
        &self,
        pattern: &str,
        folders: &[String],
        searched: &SearchedFolder,
        limit: Duration,
        stop: &Cancel,
    ) -> Option<HashSet<String>> {
        let flags = FLAGS.into_iter().chain([pattern, "--"]);
        let args = flags.map(OsString::from);
        let args = args.chain(folders.iter().map(OsString::from));
        let mut run = ProgramSpec::new(&self.program, args, Vec::new());
        run.dir = Some(searched.dir.clone());
        run.sandbox = Some(self.policy(searched)?);
        run.may_keep_terminal = true;
        run.limit = limit;
        let mut found = HashSet::new();
        let output = run.run_split(stop, 0, &mut |name| {
            // Others have no name by which they could be asked for.
            found.extend(std::str::from_utf8(name).map(str::to_owned));
            ControlFlow::Continue(())
        });
        let output = output.ok()?;
        if output.timed_out || output.cancelled || output.stderr.is_cut() {
            return None;
        }
        let errors = output.stderr.bytes();
        match output.code {
            Some(0 | 1) if errors.is_empty() => {}
            Some(2) if !errors.is_empty() => found.extend(unreadable(&errors)?),
            _ => return None,
        }
        Some(found)
    }

    fn policy(&self, folder: &SearchedFolder) -> Option<Policy> {
        let libraries = LIBRARIES.iter().map(Path::new);
        let mut system: Vec<PathBuf> = libraries
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        system.push(self.program.clone());
        system.sort();
        system.dedup();
        let system = system.into_iter().map(|path| path.into_os_string());
        let system: Result<Vec<String>, _> = system.map(OsString::into_string).collect();
        let readable = folder.readable.iter().cloned().chain(system.ok()?);
        Some(Policy {
            readable: Some(readable.collect()),
            ..Policy::default()
        })
    }
}

/// The files that ripgrep's errors name, when they are about files alone.
fn unreadable(errors: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(errors).ok()?;
    let name = |line: &str| {
        let line = line.strip_prefix("rg: ").unwrap_or(line);
        let (name, reason) = line.rsplit_once(": ")?;
        let is_of_a_file = name.starts_with("./") && reason.ends_with(')');
        is_of_a_file.then(|| name.to_owned())
    };
    text.lines().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_about_files_name_them_and_others_are_failures() {
        let errors =
            b"./a: b.txt: Permission denied (os error 13)\nrg: ./c: Is gone (os error 2)\n";
        let names = ["./a: b.txt", "./c"].map(str::to_owned).to_vec();
        assert_eq!(unreadable(errors), Some(names));
        for other in [
            "regex parse error:\n    (\n    ^\nerror: unclosed group\n",
            "./new\nline: Permission denied (os error 13)\n",
            "./a: binary file matches",
            "No such file (os error 2)",
        ] {
            assert_eq!(unreadable(other.as_bytes()), None, "{other}");
        }
    }
}
