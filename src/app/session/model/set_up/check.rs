//! Whether what the user entered works: one short request of the provider's list of models.

use std::time::Duration;

use super::keep;
use crate::app::session::worker_event::set_up::{Checked, OwnServer};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::disk::paths::Paths;
use crate::llm::catalog::{self, ProviderSpec};
use crate::llm::choose;
use crate::llm::copilot::availability::{self, CopilotState};
use crate::llm::models::live::listed_models;
use crate::llm::models::names::is_for_chat;

/// How long a provider may take for its list.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the Copilot CLI may take.
const CLI_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest address that is taken.
const MAX_ADDRESS_BYTES: usize = 2_000;

pub(super) enum Check {
    Key {
        row: &'static ProviderSpec,
        key: String,
    },
    Server(OwnServer),
    Copilot,
}

impl Check {
    /// What is being done, in the words of a status line.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Key { row, .. } => format!("check the key with {}", row.name),
            Self::Server(server) => format!("ask {} for its models", server.base),
            Self::Copilot => "ask who is signed in to Copilot".to_owned(),
        }
    }

    pub(super) fn run(self, env: &Env, stop: &Cancel) -> Checked {
        let checked = match self {
            Self::Key { row, key } => key_checked(row, key, env, stop),
            Self::Server(server) => server_checked(server, env, stop),
            Self::Copilot => copilot_checked(env, stop),
        };
        match stop.is_fired() {
            true => Checked::Stopped,
            false => checked,
        }
    }
}

/// The environment with a value that was entered.
fn with(env: &Env, name: &str, value: &str) -> Env {
    let mut env = env.clone();
    env.set_below(name, value.to_owned());
    env
}

fn key_checked(row: &'static ProviderSpec, key: String, env: &Env, stop: &Cancel) -> Checked {
    let variable = row.key.unwrap_or_default();
    let remote = choose::remote(&with(env, variable, &key), row);
    let kept = listed_models(&remote, env, LIST_TIMEOUT, stop).and_then(|_| {
        // A stop that came after the answer must not leave a key behind.
        match stop.is_fired() {
            true => Err(Problem::cancelled()),
            false => keep::key(&Paths::new(env), variable, &key),
        }
    });
    match kept {
        Ok(file) => Checked::Key(row, file.display().to_string()),
        Err(problem) => Checked::KeyRefused(row, first_sentence(problem)),
    }
}

fn server_checked(server: OwnServer, env: &Env, stop: &Cancel) -> Checked {
    let Some(row) = catalog::row(keep::OWN_SERVER) else {
        let what = "There is no provider for servers of one's own.";
        return Checked::NoServer(Problem::internal(what));
    };
    let mut entered = with(env, keep::SERVER_URL, &server.base);
    if let Some(key) = &server.key {
        entered.set_below(keep::SERVER_KEY, key.clone());
    }
    let remote = choose::remote(&entered, row);
    match listed_models(&remote, env, LIST_TIMEOUT, stop) {
        Ok(models) => {
            let names = models.into_iter().map(|model| model.id);
            let names = names.filter(|name| is_for_chat(name) && is_for_one_line(name));
            Checked::Server(server, names.collect())
        }
        Err(problem) if problem.kind == ProblemKind::Auth => {
            Checked::ServerNeedsKey(server, first_sentence(problem))
        }
        // It answers, but has no list.
        Err(problem) if problem.what.contains("404") => Checked::Server(server, Vec::new()),
        Err(problem) => Checked::NoServer(first_sentence(problem)),
    }
}

fn copilot_checked(env: &Env, stop: &Cancel) -> Checked {
    match availability::ask(env, CLI_TIMEOUT, stop) {
        CopilotState::Installed {
            is_usable: true, ..
        } => Checked::Copilot,
        CopilotState::Installed { login, .. } => {
            let problem = Problem::new(ProblemKind::Auth, "Nobody is signed in to Copilot.");
            Checked::NotSignedIn(match login.trim() {
                "" => problem,
                words => problem.next(format!("Its CLI says: {words}")),
            })
        }
        CopilotState::NotInstalled => {
            let what = "The GitHub Copilot CLI is not installed.";
            Checked::NotSignedIn(Problem::missing(what))
        }
        CopilotState::Broken(problem) => Checked::NotSignedIn(problem),
    }
}

/// What happened, without what to do: the next question says that.
fn first_sentence(problem: Problem) -> Problem {
    Problem {
        next: Vec::new(),
        ..problem
    }
}

fn is_for_one_line(name: &str) -> bool {
    !name.trim().is_empty() && !name.chars().any(char::is_control)
}

/// The address of a server as it was typed.
///
/// # Errors
/// It is no address of a server.
pub(super) fn address(typed: &str) -> Outcome<String> {
    let no_address = || {
        Problem::input("That is not the address of a server.")
            .next("It begins with http:// or https://.")
    };
    let is_long = typed.len() > MAX_ADDRESS_BYTES;
    let is_http = typed.starts_with("http://") || typed.starts_with("https://");
    let uri: ureq::http::Uri = typed.parse().map_err(|_| no_address())?;
    if is_long || !is_http || uri.host().is_none_or(str::is_empty) {
        return Err(no_address());
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(Problem::input("An address cannot have a password in it.")
            .next("Enter it without; the server's key is asked for after that."));
    }
    Ok(typed.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_servers_are_taken() {
        assert_eq!(
            address("http://127.0.0.1:8000/v1/").unwrap(),
            "http://127.0.0.1:8000/v1"
        );
        for wrong in [
            "",
            "localhost:8000",
            "ftp://a/",
            "http://",
            "http://u:p@a/v1",
            "a b",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
