//! Patch test cases as folders: the published ones, if available, and our own in `fixtures/patches`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::problem::Outcome;
use crate::disk::beneath::Root;
use crate::formats::patch::{explain_unified_diff, parse, unwrap_patch_text};
use crate::tools::project::apply_patch::apply;
use crate::tools::project::project_text::ProjectText;

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

/// Applies the patch to a copy of `before`; returns the result and the tree afterwards.
fn run(before: &Path, patch: &str) -> (Outcome<String>, Tree) {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in tree(before) {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let root = Root::open(dir.path()).unwrap();
    let answer = match (unwrap_patch_text(patch), explain_unified_diff(patch)) {
        (None, Some(problem)) => Err(problem),
        (bare, _) => parse(bare.as_deref().unwrap_or(patch))
            .and_then(|patch| apply(&ProjectText::on_disk(&root), &patch, &|_| Ok(()))),
    };
    (answer.map(|done| done.text()), tree(dir.path()))
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn the_published_cases_give_the_expected_trees() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/apply-patch-cases");
    let Ok(index) = fs::read(cases.join("INDEX.json")) else {
        // A worktree is one folder deeper.
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
fn our_own_cases_give_the_expected_trees() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/patches");
    let dirs: Vec<PathBuf> = fs::read_dir(cases)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(dirs.len() >= 67, "only {} cases", dirs.len());
    let failures: Vec<String> = dirs.iter().filter_map(|dir| case(dir).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs one case: `patch.txt` applied to `before` gives `after`, or the message in `error.txt`. Without `after` the tree is unchanged.
fn case(dir: &Path) -> Result<(), String> {
    let name = dir.file_name().unwrap_or_default().display();
    let patch =
        fs::read_to_string(dir.join("patch.txt")).map_err(|error| format!("{name}: {error}"))?;
    let (answer, after) = run(&dir.join("before"), &patch);
    match (fs::read_to_string(dir.join("error.txt")), answer) {
        (Ok(words), Err(problem)) => {
            let text = problem.for_model();
            if let Some(line) = words.lines().find(|line| !text.contains(line)) {
                return Err(format!("{name}: no {line:?} in\n{text}"));
            }
        }
        (Err(_), Ok(_)) => {}
        (_, answer) => return Err(format!("{name}: {answer:?}")),
    }
    let expected = match dir.join("after").is_dir() {
        true => tree(&dir.join("after")),
        false => tree(&dir.join("before")),
    };
    if after != expected {
        return Err(format!(
            "{name}:\n{}expected:\n{}",
            shown(&after),
            shown(&expected)
        ));
    }
    Ok(())
}
