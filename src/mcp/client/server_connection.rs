//! A connection to one server: opened when it is first needed, opened once more when the server was lost, and the operations in the form of its era.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::connection::{Connection, List, ServerEvent, ServerFacts, Spoken, Wait};
use super::http::web::Web;
use super::idle::{IdleWatch, Usage};
use super::inbound::Inbound;
use super::listening::Listener;
use super::modern::{self, MAX_ROUNDS, Turn};
use super::opening::{self, Live, Opening};
use super::stdio::{self, Start};
use super::stuck::{self, GivenUp};
use super::transport::{Failure, Loss, Request, Transport};
use super::{legacy, tool_marks};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::json::put;
use crate::base::problem::{Outcome, Problem};
use crate::mcp::config::entry::{HttpReach, Reach, ServerEntry};

/// A server that was lost is not opened silently again before this is over.
const RESTART_PAUSE: Duration = Duration::from_secs(60);
/// How long a request may take that nobody waits for.
const IN_PASSING: Duration = Duration::from_secs(10);
/// How long a server may take to ask for the folders that it may use.
const SETTLE: Duration = Duration::from_secs(1);
/// Servers look at the folders that they are told before they use them, and do not say when they have.
const LOOKS_AT_ROOTS: Duration = Duration::from_millis(50);
/// How often it is looked whether another thread has opened the connection.
const LOOK: Duration = Duration::from_millis(50);

/// How to come to a server.
pub(super) enum Way {
    /// As a configuration says.
    Entry(Box<ServerEntry>),
    /// Somebody else carries its messages.
    Given(Arc<dyn Transport>),
}

pub(crate) struct ServerConnection {
    pub(super) inbound: Arc<Inbound>,
    pub(super) way: Way,
    pub(super) env: Env,
    pub(super) supervisor: Option<std::path::PathBuf>,
    pub(super) log_level: Option<String>,
    pub(super) credentials: Option<Arc<dyn super::credentials::Credentials>>,
    ids: Arc<AtomicU64>,
    state: Mutex<State>,
    /// Held while it is opened.
    opening: Mutex<()>,
    tools: Mutex<tool_marks::KnownTools>,
    usage: Arc<Usage>,
    given_up: GivenUp,
}

#[derive(Default)]
struct State {
    live: Option<Arc<Live>>,
    listener: Option<Listener>,
    idle: Option<IdleWatch>,
    /// What the last connection found.
    spoken: Option<Spoken>,
    restarted: Option<Instant>,
    watched: Vec<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerConnection {
    pub(super) fn new(inbound: Arc<Inbound>, way: Way, env: Env, spoken: Option<Spoken>) -> Self {
        Self {
            inbound,
            way,
            env,
            supervisor: None,
            log_level: None,
            credentials: None,
            ids: Arc::default(),
            state: Mutex::new(State {
                spoken,
                ..State::default()
            }),
            opening: Mutex::default(),
            tools: Mutex::default(),
            usage: Arc::default(),
            given_up: GivenUp::default(),
        }
    }

    fn server(&self) -> &str {
        &self.inbound.server
    }

    /// The open connection, if there is one.
    fn current(&self) -> Option<Arc<Live>> {
        let live = lock(&self.state).live.clone();
        live.filter(|live| live.transport.is_alive() && !self.usage.is_over())
    }

    /// The open connection; it is opened if there is none.
    fn live(&self, wait: Wait<'_>) -> Outcome<Arc<Live>> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let one_at_a_time = self.opening(wait.stop)?;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let spoken = {
            let mut state = lock(&self.state);
            let lost = state.live.take();
            // One that was ended because nobody used it is none that failed.
            if lost.is_some() && !self.usage.is_over() {
                let again = state.restarted.replace(Instant::now());
                if again.is_some_and(|at| at.elapsed() < RESTART_PAUSE) {
                    // Whoever asks after the pause tries again.
                    state.restarted = again;
                    state.live = lost;
                    let problem = Problem::network(format!(
                        "{} has ended again, less than a minute after it was started anew.",
                        self.server()
                    ))
                    .next("Start it by hand to see what is wrong, or try again in a minute.");
                    return Err(stdio::gone(&self.inbound, problem));
                }
            }
            state.spoken.clone()
        };
        let live = Arc::new(self.reach(spoken.as_ref(), wait)?);
        self.settle(&live, wait.stop);
        self.usage.opened();
        let idle = self
            .idle_limit()
            .and_then(|limit| IdleWatch::start(&live, &self.usage, limit, &self.inbound.stop));
        let mut state = lock(&self.state);
        state.live = Some(Arc::clone(&live));
        state.idle = idle;
        state.spoken = Some(live.facts.spoken());
        let watched = state.watched.clone();
        drop(state);
        drop(one_at_a_time);
        self.begun(&live, watched);
        Ok(live)
    }

