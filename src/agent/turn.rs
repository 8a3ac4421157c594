//! The agent loop: request, reply, tools, and again, until the model answers without calls or the limit of rounds is reached.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::more_rounds::MoreRounds;
use super::overhead::Overhead;
use super::system::SystemPrompt;
use super::{ending, more_rounds, prompts};
use crate::base::ids;
use crate::base::text::clip;
use crate::chat::budget::ContextBudget;
use crate::chat::compaction::open_task;
use crate::chat::event::{Event, Level};
use crate::chat::found_tools;
use crate::chat::message::{Message, ToolCall, ToolOutput};
use crate::chat::repair::{cut_for_cap, repair, sendable_name};
use crate::chat::tokens::{TokenMeter, estimate};
use crate::llm::failure::Failure;
use crate::llm::fallback::AttemptState;
use crate::llm::images;
use crate::llm::provider::{
    CODING_TURN_LIMIT, CallOptions, Effort, FinishReason, Offer, Reply, Request, TURN_LIMIT,
};
use crate::model_call::ask::ask;
use crate::model_call::fallback;
use crate::model_call::model_target::{ModelSwitch, ModelTarget};
use crate::model_call::user_facts::UserFacts;
use crate::store::sessions::log::TurnLog;
use crate::store::sessions::record::{CallRecord, ContextCause};
use crate::tools::Effect;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::hooks::turns::StopHooks;
use crate::tools::engine::registry::{FinishedCall, NAMELESS, Registry};
use crate::tools::engine::{arguments, batch, offering};

/// How much of a call's arguments goes back to the model after they were cut off, in characters.
const CUT_ARGUMENTS: usize = 1_000;

#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnLimits {
    /// Rounds of tool calls; the user may allow as many again.
    pub rounds: usize,
    /// Messages kept in memory, calls and results not counted.
    pub cap: usize,
    /// Requests to the model, if the caller limits them.
    pub requests: Option<usize>,
    /// End the turn when a tool switches the profile: the session sends the message again with the new one.
    pub until_switch: bool,
}

impl TurnLimits {
    /// The limits of a turn; work on code gets more rounds.
    pub(crate) fn new(works_on_code: bool) -> Self {
        if works_on_code {
            Self {
                rounds: 50,
                cap: 100,
                requests: None,
                until_switch: false,
            }
        } else {
            Self {
                rounds: 10,
                cap: 40,
                requests: None,
                until_switch: false,
            }
        }
    }
}

/// A conversation and everything needed to answer it.
pub(crate) struct Conversation<'a> {
    /// Provider and model.
    pub target: Arc<ModelTarget>,
    /// Says to which model requests go from now on, if that may change within the turn.
    pub switch: Option<Arc<dyn ModelSwitch>>,
    /// The tools offered; those that the conversation finds are appended.
    pub offer: Offer,
    /// Works in coding mode.
    pub coding: bool,
    /// The reasoning effort that the user chose.
    pub effort: Option<Effort>,
    pub limits: TurnLimits,
    /// Facts about the user.
    pub person: &'a UserFacts,
    pub messages: Vec<Message>,
    /// Their token count.
    pub meter: TokenMeter,
    /// Built with the first request, and again when its subject changes or the conversation is compacted.
    pub system: Option<SystemPrompt>,
    /// Identifies the conversation to the provider's prompt cache.
    cache_key: String,
    /// Changes of the session that tools requested; they apply even if the turn fails later.
    pub effects: Vec<Effect>,
    /// The user's message was taken out of `messages` again: alone it exceeds the model's window.
    pub is_taken_back: bool,
    /// What goes with the messages of a request.
    pub(super) overhead: Overhead,
    /// How long the calls of the last round waited for the user.
    waited: Duration,
    /// A hook has put a compaction off, which it may do once.
    pub(super) is_compaction_put_off: bool,
    /// Writes the messages to the session's file as they come.
    pub log: Option<TurnLog>,
}

