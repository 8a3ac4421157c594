//! The servers of a run: connected side by side, their tools registered with those of the session.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::connection::{Connection, List, Progress, ServerFacts, Wait};
use super::text::clipped;
use super::{listing, names, results, schema};
use crate::base::cancel::Cancel;
use crate::base::ids::hex;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::chat::event::{Event, Level};
use crate::llm::provider::object_schema;
use crate::proc::capture::without_links;
use crate::tools::engine::owned_tool::OwnedTool;
use crate::tools::engine::registry::Registry;
use crate::tools::engine::rules::{OUTSIDE, READ, Rules};
use crate::tools::project::scratch;

/// From the first message to a server until its tools are known.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// How long a call may take where nothing is said.
const CALL_LIMIT: Duration = Duration::from_secs(600);
/// Characters of what a tool is for.
const MAX_SUMMARY: usize = 1_024;

/// One server of a run.
pub(crate) struct Server {
    name: String,
    connection: Arc<dyn Connection>,
    call_limit: Duration,
    state: Mutex<ServerState>,
}

/// How far the connection is.
#[derive(Debug, Clone, Default)]
enum ServerState {
    #[default]
    Pending,
    Connected {
        facts: Box<ServerFacts>,
        /// Name, description and annotations of each.
        tools: Vec<Value>,
    },
    Failed(String),
}

impl ServerState {
    fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connected { .. } => "connected",
            Self::Failed(_) => "failed",
        }
    }
}

