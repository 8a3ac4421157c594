//! Robustness: everything running stops at once, every exit path restores the terminal, and the conversation is kept.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::leave::in_a_shell;
use crate::stage::{
    LIMIT, begin, calls, command, conversation, end, full, input, last_sent, log, messages, more,
    playing, quit, rows, says, sent, started, unasked, until, wait_input,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::tcp::Tarpit;
use crate::support::words::TextAssertions;
use crate::terminal::{raw, restored, untouched};

/// The promised time, and the tolerance for a loaded machine.
const PROMISED: Duration = Duration::from_millis(200);
const TRIES: usize = 4;

/// Presses `key` until it has had its effect within the promised time once; each attempt starts with `start`.
fn stops(pty: &Pty, key: &str, start: impl Fn(usize)) {
    let mut times = Vec::new();
    for n in 1..=TRIES {
        start(n);
        // The screen has room for the marks of all tries.
        let earlier = pty.with(marks);
        let started = Instant::now();
        pty.send(key);
        pty.wait_for("the mark of the stop", |screen| marks(screen) > earlier);
        times.push(started.elapsed());
        if times.iter().any(|took| *took <= PROMISED) {
            return;
        }
    }
    panic!("{key:?} took {times:?}");
}

/// Rows that say that an answer was stopped.
fn marks(screen: &vt100::Screen) -> usize {
    rows(screen)
        .into_iter()
        .filter(|row| row.trim() == "stopped")
        .count()
}

#[test]
fn esc_and_control_c_stop_the_wait_for_an_answer() {
    for key in ["\x1b", "\x03"] {
        let home = Home::new();
        let server = Server::always(Answer::silence());
        let pty = full(&home, &server);
        stops(&pty, key, |n| {
            pty.send(format!("question {n}\r"));
            server.wait_requests(n, LIMIT);
            pty.wait_text("Esc to stop");
        });
        server.wait_closed(0, LIMIT);
        quit(pty, &home);
    }
}

#[test]
fn esc_and_control_c_stop_connecting() {
    let pit = Tarpit::start();
    for key in ["\x1b", "\x03"] {
        let home = Home::new();
        let server = unasked();
        let mut command = command(&home, &server);
        command.env("OPENAI_COMPAT_URL", pit.url("/v1"));
        let pty = started(&command);
        stops(&pty, key, |n| {
            pty.send(format!("question {n}\r"));
            pty.wait_text("Esc to stop");
        });
        quit(pty, &home);
    }
}

#[test]
fn esc_and_control_c_stop_an_answer_and_its_text_stays() {
    for key in ["\x1b", "\x03"] {
        let home = Home::new();
        let server = Server::with([Exchange::post("/completions")
            .by(|_, n| begin(&format!("Words that stay {n}")).stall())
            .any_times()]);
        let pty = full(&home, &server);
        stops(&pty, key, |n| {
            pty.send(format!("question {n}\r"));
            pty.wait_text(&format!("Words that stay {}", n - 1));
        });
        server.wait_closed(0, LIMIT);
        pty.screen().assert_has(&["Words that stay"]);
        // The model gets its earlier answer.
        let requests = server.requests().len();
        pty.enter("going on", &format!("Words that stay {requests}"));
        let before = sent(&server, requests);
        assert!(before[1].1.starts_with("Words that stay 0"), "{before:?}");
        pty.send("\x1b");
        pty.wait_for("another mark", |screen| marks(screen) == requests + 1);
        quit(pty, &home);
        let kept = &log(&home)[1];
        assert_eq!(
            *kept,
            (
                "assistant".to_owned(),
                "Words that stay 0\n\n[stopped]".to_owned()
            )
        );
    }
}

/// Whether a process exists and is not a zombie.
fn lives(pid: i32) -> bool {
    let pid = Pid::from_raw(pid).unwrap();
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        stat.rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('Z'))
    };
    test_kill_process(pid).is_ok() && state() == Some(false)
}

