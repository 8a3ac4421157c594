//! Which tools a request carries: all of them, or a direct set and one that finds the others.
//!
//! The schemas of all tools take the larger part of a first request, and models choose worse among many. What was sent stays as it is for the conversation,
//! because providers cache it; what is found is appended (see [`Offer::following`]).

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::context::SessionContext;
use super::owned_tool::ToolRef;
use super::tool_search::{self, is_owned, waiting_of};
use crate::base::text::{clip, counted, escape_controls, plural};
use crate::base::variables::MARVIN_TOOL_SEARCH;
use crate::llm::provider::{Offer, Offered};

/// With so many tools or fewer nothing has to be searched.
const FEW_TOOLS: usize = 32;
/// Places that direct tools leave to those that are found, where a provider limits their number.
const PLACES_TO_FIND: usize = 16;
/// Directly offered tools of servers that take more tokens are worth a notice.
const MANY_TOKENS: usize = 10_000;

/// Who is offered the tools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipient {
    pub max_tools: usize,
    /// False for the built-in provider, which matches phrases and calls only what it is offered.
    pub is_model: bool,
    /// It opens its own conversation with the tools, and would have to begin it again for one that is found.
    pub keeps_tools: bool,
}

/// What is remembered between offers.
#[derive(Default)]
struct OfferMemory(Mutex<Remembered>);

/// The generation of the registry, and how many tools wait.
type WaitingState = (u64, usize);

#[derive(Default)]
struct Remembered {
    /// The waiting tools as they were in a state: most messages have the same.
    waiting: Option<(WaitingState, Arc<[Offered]>)>,
    has_told_tokens: bool,
    has_told_left_out: bool,
    numbers: Option<OfferNumbers>,
}

