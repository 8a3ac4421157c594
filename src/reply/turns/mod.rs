//! The loop of a reply: planned steps that run directly, answers of the chat model, calls and their results, until there is an answer or the turns
//! are used up. Each file is one subject of it; [`TurnLoop`] is the order.

pub(crate) mod activity;
pub(crate) mod chat;
mod direct;
mod loop_digest;
mod nudges;
mod refusals;
mod repair;
mod results;
mod room;
mod tool_digest;
mod weather;
mod web_results;

use serde_json::{Map, Value};

use self::chat::{ChatCalls, SystemMessage};
use self::direct::StepResolver;
use self::refusals::CallLedger;
use self::repair::Repair;
use self::results::ResultPolicy;
use self::tool_digest::ToolDigest;
use crate::base::problem::{Outcome, Problem};
use crate::base::redact::{ConversationLabels, LABEL_START, scrub};
use crate::base::text::{clip, one_line};
use crate::chat::event::{Event, Level};
use crate::chat::message::{Assistant, Message, ToolCall, ToolOutput};
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::Reply;
use crate::model_call::fallback;
use crate::reply::answer::chat_answer::{self, ChatAnswer};
use crate::reply::answer::clean;
use crate::reply::answer::echoes::OwnLines;
use crate::reply::answer::guard;
use crate::reply::answer::written_calls;
use crate::reply::models::chat_model::ChatModel;
use crate::reply::models::protocol::ToolProtocol;
use crate::reply::models::stage::StageModel;
use crate::reply::preparation::context_line;
use crate::reply::preparation::plan::Plan;
use crate::reply::preparation::system_message::example;
use crate::reply::report::ReplyRecorder;
use crate::reply::settings::ReplySettings;
use crate::reply::tools::aliases::KnownTools;
use crate::reply::tools::catalogue::{Catalogue, STOP, TOOL_SEARCH};
use crate::reply::tools::tool_set::ToolSet;
use crate::reply::trace::Trace;
use crate::tools::Effect;
use crate::tools::engine::batch;
use crate::tools::engine::context::ToolContext;

/// Empty answers in a row that end the loop.
const MAX_EMPTY: usize = 2;
const MAX_TRACE_ARGUMENTS: usize = 160;
const MAX_TRACE_ERROR: usize = 240;

/// What the passes of a reply need and do not change.
pub(crate) struct TurnInput<'a> {
    pub ctx: &'a ToolContext,
    pub chat: &'a dyn ChatModel,
    pub model: &'a dyn StageModel,
    /// Takes down the calls of the chat model; `model` has its own.
    pub recorder: &'a ReplyRecorder,
    pub settings: &'a ReplySettings,
    pub trace: &'a Trace,
    /// What stands for the secrets of this conversation.
    pub labels: &'a ConversationLabels,
    /// A small model: it writes its calls, and long results are condensed for it.
    pub is_small: bool,
    /// What the user said, redacted and on one line.
    pub query: &'a str,
    /// What was said before.
    pub history: &'a [Message],
    /// The message as the chat model gets it.
    pub message: &'a str,
    pub plan: &'a Plan,
    /// The parts of a question with two, where there is no plan.
    pub parts: &'a [String],
    pub known: &'a KnownTools,
    pub catalogue: &'a Catalogue,
    /// Tools that the provider takes in a request.
    pub max_tools: usize,
    pub system: &'a SystemMessage<'a>,
    /// Finds tools for a purpose; `None` when nothing in particular fits.
    pub search: &'a dyn Fn(&str) -> Option<Vec<String>>,
}

/// How the loop ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TurnOutcome {
    /// With a checked answer.
    Answer(String),
    /// With something that is never shown.
    Malformed,
    /// Without an answer.
    Nothing,
    /// The model ended the conversation.
    Stop,
    /// The profile was switched: the session sends the message again.
    Switch,
    /// The user stopped it.
    Cancelled,
}

