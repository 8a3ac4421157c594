//! A command of a model or a person, run by the user's shell: both streams clipped head and tail, the whole text on disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::capture::Keep;
use super::child::{Done, Run};
use super::program::find_program;
use super::scrub::command_env;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::error::Outcome;

/// Bytes kept of each stream's beginning and end.
const HEAD: usize = 8 * 1024;
const TAIL: usize = 8 * 1024;
/// Shells that take `-c` as `sh` does.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "ash"];

/// Runs `command` in `dir`. Output too long to show goes whole into new files under `spill`, named in the result.
///
/// # Errors
/// As [`Run::run`]; a command that fails is no error, its text ends with how it ended. Neither is one that was cancelled while it
/// ran: what it had printed by then is kept.
pub fn run(
    command: &str,
    dir: &Path,
    env: &Env,
    limit: Duration,
    spill: &Path,
    stop: &Cancel,
) -> Outcome<String> {
    let mut run = Run::new(shell(env), ["-c", command], command_env(env));
    run.dir = Some(dir.to_owned());
    run.limit = limit;
    let id = crate::base::ids::hex(4);
    let keep = |name: &str| Keep {
        spill: Some(spill.join(format!("command-{id}-{name}.txt"))),
        ..Keep::ends(HEAD, TAIL)
    };
    run.stdout = keep("stdout");
    run.stderr = keep("stderr");
    run.run(stop).map(|done| render(&done))
}

/// Standard output, then standard error under its heading, then how it ended.
fn render(done: &Done) -> String {
    let mut out = done.stdout.text();
    let errors = done.stderr.text();
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
    if done.held_open {
        out.push_str(
            "[A process that the command left behind kept its output open and was stopped.]\n",
        );
    }
    out.push_str(&done.ending());
    out
}

/// The user's shell when it speaks `sh`'s language, else `/bin/sh`.
fn shell(env: &Env) -> PathBuf {
    let own = env.get("SHELL").map(PathBuf::from);
    own.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_absolute() && SHELLS.contains(&name.as_ref()) && path.exists()
    })
    .or_else(|| find_program("sh", env))
    .unwrap_or_else(|| PathBuf::from("/bin/sh"))
}
