//! Whether Copilot can answer: a CLI is there, and somebody is signed in. Asking starts the CLI, which takes a second, so the answer is kept for a day.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cli::OwnServer;
use super::messages::quota_left;
use super::session::{CopilotModel, list_models};
use super::start::{self, StartedCli};
use super::{CLOSE_TIMEOUT, cli};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::ids::stable_hash;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::disk::atomic::{self, Access};
use crate::disk::paths::Paths;

/// How long an answer holds.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// How long the CLI may take when nobody named it: the next provider can answer instead.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_FILE_BYTES: u64 = 4 << 10;
/// What a user does whose CLI is signed out.
pub(crate) const SIGN_IN: &str = "Run \"gh auth login\" (or \"copilot login\"), or set COPILOT_GITHUB_TOKEN; a Copilot plan is needed, the free one works.";

/// What is known of Copilot on this machine.
pub(crate) enum CopilotState {
    /// There is no CLI.
    NotInstalled,
    /// The CLI answers.
    Installed {
        program: PathBuf,
        version: String,
        /// Somebody is signed in, or a server of the user's own answers instead of GitHub.
        is_usable: bool,
        has_own_server: bool,
        /// Who is signed in, in the CLI's words.
        login: String,
        /// The part of the plan's allowance that is left, in percent.
        quota_left: Option<f64>,
    },
    /// There is a CLI that does not work.
    Broken(Problem),
}

/// True when there is a CLI to start; nothing is started.
pub(crate) fn is_installed(env: &Env) -> bool {
    !cli::candidates(env).is_empty()
}

/// The CLI that would be started.
pub(crate) fn program(env: &Env) -> Option<PathBuf> {
    cli::candidates(env).into_iter().next()
}

/// Starts the CLI and asks it.
pub(crate) fn ask(env: &Env, limit: Duration, stop: &Cancel) -> CopilotState {
    if !is_installed(env) {
        return CopilotState::NotInstalled;
    }
    let has_own_server = OwnServer::read(env).is_some();
    let asked = with_cli(env, limit, stop, |cli| {
        let status = start::login(&cli.connection, limit, stop)?;
        let quota = status.is_authenticated.then(|| {
            let answer = cli
                .connection
                .call("account.getQuota", json!({}), limit, stop);
            let answer: Value = serde_json::from_str(answer.ok()?.get()).ok()?;
            quota_left(answer.get("quotaSnapshots")?)
        });
        Ok(CopilotState::Installed {
            program: cli.connection.program().to_owned(),
            version: cli.version.clone(),
            is_usable: status.is_authenticated || has_own_server,
            has_own_server,
            login: clip(&escape_controls(&status.status_message), 200),
            quota_left: quota.flatten(),
        })
    });
    let state = asked.unwrap_or_else(CopilotState::Broken);
    if !stop.is_fired() {
        keep(
            env,
            matches!(
                state,
                CopilotState::Installed {
                    is_usable: true,
                    ..
                }
            ),
        );
    }
    state
}

/// Whether it can answer: as it was found within the last day, else by asking it. A machine without a CLI pays nothing.
pub(crate) fn is_ready(env: &Env) -> bool {
    if !is_installed(env) {
        return false;
    }
    kept(env).unwrap_or_else(|| {
        let state = ask(env, PROBE_TIMEOUT, &Cancel::new());
        matches!(
            state,
            CopilotState::Installed {
                is_usable: true,
                ..
            }
        )
    })
}

/// The models of the plan.
///
/// # Errors
/// There is no CLI, nobody is signed in, or it does not answer.
pub(crate) fn models(env: &Env, limit: Duration, stop: &Cancel) -> Outcome<Vec<CopilotModel>> {
    with_cli(env, limit, stop, |cli| {
        let status = start::login(&cli.connection, limit, stop)?;
        match status.is_authenticated {
            true => list_models(&cli.connection, stop),
            false => Err(start::not_signed_in(&status.status_message)),
        }
    })
}

fn with_cli<T>(
    env: &Env,
    limit: Duration,
    stop: &Cancel,
    work: impl FnOnce(&StartedCli) -> Result<T, crate::llm::failure::Failure>,
) -> Outcome<T> {
    let cli = start::start(env, limit, stop).map_err(|failure| *failure.problem)?;
    let outcome = work(&cli);
    cli.connection.close(CLOSE_TIMEOUT);
    outcome.map_err(|failure| *failure.problem)
}

#[derive(Serialize, Deserialize)]
struct KeptAnswer {
    /// When it was asked (RFC 3339, UTC).
    at: String,
    ready: bool,
    /// Of what it depends on.
    of: String,
}

/// What the answer depends on: the CLI, and where a login may be. None of it is kept, only its hash.
fn circumstances(env: &Env) -> String {
    let home = env.get("HOME").map(Path::new);
    let below = |variable: &str, home_folder: &str, file: &str| {
        let set = env.get(variable).filter(|dir| !dir.is_empty());
        let dir = set
            .map(PathBuf::from)
            .or_else(|| Some(home?.join(home_folder)));
        dir.map(|dir| dir.join(file))
    };
    let files = cli::candidates(env).into_iter().map(Some).chain([
        below("COPILOT_HOME", ".copilot", "config.json"),
        below("GH_CONFIG_DIR", ".config/gh", "hosts.yml"),
    ]);
    let mut text = String::new();
    for file in files.flatten() {
        let about = file.metadata().ok();
        let changed = about.as_ref().and_then(|about| about.modified().ok());
        let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let bytes = about.map(|about| about.len());
        text.push_str(&format!("{}\0{bytes:?}\0{changed:?}\0", file.display()));
    }
    let tokens = [
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "GITHUB_COPILOT_API_TOKEN",
    ];
    tokens
        .into_iter()
        .for_each(|name| text.push_str(&format!("{}\0", env.get(name).is_some())));
    if let Some(server) = OwnServer::read(env) {
        text.push_str(&server.base);
    }
    format!("{:016x}", stable_hash(&text))
}

fn kept(env: &Env) -> Option<bool> {
    let path = Paths::new(env).copilot_state().ok()?;
    let bytes = atomic::read(&path, MAX_FILE_BYTES).ok()??;
    let answer: KeptAnswer = serde_json::from_slice(&bytes).ok()?;
    let asked: Timestamp = answer.at.parse().ok()?;
    let age = Clock::new(env).now().timestamp().duration_since(asked);
    let holds = (SignedDuration::ZERO..KEPT).contains(&age);
    (holds && answer.of == circumstances(env)).then_some(answer.ready)
}

/// Without a place to keep it in it is asked again next time.
fn keep(env: &Env, ready: bool) {
    let answer = KeptAnswer {
        at: Clock::new(env).now().timestamp().to_string(),
        ready,
        of: circumstances(env),
    };
    if let (Ok(path), Ok(bytes)) = (Paths::new(env).copilot_state(), serde_json::to_vec(&answer)) {
        let _ = atomic::write(&path, &bytes, Access::Private);
    }
}

/// The answer does not hold any more: nobody is signed in.
pub(super) fn forget(env: &Env) {
    keep(env, false);
}
