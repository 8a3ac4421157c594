//! The ticket of a run.

use std::fs;

use super::Stage;
use crate::base::testing::assert_has;
use crate::pipeline::epic::find_or_create;

/// The epic of another run with this task.
fn epic(stage: &mut Stage, task: &str) -> String {
    task.clone_into(&mut stage.run.task);
    find_or_create(&stage.run, None, None).unwrap()
}

#[test]
fn an_epic_is_that_of_its_whole_task_and_named_by_its_first_words() {
    let mut stage = Stage::new("true");
    let task = "# Task\n\nCount words\n---\nAnd lines";
    let first = epic(&mut stage, task);
    let text = stage.read(&format!(".tickets/{first}.md"));
    assert_has(&text, &["\n# Task\n", "Count words"]);
    let noted = format!("{text}\n## Notes\n\nSomebody wrote this.\n");
    stage.put(&format!(".tickets/{first}.md"), &noted);
    // A start that was killed before it was recorded finds it again.
    assert_eq!(epic(&mut stage, &format!("{task}\n")), first);
    for other in ["# Task\n\nA web shop", "# Task\n\nCount words"] {
        assert_ne!(epic(&mut stage, other), first, "{other}");
    }
}

#[test]
fn tickets_of_a_folder_above_the_repository_are_somebody_elses() {
    let mut stage = Stage::new("true");
    let above = stage.dir.path().join(".tickets");
    fs::create_dir(&above).unwrap();
    let id = epic(&mut stage, "Count words");
    assert!(stage.path(&format!(".tickets/{id}.md")).exists());
    assert_eq!(fs::read_dir(above).unwrap().count(), 0);
    // Those of a folder above within the repository are its own.
    stage.put("sub/a.txt", "a");
    stage.run.places = crate::pipeline::places::RunPlaces::at(&stage.path("sub"));
    assert_eq!(epic(&mut stage, "Count words"), id);
}