    /// Waits until no other thread opens the connection.
    fn opening(&self, stop: &Cancel) -> Outcome<MutexGuard<'_, ()>> {
        loop {
            match self.opening.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(guard)) => return Ok(guard.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            if !stop.sleep(LOOK) {
                return Err(Problem::cancelled());
            }
        }
    }

    /// The limits for opening the connection on behalf of an operation, whose own begin when it is open.
    fn to_open<'a>(&self, wait: Wait<'a>) -> Wait<'a> {
        match &self.way {
            Way::Entry(entry) => {
                Wait::new(entry.limits.startup, wait.stop).set_by("startupTimeout")
            }
            Way::Given(_) => wait,
        }
    }

    /// After which time without a request the server is ended: only a process of ours is.
    fn idle_limit(&self) -> Option<Duration> {
        match &self.way {
            Way::Entry(entry) if matches!(entry.reach, Reach::Stdio { .. }) => {
                Some(entry.limits.idle)
            }
            Way::Entry(_) | Way::Given(_) => None,
        }
    }

    /// A server of ours with a handshake asks for the folders that it may use when that is done, and refuses what comes before it knows them.
    fn settle(&self, live: &Live, stop: &Cancel) {
        if live.facts.is_modern
            || self.inbound.working_dir().is_none()
            || self.idle_limit().is_none()
        {
            return;
        }
        // By its answer it has sent what it had to ask.
        let _pong = self.send(live, "ping", json!({}), &[], Wait::new(SETTLE, stop));
        if self.inbound.was_asked_for_roots() {
            let _stopped = stop.sleep(LOOKS_AT_ROOTS);
        }
    }

    fn reach(&self, spoken: Option<&Spoken>, wait: Wait<'_>) -> Outcome<Live> {
        let mut opening = Opening {
            inbound: &self.inbound,
            env: &self.env,
            supervisor: self.supervisor.as_deref(),
            ids: &self.ids,
            log_level: self.log_level.as_deref(),
            protocol: None,
            remembered: spoken,
            wait,
        };
        match &self.way {
            Way::Given(transport) => opening::given(&opening, transport),
            Way::Entry(entry) => {
                opening.protocol = entry.protocol.as_deref();
                match &entry.reach {
                    Reach::Stdio {
                        command,
                        args,
                        env,
                        cwd,
                    } => opening.stdio(&Start {
                        command,
                        args,
                        env,
                        cwd: cwd.as_deref(),
                    }),
                    Reach::Http(reach) => opening.http(&self.web(reach)?, false),
                    Reach::Sse(reach) => opening.http(&self.web(reach)?, true),
                }
            }
        }
    }

    fn web(&self, reach: &HttpReach) -> Outcome<Arc<Web>> {
        Web::new(reach, &self.inbound, &self.env, self.credentials.clone())
    }

    /// What is to be done once with a new connection.
    fn begun(&self, live: &Arc<Live>, watched: Vec<String>) {
        if matches!(self.way, Way::Given(_)) {
            return;
        }
        if !live.facts.is_modern {
            let stop = &self.inbound.stop;
            let wait = Wait::new(IN_PASSING, stop);
            if let Some(level) = legacy::log_level(&live.facts, self.log_level.as_deref()) {
                let _unheard = self.send(live, "logging/setLevel", level, &[], wait);
            }
        }
        self.watch_on(live, &watched);
    }

    /// Sends a request in the form of the connection's era.
    fn send(
        &self,
        live: &Live,
        method: &str,
        params: Value,
        headers: &[(String, String)],
        wait: Wait<'_>,
    ) -> Result<Value, Failure> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        let mut params = match live.facts.is_modern {
            true => modern::with_meta(params, &self.inbound, self.log_level.as_deref()),
            false => params,
        };
        if method == "tools/call" && live.transport.has_progress() {
            let mut meta = params.get("_meta").cloned().unwrap_or_else(|| json!({}));
            put(&mut meta, "progressToken", id);
            put(&mut params, "_meta", meta);
        }
        let request = Request {
            id,
            method,
            params: &params,
            version: Some(&live.facts.version),
            headers,
        };
        live.transport.request(&request, wait)
    }

    /// Sends a request, again with answers where the server asks for them, until there is a result.
    fn exchange(
        &self,
        live: &Live,
        method: &str,
        params: &Value,
        headers: &[(String, String)],
        wait: Wait<'_>,
    ) -> Result<Value, Failure> {
        let mut current = params.clone();
        for _ in 0..=MAX_ROUNDS {
            let result = self.send(live, method, current, headers, wait)?;
            if !result.is_object() {
                let words = format!("{}'s result of {method} is no object.", self.server());
                return Err(Problem::network(words).into());
            }
            if !live.facts.is_modern {
                return Ok(result);
            }
            match modern::turn(result, method, params, &self.inbound, wait.stop)? {
                Turn::Complete(result) => return Ok(result),
                Turn::Again(again) => current = again,
            }
        }
        Err(Problem::limit(format!(
            "{} asked more than {MAX_ROUNDS} times for input to one {method}.",
            self.server()
        ))
        .into())
    }

    /// The result of a request, without what the server was given in confidence.
    fn ask(&self, method: &str, params: &Value, is_safe: bool, wait: Wait<'_>) -> Outcome<Value> {
        let answer = self.answer(method, params, is_safe, wait);
        self.inbound.secrets.hide_in(answer)
    }

    /// The result of a request. One that was lost is sent once more if `is_safe`: when it does no harm that the server works on it twice.
    fn answer(
        &self,
        method: &str,
        params: &Value,
        is_safe: bool,
        wait: Wait<'_>,
    ) -> Outcome<Value> {
        let _used = self.usage.begin();
        let mut is_first = true;
        loop {
            let live = self.live(self.to_open(wait))?;
            let begun = Instant::now();
            let tool = params.get("name").and_then(Value::as_str);
            let headers = match (method, tool) {
                ("tools/call", Some(tool)) if marks_count(&live) => {
                    self.marked(&live, tool, params, wait)?
                }
                _ => Vec::new(),
            };
            let failure = match self.exchange(&live, method, params, &headers, wait) {
                Ok(result) => return Ok(result),
                Err(failure) => failure,
            };
            // Only a process of ours is ended; a server of somebody else goes on for others.
            if self.idle_limit().is_some()
                && failure.is_given_up()
                && self.given_up.again(&live, begun)
            {
                stuck::end_unless_it_answers(&live, &self.usage, &self.inbound, &self.ids);
            }
            let again = match &failure {
                Failure::Lost(Loss::SessionOver, _) => {
                    self.forget(&live);
                    true
                }
                Failure::Lost(Loss::Gone, _) => is_safe,
                Failure::Lost(Loss::Broken, _) => is_safe,
                // The tool's marks are not what they were.
                failure if failure.code() == Some(modern::HEADER_MISMATCH) => {
                    lock(&self.tools).forget();
                    marks_count(&live) && method == "tools/call"
                }
                _ => false,
            };
            if is_first && again {
                is_first = false;
                continue;
            }
            let is_lost = matches!(failure, Failure::Lost(..));
            let problem = failure.problem(self.server(), method);
            return Err(match is_lost {
                true if method == "tools/call" => stdio::gone(&self.inbound, problem).next(
                    "The call may have been carried out all the same; look before you repeat it.",
                ),
                true => stdio::gone(&self.inbound, problem),
                false => problem,
            });
        }
    }

    /// The session is over; the next operation opens another, and that is no restart.
    fn forget(&self, live: &Arc<Live>) {
        let mut state = lock(&self.state);
        if state
            .live
            .as_ref()
            .is_some_and(|own| Arc::ptr_eq(own, live))
        {
            state.live = None;
            state.listener = None;
            state.idle = None;
        }
    }

    /// The headers for the arguments of a call that are marked; the tools are listed first if that has not been done.
    fn marked(
        &self,
        live: &Live,
        tool: &str,
        params: &Value,
        wait: Wait<'_>,
    ) -> Outcome<Vec<(String, String)>> {
        if !lock(&self.tools).is_listed() {
            self.list_tools(live, wait)?;
        }
        let args = params.get("arguments").unwrap_or(&Value::Null);
        Ok(lock(&self.tools).headers(tool, args))
    }

    /// Reads the list of tools for what it says of calls.
    fn list_tools(&self, live: &Live, wait: Wait<'_>) -> Outcome<()> {
        let mut cursor: Option<String> = None;
        for _ in 0..super::listing::MAX_PAGES {
            let params = match &cursor {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            };
            let page = self.exchange(live, List::Tools.method(), &params, &[], wait);
            let mut page = page.map_err(|failure| failure.problem(self.server(), "tools/list"))?;
            self.learn(live, cursor.is_none(), &mut page);
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(next) if cursor.as_deref() != Some(next) => cursor = Some(next.to_owned()),
                _ => break,
            }
        }
        Ok(())
    }

    /// Remembers what a page of tools says of calls, and takes those out whose marks break HTTP.
    fn learn(&self, live: &Live, is_first: bool, page: &mut Value) {
        let refused = lock(&self.tools).learn(page, is_first, marks_count(live));
        for (name, why) in refused {
            let words = format!(
                "{} has a tool {name} that is left out: {why}.",
                self.server()
            );
            self.inbound.ring.line(&words);
            self.inbound.tell(ServerEvent::Notice(words));
        }
    }

    fn watch_on(&self, live: &Arc<Live>, uris: &[String]) {
        let listener = match live.facts.is_modern {
            true => Listener::start(
                live,
                &self.inbound,
                &self.ids,
                self.log_level.as_deref(),
                uris,
            ),
            false => None,
        };
        let replaced = std::mem::replace(&mut lock(&self.state).listener, listener);
        drop(replaced);
        if !live.facts.is_modern {
            let subscribes = live.facts.capabilities.pointer("/resources/subscribe");
            if subscribes != Some(&Value::Bool(true)) {
                return;
            }
            let wait = Wait::new(IN_PASSING, &self.inbound.stop);
            for uri in uris {
                let params = json!({ "uri": uri });
                let _unheard = self.send(live, "resources/subscribe", params, &[], wait);
            }
        }
    }
}

