//! A small program on the terminal floor: the test binary runs itself as this program, on a terminal of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, exit};
use std::thread;
use std::time::Duration;

use crossbeam_channel::unbounded;
use marvin::testing::terminal::{
    self, Colours, Input, Keyboard, Screen, SignalEvent, Signals, TerminalGuard, TerminalModes, Tty,
};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Position, Size};
use ratatui::style::Style;

use crate::support::home::Home;
use crate::support::pty::Pty;

/// Marks the process as the program under test, and selects its behaviour.
const ROLE: &str = "MARVIN_TEST_TERMINAL_APP";

/// The command that is this program in `home`.
pub(crate) fn command(home: &Home, role: &str) -> Command {
    let mut command = Pty::command(&std::env::current_exe().unwrap(), home);
    command
        .args(["--exact", "app::the_program", "--nocapture", "--quiet"])
        .env(ROLE, role);
    command
}

/// Starts it on a terminal and waits for its first frame.
pub(crate) fn start(home: &Home, role: &str) -> Pty {
    let pty = Pty::spawn(&command(home, role), (60, 10));
    pty.wait_text(">");
    pty
}

/// The program, when the environment asks for it.
#[test]
fn the_program() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let code = run(&role);
    exit(code);
}

struct App {
    guard: TerminalGuard,
    keyboard: Keyboard,
    screen: Screen<Tty>,
    size: Size,
    text: String,
    notes: Vec<String>,
    deaf: bool,
    edits: usize,
}

fn run(role: &str) -> i32 {
    let (to, inputs) = unbounded();
    let _signals = Signals::start(to.clone()).unwrap();
    let term = if role == "console" {
        "linux"
    } else {
        "xterm-256color"
    };
    let modes = TerminalModes::of(Some(term), None, false, false);
    let unmarked = modes.unmarked;
    let guard = TerminalGuard::enter(modes, Some(PathBuf::from("crash.txt"))).unwrap();
    let size = terminal::size();
    let mut app = App {
        guard,
        keyboard: Keyboard::start(to, unmarked).unwrap(),
        screen: Screen::new(Tty, size, Colours::On),
        size,
        text: String::new(),
        notes: Vec::new(),
        deaf: role == "deaf",
        edits: 0,
    };
    let mut gone = 0;
    loop {
        let drawn = app.draw();
        let batch = if gone > 0 {
            inputs.recv_timeout(Duration::from_millis(300))
        } else {
            inputs.recv().map_err(Into::into)
        };
        let Ok(batch) = batch else {
            // No further input after the terminal was closed.
            fs::write("gone.txt", format!("{gone} {}", drawn.is_err())).unwrap();
            return 3;
        };
        for input in batch {
            if input == Input::Gone {
                gone += 1;
            } else if let Some(code) = app.take(input) {
                return code;
            }
        }
    }
}

impl App {
    fn draw(&mut self) -> std::io::Result<usize> {
        let (text, notes, size) = (&self.text, &self.notes, self.size);
        self.screen.draw(|buffer, area| {
            let head = format!("size {}x{}", size.width, size.height);
            buffer.set_stringn(0, 0, head, usize::from(area.width), Style::new());
            for (y, note) in (1..area.height.saturating_sub(1)).zip(notes.iter().rev()) {
                buffer.set_stringn(0, y, note, usize::from(area.width), Style::new());
            }
            let row = area.height - 1;
            let prompt = format!("> {text}");
            let (x, _) = buffer.set_stringn(0, row, prompt, usize::from(area.width), Style::new());
            Some(Position::new(x, row))
        })
    }

    /// Handles the input; returns an exit status to end.
    fn take(&mut self, input: Input) -> Option<i32> {
        match input {
            Input::Key(key) => return self.key(key),
            Input::Paste(text) => self.notes.push(format!(
                "pasted {} bytes, {} lines",
                text.len(),
                text.lines().count()
            )),
            Input::Resize(size) => {
                self.size = size;
                self.screen.resize(size);
            }
            Input::Signal(caught) => return self.caught(caught),
            Input::Wheel(rows) => self.notes.push(format!("wheel {rows}")),
            Input::Focus(_) | Input::Background(_) | Input::Gone => {}
        }
        None
    }

    fn caught(&mut self, caught: SignalEvent) -> Option<i32> {
        match caught {
            SignalEvent::HangUp if self.deaf => {}
            SignalEvent::Suspend => self.suspend(),
            SignalEvent::Resume => {
                // The keyboard reports a closed terminal.
                let renewed = self.guard.renew().is_ok();
                self.screen.invalidate();
                self.notes.push(format!("resumed {renewed}"));
            }
            other => return other.exit_status().map(i32::from),
        }
        None
    }

    fn key(&mut self, key: KeyEvent) -> Option<i32> {
        match (key.code, key.modifiers) {
            (KeyCode::Char('q'), KeyModifiers::CONTROL) => return Some(0),
            (KeyCode::Char('p'), KeyModifiers::CONTROL) => panic!("on purpose"),
            (KeyCode::Char('t'), KeyModifiers::CONTROL) => {
                let worker = thread::Builder::new().name("worker".to_owned());
                let done = worker.spawn(|| panic!("on the side")).unwrap().join();
                let report = self.guard.crashed();
                self.notes
                    .push(format!("worker {} {report}", done.is_err()));
            }
            (KeyCode::Char('z'), KeyModifiers::CONTROL) => self.suspend(),
            (KeyCode::Char('e'), KeyModifiers::CONTROL) => {
                self.edits += 1;
                let script = format!(
                    "echo outside {}; read line; echo \"$line\" > edited.txt",
                    self.edits
                );
                let ran = self.guard.run_outside(&self.keyboard, || {
                    Command::new("sh").args(["-c", &script]).status().unwrap()
                });
                self.screen.invalidate();
                self.notes
                    .push(format!("editor {}", ran.unwrap().success()));
            }
            (KeyCode::Char(c), m) if !m.contains(KeyModifiers::CONTROL) => self.text.push(c),
            (code, modifiers) => self.notes.push(format!("{code:?} {modifiers:?}")),
        }
        None
    }

    fn suspend(&mut self) {
        let stopped = self.guard.suspend().unwrap();
        self.screen.invalidate();
        self.notes.push(format!("suspended {stopped}"));
    }
}
