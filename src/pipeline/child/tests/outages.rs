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
    let project = Project::with(&outage(300), &[("MARVIN_PROVIDER_PATIENCE", "0")]);
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert_has(&problem.what, &["in 4 attempts: It failed"]);
    assert_eq!(problem.kind, ProblemKind::Network);
    assert_eq!(project.events.started().len(), 4);
    assert_eq!(project.events.started().last().unwrap().1, "better");
}

#[test]
fn when_patience_is_used_up_nobody_else_asks_the_same_provider() {
    for (wait, words, patience, pauses_told, last_resort, starts) in [
        // One second is enough for three of these.
        (300, "cannot answer now", "1", 3, "openai:better", 4),
        (300, "cannot answer now", "1", 3, "anthropic:better", 5),
        // It asks for more than there is.
        (3_600_000, "asks to wait 1 h", "6", 0, "openai:better", 1),
    ] {
        let mut project = Project::with(&outage(wait), &[("MARVIN_PROVIDER_PATIENCE", patience)]);
        project.with_last_resort(last_resort);
        let problem = run(&project.run, &task(&satisfied)).unwrap_err();
        assert_has(
            &problem.one_line(),
            &[
                &format!("because openai {words}, and no more is waited for it"),
                "MARVIN_PROVIDER_PATIENCE",
            ],
        );
        // Of this kind a run ends.
        assert_eq!(problem.kind, ProblemKind::Limit);
        assert_eq!(pauses(&project).len(), pauses_told, "{last_resort}");
        assert_eq!(project.events.started().len(), starts, "{last_resort}");
    }
}

#[test]
fn an_account_that_is_used_up_is_asked_once() {
    let project = Project::new(
        "echo 'MARVIN_FAILURE:{\"kind\":\"limit\",\"lasting\":true}' >&2; echo 'Error: the quota is used up.' >&2; exit 1",
    );
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert_has(&problem.what, &["in 1 attempt: It failed"]);
    assert_eq!(project.events.started().len(), 1);
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
