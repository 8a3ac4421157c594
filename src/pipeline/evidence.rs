//! What a child really did, from the record of its tool calls: a word at the end of a report counts only from somebody who looked.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::Run;
use super::child::ChildReport;
use crate::chat::event::CallEnd;

/// Bytes of the record that are read.
const MAX_BYTES: u64 = 16 << 20;

/// Tools that run programs.
pub(crate) const RUNS: &[&str] = &["run_command"];
/// Tools that get a page as it is served: its source alone says little.
pub(crate) const LOOKS: &[&str] = &["run_command", "browse_web", "scrape_page"];

/// Programs that only print, look or wait: a command of nothing else has run nothing of the project.
const NOTHING_RUN: &[&str] = &[
    ":", "cat", "cd", "date", "echo", "env", "false", "file", "find", "git", "grep", "head", "ls",
    "printf", "pwd", "rg", "sleep", "stat", "tail", "test", "tk", "tree", "true", "type", "wc",
    "which",
];

/// A line of the record, as far as it matters here.
#[derive(Deserialize)]
struct CallLine {
    tool: String,
    end: CallEnd,
    #[serde(default)]
    args: String,
}

impl CallLine {
    /// Whether it was carried out: a program that fails was run, one that was refused was not.
    fn counts(&self) -> bool {
        let is_carried_out = !matches!(self.end, CallEnd::Failure | CallEnd::Declined);
        is_carried_out && (!RUNS.contains(&self.tool.as_str()) || runs_something(&self.args))
    }
}

/// Whether a shell command may start a program of the project. Who wants to deceive can; what this tells apart is a look around from a try.
fn runs_something(command: &str) -> bool {
    let command = command.trim_start().trim_start_matches("command=");
    let parts = command.split(['\n', ';', '|', '&', '(', ')', '{', '}']);
    let mut names = parts.filter_map(|part| {
        part.split_whitespace()
            .find(|word| !word.contains('=') && *word != "!")
    });
    names.any(|name| !NOTHING_RUN.contains(&name))
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
    fn a_look_around_is_no_try() {
        for command in [
            "command=true",
            "command=ls -la; cat src/main.py | head",
            "command=cd app && git status",
            "command=A=b printf x",
        ] {
            assert!(!runs_something(command), "{command}");
        }
        for command in [
            "command=./program --help",
            "command=cd app && python3 -m app < input.txt",
            "command=echo 3 | PORT=1 target/debug/app",
            "command=cargo run",
        ] {
            assert!(runs_something(command), "{command}");
        }
    }
}
