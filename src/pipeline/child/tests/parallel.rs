//! Children side by side, and what they share.

use super::*;

#[test]
fn only_read_only_children_run_side_by_side() {
    let project = Project::new("");
    let writer = ChildTask {
        access: Access::WriteFiles(vec!["a.md".to_owned()]),
        ..task(&satisfied)
    };
    let outcomes = run_parallel(&project.run, &[task(&satisfied), writer]);
    for outcome in &outcomes {
        assert_eq!(outcome.as_ref().unwrap_err().kind, ProblemKind::Internal);
    }
    assert_eq!((outcomes.len(), project.events.started().len()), (2, 0));
}

#[test]
fn children_side_by_side_share_what_is_left_and_have_names_of_their_own() {
    // Each waits for the other three.
    let project = Project::new(
        "while [ $(ls \"$out\" | grep -c start) -lt 4 ]; do sleep 0.01; done; printf '%s' \"$*\" > \"$out/all.$$\"",
    );
    let project = project.ceiling(2.0);
    let tasks: Vec<_> = (0..4).map(|_| task(&satisfied)).collect();
    for outcome in run_parallel(&project.run, &tasks) {
        outcome.unwrap();
    }
    assert_eq!(project.logs(".log").len(), 4);
    let entries = fs::read_dir(project.dir.path().join("bin")).unwrap();
    let arguments: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("all."))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(arguments.len(), 4);
    for line in arguments {
        assert!(line.ends_with("--max-cost=0.500000"), "{line}");
    }
}

#[test]
fn children_run_side_by_side() {
    // Each waits until the others have begun, so that one after the other they would never end.
    let project = Project::new(
        "touch \"$out/begun.$(cat \"$prompt\")\"; for n in 1 2 3 4; do until [ -e \"$out/begun.$n\" ]; do sleep 0.02; done; done",
    );
    let tasks: Vec<_> = (1..=4)
        .map(|n| ChildTask {
            prompt: n.to_string(),
            ..task(&satisfied)
        })
        .collect();
    for outcome in run_parallel(&project.run, &tasks) {
        outcome.unwrap();
    }
}

#[test]
fn a_spent_share_ends_a_task() {
    let script = r#"echo 'MARVIN_COST:{"session_cost":0.75,"model_cost":{"own":0.75}}' >&2"#;
    let project = Project::new(script);
    let project = project.ceiling(1.0);
    let check = |_: &ChildReport| Err("Nothing is there.".to_owned());
    let problem = run_parallel(&project.run, &[task(&check), task(&satisfied)])
        .remove(0)
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Limit, "{problem}");
    // A share is spent although the run has enough left.
    let project = Project::new(
        r#"grep -q dear "$prompt" || exit 0
echo 'MARVIN_COST:{"session_cost":6,"model_cost":{"own":6}}' >&2"#,
    );
    let project = project.ceiling(10.0);
    let dear = ChildTask {
        prompt: "A dear task.".to_owned(),
        ..task(&check)
    };
    let mut outcomes = run_parallel(&project.run, &[dear, task(&satisfied)]);
    outcomes.remove(1).unwrap();
    let problem = outcomes.remove(0).unwrap_err();
    assert!(problem.what.contains("its share"), "{problem}");
    assert_eq!(project.events.started().len(), 2);
}

#[test]
fn a_spent_budget_starts_no_child() {
    let project =
        Project::new(r#"echo 'MARVIN_COST:{"session_cost":1,"model_cost":{"own":1}}' >&2"#);
    let project = project.ceiling(1.0);
    run(&project.run, &task(&satisfied)).unwrap();
    let before = project.events.started().len();
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Limit, "{problem}");
    assert_eq!(project.events.started().len(), before);
}

#[test]
fn a_stop_ends_children_side_by_side_and_waits_between_attempts() {
    let project =
        Project::new("trap '' TERM; echo $$ > \"$out/pid.$$\"; while :; do sleep 0.1; done");
    let tasks: Vec<_> = (0..3).map(|_| task(&satisfied)).collect();
    let stop = project.run.ctx.stop.clone();
    let out = project.dir.path().join("bin");
    let pids = || -> Vec<String> {
        let entries = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.to_str().unwrap().contains("pid."))
            .filter_map(|path| fs::read_to_string(path).ok())
            .filter(|pid| pid.ends_with('\n'))
            .collect()
    };
    let outcomes = thread::scope(|scope| {
        let running = scope.spawn(|| run_parallel(&project.run, &tasks));
        let start = Instant::now();
        while pids().len() < 3 && start.elapsed() < LONG {
            thread::sleep(Duration::from_millis(5));
        }
        stop.fire();
        running.join().unwrap()
    });
    for outcome in outcomes {
        assert!(outcome.unwrap_err().is_cancelled());
    }
    for pid in pids() {
        assert!(is_gone(pid.trim()), "{pid}");
    }
    assert_eq!(
        project.events.started().len(),
        3,
        "nothing is tried after a stop"
    );
    let ended = project.events.ended();
    assert_eq!(ended, vec![(false, "It was stopped.".to_owned()); 3]);
}
