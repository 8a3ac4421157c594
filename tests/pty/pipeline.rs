//! A run of the pipeline on a terminal: drawn in place on the ordinary screen, and readable afterwards.

use std::process::Command;

use rustix::process::Signal;

use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::words::TextAssertions;

/// A run in the working directory whose model nobody serves: its first child tries for as long as the test needs.
fn command(home: &Home) -> Command {
    let mut command = Pty::command(env!("CARGO_BIN_EXE_marvin").as_ref(), home);
    command
        .args(["--non-interactive", "--design-first"])
        .args(["--provider", "openai-compat", "--model", "all=test-model"])
        .args(["--prompt", "A to-do list for the terminal", "--working-dir"])
        .arg(home.work())
        .env("OPENAI_COMPAT_URL", "http://127.0.0.1:9/v1")
        .env("OPENAI_COMPAT_API_KEY", "test-key");
    command
}

#[test]
fn the_picture_is_drawn_in_place_and_stays_when_the_run_is_stopped() {
    let home = Home::new();
    let mut pty = Pty::spawn(&command(&home), (100, 80));
    pty.wait_text("of 11 phases");
    pty.wait_text("· test-model");
    pty.wait_text("Run started, ticket");
    pty.screen()
        .assert_has(&["tier          model       provider"]);
    // The times change, the picture stays where it is.
    pty.wait_text("2s · ");
    let pictures = |screen: &str| screen.matches("of 11 phases").count();
    assert_eq!(pictures(&pty.screen()), 1, "{}", pty.screen());
    pty.resize(60, 80);
    pty.resize(20, 80);
    pty.resize(100, 80);
    pty.signal(Signal::INT);
    assert!(!pty.wait().success());
    pty.wait_closed();
    let screen = pty.screen();
    screen.assert_has(&["Pipeline stopped"]);
    assert!(screen.contains("Next: "), "the summary: {screen}");
    let last = screen.trim_end().lines().next_back().unwrap_or_default();
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(!raw.contains("\x1b[?1049h"), "the alternate screen");
    assert!(
        raw.trim_end()
            .rsplit("MARVIN_COST:")
            .next()
            .is_some_and(|rest| !rest.contains('\n')),
        "{last}"
    );
}

#[test]
fn without_colours_on_a_dumb_terminal_and_when_asked_for_there_are_lines() {
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb"), ("--plain", "")] {
        let home = Home::new();
        let mut command = command(&home);
        match name.starts_with('-') {
            true => command.arg(name),
            false => command.env(name, value),
        };
        let mut pty = Pty::spawn(&command, (100, 40));
        pty.wait_text("[pipeline] Phase 1a started (1 of 11)");
        pty.wait_text("[pipeline] Child ");
        pty.signal(Signal::INT);
        assert!(!pty.wait().success());
        pty.wait_closed();
        let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
        assert!(!raw.contains('\x1b'), "{raw:?}");
        raw.assert_has(&["[pipeline] Run stopped after "]);
    }
}

/// A run that waits for the approval of the architecture; `EDITOR` adds a line.
fn waiting(home: &Home) -> Pty {
    for name in ["spec", "ux", "design"] {
        let text = "A line of the document.\n".repeat(50);
        home.write(&format!("work/.marvin/{name}.md"), text);
    }
    home.write("work/.marvin/pipeline_state", "1b_review");
    let editor = home.program("editor", "#!/bin/sh\necho 'Edited.' >> \"$1\"\n");
    let mut command = command(home);
    command.args(["--approve", "design"]).env("EDITOR", editor);
    let pty = Pty::spawn(&command, (100, 80));
    // Before there is a question it answers none.
    pty.send("g\r");
    pty.wait_text("waits for your approval (design).");
    pty
}

#[test]
fn on_a_terminal_the_user_is_asked_for_approval_and_may_edit_or_stop() {
    let home = Home::new();
    let mut pty = waiting(&home);
    pty.wait_text("e edit a document");
    pty.enter("perhaps", "is none of these");
    pty.send("e\r");
    pty.wait_for("the question again", |screen| {
        screen.contents().matches("g go on").count() == 3
    });
    assert!(home.read("work/.marvin/design.md").ends_with("Edited.\n"));
    pty.send("s\r");
    assert!(pty.wait().success());
    pty.wait_closed();
    pty.screen().assert_has(&[
        "Read: .marvin/design.md",
        "Go on, which approves it: marvin",
    ]);
}

#[test]
fn an_approval_from_another_terminal_ends_the_question_and_the_picture_comes_back() {
    let home = Home::new();
    let mut pty = waiting(&home);
    let approve = home
        .marvin()
        .dir(&home.work())
        .line("pipeline approve design");
    approve.run().expect(0).stdout_has(&["The run goes on."]);
    pty.wait_text("It was approved elsewhere.");
    pty.wait_text("functional-test-writer");
    pty.signal(Signal::INT);
    assert!(!pty.wait().success());
    pty.wait_closed();
}

#[test]
fn an_interrupt_ends_a_run_that_waits_for_approval_and_approves_nothing() {
    let home = Home::new();
    let mut pty = waiting(&home);
    pty.wait_text("g go on");
    pty.control('c');
    assert!(!pty.wait().success());
    pty.wait_closed();
    let mut again = command(&home);
    again
        .args(["--approve", "design"])
        .stdin(std::process::Stdio::null());
    let done = again.output().unwrap();
    String::from_utf8_lossy(&done.stdout).assert_has(&["waits for your approval (design)."]);
    home.read("work/.marvin/logs/pipeline-approvals.json")
        .assert_lacks(&["was approved", "how"]);
}
