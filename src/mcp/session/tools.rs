//! Tools of a server as tools of the session: which of them, under which names, and with whose agreement they run.

use std::collections::HashSet;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::SessionServers;
use super::cache::Snapshot;
use super::server::SessionServer;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::clip;
use crate::chat::event::{DenialReason, Event};
use crate::chat::tokens;
use crate::mcp::client::names;
use crate::mcp::client::servers::{ServerTool, offered_len, owned_tool};
use crate::mcp::client::text::clipped;
use crate::mcp::config::entry::ServerEntry;
use crate::tools::engine::approval::{Approval, ApprovalRequest};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::owned_tool::OwnedTool;
use crate::tools::engine::registry::Registry;

/// Faults that are told of one server.
const MAX_FAULTS: usize = 5;
/// Characters of a call's arguments in a question.
const MAX_ARGUMENTS: usize = 1_000;
/// Characters of one argument at least, however many there are.
const MIN_ARGUMENT: usize = 80;

/// A tool in the list of its server. Most are never called, so nothing is made of it before.
struct ListedTool {
    snapshot: Arc<Snapshot>,
    at: usize,
}

impl ListedTool {
    /// What an agreement for good holds for. The names too: what is shown of them may be the same for two.
    fn version(&self, server: &str, raw: &str) -> Vec<u8> {
        let definition = self.snapshot.tools.get(self.at);
        let whole = json!([server, raw, definition]).to_string();
        digest(&SHA256, whole.as_bytes()).as_ref().to_vec()
    }
}

/// Registers what a server offers and the session does not have yet. Returns what is not as it should be.
pub(super) fn register(
    servers: &Arc<SessionServers>,
    server: &Arc<SessionServer>,
    registry: &Registry,
) -> Vec<String> {
    let (Some((snapshot, had)), Some(entry)) = (server.news(), server.entry()) else {
        return Vec::new();
    };
    let (mut offered, mut faults) = (Vec::new(), Vec::new());
    let mut seen: HashSet<&str> = HashSet::new();
    for (at, tool) in snapshot.tools.iter().enumerate() {
        let raw = tool.get("name").and_then(Value::as_str);
        let Some(raw) = raw.filter(|raw| !raw.trim().is_empty()) else {
            faults.push("a tool without a name".to_owned());
            continue;
        };
        // What models were told of a tool stays as it was in a session.
        if had.contains(raw) || !is_wanted(entry, raw) {
            continue;
        }
        if !seen.insert(raw) {
            faults.push(format!("another tool named \"{}\"", clipped(raw, 64)));
            continue;
        }
        let listed = ListedTool {
            snapshot: Arc::clone(&snapshot),
            at,
        };
        match register_one(servers, server, entry, registry, (raw, tool, listed)) {
            Ok(tokens) => offered.push((raw.to_owned(), tokens)),
            Err(problem) => faults.push(format!(
                "the tool \"{}\": {}",
                clipped(raw, 64),
                problem.one_line()
            )),
        }
    }
    server.set_offered(offered);
    let told = faults.into_iter().take(MAX_FAULTS);
    told.map(|fault| {
        format!(
            "The MCP server {} has {fault}, which is left out.",
            server.shown
        )
    })
    .collect()
}

/// How many tools of a server that is remembered the session will have, and their tokens.
pub(super) fn foretold(server: &SessionServer) -> (usize, u64) {
    let (Some(snapshot), Some(entry)) = (server.snapshot(), server.entry()) else {
        return (0, 0);
    };
    let mut seen: HashSet<&str> = HashSet::new();
    let mut tokens = 0;
    for tool in &snapshot.tools {
        let raw = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if raw.trim().is_empty() || !is_wanted(entry, raw) || !seen.insert(raw) {
            continue;
        }
        let names = (server.name.as_str(), raw);
        let name = names::tool_name(&server.tool_part, names, |_| false).unwrap_or_default();
        tokens += tokens::estimate(name.len() + offered_len(&server.name, raw, tool));
    }
    (seen.len(), tokens)
}

