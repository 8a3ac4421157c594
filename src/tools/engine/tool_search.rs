//! `tool_search`: finds the tools that wait, by what they should do or by name.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::context::{SessionContext, ToolContext};
use super::owned_tool::{OwnedTool, ToolRef};
use super::registry::SearchTool;
use super::result::ToolOk;
use super::rules::{Placement, READ};
use super::tool_ranking::{ToolIndex, name_words};
use crate::base::params::Param;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, nearest, plural};
use crate::chat::found_tools::{TOOL_SEARCH, line};
use crate::llm::provider::Offered;

const SCHEMA: &str = r#"{"type":"object","properties":{"query":{"type":"string","description":"what the tool should do, or select:NAME[,NAME]"},"limit":{"type":"integer","description":"how many at most","minimum":1,"maximum":10,"default":5}},"required":["query"]}"#;
const DEFAULT_LIMIT: u64 = 5;
const MAX_LIMIT: u64 = 10;
/// Before names that are fetched as they are.
const SELECT: &str = "select:";
/// Names that one call may fetch.
const MAX_SELECTED: usize = 20;
/// Names that are told where there is none of the one that was asked for.
const NEAREST: usize = 3;

/// Servers that have no more tools together have them offered directly.
const FEW_OF_SERVERS: usize = 10;

pub(super) fn is_owned(tool: &ToolRef) -> bool {
    matches!(tool, ToolRef::Owned(_))
}

/// Tells which of the tools wait for a search.
pub(super) fn waiting_of(allowed: &[ToolRef]) -> impl Fn(&ToolRef) -> bool + use<> {
    let is_by_kind = |tool: &ToolRef| tool.rules().placement == Placement::ByKind;
    let of_servers = allowed.iter().filter(|tool| is_owned(tool));
    let has_many = of_servers.count() > FEW_OF_SERVERS;
    move |tool| is_by_kind(tool) && (has_many || !is_owned(tool))
}

/// The waiting tools as they are searched, made with the first search.
#[derive(Default)]
struct SearchIndex(Mutex<SearchState>);

#[derive(Default)]
struct SearchState {
    /// Tools that would be offered directly, if the provider took so many.
    beyond: Vec<String>,
    /// With the generation of the registry that it is of.
    waiting: Option<(u64, Arc<WaitingTools>)>,
}

impl SearchIndex {
    fn lock(&self) -> MutexGuard<'_, SearchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From now on these are searched too, because the provider takes no more tools.
pub(super) fn also_waiting(session: &SessionContext, tools: &[ToolRef]) {
    let index = session.modules.get::<SearchIndex>();
    let mut state = index.lock();
    if !state.beyond.iter().eq(tools.iter().map(ToolRef::name)) {
        state.beyond = tools.iter().map(|tool| tool.name().to_owned()).collect();
        state.waiting = None;
    }
}

struct WaitingTools {
    tools: Vec<ToolRef>,
    index: ToolIndex,
}

impl WaitingTools {
    fn of(session: &SessionContext) -> Arc<Self> {
        let registry = session.registry();
        let generation = registry.generation();
        let kept = session.modules.get::<SearchIndex>();
        let mut kept = kept.lock();
        let known = kept.waiting.as_ref();
        if let Some((_, waiting)) = known.filter(|(known, _)| *known == generation) {
            return Arc::clone(waiting);
        }
        let mut tools = registry.allowed(&session.policy);
        let waits = waiting_of(&tools);
        let beyond: HashSet<&str> = kept.beyond.iter().map(String::as_str).collect();
        tools.retain(|tool| waits(tool) || beyond.contains(tool.name()));
        let index = ToolIndex::new(&tools);
        let waiting = Arc::new(Self { tools, index });
        kept.waiting = Some((generation, Arc::clone(&waiting)));
        waiting
    }