impl<'a> Conversation<'a> {
    /// Starts with `messages` and the limits of the mode.
    pub(crate) fn new(
        target: Arc<ModelTarget>,
        offer: Offer,
        person: &'a UserFacts,
        messages: Vec<Message>,
        coding: bool,
    ) -> Self {
        Self {
            target,
            switch: None,
            offer,
            coding,
            effort: None,
            limits: TurnLimits::new(coding),
            person,
            messages,
            meter: TokenMeter::default(),
            system: None,
            cache_key: String::new(),
            effects: Vec::new(),
            is_taken_back: false,
            overhead: Overhead::default(),
            waited: Duration::ZERO,
            is_compaction_put_off: false,
            log: None,
        }
    }

    /// Answers the last message and returns the text of the final reply.
    ///
    /// # Errors
    /// The provider's failure, after retries and fallbacks; messages up to it stay in `messages`, but for a message that alone exceeds the window.
    pub(crate) fn answer(&mut self, ctx: &ToolContext) -> Result<String, Failure> {
        if self.cache_key.is_empty() {
            self.cache_key = cache_key(&ctx.session);
        }
        let mut now = AttemptState::default();
        let mut answered = self.rounds(ctx, &mut now);
        if let Err(failure) = &answered
            && let Some(successor) = fallback::successor(ctx, &self.target, failure, now).cloned()
        {
            fallback::announce(ctx, &self.target, failure, &successor);
            if let Some(switch) = &self.switch {
                switch.has_fallen_back(&successor);
            }
            let own = std::mem::replace(&mut self.target, Arc::clone(&successor));
            let rounds = self.messages.clone();
            rewind(&mut self.messages);
            self.save(ctx, ContextCause::Change);
            let second = self.rounds(ctx, &mut AttemptState::default());
            self.target = own;
            if second.is_err() && open_task(&self.messages).is_some() {
                // It has done nothing: what was done before it is kept.
                self.messages = rounds;
                self.save(ctx, ContextCause::Change);
            }
            answered = match (answered, second) {
                (Err(first), Err(second)) => Err(fallback::both(first, second, &successor)),
                (_, second) => second,
            };
        }
        if let Err(failure) = &answered {
            self.take_back(failure);
        }
        if !self.target.provider.keeps_conversation() {
            // Count the reply now, not only when the next message is sent.
            let warn = self.budget().warn;
            let tokens = self.meter.measure(&self.messages, 0, warn);
            ctx.session.gauge.set_messages(tokens);
        }
        answered
    }

    fn rounds(&mut self, ctx: &ToolContext, now: &mut AttemptState) -> Result<String, Failure> {
        let mut text = String::new();
        let mut last_round = self.limits.rounds;
        let mut cut_rounds = 0;
        let mut stops = StopHooks::default();
        for round in 0.. {
            if let Some(most) = self.limits.requests.filter(|most| round >= *most) {
                return Err(ending::out_of_requests(most));
            }
            let mut last = None;
            if round == last_round {
                match self.more_rounds(ctx, round)? {
                    MoreRounds::Yes => last_round += self.limits.rounds.max(1),
                    MoreRounds::No(words) => last = Some(words.unwrap_or_default()),
                }
            }
            let reply = self.request(ctx, *now, last.as_deref())?;
            now.shown |= !reply.text.trim().is_empty();
            text.clone_from(&reply.text);
            let refused = matches!(reply.finish, FinishReason::Refused(_));
            let (calls, cut) = if last.is_some() || refused {
                (Vec::new(), Vec::new())
            } else {
                normalize_calls(
                    &ctx.session.registry(),
                    reply.calls.clone(),
                    reply.cut_calls.clone(),
                )
            };
            if calls.is_empty() && cut.is_empty() {
                let failure =
                    ending::failure(&self.target, &reply, now.shown, last_round, self.has_most());
                self.keep(reply, &[], &[]);
                self.save(ctx, ContextCause::Change);
                failure.map_or(Ok(()), Err)?;
                // After the last round there is none in which the model could do what a hook wants.
                if last.is_none() && self.goes_on(ctx, &mut stops, &text) {
                    continue;
                }
                break;
            }
            if let Some(words) = ending::remark(&self.target, &reply, &cut) {
                ctx.listener.emit(Event::Notice(Level::Warning, words));
            }
            let finish = reply.finish.clone();
            let deadline = reply.deadline;
            self.keep(reply, &calls, &cut);
            self.save(ctx, ContextCause::Change);
            cut_rounds = if calls.is_empty() { cut_rounds + 1 } else { 0 };
            now.wrote |= calls
                .iter()
                .any(|call| !ctx.session.registry().plan(call).effect.is_none());
            if !calls.is_empty() {
                ctx.listener.emit(Event::ToolsStarted(calls.clone()));
            }
            let mut keep_result = |ended: &FinishedCall| self.save_result(ctx, ended);
            let mut ended = match deadline {
                None => batch::run(ctx, &calls, &mut keep_result),
                Some(_) => {
                    let ctx = ctx.clone();
                    let ctx = ToolContext { deadline, ..ctx };
                    batch::run(&ctx, &calls, &mut keep_result)
                }
            };
            self.waited = batch::waited(&ended);
            ended.extend(
                cut.iter()
                    .map(|call| ending::answer_cut(ctx, call, &finish)),
            );
            self.add_results(ctx, ended);
            if ctx.stop.is_fired() {
                return Err(Failure::cancelled());
            }
            if cut_rounds == ending::MAX_CUT_ROUNDS {
                return Err(ending::cut_again_and_again(&self.target, &finish));
            }
            if ctx.session.hooks.end().is_some() {
                break;
            }
            if self.effects.contains(&Effect::Answered) {
                if self.goes_on(ctx, &mut stops, &text) {
                    self.effects.retain(|effect| *effect != Effect::Answered);
                    continue;
                }
                break;
            }
            if self.limits.until_switch && self.effects.iter().any(Effect::switches) {
                break;
            }
        }
        Ok(text)
    }