fn register_one(
    servers: &Arc<SessionServers>,
    server: &Arc<SessionServer>,
    entry: &ServerEntry,
    registry: &Registry,
    (raw, definition, listed): (&str, &Value, ListedTool),
) -> Outcome<u64> {
    let is_taken = |name: &str| registry.find(name).is_some();
    let name = names::tool_name(&server.tool_part, (&server.name, raw), is_taken);
    let name = name.ok_or_else(|| Problem::input("Its name is taken."))?;
    let connection = (server.connection()).ok_or_else(|| Problem::internal("No connection."))?;
    let tool = owned_tool(
        ServerTool {
            server: &server.name,
            raw,
            definition,
            call_limit: entry.limits.call,
            total_limit: entry.limits.total,
            is_callers: false,
        },
        name,
        connection,
    );
    let tool = match entry.is_always_loaded {
        true => OwnedTool {
            rules: tool.rules.direct(),
            ..tool
        },
        false => tool,
    };
    let tokens = tokens::estimate(tool.name.len() + tool.summary.len() + tool.schema.get().len());
    registry.register(asking(tool, servers, server, (raw, listed)))?;
    Ok(tokens)
}

/// The tool that asks before it runs, unless it says that it only reads, and afterwards has what is remembered of its server looked at.
fn asking(
    tool: OwnedTool,
    servers: &Arc<SessionServers>,
    server: &Arc<SessionServer>,
    (raw, listed): (&str, ListedTool),
) -> OwnedTool {
    let (run, reads) = (tool.run, tool.rules.effect.is_none());
    let (name, raw) = (tool.name.clone(), raw.to_owned());
    let (servers, server) = (Arc::downgrade(servers), Arc::clone(server));
    OwnedTool {
        run: Box::new(move |ctx, args| {
            server.reachable()?;
            server.follow(&ctx.session, &ctx.stop);
            if !reads {
                let version = || listed.version(&server.name, &raw);
                agree(ctx, (&server.shown, &raw, &name), args, version)?;
            }
            let outcome = run(ctx, args);
            if let Some(servers) = servers.upgrade() {
                servers.refresh(&server, 0);
            }
            outcome
        }),
        ..tool
    }
}

/// Asks whether a tool may run, which may change anything; an answer for good holds for this definition of it.
fn agree(
    ctx: &ToolContext,
    (server, raw, name): (&str, &str, &str),
    args: &Map<String, Value>,
    version: impl FnOnce() -> Vec<u8>,
) -> Outcome<()> {
    if ctx.is_agreed {
        return Ok(());
    }
    if matches!(ctx.approval, Approval::Approve | Approval::Deny) {
        let problem = Problem::refused(format!(
            "{name} may change something, and nobody can be asked about it here."
        ))
        .next(format!("Allow it with --allowed-tools {name}."));
        ctx.listener.emit(Event::Denied {
            id: ctx.call.clone(),
            name: name.to_owned(),
            reason: DenialReason::Other,
            message: problem.one_line(),
        });
        return Err(problem);
    }
    let mut shown = String::new();
    // Each is cut by itself, so that a long one hides no other.
    let most = (MAX_ARGUMENTS / args.len().max(1)).max(MIN_ARGUMENT);
    for (key, value) in args {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        shown.push_str(&format!("\n{key}: {}", clip(&value, most)));
    }
    let subject = format!("{} of {server}", clipped(raw, 64));
    let request = ApprovalRequest::new(
        "Call this tool of a server?",
        "call this tool of a server",
        subject,
    )
    .with_detail(shown, &version())
    .for_good("this tool, with any arguments");
    ctx.approve(request)
}

/// Whether the entry wants this tool; what is excluded beats what is included.
pub(crate) fn is_wanted(entry: &ServerEntry, raw: &str) -> bool {
    let fits = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, raw));
    (entry.included.is_empty() || fits(&entry.included)) && !fits(&entry.excluded)
}

/// Whether a name fits a pattern, in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, is_fit) in [
            ("read", "read", true),
            ("read", "read_file", false),
            ("read*", "read_file", true),
            ("*_file", "read_file", true),
            ("*", "anything", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("*a*", "bcb", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(fits(pattern, name), is_fit, "{pattern} {name}");
        }
    }
}
