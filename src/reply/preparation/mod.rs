//! What is found out before the chat model is asked: tools, a plan, what memory has, and the system message made of it. No part of it can stop a
//! reply: what fails is left out.

mod allow_list;
pub(crate) mod context_line;
pub(crate) mod plan;
mod planner;
mod router;
pub(crate) mod split;
pub(crate) mod system_message;
mod tool_vectors;

use std::sync::Arc;

use self::allow_list::AllowList;
use self::plan::Plan;
use self::planner::PlannerInput;
use self::router::RouterInput;
use self::system_message::{MemoryBlock, ProfileFacts, SystemParts};
use crate::chat::message::Message;
use crate::model_call::user_facts::UserFacts;
use crate::reply::dialogue::carry_over::failed_tools;
use crate::reply::memory::enrichment::{self, RecallInput, Recalled};
use crate::reply::memory::memory_digest::{self, MemoryDigest};
use crate::reply::memory::recall_gate;
use crate::reply::memory::warm_profile;
use crate::reply::models::protocol::ToolProtocol;
use crate::reply::models::stage::StageModel;
use crate::reply::report::{ReplyRecorder, ReplyReport};
use crate::reply::scratch::ScratchCache;
use crate::reply::settings::ReplySettings;
use crate::reply::tools::session_tools::{SessionTools, SessionToolsCache};
use crate::reply::tools::tool_set::ToolSet;
use crate::reply::trace::Trace;
use crate::store::memory::MemoryStore;
use crate::tools::engine::context::ToolContext;

/// What the stages before the loop work with.
#[derive(Clone, Copy)]
pub(crate) struct PreparationInput<'a> {
    pub ctx: &'a ToolContext,
    pub model: &'a dyn StageModel,
    pub settings: &'a ReplySettings,
    pub trace: &'a Trace,
    pub recorder: &'a ReplyRecorder,
    pub scratch: &'a ScratchCache,
    pub session_tools: &'a SessionToolsCache,
    /// Absent when nothing is remembered.
    pub store: Option<&'a MemoryStore>,
    pub is_small: bool,
    /// What the user said, redacted and on one line.
    pub query: &'a str,
    pub history: &'a [Message],
    pub person: &'a UserFacts,
    pub spoken: bool,
    /// The language that was heard.
    pub language: Option<&'a str>,
    pub read_aloud: bool,
    /// The only language of the voice that reads the answer.
    pub voice_language: Option<&'a str>,
}

/// What they found.
pub(crate) struct Preparation<'a> {
    input: PreparationInput<'a>,
    pub plan: Plan,
    /// The parts of a question with two, where there is no plan.
    pub parts: Vec<String>,
    pub tools: ToolSet,
    pub session_tools: Arc<SessionTools>,
    tools_by: String,
    warm_profile: String,
    memory: Memory,
    profile: String,
}

/// What memory has for the message.
#[derive(Debug, Default)]
enum Memory {
    #[default]
    Nothing,
    Raw(Recalled),
    Note(String),
}

impl<'a> Preparation<'a> {
    /// Runs the stages before the loop.
    pub(crate) fn new(input: PreparationInput<'a>) -> Self {
        let PreparationInput {
            ctx,
            model,
            settings,
            trace,
            recorder,
            query,
            history,
            ..
        } = input;
        let session = &ctx.session;
        let session_tools = input.session_tools.of(session);
        let catalogue = &session_tools.catalogue;
        let context_line = context_line::of_session(session, settings);
        let router_input = RouterInput {
            query,
            catalogue,
            context_line: &context_line,
            history,
        };
        let routing = recorder.stage(
            "router",
            || router::pick(&router_input, model, settings, input.scratch),
            |routing| routing.names.join(", "),
        );
        let carried: Vec<String> = failed_tools(history)
            .into_iter()
            .filter(|name| catalogue.find(name).is_some() && !routing.names.contains(name))
            .collect();
        let picked = [routing.names.as_slice(), carried.as_slice()].concat();
        let planner_input = PlannerInput {
            query,
            history,
            tools: &picked,
            catalogue,
        };
        let plan = recorder.stage(
            "planner",
            || planner::plan(&planner_input, model, settings, trace),
            |plan| plan.steps().join(" | "),
        );
        let canonical = |name: &str| catalogue.canonical(name);
        let planned = if plan.is_under_specified(&canonical) {
            Vec::new()
        } else {
            plan.names(&canonical)
        };
        let (warm_profile, memory) = input.memory(&plan, &context_line);
        let list = AllowList::new(
            &routing,
            &carried,
            &planned,
            settings.tool_search_max_calls > 0,
        );
        trace.line(list.trace_line());
        let advertised = list.advertised(
            input.is_small,
            settings.tool_advertise_max,
            catalogue,
            query,
        );
        let tools = ToolSet::new(
            list.names().to_vec(),
            advertised,
            settings.tool_search_max_calls > 0,
        );
        let parts = if plan.steps().is_empty() {
            split::compound(query, input.language).map_or_else(Vec::new, Vec::from)
        } else {
            Vec::new()
        };
        Self {
            input,
            plan,
            parts,
            tools,
            session_tools: Arc::clone(&session_tools),
            tools_by: list.label().to_owned(),
            warm_profile,
            memory,
            profile: session.profile(),
        }
    }

