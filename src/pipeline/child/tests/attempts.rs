//! What is tried again, and what the next attempt is told.

use super::*;
use crate::pipeline::nothing_to_change;

#[test]
fn what_is_missing_is_told_and_the_fourth_attempt_is_the_fallback_tiers() {
    let project = Project::new("echo \"I did part $n. SPEC_VERIFIED, spec_verified.\"");
    let calls = AtomicUsize::new(0);
    let check = |_: &ChildReport| match calls.fetch_add(1, Ordering::SeqCst) {
        3 => Ok(()),
        n => Err(format!("Part {n} is missing.")),
    };
    let task = ChildTask {
        withhold: &["SPEC_VERIFIED"],
        ..task(&check)
    };
    run(&project.run, &task).unwrap();
    let models: Vec<String> = project
        .events
        .started()
        .into_iter()
        .map(|(_, m)| m)
        .collect();
    assert_eq!(models, ["own", "own", "own", "better"]);
    assert_eq!(project.saw("prompt", 1), "Write the document.");
    let last = project.saw("prompt", 4);
    assert!(
        last.starts_with("Write the document.\n\n# An earlier attempt")
            && last.contains("Part 2 is missing.")
            && last.contains("<output>\nI did part 3. …, ….\n</output>"),
        "{last}"
    );
    assert_eq!(project.logs(".log").len(), 4, "each attempt has its log");
}

#[test]
fn who_twice_changes_nothing_and_does_not_say_why_is_not_asked_a_third_time() {
    let idle = |_: &ChildReport| nothing_to_change::check(&ChildReport::default(), false, "No.");
    // One who says the word without reasons has come further.
    let calls = AtomicUsize::new(0);
    let learns = |_: &ChildReport| {
        let text = match calls.fetch_add(1, Ordering::SeqCst) {
            0 => "Done.",
            _ => nothing_to_change::MARKER,
        };
        let report = ChildReport {
            text: text.to_owned(),
            ..ChildReport::default()
        };
        nothing_to_change::check(&report, false, "No.")
    };
    for (check, last_resort, expected) in [
        (
            &idle as &(dyn Fn(&ChildReport) -> _ + Sync),
            "better",
            &["own", "own", "better"][..],
        ),
        (&idle, "own", &["own", "own"]),
        (&learns, "own", &["own", "own", "own"]),
    ] {
        let mut project = Project::new("echo Done.");
        project.with_last_resort(last_resort);
        let problem = run(&project.run, &task(check)).unwrap_err().one_line();
        let started = project.events.started().into_iter();
        let models: Vec<String> = started.map(|(_, model)| model).collect();
        assert_eq!(models, expected);
        let count = format!("in {} attempts", expected.len());
        assert!(problem.contains(&count), "{problem}");
    }
}

#[test]
fn an_attempt_after_an_attempt_is_told_the_end_of_what_was_printed() {
    let project = Project::new("echo BEGINNING; yes 'a line' | head -n 2000; echo THE END");
    let check = |_: &ChildReport| Err("There is no document.".to_owned());
    let problem = run(&project.run, &task(&check)).unwrap_err();
    let prompt = project.saw("prompt", 2);
    assert!(prompt.contains("THE END") && !prompt.contains("BEGINNING"));
    assert!(prompt.chars().count() < 3_700, "{}", prompt.chars().count());
    assert_has(
        &problem.what,
        &["writer did not do its work in 4 attempts: There is no document."],
    );
    assert_has(&problem.one_line(), &[".marvin/logs/writer-"]);
}

#[test]
fn a_child_that_fails_has_not_done_its_work_even_if_the_files_are_there() {
    let project = Project::new(
        "echo x > document; [ $n = 2 ] || { echo 'Error: The provider is gone.' >&2; exit 1; }",
    );
    let checked = AtomicUsize::new(0);
    let check = |_: &ChildReport| {
        checked.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    run(&project.run, &task(&check)).unwrap();
    assert_eq!(
        checked.load(Ordering::SeqCst),
        1,
        "asked after the failure too"
    );
    assert_eq!(
        project.events.ended()[0],
        (
            false,
            "It failed (exit code: 1): The provider is gone.".to_owned()
        )
    );
    assert!(project.saw("prompt", 2).contains("The provider is gone."));
}

#[test]
fn a_failure_that_cannot_pass_is_told_at_once() {
    for (kind, attempts) in [("config", 1), ("auth", 1), ("input", 1), ("missing", 1)] {
        let project = Project::new(&format!(
            "echo 'MARVIN_FAILURE:{{\"kind\":\"{kind}\"}}' >&2; echo 'Error: There is no provider \"x\".' >&2; exit 1"
        ));
        let problem = run(&project.run, &task(&satisfied)).unwrap_err();
        assert_eq!(project.events.started().len(), attempts, "{kind}");
        assert_has(
            &problem.what,
            &["in 1 attempt: It failed (exit code: 1): There is no provider"],
        );
        let log = project.logs(".log").remove(0);
        assert!(!fs::read_to_string(log).unwrap().contains("MARVIN_FAILURE"));
    }
    // What may pass is tried again.
    let project = Project::new(
        "[ $n = 2 ] && exit; echo 'MARVIN_FAILURE:{\"kind\":\"network\"}' >&2; exit 1",
    );
    run(&project.run, &task(&satisfied)).unwrap();
    assert_eq!(project.events.started().len(), 2);
}

#[test]
fn a_program_that_cannot_run_is_not_tried_again() {
    let project = Project::new("no-such-program");
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert!(problem.what.contains("in 1 attempt"), "{problem}");
    assert_eq!(project.events.started().len(), 1);

    let project = Project::new("");
    fs::remove_file(&project.run.program).unwrap();
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert_eq!(project.events.started().len(), 1, "{problem}");
    assert_eq!(project.events.ended().len(), 1);
    assert!(project.logs("prompt.md").is_empty());
}

#[test]
fn a_child_that_hangs_is_killed_with_its_group_and_has_more_time_then() {
    let project = Project::new(
        "[ $n = 1 ] || { echo done; exit; }\ntrap '' TERM\nsleep 300 & echo $! > \"$out/pid\"; echo waiting; wait; wait",
    );
    let limit = Duration::from_millis(400);
    let task = ChildTask {
        limit,
        ..task(&satisfied)
    };
    run(&project.run, &task).unwrap();
    assert_has(&project.events.ended()[0].1, &["did not end"]);
    let pid = fs::read_to_string(project.dir.path().join("bin/pid")).unwrap();
    assert!(is_gone(pid.trim()));
    assert_has(&project.saw("prompt", 2), &["<output>\nwaiting\n</output>"]);
}

#[test]
fn each_attempt_has_more_time_than_the_one_before() {
    let project = Project::new("sleep 0.7; echo done");
    let task = ChildTask {
        limit: Duration::from_millis(500),
        ..task(&satisfied)
    };
    run(&project.run, &task).unwrap();
    assert!(project.events.started().len() > 1);
}
