//! `MARVIN_SUBAGENT_LOG`: one JSON line per tool call, including refused and unknown ones.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::context::SessionContext;
use crate::base::redact::secrets;
use crate::base::text::clip;
use crate::base::variables::MARVIN_SUBAGENT_LOG;
use crate::disk::jsonl;

/// Most characters of the arguments and of the result.
const ARGS: usize = 200;
const RESULT: usize = 400;

#[derive(Serialize)]
struct CallLogLine<'a> {
    ts: String,
    tool: &'a str,
    args: String,
    result: String,
    elapsed_ms: u128,
}

/// Appends a line if the log is switched on; a log that cannot be written never disturbs the call.
pub(crate) fn record(
    world: &SessionContext,
    tool: &str,
    raw_args: &str,
    result: &str,
    elapsed: Duration,
) {
    let Some(path) = MARVIN_SUBAGENT_LOG.read(&world.env) else {
        return;
    };
    let hide = |text: &str| secrets(text, &world.secrets).into_owned();
    let line = CallLogLine {
        ts: world.clock.utc(),
        tool,
        args: clip_within(&hide(&pairs(raw_args)), ARGS),
        result: clip_within(&hide(&clip(result, RESULT * 4)), RESULT),
        elapsed_ms: elapsed.as_millis(),
    };
    let _ = jsonl::append(Path::new(path), &line);
}

/// `text` cut to at most `max` characters, the mark of the cut included.
fn clip_within(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        text.to_owned()
    } else {
        clip(text, max - 1)
    }
}

/// `key=value, key=value` of an argument object; other text as it is.
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
        assert_eq!(
            clip_within(&"é".repeat(500), RESULT).chars().count(),
            RESULT
        );
    }
}
