//! The supervisor of a command that must not outlive Marvin.
//!
//! A command has a session of its own, so no signal to Marvin's group reaches it, and a Marvin that is killed with SIGKILL ends nothing. Therefore Marvin
//! starts itself once more as the leader of the command's group: this supervisor starts the command, waits for it, and kills the group when its own standard
//! input closes, which happens when Marvin is gone. The flag's value is the number of bytes at the beginning of that input that are for the program, or `relay`
//! when all of it is: then the end of the input is for the program too, which may still end by itself.
//!
//! A child Marvin has a supervisor too, whose flag says `leash`: it holds the child's leash, and adopts whoever is below it. When the child has ended, by
//! itself or by SIGKILL, the supervisor ends all of them, daemons that left the group and the session included. So does that of a run of a project's tests.

use std::io::{self, Read, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process_group, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use super::{descendants, own_image};
use crate::base::problem::{Outcome, Problem};

/// The flag that makes Marvin a supervisor; the program and its arguments follow after `--`.
pub(crate) const FLAG: &str = "supervise";
/// Time between TERM and KILL when Marvin is gone.
const GRACE: Duration = Duration::from_millis(500);
/// How long a child Marvin may take to end when its leash is let go.
const LEASH_GRACE: Duration = Duration::from_millis(2_000);
/// Time between TERM and KILL for what is below a child that was told to end: its parent allows it little more.
const STOP_GRACE: Duration = Duration::from_millis(60);
/// How long a program whose input has ended may take to end by itself, and then again after TERM.
pub(super) const RELAY_GRACE: Duration = Duration::from_secs(2);

/// What a supervised program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SupervisedInput {
    /// So many bytes of the supervisor's input, or nothing.
    Bytes(u64),
    /// A pipe that stays open while the supervisor lives: it is a child Marvin.
    Leash,
    /// Nothing, and as with a child Marvin everything that the program started ends with it.
    NothingAndDaemonsEnd,
    /// All of the supervisor's input. When that ends, everything that the program started ends too.
    Relay,
}

impl SupervisedInput {
    const LEASH: &str = "leash";
    const DAEMONS: &str = "daemons";
    const RELAY: &str = "relay";

    /// As the flag's value says it; no value means no bytes.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        match value {
            "" => Some(Self::Bytes(0)),
            Self::LEASH => Some(Self::Leash),
            Self::DAEMONS => Some(Self::NothingAndDaemonsEnd),
            Self::RELAY => Some(Self::Relay),
            bytes => bytes.parse().ok().map(Self::Bytes),
        }
    }

    fn word(self) -> String {
        match self {
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Leash => Self::LEASH.to_owned(),
            Self::NothingAndDaemonsEnd => Self::DAEMONS.to_owned(),
            Self::Relay => Self::RELAY.to_owned(),
        }
    }
}

/// The command that starts `program`, whose arguments are to follow, under the supervisor `marvin`.
pub(super) fn command(marvin: &Path, program: &Path, input: SupervisedInput) -> Command {
    let mut command = own_image::command(marvin);
    // In the supervisor too, what runs is this executable.
    let program = match command.get_program() == own_image::SELF {
        true => own_image::image(program),
        false => program,
    };
    command
        .arg(format!("--{FLAG}={}", input.word()))
        .arg("--")
        .arg(program);
    command
}

