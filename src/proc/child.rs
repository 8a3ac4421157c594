//! Runs a program to its end: in its own session and process group, without a terminal, with both pipes drained, a time limit and a cancel token
//! that kills it.
//!
//! One thread waits for the child without reaping it; the caller's thread serves the pipes with `poll`. Exit and cancellation both arrive as bytes
//! in a wake pipe, so nothing polls on a clock. The child is reaped only after the token's callback has forgotten the process id: a recycled id is
//! never signalled.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::capture::{Captured, KeepLimits};
use super::child_pid::{on_exit, pid_of};
use super::last_lines::LastLines;
use super::own_image;
use super::process_group::ProcessGroup;
use super::program::{find_for_command, find_on_path};
use super::pump::{CANCEL_FIRED, CHILD_EXITED, Delivery, OutputStream, Pump};
use super::sandbox::policy::Policy;
use super::sandbox::report::LayerReport;
use super::sandbox::{REPLACED, UNFENCED, cannot_fence, landlock_abi, layer};
use super::spawn::{spawn_in_new_group, spawn_in_new_session};
use super::supervise::{self, SupervisedInput};
use super::writable_by_commands;
use crate::base::cancel::Cancel;
use crate::base::pauses::Pauses;
use crate::base::problem::{Outcome, Problem};

/// Time between TERM and KILL after the limit.
const GRACE: Duration = Duration::from_secs(2);
/// Time between TERM and KILL after cancellation.
const CANCEL_GRACE: Duration = Duration::from_millis(60);
/// How often it is looked whether a pause is over.
const PAUSED_TICK: Duration = Duration::from_millis(250);
/// How long to wait for a child that survived KILL (stuck in the kernel).
const KILL_WAIT: Duration = Duration::from_secs(1);

/// What happens to processes that the program left behind when it exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// The whole group is killed.
    Kill,
    /// They keep running.
    Leave,
    /// The whole group is killed; where it is cancelled or takes too long, those that left the group are, too.
    KillStarted,
    /// The whole group is killed, and under a supervisor daemons that left it are, too.
    KillDaemons,
}

/// What a program reads on its standard input.
#[derive(Debug, Clone, Default)]
pub(crate) enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    Null,
    Bytes(Vec<u8>),
    /// An open file, read from its current offset.
    File(Arc<File>),
    /// An empty pipe that stays open while Marvin waits for the program. It closes when Marvin dies, however it dies: the program ends itself then.
    Leash,
}

