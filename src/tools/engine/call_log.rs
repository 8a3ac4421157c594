//! `MARVIN_SUBAGENT_LOG`: one JSON line per tool call, including calls that were refused or name an unknown tool.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::context::SessionContext;
use crate::base::redact::logged;
use crate::base::text::clip;
use crate::base::variables::MARVIN_SUBAGENT_LOG;
use crate::chat::event::CallEnd;
use crate::disk::jsonl;

/// Characters of the arguments and of the result that are logged.
const ARGS: usize = 200;
const RESULT: usize = 400;
/// Characters of a command that is logged whole.
const COMMAND: usize = 8_000;

#[derive(Serialize)]
struct CallLogLine<'a> {
    ts: String,
    tool: &'a str,
    args: String,
    /// The command, where the arguments do not show it whole and alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    result: String,
    end: CallEnd,
    elapsed_ms: u128,
}

/// Appends a line if the log is enabled. A failure to write never affects the call.
pub(crate) fn record(
    session: &SessionContext,
    tool: &str,
    raw_args: &str,
    (result, end): (&str, CallEnd),
    elapsed: Duration,
) {
    let Some(path) = MARVIN_SUBAGENT_LOG.read(&session.env) else {
        return;
    };
    // `…/.marvin/logs/NAME`: a folder that somebody removed is not made again for it.
    if Path::new(path)
        .ancestors()
        .nth(3)
        .is_some_and(|above| !above.is_dir())
    {
        return;
    }
    let hide = |text: &str| logged(text, &session.secrets.all()).into_owned();
    let line = CallLogLine {
        ts: session.clock.utc(),
        tool,
        args: clip_within(&hide(&pairs(raw_args)), ARGS),
        command: hidden_command(raw_args).map(|command| clip_within(&hide(&command), COMMAND)),
        result: clip_within(&hide(&clip(result, RESULT * 4)), RESULT),
        end,
        elapsed_ms: elapsed.as_millis(),
    };
    let _ = jsonl::append(Path::new(path), &line);
}

/// `text` cut to at most `max` characters, including the ellipsis.
fn clip_within(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        text.to_owned()
    } else {
        clip(text, max - 1)
    }
}

/// The argument `command`, when others stand beside it or it is too long to be shown.
fn hidden_command(raw: &str) -> Option<String> {
    let map: serde_json::Map<String, serde_json::Value> = serde_json::from_str(raw).ok()?;
    let command = map.get("command")?.as_str()?;
    let is_hidden = map.len() > 1 || command.chars().count() + "command=".len() > ARGS;
    is_hidden.then(|| command.to_owned())
}

/// `key=value, key=value` for an object; any other text unchanged.
fn pairs(raw: &str) -> String {
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(raw) {
        Ok(map) => {
            let pair = |(key, value): (&String, &serde_json::Value)| match value.as_str() {
                Some(text) => format!("{key}={}", clip(text, ARGS)),
                None => format!("{key}={}", clip(&value.to_string(), ARGS)),
            };
            map.iter().map(pair).collect::<Vec<_>>().join(", ")
        }
        Err(_) => clip(raw, ARGS * 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_read_as_pairs_and_cuts_count_characters() {
        assert_eq!(pairs(r#"{"path":"a","n":3}"#), "path=a, n=3");
        assert_eq!(hidden_command(r#"{"command":"ls"}"#), None);
        let beside = hidden_command(r#"{"command":"ls","timeout":5}"#);
        assert_eq!(beside.as_deref(), Some("ls"));
        let long = hidden_command(&format!(r#"{{"command":"{}"}}"#, "é".repeat(195)));
        assert_eq!(long.map(|command| command.chars().count()), Some(195));
        assert_eq!(
            clip_within(&"é".repeat(500), RESULT).chars().count(),
            RESULT
        );
    }
}
