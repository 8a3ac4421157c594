//! A terminal for the built binary: a pseudo-terminal with a session of its own, read by an emulator, with a limit for every wait.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::num::NonZero;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OutputModes, SpecialCodeIndex, Winsize, tcgetattr,
    tcsetwinsize,
};
use signal_hook::consts::SIGINT;
use signal_hook::flag::register_conditional_shutdown;

use super::home::Home;

/// How long a test waits for an expected event.
const LIMIT: Duration = Duration::from_secs(20);

/// A program on a terminal of its own; hung up and killed when dropped.
pub struct Pty {
    master: Option<Arc<OwnedFd>>,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
    /// Makes the reader release the terminal.
    stop: UnixStream,
    pid: Pid,
    ended: Receiver<ExitStatus>,
    over: Option<ExitStatus>,
}

/// How a terminal treats what goes through it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes {
    pub input: InputModes,
    pub output: OutputModes,
    pub control: ControlModes,
    pub local: LocalModes,
    pub min: u8,
    pub time: u8,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    emulator: vt100::Parser,
    raw: Vec<u8>,
    closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pty {
    /// Starts the built binary in `home` with these arguments on a terminal of `width` times `height`.
    pub fn marvin(home: &Home, args: &[&str], (width, height): (u16, u16)) -> Self {
        let mut command = Self::command(Path::new(env!("CARGO_BIN_EXE_marvin")), home);
        command.args(args);
        Self::spawn(&command, (width, height))
    }

    /// A command in `home` with only a terminal's environment.
    pub fn command(program: &Path, home: &Home) -> Command {
        let mut command = Command::new(program);
        command
            .env("HOME", home.path())
            .env("MARVIN_CONFIG_DIR", home.config())
            .env("MARVIN_COPILOT_CLI", "/nonexistent/copilot")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .current_dir(home.work());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// Starts a command on a new terminal, as the leader of a session, with the environment that was set on it and no other.
    pub fn spawn(command: &Command, (width, height): (u16, u16)) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a pseudo-terminal");
        grantpt(&master).expect("a terminal of ours");
        unlockpt(&master).expect("an unlocked terminal");
        tcsetwinsize(&master, winsize(width, height)).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("its other end's name");
        let slave = || -> Stdio {
            OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(i32::try_from(OFlags::NOCTTY.bits()).expect("a flag"))
                .open(OsString::from_vec(name.as_bytes().to_vec()))
                .expect("its other end")
                .into()
        };
        // It creates a session, takes the terminal on its standard input, and execs the program, so the process is the same.
        let mut session = Command::new("setsid");
        session
            .arg("--ctty")
            .arg(command.get_program())
            .args(command.get_args())
            .env_clear()
            .envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))))
            .stdin(slave())
            .stdout(slave())
            .stderr(slave());
        if let Some(dir) = command.get_current_dir() {
            session.current_dir(dir);
        }
        catch_interrupts();
        let mut child = session.spawn().expect("setsid starts");
        // Its copies of the other end would keep the terminal from closing.
        drop(session);
        let pid = Pid::from_child(&child);
        let (tell, ended) = channel();
        thread::spawn(move || {
            let _ = tell.send(child.wait().expect("a child to wait for"));
        });
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                emulator: vt100::Parser::new(cells(height), cells(width), 1000),
                raw: Vec::new(),
                closed: false,
            }),
            changed: Condvar::new(),
        });
        let master = Arc::new(master);
        let (stop, stopped) = UnixStream::pair().expect("a pair of sockets");
        let (from, to) = (Arc::clone(&master), Arc::clone(&shared));
        Self {
            master: Some(master),
            shared,
            reader: Some(thread::spawn(move || read(&from, &stopped, &to))),
            stop,
            pid,
            ended,
            over: None,
        }
    }

    /// The program's process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends a signal to the program alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("a process to signal");
    }

    /// Types.
    pub fn send(&self, text: impl AsRef<[u8]>) {
        let mut rest = text.as_ref();
        let master = self.master();
        while !rest.is_empty() {
            let written = rustix::io::write(master, rest).expect("a terminal that takes input");
            rest = &rest[written..];
        }
    }

    /// Types a letter with the control key held.
    pub fn control(&self, letter: char) {
        let letter = u8::try_from(letter.to_ascii_lowercase()).expect("an ASCII letter");
        self.send([letter & 0x1f]);
    }

    /// Pastes as a terminal does that marks pastes.
    pub fn paste(&self, text: &str) {
        self.send(format!("\x1b[200~{}\x1b[201~", text.replace('\n', "\r")));
    }

    /// Changes the size, of which the program gets notice.
    pub fn resize(&self, width: u16, height: u16) {
        self.shared
            .state()
            .emulator
            .screen_mut()
            .set_size(cells(height), cells(width));
        tcsetwinsize(self.master(), winsize(width, height)).expect("a new size");
    }

    /// The text on the screen, rows without the blanks at their ends.
    pub fn screen(&self) -> String {
        self.with(vt100::Screen::contents)
    }

    pub fn with<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shared.state().emulator.screen())
    }

    /// Every byte that was written to the terminal.
    pub fn raw(&self) -> Vec<u8> {
        self.shared.state().raw.clone()
    }

    /// Waits until `right` accepts the screen; fails the test with the screen on timeout.
    #[track_caller]
    pub fn wait_for(&self, what: &str, right: impl Fn(&vt100::Screen) -> bool) {
        self.wait_state(what, |state| right(state.emulator.screen()));
    }

    /// Waits until the screen contains `text`.
    #[track_caller]
    pub fn wait_text(&self, text: &str) {
        self.wait_for(text, |screen| screen.contents().contains(text));
    }

    /// Waits until the screen no longer contains `text`.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) {
        self.wait_for(&format!("screen without {text:?}"), |screen| {
            !screen.contents().contains(text)
        });
    }

    /// Types a line with Enter and waits until the screen contains `text`.
    #[track_caller]
    pub fn enter(&self, line: &str, text: &str) {
        self.send(format!("{line}\r"));
        self.wait_text(text);
    }

    /// Waits until these bytes have been written, this often.
    #[track_caller]
    pub fn wait_raw(&self, bytes: &[u8], times: usize) {
        let count = |raw: &[u8]| raw.windows(bytes.len()).filter(|w| *w == bytes).count();
        let what = String::from_utf8_lossy(bytes).into_owned();
        self.wait_state(&what, |state| count(&state.raw) >= times);
    }

    #[track_caller]
    fn wait_state(&self, what: &str, right: impl Fn(&State) -> bool) {
        let until = Instant::now() + LIMIT;
        let mut state = self.shared.state();
        while !right(&state) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !state.closed,
                "no {what:?} ({}) on the screen:\n{}",
                if state.closed {
                    "it is closed"
                } else {
                    "too late"
                },
                state.emulator.screen().contents()
            );
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How the terminal is set.
    pub fn modes(&self) -> Modes {
        let found = tcgetattr(self.master()).expect("a terminal");
        Modes {
            input: found.input_modes,
            output: found.output_modes,
            control: found.control_modes,
            local: found.local_modes,
            min: found.special_codes[SpecialCodeIndex::VMIN],
            time: found.special_codes[SpecialCodeIndex::VTIME],
        }
    }

    /// The terminal vanishes, as when a connection breaks.
    pub fn hang_up(&mut self) {
        self.master = None;
        self.stop_reader();
    }

    /// Waits for the program's end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let status = self.over.or_else(|| self.ended.recv_timeout(LIMIT).ok());
        let Some(status) = status else {
            panic!("the program does not end; its screen:\n{}", self.screen());
        };
        self.over = Some(status);
        status
    }

    /// Waits until all that the program wrote has been read; it must have ended.
    #[track_caller]
    pub fn wait_closed(&self) {
        let until = Instant::now() + LIMIT;
        let mut state = self.shared.state();
        while !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "somebody still has the terminal");
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn master(&self) -> &OwnedFd {
        self.master.as_ref().expect("a terminal not hung up")
    }

    fn stop_reader(&mut self) {
        let _ = self.stop.shutdown(std::net::Shutdown::Both);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if self.over.is_none() {
            let _ = kill_process(self.pid, Signal::KILL);
            let _ = kill_process_group(self.pid, Signal::KILL);
            // What it held, such as its session, is free for the next one.
            let _ = self.ended.recv_timeout(LIMIT);
        }
        self.hang_up();
    }
}

