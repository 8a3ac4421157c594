//! `marvin mcp call SERVER TOOL …`: one call of a tool.

use serde_json::{Map, Value};

use super::save::save;
use super::used_server::{ServerArgs, UsedServer, say_progress};
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::clip;
use crate::cli::out::print_words;
use crate::mcp::client::connection::{List, Wait};
use crate::mcp::client::results;
use crate::mcp::client::servers::rules;
use crate::tools::engine::policy::ToolPolicy;
use crate::tools::engine::registry::Registry;

/// Characters of the names of tools in a message.
const MAX_NAMES: usize = 600;

pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let flags = ["k=v", "--json", "--raw", "--answers", "--timeout", "--save"];
    let args = ServerArgs::read("call", words, 2, &flags)?;
    let server = UsedServer::find(&args, &settings)?;
    let mut warn = |words: String| say(&words);
    let bounds = ToolPolicy {
        // Who runs this command has chosen the tool.
        depth: 0,
        ..ToolPolicy::new(&settings.env, &mut warn)
    };
    let result = match result(&args, &server, &bounds) {
        Ok(result) => result,
        Err(problem) => return server.failed(problem),
    };
    if let Some(dir) = &args.save {
        let content = result.get("content").and_then(Value::as_array);
        save(dir, content.map(Vec::as_slice).unwrap_or_default())?;
    }
    let has_failed = result.get("isError") == Some(&Value::Bool(true));
    let text = match args.is_raw {
        true => result.to_string(),
        false => results::whole_text(&result),
    };
    match args.is_raw {
        true => print_words(&format!("{text}\n"))?,
        false if has_failed => say(&text),
        false => print_words(&format!("{}\n", text.trim_end_matches('\n')))?,
    }
    Ok(server.status(u8::from(has_failed)))
}

fn result(args: &ServerArgs, server: &UsedServer, bounds: &ToolPolicy) -> Outcome<Value> {
    let facts = server.open()?;
    let tools = server.list(List::Tools)?;
    server.remember(&facts, &tools, None);
    let name = args.name(1);
    let is_named = |tool: &&Value| tool.get("name").and_then(Value::as_str) == Some(name);
    let tool = tools.iter().find(is_named);
    let rules = rules(tool.unwrap_or(&Value::Null));
    if let Some(refusal) = Registry::default().refusal_of((name, args.name(0)), &rules, bounds) {
        return Err(refusal);
    }
    let schema = tool.and_then(|tool| tool.get("inputSchema"));
    let values = values(
        schema.unwrap_or(&Value::Null),
        &args.pairs,
        args.json.as_deref(),
    )?;
    let limits = server.entry.limits;
    let (limit, total) = match args.timeout {
        Some(limit) => (limit, limit),
        None => (limits.call, limits.total),
    };
    let mut wait = Wait::new(limit, &server.stop).up_to(total);
    if args.timeout.is_none() {
        wait = wait.set_by("timeout");
    }
    if UsedServer::tells_progress() {
        wait = wait.heard_by(&say_progress);
    }
    let called = server.connection.call(name, &values, wait);
    if tool.is_some() {
        return called;
    }
    // A server may have one that it does not list. If it has none, some answer with an error, others with a result that says so.
    let unknown = match called {
        Ok(result) if !args.is_raw && result.get("isError") == Some(&Value::Bool(true)) => {
            Problem::missing(results::whole_text(&result).trim().to_owned())
        }
        Ok(result) => return Ok(result),
        Err(problem) => problem,
    };
    let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
    let names: Vec<&str> = names.collect();
    let all = match names.is_empty() {
        true => format!("{} has no tools.", args.name(0)),
        false => format!("There are: {}.", clip(&names.join(", "), MAX_NAMES)),
    };
    Err(unknown.near_or(name, names, all))
}

/// `key=value` words and the object of `--json` as arguments; the schema says which values are texts.
pub(super) fn values(
    schema: &Value,
    pairs: &[String],
    json: Option<&str>,
) -> Outcome<Map<String, Value>> {
    let mut values = match json {
        Some(json) => super::used_server::object("--json", json)?,
        None => Map::new(),
    };
    for pair in pairs {
        let (key, text) = pair.split_once('=').ok_or_else(|| {
            let shown = crate::base::text::one_line(pair);
            Problem::input(format!("\"{shown}\" is not of the form key=value."))
        })?;
        let kind = schema.pointer(&format!("/properties/{}/type", escaped(key)));
        let has = |name: &str| match kind {
            Some(Value::String(kind)) => kind == name,
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
            _ => false,
        };
        let value = match kind {
            _ if has("string") => Value::from(text),
            _ if has("array") && !text.trim_start().starts_with('[') => {
                let items = text
                    .split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty());
                items.map(read).collect()
            }
            // What is none of what it should be stays a text, and the server says so.
            _ => read(text),
        };
        values.insert(key.to_owned(), value);
    }
    Ok(values)
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// A key within a pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_have_the_types_of_the_schema() {
        let schema = json!({"properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "tags": {"type": "array"},
            "either": {"type": ["string", "null"]}, "a/b": {"type": "string"}
        }});
        let pairs = [
            "text=5",
            "count=5",
            "tags=a, 2",
            "either=null",
            "a/b=1",
            "other=true",
            "free=x=y",
        ];
        let pairs = pairs.map(str::to_owned);
        let values = values(&schema, &pairs, Some("{\"count\": 1, \"more\": []}")).unwrap();
        let expected = json!({"count": 5, "more": [], "text": "5", "tags": ["a", 2], "either": "null", "a/b": "1", "other": true, "free": "x=y"});
        assert_eq!(Value::Object(values), expected);
    }
}