    /// The system message for the tools of the moment, with the time of the moment.
    pub(crate) fn system(&self, tools: &ToolSet, protocol: ToolProtocol) -> String {
        let input = &self.input;
        let person = input.person;
        let line = context_line::of_session(&input.ctx.session, input.settings);
        let steps = self.plan.without_memory().into_iter();
        let steps: Vec<String> = steps.map(str::to_owned).collect();
        system_message::build(&SystemParts {
            context_line: &line,
            assistant_name: &input.settings.assistant_name,
            is_small: input.is_small,
            facts: ProfileFacts {
                preferences: &person.preferences,
                profile: &self.profile,
                places: &person.places,
                jobs: &person.jobs,
            },
            is_spoken: input.spoken,
            is_read_aloud: input.read_aloud,
            voice_language: input.voice_language,
            warm_profile: &self.warm_profile,
            memory: match &self.memory {
                Memory::Nothing => MemoryBlock::None,
                Memory::Raw(found) => MemoryBlock::Raw {
                    diary: &found.diary,
                    graph: &found.graph,
                },
                Memory::Note(note) => MemoryBlock::Note(note),
            },
            steps: &steps,
            tools: tools.advertised(),
            text_tools: (protocol == ToolProtocol::Text).then_some(&self.session_tools.catalogue),
        })
    }

    /// Tools for a purpose; `None` when nothing in particular fits.
    pub(crate) fn search(&self, purpose: &str) -> Option<Vec<String>> {
        let routing = router::route(
            &RouterInput {
                query: purpose,
                catalogue: &self.session_tools.catalogue,
                context_line: "",
                history: &[],
            },
            self.input.model,
            self.input.settings,
        );
        (!routing.is_everything && !routing.names.is_empty()).then_some(routing.names)
    }

    /// What a report says of all this.
    pub(crate) fn report(&self) -> ReplyReport {
        ReplyReport {
            tools_by: self.tools_by.clone(),
            tools: self.tools.advertised().to_vec(),
            plan: self.plan.steps().to_vec(),
            memory: match &self.memory {
                Memory::Nothing => Vec::new(),
                Memory::Raw(found) => [found.diary.as_slice(), found.graph.as_slice()].concat(),
                Memory::Note(note) => vec![note.clone()],
            },
            ..ReplyReport::default()
        }
    }
}

impl PreparationInput<'_> {
    /// The warm profile, and what memory has for the message.
    fn memory(&self, plan: &Plan, context_line: &str) -> (String, Memory) {
        let Some(store) = self.store.filter(|_| !self.ctx.stop.is_fired()) else {
            return (String::new(), Memory::Nothing);
        };
        let warm = self.recorder.stage(
            "warm profile",
            || warm_profile::render(store, self.scratch, self.trace),
            |block| format!("{} characters", block.chars().count()),
        );
        if self.ctx.stop.is_fired() || !self.needs_memory(plan) {
            return (warm, Memory::Nothing);
        }
        let recalled = self.recorder.stage(
            "memory",
            || {
                let topic = plan.memory_topic();
                let input = RecallInput {
                    query: self.query,
                    topic: topic.as_deref(),
                    context_line,
                    history: self.history,
                    now: self.ctx.session.clock.now().timestamp(),
                };
                enrichment::recall(
                    &input,
                    store,
                    self.model,
                    self.settings,
                    self.scratch,
                    self.trace,
                )
            },
            |found| {
                format!(
                    "{} from the diary, {} facts",
                    found.diary.len(),
                    found.graph.len()
                )
            },
        );
        if recalled.is_empty() || self.ctx.stop.is_fired() {
            return (warm, Memory::Nothing);
        }
        let digest = self.recorder.stage(
            "memory digest",
            || {
                memory_digest::digest(
                    self.query,
                    &recalled,
                    self.model,
                    self.settings,
                    self.is_small,
                    self.trace,
                )
            },
            |digest| match digest {
                // Nothing was condensed.
                MemoryDigest::Raw => String::new(),
                MemoryDigest::Note(note) => format!("{} characters", note.chars().count()),
                MemoryDigest::Nothing => "nothing that bears on the message".to_owned(),
            },
        );
        let memory = match digest {
            MemoryDigest::Raw => Memory::Raw(recalled),
            MemoryDigest::Note(note) => Memory::Note(note),
            MemoryDigest::Nothing => Memory::Nothing,
        };
        (warm, memory)
    }

    /// Whether memory is searched: always when a plan asks for it, never when a plan does not, and otherwise unless the conversation has the answer.
    fn needs_memory(&self, plan: &Plan) -> bool {
        if plan.memory_topic().is_some() {
            return true;
        }
        if !plan.steps().is_empty() {
            return false;
        }
        let texts: Vec<&str> = self.history.iter().filter_map(text).collect();
        let has_tool_rows = self.history.iter().any(|row| match row {
            Message::Tool(_) => true,
            Message::Assistant(assistant) => !assistant.calls.is_empty(),
            Message::User(_) | Message::System { .. } => false,
        });
        recall_gate::needs_recall(self.query, &texts, has_tool_rows)
    }
}

fn text(row: &Message) -> Option<&str> {
    match row {
        Message::User(user) => Some(&user.text),
        Message::Assistant(assistant) => Some(&assistant.text),
        Message::Tool(output) => Some(&output.text),
        Message::System { .. } => None,
    }
}