    /// Whether a hook keeps the turn from ending after the model's last answer: then the model is told why.
    fn goes_on(&mut self, ctx: &ToolContext, stops: &mut StopHooks, last: &str) -> bool {
        let Some(text) = stops.objection(ctx, last) else {
            return false;
        };
        self.messages.push(Message::user(text));
        self.save(ctx, ContextCause::Change);
        true
    }

    /// Asks the user for more rounds.
    fn more_rounds(&mut self, ctx: &ToolContext, rounds: usize) -> Result<MoreRounds, Failure> {
        let since = Instant::now();
        let answer = more_rounds::ask(ctx, &self.target.model, rounds);
        self.waited += since.elapsed();
        answer
    }

    /// Whether a turn has as many rounds as it can have.
    fn has_most(&self) -> bool {
        self.limits.rounds >= TurnLimits::new(true).rounds
    }

    /// Adds the results of a round as far as the model's window has room for them; the session's file has the whole ones.
    fn add_results(&mut self, ctx: &ToolContext, ended: Vec<FinishedCall>) {
        let count = ended.len();
        for mut result in ended {
            result.output.name = sendable_name(&result.output.name);
            let ModelTarget { model, info, .. } = &*self.target;
            let provider = self.target.provider.name();
            images::keep_sendable(&mut result.output.images, provider, model, info);
            self.effects.extend(result.effects);
            self.messages.push(Message::Tool(result.output));
        }
        self.save(ctx, ContextCause::Change);
        let mut changed = self.cap_round(ctx, count);
        let round = self.messages.iter().rev().take(count);
        let said: usize = round.map(Message::len).sum();
        if let Some(warning) = self.warning(ctx, said)
            && let Some(Message::Tool(output)) = self.messages.last_mut()
        {
            output.text.push_str(&warning);
            changed = true;
        }
        if changed {
            self.save(ctx, ContextCause::Shortened);
        }
    }

    /// Repairs the conversation, keeps it within its limits and sends it. In the `last` request of a turn the model may not call tools, and these are words of
    /// the user about it.
    fn request(
        &mut self,
        ctx: &ToolContext,
        now: AttemptState,
        last: Option<&str>,
    ) -> Result<Reply, Failure> {
        if let Some(target) = self.switch.as_ref().and_then(|switch| switch.next()) {
            self.target = target;
        }
        repair(&mut self.messages);
        self.append_found(&ctx.session);
        if let Some(at) = cut_for_cap(&self.messages, self.limits.cap) {
            self.messages.drain(..at);
        }
        self.fit(ctx, last.is_some())?;
        match self.send(ctx, now, last) {
            Err(failure) if self.shrink(ctx, &failure) => {
                self.fit(ctx, last.is_some())?;
                self.send(ctx, now, last)
            }
            other => other,
        }
    }

