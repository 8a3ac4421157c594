//! The order of the stages: from what the user said to a reply that is checked, shown and remembered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::base::ids;
use crate::base::problem::Outcome;
use crate::base::redact::ConversationLabels;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::clip;
use crate::chat::event::{Event, Level};
use crate::chat::message::Message;
use crate::llm::failure::Failure;
use crate::llm::provider::Effort;
use crate::model_call::model_target::ModelTarget;
use crate::model_call::user_facts::UserFacts;
use crate::reply::answer::guard;
use crate::reply::dialogue::{DialogueLimits, DialogueMemory, SaidMessage, Speaker};
use crate::reply::memory;
use crate::reply::models::chat_model::ChatModel;
use crate::reply::models::model_size::{self, ModelSize};
use crate::reply::models::provider_chat::ProviderChat;
use crate::reply::models::stage::StageModel;
use crate::reply::models::stage_call::StageCaller;
use crate::reply::preparation::{Preparation, PreparationInput};
use crate::reply::report::{RecordedModel, ReplyOutcome, ReplyRecorder, ReplyReport};
use crate::reply::scratch::{ScratchCache, WARM_PROFILE};
use crate::reply::settings::ReplySettings;
use crate::reply::tools::session_tools::SessionToolsCache;
use crate::reply::trace::Trace;
use crate::reply::turns::{TurnInput, TurnLoop, TurnOutcome};
use crate::store::chat_log::{LogEntry, LogRole};
use crate::store::memory::{Branch, EraseTarget, ListenerGuard, MemoryStore};
use crate::tools::Effect;
use crate::tools::engine::context::{SessionContext, ToolContext};

/// The longest message, in characters.
const MAX_MESSAGE_CHARS: usize = 8_000;
const APOLOGY: &str = "Sorry, something went wrong with that reply. Please try again.";

/// A message of the user and what is known beside it.
#[derive(Clone)]
pub(crate) struct ReplyInput<'a> {
    /// As it was typed or heard.
    pub text: &'a str,
    /// When it was said, of [`ReplyEngine::stamp`].
    pub at: Timestamp,
    /// It was heard.
    pub spoken: bool,
    /// The language that was heard (ISO 639-1), if it is known.
    pub language: Option<&'a str>,
    /// The answer will be read aloud.
    pub read_aloud: bool,
    /// The only language of the voice that reads it, by its English name.
    pub voice_language: Option<&'a str>,
    /// The reasoning effort that the user chose.
    pub effort: Option<Effort>,
    /// Preferences, saved places and background jobs.
    pub person: &'a UserFacts,
}

#[derive(Debug, Default)]
pub(crate) struct ReplyEnd {
    /// The checked answer; empty after `stop`.
    pub text: String,
    /// When the answer was given; the chat log has the same moment.
    pub at: Option<Timestamp>,
    /// The model ended the conversation: nothing is shown or remembered.
    pub is_stop: bool,
    /// Changes of the session that tools requested.
    pub effects: Vec<Effect>,
}

pub(crate) struct ReplyModels<'a> {
    pub stages: &'a dyn StageModel,
    pub chat: &'a dyn ChatModel,
    pub is_small: bool,
    /// Tools that the provider takes in a request.
    pub max_tools: usize,
}

/// The reply flow of one profile in one session: settings, what was said, what was found for it.
pub(crate) struct ReplyEngine {
    settings: ReplySettings,
    dialogue: Arc<DialogueMemory>,
    scratch: Arc<ScratchCache>,
    session_tools: SessionToolsCache,
    /// Absent when nothing is remembered.
    store: Option<MemoryStore>,
    _profile_watch: Option<ListenerGuard>,
    _erase_watch: Option<ListenerGuard>,
    report: Mutex<Option<ReplyReport>>,
    /// Changes requested in a reply that was cancelled.
    left_effects: Mutex<Vec<Effect>>,
    is_restored: AtomicBool,
    /// What the moments of this session differ by from those of another one whose clock stands at the same time.
    offset: SignedDuration,
}

