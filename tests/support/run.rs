//! Runs the built binary as a child in a process group of its own and records its output with times, with a limit for every wait.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::cost::Cost;
use super::pipe::{Piece, Pipe, joined};
use super::server::Server;
use super::words::TextAssertions;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

enum Input {
    Null,
    Bytes(Vec<u8>),
    Open,
}

/// A run to be made.
pub struct Marvin {
    command: Command,
    input: Input,
    limit: Duration,
    close_stdout_after: Option<usize>,
}

/// A run under way; killed with its group when dropped.
pub struct Running {
    pid: Pid,
    started: Instant,
    limit: Duration,
    out: Arc<Pipe>,
    err: Arc<Pipe>,
    stdin: Option<ChildStdin>,
    ended: Receiver<(ExitStatus, Instant)>,
    over: bool,
}

/// A finished run.
pub struct Done {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Standard output piece by piece as it was read, with the time of each.
    pub pieces: Vec<Piece>,
    pub started: Instant,
    pub ended: Instant,
}

impl Marvin {
    /// A run of `program` with nothing in its environment but PATH.
    pub fn new(program: &Path) -> Self {
        let mut command = Command::new(program);
        command.env_clear().process_group(0);
        // The machine's own Copilot must not answer, nor be asked.
        command.env("MARVIN_COPILOT_CLI", "/nonexistent/copilot");
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Self {
            command,
            input: Input::Null,
            limit: Duration::from_secs(60),
            close_stdout_after: None,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args.into_iter().map(Into::into));
        self
    }