    /// Whether a request has tools. Where one may have them and forbid calls, the last one has: it keeps what the provider has cached.
    pub(super) fn offers_tools(&self, is_last: bool) -> bool {
        !is_last || self.target.provider.can_forbid_calls(&self.target.info)
    }

    /// Offers what the conversation has found since the last request.
    pub(super) fn append_found(&mut self, session: &SessionContext) {
        if !self.offer.waiting.is_empty() {
            let found = found_tools::found(&self.messages);
            found.into_iter().for_each(|name| self.offer.append(name));
            offering::note(session, &self.offer);
        }
    }

    fn send(
        &mut self,
        ctx: &ToolContext,
        now: AttemptState,
        last: Option<&str>,
    ) -> Result<Reply, Failure> {
        let system = Arc::clone(&self.system_prompt(&ctx.session).text);
        self.save(ctx, ContextCause::Change);
        let before = last.map(|words| append_notice(&mut self.messages, words));
        let none = Offer::none();
        let offer = match self.offers_tools(last.is_some()) {
            true => &self.offer,
            false => &none,
        };
        let request = Request {
            model: &self.target.model,
            system: &system,
            messages: &self.messages,
            offer,
            may_call: last.is_none(),
            effort: self.effort.unwrap_or(Effort::of_mode(self.coding)),
            info: &self.target.info,
            effort_chosen: self.effort.is_some(),
            cache_key: &self.cache_key,
            on_connect: None,
            options: CallOptions {
                turn_limit: match self.coding {
                    true => CODING_TURN_LIMIT,
                    false => TURN_LIMIT,
                },
                waited: std::mem::take(&mut self.waited),
                ..CallOptions::default()
            },
        };
        let form = self.person.caller.form.as_deref();
        let reply = ask(ctx, &self.target, &request, now, form);
        if let (Some(bytes), Some(text)) = (before, last_text(&mut self.messages)) {
            text.truncate(bytes);
        }
        // The next request has the schemas again, even when this one had none.
        let overhead = system.len() + 4 * self.offer.tokens();
        ctx.session.gauge.set_overhead(estimate(overhead));
        if let Ok(Reply {
            context: Some(context),
            ..
        }) = &reply
        {
            let budget = ContextBudget::for_window(context.limit);
            let gauge = &ctx.session.gauge;
            gauge.set(context.tokens, estimate(overhead), budget.warn, budget.hard);
        }
        reply
    }

    pub(super) fn system_prompt(&mut self, session: &SessionContext) -> &SystemPrompt {
        let fits = |prompt: &SystemPrompt| prompt.fits(session, self.person, self.coding);
        let kept = self.system.take().filter(fits);
        self.system
            .insert(kept.unwrap_or_else(|| SystemPrompt::new(session, self.person, self.coding)))
    }

    /// Writes what has changed in the messages to the session's file.
    pub(crate) fn save(&self, ctx: &ToolContext, cause: ContextCause) {
        let notice = self
            .log
            .as_ref()
            .and_then(|log| log.sync(&self.messages, cause));
        if let Some(notice) = notice {
            ctx.listener.emit(Event::Notice(Level::Warning, notice));
        }
    }

    /// Writes the result of a call to the session's file before the round is over: other calls may go on for long, and the user sees this one.
    fn save_result(&self, ctx: &ToolContext, ended: &FinishedCall) {
        let Some(log) = &self.log else {
            return;
        };
        let output = ToolOutput {
            name: sendable_name(&ended.output.name),
            ..ended.output.clone()
        };
        let shown = CallRecord {
            end: ended.end,
            took_ms: u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
            answered_by: ended.answered_by.iter().map(ToString::to_string).collect(),
            display: ended.display.clone(),
        };
        if let Some(notice) = log.add_result(&Message::Tool(output), shown) {
            ctx.listener.emit(Event::Notice(Level::Warning, notice));
        }
    }

    /// A warning when the context is nearly full, including the results of this round (`said` bytes).
    fn warning(&self, ctx: &ToolContext, said: usize) -> Option<String> {
        self.budget()
            .warning(ctx.session.gauge.used() + estimate(said))
    }

