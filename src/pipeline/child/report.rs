//! What a child prints: on standard output its report, with lines that name its tools in between; on standard error its cost after each model call, and
//! messages.

use crate::chat::event::{CHILD_LINE_MARKER, TOOLS_MARKER};
use crate::chat::failure_report::{FailureReport, ProviderOutage};
use crate::chat::usage::ReportedCost;
use crate::proc::capture::{Captured, KeepLimits};
use crate::proc::pump::OutputStream;

/// Bytes kept of a report's beginning and end.
const REPORT_ENDS: usize = 1 << 20;
/// Bytes kept of the end of what is on standard error.
const ERRORS_END: usize = 8 << 10;

/// A line of a child's output.
#[derive(Debug, PartialEq)]
pub(super) enum ChildLine {
    /// The tools of a round.
    Tools(Vec<String>),
    /// What it has cost so far.
    Cost(ReportedCost),
    /// The failure that ends it.
    Failure(FailureReport),
    /// It waits, as long as this says, until its provider can answer.
    Wait(ProviderOutage),
    /// A message of it or the result of a call, as a line of JSON.
    Message(String),
    /// Anything else.
    Text,
}

/// Takes the output of a child apart.
pub(super) struct ReportReader {
    report: Captured,
    errors: Captured,
    /// The last piece of standard output ended a line.
    at_line_start: bool,
}

impl ReportReader {
    pub(super) fn new() -> Self {
        Self {
            report: Captured::new(KeepLimits::ends(REPORT_ENDS, REPORT_ENDS)),
            errors: Captured::new(KeepLimits::ends(0, ERRORS_END)),
            at_line_start: true,
        }
    }

    /// Takes a line, or a piece of a long one.
    pub(super) fn push(&mut self, stream: OutputStream, line: &[u8]) -> ChildLine {
        match stream {
            OutputStream::Stdout => {
                let starts = std::mem::replace(&mut self.at_line_start, line.ends_with(b"\n"));
                if starts && let Some(names) = line.strip_prefix(TOOLS_MARKER.as_bytes()) {
                    let names = String::from_utf8_lossy(names);
                    let names = names.trim_end().split(", ").map(str::to_owned);
                    return ChildLine::Tools(names.collect());
                }
                self.report.push(line);
                ChildLine::Text
            }
            OutputStream::Stderr => {
                let text = String::from_utf8_lossy(line);
                if let Some(line) = text.strip_prefix(CHILD_LINE_MARKER) {
                    return ChildLine::Message(line.trim_end().to_owned());
                }
                if let Some(cost) = ReportedCost::parse(&text) {
                    return ChildLine::Cost(cost);
                }
                if let Some(failure) = FailureReport::parse(&text) {
                    return ChildLine::Failure(failure);
                }
                if let Some(outage) = ProviderOutage::parse(&text) {
                    return ChildLine::Wait(outage);
                }
                self.errors.push(line);
                ChildLine::Text
            }
        }
    }

    /// The report.
    pub(super) fn text(&self) -> String {
        self.report.text()
    }

    /// The last error message.
    pub(super) fn error(&self) -> Option<String> {
        let bytes = self.errors.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let error = lines.iter().rev().find(|line| line.starts_with("Error: "));
        error
            .or(lines.last())
            .map(|line| line.trim_start_matches("Error: ").to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::ProblemKind;

    #[test]
    fn tools_and_costs_are_no_part_of_the_report() {
        let mut reader = ReportReader::new();
        let mut push = |line: &str| reader.push(OutputStream::Stdout, line.as_bytes());
        assert_eq!(push("I look.\n"), ChildLine::Text);
        assert_eq!(
            push("  \u{1f527} read_file, tree\n"),
            ChildLine::Tools(vec!["read_file".to_owned(), "tree".to_owned()])
        );
        assert_eq!(push("Half a line"), ChildLine::Text);
        assert_eq!(push("  \u{1f527} no tool\n"), ChildLine::Text);
        let mut push = |line: &str| reader.push(OutputStream::Stderr, line.as_bytes());
        assert!(matches!(
            push("MARVIN_COST:{\"session_cost\":0.5}\n"),
            ChildLine::Cost(cost) if cost.session_cost == 0.5
        ));
        assert_eq!(
            push("MARVIN_FAILURE:{\"kind\":\"auth\"}\n"),
            ChildLine::Failure(FailureReport {
                kind: ProblemKind::Auth,
                outage: None,
                lasting: false,
            })
        );
        assert_eq!(push("MARVIN_FAILURE:{\"kind\":\"new\"}\n"), ChildLine::Text);
        assert_eq!(
            push("MARVIN_WAIT:{\"provider\":\"openai\",\"retry_after_ms\":1500}\n"),
            ChildLine::Wait(ProviderOutage {
                provider: "openai".to_owned(),
                retry_after_ms: Some(1_500),
            })
        );
        assert_eq!(
            push("MARVIN_LINE:{\"type\":\"user\"}\n"),
            ChildLine::Message("{\"type\":\"user\"}".to_owned())
        );
        assert_eq!(push("Error: No answer.\n"), ChildLine::Text);
        assert_eq!(push("details\n"), ChildLine::Text);
        assert_eq!(reader.error().as_deref(), Some("No answer."));
        assert_eq!(reader.text(), "I look.\nHalf a line  \u{1f527} no tool\n");
    }
}
