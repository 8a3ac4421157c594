//! What a terminal must be like once a program has left it, and a program that panics on one: the test binary runs itself as that program.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::thread;

use marvin::testing::terminal::{TerminalGuard, TerminalModes};
use rustix::termios::LocalModes;

use crate::support::home::Home;
use crate::support::pty::{Modes, Pty};
use crate::support::words::TextAssertions;

pub(crate) fn raw(modes: &Modes) -> bool {
    !modes
        .local
        .intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
}

/// The settings of an unused terminal.
pub(crate) fn untouched(home: &Home) -> Modes {
    let mut command = Pty::command(Path::new("/bin/sh"), home);
    command.args(["-c", "echo up; read x"]);
    let pty = Pty::spawn(&command, (60, 10));
    pty.wait_text("up");
    pty.modes()
}

/// Fails the test unless the program left everything as it was.
pub(crate) fn restored(pty: &Pty, home: &Home) {
    pty.wait_closed();
    assert_eq!(pty.modes(), untouched(home));
    pty.with(|screen| {
        assert!(!screen.alternate_screen(), "the other screen");
        assert!(!screen.hide_cursor(), "a hidden cursor");
        assert!(!screen.bracketed_paste(), "marked pastes");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        assert_eq!(screen.fgcolor(), vt100::Color::Default);
    });
    let bytes = String::from_utf8_lossy(&pty.raw()).into_owned();
    let count = |sequence: &str| bytes.matches(sequence).count();
    for (on, off) in [
        ("\x1b[?1049h", "\x1b[?1049l"),
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[?1004h", "\x1b[?1004l"),
        ("\x1b[?1007s\x1b[?1007h", "\x1b[?1007r"),
        ("\x1b[?1036s\x1b[?1036h", "\x1b[?1036r"),
        ("\x1b[>5u", "\x1b[<u"),
        ("\x1b[>4;1m", "\x1b[>4m"),
        ("\x1b[22;0t", "\x1b[23;0t"),
    ] {
        assert!(count(on) > 0, "{on:?} is not asked for");
        assert_eq!(count(on), count(off), "{on:?} is not taken back");
        assert!(bytes.rfind(on) < bytes.rfind(off), "{on:?} comes last");
    }
    for question in ["\x1b[c", "\x1b[6n", "\x1b]1;", "\x1b[?1000h", "\x1b[?1003h"] {
        assert!(!bytes.contains(question), "{question:?} was sent");
    }
}

/// Marks the process as the program that panics.
const ROLE: &str = "MARVIN_TEST_TERMINAL_APP";

/// The program, when the environment asks for it.
#[test]
fn the_program() {
    if std::env::var_os(ROLE).is_some() {
        run();
        exit(0);
    }
}

/// Panics at `p`, has another thread panic at `t`, and ends at `q`.
fn run() {
    let modes = TerminalModes::of(Some("xterm-256color"), None, false, false);
    let guard = TerminalGuard::enter(modes, Some(PathBuf::from("crash.txt"))).unwrap();
    eprint!("ready");
    for key in std::io::stdin().bytes() {
        match key.unwrap() {
            b'p' => panic!("on purpose"),
            b't' => {
                let worker = thread::Builder::new().name("worker".to_owned());
                let done = worker.spawn(|| panic!("on the side")).unwrap().join();
                eprint!("worker {} {}", done.is_err(), guard.crashed());
            }
            b'q' => return,
            _ => {}
        }
    }
}

/// Starts it on a terminal and waits until it has that.
fn start(home: &Home) -> Pty {
    let mut command = Pty::command(&std::env::current_exe().unwrap(), home);
    command
        .args(["--exact", "terminal::the_program", "--nocapture", "--quiet"])
        .env(ROLE, "1");
    let pty = Pty::spawn(&command, (60, 10));
    pty.wait_text("ready");
    pty
}

#[test]
fn a_panic_restores_the_terminal_then_names_its_report() {
    let home = Home::new();
    let mut pty = start(&home);
    pty.send("p");
    assert_eq!(pty.wait().code(), Some(101));
    restored(&pty, &home);
    let bytes = String::from_utf8_lossy(&pty.raw()).into_owned();
    let (_, after) = bytes.split_once("\x1b[?1049l").unwrap();
    after.assert_has(&["Marvin crashed. The report is in crash.txt."]);
    home.read("work/crash.txt")
        .assert_has(&["on purpose", "terminal.rs"]);
}

#[test]
fn a_panic_in_another_thread_is_reported_at_the_end() {
    let home = Home::new();
    let mut pty = start(&home);
    pty.send("t");
    pty.wait_text("worker true true");
    assert!(pty.with(vt100::Screen::alternate_screen));
    pty.screen().assert_lacks(&["crashed"]);
    pty.send("q");
    assert_eq!(pty.wait().code(), Some(0));
    restored(&pty, &home);
    pty.screen().assert_has(&["The report is in crash.txt."]);
    home.read("work/crash.txt").assert_has(&["thread worker"]);
}
