//! `cost-log.jsonl`: one line per model call of a profile, for the reports of a period.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::base::json::{count, number};
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::chat::ledger::{Ledger, LoggedTurn};
use crate::chat::usage::{Tokens, TurnUsage};
use crate::disk::atomic::{self, Access, STATE_CAP};
use crate::disk::paths::Paths;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoggedCall {
    pub(crate) time: Timestamp,
    pub(crate) model: String,
    pub(crate) tokens: Tokens,
    /// In US dollars.
    pub(crate) cost: f64,
    pub(crate) cost_estimated: bool,
    /// AI credits.
    pub(crate) credits: f64,
}

impl LoggedCall {
    /// Parses a line of the log; `None` for one that a crash has torn.
    fn read(line: &[u8]) -> Option<Self> {
        let line: Value = serde_json::from_slice(line).ok()?;
        let tokens = |key: &str| line.get(key).and_then(count).unwrap_or_default();
        let model = line.get("model").and_then(Value::as_str);
        // Older lines say only that some of their numbers are estimates.
        let estimated = |key: &str| {
            let said = line.get(key).or_else(|| line.get("estimated"));
            said.and_then(Value::as_bool).unwrap_or_default()
        };
        let cost = line.get("cost").and_then(number).unwrap_or_default();
        Some(Self {
            time: line.get("ts")?.as_str()?.parse().ok()?,
            model: model.unwrap_or("unknown").to_owned(),
            tokens: Tokens {
                input: tokens("input"),
                output: tokens("output"),
                cached: tokens("cached"),
                written: tokens("written"),
                written_1h: tokens("written_1h"),
                reasoning: tokens("reasoning"),
                estimated: estimated("tokens_estimated"),
            },
            cost,
            cost_estimated: estimated("cost_estimated") && cost > 0.0,
            credits: line.get("ai_credits").and_then(number).unwrap_or_default(),
        })
    }

    fn line(ts: &str, turn: &TurnUsage) -> Value {
        let TurnUsage { tokens, .. } = turn;
        let mut line = json!({
            "ts": ts, "provider": turn.provider, "model": turn.model,
            "input": tokens.input, "output": tokens.output,
            "estimated": tokens.estimated || turn.cost_estimated, "cost": turn.cost,
            "cached": tokens.cached, "written": tokens.written, "written_1h": tokens.written_1h,
            "reasoning": tokens.reasoning,
            "tokens_estimated": tokens.estimated, "cost_estimated": turn.cost_estimated,
        });
        if let (Some(plan), Value::Object(line)) = (turn.plan, &mut line) {
            line.insert("ai_credits".to_owned(), json!(plan.credits));
        }
        line
    }
}

/// The profile's calls since a time: those in the log, then those that the ledger has not saved yet.
///
/// # Errors
/// The log is there and cannot be read.
pub(crate) fn calls_since(
    paths: &Paths,
    profile: &str,
    ledger: &Ledger,
    since: Timestamp,
) -> Outcome<Vec<LoggedCall>> {
    let path = paths.profile(profile)?.cost_log();
    let cannot = |why| Problem::system(format!("Cannot read {}", path.display()), why);
    let mut calls = Vec::new();
    let mut add = |call: Option<LoggedCall>| calls.extend(call.filter(|call| call.time >= since));
    match open::read(&path) {
        Ok(file) => {
            for line in BufReader::new(file.take(STATE_CAP)).split(b'\n') {
                add(LoggedCall::read(&line.map_err(cannot)?));
            }
        }
        Err(why) if why.kind() == ErrorKind::NotFound => {}
        Err(why) => return Err(cannot(why)),
    }
    for LoggedTurn { ts, turn } in ledger.unsaved().turns {
        add(ts.parse().ok().map(|time| LoggedCall {
            time,
            model: turn.model,
            tokens: turn.tokens,
            cost: turn.cost,
            cost_estimated: turn.cost_estimated,
            credits: turn.plan.map_or(0.0, |plan| plan.credits),
        }));
    }
    Ok(calls)
}

/// Appends one line per call. It is not synced to disk, and a failure to write is ignored: reports of a period are not worth a wait.
pub(super) fn append(paths: &Paths, profile: &str, turns: &[LoggedTurn]) -> Outcome<()> {
    let mut lines = String::new();
    for LoggedTurn { ts, turn } in turns {
        lines.push_str(&LoggedCall::line(ts, turn).to_string());
        lines.push('\n');
    }
    if lines.is_empty() {
        return Ok(());
    }
    let path = paths.profile(profile)?.cost_log();
    let cannot = |why| Problem::system(format!("Cannot add to {}", path.display()), why);
    let open = || {
        let mut options = OpenOptions::new();
        let file = open::with(options.append(true).create(true).mode(0o600), &path)?;
        atomic::make_private(&file).map(|()| file)
    };
    let mut file = match open() {
        Err(why) if why.kind() == ErrorKind::NotFound => {
            atomic::make_folder(path.parent().unwrap_or(&path), Access::Private)?;
            open().map_err(cannot)?
        }
        opened => opened.map_err(cannot)?,
    };
    file.write_all(lines.as_bytes()).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_read_as_it_was_written_and_an_older_one_too() {
        let turn = TurnUsage {
            provider: "p".into(),
            model: "m".into(),
            tokens: Tokens {
                input: 10,
                output: 4,
                cached: 6,
                written: 3,
                written_1h: 1,
                reasoning: 2,
                estimated: true,
            },
            cost: 0.5,
            cost_estimated: false,
            plan: None,
        };
        let line = LoggedCall::line("2026-03-01T00:00:00Z", &turn);
        assert_eq!(line["estimated"], true);
        let call = LoggedCall::read(line.to_string().as_bytes()).unwrap();
        assert_eq!((call.tokens, call.cost_estimated), (turn.tokens, false));
        let old = br#"{"ts":"2026-03-01T00:00:00Z","model":"m","input":10,"output":4,"estimated":true,"cost":0.5}"#;
        let call = LoggedCall::read(old).unwrap();
        let flags = (call.tokens.estimated, call.cost_estimated);
        assert_eq!((call.tokens.total(), flags), (14, (true, true)));
        let odd = br#"{"ts":"2026-03-01T00:00:00Z","input":-4,"output":"7","cached":1e18,"estimated":"yes","cost":"0.5"}"#;
        let call = LoggedCall::read(odd).unwrap();
        assert_eq!((call.tokens.input, call.tokens.output), (0, 7));
        assert_eq!((call.cost, call.tokens.estimated), (0.5, false));
    }
}
