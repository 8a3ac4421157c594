//! A program on a real pseudo-terminal, read by a thread that notes when which bytes came; and the kernel's books on the program.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Bytes kept for searching.
const KEPT: usize = 1 << 16;

/// The running program; killed when dropped.
pub struct Terminal {
    master: Arc<OwnedFd>,
    child: Child,
    /// The moment before the start.
    pub began: Instant,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

#[derive(Default)]
struct Seen {
    /// The last bytes.
    bytes: VecDeque<u8>,
    /// Bytes in all.
    total: u64,
    /// When the last ones came.
    last: Option<Instant>,
    closed: bool,
}

impl Terminal {
    /// Starts the command, with only the configured environment, on 80x24. With `answers`, cursor position queries are answered, as a real terminal
    /// would.
    pub fn start(command: &mut Command, answers: bool) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a pseudo-terminal");
        grantpt(&master).expect("a terminal of ours");
        unlockpt(&master).expect("an unlocked terminal");
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("its other end's name");
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).expect("a flag"))
            .open(OsString::from_vec(name.as_bytes().to_vec()))
            .expect("its other end");
        let end = || Stdio::from(slave.try_clone().expect("a second handle"));
        command.stdin(end()).stdout(end()).stderr(end());
        let master = Arc::new(master);
        let seen = Arc::new((Mutex::new(Seen::default()), Condvar::new()));
        let (from, to) = (Arc::clone(&master), Arc::clone(&seen));
        // The reader is running before the program, so that its start is not measured.
        thread::spawn(move || read(&from, &to, answers));
        let began = Instant::now();
        let child = command.spawn().expect("a program that starts");
        // The command keeps its handles, which would keep the terminal open.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self {
            master,
            child,
            began,
            seen,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.0.lock().expect("what was seen")
    }

    pub fn send(&self, text: &str) {
        let written = rustix::io::write(&*self.master, text.as_bytes()).expect("a terminal");
        assert_eq!(written, text.len(), "typed in part");
    }

    /// Bytes that came so far.
    pub fn total(&self) -> u64 {
        self.seen().total
    }

    /// The last bytes that came.
    pub fn text(&self) -> String {
        let seen = self.seen();
        String::from_utf8_lossy(&seen.bytes.iter().copied().collect::<Vec<_>>()).into_owned()
    }

    /// Waits until these bytes follow the first `after` ones; returns the time, or `None` if they do not.
    pub fn wait(&self, what: &[u8], after: u64, limit: Duration) -> Option<Instant> {
        let until = Instant::now() + limit;
        let mut seen = self.seen();
        let mut from = after;
        loop {
            let kept_from = seen.total - seen.bytes.len() as u64;
            let skip = from.saturating_sub(kept_from) as usize;
            let bytes = seen.bytes.make_contiguous();
            let fresh = bytes.get(skip..).unwrap_or_default();
            if fresh.windows(what.len()).any(|w| w == what) {
                return seen.last;
            }
            // What was searched need not be searched again, except for the start of a match at its end.
            from = from.max(seen.total.saturating_sub(what.len() as u64 - 1));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || seen.closed {
                return None;
            }
            seen = self
                .seen
                .1
                .wait_timeout(seen, left)
                .expect("what was seen")
                .0;
        }
    }

    /// Waits for any bytes after the first `after`, and then until none came for `quiet`; returns the time of the last.
    pub fn settled(&self, after: u64, quiet: Duration, limit: Duration) -> Option<Instant> {
        let until = Instant::now() + limit;
        let mut seen = self.seen();
        loop {
            let now = Instant::now();
            let last = seen.last.filter(|_| seen.total > after);
            if last.is_some_and(|last| now >= last + quiet) {
                return last;
            }
            if now >= until {
                return None;
            }
            let pause = if last.is_some() { quiet } else { until - now };
            seen = self
                .seen
                .1
                .wait_timeout(seen, pause)
                .expect("what was seen")
                .0;
        }
    }

    /// Resident memory in bytes: now, and at its peak.
    pub fn memory(&self) -> (u64, u64) {
        let status = self.status("status");
        (kib(&status, "VmRSS:"), kib(&status, "VmHWM:"))
    }

    /// Bytes that no other process shares: neither pages of the program nor of libraries.
    pub fn own_memory(&self) -> u64 {
        kib(&self.status("status"), "RssAnon:")
    }

    /// CPU time of all threads that live.
    pub fn cpu(&self) -> Duration {
        let nanos = |text: String| {
            let first = text.split(' ').next().and_then(|n| n.parse::<u64>().ok());
            first.unwrap_or_default()
        };
        Duration::from_nanos(self.tasks("schedstat").into_iter().map(nanos).sum())
    }

    /// Voluntary context switches of all threads that live, by the thread's name.
    pub fn wakeups(&self) -> Vec<(String, u64)> {
        let of = |text: String| {
            let field = |name: &str| {
                let line = text.lines().find_map(|l| l.strip_prefix(name));
                line.unwrap_or_default().trim().to_owned()
            };
            (
                field("Name:"),
                field("voluntary_ctxt_switches:")
                    .parse()
                    .unwrap_or_default(),
            )
        };
        self.tasks("status").into_iter().map(of).collect()
    }

    fn tasks(&self, file: &str) -> Vec<String> {
        let folder = format!("/proc/{}/task", self.child.id());
        let tasks = fs::read_dir(folder).expect("threads").flatten();
        tasks
            .filter_map(|task| fs::read_to_string(task.path().join(file)).ok())
            .collect()
    }

    fn status(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).expect("a living process")
    }

    /// Waits for the program to exit by itself.
    pub fn end(mut self) -> Instant {
        self.child.wait().expect("a child to wait for");
        Instant::now()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kib(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|l| l.strip_prefix(name));
    let number = line.and_then(|l| l.trim().strip_suffix(" kB"));
    1024 * number
        .and_then(|n| n.trim().parse::<u64>().ok())
        .unwrap_or_default()
}

fn read(master: &OwnedFd, seen: &(Mutex<Seen>, Condvar), answers: bool) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        // An error means that the other end is closed.
        let read = rustix::io::read(master, &mut buffer).unwrap_or(0);
        let now = Instant::now();
        let bytes = &buffer[..read];
        if answers && bytes.windows(4).any(|w| w == b"\x1b[6n") {
            let _ = rustix::io::write(master, b"\x1b[1;1R");
        }
        let mut state = seen.0.lock().expect("what was seen");
        state.bytes.extend(bytes);
        let over = state.bytes.len().saturating_sub(KEPT);
        state.bytes.drain(..over);
        state.total += read as u64;
        state.last = Some(now);
        state.closed = read == 0;
        drop(state);
        seen.1.notify_all();
        if read == 0 {
            return;
        }
    }
}
