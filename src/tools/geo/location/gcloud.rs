//! `gcloud`: its access token, and advice when it is not set up.

use std::ffi::OsString;
use std::time::Duration;

use super::remembered;
use super::remembered::GcloudToken;
use crate::base::problem::{Outcome, Problem};
use crate::base::word_list::WordList;
use crate::proc::child::ProgramSpec;
use crate::proc::child_env;
use crate::proc::program::find_program;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::short_line;

/// Timeout for a token; a run that exceeds it is not repeated.
const TOKEN: Duration = Duration::from_secs(4);
const MAX_TOKEN_BYTES: usize = 8_192;
/// Variables for gcloud that are passed on.
const VARIABLES: WordList = WordList(
    "CLOUDSDK_CONFIG CLOUDSDK_CORE_PROJECT CLOUDSDK_ACTIVE_CONFIG_NAME CLOUDSDK_PYTHON \
     GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT",
);

/// The token, fetched once per session.
///
/// # Errors
/// `Cancelled`.
pub(super) fn token(ctx: &ToolContext) -> Outcome<Option<GcloudToken>> {
    remembered(ctx).token.get(|| ask(ctx))
}

fn ask(ctx: &ToolContext) -> Outcome<Option<GcloudToken>> {
    if !is_there(ctx) {
        return Ok(None);
    }
    for args in [
        ["auth", "application-default", "print-access-token"].as_slice(),
        &["auth", "print-access-token"],
    ] {
        let output = match run(ctx, args, TOKEN)? {
            GcloudOutcome::Text(text) => text,
            GcloudOutcome::Failed(_) => continue,
            GcloudOutcome::Late => return Ok(None),
        };
        let good =
            output.len() <= MAX_TOKEN_BYTES && output.bytes().all(|byte| byte.is_ascii_graphic());
        if !output.is_empty() && good {
            let project = project(ctx)?;
            return Ok(Some(GcloudToken {
                secret: output,
                project,
            }));
        }
    }
    Ok(None)
}

/// The configured project; `None` for `(unset)`.
///
/// # Errors
/// `Cancelled`.
pub(super) fn project(ctx: &ToolContext) -> Outcome<Option<String>> {
    let output = match run(ctx, &["config", "get-value", "project"], TOKEN)? {
        GcloudOutcome::Text(text) => text,
        GcloudOutcome::Failed(_) | GcloudOutcome::Late => return Ok(None),
    };
    let name = output.lines().next().unwrap_or_default().trim();
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    Ok((!name.is_empty() && name.chars().all(good)).then(|| name.to_owned()))
}

/// True when the program is on the search path.
pub(super) fn is_there(ctx: &ToolContext) -> bool {
    find_program("gcloud", &ctx.session.env).is_some()
}

pub(super) enum GcloudOutcome {
    /// Its output, trimmed.
    Text(String),
    /// It failed; the end of its output.
    Failed(String),
    /// It timed out.
    Late,
}

/// Runs `gcloud` with `args`. It never prompts: its input is empty and prompts are disabled.
///
/// # Errors
/// `Cancelled`; there is no such program.
pub(super) fn run(ctx: &ToolContext, args: &[&str], limit: Duration) -> Outcome<GcloudOutcome> {
    let env = &ctx.session.env;
    let program = find_program("gcloud", env)
        .ok_or_else(|| Problem::missing("The program gcloud was not found."))?;
    let mut vars = child_env::command_env(env);
    vars.retain(|(name, _)| !VARIABLES.has(name));
    for name in VARIABLES.iter() {
        if let Some(value) = env.get(name) {
            vars.push((name.to_owned(), value.to_owned()));
        }
    }
    vars.push(("CLOUDSDK_CORE_DISABLE_PROMPTS".into(), "1".into()));
    let mut run = ProgramSpec::new(program, args.iter().map(OsString::from), vars);
    run.limit = limit;
    let output = match run.run(&ctx.stop) {
        Ok(output) => output.unless_cancelled()?,
        Err(problem) if problem.is_cancelled() => return Err(problem),
        Err(problem) => return Ok(GcloudOutcome::Failed(problem.what)),
    };
    if output.timed_out {
        return Ok(GcloudOutcome::Late);
    }
    if output.success() {
        return Ok(GcloudOutcome::Text(output.stdout.text().trim().to_owned()));
    }
    let words = output.stderr.text();
    let line = words
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("ERROR"));
    let line = line.or_else(|| words.lines().map(str::trim).rfind(|line| !line.is_empty()));
    Ok(GcloudOutcome::Failed(match line {
        Some(line) => short_line(line),
        None => output.ending(),
    }))
}
