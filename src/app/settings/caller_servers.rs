//! Servers of the Model Context Protocol in the calling program, as `--mcp-config` and `initialize` name them.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// Largest file of servers in bytes.
const CONFIG_CAP: u64 = 1 << 20;

/// A server that lives in the calling program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallerServer {
    pub name: String,
    /// The longest that a call may take.
    pub call_limit: Option<Duration>,
}

impl CallerServer {
    /// A server with the settings that stand beside its name.
    pub(crate) fn new(name: &str, entry: &Value) -> Self {
        let timeout = entry.get("timeout").and_then(Value::as_u64);
        Self {
            name: name.to_owned(),
            call_limit: timeout.filter(|ms| *ms > 0).map(Duration::from_millis),
        }
    }
}

/// Reads the value of `--mcp-config`: JSON, or the path of a file with it.
///
/// # Errors
/// It is neither, or names a server that is not in the calling program.
pub(super) fn of_flag(value: &str) -> Outcome<Vec<CallerServer>> {
    let text = match value.trim_start().starts_with('{') {
        true => value.to_owned(),
        false => open::text(Path::new(value), CONFIG_CAP).map_err(|error| {
            let shown = escape_controls(&clip(value, 100));
            Problem::system(format!("Cannot read {shown} (--mcp-config)"), error)
                .next("Give --mcp-config JSON, or the path of a file with it.")
        })?,
    };
    let config: Value = serde_json::from_str(&text).map_err(|error| {
        Problem::input(format!("--mcp-config is no JSON: {error}."))
            .next("Give {\"mcpServers\":{\"NAME\":{\"type\":\"sdk\",\"name\":\"NAME\"}}}.")
    })?;
    match config.get("mcpServers") {
        Some(servers) => of_object(servers, "--mcp-config"),
        None => Err(Problem::input("--mcp-config has no mcpServers.")),
    }
}

/// Reads an object of servers by name; `place` is where it stands.
///
/// # Errors
/// It is none, or one of the servers is not in the calling program.
pub(crate) fn of_object(servers: &Value, place: &str) -> Outcome<Vec<CallerServer>> {
    let servers = servers.as_object().ok_or_else(|| {
        Problem::input(format!("The servers of {place} are no object."))
            .next("Give an entry under the name of each.")
    })?;
    let server = |(name, entry): (&String, &Value)| {
        let kind = entry.get("type").and_then(Value::as_str);
        match kind {
            Some("sdk") => Ok(CallerServer::new(name, entry)),
            kind => Err(Problem::input(format!(
                "The server \"{}\" of {place} has the type \"{}\", which is not supported by this version: only servers in the calling program are (\"sdk\").",
                escape_controls(&clip(name, 60)),
                escape_controls(&clip(kind.unwrap_or("stdio"), 40)),
            ))
            .next("Leave it out, or put it into the calling program.")),
        }
    };
    servers.iter().map(server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_the_caller_are_read_and_others_refused_by_name() {
        let read = of_flag(
            r#"{"mcpServers":{"a":{"type":"sdk","name":"a"},"b":{"type":"sdk","timeout":1500}}}"#,
        );
        let read = read.unwrap();
        assert_eq!((&*read[0].name, read[0].call_limit), ("a", None));
        assert_eq!(read[1].call_limit, Some(Duration::from_millis(1_500)));
        for (value, words) in [
            (r#"{"mcpServers":{"files":{"command":"npx"}}}"#, "\"files\""),
            (
                r#"{"mcpServers":{"x":{"type":"http","url":"y"}}}"#,
                "\"http\"",
            ),
            (r#"{"mcpServers":[]}"#, "no object"),
            ("{}", "no mcpServers"),
            ("{", "no JSON"),
            ("/nonexistent/mcp.json", "Cannot read"),
        ] {
            let problem = of_flag(value).unwrap_err().one_line();
            assert!(problem.contains(words), "{value}: {problem}");
        }
    }
}
