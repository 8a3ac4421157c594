//! A provider that cannot answer is waited for: that is no attempt.

use super::*;

/// What a child prints whose provider has failed, and asks for `wait` milliseconds.
fn outage(wait: u64) -> String {
    format!(
        "echo 'MARVIN_FAILURE:{{\"kind\":\"network\",\"outage\":{{\"provider\":\"openai\",\"retry_after_ms\":{wait}}}}}' >&2; echo 'Error: openai failed (503).' >&2; exit 1"
    )
}

/// The pauses that were announced, in milliseconds.
fn pauses(project: &Project) -> Vec<u64> {
    let events = project.events.events();
    let pauses = events.iter().filter_map(|event| match event {
        PipelineEvent::ProviderWait {
            label,
            provider,
            milliseconds,
        } => {
            assert_eq!((label.as_str(), provider.as_str()), ("writer", "openai"));
            Some(*milliseconds)
        }
        _ => None,
    });
    pauses.collect()
}

#[test]
fn an_outage_takes_no_attempt_and_no_other_model() {
    let script = format!("[ $n -gt 6 ] && exit\n{}", outage(100));
    let project = Project::new(&script);
    run(&project.run, &task(&satisfied)).unwrap();
    assert_eq!(pauses(&project), [100; 6]);
    let started = project.events.started();
    assert_eq!(started, vec![("writer".to_owned(), "own".to_owned()); 7]);
    // It had not begun, so there is nothing to tell.
    assert_eq!(project.saw("prompt", 7), "Write the document.");
}

#[test]
fn who_had_begun_is_told_what_is_there() {
    let project = Project::new(&format!(
        "[ $n = 2 ] && exit\necho 'MARVIN_COST:{{\"session_cost\":0.1,\"llm_turns\":1,\"model_turns\":{{}},\"model_cost\":{{}},\"input_tokens\":10,\"output_tokens\":1}}' >&2; echo 'I began.'\n{}",
        outage(100)
    ));
    run(&project.run, &task(&satisfied)).unwrap();
    assert_has(
        &project.saw("prompt", 2),
        &["# An earlier attempt", "I began."],
    );
}

#[test]
fn without_patience_an_outage_is_an_ordinary_failure() {
    for (variables, pauses_told) in [
        (&[("MARVIN_PROVIDER_PATIENCE", "0")][..], 0),
        // One second is enough for three of these, and the attempts begin only then.
        (&[("MARVIN_PROVIDER_PATIENCE", "1")], 3),
    ] {
        let project = Project::with(&outage(300), variables);
        let problem = run(&project.run, &task(&satisfied)).unwrap_err();
        assert_has(&problem.what, &["in 4 attempts: It failed"]);
        assert_eq!(problem.kind, ProblemKind::Network);
        assert_eq!(pauses(&project).len(), pauses_told, "{variables:?}");
        assert_eq!(project.events.started().len(), 4 + pauses_told);
        assert_eq!(project.events.started().last().unwrap().1, "better");
    }
}

#[test]
fn a_pause_ends_when_the_run_is_stopped() {
    let project = Project::new(&outage(60_000));
    let stop = project.run.ctx.stop.clone();
    let started = Instant::now();
    let problem = thread::scope(|scope| {
        scope.spawn(|| {
            while pauses(&project).is_empty() && started.elapsed() < LONG {
                thread::sleep(Duration::from_millis(5));
            }
            stop.fire();
        });
        run(&project.run, &task(&satisfied)).unwrap_err()
    });
    assert!(problem.is_cancelled(), "{problem}");
    assert_eq!(project.events.started().len(), 1);
}