/// A program to run, and how.
#[derive(Debug, Clone)]
pub(crate) struct ProgramSpec {
    /// A name looked up on `PATH` of `env`, or a path with a slash.
    pub program: OsString,
    /// Its arguments; never through a shell.
    pub args: Vec<OsString>,
    /// Its working directory; Marvin's own when `None`.
    pub dir: Option<PathBuf>,
    /// Its whole environment; see [`crate::proc::child_env`].
    pub env: Vec<(String, String)>,
    /// Its standard input.
    pub stdin: Stdin,
    /// This executable, when the program must not outlive Marvin even if that is killed and can end nothing: it is started under a supervisor (see
    /// [`crate::proc::supervise`]), and reads [`Stdin::Bytes`] or nothing. With [`Stdin::Leash`] or [`Leftovers::KillDaemons`] everything that it started ends
    /// with it.
    pub supervisor: Option<PathBuf>,
    /// It never opens the terminal, so that it need not be kept from it, which takes longer than many a call of git.
    pub may_keep_terminal: bool,
    /// What it and everything that it starts may do, where that is less than the user can.
    pub sandbox: Option<Policy>,
    /// When its group gets TERM.
    pub limit: Duration,
    /// Time that the limit does not count, as it grows.
    pub pauses: Option<Arc<Pauses>>,
    /// Time between TERM and KILL after the limit.
    pub grace: Duration,
    /// Time between TERM and KILL after cancellation.
    pub cancel_grace: Duration,
    /// What to keep of standard output.
    pub stdout: KeepLimits,
    /// What to keep of standard error.
    pub stderr: KeepLimits,
    /// When this fires, its group gets INT and may end by itself, as a recorder that is to complete its file.
    pub interrupt: Option<Cancel>,
    /// What happens to processes it leaves behind.
    pub leftovers: Leftovers,
    /// Limits enforced by the kernel, so that it ends even if Marvin is killed and nobody enforces the timeout.
    pub ceiling: Option<ResourceLimits>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceLimits {
    /// Time on the processor.
    pub cpu: Duration,
    pub memory: u64,
}

impl ProgramSpec {
    /// `program` with `args` and `env`, a limit of 30 s, and the first mebibyte of each stream.
    pub(crate) fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
        env: Vec<(String, String)>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            dir: None,
            env,
            stdin: Stdin::Null,
            supervisor: None,
            may_keep_terminal: false,
            sandbox: None,
            limit: Duration::from_secs(30),
            pauses: None,
            grace: GRACE,
            cancel_grace: CANCEL_GRACE,
            stdout: KeepLimits::first(1 << 20),
            stderr: KeepLimits::first(1 << 20),
            interrupt: None,
            leftovers: Leftovers::Kill,
            ceiling: None,
        }
    }

    /// Runs it until it exits, its limit expires or `stop` fires; a non-zero exit status is not a `Problem`.
    ///
    /// # Errors
    /// `Missing` when there is no such program or directory, `Cancelled` when `stop` had fired before the start, `System` when the operating system refuses,
    /// `Refused` when its sandbox cannot be set up.
    pub(crate) fn run(&self, stop: &Cancel) -> Outcome<ProgramOutput> {
        self.start(stop, Delivery::Kept)
    }

    /// Like [`ProgramSpec::run`], but standard output is not kept: each chunk terminated by the byte `end` (which is removed) goes to `each`, which may end the
    /// program early. Chunks are split at 16 MiB.
    pub(crate) fn run_split(
        &self,
        stop: &Cancel,
        end: u8,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Outcome<ProgramOutput> {
        self.start(stop, Delivery::chunks(end, each))
    }

    /// Like [`ProgramSpec::run`], but neither stream is kept: each line, with its line feed, goes to `each` when it is complete. Lines longer than a mebibyte
    /// come in pieces, of which only the last has a line feed.
    pub(crate) fn run_lines(
        &self,
        stop: &Cancel,
        each: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Outcome<ProgramOutput> {
        self.start(stop, Delivery::lines(each))
    }

    /// Like [`ProgramSpec::run`], and `each` gets the last lines of the output whenever it grows.
    pub(crate) fn run_watched(
        &self,
        stop: &Cancel,
        each: &mut dyn FnMut(&LastLines),
    ) -> Outcome<ProgramOutput> {
        let mut lines = LastLines::default();
        let mut add = |stream, bytes: &[u8]| {
            lines.push(stream, bytes);
            each(&lines);
        };
        self.start(stop, Delivery::Watched(&mut add))
    }

    fn start(&self, stop: &Cancel, delivery: Delivery<'_>) -> Outcome<ProgramOutput> {
        stop.check()?;
        let name = self.program.to_string_lossy().into_owned();
        let cannot = |error| Problem::system(format!("Cannot run {name}"), error);
        let mut report = match &self.sandbox {
            Some(_) => Some(LayerReport::open().map_err(cannot)?),
            None => None,
        };
        let command = self.command(&name, report.as_ref())?;
        let (wake, waker) = io::pipe().map_err(cannot)?;
        let for_closer = waker.try_clone().map_err(cannot)?;
        // Keep one writer open: once both others are closed, `poll` would report the pipe as ready forever.
        let _held = waker.try_clone().map_err(cannot)?;
        let started = Instant::now();
        let spawn = match self.may_keep_terminal {
            true => spawn_in_new_group,
            false => spawn_in_new_session,
        };
        let mut child = spawn(command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(&name),
            io::ErrorKind::InvalidInput => {
                Problem::input(format!("An argument of {name} contains a NUL character."))
                    .next("Leave it out.")
            }
            io::ErrorKind::ArgumentListTooLong => {
                Problem::input(format!("The arguments of {name} are too long."))
                    .next("Put the long text into a file.")
            }
            _ => cannot(error),
        })?;
        if let Some(report) = &mut report {
            report.started();
        }
        if let Some(ceiling) = self.ceiling {
            ceiling.set(&child);
        }
        let group = ProcessGroup::of(&child, self.leftovers == Leftovers::KillStarted);
        let closer = {
            let group = group.clone();
            stop.on_fire(move || {
                group.end();
                wake_with(for_closer, CANCEL_FIRED);
            })
        };
        let interrupt = self.interrupt.as_ref().map(|interrupt| {
            let group = group.clone();
            interrupt.on_fire(move || group.signal(Signal::INT))
        });
        let pump = Pump::new(
            wake,
            &mut child,
            match &self.stdin {
                Stdin::Bytes(bytes) => Some(bytes.clone()),
                Stdin::Null | Stdin::File(_) | Stdin::Leash => None,
            },
            self.supervisor.is_some(),
            Captured::new(self.stdout.clone()),
            Captured::new(self.stderr.clone()),
            delivery,
        );
        let watching = on_exit(pid_of(&child), move || wake_with(waker, CHILD_EXITED));
        let mut pump = match (pump, watching) {
            (Ok(pump), Ok(())) => pump,
            (Err(error), _) | (_, Err(error)) => {
                group.signal(Signal::KILL);
                group.forget();
                reap(child);
                return Err(cannot(error));
            }
        };

        let serving = self.serve(&mut pump, &group, started);
        let clear = serving
            .as_ref()
            .map_or(true, |serving| match self.leftovers {
                Leftovers::Kill | Leftovers::KillStarted | Leftovers::KillDaemons => true,
                Leftovers::Leave => serving.ended,
            });
        if clear {
            group.signal(Signal::KILL);
        }
        group.forget();
        drop((closer, interrupt));
        let status = if serving.as_ref().is_ok_and(|serving| serving.exited) {
            child.wait().ok()
        } else {
            reap(child);
            None
        };
        let serving = serving.map_err(cannot)?;
        let (stdout, stderr) = pump.finish();
        if let Some(reason) = report.and_then(LayerReport::reason) {
            // Without the sandbox it would run in the other folder.
            let next = match reason.contains(REPLACED) {
                true => "Put the folder back, or start Marvin in the one that is meant.",
                false => UNFENCED,
            };
            return Err(Problem::refused(format!(
                "The sandbox could not be set up: {reason}. {name} was not run."
            ))
            .next(next));
        }
        let signal = status.and_then(|status| status.signal());
        Ok(ProgramOutput {
            code: status.and_then(|status| status.code()),
            signal,
            stdout,
            stderr,
            timed_out: serving.timed_out,
            // The exit may be noticed before the message about the cancellation that caused it.
            cancelled: serving.cancelled || (signal.is_some() && stop.is_fired()),
            held_open: serving.held_open,
            limit: self.limit,
        })
    }

    fn command(&self, name: &str, report: Option<&LayerReport>) -> Outcome<Command> {
        let program = if name.contains('/') {
            PathBuf::from(&self.program)
        } else {
            let path = self.env.iter().find(|(name, _)| name == "PATH");
            let find = match self.sandbox {
                Some(_) => find_for_command,
                None => find_on_path,
            };
            path.and_then(|(_, path)| find(name, path))
                .ok_or_else(|| missing(name))?
        };
        let (program, layer) = match &self.sandbox {
            Some(policy) => {
                landlock_abi().map_err(cannot_fence)?;
                writable_by_commands::note(policy.writable.iter().map(PathBuf::from));
                let policy = Policy {
                    report: report.and_then(LayerReport::number),
                    ..policy.clone()
                };
                let layer = layer::arguments(policy.to_json()?, program.as_os_str());
                (PathBuf::from(own_image::SELF), Some(layer))
            }
            None => (program, None),
        };
        let mut command = match &self.supervisor {
            Some(supervisor) => {
                let input = match &self.stdin {
                    Stdin::Bytes(bytes) => SupervisedInput::Bytes(bytes.len() as u64),
                    Stdin::Null if self.leftovers == Leftovers::KillDaemons => {
                        SupervisedInput::NothingAndDaemonsEnd
                    }
                    Stdin::Null | Stdin::File(_) => SupervisedInput::Bytes(0),
                    Stdin::Leash => SupervisedInput::Leash,
                };
                supervise::command(supervisor, &program, input)
            }
            None => own_image::command(&program),
        };
        if let Some(dir) = &self.dir {
            if !dir.is_dir() {
                return Err(no_directory(name, dir));
            }
            command.current_dir(dir);
        }
        let stdin = match &self.stdin {
            // The supervisor's own; it passes on what is for the program.
            _ if self.supervisor.is_some() => Stdio::piped(),
            Stdin::Bytes(_) | Stdin::Leash => Stdio::piped(),
            Stdin::File(file) => file
                .try_clone()
                .map(Stdio::from)
                .map_err(|error| Problem::system(format!("Cannot start {name}"), error))?,
            Stdin::Null => Stdio::null(),
        };
        command
            .args(layer.into_iter().flatten())
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }

    fn paused(&self) -> Duration {
        self.pauses
            .as_ref()
            .map_or(Duration::ZERO, |pauses| pauses.total())
    }

    fn is_paused(&self) -> bool {
        self.pauses.as_ref().is_some_and(|pauses| pauses.is_open())
    }

    /// Serves the pipes until the child has ended and its output is read, or until the time limits expire.
    fn serve(
        &self,
        pump: &mut Pump<'_>,
        group: &ProcessGroup,
        start: Instant,
    ) -> io::Result<Course> {
        let mut serving = Course::default();
        // When the group will get KILL, once it is being ended, and when it got it.
        let mut kill_at: Option<Instant> = None;
        let mut killed: Option<Instant> = None;
        let mut exited: Option<Instant> = None;
        loop {
            if exited.is_some() && pump.is_drained() {
                break;
            }
            let until = match (killed, kill_at, exited) {
                (Some(killed), _, None) => killed + KILL_WAIT,
                (Some(killed), _, Some(_)) => killed + QUIET_AFTER_EXIT,
                (None, Some(kill_at), _) => kill_at,
                (None, None, Some(exited)) => {
                    (pump.last_read().max(exited) + QUIET_AFTER_EXIT).min(exited + KILL_WAIT)
                }
                (None, None, None) => start + self.limit + self.paused(),
            };
            let now = Instant::now();
            let is_paused =
                killed.is_none() && kill_at.is_none() && exited.is_none() && self.is_paused();
            if now >= until && !is_paused {
                if killed.is_some() {
                    break;
                } else if kill_at.is_some() {
                    group.signal(Signal::KILL);
                    killed = Some(now);
                } else if exited.is_some() {
                    serving.held_open = true;
                    break;
                } else {
                    serving.timed_out = true;
                    group.end();
                    kill_at = Some(now + self.grace);
                }
                continue;
            }
            let mut wait = until.saturating_duration_since(now);
            if is_paused {
                // What is left does not become less meanwhile.
                wait = wait.max(PAUSED_TICK);
            }
            let seen = pump.poll_once(wait)?;
            let now = Instant::now();
            if seen.exited {
                exited = Some(now);
            }
            if seen.fired && !serving.cancelled {
                serving.cancelled = true;
                let soon = now + self.cancel_grace;
                kill_at = Some(kill_at.map_or(soon, |at| at.min(soon)));
            }
            if seen.stopped_early && killed.is_none() {
                group.signal(Signal::KILL);
                killed = Some(now);
            }
        }
        serving.exited = exited.is_some();
        serving.ended = kill_at.is_some() || killed.is_some();
        Ok(serving)
    }
}

