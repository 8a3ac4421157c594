//! Runs a command of the model or the user with bash, or sh where there is none: both streams are clipped head and tail, the whole text goes to disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::capture::KeepLimits;
use super::capture::without_links;
use super::child::{Leftovers, ProgramOutput, ProgramSpec};
use super::last_lines::LastLines;
use super::program::{find_program, is_executable};
use super::sandbox::session_sandbox::CommandSandbox;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::MARVIN_SHELL;
use crate::proc::child_env::command_env;

/// Bytes kept of each stream's beginning and end.
const HEAD_BYTES: usize = 8 * 1024;
const TAIL_BYTES: usize = 8 * 1024;

#[derive(Debug)]
pub(crate) struct ShellOutput {
    /// Its output, and how it ended.
    pub text: String,
    /// Its exit status, unless a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Its time limit was exceeded.
    pub timed_out: bool,
    /// It was cancelled while running.
    pub cancelled: bool,
}

pub(crate) struct ShellCommand<'a> {
    /// What the shell runs.
    pub text: &'a str,
    /// Where.
    pub dir: &'a Path,
    /// Variables besides those that every command gets.
    pub variables: Vec<(String, String)>,
    /// When it is ended.
    pub limit: Duration,
    /// The folder for output that is too long to show.
    pub spill: &'a Path,
    /// As in [`ProgramSpec::supervisor`].
    pub supervisor: Option<&'a Path>,
    /// What it may do, where that is less than the user can.
    pub sandbox: Option<&'a CommandSandbox>,
}

impl ShellCommand<'_> {
    /// Runs it to its end; `each` gets the last lines of its output whenever it grows. Output too long to show goes to new files, which the result names.
    ///
    /// # Errors
    /// As [`ProgramSpec::run`], and an unusable `MARVIN_SHELL`. A command that fails is not an error: its text ends with how it ended. Neither is one that was
    /// cancelled while running: its output so far is kept.
    pub(crate) fn run(
        self,
        env: &Env,
        stop: &Cancel,
        each: &mut dyn FnMut(&LastLines),
    ) -> Outcome<ShellOutput> {
        let mut variables = command_env(env);
        variables.extend(self.variables);
        if let Some(sandbox) = self.sandbox {
            sandbox.adjust(&mut variables);
        }
        let mut run = ProgramSpec::new(shell(env)?, ["-c", self.text], variables);
        run.dir = Some(self.dir.to_owned());
        run.limit = self.limit;
        run.leftovers = Leftovers::KillStarted;
        run.supervisor = self.supervisor.map(Path::to_owned);
        run.sandbox = self.sandbox.map(|sandbox| sandbox.policy.clone());
        let id = crate::base::ids::hex(4);
        let spill = without_links(self.spill);
        let keep = |name: &str| KeepLimits {
            spill: Some(spill.join(format!("command-{id}-{name}.txt"))),
            ..KeepLimits::ends(HEAD_BYTES, TAIL_BYTES)
        };
        run.stdout = keep("stdout");
        run.stderr = keep("stderr");
        run.run_watched(stop, each).map(|done| ShellOutput {
            text: render(&done),
            code: done.code,
            signal: done.signal,
            timed_out: done.timed_out,
            cancelled: done.cancelled,
        })
    }
}

/// Standard output, then standard error under its heading, then how it ended.
fn render(output: &ProgramOutput) -> String {
    let mut out = output.stdout.text();
    let errors = output.stderr.text();
    let end_line = |out: &mut String| {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    };
    end_line(&mut out);
    if !errors.trim().is_empty() {
        out.push_str("stderr:\n");
        out.push_str(&errors);
        end_line(&mut out);
    }
    if output.held_open {
        out.push_str(
            "[A process that the command left behind kept its output open and was stopped.]\n",
        );
    }
    out.push_str(&output.ending());
    out
}

/// The shell that runs commands: `MARVIN_SHELL`, else bash, else sh. The user's login shell is irrelevant to a model's commands, which are written
/// for bash.
///
/// # Errors
/// `MARVIN_SHELL` is not a program.
pub(crate) fn shell(env: &Env) -> Outcome<PathBuf> {
    if let Some(own) = MARVIN_SHELL.read(env) {
        let path = Path::new(own);
        let found = if path.is_absolute() {
            is_executable(path).then(|| path.to_owned())
        } else {
            find_program(own, env)
        };
        return found.ok_or_else(|| {
            Problem::config(format!(
                "MARVIN_SHELL is \"{own}\", which is not a program."
            ))
            .next("Set it to a shell that takes -c, such as bash, sh or /usr/bin/zsh.")
        });
    }
    let found = find_program("bash", env).or_else(|| find_program("sh", env));
    Ok(found.unwrap_or_else(|| PathBuf::from("/bin/sh")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn bash_runs_commands_else_sh_and_marvin_shell_decides() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = dir.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let path = dir.path().to_str().unwrap();
        let chosen = |own: &str| {
            shell(&Env::from([
                ("PATH", path),
                ("SHELL", "/usr/bin/fish"),
                ("MARVIN_SHELL", own),
            ]))
        };
        let sh = put("sh");
        assert_eq!(chosen("").unwrap(), sh);
        let bash = put("bash");
        assert_eq!(chosen("").unwrap(), bash);
        assert_eq!(chosen("sh").unwrap(), sh);
        assert_eq!(chosen(sh.to_str().unwrap()).unwrap(), sh);
        for wrong in ["fish", "./sh", "/nowhere/sh"] {
            let problem = chosen(wrong).unwrap_err().one_line();
            assert!(problem.contains("MARVIN_SHELL"), "{problem}");
        }
    }
}
