//! Commands that the user types: no approval, no path fence, and a timeout of two minutes. Their output becomes part of the conversation.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Session;
use super::inbox::WorkerEvent;
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::{Outcome, Problem};
use crate::proc::last_lines::LastLines;
use crate::proc::shell::ShellCommand;

/// Applies in the foreground and in the background.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);
const BACKGROUND: Duration = Duration::from_secs(24 * 3600);

/// A running command.
pub(super) struct ShellJob {
    pub(super) id: u64,
    pub(super) command: String,
    pub(super) background: bool,
    pub(super) since: Instant,
    /// The last lines that it has written.
    pub(super) output: String,
    pub(super) stop: Cancel,
    pub(super) _with_session: OnFire,
}

impl ShellJob {
    /// Starts `command` in `dir` on a thread that reports how it ended.
    pub(super) fn start(
        id: u64,
        command: String,
        background: bool,
        dir: PathBuf,
        session: &Session,
    ) -> Outcome<Self> {
        let (stop, with_session) = session.stop_all.child();
        let (context, inbox) = (Arc::clone(&session.context), Arc::clone(&session.inbox));
        let (text, halt) = (command.clone(), stop.clone());
        thread::Builder::new()
            .name("command".to_owned())
            .spawn(move || {
                let outcome = context
                    .paths
                    .profile(&context.profile())
                    .and_then(|profile| {
                        let limit = if background {
                            BACKGROUND
                        } else {
                            COMMAND_TIMEOUT
                        };
                        let command = ShellCommand {
                            text: &text,
                            dir: &dir,
                            // A Marvin that the user starts is nobody's child.
                            variables: Vec::new(),
                            limit,
                            spill: &profile.logs(),
                            supervisor: None,
                        };
                        let mut show = |lines: &LastLines| {
                            let lines = lines.text();
                            inbox.send(WorkerEvent::CommandOutput { id, lines });
                        };
                        let ran = command.run(&context.env, &halt, &mut show);
                        ran.map(|ran| ran.text)
                    });
                inbox.send(WorkerEvent::Command { id, outcome });
            })
            .map_err(|error| Problem::system("Cannot start a thread for the command", error))?;
        Ok(Self {
            id,
            command,
            background,
            since: Instant::now(),
            output: String::new(),
            stop,
            _with_session: with_session,
        })
    }
}

/// The new directory when the line is only `cd DIR`, relative to `now`; `None` for any other line. Each line runs in a new shell, so the session has
/// to keep the directory.
///
/// # Errors
/// There is no such directory.
pub(super) fn change_dir(
    line: &str,
    current: &Path,
    home: Option<&Path>,
) -> Option<Outcome<PathBuf>> {
    let words = shlex::split(line)?;
    let to = match words.as_slice() {
        [cd] if cd == "cd" => home.map_or_else(|| PathBuf::from("/"), Path::to_owned),
        [cd, to] if cd == "cd" => match (to.strip_prefix('~'), home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => current.join(to),
        },
        _ => return None,
    };
    Some(match to.canonicalize() {
        Ok(dir) if dir.is_dir() => Ok(dir),
        Ok(_) => Err(Problem::input(format!(
            "{} is not a directory.",
            to.display()
        ))),
        Err(error) => Err(Problem::system(
            format!("Cannot go to {}", to.display()),
            error,
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cd_alone_is_remembered_and_everything_else_is_a_command() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("a b")).unwrap();
        let go = |line: &str| change_dir(line, &top, Some(&top));
        assert_eq!(go("cd 'a b'").unwrap().unwrap(), top.join("a b"));
        assert_eq!(go("cd").unwrap().unwrap(), top);
        assert_eq!(go("cd ~/'a b'").unwrap().unwrap(), top.join("a b"));
        assert!(go("cd nowhere").unwrap().is_err());
        assert!(go("cd a && ls").is_none());
        assert!(go("ls").is_none());
    }
}