impl ReplyEngine {
    /// An engine for the active profile. Nothing is read yet.
    pub(crate) fn new(settings: ReplySettings, session: &SessionContext) -> Self {
        let profile = session.paths.profile(&session.profile()).ok();
        let store = profile
            .filter(|_| settings.memory_enabled)
            .map(|profile| MemoryStore::open(&profile, &session.clock));
        let scratch = Arc::<ScratchCache>::default();
        let watch = store.as_ref().map(|store| {
            let scratch = Arc::clone(&scratch);
            store.on_mutation(move |mutation| {
                if matches!(mutation.branch, Some(Branch::User | Branch::Directives)) {
                    scratch.remove(WARM_PROFILE);
                }
            })
        });
        let dialogue = Arc::new(DialogueMemory::new(DialogueLimits::from(&settings)));
        let erase_watch = store.as_ref().map(|store| {
            let (dialogue, scratch) = (Arc::clone(&dialogue), Arc::clone(&scratch));
            store.on_erase(move |target| {
                dialogue.forget(target);
                scratch.clear();
            })
        });
        Self {
            dialogue,
            settings,
            scratch,
            session_tools: SessionToolsCache::default(),
            store,
            _profile_watch: watch,
            _erase_watch: erase_watch,
            report: Mutex::default(),
            left_effects: Mutex::default(),
            is_restored: AtomicBool::new(false),
            offset: random_offset(),
        }
    }

    pub(crate) fn settings(&self) -> &ReplySettings {
        &self.settings
    }

    /// How the latest reply came about.
    pub(crate) fn last_report(&self) -> Option<ReplyReport> {
        locked(&self.report).clone()
    }

    /// Changes of the session that tools requested in a reply that was cancelled; they apply all the same.
    pub(crate) fn take_effects(&self) -> Vec<Effect> {
        std::mem::take(&mut locked(&self.left_effects))
    }

    /// Answers a message.
    ///
    /// # Errors
    /// It was cancelled. Everything else that goes wrong ends in a reply that says so.
    pub(crate) fn answer(
        &self,
        ctx: &ToolContext,
        target: &Arc<ModelTarget>,
        input: &ReplyInput<'_>,
    ) -> Result<ReplyEnd, Failure> {
        let caller = StageCaller::new(ctx, target, &self.settings, input.effort);
        let chat = ProviderChat::new(ctx, &caller, target, &self.settings);
        let size = model_size::of(&target.model, self.settings.model_size);
        let models = ReplyModels {
            stages: &caller,
            chat: &chat,
            is_small: size == ModelSize::Small,
            max_tools: target.info.tools,
        };
        self.reply(ctx, &models, input)
    }

    /// Answers a message with given models.
    ///
    /// # Errors
    /// It was cancelled.
    pub(crate) fn reply(
        &self,
        ctx: &ToolContext,
        models: &ReplyModels<'_>,
        input: &ReplyInput<'_>,
    ) -> Result<ReplyEnd, Failure> {
        let since = Instant::now();
        let recorder = ReplyRecorder::default();
        let stages = RecordedModel {
            model: models.stages,
            recorder: &recorder,
        };
        let trace = Trace::new(self.settings.trace, Arc::clone(&ctx.listener));
        trace.line("💬 Working…");
        let now = now(&ctx.session);
        let labels = self.dialogue.labels();
        if !self.dialogue.has_recent(now) {
            self.scratch.clear();
            self.dialogue.clear_carry_over();
            labels.clear();
        }
        let query = labels.redact_said(input.text);
        let message = message(input, &query, labels);
        let history = self.dialogue.recent(now);
        let prepared = Preparation::new(PreparationInput {
            ctx,
            model: &stages,
            settings: &self.settings,
            trace: &trace,
            recorder: &recorder,
            scratch: &self.scratch,
            session_tools: &self.session_tools,
            store: self.store.as_ref(),
            is_small: models.is_small,
            query: &query,
            history: &history,
            person: input.person,
            spoken: input.spoken,
            language: input.language,
            read_aloud: input.read_aloud,
            voice_language: input.voice_language,
        });
        let mut turn_end = TurnEnd::default();
        let outcome = if ctx.stop.is_fired() {
            TurnOutcome::Cancelled
        } else {
            let turn_input = TurnInput {
                ctx,
                chat: models.chat,
                model: &stages,
                recorder: &recorder,
                settings: &self.settings,
                trace: &trace,
                labels,
                is_small: models.is_small,
                query: &query,
                history: &history,
                message: &message,
                plan: &prepared.plan,
                parts: &prepared.parts,
                known: &prepared.session_tools.known,
                catalogue: &prepared.session_tools.catalogue,
                max_tools: models.max_tools,
                system: &|tools, protocol| prepared.system(tools, protocol),
                search: &|purpose| prepared.search(purpose),
            };
            let mut turns = TurnLoop::new(&turn_input, prepared.tools.clone());
            let outcome = recorder.stage("loop", || turns.run(), |outcome| outcome.words().into());
            turn_end.rows = std::mem::take(&mut turns.rows);
            turn_end.effects = std::mem::take(&mut turns.effects);
            outcome
        };
        let mut report = prepared.report();
        report.query.clone_from(&query);
        report.ran = ran(&turn_end.rows);
        report.end = outcome_of(&outcome);
        (report.stages, report.calls) = recorder.into_parts();
        report.took = since.elapsed();
        *locked(&self.report) = Some(report);
        for warning in self.store.iter().flat_map(MemoryStore::take_warnings) {
            ctx.listener.emit(Event::Notice(Level::Warning, warning));
        }
        let said = SaidMessage {
            text: &query,
            at: input.at,
            spoken: input.spoken,
        };
        self.finish(ctx, models, &trace, &said, outcome, turn_end)
    }