impl Server {
    pub(crate) fn new(
        name: String,
        connection: Arc<dyn Connection>,
        call_limit: Option<Duration>,
    ) -> Self {
        Self {
            name,
            connection,
            call_limit: call_limit.unwrap_or(CALL_LIMIT),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it offers, and what is not as it should be.
    fn open(&self, stop: &Cancel) -> Outcome<(ServerFacts, Vec<Value>, Option<&'static str>)> {
        let until = Instant::now() + CONNECT_LIMIT;
        let facts = self.connection.open(Wait::new(CONNECT_LIMIT, stop))?;
        let (tools, missing) = match facts.has("tools") {
            true => {
                let tools = listing::all(&*self.connection, List::Tools, until, stop)?;
                (tools.items, tools.missing)
            }
            false => (Vec::new(), None),
        };
        Ok((facts, tools, missing))
    }

    /// The tool as the session has it.
    fn tool(&self, raw: &str, name: String, definition: &Value) -> OwnedTool {
        let of = ServerTool {
            server: &self.name,
            raw,
            definition,
            call_limit: self.call_limit,
            total_limit: self.call_limit,
            is_callers: true,
        };
        let tool = owned_tool(of, name, Arc::clone(&self.connection));
        OwnedTool {
            rules: tool.rules.of_run(),
            ..tool
        }
    }

    /// Registers its tools; returns what was told of them, and what is not as it should be.
    fn register(&self, registry: &Registry, tools: &[Value]) -> (Vec<Value>, Vec<String>) {
        let (mut told, mut faults) = (Vec::new(), Vec::new());
        let mut raw_names: HashSet<&str> = HashSet::new();
        let part = names::part(&self.name);
        for tool in tools {
            let raw = tool.get("name").and_then(Value::as_str);
            let Some(raw) = raw.filter(|raw| !raw.trim().is_empty()) else {
                faults.push("a tool without a name".to_owned());
                continue;
            };
            if raw_names.contains(raw) {
                faults.push(format!("another tool named \"{}\"", clipped(raw, 64)));
                continue;
            }
            let is_taken = |name: &str| registry.find(name).is_some();
            let name = names::tool_name(&part, (&self.name, raw), is_taken);
            let registered = name
                .ok_or_else(|| Problem::input("Its name is taken."))
                .and_then(|name| registry.register(self.tool(raw, name, tool)));
            match registered {
                Ok(()) => {
                    raw_names.insert(raw);
                    told.push(told_tool(raw, tool));
                }
                Err(problem) => {
                    let words = problem.one_line();
                    faults.push(format!("the tool \"{}\": {words}", clipped(raw, 64)));
                }
            }
        }
        (told, faults)
    }
}

/// A tool as a server has it, and how long its calls may take.
pub(crate) struct ServerTool<'a> {
    pub server: &'a str,
    pub raw: &'a str,
    pub definition: &'a Value,
    /// A call that reports no progress.
    pub call_limit: Duration,
    /// A call, however much it reports.
    pub total_limit: Duration,
    /// The program that drives Marvin has it: what it says is as good as what that says.
    pub is_callers: bool,
}

/// A tool of a server as one that a session can register.
pub(crate) fn owned_tool(
    of: ServerTool<'_>,
    name: String,
    connection: Arc<dyn Connection>,
) -> OwnedTool {
    let prepared = schema::prepared(of.definition.get("inputSchema").unwrap_or(&Value::Null));
    let (limit, total) = (of.call_limit, of.total_limit);
    let raw = of.raw.to_owned();
    let (server, is_callers) = (of.server.to_owned(), of.is_callers);
    let file = name.clone();
    let announced = of.definition.get("outputSchema").cloned();
    let has_warned = AtomicBool::new(false);
    OwnedTool {
        name,
        module: of.server.to_owned(),
        summary: summary(of.server, of.raw, of.definition),
        schema: object_schema(prepared),
        rules: rules(of.definition).seconds(total.as_secs().max(1)),
        phrases: Arc::new([]),
        run: Box::new(move |ctx, args| {
            let progress = |progress: &Progress| ctx.progress(progress.words());
            let wait = Wait::new(limit, &ctx.stop)
                .up_to(total)
                .set_by("timeout")
                .heard_by(&progress);
            let result = connection.call(&raw, args, wait);
            let (tool, server) = (clipped(&raw, 64), clipped(&server, 64));
            let source = one_line(&format!("the tool {tool} of the server {server}"));
            let source = (!is_callers).then_some(source.as_str());
            let shown = format!("{tool} of {server}");
            let result = result.map_err(|problem| match source {
                Some(source) => results::failure(source, problem),
                None => problem,
            })?;
            let tell = |words| ctx.listener.emit(Event::Notice(Level::Info, words));
            if let Some(words) = results::for_user(&result) {
                tell(format!("{shown} to you: {words}"));
            }
            let misfit = (announced.as_ref()).and_then(|schema| results::misfit(schema, &result));
            if let Some(why) = misfit
                && !has_warned.swap(true, Ordering::Relaxed)
            {
                tell(format!(
                    "{shown} does not return what it announces: {}.",
                    clipped(&why, 300)
                ));
            }
            results::outcome(source, &result, || {
                scratch::hide(ctx);
                let folder = without_links(&scratch::long_output(ctx).ok()?);
                Some(folder.join(format!("{file}-{}.txt", hex(4))))
            })
        }),
    }
}

/// Bytes of what models are told of a tool beside its name.
pub(crate) fn offered_len(server: &str, raw: &str, definition: &Value) -> usize {
    let schema = definition.get("inputSchema").unwrap_or(&Value::Null);
    let schema = object_schema(schema::prepared(schema));
    summary(server, raw, definition).len() + schema.get().len()
}

/// A tool as a caller is told of it.
pub(crate) fn told_tool(raw: &str, tool: &Value) -> Value {
    let rules = rules(tool);
    let hints = rules.annotations();
    json!({
        "name": raw,
        "description": tool.get("description").and_then(Value::as_str).map(|text| clipped(text, MAX_SUMMARY)),
        "annotations": {"readOnly": hints.read_only, "destructive": hints.destructive, "openWorld": hints.open_world},
    })
}

/// What a tool declares that it does. Where it says nothing the worse case is assumed.
pub(crate) fn rules(tool: &Value) -> Rules {
    let hint = |name: &str| {
        let hints = tool.get("annotations");
        hints
            .and_then(|hints| hints.get(name))
            .and_then(Value::as_bool)
    };
    let reads = hint("readOnlyHint") == Some(true);
    let mut rules = match reads {
        true => READ,
        false => OUTSIDE,
    };
    rules = rules.open_world(hint("openWorldHint").unwrap_or(true));
    if hint("destructiveHint") == Some(false) {
        rules = rules.additive();
    }
    if hint("idempotentHint") == Some(true) {
        rules = rules.idempotent();
    }
    rules.slow()
}

/// One sentence about a tool.
fn summary(server: &str, raw: &str, tool: &Value) -> String {
    let said = ["description", "title"];
    let said = said.iter().filter_map(|key| tool.get(*key)?.as_str());
    let mut said = said.map(|text| clipped(text, MAX_SUMMARY));
    let said = said.find(|text| !text.is_empty());
    said.unwrap_or_else(|| format!("{} of {}.", clipped(raw, 64), clipped(server, 64)))
}

/// The servers of a run.
#[derive(Default)]
pub(crate) struct Servers(Mutex<Vec<Arc<Server>>>);

impl Servers {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Server>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a server, unless there is one of its name.
    pub(crate) fn add(&self, server: Server) {
        let mut all = self.all();
        if !all.iter().any(|own| own.name == server.name) {
            all.push(Arc::new(server));
        }
    }

