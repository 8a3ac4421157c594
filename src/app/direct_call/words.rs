//! Parses the words of `marvin tool NAME …` and `/tool NAME …`.

use std::path::PathBuf;
use std::time::Duration;

use super::values;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::CallEnd;
use crate::tools::engine::call_log;
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::owned_tool::ToolRef;

/// A parsed call; the tool has not been looked up yet.
#[derive(Debug, Default)]
pub(crate) struct DirectCommand {
    name: String,
    /// `key=value` words.
    pairs: Vec<String>,
    json: Option<String>,
    pub dir: Option<PathBuf>,
    asks_help: bool,
}

/// What a call resolves to in a session.
pub(crate) enum DirectRequest {
    Help(ToolRef),
    Call {
        tool: ToolRef,
        /// Its arguments, a JSON object.
        args: String,
    },
}

impl DirectCommand {
    /// Parses `NAME [key=value …] [--json '{…}'] [--working-dir DIR] [--help]`.
    ///
    /// # Errors
    /// No tool is named, a flag is unknown or lacks its value.
    pub(crate) fn read(words: &[String]) -> Outcome<Self> {
        let (name, words) = words.split_first().ok_or_else(|| {
            Problem::input("Which tool? None was named.")
                .next("marvin tools lists them; marvin tool NAME --help shows one.")
        })?;
        let mut command = Self {
            name: name.clone(),
            ..Self::default()
        };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let (flag, inline) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = |flag: &str| {
                inline
                    .clone()
                    .or_else(|| rest.next().cloned())
                    .ok_or_else(|| Problem::input(format!("{flag} needs a value.")))
            };
            match flag {
                "--help" | "-h" => {
                    command.asks_help = true;
                    break;
                }
                "--json" => command.json = Some(value(flag)?),
                "--working-dir" => command.dir = Some(PathBuf::from(value(flag)?)),
                _ if flag.starts_with("--") => {
                    return Err(Problem::input(format!("There is no flag {flag} here.")).next(
                        "Flags: --json, --working-dir, --help. Parameters are given as key=value.",
                    ));
                }
                _ => command.pairs.push(word.clone()),
            }
        }
        Ok(command)
    }

    /// Looks the tool up among those of the session and converts the values to the types of its parameters.
    ///
    /// # Errors
    /// There is no such tool or parameter.
    pub(crate) fn resolve(&self, session: &SessionContext) -> Outcome<DirectRequest> {
        let registry = session.registry();
        let tool = registry.find(&self.name).ok_or_else(|| {
            let problem = registry.unknown(&self.name, &session.policy);
            let end = (problem.what.as_str(), CallEnd::Failure);
            let args = self.json.clone().unwrap_or_else(|| self.pairs.join(", "));
            call_log::record(session, &self.name, &args, end, Duration::ZERO);
            problem
        })?;
        if self.asks_help {
            return Ok(DirectRequest::Help(tool));
        }
        // A freeform tool, such as one for patches, accepts the same forms here as from a model.
        let args = match &self.json {
            Some(json) if tool.is_freeform() && self.pairs.is_empty() => json.clone(),
            json => {
                let map = values::object(&tool.parameters(), &self.pairs, json.as_deref())?;
                serde_json::Value::Object(map).to_string()
            }
        };
        Ok(DirectRequest::Call { tool, args })
    }
}