    /// Shows the answer and remembers what was said.
    fn finish(
        &self,
        ctx: &ToolContext,
        models: &ReplyModels<'_>,
        trace: &Trace,
        said: &SaidMessage<'_>,
        outcome: TurnOutcome,
        end: TurnEnd,
    ) -> Result<ReplyEnd, Failure> {
        let (text, is_apology) = match outcome {
            TurnOutcome::Answer(text) => (text, false),
            TurnOutcome::Malformed => (guard::trouble(models.is_small).to_owned(), true),
            TurnOutcome::Nothing => (APOLOGY.to_owned(), true),
            TurnOutcome::Stop => {
                trace.line("💤");
                self.scratch.clear();
                self.dialogue.clear_carry_over();
                return Ok(ReplyEnd {
                    is_stop: true,
                    effects: end.effects,
                    ..ReplyEnd::default()
                });
            }
            // The session sends the message again with the other profile.
            TurnOutcome::Switch => {
                return Ok(ReplyEnd {
                    effects: end.effects,
                    ..ReplyEnd::default()
                });
            }
            outcome @ (TurnOutcome::Ended | TurnOutcome::Cancelled) => {
                let now = now(&ctx.session);
                self.dialogue.add_message(said, now);
                self.dialogue.add_tools(end.rows, now);
                if outcome == TurnOutcome::Ended {
                    return Ok(ReplyEnd {
                        effects: end.effects,
                        ..ReplyEnd::default()
                    });
                }
                *locked(&self.left_effects) = end.effects;
                return Err(Failure::cancelled());
            }
        };
        let shown = if is_apology {
            format!("⚠️ {text}")
        } else {
            text.clone()
        };
        ctx.listener.emit(Event::Delta(shown));
        let now = now(&ctx.session);
        self.dialogue.add_message(said, now);
        self.dialogue.add_tools(end.rows, now);
        let at = self.stamp(now);
        self.dialogue.add_assistant(&text, at, now);
        Ok(ReplyEnd {
            text,
            at: Some(at),
            is_stop: false,
            effects: end.effects,
        })
    }

    /// The moment of a message that is sent at `now`, for the chat log and for [`ReplyInput::at`]: the diary knows its rows by it.
    pub(crate) fn stamp(&self, now: Timestamp) -> Timestamp {
        let now = now.checked_sub(self.offset).unwrap_or(now);
        self.dialogue.stamp(now)
    }

    /// Adds what the user saw beside the conversation at a moment of [`ReplyEngine::stamp`].
    pub(crate) fn add_note(&self, text: &str, at: Timestamp) {
        self.dialogue.add_note(text, at);
    }

    /// Whether something of what was said in this conversation is to be forgotten with `target`.
    pub(crate) fn holds(&self, target: &EraseTarget) -> bool {
        self.dialogue.holds(target)
    }

    /// Takes back the last exchange, which began with `said`.
    pub(crate) fn undo(&self, said: &str) {
        self.dialogue.undo(said);
    }