    /// Connects those that are not connected yet, and registers their tools in the order of the servers. Returns what is not as it should be, in sentences.
    pub(crate) fn connect(&self, registry: &Registry, stop: &Cancel) -> Vec<String> {
        let all = self.all().clone();
        let is_pending = |server: &&Arc<Server>| matches!(*server.state(), ServerState::Pending);
        let pending: Vec<&Arc<Server>> = all.iter().filter(is_pending).collect();
        let mut faults = Vec::new();
        let opened: Vec<_> = thread::scope(|scope| {
            let open = |server: &Arc<Server>| {
                let server = Arc::clone(server);
                thread::Builder::new().spawn_scoped(scope, move || server.open(stop))
            };
            let opening: Vec<_> = pending.iter().map(|server| open(server)).collect();
            let opened = opening.into_iter().map(|opening| match opening {
                Ok(opening) => (opening.join())
                    .unwrap_or_else(|_| Err(Problem::internal("Its thread crashed."))),
                Err(error) => Err(Problem::system("Cannot start a thread for it", error)),
            });
            opened.collect()
        });
        for (server, opened) in pending.into_iter().zip(opened) {
            let name = clipped(&server.name, 64);
            let state = match opened {
                Ok((facts, tools, missing)) => {
                    let (tools, wrong) = server.register(registry, &tools);
                    let wrong = wrong
                        .into_iter()
                        .map(|fault| format!("The server {name} has {fault}, which is left out."));
                    faults.extend(wrong.take(5));
                    if let Some(missing) = missing {
                        faults.push(format!(
                            "Of the server {name} not all tools are known: {missing}."
                        ));
                    }
                    ServerState::Connected {
                        facts: facts.into(),
                        tools,
                    }
                }
                // The turn was stopped: the next one tries again.
                Err(problem) if problem.is_cancelled() => continue,
                Err(problem) => {
                    let words = problem.one_line();
                    faults.push(format!("The server {name} is not connected: {words}"));
                    ServerState::Failed(words)
                }
            };
            *server.state() = state;
        }
        faults
    }

    /// Whether there is one.
    pub(crate) fn has_any(&self) -> bool {
        !self.all().is_empty()
    }

    /// Name and state of each, in a word.
    pub(crate) fn states(&self) -> Value {
        let all = self.all();
        let state =
            |server: &Arc<Server>| json!({"name": server.name, "status": server.state().word()});
        all.iter().map(state).collect()
    }

    /// The same with what each says of itself and has.
    pub(crate) fn status(&self) -> Vec<Value> {
        let all = self.all();
        let status = |server: &Arc<Server>| {
            let state = server.state();
            let mut told = Map::from_iter([
                ("name".to_owned(), Value::from(server.name.as_str())),
                ("status".to_owned(), Value::from(state.word())),
            ]);
            match &*state {
                ServerState::Pending => {}
                ServerState::Failed(words) => {
                    told.insert("error".to_owned(), Value::from(words.as_str()));
                }
                ServerState::Connected { facts, tools } => {
                    told.insert("serverInfo".to_owned(), facts.info.clone());
                    told.insert("tools".to_owned(), Value::from(tools.clone()));
                }
            }
            Value::Object(told)
        };
        all.iter().map(status).collect()
    }
}
