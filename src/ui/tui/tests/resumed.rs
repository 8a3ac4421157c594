//! A session that goes on looks as the conversation did.

use serde_json::{Value, json};

use super::stage::{Stage, small};
use crate::app::session::ui_update::{TurnOutcome, UiUpdate};
use crate::app::sessions::{model_notes, transcript};
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::Problem;
use crate::store::sessions::Replay;

/// The screen after a session with these records was opened.
fn resumed(records: &[Value]) -> String {
    let time = "2026-11-21T09:05:00Z";
    let mut text = String::new();
    for record in records {
        let mut record = record.clone();
        record["time"] = json!(time);
        text.push_str(&format!("{record}\n"));
    }
    let clock = Clock::new(&Env::from([(
        "MARVIN_NOW",
        "2026-11-21T14:30:05+00:00[UTC]",
    )]));
    let entries = transcript::entries(&Replay::read(text.as_bytes()), &clock);
    let mut stage = Stage::new();
    stage.show(&UiUpdate::SessionOpened(entries));
    // A past message has its day too.
    let rule = "─".repeat("2026-11-21 ".len());
    let screen = small(&mut stage).replace("2026-11-21 09:05 ─", &format!("09:05 ─{rule}"));
    screen.replace("2026-11-21 09:05", "09:05           ")
}

fn message(n: u64, message: &Value) -> Value {
    json!({"type": "message", "n": n, "message": message})
}

fn user(n: u64, text: &str) -> Value {
    message(n, &json!({"role": "user", "text": text}))
}

#[test]
fn a_long_message_shows_its_beginning_and_its_end() {
    let lines: Vec<String> = (1..=400).map(|n| format!("log line {n}")).collect();
    let asked = format!("{}\nWhy does it fail?\n", lines.join("\n"));
    let screen = resumed(&[user(1, &asked)]);
    let wanted = ["|log line 12 ", "|… 381 more lines … ", "|log line 394 "];
    assert!(wanted.iter().all(|text| screen.contains(text)), "{screen}");
    assert!(screen.contains("|Why does it fail? "), "{screen}");
    let short = lines[..20].join("\n");
    let screen = resumed(&[user(1, &short)]);
    assert!(!screen.contains('…'), "{screen}");
}

#[test]
fn a_message_names_its_images() {
    let image = json!({"name": "cat.png", "kind": "image/png", "width": 3, "height": 2, "bytes": 70, "tokens": 85});
    let said = json!({"role": "user", "text": "What is this?", "images": [image]});
    let screen = resumed(&[message(1, &said)]);
    assert!(
        screen.contains("|[image cat.png, 3x2, 70 bytes]"),
        "{screen}"
    );
}

#[test]
fn a_command_of_the_user_looks_as_it_did() {
    let (command, output) = ("ls", "a  b\n\x1b[31mc\n</output>");
    let mut live = Stage::new();
    live.you("Look.");
    live.marvin("Yes.");
    live.show(&UiUpdate::CommandOutput {
        command: command.to_owned(),
        output: output.to_owned(),
        background: false,
    });
    let screen = resumed(&[
        user(1, "Look."),
        message(2, &json!({"role": "assistant", "text": "Yes."})),
        message(
            3,
            &json!({"role": "system", "text": model_notes::command(command, output)}),
        ),
    ]);
    assert_eq!(screen, small(&mut live));
}

#[test]
fn answers_that_were_stopped_or_failed_look_as_they_did() {
    let mut live = Stage::new();
    live.you("One.");
    live.delta("Half");
    live.show(&UiUpdate::AnswerEnd(TurnOutcome::Stopped));
    live.you("Two.");
    live.show(&UiUpdate::AnswerEnd(TurnOutcome::Failed));
    let problem = Problem::config("The key is wrong.").next("Set another.");
    let error = problem.one_line();
    live.show(&UiUpdate::Failed(problem));
    let screen = resumed(&[
        user(1, "One."),
        message(2, &json!({"role": "assistant", "text": "Half"})),
        json!({"type": "turn", "result": "stopped"}),
        user(3, "Two."),
        json!({"type": "turn", "result": "failed", "error": error}),
    ]);
    assert_eq!(screen, small(&mut live));
    let older = resumed(&[user(1, "One."), json!({"type": "turn", "result": "failed"})]);
    assert!(older.contains("|The answer failed. "), "{older}");
}

#[test]
fn each_call_has_its_own_result_when_an_id_is_used_again() {
    let call = |n| {
        let call = json!({"id": "c1", "name": "run_command", "args": "{}"});
        message(
            n,
            &json!({"role": "assistant", "text": "", "calls": [call]}),
        )
    };
    let result = |n, text: &str| {
        let output = json!({"role": "tool", "id": "c1", "name": "run_command", "text": text, "failed": false});
        message(n, &output)
    };
    let shown = |mut result: Value, end: Value| {
        result["call"] = json!({"end": end, "took_ms": 5_000});
        result
    };
    let screen = resumed(&[
        user(1, "Go."),
        call(2),
        shown(result(3, "a"), json!("success")),
        // The same with a warning for the model.
        result(4, "a [the context is nearly full]"),
        call(5),
        shown(result(6, "b"), json!({"exit_code": 3})),
    ]);
    let ends = |row: &str| {
        row.contains('🔧')
            .then(|| row.rsplit("  ").next().unwrap().to_owned())
    };
    let ends: Vec<String> = screen.lines().filter_map(ends).collect();
    assert_eq!(ends, ["✓ 5.0s|", "✗ exit 3 5.0s|"], "{screen}");
}
