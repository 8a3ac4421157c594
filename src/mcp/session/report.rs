//! How the servers of a session are, in lines for the user and as data for programs.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::prompts::prompt_word;
use super::server::{Phase, SessionServer};
use super::{SessionServers, tools};
use crate::base::text::{clip, counted, plural};
use crate::mcp::client::servers::told_tool;
use crate::mcp::client::text::clipped;

/// Lines of what a server wrote last.
const LAST_LINES: usize = 30;
/// Characters of the names of tools in a line.
const MAX_NAMES: usize = 300;

impl SessionServers {
    /// A line for each server.
    pub(crate) fn table(&self) -> String {
        let servers = self.known();
        if servers.is_empty() {
            return "There are no MCP servers. marvin mcp add NAME COMMAND ARGS… adds one, for sessions that begin then.\n".to_owned();
        }
        let rows: Vec<[String; 3]> = servers.iter().map(|server| row(server)).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let (names, eras) = (width(0), width(1));
        let mut out = String::new();
        for [name, era, state] in &rows {
            let _ = writeln!(out, "{name:names$}  {era:eras$}  {state}");
        }
        out
    }

    /// Name and state of each, in a word that programs know.
    pub(crate) fn states(&self) -> Vec<Value> {
        let state = |server: &Arc<SessionServer>| json!({"name": server.name, "status": word(&server.phase())});
        self.known().iter().map(state).collect()
    }

    /// The same with what each says of itself and has. Before the first message those are told that were brought along.
    pub(crate) fn status(&self) -> Vec<Value> {
        if self.known().is_empty() {
            let brought = self.brought().into_iter();
            let waits = brought.map(|server| json!({"name": server.name, "status": "pending"}));
            return waits.collect();
        }
        self.known().iter().map(|server| status(server)).collect()
    }
}

fn status(server: &SessionServer) -> Value {
    let phase = server.phase();
    let mut fields = Map::from_iter([
        ("name".to_owned(), Value::from(server.name.as_str())),
        ("status".to_owned(), Value::from(word(&phase))),
    ]);
    if let Phase::Failed(words) = phase {
        fields.insert("error".to_owned(), Value::from(words));
    }
    if let Some(snapshot) = server.snapshot() {
        fields.insert("serverInfo".to_owned(), snapshot.info.clone());
        let tools = snapshot.tools.iter().filter_map(|tool| {
            let name = tool.get("name").and_then(Value::as_str)?;
            Some(told_tool(name, tool))
        });
        fields.insert("tools".to_owned(), tools.collect());
    }
    Value::Object(fields)
}

fn row(server: &SessionServer) -> [String; 3] {
    let (count, tokens) = offered(server);
    let mut state = words(&server.phase());
    if count > 0 {
        let _ = write!(
            state,
            ", {} ({} tokens)",
            plural(count, "tool"),
            counted_tokens(tokens)
        );
    }
    [clip(&server.shown, 30), era(server), state]
}

/// How many tools of a server the session has, or will have with the next message, and their tokens.
fn offered(server: &SessionServer) -> (usize, u64) {
    match (server.offered(), server.phase()) {
        ((0, _), Phase::NotStarted | Phase::Starting(_) | Phase::Ready) => tools::foretold(server),
        (offered, _) => offered,
    }
}

fn counted_tokens(tokens: u64) -> String {
    match tokens {
        0..=999 => tokens.to_string(),
        _ => format!("{}k", tokens.div_ceil(1_000)),
    }
}

/// The revision that is spoken, if it is known.
fn era(server: &SessionServer) -> String {
    let snapshot = server.snapshot();
    let spoken = snapshot
        .as_ref()
        .and_then(|snapshot| snapshot.spoken.as_ref());
    spoken.map_or_else(|| "-".to_owned(), |spoken| clip(&spoken.version, 12))
}

fn words(phase: &Phase) -> String {
    match phase {
        Phase::Disabled => "disabled".to_owned(),
        Phase::Closed => "of the project, and nobody agreed to it".to_owned(),
        Phase::NotStarted => "not started".to_owned(),
        Phase::Starting(since) => format!("starting, {} s", since.elapsed().as_secs()),
        Phase::Ready => "ready".to_owned(),
        Phase::NeedsSignIn => "needs sign-in".to_owned(),
        Phase::Failed(words) => format!("failed: {}", clip(words, 200)),
    }
}

fn word(phase: &Phase) -> &'static str {
    match phase {
        Phase::Disabled | Phase::Closed => "disabled",
        Phase::NotStarted | Phase::Starting(_) => "pending",
        Phase::Ready => "connected",
        Phase::NeedsSignIn => "needs-auth",
        Phase::Failed(_) => "failed",
    }
}

/// Which tools of a server the session has not, and why; and how a model comes to those that it has.
fn left_out(server: &SessionServer, known: &[Value]) -> String {
    let Some(entry) = server.entry().filter(|_| !known.is_empty()) else {
        return String::new();
    };
    let offered = server.offered_names();
    if offered.is_empty() {
        return "  The session has them with the next message.\n".to_owned();
    }
    let names = known.iter().filter_map(|tool| tool.get("name")?.as_str());
    let missing = names.filter(|name| !offered.contains(*name));
    let (unusable, unwanted): (Vec<&str>, Vec<&str>) =
        missing.partition(|name| tools::is_wanted(entry, name));
    let mut out = String::new();
    let mut line = |why: &str, names: &[&str]| {
        if !names.is_empty() {
            let names = clipped(&names.join(", "), MAX_NAMES);
            let _ = writeln!(out, "  left out by {why}: {names}");
        }
    };
    line("includeTools or excludeTools of its entry", &unwanted);
    line("Marvin, which said why with a message", &unusable);
    let refused = server.connection().map(|own| own.refused_tools());
    for (name, why) in refused.unwrap_or_default() {
        line(&format!("Marvin ({})", clipped(&why, 200)), &[&name]);
    }
    out.push_str(
        "  Those that a request does not carry wait until the model searches for them (/tools).\n",
    );
    out
}

/// All about one server, with what it wrote last.
pub(crate) fn detail(server: &SessionServer) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}: {}", server.shown, words(&server.phase()));
    if let Some(snapshot) = server.snapshot() {
        let text = |key: &str| {
            snapshot
                .info
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or("?")
        };
        let _ = writeln!(
            out,
            "  {} {}, revision {}",
            clip(text("name"), 60),
            clip(text("version"), 30),
            era(server)
        );
        let (count, tokens) = offered(server);
        let known = snapshot.tools.len();
        let _ = writeln!(
            out,
            "  {} of {} offered, {} tokens; {}",
            count,
            plural(known, "tool"),
            counted_tokens(tokens),
            counted(snapshot.prompts.len() as u64, "prompt")
        );
        out.push_str(&left_out(server, &snapshot.tools));
        for prompt in &snapshot.prompts {
            if let Some(name) = prompt.get("name").and_then(Value::as_str) {
                let _ = writeln!(out, "  /{}:{}", server.word(), clip(&prompt_word(name), 60));
            }
        }
    }
    if server.phase() == Phase::NeedsSignIn {
        let _ = writeln!(out, "  /mcp login {} signs in.", server.name);
    }
    let last = server
        .connection()
        .map(|connection| connection.last_words(LAST_LINES));
    let last = last.unwrap_or_default();
    if !last.is_empty() {
        out.push_str("It wrote last:\n");
        for line in last {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}