    /// Takes in what was said before this session began, the oldest entry first; only once. What is in the diary already is not remembered again.
    pub(crate) fn restore(
        &self,
        session: &SessionContext,
        entries: impl FnOnce() -> Vec<LogEntry>,
    ) {
        if self.is_restored.swap(true, Ordering::SeqCst) {
            return;
        }
        if let Some(store) = &self.store {
            store.preload();
        }
        let saved = self.store.as_ref().map(MemoryStore::saved_rows);
        let saved = saved.and_then(Result::ok).unwrap_or_default();
        let now = now(session);
        let mut entries = entries();
        entries.shared_sort_by_key(|entry| entry.at);
        for entry in entries {
            let Some(at) = entry.at.filter(|at| *at <= now) else {
                continue;
            };
            let speaker = match entry.role {
                LogRole::You => Speaker::User,
                LogRole::Assistant => Speaker::Assistant,
                LogRole::System | LogRole::Other => continue,
            };
            self.dialogue
                .seed(speaker, &entry.text, at, saved.covers(at));
        }
    }

    /// The conversation has become another one: what was said so far is remembered, but not sent any more, and `before` was said in the one that goes on,
    /// before a message of the moment `at`. It is not remembered again.
    pub(crate) fn begin_conversation(&self, before: &[Message], at: Timestamp) {
        self.scratch.clear();
        self.dialogue.begin_conversation(before, at);
    }

    /// Whether something was said that is not remembered yet.
    pub(crate) fn has_pending(&self) -> bool {
        self.dialogue.has_pending()
    }

    /// Whether it is time to remember what was said.
    pub(crate) fn is_update_due(&self, now: Timestamp) -> bool {
        self.dialogue.is_update_due(now)
    }

    /// Writes what was said to the memory of the profile. False when the model gave no usable summary; it stays pending.
    ///
    /// # Errors
    /// The model, the lock or the disk failed, or it was cancelled; it stays pending.
    pub(crate) fn update_memory(
        &self,
        ctx: &ToolContext,
        target: &Arc<ModelTarget>,
    ) -> Outcome<bool> {
        let caller = StageCaller::new(ctx, target, &self.settings, None);
        self.remember(ctx, &caller)
    }

    /// [`ReplyEngine::update_memory`] with a given model.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn remember(&self, ctx: &ToolContext, model: &dyn StageModel) -> Outcome<bool> {
        let Some(store) = self.store.as_ref().filter(|_| self.has_pending()) else {
            return Ok(true);
        };
        let trace = Trace::new(self.settings.trace, Arc::clone(&ctx.listener));
        let (settings, now) = (&self.settings, now(&ctx.session));
        // What was typed and what was spoken have entries of their own.
        let mut is_saved = true;
        while is_saved && self.has_pending() {
            let pending = self.dialogue.pending();
            is_saved =
                memory::update::run(store, model, settings, &pending, &trace, now, &ctx.stop)?;
            if is_saved {
                self.dialogue.mark_saved(&pending, now);
            }
        }
        store.flush()?;
        Ok(is_saved)
    }
}

/// What the loop leaves behind.
#[derive(Debug, Default)]
struct TurnEnd {
    rows: Vec<Message>,
    effects: Vec<Effect>,
}

/// The message as the chat model gets it: typed lines stay lines, because lists and code are pasted.
fn message(input: &ReplyInput<'_>, query: &str, labels: &ConversationLabels) -> String {
    if !input.spoken && input.text.trim().contains('\n') {
        clip(&labels.scrub_said(input.text.trim()), MAX_MESSAGE_CHARS)
    } else {
        query.to_owned()
    }
}

/// Less than a millisecond, which nobody notices: rows are known by when they were said, and two sessions must not say anything at the same moment.
fn random_offset() -> SignedDuration {
    let random = i64::from_str_radix(&ids::hex(4), 16).unwrap_or_default();
    SignedDuration::from_nanos(random % 1_000_000)
}

fn now(session: &SessionContext) -> Timestamp {
    session.clock.now().timestamp()
}

/// The tools that were called, in order.
fn ran(rows: &[Message]) -> Vec<String> {
    let outputs = rows.iter().filter_map(|row| match row {
        Message::Tool(output) => Some(output.name.clone()),
        _ => None,
    });
    outputs.collect()
}

fn outcome_of(outcome: &TurnOutcome) -> ReplyOutcome {
    match outcome {
        TurnOutcome::Answer(_) => ReplyOutcome::Answered,
        TurnOutcome::Malformed => ReplyOutcome::Malformed,
        TurnOutcome::Nothing => ReplyOutcome::NoAnswer,
        TurnOutcome::Stop => ReplyOutcome::Stopped,
        TurnOutcome::Switch => ReplyOutcome::Answered,
        TurnOutcome::Ended => ReplyOutcome::Ended,
        TurnOutcome::Cancelled => ReplyOutcome::Cancelled,
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