impl TurnOutcome {
    pub(crate) const fn words(&self) -> &'static str {
        match self {
            Self::Answer(_) => "answer",
            Self::Malformed => "unusable answer",
            Self::Nothing => "no answer",
            Self::Stop => "end of the conversation",
            Self::Switch => "another profile",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The loop, and what it has so far.
pub(crate) struct TurnLoop<'a> {
    input: &'a TurnInput<'a>,
    chat: ChatCalls<'a>,
    tools: ToolSet,
    ledger: CallLedger,
    /// What was said before, as far as it is sent.
    history: Vec<Message>,
    /// The user's message.
    message: Message,
    /// Calls and results of this reply.
    pub rows: Vec<Message>,
    /// Lines of the prompt, which are no answer.
    own: OwnLines,
    /// What the next request says of a call that could not be run.
    repair: Option<Repair>,
    has_repaired: bool,
    /// Results of calls that ran.
    done: usize,
    /// Labels stand for secrets in one of the results.
    has_hidden: bool,
    /// The planned step that was left to the chat model.
    left: Option<usize>,
    tool_steps: Vec<String>,
    can_run_steps: bool,
    /// Prose beside the latest calls.
    candidate: Option<String>,
    pub effects: Vec<Effect>,
}

impl<'a> TurnLoop<'a> {
    pub(crate) fn new(input: &'a TurnInput<'a>, tools: ToolSet) -> Self {
        let protocol = if input.is_small || !input.chat.takes_tools() {
            ToolProtocol::Text
        } else {
            ToolProtocol::Native
        };
        let can_run_steps = input.settings.direct_exec
            && input.plan.steps().len() >= 2
            && !input
                .plan
                .is_under_specified(&|name| input.known.canonical(name));
        let steps = input.plan.steps().iter().enumerate();
        let steps = steps.map(|(n, step)| format!("{}. {step}", n + 1));
        let own = OwnLines::new(&input.settings.assistant_name, steps);
        Self {
            input,
            chat: ChatCalls {
                model: input.chat,
                recorder: input.recorder,
                catalogue: input.catalogue,
                max_tools: input.max_tools,
                listener: &*input.ctx.listener,
                system: input.system,
                protocol,
                names: input.known.names().map(str::to_owned).collect(),
                own_lines: own.lines().to_vec(),
                has_draft: false,
                arrived: String::new(),
            },
            own,
            repair: None,
            has_repaired: false,
            tools,
            ledger: CallLedger::default(),
            history: input.history.to_vec(),
            message: Message::user(input.message),
            rows: Vec::new(),
            done: 0,
            has_hidden: false,
            left: None,
            tool_steps: input
                .plan
                .tool_steps()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            can_run_steps,
            candidate: None,
            effects: Vec::new(),
        }
    }

    /// Runs passes until one ends the reply.
    pub(crate) fn run(&mut self) -> TurnOutcome {
        let turns = self.input.settings.max_turns;
        let mut empty = 0;
        for turn in 1..=turns {
            if self.is_stopped() {
                return TurnOutcome::Cancelled;
            }
            self.input.trace.line(format!("🔁 Turn {turn}/{turns}"));
            if let Some(call) = self.planned_call() {
                if let Some(end) = self.call(Assistant::new("", vec![call])) {
                    return end;
                }
                continue;
            }
            let asked = self.ask();
            let repair = self.repair.take();
            let reply = match asked {
                Ok(reply) => reply,
                Err(failure) => {
                    if failure.kind == FailureKind::Cancelled || self.is_stopped() {
                        self.chat.drop_draft();
                        return TurnOutcome::Cancelled;
                    }
                    let words = failure.problem.to_string();
                    let listener = &self.input.ctx.listener;
                    listener.emit(Event::Notice(Level::Warning, words));
                    if let Some(text) = self.half_answer() {
                        return TurnOutcome::Answer(text);
                    }
                    self.chat.drop_draft();
                    if let Some(repair) = repair {
                        return repair.end();
                    }
                    break;
                }
            };
            let written = reply.text.clone();
            let others = self.results();
            let answer = chat_answer::read(reply, self.input.known, &self.own, &others);
            if !matches!(answer, ChatAnswer::Final(_)) {
                self.chat.drop_draft();
            }
            match answer {
                ChatAnswer::Calls(row) => {
                    empty = 0;
                    if let Some(end) = self.call(row) {
                        return end;
                    }
                }
                ChatAnswer::Final(text) => return TurnOutcome::Answer(text),
                ChatAnswer::BrokenCall(said) if !self.has_repaired && turn < turns => {
                    empty = 0;
                    self.has_repaired = true;
                    self.repair = Some(self.repair(&written, said));
                }
                ChatAnswer::BrokenCall(said) => return Repair::ending(said),
                ChatAnswer::Malformed => return TurnOutcome::Malformed,
                ChatAnswer::Thinking => empty = 0,
                ChatAnswer::Empty => {
                    empty += 1;
                    if empty == MAX_EMPTY {
                        break;
                    }
                }
            }
        }
        if self.is_stopped() {
            return TurnOutcome::Cancelled;
        }
        self.without_answer()
    }

    /// What tools returned in this reply, and before it as far as it is sent.
    fn results(&self) -> Vec<&str> {
        let rows = self.history.iter().chain(&self.rows);
        let results = rows.filter_map(|row| match row {
            Message::Tool(output) => Some(output.text.as_str()),
            _ => None,
        });
        results.collect()
    }