fn read(master: &OwnedFd, stopped: &UnixStream, shared: &Shared) {
    let mut buffer = [0; 16 << 10];
    loop {
        let mut fds = [
            PollFd::new(stopped, PollFlags::IN),
            PollFd::from_borrowed_fd(master.as_fd(), PollFlags::IN),
        ];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let read = if fds[0].revents().is_empty() {
            rustix::io::read(master, &mut buffer).unwrap_or(0)
        } else {
            0
        };
        let mut state = shared.state();
        emulate(&mut state.emulator, &buffer[..read]);
        state.raw.extend_from_slice(&buffer[..read]);
        state.closed = read == 0;
        drop(state);
        shared.changed.notify_all();
        if read == 0 {
            return;
        }
    }
}

fn winsize(width: u16, height: u16) -> Winsize {
    Winsize {
        ws_row: height,
        ws_col: width,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("a size that is not 0")
}

/// The emulator (vt100 0.18) now and then panics on a wide character that a resize has cut. It then starts anew and
/// is whole with the program's next full drawing.
fn emulate(emulator: &mut vt100::Parser, bytes: &[u8]) {
    let screen = emulator.screen();
    let ((height, width), alternate) = (screen.size(), screen.alternate_screen());
    if catch_unwind(AssertUnwindSafe(|| emulator.process(bytes))).is_err() {
        *emulator = vt100::Parser::new(height, width, 1000);
        if alternate {
            emulator.process(b"\x1b[?1049h");
        }
    }
}

/// Lets programs that are started begin with SIGINT at its default: they inherit an ignored one, as a test runner in the background has it.
fn catch_interrupts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let on = Arc::new(AtomicBool::new(true));
        register_conditional_shutdown(SIGINT, 130, on).expect("a handler");
    });
}