/// Whether marked arguments are headers too.
fn marks_count(live: &Live) -> bool {
    live.facts.is_modern && live.transport.is_http()
}

impl Connection for ServerConnection {
    fn open(&self, wait: Wait<'_>) -> Outcome<ServerFacts> {
        let live = self.live(wait);
        let hide = |problem| self.inbound.secrets.hide_in_problem(problem);
        Ok(live.map_err(hide)?.facts.clone())
    }

    fn page(&self, list: List, cursor: Option<&str>, wait: Wait<'_>) -> Outcome<Value> {
        let live = self.live(wait);
        let live = live.map_err(|problem| self.inbound.secrets.hide_in_problem(problem))?;
        if !live.facts.has(list.capability()) {
            return Ok(json!({ list.field(): [] }));
        }
        let params = match cursor {
            Some(cursor) => json!({ "cursor": cursor }),
            None => json!({}),
        };
        let mut page = self.ask(list.method(), &params, true, wait)?;
        if list == List::Tools {
            self.learn(&live, cursor.is_none(), &mut page);
        }
        Ok(page)
    }

    fn call(&self, tool: &str, args: &Map<String, Value>, wait: Wait<'_>) -> Outcome<Value> {
        let params = json!({"name": tool, "arguments": args});
        let is_safe = lock(&self.tools).is_safe(tool);
        self.ask("tools/call", &params, is_safe, wait)
    }

