//! A program that Marvin talks to over its pipes for as long as both live: in a session and process group of its own, which is ended as a whole.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use rustix::process::{Signal, kill_process_group};

use super::child_pid::{on_exit, pid_of};
use super::own_image;
use super::spawn::spawn_in_new_session;
use super::supervise::{self, RELAY_GRACE, SupervisedInput};

/// How long a killed program may take to be gone; one that is stuck in the kernel takes longer.
const KILL_WAIT: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(crate) struct PipedProgram {
    pub program: PathBuf,
    /// Its arguments; never through a shell.
    pub args: Vec<OsString>,
    /// Its whole environment; see [`crate::proc::child_env`].
    pub env: Vec<(String, String)>,
    /// Where it runs; Marvin's current directory without one.
    pub dir: Option<PathBuf>,
    /// This executable: the program and all that it starts end with Marvin, however Marvin ends.
    pub supervisor: Option<PathBuf>,
}

/// Marvin's ends of a program's pipes. Each stream has to be served, or the program blocks.
pub(crate) struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// A running program. Dropping it kills its group.
#[derive(Debug)]
pub(crate) struct PipedChild {
    child: Option<Child>,
    /// Gets an item, or closes, when the program has exited; it stays a zombie until it is reaped here, so its id is not reused.
    exited: Receiver<()>,
}

impl PipedProgram {
    pub(crate) fn start(&self) -> io::Result<(PipedChild, Pipes)> {
        let mut command = match &self.supervisor {
            Some(marvin) => supervise::command(marvin, &self.program, SupervisedInput::Relay),
            None => own_image::command(&self.program),
        };
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawn_in_new_session(command)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (tell, exited) = bounded(1);
        let pid = pid_of(&child);
        let running = PipedChild {
            child: Some(child),
            exited,
        };
        on_exit(pid, move || {
            let _ = tell.send(());
        })?;
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("no pipes"));
        };
        let pipes = Pipes {
            stdin,
            stdout,
            stderr,
        };
        Ok((running, pipes))
    }
}

impl PipedChild {
    /// Ends a program whose input was closed: it may end by itself, then gets TERM, then KILL.
    pub(crate) fn end_in_steps(&mut self) -> Option<ExitStatus> {
        if !self.has_exited(RELAY_GRACE)
            && let Some(group) = self.child.as_ref().and_then(pid_of)
        {
            let _none_left = kill_process_group(group, Signal::TERM);
            return self.end(RELAY_GRACE);
        }
        self.end(Duration::ZERO)
    }

    fn has_exited(&self, limit: Duration) -> bool {
        self.exited.recv_timeout(limit) != Err(RecvTimeoutError::Timeout)
    }

    /// Waits at most `limit` for the program to exit by itself, then kills what is left of its group. The status is `None` when it had to be killed.
    pub(crate) fn end(&mut self, limit: Duration) -> Option<ExitStatus> {
        let exited = self.child.is_some() && self.has_exited(limit);
        let mut child = self.child.take()?;
        // Not reaped yet, so the id of the group is still its own.
        if let Some(group) = pid_of(&child) {
            let _none_left = kill_process_group(group, Signal::KILL);
        }
        if exited || self.has_exited(KILL_WAIT) {
            let status = child.wait().ok();
            return status.filter(|_| exited);
        }
        let _unreaped = thread::Builder::new()
            .name("child-reap".into())
            .spawn(move || child.wait());
        None
    }
}

impl Drop for PipedChild {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn shell(script: &str) -> (PipedChild, Pipes) {
        let program = PipedProgram {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            ..PipedProgram::default()
        };
        program.start().unwrap()
    }

    #[test]
    fn a_program_answers_and_ends_with_its_input() {
        let (mut child, mut pipes) = shell("cat; exit 3");
        pipes.stdin.write_all(b"hello").unwrap();
        drop(pipes.stdin);
        let mut text = String::new();
        pipes.stdout.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
        let status = child.end(Duration::from_secs(10)).unwrap();
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn what_a_program_has_started_is_killed_with_it() {
        // The helper holds standard output open for as long as it lives.
        let (mut child, mut pipes) = shell("sleep 600 & echo started; sleep 600");
        let mut text = [0; 8];
        pipes.stdout.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"started\n");
        child.end(Duration::ZERO);
        let mut rest = Vec::new();
        pipes.stdout.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty());
    }
}
