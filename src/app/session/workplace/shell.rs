//! Commands that the user types: no approval, no path fence, and a timeout of two minutes, or a day in the background. Their output becomes part of the
//! conversation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::proc::last_lines::LastLines;
use crate::proc::shell::ShellCommand;
use crate::tools::engine::context::SessionContext;

/// Of a command that the user waits for.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);
const BACKGROUND: Duration = Duration::from_secs(24 * 3600);

/// Runs `text` in `dir`; returns its output and how it ended. What is too long of it goes to the folder `logs`; `show` gets the last lines while it runs.
///
/// # Errors
/// The command cannot be started.
pub(super) fn run(
    text: &str,
    dir: &Path,
    background: bool,
    context: &SessionContext,
    logs: &Path,
    stop: &Cancel,
    show: &mut dyn FnMut(&LastLines),
) -> Outcome<String> {
    let command = ShellCommand {
        text,
        dir,
        // A Marvin that the user starts is nobody's child.
        variables: Vec::new(),
        limit: if background {
            BACKGROUND
        } else {
            COMMAND_TIMEOUT
        },
        spill: logs,
        supervisor: None,
        sandbox: None,
    };
    Ok(command.run(&context.env, stop, show)?.text)
}

/// The shell command in `text`, and whether it runs in the background.
///
/// # Errors
/// There is none.
pub(in crate::app::session) fn command(text: &str) -> Outcome<(String, bool)> {
    let (text, background) = match text.strip_suffix('&') {
        Some(before) if !before.ends_with('&') => (before.trim_end(), true),
        _ => (text, false),
    };
    if text.is_empty() {
        return Err(Problem::input("There is no command after the \"!\".")
            .next("For example: !ls. All commands: /help."));
    }
    Ok((text.to_owned(), background))
}

/// The new directory when the line is only `cd DIR`, relative to `current`; `None` for any other line. Each line runs in a new shell, so the session has
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
    fn an_ampersand_at_the_end_puts_a_command_into_the_background() {
        for (line, text, background) in [
            ("ls -l", "ls -l", false),
            ("sleep 9 &", "sleep 9", true),
            ("a && b", "a && b", false),
            ("a &&", "a &&", false),
        ] {
            assert_eq!(command(line).unwrap(), (text.to_owned(), background));
        }
        assert!(command("").is_err() && command("&").is_err());
    }

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