    /// Adds the words of a command line, split as a shell does.
    pub fn line(self, line: &str) -> Self {
        self.args(shlex::split(line).expect("a command line"))
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Talks to the model of `server`, which speaks the OpenAI dialect.
    pub fn with_model(self, server: &Server) -> Self {
        self.with_provider("openai-compat", server.url("/v1"), "test-model")
    }

    /// Talks to this model of a provider at this address, with a key.
    pub fn with_provider(self, provider: &str, base: impl AsRef<OsStr>, model: &str) -> Self {
        let id = provider.to_uppercase().replace('-', "_");
        self.env(&format!("{id}_URL"), base)
            .env(&format!("{id}_API_KEY"), "test-key")
            .args(["--provider", provider, "--model", model])
    }

    /// Takes a variable away.
    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Starts it in this folder.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Passes it standard input and closes that. Without this or [`Marvin::stdin_open`] it is `/dev/null`.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    /// Passes it a standard input that stays open and silent until the test writes or closes it.
    pub fn stdin_open(mut self) -> Self {
        self.input = Input::Open;
        self
    }

    /// Kills the group and fails the test after this long (60 s unless said).
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Closes the reading end of its standard output after this many bytes; 0 closes it at once.
    pub fn close_stdout_after(mut self, bytes: usize) -> Self {
        self.close_stdout_after = Some(bytes);
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Done {
        self.spawn().wait()
    }

    /// Runs something that must succeed, and print all of `parts`.
    #[track_caller]
    pub fn prints(self, parts: &[&str]) -> Done {
        let done = self.run().expect(0);
        done.stdout_has(parts);
        done
    }

    /// Runs something that must fail, with an error that contains all of `parts`.
    #[track_caller]
    pub fn fails(self, parts: &[&str]) -> Done {
        let done = self.run().expect(1);
        done.stderr_has(parts);
        done
    }

    /// Starts it.
    pub fn spawn(mut self) -> Running {
        self.command
            .stdin(match self.input {
                Input::Null => Stdio::null(),
                Input::Bytes(_) | Input::Open => Stdio::piped(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = self.command.spawn().expect("marvin starts");
        let mut stdin = child.stdin.take();
        if let Input::Bytes(bytes) = self.input
            && let Some(mut pipe) = stdin.take()
        {
            // A child may close the pipe without reading its input.
            thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let out = Pipe::read(
            child.stdout.take().expect("a pipe"),
            self.close_stdout_after,
        );
        let err = Pipe::read(child.stderr.take().expect("a pipe"), None);
        Running {
            pid: Pid::from_child(&child),
            started,
            limit: self.limit,
            out,
            err,
            stdin,
            ended: reap(child),
            over: false,
        }
    }
}

fn reap(mut child: Child) -> Receiver<(ExitStatus, Instant)> {
    let (tell, ended) = channel();
    thread::spawn(move || {
        let status = child.wait().expect("a child to wait for");
        let _ = tell.send((status, Instant::now()));
    });
    ended
}

impl Running {
    /// Its process id, which is also that of its group.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits for its end like [`Running::wait`]; also returns its peak memory in bytes, sampled every millisecond.
    pub fn wait_measured(self) -> (Done, u64) {
        let status = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        let watcher = thread::spawn(move || {
            let mut max = 0;
            // The line is gone as soon as the process has ended, reaped or not.
            while let Some(kilobytes) = std::fs::read_to_string(&status).ok().and_then(peak) {
                max = max.max(kilobytes * 1024);
                thread::sleep(Duration::from_millis(1));
            }
            max
        });
        let output = self.wait();
        (output, watcher.join().expect("a watcher that ends"))
    }

    /// Waits for its end no longer than this; true when it has ended.
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        self.over |= self.ended.recv_timeout(limit).is_ok();
        self.over
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("a process to signal");
    }

    /// Kills it, if it has not ended by itself meanwhile.
    pub fn kill(&self) {
        let _ended = kill_process(self.pid, Signal::KILL);
    }

    /// Sends a signal to its whole group, as a terminal does.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid, signal).expect("a group to signal");
    }

    /// Writes to its standard input, which must be open.
    pub fn write(&mut self, bytes: &[u8]) {
        let pipe = self.stdin.as_mut().expect("an open standard input");
        pipe.write_all(bytes).expect("a child that reads");
    }

    /// The same with one that may have ended before it reads.
    pub fn offer(&mut self, bytes: &[u8]) {
        let _unread = self.stdin.as_mut().map(|pipe| pipe.write_all(bytes));
    }

    /// Closes its standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// What it wrote to standard output so far.
    pub fn stdout(&self) -> String {
        self.out.text()
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        self.err.text()
    }

    /// Waits until standard output contains `text`; returns when the piece that completed it was read.
    pub fn wait_stdout(&self, text: &str, limit: Duration) -> Instant {
        self.out.wait_for(text, limit).unwrap_or_else(|got| {
            panic!(
                "no {text:?} on standard output in {limit:?}, but {got:?}\nstandard error: {}",
                self.stderr()
            )
        })
    }

    /// True as soon as standard output contains `text`; false when the time is up.
    pub fn sees_stdout(&self, text: &str, limit: Duration) -> bool {
        self.out.wait_for(text, limit).is_ok()
    }

    /// Waits until standard error contains `text`; returns when the piece that completed it was read.
    pub fn wait_stderr(&self, text: &str, limit: Duration) -> Instant {
        self.err
            .wait_for(text, limit)
            .unwrap_or_else(|got| panic!("no {text:?} on standard error in {limit:?}, but {got:?}"))
    }

    /// Waits for its end; fails the test, and kills the group, when it or a child of it outlives the limit.
    pub fn wait(mut self) -> Done {
        self.stdin = None;
        self.wait_open()
    }

    /// The same with standard input left as it is.
    pub fn wait_open(mut self) -> Done {
        let Ok((status, ended)) = self.ended.recv_timeout(self.limit) else {
            panic!(
                "marvin did not end in {:?}\nstandard output: {:?}\nstandard error: {}",
                self.limit,
                self.stdout(),
                self.stderr()
            );
        };
        let grace = Duration::from_secs(3);
        let quiet = self.out.wait_end(grace) && self.err.wait_end(grace);
        assert!(
            quiet,
            "marvin ended, but a child of its still holds its output"
        );
        self.over = true;
        let pieces = self.out.pieces();
        Done {
            status,
            stdout: joined(&pieces),
            stderr: joined(&self.err.pieces()),
            pieces,
            started: self.started,
            ended,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            let _ = kill_process_group(self.pid, Signal::KILL);
            // What it held, such as the lock of its run, is free for the next one.
            let _ = self.ended.recv_timeout(self.limit);
        }
    }
}

impl Done {
    /// The exit status, or `None` when a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it, if one did.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// How long it ran.
    pub fn took(&self) -> Duration {
        self.ended - self.started
    }

    /// Standard output as text; fails the test when it is not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("standard output in UTF-8")
    }

    /// Standard error as text.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Standard output and standard error as one text.
    pub fn output(&self) -> String {
        self.text().to_owned() + &self.errors()
    }

    /// Fails the test with the whole output unless the status is `code`.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code(),
            Some(code),
            "wrong status ({})\nstandard output: {:?}\nstandard error: {}",
            self.status,
            String::from_utf8_lossy(&self.stdout),
            self.errors()
        );
        self
    }

    /// Fails the test unless standard output begins with `start`.
    #[track_caller]
    pub fn stdout_starts_with(&self, start: &str) -> &Self {
        let text = self.text();
        assert!(text.starts_with(start), "{start:?} does not begin {text}");
        self
    }

    /// Fails the test unless standard output contains all of `parts`.
    #[track_caller]
    pub fn stdout_has(&self, parts: &[&str]) -> &Self {
        self.text().assert_has(parts);
        self
    }

    /// Fails the test when standard output contains one of `parts`.
    #[track_caller]
    pub fn stdout_lacks(&self, parts: &[&str]) -> &Self {
        self.text().assert_lacks(parts);
        self
    }

    /// Fails the test unless standard error begins with `start`.
    #[track_caller]
    pub fn stderr_starts_with(&self, start: &str) -> &Self {
        let text = self.errors();
        assert!(text.starts_with(start), "{start:?} does not begin {text}");
        self
    }

    /// Fails the test unless standard error contains all of `parts`.
    #[track_caller]
    pub fn stderr_has(&self, parts: &[&str]) -> &Self {
        self.errors().assert_has(parts);
        self
    }

    /// Fails the test when standard error contains one of `parts`.
    #[track_caller]
    pub fn stderr_lacks(&self, parts: &[&str]) -> &Self {
        self.errors().assert_lacks(parts);
        self
    }

    /// The cost line; fails the test unless it appears exactly once, at the end, with exactly its keys.
    pub fn cost(&self) -> Cost {
        Cost::last_line(&self.errors())
    }
}

/// The peak in kilobytes out of `/proc/PID/status`, without the pages of files: those are the program's own code, half of everything in a debug build.
fn peak(status: String) -> Option<u64> {
    let kilobytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|l| l.strip_prefix(name))?;
        line.trim().trim_end_matches("kB").trim().parse().ok()
    };
    let files = kilobytes("RssFile:").unwrap_or_default();
    Some(kilobytes("VmHWM:")?.saturating_sub(files))
}

/// Where a program is on PATH, for tests that need one.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}
