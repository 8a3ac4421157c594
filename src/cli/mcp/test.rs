//! `marvin mcp test NAME [--json] [--login]`: connects to a server and tells what it finds.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::used_server::{ServerArgs, UsedServer};
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::json::JsonExt as _;
use crate::base::problem::{Outcome, ProblemKind};
use crate::base::text::{one_line, plural};
use crate::cli::out::print_words;
use crate::mcp::client::connection::{List, ServerFacts};
use crate::mcp::client::listing;
use crate::mcp::client::text::clipped;
use crate::mcp::session::tools::is_wanted;

/// Characters of what a tool is for.
const MAX_SUMMARY: usize = 100;

/// The lists, as they are told.
const LISTS: [(&str, List); 4] = [
    ("tools", List::Tools),
    ("prompts", List::Prompts),
    ("resources", List::Resources),
    ("templates", List::Templates),
];

pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let args = ServerArgs::read("test", words, 1, &["--json"])?;
    let server = UsedServer::find(&args, &settings)?;
    let found = server.open().and_then(|facts| {
        let lists = LISTS.map(|(name, list)| match server.list(list) {
            // A server may say that it has something of which it has no list; its tools are there all the same.
            Err(problem) if list != List::Tools && problem.kind == ProblemKind::Network => {
                say(&problem.one_line());
                Ok((name, Vec::new()))
            }
            items => Ok((name, items?)),
        });
        let lists: Vec<(&str, Vec<Value>)> = lists.into_iter().collect::<Outcome<_>>()?;
        Ok((facts, lists))
    });
    let (facts, mut lists) = match found {
        Ok(found) => found,
        Err(problem) => return server.failed(problem),
    };
    if let [(_, tools), (_, prompts), ..] = lists.as_slice() {
        server.remember(&facts, tools, Some(prompts));
    }
    let mut refused = server.connection.refused_tools();
    if let Some((_, tools)) = lists.first_mut() {
        let (usable, more) = listing::usable(std::mem::take(tools));
        *tools = usable;
        refused.extend(more);
        tools.retain(|tool| {
            let name = tool.text("name").unwrap_or_default();
            let is_wanted = is_wanted(&server.entry, name);
            if !is_wanted {
                let why = "excludeTools or includeTools of its entry";
                refused.push((clipped(name, 64), why.to_owned()));
            }
            is_wanted
        });
    }
    match args.is_json {
        true => print_words(&format!(
            "{}\n",
            as_json(args.name(0), &facts, lists, &refused)
        ))?,
        false => print_words(&as_text(args.name(0), &facts, &lists, &refused))?,
    }
    Ok(server.status(0))
}

fn as_json(
    name: &str,
    facts: &ServerFacts,
    lists: Vec<(&str, Vec<Value>)>,
    refused: &[(String, String)],
) -> Value {
    let mut told = Map::from_iter([
        ("name".to_owned(), Value::from(name)),
        ("era".to_owned(), Value::from(facts.era())),
        ("version".to_owned(), Value::from(facts.version.as_str())),
        ("server".to_owned(), facts.info.clone()),
        ("capabilities".to_owned(), facts.capabilities.clone()),
        (
            "instructions".to_owned(),
            facts.instructions.clone().map_or(Value::Null, Value::from),
        ),
    ]);
    for (name, items) in lists {
        told.insert(name.to_owned(), Value::Array(items));
    }
    if !refused.is_empty() {
        let refused = refused.iter();
        let refused = refused.map(|(name, why)| json!({"name": name, "reason": why}));
        told.insert("refused".to_owned(), refused.collect());
    }
    Value::Object(told)
}

fn as_text(
    name: &str,
    facts: &ServerFacts,
    lists: &[(&str, Vec<Value>)],
    refused: &[(String, String)],
) -> String {
    let server = ["name", "version"].map(|field| facts.info.word(field).unwrap_or_default());
    let counts: Vec<String> = (lists.iter())
        .map(|(name, items)| plural(items.len(), name.trim_end_matches('s')))
        .collect();
    let mut out = format!(
        "{}: {} {}, {}\n{}\n",
        one_line(name),
        facts.era(),
        facts.version,
        one_line(&clipped(&server.join(" "), MAX_SUMMARY)),
        counts.join(", ")
    );
    let tools = lists.iter().find(|(name, _)| *name == "tools");
    for tool in tools.into_iter().flat_map(|(_, tools)| tools) {
        let name = one_line(&clipped(tool.text("name").unwrap_or("?"), 64));
        let about = tool.text("description").or_else(|| tool.text("title"));
        let about = about.unwrap_or_default().lines().next().unwrap_or_default();
        let line = format!("  {name}  {}", one_line(&clipped(about, MAX_SUMMARY)));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for (name, why) in refused {
        let _ = writeln!(out, "  {name} is left out: {why}");
    }
    out
}
