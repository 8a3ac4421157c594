//! Starting the CLI: handshake, version of the protocol, login; and what the user is told when one of them fails.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::cli;
use super::connection::{CallError, Connection};
use super::messages::UNKNOWN_METHOD;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Problem, ProblemKind};
use crate::base::text::{clip, escape_controls};
use crate::llm::failure::{Failure, FailureKind};

/// The version of the protocol that Marvin speaks. It changes only when old clients would fail.
pub(crate) const PROTOCOL_VERSION: u64 = 3;
/// How long the CLI may take from its start to its first answer. It takes two seconds when it unpacks itself.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a CLI that closed its output may take to exit by itself, so that its status can be told.
const EXIT_TIMEOUT: Duration = Duration::from_millis(150);

#[derive(Debug)]
pub(crate) struct StartedCli {
    pub connection: Arc<Connection>,
    /// The version of the CLI, if it says so.
    pub version: String,
}

/// Who is signed in.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct LoginStatus {
    pub is_authenticated: bool,
    /// In the words of the CLI, such as `octocat (via gh)`.
    pub status_message: String,
}

/// Starts the first CLI that answers within `limit`.
///
/// # Errors
/// None is installed, none starts, or the one that does speaks another version.
pub(crate) fn start(env: &Env, limit: Duration, stop: &Cancel) -> Result<StartedCli, Failure> {
    let candidates = cli::candidates(env);
    if candidates.is_empty() {
        return Err(missing(env));
    }
    let mut failed = None;
    for program in candidates {
        match Connection::start(&cli::command(program.clone(), env)) {
            // One that starts is the CLI; another one would do no better.
            Ok(connection) => return shake_hands(connection, env, limit, stop),
            Err(error) => {
                let problem = Problem::system(format!("Cannot start {}", program.display()), error);
                failed = failed.or(Some(problem));
            }
        }
    }
    let problem = failed.unwrap_or_else(|| Problem::missing("The Copilot CLI does not start."));
    Err(failure(
        FailureKind::Network,
        problem.next("Install it again: npm install -g @github/copilot."),
    ))
}

/// Asks who is signed in.
///
/// # Errors
/// The CLI does not answer.
pub(crate) fn login(
    connection: &Connection,
    limit: Duration,
    stop: &Cancel,
) -> Result<LoginStatus, Failure> {
    let status = connection.call("auth.getStatus", json!({}), limit, stop);
    match status {
        Ok(status) => Ok(serde_json::from_str(status.get()).unwrap_or_default()),
        Err(error) => Err(call_failure(connection, "asking for the login", error)),
    }
}

fn shake_hands(
    connection: Arc<Connection>,
    env: &Env,
    limit: Duration,
    stop: &Cancel,
) -> Result<StartedCli, Failure> {
    let started = Instant::now();
    let mut answer = connection.call("connect", json!({}), limit, stop);
    if matches!(&answer, Err(CallError::Refused(error)) if error.code == UNKNOWN_METHOD) {
        // Older servers have only this.
        let left = limit.saturating_sub(started.elapsed());
        answer = connection.call("ping", json!({"message": "marvin"}), left, stop);
    }
    let outcome = match answer {
        Ok(answer) => check_version(&connection, answer.get()),
        Err(CallError::Cancelled) => Err(Failure::cancelled()),
        Err(error) => {
            // Its exit status is known once it is gone.
            connection.close(match error {
                CallError::Gone => EXIT_TIMEOUT,
                _ => Duration::ZERO,
            });
            Err(no_handshake(&connection, env, limit, &error))
        }
    };
    match outcome {
        Ok(version) => Ok(StartedCli {
            connection,
            version,
        }),
        Err(failure) => {
            connection.close(Duration::ZERO);
            Err(failure)
        }
    }
}

fn check_version(connection: &Connection, answer: &str) -> Result<String, Failure> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let version = answer.get("protocolVersion");
    if version.and_then(Value::as_u64) == Some(PROTOCOL_VERSION) {
        let version = answer.get("version").and_then(Value::as_str);
        return Ok(clip(&escape_controls(version.unwrap_or_default()), 40));
    }
    let version = version.map_or_else(|| "none".to_owned(), Value::to_string);
    let problem = Problem::config(format!(
        "copilot: {} speaks version {} of its protocol, and Marvin speaks version {PROTOCOL_VERSION}.",
        connection.program().display(),
        clip(&escape_controls(&version), 40)
    ))
    .next("Update Marvin or the Copilot CLI.");
    Err(failure(FailureKind::Protocol, problem))
}

/// No CLI is there.
fn missing(env: &Env) -> Failure {
    let problem = match cli::named_by(env) {
        Some((variable, path)) => Problem::missing(format!(
            "copilot: {variable} names {}, which is not a file.",
            path.display()
        ))
        .next(format!("Correct or unset {variable}.")),
        None => Problem::missing("copilot: the GitHub Copilot CLI is not installed.")
            .next("Install it (\"npm install -g @github/copilot\", or the standalone binary from github.com/github/copilot-cli), then run \"gh auth login\" or \"copilot login\".")
            .next("Or choose another provider: --provider ollama | openai | groq | gemini."),
    };
    failure(FailureKind::Network, problem)
}

