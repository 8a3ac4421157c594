//! Servers of the Model Context Protocol that a calling program brings along, as `--mcp-config` and `initialize` name them: those in the program itself, and
//! programs and addresses as in `mcp.json`.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::mcp::config::configured::{ConfiguredServer, Source};

/// Largest file of servers in bytes.
const CONFIG_CAP: u64 = 1 << 20;
/// Servers that a caller may bring along.
const MAX_SERVERS: usize = 100;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CallerServers {
    /// Those that live in it.
    pub own: Vec<CallerServer>,
    /// Programs and addresses.
    pub elsewhere: Vec<ConfiguredServer>,
    /// There are no others.
    pub are_alone: bool,
    /// Values for what servers ask for.
    pub answers: Option<Map<String, Value>>,
}

impl CallerServers {
    /// Adds those of an object of servers by name; `place` is where it stands.
    ///
    /// # Errors
    /// It is none, an entry says of no server how it is reached, or there are too many.
    pub(crate) fn add(&mut self, servers: &Value, place: &str) -> Outcome<()> {
        let servers = servers.as_object().ok_or_else(|| {
            Problem::input(format!("The servers of {place} are no object."))
                .next("Give an entry under the name of each.")
        })?;
        for (name, entry) in servers {
            // Of two with one name the later one is meant.
            self.own.retain(|own| own.name != *name);
            self.elsewhere.retain(|own| own.name != *name);
            if entry.get("type").and_then(Value::as_str) == Some("sdk") {
                self.own.push(CallerServer::new(name, entry));
                continue;
            }
            let server = ConfiguredServer {
                name: name.clone(),
                source: Source::User,
                entry: entry.clone(),
            };
            server.check().map_err(|problem| Problem {
                what: format!(
                    "The server \"{}\" of {place} cannot be used: {}",
                    escape_controls(&clip(name, 60)),
                    problem.what
                ),
                ..problem
            })?;
            self.elsewhere.push(server);
        }
        match self.own.len() + self.elsewhere.len() {
            0..=MAX_SERVERS => Ok(()),
            _ => Err(Problem::limit(format!(
                "{place} names more than {MAX_SERVERS} servers."
            ))),
        }
    }

    /// Adds those of the value of `--mcp-config`: JSON, or the path of a file with it.
    ///
    /// # Errors
    /// It is neither, or names something that is no server.
    pub(super) fn add_flag(&mut self, value: &str) -> Outcome<()> {
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
                .next("Give {\"mcpServers\":{\"NAME\":{\"command\":\"PROGRAM\",\"args\":[]}}}.")
        })?;
        match config.get("mcpServers") {
            Some(servers) => self.add(servers, "--mcp-config"),
            None => Err(Problem::input("--mcp-config has no mcpServers.")),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn of_flag(value: &str) -> Outcome<CallerServers> {
        let mut servers = CallerServers::default();
        servers.add_flag(value).map(|()| servers)
    }

    #[test]
    fn servers_in_the_caller_and_elsewhere_are_read_and_what_is_none_is_refused_by_name() {
        let read = of_flag(
            r#"{"mcpServers":{"a":{"type":"sdk","name":"a"},"b":{"type":"sdk","timeout":1500},"files":{"command":"npx"},"x":{"type":"http","url":"https://host/mcp"}}}"#,
        );
        let read = read.unwrap();
        assert_eq!((&*read.own[0].name, read.own[0].call_limit), ("a", None));
        assert_eq!(read.own[1].call_limit, Some(Duration::from_millis(1_500)));
        let elsewhere: Vec<&str> = read.elsewhere.iter().map(|own| own.name.as_str()).collect();
        assert_eq!(elsewhere, ["files", "x"]);
        for (value, words) in [
            (r#"{"mcpServers":{"files":{}}}"#, "\"files\""),
            (
                r#"{"mcpServers":{"x":{"type":"carrier pigeon"}}}"#,
                "carrier pigeon",
            ),
            (r#"{"mcpServers":{"x":{"type":"http","url":"y"}}}"#, "url"),
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