#[test]
fn esc_and_control_c_stop_a_tool_and_its_whole_group() {
    for key in ["\x1b", "\x03"] {
        let home = Home::new();
        let script = "sleep 300 & echo $! > grandchild.pid; echo $$ > child.pid; sleep 301";
        let server = playing([
            calls("run_command", json!({"command": script})),
            says("Well."),
        ])
        .lenient();
        let pty = full(&home, &server);
        pty.enter("run it", "Run this command?");
        pty.wait_text(crate::confirm::LIVE);
        pty.send("y");
        until("the command runs", || home.has("work/child.pid"));
        let pids: Vec<i32> = ["child", "grandchild"]
            .iter()
            .map(|name| {
                let file = format!("work/{name}.pid");
                until("its number", || home.read(&file).ends_with('\n'));
                home.read(&file).trim().parse().unwrap()
            })
            .collect();
        assert!(pids.iter().all(|pid| lives(*pid)));
        pty.send(key);
        pty.wait_for("the mark of the stop", |screen| marks(screen) > 0);
        until("the group is gone", || !pids.iter().any(|pid| lives(*pid)));
        quit(pty, &home);
        assert_eq!(server.requests().len(), 1, "it asked again");
    }
}

#[test]
fn esc_stops_the_wait_for_a_retry() {
    let home = Home::new();
    let server = Server::with([Exchange::post("/completions")
        .by(|_, _| Answer::status(429).header("Retry-After", "60"))
        .any_times()]);
    let pty = full(&home, &server);
    stops(&pty, "\x1b", |n| {
        pty.send(format!("question {n}\r"));
        server.wait_requests(n, LIMIT);
        pty.wait_text("Waiting 60s");
    });
    quit(pty, &home);
}

#[test]
fn a_question_is_answered_first_and_then_the_answer_stopped() {
    let (home, _server, pty) = conversation([
        calls("run_command", json!({"command": "echo x > made.txt"})),
        begin("Then not").stall(),
    ]);
    pty.enter("run it", "Run this command?");
    pty.wait_text(crate::confirm::LIVE);
    pty.control('c');
    pty.wait_text("Then not");
    pty.send("\x1b");
    pty.wait_for("the mark of the stop", |screen| marks(screen) > 0);
    assert!(!home.has("work/made.txt"));
    quit(pty, &home);
}

#[test]
fn a_second_control_c_quits() {
    let (home, _server, mut pty) = conversation([begin("Endless").stall()]);
    pty.enter("go", "Endless");
    pty.control('c');
    pty.wait_text("Press Ctrl-C again to quit");
    // As long as the answer is being stopped, something runs.
    pty.wait_for("the mark of the stop", |screen| marks(screen) > 0);
    pty.control('c');
    assert_eq!(pty.wait().code(), Some(130));
    restored(&pty, &home);
    assert_eq!(log(&home)[1].1, "Endless\n\n[stopped]");
}

#[test]
fn at_the_prompt_control_c_clears_then_quits() {
    let (home, _server, mut pty) = conversation([]);
    pty.send("a draft");
    wait_input(&pty, "> a draft");
    pty.control('c');
    wait_input(&pty, ">");
    pty.control('c');
    assert_eq!(pty.wait().code(), Some(130));
    restored(&pty, &home);
}

#[test]
fn quit_keys_work_during_an_answer() {
    for key in ['d', 'q'] {
        let (home, _server, mut pty) = conversation([begin("Endless").stall()]);
        pty.enter("go", "Endless");
        let start = Instant::now();
        pty.control(key);
        assert_eq!(pty.wait().code(), Some(0));
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
        restored(&pty, &home);
        assert_eq!(log(&home)[1].1, "Endless\n\n[stopped]", "Ctrl-{key}");
    }
}

