//! Jobs of at(1): the second scheduler that is tried, because its jobs have a year.

use std::time::Duration;

use jiff::civil::DateTime;

use super::child::{ProgramSpec, Stdin};
use super::cron::CronMark;
use super::program::find_program;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::proc::child_env;

/// True when `at` is installed.
pub(crate) fn is_installed(env: &Env) -> bool {
    ["at", "atrm", "atq"]
        .iter()
        .all(|name| find_program(name, env).is_some())
}

/// Runs `program` (a path) once at `when`, to the minute.
///
/// # Errors
/// `at` is missing, refuses, or prints no job number.
pub(crate) fn add(
    env: &Env,
    stop: &Cancel,
    when: DateTime,
    program: &str,
    mark: &CronMark,
) -> Outcome<u64> {
    let quoted = program.replace('\'', "'\\''");
    let mut run = at(
        env,
        "at",
        &["-t".to_owned(), when.strftime("%Y%m%d%H%M").to_string()],
    );
    run.stdin = Stdin::Bytes(format!("'{quoted}'{}\n", mark.text()).into_bytes());
    let output = run.run(stop)?.unless_cancelled()?;
    let words = output.stderr.text();
    let number = words.lines().find_map(|line| {
        let (number, _) = line.strip_prefix("job ")?.split_once(' ')?;
        number.parse().ok()
    });
    match number {
        Some(number) if output.success() => Ok(number),
        _ => Err(Problem::refused(format!(
            "at refuses the job: {}.",
            clip(
                &escape_controls(words.trim().lines().next().unwrap_or("no reason given")),
                200
            )
        ))),
    }
}

/// Removes a job, if the job with this number is still ours: numbers are reused.
///
/// # Errors
/// `at` is missing or cannot be run.
pub(crate) fn remove(env: &Env, stop: &Cancel, number: u64, mark: &CronMark) -> Outcome<()> {
    let shown = at(env, "at", &["-c".to_owned(), number.to_string()]).run(stop)?;
    let ours = shown.stdout.bytes();
    if shown.success()
        && ours
            .split(|byte| *byte == b'\n')
            .any(|line| mark.ends(line))
    {
        at(env, "atrm", &[number.to_string()]).run(stop)?;
    }
    Ok(())
}

fn at(env: &Env, program: &str, args: &[String]) -> ProgramSpec {
    let mut vars = child_env::command_env(env);
    // Its times are in the system's zone, as cron's are, regardless of TZ.
    vars.retain(|(name, _)| name != "LANGUAGE" && name != "TZ" && !name.starts_with("LC_"));
    vars.push(("LC_ALL".into(), "C".into()));
    let mut run = ProgramSpec::new(program, args.iter().cloned(), vars);
    run.limit = Duration::from_secs(4);
    run
}
