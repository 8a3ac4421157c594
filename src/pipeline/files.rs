//! The files of the project that the phases look at: what counts as its code, which of them are tests, and what a phase has changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::ops::ControlFlow;

use super::places;
use crate::base::cancel::Cancel;
use crate::disk::beneath::{RelPath, Root, WalkEntry, WalkFile, WalkVisitor};
use crate::disk::paths::{PROJECT_FOLDER, TICKETS};

/// Files beyond this number are not looked at.
const MAX_FILES: usize = 20_000;
/// Bytes of a file that decide whether it changed; its length does too.
const MAX_HASHED_BYTES: u64 = 4 << 20;
/// Folders that hold no code of the project, wherever they are: packages.
const PACKAGES: [&str; 5] = [".git", "node_modules", "__pycache__", ".venv", "venv"];
/// Folders at the top that hold none: Marvin's own, results of builds, and code or documents that were copied in to be looked up.
const COPIES: [&str; 7] = [
    PROJECT_FOLDER,
    TICKETS,
    "target",
    "vendor",
    "third_party",
    "ref",
    ".ref",
];

/// Whether `path` is code or text of the project itself.
pub(crate) fn is_own(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.clone().all(|part| !PACKAGES.contains(&part))
        && parts.next().is_some_and(|first| !COPIES.contains(&first))
        && !places::is_of_feature(path)
}

/// Whether `path` is named like a test, as the common languages name theirs.
pub(crate) fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let has_word = |text: &str| {
        text.split(['_', '-', '.'])
            .any(|word| matches!(word, "test" | "tests" | "spec" | "specs"))
    };
    let is_text = ["md", "txt", "toml", "json", "yaml", "yml"]
        .iter()
        .any(|ending| name.rsplit_once('.').is_some_and(|(_, end)| end == *ending));
    !is_text
        && (has_word(stem)
            || has_word(name)
            || parts
                .any(|folder| matches!(folder, "test" | "tests" | "__tests__" | "spec" | "e2e")))
}

/// A text file that can be told from an earlier version of itself.
pub(crate) type FileStates = BTreeMap<String, u64>;

/// The project's own files that are not ignored, each with a number that changes with its content.
pub(crate) fn states(root: &Root, stop: &Cancel) -> FileStates {
    let mut found = Collector {
        files: FileStates::new(),
        stop,
        read: &mut |file| content_hash(&file).ok(),
    };
    root.walk(&[".gitignore"], (), &mut found);
    found.files
}

/// The paths of the project's own files that are not ignored.
pub(crate) fn paths(root: &Root, stop: &Cancel) -> Vec<String> {
    let mut found = Collector {
        files: FileStates::new(),
        stop,
        read: &mut |_| Some(0),
    };
    root.walk(&[".gitignore"], (), &mut found);
    found.files.into_keys().collect()
}

/// Whether a file of the project, among those that `wanted` says, begins with text in which `holds` finds something.
pub(crate) fn any_text(
    root: &Root,
    stop: &Cancel,
    wanted: &dyn Fn(&str) -> bool,
    holds: &dyn Fn(&str) -> bool,
) -> bool {
    let mut found = false;
    let mut visit = Collector {
        files: FileStates::new(),
        stop,
        read: &mut |file| {
            if !found && wanted(file.rel.as_str()) {
                found = text_of(&file).is_ok_and(|text| holds(&text));
            }
            None
        },
    };
    root.walk(&[".gitignore"], (), &mut visit);
    found
}

/// The files that are new or different in `now`.
pub(crate) fn changed<'a>(before: &FileStates, now: &'a FileStates) -> Vec<&'a str> {
    now.iter()
        .filter(|(path, state)| before.get(*path) != Some(*state))
        .map(|(path, _)| path.as_str())
        .collect()
}

struct Collector<'a> {
    files: FileStates,
    stop: &'a Cancel,
    read: &'a mut dyn FnMut(WalkFile) -> Option<u64>,
}

impl WalkVisitor for Collector<'_> {
    type Mark = ();

    fn enter(&mut self, entry: &WalkEntry<'_>, ignored: bool, (): ()) -> Option<()> {
        (!ignored && is_own(entry.rel.as_str())).then_some(())
    }

    fn file(&mut self, file: WalkFile) -> ControlFlow<()> {
        let path = file.rel.as_str().to_owned();
        if let Some(state) = (self.read)(file) {
            self.files.insert(path, state);
        }
        match self.files.len() < MAX_FILES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    // What cannot be read is nothing that a child could have changed.
    fn unreadable(&mut self, _: &RelPath, _: io::Error) {}

    fn is_over(&mut self) -> bool {
        self.stop.is_fired()
    }
}

fn content_hash(file: &WalkFile) -> io::Result<u64> {
    let open = file.open()?;
    let mut hasher = DefaultHasher::new();
    open.metadata()?.len().hash(&mut hasher);
    let mut bytes = Vec::new();
    open.take(MAX_HASHED_BYTES).read_to_end(&mut bytes)?;
    bytes.hash(&mut hasher);
    Ok(hasher.finish())
}

/// The beginning of a file as text.
fn text_of(file: &WalkFile) -> io::Result<String> {
    const MAX_BYTES: u64 = 256 << 10;
    let mut bytes = Vec::new();
    file.open()?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn tests_are_known_by_their_names() {
        for path in [
            "tests/api.rs",
            "test_app.py",
            "pkg/app_test.go",
            "src/app.test.js",
            "spec/app_spec.rb",
            "src/__tests__/a.tsx",
            "e2e/login.ts",
            "test/a.js",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in [
            "src/main.rs",
            "contest.py",
            "src/latest.js",
            "src/inspect.rs",
            "tests/README.md",
            "testing.md",
        ] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn packages_builds_and_reference_copies_are_not_the_projects_own() {
        for path in [
            ".marvin/upstream/README.md",
            "ref/server.py",
            ".tickets/a.md",
            "web/node_modules/x/index.js",
            "target/debug/app",
            "third_party/zlib/inflate.c",
        ] {
            assert!(!is_own(path), "{path}");
        }
        assert!(is_own("src/ref/mod.rs") && is_own("README.md"));
    }

    #[test]
    fn what_changed_is_found_by_content() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(".gitignore", "*.log\n");
        put("src/a.rs", "a");
        put("src/b.rs", "b");
        put(".marvin/spec.md", "x");
        let root = Root::open(dir.path()).unwrap();
        let before = states(&root, &Cancel::new());
        assert_eq!(
            before.keys().map(String::as_str).collect::<Vec<_>>(),
            [".gitignore", "src/a.rs", "src/b.rs"]
        );
        put("src/a.rs", "A");
        put("src/c.rs", "c");
        put("run.log", "x");
        put(".marvin/ux.md", "x");
        let now = states(&root, &Cancel::new());
        assert_eq!(changed(&before, &now), ["src/a.rs", "src/c.rs"]);
    }
}
