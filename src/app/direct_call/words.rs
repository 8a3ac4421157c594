//! Parses the words of `marvin tool NAME …` and `!tool NAME …`.

use std::path::PathBuf;

use super::values;
use crate::base::problem::{Outcome, Problem};
use crate::tools::Tool;
use crate::tools::engine::policy::ToolPolicy;
use crate::tools::engine::registry::{Registry, find_tool};

/// The parsed request.
pub(crate) enum DirectCommand {
    /// Show the tool's parameters.
    Help(&'static Tool),
    /// Run it.
    Call {
        /// The tool.
        tool: &'static Tool,
        /// Its arguments, a JSON object.
        args: String,
        /// The working directory.
        dir: Option<PathBuf>,
    },
}

/// Parses `NAME [key=value …] [--json '{…}'] [--working-dir DIR] [--help]`.
///
/// # Errors
/// There is no such tool, flag or parameter.
pub(crate) fn read(words: &[String]) -> Outcome<DirectCommand> {
    let name = words.first().ok_or_else(|| {
        Problem::input("Which tool? None was named.")
            .next("marvin tools lists them; marvin tool NAME --help shows one.")
    })?;
    let tool =
        find_tool(name).ok_or_else(|| Registry::default().unknown(name, &ToolPolicy::default()))?;
    let mut pairs = Vec::new();
    let (mut json, mut dir) = (None, None);
    let mut rest = words.iter().skip(1);
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
            "--help" | "-h" => return Ok(DirectCommand::Help(tool)),
            "--json" => json = Some(value(flag)?),
            "--working-dir" => dir = Some(PathBuf::from(value(flag)?)),
            _ if flag.starts_with("--") => {
                return Err(
                    Problem::input(format!("There is no flag {flag} here.")).next(
                        "Flags: --json, --working-dir, --help. Parameters are given as key=value.",
                    ),
                );
            }
            _ => pairs.push(word.clone()),
        }
    }
    // A tool that takes a whole text, such as a patch, reads it in every form, as it does for a model.
    if let (Some(json), true, true) = (&json, tool.freeform.is_some(), pairs.is_empty()) {
        let args = json.clone();
        return Ok(DirectCommand::Call { tool, args, dir });
    }
    let args = values::object(&tool.fields(), &pairs, json.as_deref())?;
    Ok(DirectCommand::Call {
        tool,
        args: serde_json::Value::Object(args).to_string(),
        dir,
    })
}