    /// What arrived of an answer before the connection was cut, as far as it may be shown.
    fn half_answer(&self) -> Option<String> {
        let arrived = written_calls::read_answer(&self.chat.arrived, self.input.known, &[]);
        let said = clean::printed(&self.own.without(&arrived.prose));
        let is_shown = arrived.calls.is_empty() && !said.is_empty() && !guard::is_malformed(&said);
        is_shown.then(|| format!("{said}\n\n[unfinished]"))
    }

    /// The request for a call that can be run, in the form that this model is shown.
    fn repair(&self, written: &str, said: Option<String>) -> Repair {
        let names = self.tools.advertised();
        let example = example(names, self.input.catalogue);
        Repair::new(written, self.chat.protocol, names, &example, said)
    }

    /// What was found, when the model came to no answer.
    fn without_answer(&mut self) -> TurnOutcome {
        let input = self.input;
        let digest = loop_digest::digest(input.model, input.settings, input.query, &self.rows);
        if self.is_stopped() {
            return TurnOutcome::Cancelled;
        }
        let fit = |text: String| {
            let text = clean::printed(&text);
            (!text.is_empty() && !guard::is_malformed(&text)).then_some(text)
        };
        let candidate = self.candidate.take();
        digest
            .and_then(fit)
            .or_else(|| candidate.and_then(fit))
            .map_or(TurnOutcome::Nothing, TurnOutcome::Answer)
    }

    /// The chat model's answer, or that of the one that takes over.
    fn ask(&mut self) -> Result<Reply, Failure> {
        self.chat.arrived.clear();
        self.make_room();
        let mut rows = self.messages();
        let mut asked = self.chat.ask(&rows, &self.tools);
        if let Err(failure) = &asked
            && self.make_more_room(failure)
        {
            rows = self.messages();
            asked = self.chat.ask(&rows, &self.tools);
        }
        let failure = match asked {
            Err(failure) if failure.kind != FailureKind::Cancelled => failure,
            other => return other,
        };
        if !self.input.chat.fall_back(&failure, self.has_written()) {
            return Err(failure);
        }
        self.chat.drop_draft();
        match self.chat.ask(&rows, &self.tools) {
            Err(second) if second.kind != FailureKind::Cancelled => {
                let words = fallback::also_failed(&second, self.input.chat.name());
                let listener = &self.input.ctx.listener;
                listener.emit(Event::Notice(Level::Warning, words));
                Err(failure)
            }
            other => other,
        }
    }

    /// Whether a call of this reply may have changed something.
    fn has_written(&self) -> bool {
        let registry = self.input.ctx.session.registry();
        self.rows.iter().any(|row| match row {
            Message::Assistant(row) => {
                let mut calls = row.calls.iter();
                calls.any(|call| !registry.plan(call).effect.is_none())
            }
            _ => false,
        })
    }

    fn is_stopped(&self) -> bool {
        self.input.ctx.stop.is_fired()
    }

    /// The conversation up to now.
    fn messages(&self) -> Vec<Message> {
        let before = self.history.iter().chain([&self.message]);
        let repair = self.repair.iter().flat_map(Repair::rows);
        before.chain(&self.rows).chain(repair).cloned().collect()
    }

    /// The call of the next planned step, where steps run without the chat model.
    fn planned_call(&mut self) -> Option<ToolCall> {
        let input = self.input;
        if !self.can_run_steps
            || self.chat.protocol != ToolProtocol::Text
            || self.left == Some(self.done)
        {
            return None;
        }
        let step = self.tool_steps.get(self.done)?;
        let resolver = StepResolver {
            model: input.model,
            settings: input.settings,
            known: input.known,
            tools: &self.tools,
            catalogue: input.catalogue,
        };
        let call = resolver.resolve(step, &self.rows, &self.ledger);
        match &call {
            Some(call) => input.trace.line(format!(
                "🗺️ Plan step {} → direct-exec {} {}",
                self.done + 1,
                call.name,
                shown_arguments(call)
            )),
            None => self.left = Some(self.done),
        }
        call
    }

    /// Runs the calls of a row and appends their results, refusals included.
    fn call(&mut self, row: Assistant) -> Option<TurnOutcome> {
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
            // A stopped reply needs no notes on what it found.
            if !self.is_stopped() {
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

fn shown_arguments(call: &ToolCall) -> String {
    scrub(&clip(&one_line(&call.args), MAX_TRACE_ARGUMENTS))
}

#[cfg(test)]
mod tests;
