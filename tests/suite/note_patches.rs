//! Every form of patch that a note takes, from `fixtures/note-patches`: a folder for each case with the note before and after, or the
//! words of the refusal.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::home::Home;
use crate::support::run::Marvin;

const NOTE: &str = "Notes/n.md";

fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Tries one case, first as a rehearsal that must leave the note alone.
fn check(dir: &Path) -> Result<(), String> {
    let name = dir.file_name().unwrap_or_default().display();
    let read =
        |file: &str| fs::read_to_string(dir.join(file)).map_err(|e| format!("{name}: {file}: {e}"));
    let (before, patch) = (read("before.md")?, read("patch.txt")?);
    let home = Home::new();
    home.write(NOTE, &before);
    let run = |dry: bool| -> Marvin {
        let args = json!({"path": "n.md", "patch": patch, "dry_run": dry});
        home.marvin()
            .args(["tool", "file_apply_patch", "--json", &args.to_string()])
    };
    let rehearsal = run(true).run();
    if home.read(NOTE) != before {
        return Err(format!("{name}: a rehearsal wrote the note"));
    }
    let output = run(false).run();
    if rehearsal.code() != output.code() {
        return Err(format!(
            "{name}: the rehearsal ended otherwise: {}",
            rehearsal.errors()
        ));
    }
    let (expected, code) = match read("after.md") {
        Ok(after) => (after, 0),
        Err(_) => (before, 1),
    };
    let text = output.output();
    if output.code() != Some(code) {
        return Err(format!("{name}: {text}"));
    }
    if home.read(NOTE) != expected {
        return Err(format!(
            "{name}: {:?} instead of {expected:?}",
            home.read(NOTE)
        ));
    }
    let lines = [words(&dir.join("says.txt")), words(&dir.join("error.txt"))].concat();
    if code == 1 && lines.is_empty() {
        return Err(format!("{name}: neither after.md nor error.txt"));
    }
    match lines.iter().find(|line| !text.contains(line.as_str())) {
        Some(line) => Err(format!("{name}: no {line:?} in\n{text}")),
        None => Ok(()),
    }
}

#[test]
fn every_form_of_patch_changes_a_note_or_says_why_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/note-patches");
    let dirs: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(dirs.len() >= 34, "only {} cases", dirs.len());
    let failures: Vec<String> = dirs.iter().filter_map(|dir| check(dir).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