#[test]
fn signals_during_an_answer_keep_its_text_and_restore_the_terminal() {
    for (signal, code) in [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
    ] {
        let (home, _server, mut pty) = conversation([begin("Endless").stall()]);
        pty.enter("go", "Endless");
        pty.signal(signal);
        assert_eq!(pty.wait().code(), Some(code));
        restored(&pty, &home);
        assert_eq!(log(&home)[1].1, "Endless\n\n[stopped]", "{signal:?}");
    }
}

#[test]
fn it_suspends_in_mid_answer_and_comes_back() {
    let home = Home::new();
    let before = untouched(&home);
    let latch = Latch::new();
    let answer = begin("The beginning").pause(&latch);
    let server = playing([end(more(answer, " and the end."))]);
    let pty = in_a_shell(&command(&home, &server), &home, 2);
    pty.wait_text("test-model");
    pty.enter("go", "The beginning");
    pty.send("a draft");
    wait_input(&pty, "> a draft");
    pty.control('z');
    pty.wait_text("in the shell 1");
    assert_eq!(pty.modes(), before);
    pty.with(|screen| {
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
    });
    latch.open();
    pty.send("\r");
    pty.wait_text("The beginning and the end.");
    wait_input(&pty, "> a draft");
    assert!(raw(&pty.modes()));
    // A stop signal does the same.
    let children = format!("/proc/{0}/task/{0}/children", pty.pid().as_raw_nonzero());
    let child = fs::read_to_string(children).unwrap();
    let child = Pid::from_raw(child.trim().parse().unwrap()).unwrap();
    kill_process(child, Signal::TSTP).unwrap();
    pty.wait_text("in the shell 2");
    pty.send("\r");
    wait_input(&pty, "> a draft");
    pty.control('q');
    pty.wait_text("status 0");
    assert_eq!(pty.modes(), before);
}

#[test]
fn the_size_changes_at_any_moment_of_a_stream() {
    let home = Home::new();
    let sizes = [
        (20, 5),
        (500, 200),
        (40, 12),
        (1, 1),
        (200, 50),
        (7, 3),
        (80, 24),
    ];
    let latches: Vec<Latch> = sizes.iter().map(|_| Latch::new()).collect();
    let mut answer = begin("begin ");
    for (n, latch) in latches.iter().enumerate() {
        answer = answer.pause(latch);
        let text = format!("piece {n} with **bold** words, 日本語 and more of it, ").repeat(5);
        answer = more(answer, &text);
    }
    let server = playing([end(more(answer, "the end."))]);
    let pty = full(&home, &server);
    pty.enter("go", "begin");
    pty.send("typed");
    for ((width, height), latch) in sizes.into_iter().zip(&latches) {
        pty.resize(width, height);
        latch.open();
        if (width, height) == (1, 1) {
            continue;
        }
        pty.wait_for(&format!("{width}x{height}"), |screen| {
            let (row, column) = screen.cursor_position();
            // Where the input does not fit into a row, it is its last part that shows.
            let fits = width > 8;
            let below = if height >= 18 {
                2
            } else {
                u16::from(height > 1)
            };
            row == height - 1 - below
                && if fits {
                    column == 7 && input(screen) == "> typed"
                } else {
                    column < width && input(screen).starts_with('>')
                }
        });
    }
    pty.wait_text("the end.");
    pty.wait_text("2 msgs");
    redrawn_the_same(&pty);
    quit(pty, &home);
}

/// The screen must be what a painting of everything makes of it.
pub(crate) fn redrawn_the_same(pty: &Pty) {
    let before = pty.with(painted);
    let clears = count(&pty.raw(), b"\x1b[2J");
    pty.control('l');
    pty.wait_raw(b"\x1b[2J", clears + 1);
    let mut after = pty.with(painted);
    let until = Instant::now() + Duration::from_secs(2);
    while after != before && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        after = pty.with(painted);
    }
    let differ: Vec<_> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
        .collect();
    // The cells that differ say what is wrong; a whole row of styled cells is too long for a log.
    let cells: Vec<_> = differ
        .iter()
        .flat_map(|(before, after)| before.split('\u{2}').zip(after.split('\u{2}')))
        .filter(|(before, after)| before != after)
        .take(4)
        .collect();
    assert!(
        differ.is_empty(),
        "{} rows differ before and after a redraw, the first cells: {cells:?}\n{}",
        differ.len(),
        pty.screen()
    );
}

