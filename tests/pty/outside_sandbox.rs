//! A command that asks to run outside the sandbox: a person decides.

use serde_json::json;

use crate::confirm::LIVE;
use crate::stage::{LIMIT, calls, command, last_sent, playing, quit, says, started};
use crate::support::home::Home;
use crate::support::words::TextAssertions as _;

#[test]
fn a_command_that_a_rule_lets_run_unread_is_held_and_asks_to_leave() {
    let home = Home::new();
    let server = playing([
        calls(
            "run_command",
            json!({"command": "echo in > in.txt; echo in > ../out.txt"}),
        ),
        calls(
            "run_command",
            json!({"command": "echo left > ../left.txt", "outside_sandbox": true, "reason": "It belongs there."}),
        ),
        says("That was it."),
    ]);
    let mut command = command(&home, &server);
    command.args(["--allowed-tools", "run_command"]);
    let pty = started(&command);
    pty.enter("do it", "Run this command outside the sandbox?");
    pty.wait_text("It belongs there.");
    // Though nobody chose a sandbox the model is told how to ask.
    let offered = server.request(0).json()["tools"].to_string();
    assert!(offered.contains("outside_sandbox"), "{offered}");
    assert!(home.has("work/in.txt") && !home.has("out.txt"));
    last_sent(&server, 1).assert_has(&["Permission denied", "Commands run in a sandbox here"]);
    pty.wait_text(LIVE);
    assert!(!home.has("left.txt"));
    pty.send("y");
    pty.wait_text("That was it.");
    assert_eq!(home.read("left.txt"), "left\n");
    quit(pty, &home);
}

#[test]
fn a_command_leaves_the_sandbox_only_when_the_user_agrees() {
    let home = Home::new();
    let outside = |word: &str| {
        let command = format!("echo {word} >> ../out.txt");
        let reason = "The report belongs beside the project.";
        calls(
            "run_command",
            json!({"command": command, "outside_sandbox": true, "reason": reason}),
        )
    };
    let inside = "echo in > in.txt; echo in >> ../out.txt";
    let server = playing([
        calls("run_command", json!({"command": inside})),
        outside("first"),
        outside("second"),
        says("That was it."),
    ]);
    let mut command = command(&home, &server);
    command
        .args(["--sandbox", "workspace-write"])
        .env("MARVIN_SANDBOX_EXCLUDE_TMP", "1");
    let pty = started(&command);
    pty.enter("do it", "Run this command outside the sandbox?");
    // The command inside was not asked about.
    assert!(home.has("work/in.txt") && !home.has("out.txt"));
    last_sent(&server, 1).assert_has(&["Permission denied", "Commands run in a sandbox here"]);
    pty.wait_text(LIVE);
    pty.screen()
        .assert_has(&["echo first", "The report belongs beside the project."]);
    pty.send("y");
    server.wait_requests(3, LIMIT);
    assert_eq!(home.read("out.txt"), "first\n");
    pty.wait_text("echo second");
    pty.wait_text(LIVE);
    pty.send("n");
    pty.wait_text("That was it.");
    assert_eq!(home.read("out.txt"), "first\n");
    last_sent(&server, 3).assert_has(&["outside the sandbox"]);
    let offered = server.request(0).json()["tools"].to_string();
    assert!(offered.contains("outside_sandbox"), "{offered}");
    quit(pty, &home);
}
