//! The fence, tested on a real directory with secrets around it, with both ways of opening.

mod escapes;
mod files;
mod guarded_parts;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::open_beneath::OpenMethod;
use super::{RelPath, Root};
use crate::base::problem::{Outcome, Problem};

const SECRET: &str = "the secret outside";

/// A working directory `app` with a sibling `app-secret` and a file above.
struct Yard {
    _dir: tempfile::TempDir,
    above: PathBuf,
    app: PathBuf,
    root: Root,
}

fn yard(engine: OpenMethod) -> Yard {
    let dir = tempfile::tempdir().unwrap();
    let above = dir.path().canonicalize().unwrap();
    let app = above.join("app");
    for folder in [
        "app/src/deep",
        "app/.tickets/sub",
        "app/.git/hooks",
        "app/.marvin/upstream",
        "app/vendor/lib/.git/hooks",
        "app-secret/in",
    ] {
        fs::create_dir_all(above.join(folder)).unwrap();
    }
    for (name, text) in [
        ("secret.txt", SECRET),
        ("app-secret/in/key", SECRET),
        ("app/README.md", "read me"),
        ("app/src/main.rs", "fn main() {}"),
        ("app/src/deep/x", "deep"),
        ("app/.tickets/m-1.md", "ticket"),
        ("app/.git/config", "[core]"),
        ("app/.marvin/upstream/TOOLS.md", "tools"),
        ("app/.marvin/spec.md", "spec"),
    ] {
        fs::write(above.join(name), text).unwrap();
    }
    let root = Root::open_with(&app, engine).unwrap();
    Yard {
        _dir: dir,
        above,
        app,
        root,
    }
}

/// Runs a test with each way of opening.
fn both(test: impl Fn(Yard)) {
    test(yard(OpenMethod::Kernel));
    test(yard(OpenMethod::Walk));
}

/// The failure, whose message has these words.
fn fails<T>(outcome: Outcome<T>, words: &str, about: &str) -> Problem {
    let problem = outcome.err().unwrap_or_else(|| panic!("{about} worked"));
    assert!(problem.what.contains(words), "{about}: {problem}");
    problem
}

impl Yard {
    fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.app.join(name)).unwrap();
    }

    /// Another fence, opened in the same way.
    fn open(&self, path: impl AsRef<Path>) -> Root {
        Root::open_with(&self.app.join(path), self.root.engine).unwrap()
    }

    fn rel(&self, path: &str) -> RelPath {
        self.root.check(path).unwrap()
    }

    fn read(&self, path: &str) -> Outcome<String> {
        let rel = self.root.check(path)?;
        let bytes = self.root.read(&rel, 1 << 20)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    /// The ways to write to a file that may exist.
    fn writes(&self, rel: &RelPath) -> [Outcome<()>; 3] {
        [
            self.root.put(rel, b"got out"),
            self.root.replace(rel, b"got out"),
            self.root.append(rel, b"got out").map(drop),
        ]
    }

    /// Tries every way to write; the first that works wins.
    fn write(&self, path: &str) -> Outcome<()> {
        let rel = self.root.check(path)?;
        let _ = self.root.create_new(&rel, b"got out");
        let written = self.writes(&rel).into_iter().find(Outcome::is_ok);
        written.unwrap_or_else(|| self.root.remove_file(&rel))
    }

    fn outside_is_untouched(&self) {
        let mut names = files(&self.above);
        names.retain(|name| !name.starts_with("app/"));
        names.sort();
        assert_eq!(names, ["app-secret/in/key", "secret.txt"]);
        for name in names {
            assert_eq!(fs::read_to_string(self.above.join(name)).unwrap(), SECRET);
        }
    }
}

/// The paths of all files below a folder.
fn files(base: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![base.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else {
                let path = entry.path();
                let rel = path.strip_prefix(base).unwrap();
                names.push(rel.to_string_lossy().into_owned());
            }
        }
    }
    names
}
