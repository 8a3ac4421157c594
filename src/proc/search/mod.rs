//! Searching a project's text: ripgrep when it is there, the crates it is made of when it is not, and one rendering for both.

mod inside;
mod names;
mod render;
mod rg;

use std::path::Path;
use std::time::Duration;

use super::program::find_program;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::error::Outcome;

/// Folders that hold other people's code or build products; hidden ones are skipped anyway.
const VENDOR: [&str; 8] = [
    "node_modules",
    "target",
    "vendor",
    "venv",
    "__pycache__",
    "dist",
    "build",
    "site-packages",
];
/// Longest search.
const LIMIT: Duration = Duration::from_secs(30);

/// What to look for.
#[derive(Debug, Clone)]
pub struct Search<'a> {
    /// Regular expression in the `regex` crate's syntax.
    pub pattern: &'a str,
    /// File name glob; `*` is every file.
    pub glob: &'a str,
    /// Lines shown around a hit.
    pub context: usize,
    /// Hits shown.
    pub most: usize,
}

/// One line of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    path: String,
    number: u64,
    text: String,
    hit: bool,
}

/// Searches below `dir` and gives `path:line` blocks with context, hits marked, and a count.
///
/// # Errors
/// A pattern that is no regular expression (with the engine's words), or a search that fails altogether.
pub fn search(dir: &Path, what: &Search<'_>, env: &Env, stop: &Cancel) -> Outcome<String> {
    let names = names::Names::new(dir, what)?;
    match find_program("rg", env) {
        Some(program) => rg::search(&program, dir, what, &names, env, stop),
        None => inside::search(dir, what, &names, stop),
    }
    .map(|found| render::render(&found, what))
}

/// The same as `path:line:text`, one hit a line; the flag says that there were more.
///
/// # Errors
/// As [`search`].
pub fn hits(
    dir: &Path,
    what: &Search<'_>,
    env: &Env,
    stop: &Cancel,
) -> Outcome<(Vec<String>, bool)> {
    let names = names::Names::new(dir, what)?;
    let found = match find_program("rg", env) {
        Some(program) => rg::search(&program, dir, what, &names, env, stop),
        None => inside::search(dir, what, &names, stop),
    }?;
    let line = |line: &Line| format!("{}:{}:{}", line.path, line.number, line.text);
    let hits = found.lines.iter().filter(|line| line.hit).take(what.most);
    Ok((hits.map(line).collect(), found.more))
}

/// Lines found, in order of path and number; whether there was more; what could not be read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    lines: Vec<Line>,
    more: bool,
    troubles: Vec<String>,
}

impl Found {
    fn hits(&self) -> usize {
        self.lines.iter().filter(|line| line.hit).count()
    }

