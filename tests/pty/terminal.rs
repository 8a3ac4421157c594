//! A program on the terminal floor: it draws, sleeps when idle, and restores the terminal on every exit path.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use rustix::termios::LocalModes;

use crate::app::{command, start};
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

#[test]
fn it_draws_what_is_typed_and_quits_cleanly() {
    let home = Home::new();
    let mut pty = start(&home, "app");
    assert!(raw(&pty.modes()));
    assert!(pty.with(|screen| screen.alternate_screen() && screen.bracketed_paste()));
    pty.send("héllo 日本");
    pty.wait_text("> héllo 日本");
    pty.wait_for("the cursor behind it", |screen| {
        screen.cursor_position() == (9, 12)
    });
    pty.send("\x1b[A");
    pty.wait_text("Up");
    pty.send("\x1b");
    pty.wait_text("Esc");
    // Keys that a terminal in its usual mode keeps for itself.
    pty.control('s');
    pty.wait_text("Char('s') KeyModifiers(CONTROL)");
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
    restored(&pty, &home);
}

#[test]
fn signals_end_it_with_the_terminal_restored() {
    for (signal, code) in [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
    ] {
        let home = Home::new();
        let mut pty = start(&home, "app");
        pty.signal(signal);
        assert_eq!(pty.wait().code(), Some(code));
        restored(&pty, &home);
    }
}

#[test]
fn a_panic_restores_the_terminal_then_names_its_report() {
    let home = Home::new();
    let mut pty = start(&home, "app");
    pty.control('p');
    assert_eq!(pty.wait().code(), Some(101));
    restored(&pty, &home);
    let bytes = String::from_utf8_lossy(&pty.raw()).into_owned();
    let (_, after) = bytes.split_once("\x1b[?1049l").unwrap();
    after.assert_has(&["Marvin crashed. The report is in crash.txt."]);
    home.read("work/crash.txt")
        .assert_has(&["on purpose", "app.rs"]);
}

#[test]
fn a_panic_in_another_thread_is_reported_at_the_end() {
    let home = Home::new();
    let mut pty = start(&home, "app");
    pty.control('t');
    pty.wait_text("worker true true");
    assert!(pty.with(vt100::Screen::alternate_screen));
    pty.screen().assert_lacks(&["crashed"]);
    pty.send("on");
    pty.wait_text("> on");
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
    restored(&pty, &home);
    pty.screen().assert_has(&["The report is in crash.txt."]);
    home.read("work/crash.txt").assert_has(&["thread worker"]);
}

#[test]
fn it_follows_the_size_at_any_moment() {
    let home = Home::new();
    let mut pty = start(&home, "app");
    pty.send("text");
    pty.wait_text("> text");
    for (width, height) in [(20, 5), (500, 200), (1, 1), (80, 24)] {
        pty.resize(width, height);
        let all = format!("size {width}x{height}");
        let head: String = all.chars().take(usize::from(width)).collect();
        let seen = if height > 1 { head } else { ">".to_owned() };
        pty.wait_for(&seen, |screen| screen.contents().starts_with(&seen));
    }
    pty.wait_text("> text");
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
    restored(&pty, &home);
}

/// A shell whose script runs the program in the place of `APP`.
fn shell(home: &Home, script: &str) -> Pty {
    let program = command(home, "app");
    let mut text = vec![program.get_program().to_string_lossy().into_owned()];
    text.extend(
        program
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned()),
    );
    let mut shell = Pty::command(Path::new("/bin/sh"), home);
    for (name, value) in program.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell.args(["-c", &script.replace("APP", &text.join(" "))]);
    let pty = Pty::spawn(&shell, (60, 10));
    pty.wait_text(">");
    pty
}

/// A shell with job control that runs the program, then says `in the shell`, and brings it back.
fn job(home: &Home) -> Pty {
    shell(
        home,
        "set -m; APP; echo in the shell; read go; fg >/dev/null; echo \"status $?\"; read end",
    )
}