impl ResourceLimits {
    /// Sets the limits for a child; where the system cannot do this for another process, only the timeout applies.
    #[cfg(target_os = "linux")]
    fn set(self, child: &Child) {
        use rustix::process::{Resource, Rlimit, prlimit};
        // None would mean this very process.
        let Some(pid) = pid_of(child) else {
            return;
        };
        let limit = |max: u64| Rlimit {
            current: Some(max),
            maximum: Some(max.saturating_add(1)),
        };
        // A process that has ended needs no limit.
        let _ = prlimit(Some(pid), Resource::Cpu, limit(self.cpu.as_secs().max(1)));
        let _ = prlimit(Some(pid), Resource::As, limit(self.memory));
    }

    #[cfg(not(target_os = "linux"))]
    fn set(self, _: &Child) {}
}

/// After the exit of the child: how long its output pipes may be silent before processes that still hold them are ignored.
const QUIET_AFTER_EXIT: Duration = Duration::from_millis(200);

#[derive(Default)]
struct Course {
    exited: bool,
    ended: bool,
    timed_out: bool,
    cancelled: bool,
    held_open: bool,
}

/// How a program ended, and its output.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    /// Its exit status, unless a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// The limit was reached and the group was killed.
    pub timed_out: bool,
    /// It was cancelled and the group was killed.
    pub cancelled: bool,
    /// It exited, but a process it had started kept its output open.
    pub held_open: bool,
    /// The limit it ran under.
    pub limit: Duration,
}