/// Nobody is signed in, as the CLI says in `words`.
pub(crate) fn not_signed_in(words: &str) -> Failure {
    let words = words.trim();
    let said = match words.is_empty() || words == "Not authenticated" {
        true => String::new(),
        false => format!(" ({})", clip(&escape_controls(words), 200)),
    };
    let problem = Problem::new(ProblemKind::Auth, format!("copilot: not signed in{said}."))
        .next("Run \"gh auth login\" (or \"copilot login\"), or set COPILOT_GITHUB_TOKEN.")
        .next("A Copilot plan is needed; the free one works.");
    failure(FailureKind::Auth, problem)
}

fn no_handshake(connection: &Connection, env: &Env, limit: Duration, error: &CallError) -> Failure {
    let path = connection.program().display();
    let what = match error {
        CallError::TimedOut => {
            let seconds = limit.as_secs();
            format!("copilot: {path} did not answer within {seconds} s.")
        }
        CallError::Refused(error) => {
            let words = clip(&escape_controls(&error.message), 300);
            format!("copilot: {path} refused to connect: {words}")
        }
        CallError::Gone if connection.is_garbled() => {
            format!("copilot: {path} sent something that is no message.")
        }
        CallError::Gone | CallError::Cancelled => {
            format!("copilot: {path} ended before it answered.")
        }
    };
    let mut problem = Problem::network(format!("{what}{}", connection.last_words()));
    problem = match unwritable(env) {
        Some(dir) => problem.next(format!(
            "{} is not writable: set COPILOT_HOME and XDG_CACHE_HOME to folders that are.",
            dir.display()
        )),
        None => problem.next("Run it once by hand: copilot --version."),
    };
    let kind = match error {
        CallError::TimedOut => FailureKind::Stalled,
        _ => FailureKind::Network,
    };
    failure(kind, problem)
}

/// A folder that the CLI writes to and cannot: then it hangs without a word.
fn unwritable(env: &Env) -> Option<PathBuf> {
    let home = env.get("HOME").map(Path::new);
    let place = |variable: &str, below: &str| {
        let set = env.get(variable).filter(|dir| !dir.is_empty());
        set.map(PathBuf::from).or_else(|| Some(home?.join(below)))
    };
    let places = [
        place("COPILOT_HOME", ".copilot"),
        place("XDG_CACHE_HOME", ".cache"),
    ];
    places.into_iter().flatten().find(|dir| {
        // It makes the folder when there is none.
        let existing = dir.ancestors().find(|dir| dir.exists());
        existing.is_none_or(|dir| tempfile::tempfile_in(dir).is_err())
    })
}

/// The failure of a call while `doing` something.
pub(crate) fn call_failure(connection: &Connection, doing: &str, error: CallError) -> Failure {
    match error {
        CallError::Cancelled => Failure::cancelled(),
        CallError::Gone => gone(connection),
        CallError::TimedOut => failure(
            FailureKind::Stalled,
            Problem::timeout(format!("The Copilot CLI did not answer when {doing}."))
                .next("Ask again: the next message starts it anew."),
        ),
        CallError::Refused(error) => failure(
            FailureKind::Refused,
            Problem::refused(format!(
                "The Copilot CLI failed when {doing}: {}",
                sentence(&error.message)
            )),
        ),
    }
}

/// The CLI ended in the middle of something.
pub(crate) fn gone(connection: &Connection) -> Failure {
    connection.close(EXIT_TIMEOUT);
    let what = match connection.is_garbled() {
        true => "The Copilot CLI sent something that is no message.".to_owned(),
        false => format!("The Copilot CLI went away.{}", connection.last_words()),
    };
    let problem = Problem::network(what).next("Ask again: the next message starts it anew.");
    failure(FailureKind::Cut, problem)
}

/// What the CLI says, on one line, without the name of the method that it begins with.
pub(crate) fn sentence(message: &str) -> String {
    let said = match message.strip_prefix("Request ") {
        Some(rest) => rest
            .split_once(" failed with message: ")
            .map_or(message, |(_, said)| said),
        None => message,
    };
    let words: Vec<&str> = said.split_whitespace().collect();
    clip(&escape_controls(&words.join(" ")), 600)
}

fn failure(kind: FailureKind, problem: Problem) -> Failure {
    Failure::new(kind, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;

    #[test]
    fn what_the_cli_says_loses_the_name_of_its_method() {
        let said = "Request session.create failed with message: Model \"x\" is not available.";
        assert_eq!(sentence(said), "Model \"x\" is not available.");
        assert_eq!(sentence(" a\n  b\u{1b} "), "a b\\x1b");
    }

    #[test]
    fn a_missing_cli_is_told_with_the_ways_to_get_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        let env = Env::from([("PATH", path.as_str())]);
        let told = |env: &Env| {
            let failure = start(env, HANDSHAKE_TIMEOUT, &Cancel::new()).unwrap_err();
            failure.problem.one_line()
        };
        let words = told(&env);
        assert!(words.contains("npm install -g @github/copilot"), "{words}");
        assert!(words.contains("--provider ollama | openai | groq | gemini"));
        let env = Env::from([("PATH", path.as_str()), ("MARVIN_COPILOT_CLI", "/no/such")]);
        let words = told(&env);
        assert_has(&words, &["MARVIN_COPILOT_CLI names /no/such"]);
    }
}
