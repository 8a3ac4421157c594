//! Programs that talk to the user on the terminal: the caller must have released it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::base::problem::{Outcome, Problem};

/// Runs a program in this environment and waits until it ends; the user ends it.
pub(crate) fn run(
    program: &Path,
    args: &[impl AsRef<std::ffi::OsStr>],
    env: Vec<(String, String)>,
) -> Outcome<()> {
    let name = program.file_name().unwrap_or(program.as_os_str());
    let name = name.to_string_lossy();
    let ended = Command::new(program)
        .args(args)
        .env_clear()
        .envs(env)
        .stdin(Stdio::inherit())
        .status()
        .map_err(|error| Problem::system(format!("Cannot run {name}"), error))?;
    match ended.success() {
        true => Ok(()),
        false => Err(Problem::input(format!("{name} ended with {ended}."))),
    }
}