/// Runs the program `words[0]` and returns its exit status; a signal that ended it ends this process too.
pub(crate) fn run(words: &[String], input: SupervisedInput) -> Outcome<u8> {
    let [program, args @ ..] = words else {
        return Err(Problem::input(format!("--{FLAG} needs a program to run.")));
    };
    let cannot = |error| Problem::system(format!("Cannot run {program}"), error);
    // Signals are for the whole group: the program handles them, and this process reports how it ended.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        flag::register(signal, Arc::clone(&ignored)).map_err(cannot)?;
    }
    let ends_daemons = !matches!(input, SupervisedInput::Bytes(_));
    if ends_daemons {
        descendants::adopt();
        let mut signals = Signals::new([SIGTERM]).map_err(cannot)?;
        thread::Builder::new()
            .name("stop".into())
            .spawn(move || {
                for _ in signals.forever() {
                    // Soon the group gets KILL, and then nobody is left who could end these.
                    descendants::end_outside_group(STOP_GRACE);
                }
            })
            .map_err(cannot)?;
    }
    let mut command = Command::new(program);
    // The group is the one that this process leads.
    command.args(args).stdin(match input {
        SupervisedInput::Bytes(0) | SupervisedInput::NothingAndDaemonsEnd => Stdio::null(),
        SupervisedInput::Bytes(_) | SupervisedInput::Leash | SupervisedInput::Relay => {
            Stdio::piped()
        }
    });
    let mut child = command.spawn().map_err(cannot)?;
    let pipe = child.stdin.take();
    thread::Builder::new()
        .name("leash".into())
        .spawn(move || {
            match (input, pipe) {
                (SupervisedInput::Bytes(bytes), Some(pipe)) => {
                    feed(pipe, bytes);
                    wait_for_end_of_input();
                }
                (SupervisedInput::Leash, leash) => {
                    wait_for_end_of_input();
                    drop(leash);
                    thread::sleep(LEASH_GRACE);
                    descendants::end_all(STOP_GRACE);
                }
                (SupervisedInput::Relay, pipe) => {
                    relay(pipe);
                    wait_for_hang_up();
                    thread::sleep(RELAY_GRACE);
                    descendants::end_all(RELAY_GRACE);
                }
                (SupervisedInput::NothingAndDaemonsEnd, _) => {
                    wait_for_end_of_input();
                    descendants::end_all(STOP_GRACE);
                }
                (SupervisedInput::Bytes(_), None) => wait_for_end_of_input(),
            }
            kill_group();
        })
        .map_err(cannot)?;
    let status = child.wait().map_err(cannot)?;
    if ends_daemons {
        descendants::end_all(GRACE);
    }
    Ok(pass_on(status))
}

/// Passes on the program's input, on a thread of its own: a program that does not read it must not keep the end of input from being noticed.
fn feed(mut pipe: ChildStdin, input: u64) {
    let mut bytes = Vec::new();
    let _cut = io::stdin().lock().take(input).read_to_end(&mut bytes);
    let _unfed = thread::Builder::new().name("feed".into()).spawn(move || {
        let _unread = pipe.write_all(&bytes);
    });
}

/// Passes on all of the input, on a thread of its own: a program that does not read it must not keep its end from being noticed.
fn relay(pipe: Option<ChildStdin>) {
    let Some(mut pipe) = pipe else {
        return;
    };
    let _unfed = thread::Builder::new().name("relay".into()).spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    if pipe.write_all(bytes).is_err() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    });
}

/// Waits until nobody can write to the input any more, without reading it.
fn wait_for_hang_up() {
    let stdin = io::stdin();
    // With no events requested only an error or hang-up wakes.
    let mut reader = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty())];
    while poll(&mut reader, None).is_err() {}
}

fn wait_for_end_of_input() {
    let mut stdin = io::stdin().lock();
    let mut buffer = [0; 64];
    loop {
        match stdin.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
            Ok(_) | Err(_) => {}
        }
    }
}

fn kill_group() {
    // The parent made this process the leader of its group; any other group is not ours to kill.
    if rustix::process::getpgrp() != getpid() {
        std::process::exit(1);
    }
    let _none_left = kill_process_group(getpid(), Signal::TERM);
    thread::sleep(GRACE);
    let _none_left = kill_process_group(getpid(), Signal::KILL);
}

/// The exit status for `status`. Does not return when a signal ended the program.
fn pass_on(status: ExitStatus) -> u8 {
    if let Some(code) = status.code() {
        return u8::try_from(code & 0xff).unwrap_or(1);
    }
    let signal = status.signal().unwrap_or_default();
    // The program has dumped its memory already, if it wanted to.
    let no_dump = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, no_dump);
    let _ = low_level::emulate_default_handler(signal);
    u8::try_from(128 + signal).unwrap_or(1)
}