    /// Takes off the context lines of hits that were cut off: those more than `context` after the last hit.
    fn trim(&mut self, context: usize) {
        let Some(last) = self.lines.iter().rposition(|line| line.hit) else {
            return self.lines.clear();
        };
        let Some(hit) = self.lines.get(last).cloned() else {
            return;
        };
        let near =
            |line: &Line| line.path == hit.path && line.number <= hit.number + context as u64;
        let keep = self
            .lines
            .iter()
            .skip(last + 1)
            .take_while(|line| near(line))
            .count();
        self.lines.truncate(last + 1 + keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn both(dir: &Path, what: &Search<'_>) -> Option<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let env = Env::from([("PATH", path.as_str())]);
        let Some(program) = find_program("rg", &env) else {
            eprintln!("skipped: ripgrep is not installed");
            return None;
        };
        let stop = Cancel::new();
        let names = names::Names::new(dir, what).unwrap();
        let a = rg::search(&program, dir, what, &names, &env, &stop)
            .map(|found| render::render(&found, what));
        let b = inside::search(dir, what, &names, &stop).map(|found| render::render(&found, what));
        let words = |result: Outcome<String>| result.unwrap_or_else(|problem| problem.one_line());
        Some((words(a), words(b)))
    }

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &[u8]| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(
            "src/main.rs",
            b"fn main() {\n    // TODO one\n    work();\n}\n\nfn work() {\n    // TODO two\n}\n",
        );
        put("src/lib.rs", b"// nothing here\n// TODO three");
        put("-dash/x.rs", b"// TODO dash\r\n");
        put("node_modules/m/a.rs", b"// TODO vendored\n");
        put(".hidden/a.rs", b"// TODO hidden\n");
        put("ignored.rs", b"// TODO ignored\n");
        put(".gitignore", b"ignored.rs\n");
        put("binary.rs", b"TODO\0TODO\n");
        put("latin.rs", b"// TODO caf\xe9\n");
        put("notes.md", b"TODO in notes\n");
        put("marked.md", b"\xef\xbb\xbfTODO marked\n");
        put("wide.md", b"\xff\xfeT\0O\0D\0O\0 \0w\0\n\0");
        put("wide_be.md", b"\xfe\xff\0T\0O\0D\0O\0\n");
        put("cr.md", b"a\rTODO\rb\n");
        let late = [b"TODO\n".as_slice(), &[b'x'; 200_000], b"\n\0\nTODO\n"].concat();
        put("late.md", &late);
        fs::create_dir(dir.path().join(".git")).unwrap();
        dir
    }

    #[test]
    fn both_engines_give_the_same_text() {
        let dir = tree();
        for (pattern, glob, context, most) in [
            ("TODO", "*", 2, 20),
            ("TODO", "*.rs", 0, 2),
            ("TODO", "*", 1, 3),
            ("fn \\w+", "*.rs", 9, 1),
            ("nowhere", "*", 2, 5),
            ("(", "*", 2, 5),
            ("-x", "*", 0, 1),
            ("caf", "*", 0, 5),
            ("TODO", "src/**/*.rs", 0, 9),
            ("TODO", "!*.rs", 0, 9),
            ("TODO", "*.{rs,md}", 0, 9),
            ("TODO", "*.none", 0, 9),
            ("^TODO", "*.md", 1, 9),
            ("TODO$", "*.md", 0, 9),
            ("TODO", "*.md", 0, 9),
        ] {
            let what = Search {
                pattern,
                glob,
                context,
                most,
            };
            let Some((a, b)) = both(dir.path(), &what) else {
                return;
            };
            if pattern == "(" {
                assert!(
                    a.contains("regular expression") && b.contains("regular expression"),
                    "{a}\n{b}"
                );
            } else {
                assert_eq!(a, b, "{what:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_in_the_same_words_by_both() {
        for said in [
            "rg: nd: IO error for operation on ./nd: Permission denied (os error 13)",
            "IO error for operation on nd: Permission denied (os error 13)",
            "rg: ./nd: Permission denied (os error 13)",
        ] {
            assert_eq!(
                rg::trouble(said).as_deref(),
                Some("nd: Permission denied (os error 13)"),
                "{said}"
            );
        }
    }

    #[test]
    fn what_is_hidden_ignored_binary_or_vendored_is_not_searched() {
        let dir = tree();
        let what = Search {
            pattern: "TODO",
            glob: "*.rs",
            context: 1,
            most: 20,
        };
        let names = names::Names::new(dir.path(), &what).unwrap();
        let found = inside::search(dir.path(), &what, &names, &Cancel::new()).unwrap();
        let text = render::render(&found, &what);
        assert!(
            text.contains("src/main.rs") && text.contains("TODO dash") && text.contains("5 hits"),
            "{text}"
        );
        for absent in ["vendored", "hidden", "ignored", "binary", "notes"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn engines_agree_on_any_tree(files in prop::collection::vec(("[a-c]{1,2}(/[a-c]){0,2}\\.(rs|md)", "([xy \n]|é|\r\n){0,60}"), 1..6), context in 0usize..4, most in 1usize..6) {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in &files {
                let path = dir.path().join(name);
                if fs::create_dir_all(path.parent().unwrap()).is_ok() {
                    let _ = fs::write(path, text);
                }
            }
            if let Some((a, b)) = both(dir.path(), &Search { pattern: "x+y?", glob: "*", context, most }) {
                prop_assert_eq!(a, b);
            }
        }
    }
}