    fn read(&self, uri: &str, wait: Wait<'_>) -> Outcome<Value> {
        self.ask("resources/read", &json!({ "uri": uri }), true, wait)
    }

    fn prompt(&self, name: &str, args: &Map<String, Value>, wait: Wait<'_>) -> Outcome<Value> {
        let params = json!({"name": name, "arguments": args});
        self.ask("prompts/get", &params, true, wait)
    }

    fn complete(
        &self,
        reference: &Value,
        (name, value): (&str, &str),
        others: &Map<String, Value>,
        wait: Wait<'_>,
    ) -> Outcome<Value> {
        let mut params = json!({"ref": reference, "argument": {"name": name, "value": value}});
        if !others.is_empty() {
            put(&mut params, "context", json!({ "arguments": others }));
        }
        self.ask("completion/complete", &params, true, wait)
    }

    fn move_to(&self, working_dir: &Path, stop: &Cancel) {
        if !self.inbound.move_to(working_dir) {
            return;
        }
        if let Some(live) = self.current().filter(|live| !live.facts.is_modern) {
            (live.transport).notify("notifications/roots/list_changed", &json!({}));
            self.settle(&live, stop);
        }
    }

    fn watch(&self, uris: &[String]) {
        let before = std::mem::replace(&mut lock(&self.state).watched, uris.to_vec());
        let Some(live) = self.current() else {
            return;
        };
        if live.facts.is_modern {
            return self.watch_on(&live, uris);
        }
        let wait = Wait::new(IN_PASSING, &self.inbound.stop);
        for gone in before.iter().filter(|uri| !uris.contains(uri)) {
            let params = json!({ "uri": gone });
            let _unheard = self.send(&live, "resources/unsubscribe", params, &[], wait);
        }
        let new: Vec<String> = (uris.iter().filter(|uri| !before.contains(uri)))
            .cloned()
            .collect();
        self.watch_on(&live, &new);
    }

    fn refused_tools(&self) -> Vec<(String, String)> {
        lock(&self.tools).refused()
    }

    fn last_words(&self, most: usize) -> Vec<String> {
        self.inbound.last_lines(most)
    }

    fn is_open(&self) -> bool {
        self.current().is_some()
    }

    fn stop(&self) {
        self.inbound.stop.fire();
    }

    fn close(&self) {
        let (live, listener, idle) = {
            let mut state = lock(&self.state);
            state.restarted = None;
            (state.live.take(), state.listener.take(), state.idle.take())
        };
        drop((listener, idle));
        if let Some(live) = live {
            live.transport.close();
        }
    }
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        self.inbound.stop.fire();
        self.close();
    }
}
