//! What a child really did, from the record of its tool calls: a word at the end of a report counts only from somebody who looked.

mod commands;
mod printed;
mod programs;
mod standing;

use serde::Deserialize;

use self::commands::{Project, RunCommand};
use super::child::ChildReport;
use super::{Run, files};
use crate::chat::event::CallEnd;
use crate::proc::child_env::search_path;

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
    /// Whether it was carried out, and tried something of the project. A program that fails was run, one that was refused was not.
    fn is_a_try(&self, tool: &str, project: &Project) -> bool {
        let status = match self.end {
            CallEnd::Failure | CallEnd::Declined => return false,
            CallEnd::Success => Some(0),
            CallEnd::ExitCode(code) => Some(code),
            CallEnd::Signal(_) | CallEnd::Timeout | CallEnd::Stopped => None,
        };
        let shown = self.args.strip_prefix("command=").unwrap_or(&self.args);
        let command = RunCommand {
            text: self.command.as_deref().unwrap_or(shown),
            result: &self.result,
            status,
            project,
        };
        !RUNS.contains(&tool) || command.is_a_try()
    }
}

/// Whether the child has called one of `tools`, and the call was carried out and was more than a look around.
pub(crate) fn has_used(run: &Run, report: &ChildReport, tools: &[&str]) -> bool {
    let text = report
        .tool_log
        .strip_prefix(run.root().path())
        .ok()
        .and_then(|rel| run.root().check(rel.to_str()?).ok())
        .and_then(|rel| run.root().read(&rel, MAX_BYTES).ok())
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let session = &run.ctx.session;
    let paths = files::paths(run.root(), &run.ctx.stop);
    let project = Project::new(run.root().path(), &paths, search_path(&session.env));
    let is_evidence = |line: CallLine| {
        let Some(tool) = session.registry().find_canonical(&line.tool) else {
            return false;
        };
        tools.contains(&tool.name()) && line.is_a_try(tool.name(), &project)
    };
    text.lines()
        .filter_map(|line| serde_json::from_str::<CallLine>(line).ok())
        .any(is_evidence)
}
