//! The tools of a session by name, and how one call runs; whatever goes wrong becomes the call's result.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::context::{SessionContext, ToolContext};
use super::owned_tool::{OwnedTool, ToolRef};
use super::result_cap::capped;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text;
use crate::chat::display::Display;
use crate::chat::event::{CallEnd, CallState};
use crate::chat::message::{ToolCall, ToolOutput};
use crate::llm::provider::Offer;
use crate::tools::engine::arguments::ParsedArguments;
use crate::tools::engine::call_log;
use crate::tools::engine::hooks::calls::{self as hooks, HookedCall};
use crate::tools::engine::permission::gate;
use crate::tools::engine::policy::ToolPolicy;
use crate::tools::engine::result::{Effect, ToolOk};
use crate::tools::engine::rules::{Rules, SideEffect};
use crate::tools::engine::ticket_gate;
use crate::tools::engine::tool::Tool;

/// Stands for the name of a call that has none.
pub(crate) const NAMELESS: &str = "unnamed";

/// The tools of a session: the built-in ones and those registered at run time. Free to create.
pub struct Registry {
    /// One slice a module, in catalogue order.
    built_in: &'static [&'static [Tool]],
    owned: RwLock<OwnedTools>,
    /// How often tools were registered.
    generation: AtomicU64,
    search: OnceLock<SearchTool>,
}

/// Tools registered at run time, in this order, and where each is: servers bring thousands.
#[derive(Default)]
struct OwnedTools {
    tools: Vec<Arc<OwnedTool>>,
    places: HashMap<String, usize>,
}

impl OwnedTools {
    fn find(&self, name: &str) -> Option<&Arc<OwnedTool>> {
        self.tools.get(*self.places.get(name)?)
    }
}

/// The tool that finds others: part of no list, because only a model that is offered it needs it.
pub(crate) struct SearchTool {
    pub tool: Arc<OwnedTool>,
    /// The tools that are most like a name that none has.
    pub nearest: fn(&SessionContext, &str) -> Vec<String>,
}

/// The context is what tools are given, so it knows nothing of them: to it, the registry is one of the values that it keeps for modules.
impl SessionContext {
    /// The tools of the session: the built-in ones, unless [`Self::set_registry`] was called.
    pub fn registry(&self) -> Arc<Registry> {
        self.modules.get()
    }

    /// Replaces the tools of the session, before anybody shares it.
    pub(crate) fn set_registry(&mut self, registry: Registry) {
        self.modules.set(registry);
    }
}

