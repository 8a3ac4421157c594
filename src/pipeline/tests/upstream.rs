//! The documents of the project above.

use std::fs;
use std::time::{Duration, SystemTime};

use super::Stage;
use crate::base::testing::assert_has;
use crate::pipeline::upstream;

const NAMES: [&str; 9] = [
    "MARVIN_API_SPEC.md",
    "MARVIN_DESIGN.md",
    "MARVIN_SPEC.md",
    "README.md",
    "REFERENCE.md",
    "SHARP_EDGES.md",
    "TOOLS.md",
    "WEB_DESIGN.md",
    "WEB_SPEC.md",
];

fn copied(stage: &Stage) -> Vec<String> {
    let Ok(entries) = fs::read_dir(stage.path(".marvin/upstream")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_upstream_document_beside_the_project_is_copied_and_nothing_else() {
    let stage = Stage::new("true");
    for name in NAMES.into_iter().chain(["OTHER.md", "TOOLS.txt"]) {
        fs::write(
            stage.dir.path().join(name),
            format!("{name} of the project above"),
        )
        .unwrap();
    }
    upstream::copy(&stage.run).unwrap();
    assert_eq!(copied(&stage), NAMES);
    assert_eq!(
        stage.read(".marvin/upstream/TOOLS.md"),
        "TOOLS.md of the project above"
    );
}

#[test]
fn a_document_that_is_a_link_or_no_text_is_left_out_and_told() {
    let stage = Stage::new("true");
    let beside = |name: &str| stage.dir.path().join(name);
    fs::create_dir(beside("home/.ssh")).unwrap();
    fs::write(beside("home/.ssh/id"), "the key").unwrap();
    std::os::unix::fs::symlink(beside("home/.ssh/id"), beside("SHARP_EDGES.md")).unwrap();
    fs::write(beside("TOOLS.md"), "\0ELF").unwrap();
    fs::write(beside("REFERENCE.md"), "Text.").unwrap();
    upstream::copy(&stage.run).unwrap();
    assert_eq!(copied(&stage), ["REFERENCE.md"]);
    let warnings = stage.warnings().join("\n");
    assert_has(
        &warnings,
        &[
            "SHARP_EDGES.md is not copied, because it is a symbolic link",
            "TOOLS.md is not copied",
        ],
    );
}

#[test]
fn a_readme_alone_is_that_of_any_folder() {
    let stage = Stage::new("true");
    fs::write(stage.dir.path().join("README.md"), "About downloads.").unwrap();
    upstream::copy(&stage.run).unwrap();
    assert_eq!(copied(&stage), [] as [&str; 0]);
}

#[test]
fn a_copy_is_replaced_only_by_a_newer_document() {
    let stage = Stage::new("true");
    let source = stage.dir.path().join("TOOLS.md");
    let write = |text: &str, age: Duration| {
        fs::write(&source, text).unwrap();
        let file = fs::File::options().write(true).open(&source).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    let copy = || {
        upstream::copy(&stage.run).unwrap();
        stage.read(".marvin/upstream/TOOLS.md")
    };
    write("first", Duration::from_secs(100));
    assert_eq!(copy(), "first");
    write("older", Duration::from_secs(1_000));
    assert_eq!(copy(), "first");
    let file = fs::File::options()
        .write(true)
        .open(stage.path(".marvin/upstream/TOOLS.md"));
    file.unwrap()
        .set_modified(SystemTime::now() - Duration::from_secs(500))
        .unwrap();
    write("newer", Duration::from_secs(100));
    assert_eq!(copy(), "newer");
}

#[test]
fn a_folder_of_upstream_documents_that_leads_out_is_refused() {
    let stage = Stage::new("true");
    fs::write(stage.dir.path().join("TOOLS.md"), "x").unwrap();
    let outside = stage.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(stage.path(".marvin")).unwrap();
    std::os::unix::fs::symlink(&outside, stage.path(".marvin/upstream")).unwrap();
    upstream::copy(&stage.run).unwrap_err();
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}