/// Each row as text with the styles of its visible cells; written and erased blanks are the same.
fn painted(screen: &vt100::Screen) -> Vec<String> {
    let (height, width) = screen.size();
    let cell = |row: u16, column: u16| {
        let cell = screen.cell(row, column)?;
        let text = match cell.contents() {
            "" => " ",
            text => text,
        };
        // The colour of a letter is not seen without one.
        let is_blank = text == " " && !cell.inverse() && !cell.underline();
        let plain = is_blank && cell.bgcolor() == vt100::Color::Default;
        let colour = match is_blank {
            true => vt100::Color::Default,
            false => cell.fgcolor(),
        };
        Some(if plain || cell.is_wide_continuation() {
            text.to_owned()
        } else {
            let marks = [cell.bold(), cell.italic(), cell.underline(), cell.inverse()];
            let marks: String = marks.iter().map(|on| if *on { '1' } else { '0' }).collect();
            format!("{text}\u{1}{colour:?}{:?}{marks}\u{2}", cell.bgcolor())
        })
    };
    (0..height.get())
        .map(|row| {
            let cells: String = (0..width.get()).filter_map(|at| cell(row, at)).collect();
            cells.trim_end().replace("\u{1}DefaultDefault0000\u{2}", "")
        })
        .collect()
}

fn count(raw: &[u8], bytes: &[u8]) -> usize {
    raw.windows(bytes.len()).filter(|w| *w == bytes).count()
}

#[test]
fn a_vanished_terminal_ends_it_and_keeps_the_text() {
    let (home, server, mut pty) = conversation([begin("Endless").stall()]);
    pty.enter("go", "Endless");
    let start = Instant::now();
    pty.hang_up();
    assert_eq!(pty.wait().code(), Some(129));
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    server.wait_closed(0, LIMIT);
    assert_eq!(log(&home)[1].1, "Endless\n\n[stopped]");
}

#[test]
fn a_vanished_terminal_takes_the_running_command_with_it() {
    let (home, _server, mut pty) = conversation([]);
    pty.send("!echo $$ > child.pid; sleep 300\r");
    until("the command runs", || home.has("work/child.pid"));
    until("its number", || home.read("work/child.pid").ends_with('\n'));
    let child: i32 = home.read("work/child.pid").trim().parse().unwrap();
    assert!(lives(child));
    pty.hang_up();
    assert_eq!(pty.wait().code(), Some(129));
    until("the command is gone", || !lives(child));
}

#[test]
fn kill_9_loses_the_unfinished_reply_at_most() {
    let (home, _server, mut pty) =
        conversation([says("A whole answer."), begin("Half an ans").stall()]);
    pty.enter("one", "2 msgs");
    until("the log", || log(&home).len() == 2);
    pty.enter("two", "Half an ans");
    let history = || home.read("config/profiles/main/history");
    until("the history", || history() == "one\ntwo\n");
    pty.signal(Signal::KILL);
    pty.wait();
    assert_eq!(
        log(&home),
        messages(&[
            ("you", "one"),
            ("assistant", "A whole answer."),
            ("you", "two")
        ])
    );
    let server = playing([says("On we go.")]);
    let pty = full(&home, &server);
    pty.wait_text("A whole answer.");
    pty.enter("three", "On we go.");
    assert_eq!(last_sent(&server, 0), "three");
    quit(pty, &home);
    assert_eq!(log(&home).len(), 5);
}

#[test]
fn a_stop_signal_is_ignored_when_no_shell_could_resume() {
    let (home, _server, pty) = conversation([]);
    kill_process(pty.pid(), Signal::TSTP).unwrap();
    pty.send("awake");
    wait_input(&pty, "> awake");
    quit(pty, &home);
}