impl Registry {
    pub(in crate::tools) fn new(built_in: &'static [&'static [Tool]]) -> Self {
        Self {
            built_in,
            owned: RwLock::default(),
            generation: AtomicU64::default(),
            search: OnceLock::new(),
        }
    }

    fn built_in(&self) -> impl Iterator<Item = &'static Tool> {
        self.built_in.iter().copied().flatten()
    }

    /// Registers a tool for the session.
    ///
    /// # Errors
    /// Its name is taken, or no provider accepts it.
    pub fn register(&self, tool: OwnedTool) -> Outcome<()> {
        let is_accepted = (1..=64).contains(&tool.name.len())
            && tool
                .name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let shown = || text::clip(&text::escape_controls(&tool.name), 64);
        if !is_accepted {
            return Err(
                Problem::input(format!("\"{}\" cannot be the name of a tool.", shown()))
                    .next("Use 1 to 64 of the characters A-Z, a-z, 0-9, _ and -."),
            );
        }
        let mut owned = self.owned.write().unwrap_or_else(PoisonError::into_inner);
        let is_built_in = self.built_in().any(|own| own.name == tool.name);
        if is_built_in || owned.find(&tool.name).is_some() {
            return Err(
                Problem::input(format!("There is already a tool \"{}\".", shown()))
                    .next("Register it under another name."),
            );
        }
        let place = owned.tools.len();
        owned.places.insert(tool.name.clone(), place);
        owned.tools.push(Arc::new(tool));
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Another number after each change of the tools.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// From now on models may search for tools.
    pub(crate) fn let_search(&self, search: impl FnOnce() -> SearchTool) -> &SearchTool {
        self.search.get_or_init(search)
    }

    fn owned(&self) -> RwLockReadGuard<'_, OwnedTools> {
        self.owned.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn find(&self, name: &str) -> Option<ToolRef> {
        let built_in = self.built_in().find(|tool| tool.name == name);
        built_in.map(ToolRef::BuiltIn).or_else(|| {
            let owned = self.owned();
            let search = self.search.get().map(|search| &search.tool);
            let search = search.filter(|tool| tool.name == name);
            let tool = owned.find(name).or(search)?;
            Some(ToolRef::Owned(Arc::clone(tool)))
        })
    }

    /// The tool that a model means by `name`: some add a namespace ("functions.read_file") or white space.
    pub(crate) fn find_canonical(&self, name: &str) -> Option<ToolRef> {
        let trimmed = name.trim();
        let last = trimmed.rsplit(['.', ':', '/']).next().unwrap_or_default();
        self.find(trimmed).or_else(|| self.find(last))
    }

    /// Every tool: the built-in ones in catalogue order, then those registered at run time.
    pub(crate) fn all(&self) -> Vec<ToolRef> {
        let owned = self.owned();
        let owned = owned
            .tools
            .iter()
            .map(|tool| ToolRef::Owned(Arc::clone(tool)));
        self.built_in().map(ToolRef::BuiltIn).chain(owned).collect()
    }

    /// What is offered to the model: at most `max` of the tools that the policy allows, because providers limit their number. Those that the run has brought
    /// along are among them, before others that it has anyway, which keep half of the places.
    pub(crate) fn offer(&self, bounds: &ToolPolicy, max: usize, can_leave_sandbox: bool) -> Offer {
        let allowed = self.allowed(bounds);
        let is_own = |tool: &&ToolRef| tool.rules().of_run;
        let brought = allowed.iter().filter(is_own).count();
        let others = allowed.len() - brought;
        let mut own = brought.min(max - others.min(max / 2));
        let mut others = max - own;
        let offered = allowed.into_iter().filter(|tool| {
            let left = match is_own(&tool) {
                true => &mut own,
                false => &mut others,
            };
            let fits = *left > 0;
            *left = left.saturating_sub(1);
            fits
        });
        Offer::new(
            offered
                .map(|tool| tool.offered_where(can_leave_sandbox))
                .collect(),
        )
    }

    /// The tools that the policy allows, in the order of [`Registry::all`].
    pub(crate) fn allowed(&self, bounds: &ToolPolicy) -> Vec<ToolRef> {
        let mut tools = self.all();
        tools.retain(|tool| self.refusal(tool, bounds).is_none() && !bounds.removes(tool.name()));
        tools
    }

    /// Why the policy forbids a tool, if it does.
    fn refusal(&self, tool: &ToolRef, bounds: &ToolPolicy) -> Option<Problem> {
        self.refusal_of((tool.name(), tool.module()), tool.rules(), bounds)
    }

    /// The same of a tool that is not registered.
    pub(crate) fn refusal_of(
        &self,
        (name, module): (&str, &str),
        rules: &Rules,
        bounds: &ToolPolicy,
    ) -> Option<Problem> {
        bounds.refusal(name, module, rules, || {
            let writers = self.built_in();
            let writers = writers.filter(|tool| tool.rules.effect == SideEffect::ProjectFiles);
            writers.map(|tool| tool.name).collect()
        })
    }

    /// Looks up how to run a call.
    pub(crate) fn plan(&self, call: &ToolCall) -> CallPlan {
        let Some(tool) = self.find(&call.name) else {
            return CallPlan {
                effect: SideEffect::None,
                parallel: true,
                beside: false,
                limit: Duration::from_secs(5),
            };
        };
        let rules = tool.rules();
        let given = |field: &str| match tool.parse_arguments(&call.args) {
            Ok(ParsedArguments::Named(map)) => map.get(field).cloned(),
            _ => None,
        };
        let requested_seconds = rules
            .limit_from
            .and_then(given)
            .and_then(|value| <u64 as crate::base::params::Param>::read(&value));
        let is_given = |field: &&str| {
            let value = given(field).unwrap_or_default();
            !matches!(value, Value::Null | Value::Bool(false)) && value != ""
        };
        // The tool observes its timeout itself; the batch only steps in when it does not.
        let limit = requested_seconds.map_or(rules.limit, Duration::from_secs)
            + Duration::from_secs(if rules.limit_from.is_some() { 5 } else { 0 });
        CallPlan {
            effect: rules.effect,
            parallel: rules.effect.is_none() || rules.parallel,
            beside: rules
                .beside_unless
                .is_some_and(|fields| !fields.iter().any(is_given)),
            limit: limit.min(Duration::from_secs(24 * 3600)),
        }
    }

    /// The error for a name that no tool has, in a session whose model may search for tools.
    fn unknown_to(&self, session: &SessionContext, name: &str) -> Problem {
        let Some(search) = self
            .search
            .get()
            .filter(|_| !name.is_empty() && name != NAMELESS)
        else {
            return self.unknown(name, &session.policy);
        };
        let problem = Problem::missing(format!(
            "There is no tool \"{}\".",
            text::clip(&text::escape_controls(name), 64)
        ));
        let near = (search.nearest)(session, name);
        let problem = match near.is_empty() {
            true => problem,
            false => problem.next(format!("Did you mean {}?", near.join(" or "))),
        };
        problem.next(format!(
            "{} finds tools by what they should do.",
            search.tool.name
        ))
    }

    /// The error for a name that no tool has.
    pub(crate) fn unknown(&self, name: &str, bounds: &ToolPolicy) -> Problem {
        let offered = self.allowed(bounds);
        let names: Vec<&str> = offered.iter().map(ToolRef::name).collect();
        if name.is_empty() || name == NAMELESS {
            return Problem::input("The call has no tool name, so nothing was run.")
                .next("Call again with the name of a tool.");
        }
        let problem = Problem::missing(format!(
            "There is no tool \"{}\".",
            text::clip(&text::escape_controls(name), 64)
        ));
        let others = match names.is_empty() {
            true => "No tools are available here; answer with text.".to_owned(),
            false => format!("The tools are: {}.", names.join(", ")),
        };
        problem.near_or(name, names, others)
    }
}

