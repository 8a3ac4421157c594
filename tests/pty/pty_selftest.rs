//! Tests of the test terminal itself, with small known programs.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use rustix::termios::LocalModes;

use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::words::TextAssertions;

fn shell(home: &Home, script: &str) -> Pty {
    let mut command = Pty::command(Path::new("/bin/sh"), home);
    command.args(["-c", script]);
    Pty::spawn(&command, (80, 24))
}

#[test]
fn what_is_typed_is_echoed_and_read() {
    let home = Home::new();
    let mut pty = shell(&home, "read line; echo \"got $line\"; exit 7");
    pty.enter("words", "got words");
    assert_eq!(pty.wait().code(), Some(7));
    pty.wait_closed();
    assert_eq!(pty.screen(), "words\ngot words");
}

#[test]
fn the_size_is_known_and_changes() {
    let home = Home::new();
    // A signal between the shell's look for traps and its `read` would wait for the next line: `sleep` ends by itself.
    let pty = shell(
        &home,
        "trap 'stty size' WINCH; stty size; while :; do sleep 0.1; done",
    );
    pty.wait_text("24 80");
    pty.resize(100, 30);
    pty.wait_text("30 100");
}

#[test]
fn control_c_reaches_the_program_as_a_signal() {
    let home = Home::new();
    // A background job starts its programs with SIGINT ignored; GNU's env takes that back, before the program says that it is ready.
    let program = "sh -c 'echo ready; exec cat'";
    let mut pty = shell(
        &home,
        &format!(
            "env --default-signal=INT true 2>/dev/null && exec env --default-signal=INT {program}; exec {program}"
        ),
    );
    pty.wait_text("ready");
    pty.control('c');
    assert_eq!(pty.wait().signal(), Some(2));
}

#[test]
fn the_modes_are_the_programs() {
    let home = Home::new();
    let mut pty = shell(&home, "stty -echo; echo off; read x; stty echo; echo on");
    pty.wait_text("off");
    assert!(!pty.modes().local.contains(LocalModes::ECHO));
    pty.send("\r");
    assert_eq!(pty.wait().code(), Some(0));
    assert!(pty.modes().local.contains(LocalModes::ECHO));
}

#[test]
fn a_terminal_that_vanishes_ends_the_session() {
    let home = Home::new();
    let mut pty = shell(&home, "echo ready; exec cat");
    pty.wait_text("ready");
    pty.hang_up();
    let status = pty.wait();
    assert!(
        status.signal() == Some(1) || status.code() == Some(1),
        "{status}"
    );
}

#[test]
fn the_built_binary_knows_its_terminal() {
    let home = Home::new();
    let mut pty = Pty::marvin(&home, &["--version"], (80, 24));
    assert_eq!(pty.wait().code(), Some(0));
    pty.wait_closed();
    pty.screen().assert_has(&[env!("CARGO_PKG_VERSION")]);
}
