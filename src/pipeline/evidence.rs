//! What a child really did, from the record of its tool calls: a word at the end of a report counts only from somebody who looked.

mod commands;

use std::collections::BTreeSet;

use serde::Deserialize;

use self::commands::runs_something;
use super::Run;
use super::child::ChildReport;
use crate::chat::event::CallEnd;

/// Bytes of the record that are read.
const MAX_BYTES: u64 = 16 << 20;

/// Tools that run programs.
pub(crate) const RUNS: &[&str] = &["run_command"];
/// Tools that get a page as it is served: its source alone says little.
pub(crate) const LOOKS: &[&str] = &["run_command", "browse_web", "scrape_page"];

/// A line of the record, as far as it matters here.
#[derive(Deserialize)]
struct CallLine {
    tool: String,
    end: CallEnd,
    #[serde(default)]
    args: String,
    #[serde(default)]
    result: String,
    /// The whole command, where the arguments do not show it.
    #[serde(default)]
    command: Option<String>,
}

impl CallLine {
    fn command(&self) -> &str {
        let shown = self.args.strip_prefix("command=").unwrap_or(&self.args);
        self.command.as_deref().unwrap_or(shown)
    }

    /// Whether it was carried out: a program that fails was run, one that was refused was not.
    fn counts(&self) -> bool {
        // The shell ends with these when it finds no program, or may not start it; Python finds no script.
        let is_missing = match self.end {
            CallEnd::ExitCode(126 | 127) => true,
            CallEnd::ExitCode(2) => self.result.contains("python3: can't open file"),
            _ => false,
        };
        let is_carried_out =
            !is_missing && !matches!(self.end, CallEnd::Failure | CallEnd::Declined);
        is_carried_out && (!RUNS.contains(&self.tool.as_str()) || runs_something(self.command()))
    }
}

/// Whether the child has called one of `tools`, and the call was carried out and was more than a look around.
pub(crate) fn has_used(run: &Run, report: &ChildReport, tools: &[&str]) -> bool {
    used(run, report)
        .iter()
        .any(|used| tools.contains(&used.as_str()))
}

fn used(run: &Run, report: &ChildReport) -> BTreeSet<String> {
    let text = report
        .tool_log
        .strip_prefix(run.root().path())
        .ok()
        .and_then(|rel| run.root().check(rel.to_str()?).ok())
        .and_then(|rel| run.root().read(&rel, MAX_BYTES).ok())
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let registry = run.ctx.session.registry();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines
        .filter(CallLine::counts)
        .filter_map(|line| Some(registry.find_canonical(&line.tool)?.name().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_not_found_was_not_run() {
        let counts = |end: &str, result: &str| {
            let line = format!(
                r#"{{"tool": "run_command", "args": "command=./a", "end": {end}, "result": "{result}"}}"#
            );
            serde_json::from_str::<CallLine>(&line).unwrap().counts()
        };
        for end in [r#""success""#, r#"{"exit_code": 2}"#] {
            assert!(counts(end, "x"), "{end}");
        }
        for end in [
            r#""failure""#,
            r#"{"exit_code": 126}"#,
            r#"{"exit_code": 127}"#,
        ] {
            assert!(!counts(end, "x"), "{end}");
        }
        assert!(!counts(
            r#"{"exit_code": 2}"#,
            "python3: can't open file '/a'"
        ));
    }
}