impl ProgramOutput {
    /// True when it exited with status 0.
    pub(crate) fn success(&self) -> bool {
        self.code == Some(0) && !self.timed_out && !self.cancelled
    }

    /// `Err(cancelled)` when it was cancelled.
    pub(crate) fn unless_cancelled(self) -> Outcome<Self> {
        if self.cancelled {
            Err(Problem::cancelled())
        } else {
            Ok(self)
        }
    }

    /// How it ended, as text: `exit code: 1`, `killed by signal 9 (KILL)`, `timed out after 60 s; …`.
    pub(crate) fn ending(&self) -> String {
        if self.cancelled {
            "[stopped] It was cancelled, and its whole process group killed.".into()
        } else if self.timed_out {
            let seconds = self.limit.as_secs_f64();
            format!("timed out after {seconds} s; the whole process group was killed")
        } else if let Some(code) = self.code {
            format!("exit code: {code}")
        } else if let Some(signal) = self.signal {
            format!("killed by signal {}", signal_words(signal))
        } else {
            "ended without a status".into()
        }
    }
}

fn signal_words(number: i32) -> String {
    let name = match number {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL, an illegal instruction",
        6 => "ABRT, it aborted",
        8 => "FPE, an arithmetic error",
        9 => "KILL",
        11 => "SEGV, a bad memory access",
        13 => "PIPE",
        15 => "TERM",
        24 => "XCPU, its processor time was used up",
        25 => "XFSZ, a file grew too large",
        _ => return number.to_string(),
    };
    format!("{number} ({name})")
}

fn wake_with(mut waker: io::PipeWriter, byte: u8) {
    // The reader is gone once the caller has returned.
    let _gone = waker.write_all(&[byte]);
}

/// Reaps a child that may take a while, on a thread of its own.
fn reap(mut child: Child) {
    let _unreaped = thread::Builder::new()
        .name("child-reap".into())
        .spawn(move || child.wait());
}

fn missing(name: &str) -> Problem {
    Problem::missing(format!("The program {name} was not found.")).next(format!(
        "Install {name}, or put the directory it is in on PATH."
    ))
}

fn no_directory(name: &str, dir: &Path) -> Problem {
    Problem::missing(format!(
        "Cannot run {name} in {}: there is no such directory.",
        dir.display()
    ))
    .next("Set a working directory that exists.")
}
