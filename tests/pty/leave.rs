//! Ctrl-C, Ctrl-D and Ctrl-Z in both interfaces: when they leave, when they do not, and that no draft is lost.

use std::process::Command;
use std::time::Duration;

use crate::stage::{
    SIZE, begin, command, conversation, end, full, input, lines, more, plain_command, playing,
    quit, says, unasked, wait_input,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::words::TextAssertions;

/// Longer than the time allowed between two presses of Ctrl-C.
const APART: Duration = Duration::from_millis(2_300);

/// The command in a shell with job control, which says `in the shell` each time it is stopped, and brings it back after Enter.
pub(crate) fn in_a_shell(marvin: &Command, home: &Home, times: usize) -> Pty {
    let text: Vec<_> = std::iter::once(marvin.get_program())
        .chain(marvin.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let back = (1..=times)
        .map(|n| format!("echo \"in the shell {n}\"; read go; fg >/dev/null; "))
        .collect::<String>();
    let script = format!(
        "set -m; {}; {back}echo \"status $?\"; read end",
        text.join(" ")
    );
    let mut shell = Pty::command("/bin/sh".as_ref(), home);
    for (name, value) in marvin.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell.args(["-c", &script]);
    Pty::spawn(&shell, SIZE)
}

#[test]
fn keys_go_to_the_external_editor() {
    let home = Home::new();
    // A signal that comes just before a `read` would wait for its end, so the editor looks for it between short sleeps.
    let editor = home.program(
        "bin/editor",
        "#!/bin/sh\necho editing; kill -TSTP 0; trap 'got=1; echo interrupted' INT; echo awake\n\
         until [ \"$got\" ]; do sleep 0.05; done; while ! read -r line; do :; done; echo \"# $line\" >> \"$1\"; kill -INT 0; exit 1\n",
    );
    let server = unasked();
    let mut command = command(&home, &server);
    command.env("EDITOR", &editor);
    let pty = in_a_shell(&command, &home, 1);
    pty.wait_text("test-model");
    pty.enter("preferences", "in the shell 1");
    pty.send("\r");
    pty.wait_text("awake");
    pty.control('c');
    pty.wait_text("interrupted");
    pty.send("written\r");
    // An interrupt that comes with its end is not Marvin's either.
    pty.wait_for("its end", |screen| {
        screen.contents().replace('\n', " ").contains("ended with")
    });
    pty.send("still here");
    wait_input(&pty, "> still here");
    home.read("config/profiles/main/preferences.yaml")
        .assert_has(&["# written"]);
    pty.control('q');
    pty.wait_text("status 0");
}

#[test]
fn two_presses_far_apart_do_not_quit() {
    let home = Home::new();
    let server = unasked();
    let full = full(&home, &server);
    full.control('c');
    full.wait_text("again to quit");
    // No key and no event: the hint goes by itself, when it is no longer true.
    full.wait_gone("again to quit");
    full.control('c');
    full.send("still here");
    wait_input(&full, "> still here");
    quit(full, &home);

    let mut plain = lines(&home, &server);
    plain.control('c');
    plain.wait_text("again to quit");
    std::thread::sleep(APART);
    plain.control('c');
    plain.wait_for("a second hint", |screen| {
        screen.contents().matches("again to quit").count() == 2
    });
    plain.control('c');
    assert_eq!(plain.wait().code(), Some(130));
}

#[test]
fn on_a_dumb_terminal_one_press_does_not_quit() {
    let home = Home::new();
    let server = unasked();
    let mut command = command(&home, &server);
    command.env("TERM", "dumb");
    let mut pty = Pty::spawn(&command, SIZE);
    pty.wait_text("You: ");
    pty.control('c');
    pty.wait_text("again to quit");
    pty.control('c');
    assert_eq!(pty.wait().code(), Some(130));
}

#[test]
fn what_waits_is_not_sent_after_leaving_and_that_is_said() {
    let (_home, server, mut pty) = conversation([begin("Endless").stall()]);
    pty.enter("one", "Endless");
    pty.enter("two", "queued  two");
    pty.control('d');
    assert_eq!(pty.wait().code(), Some(0));
    pty.wait_closed();
    let screen = pty.screen();
    // What was under way has ended when the session is counted: the message and the part of its answer.
    screen.assert_has(&[
        ": 2 messages",
        "A message that waited was not sent: \"two\".",
    ]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn control_d_quits_only_when_the_input_is_empty() {
    let home = Home::new();
    let latch = Latch::new();
    let slow = begin("Slowly").pause(&latch);
    let server = playing([says("Heard."), end(slow)]);
    let mut full = full(&home, &server);
    full.send("a draft\x01");
    wait_input(&full, "> a draft");
    full.control('d');
    full.wait_text("Ctrl-D quits when the input is empty");
    assert_eq!(full.with(input), "> a draft");
    full.send("\x15");
    wait_input(&full, ">");
    full.control('d');
    assert_eq!(full.wait().code(), Some(0));

    let mut plain = lines(&home, &server);
    plain.send("a draft");
    plain.wait_text("You: a draft");
    plain.send("\x01");
    plain.control('d');
    plain.wait_text("Ctrl-D quits on an empty line.");
    plain.wait_for("the draft again", |screen| {
        screen.contents().matches("You: a draft").count() == 2
    });
    plain.enter("not ", "Heard.");
    assert_eq!(crate::stage::last_sent(&server, 0), "not a draft");
    plain.wait_for("a prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    // A NUL, which is Ctrl-Space, is not the end.
    std::thread::sleep(Duration::from_millis(500));
    plain.send("\0");
    plain.enter("again", "You: again");
    plain.wait_text("Slowly");
    // Typed during an answer it leaves after it.
    plain.control('d');
    latch.open();
    assert_eq!(plain.wait().code(), Some(0));
}

#[test]
fn a_cleared_draft_can_be_recalled() {
    let home = Home::new();
    let server = unasked();
    let full = full(&home, &server);
    for key in ["\x03", "\x1b"] {
        full.send("a draft of\x1b\rtwo lines");
        wait_input(&full, "> a draft of\n  two lines");
        full.send(key);
        wait_input(&full, ">");
        // After the hint has gone, and more was typed.
        full.send("x\x7f");
        full.wait_gone("again to quit");
        full.send("\x1b[A");
        wait_input(&full, "> a draft of\n  two lines");
        full.send("\x15\x15\x15");
        wait_input(&full, ">");
    }
    quit(full, &home);
    let history = home.path().join("config/profiles/main/history");
    assert!(
        !std::fs::read_to_string(history).is_ok_and(|text| text.contains("a draft of")),
        "what was never sent is on disk"
    );

    let plain = lines(&home, &server);
    plain.send("a draft");
    plain.wait_text("You: a draft");
    plain.control('c');
    plain.wait_text("again to quit");
    plain.wait_for("a new prompt", |screen| {
        screen.contents().matches("You: ").count() == 2
    });
    plain.send("\x1b[A");
    plain.wait_for("the draft again", |screen| {
        screen.contents().matches("You: a draft").count() == 2
    });
}

#[test]
fn control_z_suspends_lines_at_the_prompt_and_in_mid_answer() {
    let home = Home::new();
    let latch = Latch::new();
    let answer = begin("Endless").pause(&latch);
    let server = playing([more(answer, " words").stall()]);
    let pty = in_a_shell(&plain_command(&home, &server), &home, 2);
    pty.wait_text("You: ");
    pty.send("go on");
    pty.wait_text("You: go on");
    pty.control('z');
    pty.wait_text("in the shell 1");
    pty.send("\r");
    pty.wait_for("the line again", |screen| {
        screen.contents().matches("You: go on").count() == 2
    });
    pty.send("\r");
    pty.wait_text("Endless");
    pty.control('z');
    pty.wait_text("in the shell 2");
    pty.send("\r");
    latch.open();
    // Back in the answer, which one press stops.
    pty.wait_text(" words");
    pty.control('c');
    pty.wait_text("Stopped.");
    pty.wait_for("a prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.control('d');
    pty.wait_text("status 0");
}

#[test]
fn page_keys_scroll_ten_lines_and_with_shift_a_page() {
    let home = Home::new();
    let text: String = (1..=80).map(|n| format!("line {n:02}\n\n")).collect();
    let server = playing([says(&text)]);
    let pty = full(&home, &server);
    pty.enter("go", "line 80");
    pty.wait_text("2 msgs");
    let first = |pty: &Pty| -> Vec<String> {
        pty.with(|screen| {
            let rows = crate::stage::rows(screen).into_iter().take(20);
            rows.map(|row| row.trim_end().to_owned()).collect()
        })
    };
    let end = first(&pty);
    pty.send("\x1b[5~");
    pty.wait_text("more below");
    let ten = first(&pty);
    assert_eq!(ten[10..], end[..10], "{ten:#?}\n{end:#?}");
    pty.send("\x1b[6~");
    pty.wait_gone("more below");
    assert_eq!(first(&pty), end);
    pty.send("\x1b[5;2~");
    pty.wait_text("more below");
    let page = first(&pty);
    assert_eq!(page[19], end[0], "{page:#?}\n{end:#?}");
    quit(pty, &home);
}
