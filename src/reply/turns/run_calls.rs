//! The calls of an answer: which are refused, how the others run, and what their results become for the model.

use serde_json::{Map, Value};

use super::results::ResultPolicy;
use super::tool_digest::ToolDigest;
use super::{TurnLoop, TurnOutcome, weather, web_results};
use crate::base::problem::{Outcome, Problem};
use crate::base::redact::{LABEL_START, scrub};
use crate::base::text::{clip, one_line};
use crate::chat::event::Event;
use crate::chat::message::{Assistant, Message, ToolCall, ToolOutput};
use crate::reply::preparation::context_line;
use crate::reply::tools::catalogue::{STOP, TOOL_SEARCH};
use crate::tools::Effect;
use crate::tools::engine::batch;

const MAX_TRACE_ARGUMENTS: usize = 160;
const MAX_TRACE_ERROR: usize = 240;

impl TurnLoop<'_> {
    /// Runs the calls of a row and appends their results, refusals included.
    pub(super) fn call(&mut self, row: Assistant) -> Option<TurnOutcome> {
        if !row.text.is_empty() {
            self.candidate = Some(row.text.clone());
        }
        let calls = row.calls.clone();
        let stop = calls.iter().position(|call| call.name == STOP);
        let before_stop = calls.get(..stop.unwrap_or(calls.len())).unwrap_or_default();
        self.rows.push(Message::Assistant(row));
        let mut results: Vec<Option<ToolOutput>> = Vec::new();
        let mut to_run: Vec<ToolCall> = Vec::new();
        for call in before_stop {
            let refusal = self.ledger.refusal(call, &self.tools, self.input.settings);
            results.push(refusal.map(|text| result_of(call, text)));
            if let Some(None) = results.last() {
                self.ledger.start(call);
                if call.name == TOOL_SEARCH {
                    let found = self.search(call);
                    results.pop();
                    results.push(Some(result_of(call, found)));
                } else {
                    to_run.push(call.clone());
                }
            }
        }
        let mut finished = self.run_calls(&to_run).into_iter();
        for result in results {
            let output = match result {
                Some(output) => output,
                None => match finished.next() {
                    Some(output) => output,
                    None => continue,
                },
            };
            self.rows.push(Message::Tool(output));
        }
        if self.is_stopped() {
            return Some(TurnOutcome::Cancelled);
        }
        if self.input.ctx.session.hooks.end().is_some() {
            return Some(TurnOutcome::Ended);
        }
        if stop.is_some() {
            return Some(TurnOutcome::Stop);
        }
        let switches = self.effects.iter().any(Effect::switches);
        switches.then_some(TurnOutcome::Switch)
    }

    /// Runs calls that nothing speaks against; one result each, ready for the model.
    fn run_calls(&mut self, calls: &[ToolCall]) -> Vec<ToolOutput> {
        if calls.is_empty() {
            return Vec::new();
        }
        let input = self.input;
        for call in calls {
            input.trace.line(format!(
                "🛠️ Agent → {} {}",
                call.name,
                shown_arguments(call)
            ));
        }
        let here = || context_line::known_place(&input.ctx.session, input.settings);
        let ready: Vec<Outcome<ToolCall>> = calls
            .iter()
            .map(|call| match self.would_write_labels(&self.restored(call)) {
                true => Err(Problem::refused(
                    "This would replace a secret by the label that stands for it here.",
                )
                .next("Change only the other parts, with a patch, or ask the user to do it.")),
                false => weather::located(input.ctx, call, here),
            })
            .collect();
        let shown: Vec<ToolCall> = ready.iter().flatten().cloned().collect();
        let to_run: Vec<ToolCall> = shown.iter().map(|call| self.restored(call)).collect();
        if !shown.is_empty() {
            let listener = &input.ctx.listener;
            listener.emit(Event::ToolsStarted(shown));
        }
        let mut finished = batch::run(input.ctx, &to_run, &mut |_| {}).into_iter();
        let policy = self.result_policy();
        let mut outputs = Vec::with_capacity(calls.len());
        let (mut done, mut has_hidden) = (self.done, self.has_hidden);
        for (call, ready) in calls.iter().zip(ready) {
            let finished = ready.and_then(|_| finished.next().ok_or_else(Problem::cancelled));
            let (mut output, effects) = match finished {
                Ok(finished) => {
                    let mut output = finished.output;
                    web_results::add_page(input.ctx, call, &mut output, input.query, finished.took);
                    (output, finished.effects)
                }
                Err(problem) => (failed_result(call, &problem), Vec::new()),
            };
            if output.failed {
                let error = clip(&one_line(&output.text), MAX_TRACE_ERROR);
                input
                    .trace
                    .line(format!("❌ {} error: {}", call.name, scrub(&error)));
            }
            // What a tool read is no more for a model, or for what is remembered, than what the user says.
            let scrubbed = input.labels.scrub(&output.text);
            has_hidden |= scrubbed != output.text;
            output.text = scrubbed;
            done += 1;
            // A reply that ends here needs no notes on what it found.
            if !self.is_stopped() && input.ctx.session.hooks.end().is_none() {
                policy.prepare(&mut output, done, self.chat.protocol);
            }
            outputs.push((output, effects));
        }
        (self.done, self.has_hidden) = (done, has_hidden);
        let mut results = Vec::with_capacity(outputs.len());
        for (call, (output, effects)) in calls.iter().zip(outputs) {
            self.ledger.finish(call, output.failed);
            self.effects.extend(effects);
            results.push(output);
        }
        results
    }

    /// The call as its tool gets it: with the addresses and numbers of the user that labels stand for.
    fn restored(&self, call: &ToolCall) -> ToolCall {
        ToolCall {
            args: self.input.labels.restored(&call.args),
            ..call.clone()
        }
    }

    /// Whether a call that changes something has a label in its arguments after results were shown with labels: what was read would be written back
    /// without its secrets.
    fn would_write_labels(&self, call: &ToolCall) -> bool {
        let effect = self.input.ctx.session.registry().plan(call).effect;
        self.has_hidden && !effect.is_none() && call.args.contains(LABEL_START)
    }

    fn result_policy(&self) -> ResultPolicy<'_> {
        let input = self.input;
        let is_condensed = input
            .settings
            .tool_result_digest_enabled
            .unwrap_or(input.is_small);
        ResultPolicy {
            registry: input.ctx.session.registry(),
            digest: is_condensed.then_some(ToolDigest {
                model: input.model,
                settings: input.settings,
                trace: input.trace,
                query: input.query,
            }),
            window: input.settings.num_ctx,
            tool_steps: &self.tool_steps,
            parts: input.parts,
        }
    }

    /// Looks for further tools and makes them callable.
    fn search(&mut self, call: &ToolCall) -> String {
        let arguments: Map<String, Value> = serde_json::from_str(&call.args).unwrap_or_default();
        let query = arguments.get("query").and_then(Value::as_str);
        let query = query.filter(|query| !query.trim().is_empty());
        let names = (self.input.search)(query.unwrap_or(self.input.query)).unwrap_or_default();
        let catalogue = self.input.catalogue;
        let mut lines = Vec::new();
        let mut found = Vec::new();
        for name in names {
            if catalogue.find(&name).is_some() {
                self.tools.add(&name);
                lines.push(format!("{name}: {}", catalogue.about(&name)));
                found.push(name);
            }
        }
        if lines.is_empty() {
            self.input.trace.line("🔍 No new tools found");
            return "No further tool was found for that. Decide with the tools you have, or answer without one.".to_owned();
        }
        self.input.trace.line(format!(
            "🔧 Discovered {} tool(s): {}",
            found.len(),
            found.join(", ")
        ));
        format!("These tools can be called now:\n{}", lines.join("\n"))
    }
}

/// A result that no tool gave: it is never a failure.
fn result_of(call: &ToolCall, text: String) -> ToolOutput {
    ToolOutput::ok(call.id.clone(), call.name.clone(), text)
}

fn failed_result(call: &ToolCall, problem: &Problem) -> ToolOutput {
    ToolOutput {
        failed: true,
        ..result_of(call, problem.for_model())
    }
}

pub(super) fn shown_arguments(call: &ToolCall) -> String {
    scrub(&clip(&one_line(&call.args), MAX_TRACE_ARGUMENTS))
}