#[test]
fn it_suspends_to_the_shell_and_comes_back() {
    let home = Home::new();
    let untouched = untouched(&home);
    let pty = job(&home);
    pty.send("kept");
    pty.wait_text("> kept");
    pty.control('z');
    pty.wait_text("in the shell");
    assert_eq!(pty.modes(), untouched);
    pty.with(|screen| {
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
    });
    pty.send("\r");
    pty.wait_text("suspended true");
    pty.wait_text("> kept");
    assert!(raw(&pty.modes()));
    // The signal that woke it may be told after that, and then the terminal is taken once more.
    pty.wait_for("the screen of the program", |screen| {
        screen.alternate_screen() && screen.bracketed_paste()
    });
    pty.send(" on");
    pty.wait_text("> kept on");
    pty.control('q');
    pty.wait_text("status 0");
    assert_eq!(pty.modes(), untouched);
}

#[test]
fn a_stop_signal_suspends_it_too() {
    let home = Home::new();
    let pty = job(&home);
    let children = format!("/proc/{0}/task/{0}/children", pty.pid().as_raw_nonzero());
    let child: i32 = fs::read_to_string(children)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let child = rustix::process::Pid::from_raw(child).unwrap();
    rustix::process::kill_process(child, Signal::TSTP).unwrap();
    pty.wait_text("in the shell");
    pty.send("\r");
    pty.wait_text("suspended true");
    pty.control('q');
    pty.wait_text("status 0");
}

#[test]
fn without_a_shell_it_does_not_suspend() {
    let home = Home::new();
    // The leader of a session, and the command of one that controls no jobs (`ssh host 'marvin; true'`).
    for pty in [start(&home, "app"), shell(&home, "APP; true")] {
        pty.control('z');
        pty.wait_text("suspended false");
        pty.send("awake");
        pty.wait_text("> awake");
    }
}

#[test]
fn another_program_gets_the_whole_terminal() {
    let home = Home::new();
    let mut pty = start(&home, "app");
    for round in 1..=20 {
        let line = format!("line {round}");
        pty.control('e');
        pty.wait_text(&format!("outside {round}"));
        pty.send(format!("{line}\r"));
        // Not a letter of it may go to the program below.
        pty.wait_for("the program again", |screen| {
            screen.alternate_screen() && screen.contents().contains("editor true")
        });
        assert_eq!(home.read("work/edited.txt"), format!("{line}\n"));
        assert!(!pty.screen().contains(&line), "{}", pty.screen());
        // `clear` between the rounds, so that the next one is recognisable.
        pty.send("\x1b[1;2A".repeat(8));
        pty.wait_gone("editor");
    }
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
    restored(&pty, &home);
}

#[test]
fn a_megabyte_pasted_is_one_event() {
    let home = Home::new();
    let pty = start(&home, "app");
    let text = "a line of a paste\n".repeat(60_000);
    let started = std::time::Instant::now();
    pty.paste(&text);
    pty.wait_text(&format!("pasted {} bytes, 60000 lines", text.len()));
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    // And without marks, as a plain terminal sends it.
    let pty = start(&home, "console");
    pty.enter(
        "first of the pasted lines\rsecond of the pasted lines",
        "pasted 53 bytes, 2 lines",
    );
}

#[test]
fn a_vanished_terminal_is_reported_once() {
    let home = Home::new();
    let mut pty = start(&home, "deaf");
    pty.hang_up();
    assert_eq!(pty.wait().code(), Some(3));
    let told = home.read("work/gone.txt");
    assert_eq!(told, "1 true", "once, and drawing failed");
    let home = Home::new();
    let mut pty = start(&home, "app");
    pty.hang_up();
    let code = pty.wait().code();
    assert!(matches!(code, Some(129 | 3)), "{code:?}");
}

/// Wake-ups of every thread of a process so far.
fn wake_ups(pty: &Pty) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", pty.pid().as_raw_nonzero())).unwrap();
    let status = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")).unwrap());
    let count = |text: String| -> u64 {
        text.lines()
            .filter(|line| line.contains("ctxt_switches"))
            .map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap())
            .sum()
    };
    status.map(count).sum()
}

#[test]
fn it_sleeps_while_idle() {
    let home = Home::new();
    let pty = start(&home, "app");
    pty.send("x");
    pty.wait_text("> x");
    // Time for the effects of the key to finish.
    std::thread::sleep(Duration::from_millis(300));
    let before = wake_ups(&pty);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(wake_ups(&pty), before);
}
