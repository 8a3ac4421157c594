//! What a model reads of a result: condensed where that is set, cut where it would fill the context window, and with a nudge below.

use std::sync::Arc;

use super::nudges::nudge;
use super::tool_digest::ToolDigest;
use crate::chat::message::ToolOutput;
use crate::reply::models::protocol::ToolProtocol;
use crate::tools::engine::registry::Registry;
use crate::tools::output::untrusted::clip_fenced;

/// Characters that a token of the context window stands for.
const CHARS_PER_TOKEN: u64 = 4;

/// How the results of a reply are passed on.
pub(crate) struct ResultPolicy<'a> {
    pub registry: Arc<Registry>,
    /// Absent when results are not condensed.
    pub digest: Option<ToolDigest<'a>>,
    /// The model's context window, in tokens.
    pub window: u64,
    /// The steps of the plan that call tools.
    pub tool_steps: &'a [String],
    /// The parts of a question with two.
    pub parts: &'a [String],
}

impl ResultPolicy<'_> {
    /// Prepares result number `done` of the reply.
    pub(crate) fn prepare(&self, output: &mut ToolOutput, done: usize, protocol: ToolProtocol) {
        let is_compact = || {
            let tool = self.registry.find(&output.name);
            tool.is_some_and(|tool| tool.rules().compact)
        };
        let digest = self
            .digest
            .as_ref()
            .filter(|_| !output.failed && !is_compact());
        if let Some(notes) = digest.and_then(|digest| digest.condense(&output.name, &output.text)) {
            output.text = notes;
        }
        let half = usize::try_from(self.window / 2 * CHARS_PER_TOKEN).unwrap_or(usize::MAX);
        if let Some(mut cut) = clip_fenced(&output.text, half) {
            cut.push_str("\n\n[The result was longer. Ask for less at once to see the rest.]");
            output.text = cut;
        }
        if protocol == ToolProtocol::Text {
            output.text.push_str("\n\n");
            output
                .text
                .push_str(&nudge(self.tool_steps, self.parts, done));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::event::NullSink;
    use crate::reply::settings::{ReplySettings, TraceLevel};
    use crate::reply::testing::Scripted;
    use crate::reply::trace::Trace;

    fn policy() -> ResultPolicy<'static> {
        ResultPolicy {
            registry: Arc::default(),
            digest: None,
            window: 100,
            tool_steps: &[],
            parts: &[],
        }
    }

    fn output(text: &str) -> ToolOutput {
        ToolOutput::ok("a", "read_note", text)
    }

    #[test]
    fn a_result_takes_at_most_half_of_the_window_and_stays_fenced() {
        let policy = policy();
        let text = format!(
            "<<<BEGIN UNTRUSTED WEB EXTRACT>>>\n{}\n<<<END UNTRUSTED WEB EXTRACT>>>",
            "word ".repeat(100)
        );
        let mut long = output(&text);
        policy.prepare(&mut long, 1, ToolProtocol::Native);
        assert!(long.text.chars().count() < 350, "{}", long.text.len());
        assert!(long.text.contains("<<<END UNTRUSTED WEB EXTRACT>>>\n\n["));
        let mut short = output("word");
        policy.prepare(&mut short, 1, ToolProtocol::Native);
        assert_eq!(short.text, "word");
    }

    #[test]
    fn only_written_calls_are_nudged() {
        let mut failed = ToolOutput {
            failed: true,
            ..output("Error: no such note.")
        };
        policy().prepare(&mut failed, 1, ToolProtocol::Text);
        assert!(failed.text.starts_with("Error: no such note.\n\n["));
    }

    #[test]
    fn failures_and_compact_results_are_not_condensed() {
        let model = Scripted::new(&[Some("Notes."); 9]);
        let settings = ReplySettings::default();
        let trace = Trace::new(TraceLevel::Off, Arc::new(NullSink));
        for (name, failed, condensed) in [
            ("read_note", false, true),
            ("read_note", true, false),
            ("weather_forecast", false, false),
            ("convert_units", false, false),
            ("timer_start", false, false),
        ] {
            let policy = ResultPolicy {
                digest: Some(ToolDigest {
                    model: &model,
                    settings: &settings,
                    trace: &trace,
                    query: "x",
                }),
                window: 8_192,
                ..policy()
            };
            let mut result = ToolOutput {
                name: name.to_owned(),
                failed,
                ..output(&"word ".repeat(100))
            };
            policy.prepare(&mut result, 1, ToolProtocol::Native);
            assert_eq!(result.text == "Notes.", condensed, "{name}");
        }
        assert_eq!(model.calls(), 1);
    }
}
