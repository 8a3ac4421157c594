//! The loop of a reply: planned steps that run directly, answers of the chat model, calls and their results, until there is an answer or the turns
//! are used up. Each file is one subject of it; [`TurnLoop`] is the order.

pub(crate) mod activity;
pub(crate) mod chat;
mod direct;
mod loop_digest;
mod nudges;
mod plan_progress;
mod refusals;
mod repair;
mod results;
mod room;
mod run_calls;
mod tool_digest;
mod weather;
mod web_results;

use self::chat::{ChatCalls, SystemMessage};
use self::direct::StepResolver;
use self::plan_progress::PlanProgress;
use self::refusals::CallLedger;
use self::repair::Repair;
use self::run_calls::shown_arguments;
use crate::base::redact::ConversationLabels;
use crate::chat::event::{Event, Level};
use crate::chat::message::{Assistant, Message, ToolCall};
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
use crate::reply::preparation::plan::Plan;
use crate::reply::preparation::system_message::example;
use crate::reply::report::ReplyRecorder;
use crate::reply::settings::ReplySettings;
use crate::reply::tools::aliases::KnownTools;
use crate::reply::tools::catalogue::Catalogue;
use crate::reply::tools::tool_set::ToolSet;
use crate::reply::trace::Trace;
use crate::tools::Effect;
use crate::tools::engine::context::ToolContext;

/// Empty answers in a row that end the loop.
const MAX_EMPTY: usize = 2;

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
    /// A hook ended the turn, and has said why.
    Ended,
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
            Self::Ended => "ended by a hook",
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
    progress: PlanProgress,
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
            progress: PlanProgress::new(input.plan),
            can_run_steps,
            candidate: None,
            effects: Vec::new(),
        }
    }

    /// Runs passes until one ends the reply.
    pub(crate) fn run(&mut self) -> TurnOutcome {
        let outcome = self.passes();
        let is_answer = matches!(outcome, TurnOutcome::Answer(_));
        let listener = &*self.input.ctx.listener;
        self.progress.end(is_answer, listener);
        outcome
    }

    fn passes(&mut self) -> TurnOutcome {
        let turns = self.input.settings.max_turns;
        let mut empty = 0;
        for turn in 1..=turns {
            if self.is_stopped() {
                return TurnOutcome::Cancelled;
            }
            self.input.trace.line(format!("🔁 Turn {turn}/{turns}"));
            self.progress.is_at(self.done, &*self.input.ctx.listener);
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
}

#[cfg(test)]
mod tests;
