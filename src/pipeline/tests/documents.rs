//! Phases 1a and 1b.

use std::fs;
use std::os::unix::fs::symlink;

use super::Stage;
use crate::base::testing::{assert_has, assert_lacks};
use crate::pipeline::{documents, phase_record};

const WRITERS: &str = r#"
is spec-writer && document .marvin/spec.md
is ux-writer && document .marvin/ux.md
is design-writer && document .marvin/design.md
true
"#;

#[test]
fn the_specification_comes_first_and_each_writer_has_one_file() {
    let stage = Stage::new(WRITERS);
    documents::specify(&stage.run).unwrap();
    documents::design(&stage.run).unwrap();
    let calls = stage.calls();
    assert_eq!(
        stage.labels(),
        ["spec-writer", "ux-writer", "design-writer"]
    );
    for (call, file) in calls.iter().zip(["spec.md", "ux.md", "design.md"]) {
        assert_eq!(
            call.bounds,
            format!("readonly= writable=.marvin/{file} ticket= model=m")
        );
    }
    assert_has(
        &calls[1].prompt,
        &["Line 1 of the document that spec-writer"],
    );
    assert_eq!(
        stage.checkpoints(),
        ["spec.md: written", "ux.md: written", "design.md: written"]
    );
}

#[test]
fn a_document_that_is_there_is_not_written_again() {
    let stage = Stage::new(WRITERS);
    stage.put_document(".marvin/spec.md", "Mine");
    // Five megabytes are a document like any other.
    stage.put(".marvin/ux.md", &"A line.\n".repeat(640_000));
    documents::specify(&stage.run).unwrap();
    assert_eq!(stage.labels(), [] as [&str; 0]);
    assert!(stage.read(".marvin/spec.md").starts_with("Mine"));
}

#[test]
fn what_is_no_document_is_removed_and_tried_again() {
    for (script, words) in [
        (
            "head -c 999 /dev/zero | tr '\\0' x > .marvin/spec.md",
            "has 999 bytes",
        ),
        ("head -c 5000 /dev/zero > .marvin/spec.md", "is not text"),
        (
            "head -c 5000 /dev/zero | tr '\\0' '\\377' > .marvin/spec.md",
            "is not text",
        ),
        // What it prints never becomes a document.
        ("report; report; report; report; report", "does not exist"),
    ] {
        let stage = Stage::new(script);
        let problem = documents::specify(&stage.run).unwrap_err();
        assert!(problem.what.contains(words), "{problem:?}");
        assert_eq!(
            stage.labels(),
            ["spec-writer"; 4],
            "three attempts, and one with the fallback tier"
        );
        assert!(!stage.path(".marvin/spec.md").exists(), "{words}");
        assert!(stage.prompts("spec-writer")[1].contains(words), "{words}");
    }
}

#[test]
fn exactly_a_thousand_bytes_are_a_document() {
    let stage = Stage::new("true");
    let state = |bytes: usize| {
        stage.put(".marvin/spec.md", &"x".repeat(bytes));
        let rel = stage.run.root().check(".marvin/spec.md").unwrap();
        documents::state(stage.run.root(), &rel).unwrap().is_ok()
    };
    assert_eq!([999, 1_000, 1_001].map(state), [false, true, true]);
}

#[test]
fn a_later_attempt_that_succeeds_is_enough() {
    let stage = Stage::new(
        r#"
        if nth spec-writer 3; then document .marvin/spec.md; else echo short > .marvin/spec.md; fi
        is ux-writer && document .marvin/ux.md
        true"#,
    );
    documents::specify(&stage.run).unwrap();
    assert_eq!(stage.labels().len(), 4);
}

#[test]
fn only_what_an_attempt_wrote_is_removed() {
    for script in ["echo I do nothing.", "echo More. >> .marvin/spec.md"] {
        let stage = Stage::new(script);
        stage.put(".marvin/spec.md", "A draft of mine.");
        documents::specify(&stage.run).unwrap_err();
        assert_eq!(stage.read(".marvin/spec.md"), "A draft of mine.");
    }
}

/// The files in which something was set aside.
fn set_aside(stage: &Stage) -> Vec<String> {
    let entries = fs::read_dir(stage.path(".marvin/logs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".left.md")).collect()
}

#[test]
fn half_a_document_of_a_failed_attempt_is_not_taken_for_one() {
    // The first attempt dies in mid-document; the others do nothing.
    let stage = Stage::new(
        r#"if nth spec-writer 1; then document .marvin/spec.md; kill -KILL $$; fi; echo "It is all there.""#,
    );
    let problem = documents::specify(&stage.run).unwrap_err();
    assert!(problem.what.contains("does not exist"), "{problem:?}");
    assert!(!stage.path(".marvin/spec.md").exists());
    let kept = set_aside(&stage);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let text = stage.read(&format!(".marvin/logs/{}", kept[0]));
    assert!(text.starts_with("Line 1 of the document"), "{text}");
    let prompts = stage.prompts("spec-writer");
    assert!(prompts[1].contains(&kept[0]), "{}", prompts[1]);
    assert_lacks(&prompts[1], &["is still there. Look"]);
    assert_has(&prompts[2], &["changed nothing that is still there"]);
}

#[test]
fn a_document_whose_writer_was_killed_with_the_run_is_written_again() {
    let stage = Stage::new(WRITERS);
    stage.put_document(".marvin/spec.md", "Half of it");
    phase_record::set_writing(&stage.run, "1a", ".marvin/spec.md").unwrap();
    documents::specify(&stage.run).unwrap();
    assert_eq!(stage.labels(), ["spec-writer", "ux-writer"]);
    let kept = set_aside(&stage);
    assert!(
        stage
            .read(&format!(".marvin/logs/{}", kept[0]))
            .starts_with("Half of it")
    );
    assert_has(&stage.warnings()[0], &[&kept[0]]);
    // Once it is written it stays.
    documents::specify(&stage.run).unwrap();
    assert_eq!(stage.labels().len(), 2);
}

#[test]
fn a_link_or_folder_in_the_place_of_a_document_costs_nothing_and_stays() {
    let stage = Stage::new(WRITERS);
    let outside = stage.dir.path().join("secret.md");
    fs::write(&outside, "secret ".repeat(500)).unwrap();
    fs::create_dir_all(stage.path(".marvin")).unwrap();
    let spec = stage.path(".marvin/spec.md");
    symlink(&outside, &spec).unwrap();
    let problem = documents::specify(&stage.run).unwrap_err().one_line();
    assert!(problem.contains("link"), "{problem}");
    assert!(spec.is_symlink());
    fs::remove_file(&spec).unwrap();
    fs::create_dir(&spec).unwrap();
    let problem = documents::specify(&stage.run).unwrap_err().one_line();
    assert!(problem.contains("is a folder"), "{problem}");
    assert!(spec.is_dir());
    assert_eq!(stage.labels(), [] as [&str; 0]);
    assert!(fs::read_to_string(outside).unwrap().starts_with("secret"));
}