    fn find(&self, name: &str) -> Option<&ToolRef> {
        self.tools.iter().find(|tool| tool.name() == name)
    }
}

/// The tool, and what is most like a name that none has.
pub(super) fn tool() -> SearchTool {
    SearchTool {
        tool: Arc::new(OwnedTool {
            name: TOOL_SEARCH.to_owned(),
            module: "tools".to_owned(),
            summary: "Finds further tools by what they should do.".to_owned(),
            schema: RawValue::from_string(SCHEMA.to_owned()).unwrap_or_default(),
            // It chooses among what there is anyway.
            rules: READ.of_run().in_children().seconds(5),
            phrases: Arc::new([]),
            run: Box::new(search),
        }),
        nearest: nearest_names,
    }
}

/// The tool as a model is offered it: with the names of the modules and servers whose tools wait.
pub(super) fn offered(tool: &Arc<OwnedTool>, waiting: &[ToolRef]) -> Offered {
    let names = |is_owned: bool| {
        let groups = groups(waiting).into_iter();
        let names = groups.filter(|group| group.is_owned == is_owned);
        let names: Vec<&str> = names.map(|group| group.name).collect();
        names.join(", ")
    };
    let (modules, servers) = (names(false), names(true));
    let servers = match servers.is_empty() {
        true => String::new(),
        false => format!("; of servers: {servers}"),
    };
    let about = format!(
        "Finds tools that are not listed here, by what they should do or as {SELECT}NAME[,NAME], and makes them callable. They are of the modules: {modules}{servers}."
    );
    Offered {
        about_json: Value::from(about).to_string().into(),
        ..ToolRef::Owned(Arc::clone(tool)).offered()
    }
}

/// Where tools come from, and how many do.
struct ToolGroup<'a> {
    name: &'a str,
    is_owned: bool,
    count: usize,
}

fn groups(tools: &[ToolRef]) -> Vec<ToolGroup<'_>> {
    let mut groups: Vec<ToolGroup<'_>> = Vec::new();
    for tool in tools {
        let (name, is_owned) = (tool.module(), is_owned(tool));
        let same = |group: &&mut ToolGroup<'_>| group.name == name && group.is_owned == is_owned;
        match groups.iter_mut().find(same) {
            Some(group) => group.count += 1,
            None => groups.push(ToolGroup {
                name,
                is_owned,
                count: 1,
            }),
        }
    }
    groups
}

fn search(ctx: &ToolContext, args: &Map<String, Value>) -> Outcome<ToolOk> {
    let query = args.get("query").and_then(Value::as_str);
    let query = query.unwrap_or_default().trim();
    if query.is_empty() {
        return Err(Problem::input("The query is empty.").next(format!(
            "Say what the tool should do, such as {{\"query\":\"convert units\"}}, or name it: {SELECT}convert_units."
        )));
    }
    let limit = args.get("limit").and_then(<u64 as Param>::read);
    let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let session = &ctx.session;
    let waiting = WaitingTools::of(session);
    let registry = session.registry();
    let allowed = |name: &str| {
        let tool = registry
            .find(name)
            .filter(|tool| tool.name() != TOOL_SEARCH)?;
        let is_waiting = waiting.find(name).is_some();
        let is_allowed = || {
            let tools = registry.allowed(&session.policy);
            tools.iter().any(|own| own.is_same_as(&tool))
        };
        (is_waiting || is_allowed()).then_some(tool)
    };
    let mut found: Vec<ToolRef> = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    match query.strip_prefix(SELECT) {
        Some(names) => {
            let names = names.split(',').map(str::trim);
            for name in names.filter(|name| !name.is_empty()).take(MAX_SELECTED) {
                match allowed(name) {
                    Some(tool) if found.iter().any(|own| own.is_same_as(&tool)) => {}
                    Some(tool) => found.push(tool),
                    None => missing.push(name),
                }
            }
        }
        None => {
            // One that is called just so is meant, even if it does not wait.
            found.extend(allowed(query).filter(|_| waiting.find(query).is_none()));
            let names = waiting.index.rank(query, limit).into_iter();
            found.extend(names.filter_map(|name| waiting.find(name).cloned()));
            found.truncate(limit);
        }
    }
    if found.is_empty() && missing.is_empty() {
        return Ok(nothing(query, &waiting.tools).into());
    }
    Ok(answer(session, &found, &missing).into())
}

fn answer(session: &SessionContext, found: &[ToolRef], missing: &[&str]) -> String {
    let mut out = String::new();
    for tool in found {
        let about = tool
            .about()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let _ = writeln!(out, "{}", line(tool.name(), &about));
    }
    if !found.is_empty() {
        let schemas = found.iter().map(|tool| {
            let schema = serde_json::from_str(&tool.offered().params_json);
            (tool.name().to_owned(), schema.unwrap_or_default())
        });
        let schemas: Map<String, Value> = schemas.collect();
        let _ = write!(out, "\n{}", Value::Object(schemas));
    }
    for name in missing {
        let near = nearest_names(session, name);
        let shown = clip(&escape_controls(name), 64);
        let _ = write!(out, "\nThere is no tool \"{shown}\".");
        if !near.is_empty() {
            let _ = write!(out, " Did you mean {}?", near.join(" or "));
        }
    }
    out.trim_start().to_owned()
}