impl OfferMemory {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tools of an offer and the tokens that they take.
#[derive(Debug, Clone, Default)]
struct OfferNumbers {
    direct: (usize, usize),
    found: Vec<String>,
    found_tokens: usize,
    waiting: (usize, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchMode {
    Auto,
    On,
    Off,
}

impl SearchMode {
    fn of(session: &SessionContext, warn: &mut dyn FnMut(String)) -> Self {
        match MARVIN_TOOL_SEARCH.read(&session.env).map(str::trim) {
            None | Some("" | "auto") => Self::Auto,
            Some("on" | "1") => Self::On,
            Some("off" | "0") => Self::Off,
            Some(other) => {
                let shown = clip(&escape_controls(other), 40);
                warn(format!(
                    "{} is \"{shown}\"; it is auto, on or off. Auto is used.",
                    MARVIN_TOOL_SEARCH.name
                ));
                Self::Auto
            }
        }
    }
}

/// The tools of the next request, before those that the conversation has found.
pub(crate) fn offer(
    session: &SessionContext,
    recipient: Recipient,
    warn: &mut dyn FnMut(String),
) -> Offer {
    let registry = session.registry();
    let mode = match recipient.is_model {
        true => SearchMode::of(session, warn),
        false => SearchMode::Off,
    };
    let policy = &session.policy;
    let can_leave_sandbox = session.can_leave_sandbox();
    let allowed = registry.allowed(policy);
    let most = recipient.max_tools;
    let searches = match mode {
        SearchMode::On => true,
        SearchMode::Off => false,
        SearchMode::Auto => {
            let is_chosen = policy.groups.is_some() || policy.depth > 0;
            !is_chosen && !recipient.keeps_tools && allowed.len() > FEW_TOOLS
        }
    };
    let waits = waiting_of(&allowed);
    if !searches || !allowed.iter().any(&waits) || most == 0 {
        let offer = registry.offer(policy, most, can_leave_sandbox);
        tell_left_out(session, &allowed, &offer, warn);
        note(session, &offer);
        return offer;
    }
    let memory = session.modules.get::<OfferMemory>();
    let (mut later, mut direct): (Vec<ToolRef>, Vec<ToolRef>) =
        allowed.into_iter().partition(|tool| waits(tool));
    let room = most.saturating_sub(1 + PLACES_TO_FIND).max(most / 2);
    let beyond: Vec<ToolRef> = direct.drain(room.min(direct.len())..).collect();
    tool_search::also_waiting(session, &beyond);
    later.extend(beyond);
    let offered = |tool: &ToolRef| tool.offered_where(can_leave_sandbox);
    let state = (registry.generation(), later.len());
    let known = memory.lock().waiting.clone();
    let waiting = match known.filter(|(known, _)| *known == state) {
        Some((_, waiting)) => waiting,
        None => {
            let waiting: Arc<[Offered]> = later.iter().map(&offered).collect();
            memory.lock().waiting = Some((state, Arc::clone(&waiting)));
            waiting
        }
    };
    tell_tokens(&memory, &direct, warn);
    let mut tools: Vec<Offered> = direct.iter().map(&offered).collect();
    let search = registry.let_search(tool_search::tool);
    // Ours come first, so that what servers add changes nothing before them.
    let of_servers = direct.iter().filter(|tool| is_owned(tool)).count();
    let at = tools.len().saturating_sub(of_servers);
    tools.insert(at, tool_search::offered(&search.tool, &later));
    let offer = Offer::new(tools).with_waiting(waiting, most);
    note(session, &offer);
    offer
}

/// Remembers what requests carry now, for whoever asks.
pub(crate) fn note(session: &SessionContext, offer: &Offer) {
    let tokens = |tools: &mut dyn Iterator<Item = &Offered>| {
        let (mut count, mut bytes) = (0, 0);
        for tool in tools {
            count += 1;
            bytes += tool.bytes();
        }
        (count, bytes / 4)
    };
    let found: Vec<String> = offer.found().map(|tool| tool.name.to_string()).collect();
    let (_, found_tokens) = tokens(&mut offer.found());
    let (all, all_tokens) = tokens(&mut offer.tools.iter());
    let (waiting, waiting_tokens) = tokens(&mut offer.waiting.iter());
    let numbers = OfferNumbers {
        direct: (all - found.len(), all_tokens - found_tokens),
        waiting: (
            waiting - found.len(),
            waiting_tokens.saturating_sub(found_tokens),
        ),
        found,
        found_tokens,
    };
    session.modules.get::<OfferMemory>().lock().numbers = Some(numbers);
}

/// What requests of the session carry, for the user: empty before the first one, and where they carry all tools.
pub(crate) fn overview(session: &SessionContext) -> String {
    let memory = session.modules.get::<OfferMemory>();
    let memory = memory.lock();
    let mut out = String::new();
    if let Some(numbers) = &memory.numbers {
        let mut line = |what: &str, (count, tokens): (usize, usize), names: &str| {
            let (tools, tokens) = (plural(count, "tool"), counted(tokens as u64, "token"));
            let _ = writeln!(out, "{what:<8} {tools}, about {tokens}{names}");
        };
        line("Direct", numbers.direct, "");
        let names = match numbers.found.is_empty() {
            true => String::new(),
            false => format!(": {}", numbers.found.join(", ")),
        };
        line("Found", (numbers.found.len(), numbers.found_tokens), &names);
        line("Waiting", numbers.waiting, "");
        out.push('\n');
    }
    out
}

/// Says once that servers have tools that take much of every request.
fn tell_tokens(memory: &OfferMemory, direct: &[ToolRef], warn: &mut dyn FnMut(String)) {
    let of_servers = direct.iter().filter(|tool| is_owned(tool));
    let bytes: usize = of_servers.map(|tool| tool.offered().bytes()).sum();
    let tokens = bytes / 4;
    if tokens > MANY_TOKENS && !std::mem::replace(&mut memory.lock().has_told_tokens, true) {
        warn(format!(
            "The tools of servers take about {} of every request; without alwaysLoad they wait until they are searched for.",
            counted(tokens as u64, "token")
        ));
    }
}

/// Says once which servers have tools that are not offered, because the model takes no more.
fn tell_left_out(
    session: &SessionContext,
    allowed: &[ToolRef],
    offer: &Offer,
    warn: &mut dyn FnMut(String),
) {
    let is_out = |tool: &&ToolRef| !offer.tools.iter().any(|own| own.name == tool.name());
    // Callers that bring their own servers are told by whoever connects them.
    let is_told = |tool: &&ToolRef| is_owned(tool) && !tool.rules().of_run;
    if offer.tools.is_empty()
        || offer.tools.len() == allowed.len()
        || !allowed.iter().any(|tool| is_told(&tool))
    {
        return;
    }
    let out: Vec<&ToolRef> = allowed.iter().filter(is_out).collect();
    let mut servers: Vec<&str> = Vec::new();
    for tool in out.iter().copied().filter(is_told) {
        if !servers.contains(&tool.module()) {
            servers.push(tool.module());
        }
    }
    let memory = session.modules.get::<OfferMemory>();
    if servers.is_empty() || std::mem::replace(&mut memory.lock().has_told_left_out, true) {
        return;
    }
    warn(format!(
        "The model takes at most {}, so {} of {} are not offered to it; {}=on lets it search for them.",
        plural(offer.tools.len(), "tool"),
        plural(out.len(), "tool"),
        servers.join(", "),
        MARVIN_TOOL_SEARCH.name
    ));
}
