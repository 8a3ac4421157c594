//! The entry of the day.

use super::*;
use crate::base::testing::assert_has;

#[test]
fn what_was_said_becomes_diary_and_facts() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let list = r#"Facts: [{"branch":"user","fact":"The user has a hen, Ada"},{"branch":"DIRECTIVES","fact":"Be brief"},{"branch":"PET","fact":"the USER has a hen, ADA"},{"fact":7},"x"]"#;
    let script = Script::new(&[SUMMARY, (Stage::GraphExtract, list)]);
    let (outcome, lines) = update(
        &memory,
        &script,
        &["User: my hen is Ada, password=hunter2", "Assistant: Noted."],
    );
    assert!(outcome.unwrap());
    assert_eq!(script.stages(), [Stage::Summariser, Stage::GraphExtract]);
    let asked = script.user(0);
    assert_has(
        &asked,
        &["User: my hen is Ada, password=[REDACTED]\nAssistant: Noted."],
    );
    let row = memory
        .diary_get(date(2026, 11, 21), DiarySource::Text)
        .unwrap()
        .unwrap();
    assert_eq!(
        row.line(),
        "[2026-11-21] The user has a hen. She is called Ada. (Topics: hens, pets, names)"
    );
    assert_eq!(facts(&memory, "user"), ["The user has a hen, Ada"]);
    assert_eq!(facts(&memory, "directives"), ["Be brief"]);
    assert_eq!(
        lines,
        [
            "🧠 Knowledge graph: learned 2 new facts",
            "  The user has a hen, Ada → User",
            "  Be brief → Directives",
        ]
    );
    assert_eq!(
        store(home.path()).node("user").unwrap().unwrap().accesses,
        1
    );
}

#[test]
fn without_a_usable_summary_nothing_is_written_or_marked() {
    for (answer, wrong) in [
        (Some("It was a nice talk."), false),
        (Some("SUMMARY: Only this."), false),
        (Some("TOPICS: a, b"), false),
        (Some("SUMMARY:\nTOPICS: a"), false),
        (Some("SUMMARY: x\nTOPICS: ,"), false),
        (None, true),
    ] {
        let home = tempfile::tempdir().unwrap();
        let memory = store(home.path());
        let script = answer.map(|text| (Stage::Summariser, text));
        let script = Script::new(script.as_slice());
        let (outcome, lines) = update(&memory, &script, &["User: blue door"]);
        match outcome {
            Ok(saved) => assert!(!saved && !wrong, "{answer:?}"),
            Err(_) => assert!(wrong, "{answer:?}"),
        }
        assert!(lines.is_empty());
        assert!(!home.path().join("profiles/main/memory/diary.json").exists());
    }
}

#[test]
fn a_long_talk_is_folded_in_ten_at_a_time_and_stored_at_the_end() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let rows: Vec<String> = (1..=11)
        .map(|number| format!("User: line {number}"))
        .collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let first = (Stage::Summariser, "SUMMARY: First ten.\nTOPICS: one");
    // The second call fails: nothing of the first is kept.
    let (outcome, _) = update(&memory, &Script::new(&[first]), &rows);
    assert!(outcome.is_err());
    assert!(memory.diary_all().unwrap().is_empty());
    let script = Script::new(&[
        first,
        (
            Stage::Summariser,
            "**SUMMARY**: All.\n**TOPICS:** `two`, (three)",
        ),
    ]);
    assert!(update(&memory, &script, &rows).0.unwrap());
    assert!(script.user(0).contains("line 10") && !script.user(0).contains("line 11"));
    assert!(script.user(1).contains("First ten.") && script.user(1).contains("line 11"));
    let row = memory.diary_all().unwrap().remove(0);
    assert_eq!(
        (row.summary.as_str(), row.topics.join("/").as_str()),
        ("All.", "two/three")
    );
}

#[test]
fn an_entry_that_changed_meanwhile_is_summarised_again() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let other = store(home.path());
    let once = std::sync::Once::new();
    let mut script = Script::new(&[SUMMARY, (Stage::Summariser, "SUMMARY: Both.\nTOPICS: a")]);
    script.meanwhile = Some(Box::new(move |_| {
        once.call_once(|| {
            let row = DiaryRow::new(
                date(2026, 11, 21),
                DiarySource::Text,
                "Elsewhere.",
                &[],
                other.now(),
            );
            other.diary_put(row).unwrap();
        });
    }));
    assert!(update(&memory, &script, &["User: hello"]).0.unwrap());
    assert!(script.user(1).contains("Elsewhere."));
    assert_eq!(memory.diary_all().unwrap()[0].summary, "Both.");
}

#[test]
fn a_stop_leaves_everything_pending() {
    let home = tempfile::tempdir().unwrap();
    let memory = store(home.path());
    let stop = Cancel::new();
    stop.fire();
    let script = Script::new(&[SUMMARY]);
    let trace = Trace::new(TraceLevel::Off, Arc::new(TraceLines::default()));
    let rows = pending(&["User: x"]);
    let outcome = run(
        &memory,
        &script,
        &ReplySettings::default(),
        &rows,
        &trace,
        memory.now(),
        &stop,
    );
    assert!(outcome.unwrap_err().is_cancelled());
    assert!(script.stages().is_empty());
}

#[test]
fn long_rows_are_cut_and_batches_fit_a_small_window() {
    let rows = vec!["x".repeat(9_000), "y".to_owned()];
    let batches = summary::batches(&rows);
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(batches.concat().concat().len(), 9_001);
    assert!(summary::batches(&[]).is_empty());
}
