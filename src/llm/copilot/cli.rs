//! Where the Copilot CLI is, and how it is started.

use std::path::PathBuf;

use crate::base::env::Env;
use crate::base::variables::{
    COPILOT_CLI_PATH, MARVIN_COPILOT_API_KEY, MARVIN_COPILOT_BASE_URL, MARVIN_COPILOT_CLI,
};
use crate::net::services::without_slash;
use crate::proc::child_env::copilot_env;
use crate::proc::piped::PipedProgram;
use crate::proc::program::find_all;

/// The name of the CLI on the search path.
const PROGRAM: &str = "copilot";

/// The flags of a server that speaks over its pipes. Neither is in its help; GitHub's own SDKs start it like this
/// (<https://github.com/github/copilot-sdk>).
const FLAGS: [&str; 5] = [
    "--headless",
    "--no-auto-update",
    "--stdio",
    "--log-level",
    "error",
];
/// Ignores stored logins.
const NO_LOGIN: &str = "--no-auto-login";

/// A server of the user's own that the CLI asks instead of GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnServer {
    /// Its address, for chat completions.
    pub base: String,
    pub key: Option<String>,
}

impl OwnServer {
    /// The one that the environment names.
    pub(crate) fn read(env: &Env) -> Option<Self> {
        let base = MARVIN_COPILOT_BASE_URL.read(env)?.trim();
        let key = MARVIN_COPILOT_API_KEY.read(env).map(str::trim);
        (!base.is_empty()).then(|| Self {
            base: without_slash(base).to_owned(),
            key: key.filter(|key| !key.is_empty()).map(str::to_owned),
        })
    }
}

/// The variable that names the CLI, if one does.
pub(crate) fn named_by(env: &Env) -> Option<(&'static str, PathBuf)> {
    [MARVIN_COPILOT_CLI, COPILOT_CLI_PATH]
        .into_iter()
        .find_map(|variable| {
            let path = variable.read(env).filter(|path| !path.is_empty())?;
            Some((variable.name, PathBuf::from(path)))
        })
}

/// The programs that may be the CLI, in the order in which they are tried: the one that a variable names, else those on the search path.
pub(crate) fn candidates(env: &Env) -> Vec<PathBuf> {
    match named_by(env) {
        Some((_, path)) if path.is_file() => vec![path],
        Some(_) => Vec::new(),
        None => find_all(PROGRAM, env),
    }
}

/// How to start `program`.
pub(crate) fn command(program: PathBuf, env: &Env) -> PipedProgram {
    let no_login = OwnServer::read(env).map(|_| NO_LOGIN);
    PipedProgram {
        program,
        args: FLAGS.into_iter().chain(no_login).map(Into::into).collect(),
        env: copilot_env(env),
        ..PipedProgram::default()
    }
}
