//! Patches as folders: the published cases, if available, and our own in `fixtures/patches`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::problem::Outcome;
use crate::disk::beneath::Root;
use crate::formats::patch::{parse, unwrap_patch_text};
use crate::tools::project::apply_patch::apply;

type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn tree(dir: &Path) -> Tree {
    fn walk(base: &Path, dir: &Path, tree: &mut Tree) {
        let Ok(entries) = fs::read_dir(dir) else {
            return;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(base, &path, tree);
            } else {
                let rel = path.strip_prefix(base).unwrap().to_owned();
                tree.insert(rel, fs::read(&path).unwrap());
            }
        }
    }
    let mut found = Tree::new();
    walk(dir, dir, &mut found);
    found
}

fn shown(tree: &Tree) -> String {
    tree.iter()
        .map(|(path, bytes)| format!("{}: {:?}\n", path.display(), String::from_utf8_lossy(bytes)))
        .collect()
}

/// Applies the patch to a copy of `before`: the answer and the tree afterwards.
fn run(before: &Path, patch: &str) -> (Outcome<String>, Tree) {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in tree(before) {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let root = Root::open(dir.path()).unwrap();
    let bare = unwrap_patch_text(patch).unwrap_or_else(|| patch.to_owned());
    let answer = parse(&bare).and_then(|patch| apply(&root, &patch, &|_| Ok(())));
    (answer.map(|done| done.text()), tree(dir.path()))
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn the_published_cases_give_the_published_trees() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/apply-patch-cases");
    let Ok(index) = fs::read(cases.join("INDEX.json")) else {
        // A worktree lies one folder deeper.
        let deeper = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/apply-patch-cases");
        match fs::read(deeper.join("INDEX.json")) {
            Ok(index) => return published(&deeper, &index),
            Err(_) => return eprintln!("skipped: no {}", cases.display()),
        }
    };
    published(&cases, &index);
}

fn published(cases: &Path, index: &[u8]) {
    let index: serde_json::Value = serde_json::from_slice(index).unwrap();
    let mut failures = Vec::new();
    for case in index["cases"].as_array().unwrap() {
        let dir = cases.join(case["name"].as_str().unwrap());
        let patch = fs::read_to_string(dir.join("patch.txt")).unwrap();
        let (answer, after) = run(&dir.join("input"), &patch);
        let expected = tree(&dir.join("expected"));
        if answer.is_ok() != case["accepted"].as_bool().unwrap() {
            failures.push(format!("{}: {answer:?}", dir.display()));
        }
        if after != expected {
            failures.push(format!(
                "{}:\n{}expected:\n{}",
                dir.display(),
                shown(&after),
                shown(&expected)
            ));
        }
        if let Ok(text) = answer
            && Some(text.as_str()) != case["stdout"].as_str()
        {
            failures.push(format!("{}: {text}", dir.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn our_own_cases() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/patches");
    let mut count = 0;
    for entry in fs::read_dir(cases).unwrap() {
        let dir = entry.unwrap().path();
        let patch = fs::read_to_string(dir.join("patch.txt")).unwrap();
        let (answer, after) = run(&dir.join("before"), &patch);
        let name = dir.display();
        match fs::read_to_string(dir.join("error.txt")) {
            Ok(words) => {
                let text = answer.expect_err(&format!("{name} succeeded")).for_model();
                for line in words.lines() {
                    assert!(text.contains(line), "{name}: no {line:?} in\n{text}");
                }
            }
            Err(_) => assert!(answer.is_ok(), "{name}: {answer:?}"),
        }
        // Without `after` the tree stays as it was.
        let expected = match dir.join("after").is_dir() {
            true => tree(&dir.join("after")),
            false => tree(&dir.join("before")),
        };
        assert!(
            after == expected,
            "{name}:\n{}expected:\n{}",
            shown(&after),
            shown(&expected)
        );
        count += 1;
    }
    assert!(count >= 7, "only {count} cases");
}