pub struct FinishedCall {
    pub output: ToolOutput,
    /// What the session has to do.
    pub effects: Vec<Effect>,
    /// What a screen can show of it.
    pub display: Option<Display>,
    /// How it ended, for the user.
    pub end: CallEnd,
    pub took: Duration,
    /// How long it waited for the user; no part of `took`.
    pub waited: Duration,
    /// Outside services that it got responses from.
    pub answered_by: Vec<&'static str>,
}

/// How to run a call, known before it starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallPlan {
    /// Its side effect; an unknown tool has none.
    pub effect: SideEffect,
    /// It runs in parallel with others of which the same is true; so does a call of an unknown tool.
    pub parallel: bool,
    /// It runs beside others of which the same is true, where each can write in a place of its own.
    pub beside: bool,
    /// Its timeout.
    pub limit: Duration,
}

/// Runs one call. Never panics.
pub(crate) fn call_catching_panic(ctx: &ToolContext, call: &ToolCall) -> Outcome<ToolOk> {
    catch_unwind(AssertUnwindSafe(|| dispatch(ctx, &call.name, &call.args))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Problem::internal(format!("{} crashed: {}.", call.name, message.unwrap_or("no reason given")))
            .next("This is a bug in Marvin. Continue without this call, or try it with other arguments."))
    })
}

