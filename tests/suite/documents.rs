//! What the README and CONTRIBUTING name exists: files, folders, links and recipes.

use std::fs;
use std::path::PathBuf;

use regex::Regex;

const DOCUMENTS: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    let path = root().join(name);
    fs::read_to_string(&path).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()))
}

/// The first group of every match.
fn all<'a>(pattern: &str, text: &'a str) -> Vec<&'a str> {
    let pattern = Regex::new(pattern).unwrap();
    let groups = pattern.captures_iter(text).map(|found| found.get(1));
    groups.flatten().map(|group| group.as_str()).collect()
}

#[test]
fn every_path_in_the_documents_exists() {
    for name in DOCUMENTS {
        let text = read(name);
        let paths = all(
            r"(?m)(?:^|[`\s(])((?:src|tests|scripts|fixtures|\.ci)/[\w./-]*\w)",
            &text,
        );
        let links = all(r"\]\(([^):#]+)\)", &text);
        assert!(paths.len() + links.len() > 5, "{name}: {paths:?} {links:?}");
        let missing: Vec<&str> = paths
            .into_iter()
            .chain(links)
            .filter(|path| !root().join(path).exists())
            .collect();
        assert!(missing.is_empty(), "{name} names {missing:?}");
    }
}

#[test]
fn every_recipe_in_the_documents_is_in_the_justfile() {
    let justfile = read("Justfile");
    let recipes = all(r"(?m)^([a-z-]+)\b[^:\n]*:(?:[^=]|$)", &justfile);
    assert!(recipes.contains(&"picture"), "{recipes:?}");
    for name in DOCUMENTS {
        let text = read(name);
        for named in all(r"(?m)(?:^|`)just ([a-z-]+)", &text) {
            assert!(recipes.contains(&named), "{name} names `just {named}`");
        }
    }
}

#[test]
fn every_script_can_be_run() {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in fs::read_dir(root().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        let is_script = path.extension().is_some_and(|ext| ext == "sh");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert!(!is_script || mode & 0o111 != 0, "{}", path.display());
    }
}
