//! What a review is about: the files under review, and the documents that explain them.

use std::collections::VecDeque;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::disk::beneath::{FileKind, RelPath, Root};
use crate::disk::paths::{PROJECT_FOLDER, TICKETS};
use crate::proc::git::Git;
use crate::tools::project::search::names::GlobFilter;

/// Where documents are looked for when the given folder is missing.
const FOLDERS: [&str; 4] = ["ref", ".ref", "docs", "doc"];
/// Most documents that reviewers are pointed to, and how deep they may lie.
const MOST_DOCUMENTS: usize = 200;
const DEPTH: usize = 6;
/// Extensions of what a browser runs or shows.
const FRONT_END: [&str; 12] = [
    "html", "htm", "css", "scss", "sass", "less", "js", "jsx", "mjs", "tsx", "vue", "svelte",
];
/// Extensions of files that are read as prose, not as code.
const PROSE: [&str; 4] = ["md", "txt", "rst", "adoc"];

/// The tracked files that `focus` means: `all`, `backend`, `frontend`, `tests` or a glob.
///
/// # Errors
/// It is no glob, or means no file.
pub(super) fn files(git: &Git<'_>, focus: &str) -> Outcome<Vec<String>> {
    let focus = Focus::new(focus)?;
    let tracked = git.tracked()?;
    let files: Vec<String> = tracked
        .into_iter()
        .filter(|path| !is_own(path) && focus.takes(path))
        .collect();
    if files.is_empty() {
        return Err(Problem::missing(format!(
            "No file that git tracks here is {}.",
            focus.words()
        ))
        .next(
            "Give another focus: all, backend, frontend, tests, or a glob such as src/**/*.rs.",
        ));
    }
    Ok(files)
}

/// Whether a path lies in a folder of Marvin's, which is no code of the project.
fn is_own(path: &str) -> bool {
    matches!(path.split('/').next(), Some(PROJECT_FOLDER | TICKETS))
}

/// The part of a code base that is asked for.
enum Focus<'a> {
    All,
    Backend,
    Frontend,
    Tests,
    Glob(&'a str, GlobFilter<'a>),
}

impl<'a> Focus<'a> {
    fn new(text: &'a str) -> Outcome<Self> {
        let text = text.trim();
        Ok(match text.to_ascii_lowercase().as_str() {
            "" | "all" => Self::All,
            "backend" => Self::Backend,
            "frontend" => Self::Frontend,
            "tests" => Self::Tests,
            _ => Self::Glob(text, GlobFilter::new(text)?),
        })
    }

    fn takes(&self, path: &str) -> bool {
        let has = |extensions: &[&str]| {
            let extension = path.rsplit_once('.').map(|(_, extension)| extension);
            extension.is_some_and(|own| extensions.iter().any(|one| own.eq_ignore_ascii_case(one)))
        };
        match self {
            Self::All => !has(&PROSE),
            Self::Backend => !has(&PROSE) && !has(&FRONT_END) && !is_test(path),
            Self::Frontend => has(&FRONT_END) && !is_test(path),
            Self::Tests => !has(&PROSE) && is_test(path),
            Self::Glob(_, filter) => filter.take(path),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::All => "code".to_owned(),
            Self::Backend => "back-end code".to_owned(),
            Self::Frontend => "front-end code".to_owned(),
            Self::Tests => "a test".to_owned(),
            Self::Glob(glob, _) => format!("matched by {}", clip(&escape_controls(glob), 100)),
        }
    }
}

/// Whether a path is that of a test, by the words that projects use.
fn is_test(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let mut words = path.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| matches!(word, "test" | "tests" | "spec" | "specs" | "testing"))
}

/// The texts in the folder `given`, else in the first of the usual ones; none when there is no such folder.
///
/// # Errors
/// `given` is no path of the project.
pub(super) fn documents(root: &Root, given: &str) -> Outcome<Vec<String>> {
    let given = given.trim();
    let own = (!given.is_empty()).then_some(given);
    for folder in own.into_iter().chain(FOLDERS) {
        let rel = root.check(folder)?;
        let is_folder = root
            .metadata(&rel)
            .is_ok_and(|meta| meta.kind == FileKind::Folder);
        if is_folder {
            return texts(root, rel);
        }
    }
    Ok(Vec::new())
}

fn texts(root: &Root, folder: RelPath) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([(folder, 0)]);
    while let Some((folder, depth)) = folders.pop_front() {
        for entry in root.list(&folder)? {
            // A name that is no UTF-8 is shown by another one, which is not there.
            let Ok(rel) = root.check(&format!("{}/{}", folder.as_str(), entry.name)) else {
                continue;
            };
            let is_text = entry.name.rsplit_once('.').is_some_and(|(_, extension)| {
                matches!(extension.to_ascii_lowercase().as_str(), "md" | "txt")
            });
            match entry.kind {
                FileKind::Folder if depth < DEPTH => folders.push_back((rel, depth + 1)),
                FileKind::File if is_text => found.push(rel.as_str().to_owned()),
                _ => {}
            }
            if found.len() == MOST_DOCUMENTS {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(focus: &str) -> Vec<&'static str> {
        let paths = [
            "src/main.rs",
            "web/app.js",
            "web/app.test.js",
            "tests/run.rs",
            "README.md",
            "latest/x.py",
            "Makefile",
        ];
        let focus = Focus::new(focus).unwrap();
        paths.into_iter().filter(|path| focus.takes(path)).collect()
    }

    #[test]
    fn a_focus_takes_its_part_of_the_code() {
        assert_eq!(taken("all").len(), 6);
        assert_eq!(taken(""), taken("All"));
        assert_eq!(taken("backend"), ["src/main.rs", "latest/x.py", "Makefile"]);
        assert_eq!(taken("frontend"), ["web/app.js"]);
        assert_eq!(taken("tests"), ["web/app.test.js", "tests/run.rs"]);
        assert_eq!(taken("src/**/*.rs"), ["src/main.rs"]);
        assert_eq!(taken("*.md"), ["README.md"]);
        assert!(Focus::new("[").is_err());
    }

    #[test]
    fn documents_come_from_the_given_folder_or_the_first_usual_one() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert!(documents(&root, "ref").unwrap().is_empty());
        let put = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in ["docs/a.md", "docs/deep/b.TXT", "docs/c.png", "doc/d.md"] {
            put(path);
        }
        assert_eq!(
            documents(&root, "ref").unwrap(),
            ["docs/a.md", "docs/deep/b.TXT"]
        );
        assert_eq!(documents(&root, "doc").unwrap(), ["doc/d.md"]);
        std::os::unix::fs::symlink("/etc", dir.path().join("ref")).unwrap();
        assert_eq!(documents(&root, "ref").unwrap().len(), 2, "not outside");
        assert!(documents(&root, "/etc").is_err() && documents(&root, "..").is_err());
    }
}
