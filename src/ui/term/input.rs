//! The thread that reads the terminal: it sleeps until input arrives, sends everything pending as one batch, and can be paused while another program uses the
//! terminal.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio;

use super::Input;
use super::keys::{Parser, UnmarkedPastes};
use super::wheel::{self, ArrowCare, WheelDetector};

const MAX_BATCH_BYTES: usize = 1 << 20;
/// A read of at least this many bytes suggests that more will follow, and how long to wait for it.
const BURST_BYTES: usize = 512;
const LINGER: Duration = Duration::from_millis(4);
/// How long to wait for more arrow keys after one: a turn of the wheel is several. Far less than the time between two that a held key repeats.
const ARROW_LINGER: Duration = Duration::from_millis(8);
/// Arrow keys are collected no longer than this, however many come.
const MAX_ARROW_LINGER: Duration = Duration::from_millis(30);

/// The thread that reads standard input, which is a terminal; dropping this ends it.
pub(crate) struct Keyboard {
    shared: Arc<InputShared>,
    wake: UnixStream,
    care: ArrowCare,
}

/// Keeps the thread from reading the terminal while it lives.
pub(crate) struct InputPause<'a>(&'a Keyboard);

#[derive(Debug, Default)]
struct InputShared {
    state: Mutex<InputState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct InputState {
    pause: bool,
    paused: bool,
    stop: bool,
    ended: bool,
}

impl InputShared {
    fn state(&self) -> MutexGuard<'_, InputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, InputState>) -> MutexGuard<'a, InputState> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keyboard {
    /// Starts the thread. The channel should be unbounded: a reader that waits for its listener cannot be paused by it.
    pub(crate) fn start(to: Sender<Vec<Input>>, unmarked: UnmarkedPastes) -> io::Result<Self> {
        let shared = Arc::new(InputShared::default());
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let thread = Arc::clone(&shared);
        let care = ArrowCare::default();
        let wheel = WheelDetector::new(care.clone());
        thread::Builder::new()
            .name("keyboard".to_owned())
            .spawn(move || {
                let mut reader = InputReader {
                    parser: Parser::new(unmarked),
                    wheel,
                    bytes: Vec::new(),
                    woken,
                    to,
                };
                reader.run(&thread);
                thread.state().ended = true;
                thread.changed.notify_all();
            })?;
        Ok(Self { shared, wake, care })
    }

    /// Says whether an arrow key would do something that the wheel must not do: then one that may be the wheel waits until it is certain.
    pub(crate) fn set_arrow_care(&self, matters: bool) {
        self.care.set(matters);
    }

    /// Returns when the thread no longer touches the terminal.
    pub(crate) fn pause(&self) -> InputPause<'_> {
        self.shared.state().pause = true;
        self.wake();
        let mut state = self.shared.state();
        while !state.paused && !state.ended {
            state = self.shared.wait(state);
        }
        drop(state);
        InputPause(self)
    }

    fn wake(&self) {
        // Fails only when the thread is gone, or when enough such bytes are already pending.
        let _ = (&self.wake).write(&[0]);
    }
}

impl Drop for InputPause<'_> {
    fn drop(&mut self) {
        self.0.shared.state().pause = false;
        self.0.shared.changed.notify_all();
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.changed.notify_all();
        self.wake();
    }
}

struct InputReader {
    parser: Parser,
    wheel: WheelDetector,
    bytes: Vec<u8>,
    woken: UnixStream,
    to: Sender<Vec<Input>>,
}

/// Why a wait ended.
enum WakeReason {
    Bytes,
    Told,
    Late,
}

enum ReadEnd {
    NoMoreInput,
    Gone,
}

impl InputReader {
    fn run(&mut self, shared: &InputShared) {
        loop {
            let mut batch = Vec::new();
            let mut gone = false;
            match self.sleep() {
                Err(_) => gone = true,
                Ok(WakeReason::Told) => {
                    if !apply_state(shared) {
                        return;
                    }
                }
                Ok(WakeReason::Late) => match self.wheel.give_up(Instant::now()) {
                    Some(turn) => batch.push(turn),
                    None => self.parser.give_up(&mut batch),
                },
                Ok(WakeReason::Bytes) => {
                    gone = matches!(self.read(), ReadEnd::Gone);
                    self.parser.feed(&self.bytes, &mut batch);
                    batch = self.wheel.detect(batch, Instant::now());
                    self.bytes.clear();
                    self.bytes.shrink_to(BURST_BYTES);
                }
            }
            if gone {
                self.parser.give_up(&mut batch);
                batch.push(Input::Gone);
            }
            if !batch.is_empty() && self.to.send(batch).is_err() || gone {
                return;
            }
        }
    }

    /// Sleeps until there is something to do; without a limit unless part of a key has arrived.
    fn sleep(&self) -> io::Result<WakeReason> {
        let stdin = stdio::stdin();
        let mut fds = [
            PollFd::new(&self.woken, PollFlags::IN),
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
        ];
        let limits = [
            self.parser.pending_timeout(),
            self.wheel.pending_timeout(Instant::now()),
        ];
        let limit = limits.into_iter().flatten().min().and_then(timespec);
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) => return Ok(WakeReason::Late),
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(WakeReason::Told),
            Err(e) => return Err(e.into()),
        }
        let [told, _] = &fds;
        if told.revents().is_empty() {
            return Ok(WakeReason::Bytes);
        }
        while matches!(rustix::io::read(&self.woken, &mut [0; 16]), Ok(1..)) {}
        Ok(WakeReason::Told)
    }

    /// Reads everything available and, when that is much, what follows within moments.
    fn read(&mut self) -> ReadEnd {
        let mut buffer = [0; 16 << 10];
        let start = Instant::now();
        loop {
            match rustix::io::read(stdio::stdin(), &mut buffer) {
                Ok(0) => return ReadEnd::Gone,
                Ok(n) => self
                    .bytes
                    .extend_from_slice(buffer.get(..n).unwrap_or_default()),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return ReadEnd::NoMoreInput,
                Err(_) => return ReadEnd::Gone,
            }
            if self.bytes.len() >= MAX_BATCH_BYTES || !self.more_follows(start) {
                return ReadEnd::NoMoreInput;
            }
        }
    }

    /// Whether more arrives soon; `start` is when the first of it was read.
    fn more_follows(&self, start: Instant) -> bool {
        let stdin = stdio::stdin();
        let limit = if self.bytes.len() >= BURST_BYTES {
            LINGER
        } else if wheel::is_arrows(&self.bytes) && start.elapsed() < MAX_ARROW_LINGER {
            ARROW_LINGER
        } else {
            Duration::ZERO
        };
        let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        matches!(poll(&mut fds, timespec(limit).as_ref()), Ok(1..))
    }
}

fn timespec(time: Duration) -> Option<Timespec> {
    Timespec::try_from(time).ok()
}

/// Applies the requested state; false to end the thread.
fn apply_state(shared: &InputShared) -> bool {
    let mut state = shared.state();
    while state.pause && !state.stop {
        state.paused = true;
        shared.changed.notify_all();
        state = shared.wait(state);
    }
    state.paused = false;
    !state.stop
}