/// Turns an outcome into the call's result; logs and counts it.
pub(crate) fn finish_call(
    ctx: &ToolContext,
    call: &ToolCall,
    outcome: Outcome<ToolOk>,
    took: Duration,
) -> FinishedCall {
    let (failed, done) = match outcome {
        // A tool whose failure ends the turn.
        Ok(done) => (done.end == CallEnd::Failure, done),
        Err(problem) => {
            let end = match problem.kind {
                ProblemKind::Declined => CallEnd::Declined,
                ProblemKind::Timeout => CallEnd::Timeout,
                ProblemKind::Cancelled => CallEnd::Stopped,
                _ => CallEnd::Failure,
            };
            let done = ToolOk {
                end,
                ..problem.for_model().into()
            };
            (true, done)
        }
    };
    let tool = || {
        let tool = ctx.session.registry().find(&call.name)?;
        Some((tool.name().to_owned(), tool.parameters()))
    };
    let ToolOk {
        text,
        images,
        effects,
        display,
        end,
    } = done;
    let text = capped(text, tool, &ctx.session.gauge);
    call_log::record(&ctx.session, &call.name, &call.args, (&text, end), took);
    ctx.session
        .ledger
        .add_tool_call(&text::clip(&call.name, 64));
    FinishedCall {
        output: ToolOutput {
            id: call.id.clone(),
            name: call.name.clone(),
            text,
            failed,
            images,
        },
        effects,
        display,
        end,
        took,
        waited: Duration::ZERO,
        answered_by: Vec::new(),
    }
}

/// Looks up, checks and runs a tool: the only way to run one, for models and for `marvin tool`.
pub(crate) fn dispatch(ctx: &ToolContext, name: &str, raw_args: &str) -> Outcome<ToolOk> {
    ctx.stop.check()?;
    let (registry, bounds) = (ctx.session.registry(), &ctx.session.policy);
    let session = &ctx.session;
    let tool = registry
        .find(name)
        .ok_or_else(|| registry.unknown_to(session, name))?;
    let refusal = registry.refusal(&tool, bounds).or_else(|| {
        let (name, rules) = (tool.name(), tool.rules());
        ticket_gate::refusal(name, rules, bounds, &session.env, &session.modules)
    });
    if let Some(refusal) = refusal {
        return Err(gate::refused_by_bounds(ctx, &tool, refusal));
    }
    let cleared = gate::clear(ctx, &tool, tool.parse_arguments(raw_args)?)?;
    if cleared.is_changed {
        let args = Value::Object(gate::input(&cleared.args)).to_string();
        ctx.say_changed(args);
    }
    // Not before: what is asked about does not run, and what is refused never did.
    ctx.say_state(CallState::Running);
    let agreed;
    let ctx = match cleared.is_agreed {
        true => {
            agreed = ToolContext {
                is_agreed: true,
                is_unread: cleared.is_unread,
                ..ctx.clone()
            };
            &agreed
        }
        false => ctx,
    };
    let told = hooks::is_told(ctx).then(|| HookedCall {
        tool: tool.name().to_owned(),
        input: gate::input(&cleared.args),
    });
    let (since, waited) = (Instant::now(), ctx.pauses.total());
    let outcome = run_tool(ctx, &tool, &cleared.args);
    let took = since.elapsed();
    let took = took.saturating_sub(ctx.pauses.total().saturating_sub(waited));
    hooks::after(ctx, told.as_ref(), cleared.remarks, outcome, took)
}

/// Runs the function of a tool.
pub(super) fn run_tool(
    ctx: &ToolContext,
    tool: &ToolRef,
    args: &ParsedArguments,
) -> Outcome<ToolOk> {
    match (args, tool) {
        (ParsedArguments::Named(map), ToolRef::BuiltIn(tool)) => (tool.run)(ctx, map),
        (ParsedArguments::Named(map), ToolRef::Owned(tool)) => (tool.run)(ctx, map),
        (
            ParsedArguments::Whole(text),
            ToolRef::BuiltIn(Tool {
                freeform: Some(whole),
                ..
            }),
        ) => whole(ctx, text),
        (ParsedArguments::Whole(_), _) => {
            Err(Problem::internal(format!("{} takes no text.", tool.name())))
        }
    }
}

#[cfg(test)]
mod tests;