    /// Adds the reply to the conversation, its calls as they can be sent again.
    fn keep(&mut self, mut reply: Reply, calls: &[ToolCall], cut: &[ToolCall]) {
        // A refusal goes back as what the model said.
        if let FinishReason::Refused(words) = &reply.finish
            && !words.trim().is_empty()
        {
            if !reply.text.is_empty() {
                reply.text.push_str("\n\n");
            }
            reply.text.push_str(words);
        }
        // Some providers refuse a later request that contains blank text.
        if reply.text.trim().is_empty() {
            reply.text.clear();
        }
        let kept = |call: &ToolCall, args: &str| ToolCall {
            name: sendable_name(&call.name),
            args: arguments::for_history(args),
            ..call.clone()
        };
        // The model repeats a call that was cut off, so its beginning is enough.
        let begun = |call: &ToolCall| kept(call, &clip(&call.args, CUT_ARGUMENTS));
        reply.calls = calls.iter().map(|call| kept(call, &call.args)).collect();
        reply.calls.extend(cut.iter().map(begun));
        if !reply.text.is_empty() || !reply.calls.is_empty() {
            if let Some(log) = &self.log {
                log.note_thought(&reply.thinking);
            }
            self.messages.push(reply.into_message());
        }
    }
}

/// Takes the conversation back to the user's message.
fn rewind(messages: &mut Vec<Message>) {
    let is_user = |message: &Message| matches!(message, Message::User(_));
    if let Some(at) = messages.iter().rposition(is_user) {
        messages.truncate(at + 1);
    }
}

/// Tells the model at the end of the conversation that it gets no more tools, and returns how long the last message was before. The notice is part of
/// that message, a result: some servers refuse a message of the system or the user directly after results.
fn append_notice(messages: &mut [Message], words: &str) -> usize {
    let Some(text) = last_text(messages) else {
        return 0;
    };
    let before = text.len();
    text.push_str("\n\n[");
    text.push_str(prompts::LAST_ROUND.trim_end());
    if !words.is_empty() {
        text.push_str(" About that the user was asked. ");
        text.push_str(words);
    }
    text.push(']');
    before
}

/// The text of the last message, unless it is the model's.
pub(super) fn last_text(messages: &mut [Message]) -> Option<&mut String> {
    match messages.last_mut()? {
        Message::Tool(output) => Some(&mut output.text),
        Message::User(user) => Some(&mut user.text),
        Message::System { text } => Some(text),
        Message::Assistant(_) => None,
    }
}

/// The same for all sessions of a profile in a folder: their requests start alike, so each can use what another wrote to the cache. Hashed, to keep
/// the folder's name private.
fn cache_key(session: &SessionContext) -> String {
    let root = session.working_dir.root();
    let folder = root.map_or_else(String::new, |root| root.path().display().to_string());
    let hash = ids::stable_hash(&format!("{folder}\0{}", session.profile()));
    format!("marvin-{hash:016x}")
}

/// Gives calls with a missing or duplicate id a new one, so that each call gets exactly one result, and cleans up decorated tool names.
fn normalize_calls(
    registry: &Registry,
    mut calls: Vec<ToolCall>,
    mut cut: Vec<ToolCall>,
) -> (Vec<ToolCall>, Vec<ToolCall>) {
    let mut seen = HashSet::new();
    for call in calls.iter_mut().chain(&mut cut) {
        if call.name.trim().is_empty() {
            NAMELESS.clone_into(&mut call.name);
        } else if let Some(tool) = registry.find_canonical(&call.name) {
            tool.name().clone_into(&mut call.name);
        } else {
            // An invented name can be a page long, and it is shown and sent back.
            call.name = clip(&call.name, 100);
        }
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = ids::call();
            seen.insert(call.id.clone());
        }
    }
    (calls, cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_before_a_tools_name_is_no_part_of_it() {
        let call = |name: &str| ToolCall::new("a", name, "{}");
        let names = ["functions.tree", " tree\n", "tool:tree", "a.tree.b", "tree"];
        let (calls, _) = normalize_calls(
            &Registry::default(),
            names.into_iter().map(call).collect(),
            Vec::new(),
        );
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["tree", "tree", "tree", "a.tree.b", "tree"]);
        let ids: HashSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), 5);
    }
}