/// What there is, where nothing fits.
fn nothing(query: &str, waiting: &[ToolRef]) -> String {
    let shown = clip(&escape_controls(query), 80);
    let of = |is_owned: bool| {
        let groups = groups(waiting).into_iter();
        let groups = groups.filter(|group| group.is_owned == is_owned);
        let names: Vec<String> = groups
            .map(|group| format!("{} ({})", group.name, plural(group.count, "tool")))
            .collect();
        names.join(", ")
    };
    let (modules, servers) = (of(false), of(true));
    let servers = match servers.is_empty() {
        true => String::new(),
        false => format!("\nServers: {servers}."),
    };
    format!("No tool fits \"{shown}\". Search in other words.\nModules: {modules}.{servers}")
}

/// The tools most like `name`: by its letters, then by its words.
fn nearest_names(session: &SessionContext, name: &str) -> Vec<String> {
    let registry = session.registry();
    let allowed = registry.allowed(&session.policy);
    let names = allowed.iter().map(ToolRef::name);
    let mut near: Vec<String> = nearest(name, names)
        .into_iter()
        .map(str::to_owned)
        .collect();
    if near.len() < NEAREST {
        let waiting = WaitingTools::of(session);
        let words = name_words(&clip(name, 100));
        for other in waiting.index.rank(&words, NEAREST) {
            if near.len() < NEAREST && !near.iter().any(|own| own == other) {
                near.push(other.to_owned());
            }
        }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::cpu_time::CpuTime;
    use crate::base::env::Env;
    use crate::base::testing::{assert_has, assert_lacks};
    use crate::chat::event::NullSink;
    use crate::chat::found_tools::listed;
    use crate::chat::message::ToolCall;
    use crate::tools::engine::batch;
    use crate::tools::engine::offering::{Recipient, offer, overview};
    use crate::tools::engine::policy::ToolPolicy;
    use crate::tools::engine::rules::OUTSIDE;

    const ANYBODY: Recipient = Recipient {
        max_tools: 128,
        is_model: true,
        keeps_tools: false,
    };

    fn session(servers: &[(&str, usize)]) -> Arc<SessionContext> {
        let session = SessionContext::new(Env::default(), ToolPolicy::default());
        for (server, count) in servers {
            for n in 0..*count {
                session.registry().register(of_server(server, n)).unwrap();
            }
        }
        Arc::new(session)
    }

    fn of_server(server: &str, n: usize) -> OwnedTool {
        let things = ["invoice", "ticket", "branch", "customer", "sensor", "page"];
        let verbs = ["list", "delete", "update", "merge", "export"];
        let (thing, verb) = (things[n % things.len()], verbs[n % verbs.len()]);
        let schema = format!(
            r#"{{"type":"object","properties":{{"{thing}_id":{{"type":"string","description":"which {thing}"}}}}}}"#
        );
        OwnedTool {
            name: format!("{server}__{verb}_{thing}_{n}"),
            module: server.to_owned(),
            summary: format!("Will {verb} the {thing}\nof {server}."),
            schema: RawValue::from_string(schema).unwrap(),
            rules: OUTSIDE,
            phrases: Arc::new([]),
            run: Box::new(|_, _| Ok(ToolOk::default())),
        }
    }

    fn names(session: &SessionContext) -> Vec<String> {
        let offer = offer(session, ANYBODY, &mut |_| {});
        offer
            .tools
            .iter()
            .map(|tool| tool.name.to_string())
            .collect()
    }

    /// What the model gets for a call of the tool.
    fn asked(session: &Arc<SessionContext>, args: &Value) -> String {
        offer(session, ANYBODY, &mut |_| {});
        let ctx = ToolContext::new(Arc::clone(session), Cancel::new(), Arc::new(NullSink));
        let call = ToolCall::new("a", TOOL_SEARCH, args.to_string());
        batch::run_one(&ctx, &call).output.text
    }

    fn query(session: &Arc<SessionContext>, text: &str) -> String {
        asked(session, &serde_json::json!({"query": text}))
    }

    #[test]
    fn twelve_questions_find_their_tool_among_five() {
        let session = session(&[("github", 60), ("shop", 40)]);
        for (question, tool) in [
            ("commit my staged changes", "git_commit"),
            ("who last changed this line of a file", "git_blame"),
            ("convert miles to kilometres", "convert_units"),
            ("look a word up in a dictionary", "dictionary_lookup"),
            ("start a countdown timer", "timer_start"),
            ("translate a sentence into Japanese", "translate_text"),
            ("find scientific papers about a subject", "search_papers"),
            ("pharmacies nearby", "places_nearby_search"),
            (
                "directions from one place to another on foot",
                "get_directions",
            ),
            ("add an appointment to the calendar", "calendar_add_event"),
            ("delete a branch on github", "github__delete_branch_26"),
            ("merge customers of the shop", "shop__merge_customer_3"),
        ] {
            let answer = query(&session, question);
            let found: Vec<&str> = listed(&answer).collect();
            assert!(
                found.contains(&tool) && found.len() <= 5,
                "{question}: {found:?}"
            );
        }
    }

    #[test]
    fn an_answer_has_a_line_and_the_schema_of_each_tool() {
        let session = session(&[("shop", 20)]);
        let answer = asked(
            &session,
            &serde_json::json!({"query": "select:git_blame, shop__list_invoice_0,read_file,git_blame,no_such"}),
        );
        let found: Vec<&str> = listed(&answer).collect();
        assert_eq!(found, ["git_blame", "shop__list_invoice_0", "read_file"]);
        assert_has(
            &answer,
            &["shop__list_invoice_0 — Will list the invoice of shop.\n"],
        );
        let json = answer.lines().find(|line| line.starts_with('{')).unwrap();
        let schemas: Value = serde_json::from_str(json).unwrap();
        assert_eq!(
            schemas["shop__list_invoice_0"]["properties"]["invoice_id"]["type"],
            "string"
        );
        assert!(schemas["git_blame"]["properties"].is_object());
        assert_has(&answer, &["There is no tool \"no_such\"."]);
        for (limit, count) in [(Value::from(2), 2), (Value::from(99), 10), (Value::Null, 5)] {
            let answer = asked(
                &session,
                &serde_json::json!({"query": "shop", "limit": limit}),
            );
            assert_eq!(listed(&answer).count(), count, "{limit}");
        }
        // One that is called just so comes first, even if it is offered anyway.
        let answer = query(&session, "git_status");
        assert_eq!(listed(&answer).next(), Some("git_status"));
        let nothing = query(&session, "zzyzx qwortle");
        assert_eq!(listed(&nothing).count(), 0);
        assert_has(&nothing, &["git (4 tools)", "Servers: shop (20 tools)."]);
        assert_has(&query(&session, " "), &["The query is empty", "select:"]);
    }

    #[test]
    fn what_is_carried_depends_on_how_much_there_is() {
        let direct = names(&session(&[]));
        assert_eq!(direct.len(), 18);
        assert_eq!(direct.last().map(String::as_str), Some(TOOL_SEARCH));
        // A few tools of servers are carried too, many are not.
        let few = names(&session(&[("a", 6), ("b", 4)]));
        assert_eq!((few.len(), &few[..18]), (28, &direct[..]));
        assert_eq!(names(&session(&[("a", 6), ("b", 5)])), direct);
        let mut always = of_server("c", 1);
        always.rules = always.rules.direct();
        let many = session(&[("a", 20)]);
        many.registry().register(always).unwrap();
        assert_eq!(names(&many)[18..], ["c__delete_ticket_1"]);
        let of = |vars: &[(&str, &str)], groups: Option<Vec<&'static str>>, recipient| {
            let vars = vars.iter().map(|(k, v)| ((*k).into(), (*v).into()));
            let policy = ToolPolicy {
                groups,
                ..ToolPolicy::default()
            };
            let session = SessionContext::new(Env::new(vars), policy);
            let mut told = Vec::new();
            let offer = offer(&session, recipient, &mut |words| told.push(words));
            (offer.tools.len(), offer.waiting.len(), told.len())
        };
        let all = Recipient {
            max_tools: 500,
            ..ANYBODY
        };
        let count = crate::tools::all().count();
        let kept = Recipient {
            keeps_tools: true,
            ..all
        };
        let offline = Recipient {
            is_model: false,
            ..all
        };
        let on = [("MARVIN_TOOL_SEARCH", "on")];
        assert_eq!(of(&[], None, all), (18, count - 17, 0));
        assert_eq!(
            of(&[("MARVIN_TOOL_SEARCH", "off")], None, all),
            (count, 0, 0)
        );
        assert_eq!(
            of(&[("MARVIN_TOOL_SEARCH", "sometimes")], None, all),
            (18, count - 17, 1)
        );
        assert_eq!(of(&[], None, kept), (count, 0, 0));
        assert_eq!(of(&on, None, kept), (18, count - 17, 0));
        assert_eq!(of(&on, None, offline), (count, 0, 0));
        let git = crate::tools::all()
            .filter(|tool| tool.module == "git")
            .count();
        assert_eq!(of(&[], Some(vec!["git"]), all), (git, 0, 0));
        assert_eq!(of(&on, Some(vec!["git"]), all), (4, git - 3, 0));
        assert_eq!(of(&on, Some(vec!["weather"]), all).1, 0);
    }

    #[test]
    fn what_was_sent_stays_and_what_is_found_is_appended() {
        let session = session(&[("shop", 20)]);
        let sent = |offer: &crate::llm::provider::Offer| -> Vec<String> {
            offer
                .tools
                .iter()
                .map(|tool| tool.name.to_string())
                .collect()
        };
        let mut first = offer(&session, ANYBODY, &mut |_| {});
        let before = sent(&first);
        for name in [
            "git_blame",
            "no_tool",
            "git_blame",
            "tree",
            "shop__list_invoice_0",
        ] {
            first.append(name);
        }
        assert_eq!(
            sent(&first)[before.len()..],
            ["git_blame", "shop__list_invoice_0"]
        );
        assert_has(&overview(&session), &["Direct   18 tools", "Waiting  "]);
        // A server that comes later changes neither the words of the search nor the order.
        session.registry().register(of_server("late", 0)).unwrap();
        let second = offer(&session, ANYBODY, &mut |_| {}).following(&first);
        assert_eq!(sent(&second), sent(&first));
        let search = |offer: &crate::llm::provider::Offer| offer.tools[17].about_json.to_string();
        assert_eq!(search(&second), search(&first));
        assert_has(&search(&first), &["of servers: shop."]);
        assert_eq!(second.waiting.len(), first.waiting.len() + 1);
        let mut second = second;
        second.append("late__list_invoice_0");
        assert_eq!(second.found().count(), 3);
        second.forget_found();
        assert_eq!(sent(&second), before);
    }

    #[test]
    fn direct_tools_beyond_what_the_provider_takes_are_found() {
        let session = session(&[("shop", 20)]);
        let mut direct = of_server("billing", 0);
        direct.rules = direct.rules.direct();
        direct.summary = "Draws up a reminder for a debtor.".to_owned();
        session.registry().register(direct).unwrap();
        let question = serde_json::json!({"query": "remind a debtor"});
        let small = Recipient {
            max_tools: 24,
            ..ANYBODY
        };
        for (recipient, is_found) in [(ANYBODY, false), (small, true), (ANYBODY, false)] {
            offer(&session, recipient, &mut |_| {});
            let ctx = ToolContext::new(Arc::clone(&session), Cancel::new(), Arc::new(NullSink));
            let call = ToolCall::new("a", TOOL_SEARCH, question.to_string());
            let answer = batch::run_one(&ctx, &call).output.text;
            let found = listed(&answer).any(|name| name == "billing__list_invoice_0");
            assert_eq!(found, is_found, "{answer}");
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest_and_the_search() {
        let session = session(&[]);
        let ctx = ToolContext::new(Arc::clone(&session), Cancel::new(), Arc::new(NullSink));
        let call = |name: &str| {
            let ended = batch::run_one(&ctx, &ToolCall::new("a", name, "{}"));
            assert!(ended.output.failed);
            ended.output.text
        };
        // Nobody who is not offered the search is sent to it.
        assert_lacks(&call("git_blme"), &[TOOL_SEARCH]);
        offer(&session, ANYBODY, &mut |_| {});
        assert_has(&call("git_blme"), &["git_blame", "tool_search finds"]);
        let by_words = call("words_and_their_meanings_in_a_dictionary");
        assert_has(&by_words, &["dictionary_lookup"]);
    }

    #[test]
    fn a_search_among_many_costs_little_more_than_one_among_few() {
        let searches = |count: usize| {
            let session = session(&[("shop", count)]);
            query(&session, "merge the customers of a shop");
            let least = (0..5).map(|_| {
                let since = CpuTime::now();
                for _ in 0..20 {
                    query(&session, "merge the customers of a shop");
                }
                since.elapsed()
            });
            least.min().unwrap()
        };
        // A hundred times as many.
        let (few, many) = (searches(50), searches(5_000));
        assert!(many < few * 100, "{few:?} and {many:?}");
    }
}
