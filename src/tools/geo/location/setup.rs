//! Sets up Google Places without an API key: signs in with gcloud and enables the service, step by step.

use std::fmt::Write as _;
use std::time::Duration;

use super::gcloud::{self, GcloudOutcome};
use super::{SetupGoogleAuth, remembered};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::short_line;

/// Timeout for signing in with a browser; the call's timeout is slightly longer than all steps together.
const SIGN_IN: Duration = Duration::from_secs(60);
/// Timeout of every other step.
const STEP: Duration = Duration::from_secs(30);
/// The Google APIs to enable: the legacy one, and the new one that the searches use.
const APIS: [&str; 2] = ["places-backend.googleapis.com", "places.googleapis.com"];

struct SetupProgress<'a> {
    ctx: &'a ToolContext,
    done: String,
}

/// Runs the setup steps.
///
/// # Errors
/// The step that failed, its message, and the command to run manually, with the steps that succeeded.
pub(super) fn run(ctx: &ToolContext, _: SetupGoogleAuth) -> Outcome<String> {
    if !gcloud::is_there(ctx) {
        return Err(Problem::missing("The program gcloud was not found.")
            .next("Install the Google Cloud CLI, or set GOOGLE_PLACES_API_KEY to a key of yours.")
            .next("Without either, places are searched in OpenStreetMap."));
    }
    ctx.approve(ApprovalRequest::new(
        "Set up Google's places with gcloud?",
        "set up Google's places with gcloud",
        "sign in to Google in the browser if need be, and enable the Places API in the project that gcloud has set",
    ))?;
    let mut steps = SetupProgress {
        ctx,
        done: String::new(),
    };
    let outcome = steps.walk();
    remembered(ctx).token.forget();
    match outcome {
        Ok(()) => Ok(steps.done.trim_end().to_owned()),
        Err(problem) if steps.done.is_empty() || problem.is_cancelled() => Err(problem),
        Err(problem) => Err(problem.facts(format!("Done before:\n{}", steps.done.trim_end()))),
    }
}

impl SetupProgress<'_> {
    fn walk(&mut self) -> Outcome<()> {
        let account = match self.account()? {
            Some(account) => account,
            None => self.sign_in()?,
        };
        let _ = writeln!(self.done, "Signed in{account}.");
        let Some(project) = gcloud::project(self.ctx)? else {
            return Err(self.no_project());
        };
        let _ = writeln!(self.done, "Project: {project}.");
        let [first, second] = APIS;
        if let Err(reason) = self.step(&["services", "enable", first])? {
            return Err(failed(
                "The Places API could not be enabled",
                &reason,
                &format!("gcloud services enable {first} {second} --project {project}"),
            ));
        }
        let _ = writeln!(self.done, "API enabled: {first}.");
        match self.step(&["services", "enable", second])? {
            Ok(_) => {
                let _ = writeln!(self.done, "API enabled: {second}.");
            }
            Err(reason) => self.remark(&reason, &format!("gcloud services enable {second}")),
        }
        match self.step(&["auth", "application-default", "set-quota-project", &project])? {
            Ok(_) => {
                let _ = writeln!(self.done, "Quota project: {project}.");
            }
            Err(reason) => self.remark(
                &reason,
                &format!("gcloud auth application-default set-quota-project {project}"),
            ),
        }
        self.done
            .push_str("Place searches ask Google from now on.\n");
        Ok(())
    }

    /// The active account, as the end of a sentence.
    fn account(&self) -> Outcome<Option<String>> {
        let output = self.step(&[
            "auth",
            "list",
            "--filter=status:ACTIVE",
            "--format=value(account)",
        ])?;
        let output = output.unwrap_or_default();
        let account = output.lines().map(str::trim).find(|line| !line.is_empty());
        Ok(account.map(|account| format!(" as {}", short_line(account))))
    }

    /// Signs in through the browser, if a user is present.
    fn sign_in(&self) -> Outcome<String> {
        const BY_HAND: &str = "gcloud auth login --update-adc";
        let ctx = self.ctx;
        if !ctx.approval.is_attended() {
            let problem = Problem::new(
                ProblemKind::Auth,
                "gcloud is not signed in, and nobody is here who could sign in.",
            );
            return Err(problem.next(format!("Run manually: {BY_HAND}")));
        }
        ctx.progress("sign in to Google in the browser that opens");
        let shown = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"];
        let browser = cfg!(target_os = "macos")
            || shown.iter().any(|name| ctx.session.env.get(name).is_some());
        // Without a browser gcloud asks for a code, and exits because its input is empty.
        let limit = if browser { SIGN_IN } else { STEP / 2 };
        let reason = match gcloud::run(ctx, &["auth", "login", "--update-adc"], limit)? {
            GcloudOutcome::Text(_) => return Ok(self.account()?.unwrap_or_default()),
            GcloudOutcome::Failed(reason) => reason,
            GcloudOutcome::Late => "nobody signed in in time".to_owned(),
        };
        Err(failed("The sign-in did not work", &reason, BY_HAND))
    }

    fn no_project(&self) -> Problem {
        let output = self.step(&[
            "projects",
            "list",
            "--format=value(projectId)",
            "--limit=10",
        ]);
        let known = output.ok().and_then(Result::ok).unwrap_or_default();
        let names: Vec<String> = known.split_whitespace().map(short_line).collect();
        let problem = Problem::config("gcloud has no project set.");
        match names.as_slice() {
            [] => problem
                .next("Run manually: gcloud projects create PROJECT_ID, then gcloud config set project PROJECT_ID"),
            names => problem.next(format!(
                "Run manually: gcloud config set project PROJECT_ID; yours are {}",
                names.join(", ")
            )),
        }
    }

    fn remark(&mut self, reason: &str, by_hand: &str) {
        let reason = reason.trim_end_matches('.');
        let _ = writeln!(
            self.done,
            "Remark: {reason}. If searches are refused, run manually: {by_hand}"
        );
    }

    /// Runs one step and returns its output, or why it failed.
    fn step(&self, args: &[&str]) -> Outcome<Result<String, String>> {
        self.ctx.progress(format!("gcloud {}", args.join(" ")));
        Ok(match gcloud::run(self.ctx, args, STEP)? {
            GcloudOutcome::Text(text) => Ok(text),
            GcloudOutcome::Failed(reason) => Err(reason),
            GcloudOutcome::Late => Err(format!("it took longer than {} s", STEP.as_secs())),
        })
    }
}

fn failed(what: &str, reason: &str, by_hand: &str) -> Problem {
    Problem::new(
        ProblemKind::Auth,
        format!("{what}: {}.", reason.trim_end_matches('.')),
    )
    .next(format!("Run manually: {by_hand}"))
}
