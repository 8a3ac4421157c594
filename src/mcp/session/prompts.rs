//! Prompts of servers, as the user calls them (`/SERVER:PROMPT`), and resources, as they are mentioned (`@SERVER:URI`) or read by the model.

use std::sync::{Arc, PoisonError};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::SessionServers;
use super::content::ServerContent;
use super::server::SessionServer;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, one_line};
use crate::mcp::client::connection::Wait;
use crate::mcp::client::names;
use crate::mcp::client::questions::{Answer, Question};
use crate::mcp::client::results;
use crate::mcp::client::text::clipped;
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::owned_tool::OwnedTool;
use crate::tools::engine::result::ToolOk;
use crate::tools::engine::rules::READ;
use crate::tools::output::untrusted::fenced;

/// Name of the tool that reads resources.
const READ_TOOL: &str = "read_mcp_resource";
const READ_SCHEMA: &str = r#"{"type":"object","properties":{"server":{"type":"string","description":"name of the server"},"uri":{"type":"string","description":"address of the resource, as a result or the user has it"}},"required":["server","uri"]}"#;
/// Seconds that reading may take.
const READ_SECONDS: u64 = 30;
/// Characters of a description in a list.
const MAX_ABOUT: usize = 100;

/// A prompt of a server, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptRow {
    /// `/SERVER:PROMPT`.
    pub call: String,
    pub about: String,
}

impl SessionServers {
    /// The prompts of all servers that are known.
    pub(crate) fn prompts(&self) -> Vec<PromptRow> {
        let rows = self.known().iter().flat_map(|server| {
            let snapshot = server.snapshot();
            let prompts = snapshot
                .map(|snapshot| snapshot.prompts.clone())
                .unwrap_or_default();
            let row = |prompt: Value| {
                let name = prompt.get("name")?.as_str()?;
                let about = prompt.get("description").or_else(|| prompt.get("title"));
                Some(PromptRow {
                    call: format!("/{}:{}", server.word(), prompt_word(name)),
                    about: clipped(about.and_then(Value::as_str).unwrap_or_default(), MAX_ABOUT),
                })
            };
            prompts.into_iter().filter_map(row).collect::<Vec<_>>()
        });
        rows.collect()
    }

    /// The server before the colon of `SERVER:REST`, and the rest; the longest name that fits.
    fn named<'a>(
        self: &Arc<Self>,
        session: &SessionContext,
        text: &'a str,
    ) -> Option<(Arc<SessionServer>, &'a str)> {
        text.contains(':').then_some(())?;
        let fitting = self.all(session).iter().filter_map(|server| {
            let (len, rest) = server.named(text)?;
            Some((len, server, rest))
        });
        let (_, server, rest) = fitting.max_by_key(|(len, ..)| *len)?;
        Some((Arc::clone(server), rest))
    }

    /// What a prompt of a server says, if the line calls one.
    ///
    /// # Errors
    /// There is no such prompt, an argument is missing, or the server does not answer.
    pub(crate) fn prompt(
        self: &Arc<Self>,
        session: &SessionContext,
        line: &str,
        stop: &Cancel,
    ) -> Option<Outcome<ServerContent>> {
        let after = line.trim_start().strip_prefix('/')?;
        let (name, rest) = after.split_once(char::is_whitespace).unwrap_or((after, ""));
        let Some((server, prompt)) = self.named(session, name) else {
            return self.misnamed(session, name).map(Err);
        };
        Some(self.read_prompt(&server, prompt, rest, stop))
    }

    /// Why a line that calls a prompt of a server calls none: there is no such server. `None` for what may be a message.
    fn misnamed(self: &Arc<Self>, session: &SessionContext, call: &str) -> Option<Problem> {
        let (server, prompt) = call.split_once(':')?;
        let is_word = |word: &str| {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            !word.is_empty() && word.chars().all(is_part)
        };
        let is_call = self.setup.is_some() && is_word(server) && is_word(prompt);
        is_call.then(|| self.find(session, server).err()).flatten()
    }

    /// What a resource of a server holds, if the name (`SERVER:URI`) is one of a server.
    ///
    /// # Errors
    /// There is no such resource, or the server does not answer.
    pub(crate) fn mentioned(
        self: &Arc<Self>,
        session: &SessionContext,
        name: &str,
        stop: &Cancel,
    ) -> Option<Outcome<ServerContent>> {
        let (server, uri) = self.named(session, name)?;
        let content = read_resource(&server, uri, stop);
        if content.is_ok() {
            self.watch(&server, uri);
        }
        Some(content)
    }

    /// From now on the user is told when this resource changes, where its server tells that.
    fn watch(&self, server: &SessionServer, uri: &str) {
        if let (Some(uris), Ok(connection)) = (server.attach(uri), server.reachable()) {
            self.aside(move || connection.watch(&uris));
        }
    }

    fn read_prompt(
        &self,
        server: &SessionServer,
        name: &str,
        rest: &str,
        stop: &Cancel,
    ) -> Outcome<ServerContent> {
        let connection = server.reachable()?;
        let snapshot = server.snapshot().unwrap_or_default();
        let (name, found) = find_prompt(server, &snapshot.prompts, name)?;
        let usage = |problem: Problem| {
            problem.next(format!(
                "Usage: /{}:{} {}",
                server.word(),
                prompt_word(name),
                usage(found)
            ))
        };
        let mut args = given(found, rest).map_err(usage)?;
        let missing = missing(found, &args);
        if let Some(first) = missing.first() {
            let questions = (self.questions.read())
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let Some(questions) = questions.filter(|questions| questions.takes_forms()) else {
                let words = format!("The prompt needs {first}.");
                return Err(usage(Problem::input(words)));
            };
            let message = format!("Its prompt {} needs this.", clipped(name, MAX_ABOUT));
            let schema = form(found, &missing);
            let form = Question::Form {
                message: &message,
                schema: &schema,
            };
            match questions.ask(&server.shown, form, stop) {
                Answer::Accept(values) => args.extend(values),
                Answer::Decline | Answer::Cancel => {
                    let words = format!("The prompt needs {first}, so it was not sent.");
                    return Err(usage(Problem::new(ProblemKind::Declined, words)));
                }
            }
        }
        let limit = std::time::Duration::from_secs(READ_SECONDS);
        let result = connection.prompt(name, &args, Wait::new(limit, stop))?;
        let content = ServerContent::of_prompt(&result);
        match content == ServerContent::default() {
            true => Err(Problem::network(format!(
                "The prompt {name} of {} is empty.",
                server.shown
            ))),
            false => Ok(content),
        }
    }

    /// The tool with which models read resources.
    pub(super) fn read_tool(self: &Arc<Self>) -> Outcome<OwnedTool> {
        let schema = RawValue::from_string(READ_SCHEMA.to_owned())
            .map_err(|error| Problem::internal(format!("A schema cannot be written: {error}.")))?;
        let servers = Arc::downgrade(self);
        Ok(OwnedTool {
            name: READ_TOOL.to_owned(),
            module: "mcp".to_owned(),
            summary: "Read a resource of an MCP server by its address.".to_owned(),
            schema,
            rules: READ.open_world(true).seconds(READ_SECONDS + 5),
            phrases: Arc::new([]),
            run: Box::new(move |ctx, args| {
                let text = |key: &str| args.get(key).and_then(Value::as_str).unwrap_or_default();
                let servers = servers.upgrade().ok_or_else(Problem::cancelled)?;
                let server = servers.find(&ctx.session, text("server"))?;
                let source = format!(
                    "the resource {} of the server {}",
                    one_line(&clipped(text("uri"), 200)),
                    server.shown
                );
                let content = read_resource(&server, text("uri"), &ctx.stop)
                    .map_err(|problem| results::failure(&source, problem))?;
                let mut said = content.text;
                for (name, _) in &content.images {
                    said.push_str(&format!(
                        "\n[image {name}: the user can attach it with @{}:{name}]",
                        server.word()
                    ));
                }
                let images = content.images.into_iter();
                let images = images.filter_map(|(name, bytes)| results::picture(&name, bytes));
                Ok(ToolOk {
                    images: images.collect(),
                    ..ToolOk::from(fenced(&source, &said))
                })
            }),
        })
    }
}

fn read_resource(server: &SessionServer, uri: &str, stop: &Cancel) -> Outcome<ServerContent> {
    let connection = server.reachable()?;
    let limit = std::time::Duration::from_secs(READ_SECONDS);
    let result = connection.read(uri, Wait::new(limit, stop))?;
    Ok(ServerContent::of_resource(&result))
}

/// A prompt's name where one word is needed.
pub(super) fn prompt_word(name: &str) -> String {
    match name.contains(char::is_whitespace) {
        true => names::part(name),
        false => name.to_owned(),
    }
}

/// The prompt that is called so, by its name or the word for it, with its name.
pub(super) fn called<'a>(prompts: &'a [Value], name: &str) -> Option<(&'a str, &'a Value)> {
    let named = || {
        let prompts = prompts.iter();
        prompts.filter_map(|prompt| Some((prompt.get("name")?.as_str()?, prompt)))
    };
    (named().find(|(own, _)| *own == name))
        .or_else(|| named().find(|(own, _)| prompt_word(own) == name))
}

fn find_prompt<'a>(
    server: &SessionServer,
    prompts: &'a [Value],
    name: &str,
) -> Outcome<(&'a str, &'a Value)> {
    called(prompts, name).ok_or_else(|| {
        let shown = one_line(&clip(name, 60));
        let problem = Problem::missing(format!("{} has no prompt \"{shown}\".", server.shown));
        let all = prompts.iter();
        let words = all.filter_map(|prompt| Some(prompt_word(prompt.get("name")?.as_str()?)));
        let words: Vec<String> = words.collect();
        problem.near_or(
            name,
            words.iter().map(String::as_str),
            format!("/mcp {} lists what it has.", server.shown),
        )
    })
}

/// The arguments that a prompt declares: name, and whether it is required.
pub(super) fn declared(prompt: &Value) -> Vec<(&str, bool)> {
    let arguments = prompt.get("arguments").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten().filter_map(|argument| {
        let name = argument.get("name")?.as_str()?;
        Some((name, argument.get("required") == Some(&Value::Bool(true))))
    });
    arguments.collect()
}

fn usage(prompt: &Value) -> String {
    let words = declared(prompt)
        .into_iter()
        .map(|(name, is_required)| match is_required {
            true => format!("{name}=…"),
            false => format!("[{name}=…]"),
        });
    words.collect::<Vec<_>>().join(" ")
}

/// `key=value`, or values in the order of the declaration; the last one takes the rest of the line.
pub(super) fn given(prompt: &Value, rest: &str) -> Outcome<Map<String, Value>> {
    let declared = declared(prompt);
    let words = shlex::split(rest).ok_or_else(|| {
        Problem::input("A quote is not closed.").next("Close it, or escape it with \\.")
    })?;
    let mut args = Map::new();
    let mut in_order: Vec<String> = Vec::new();
    for word in words {
        let named = word.split_once('=');
        let named = named.filter(|(key, _)| declared.iter().any(|(name, _)| name == key));
        match named {
            Some((key, value)) => {
                args.insert(key.to_owned(), Value::from(value));
            }
            None => in_order.push(word),
        }
    }
    let free: Vec<&str> = declared
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !args.contains_key(*name))
        .collect();
    let Some((last, others)) = free.split_last() else {
        return match in_order.is_empty() {
            true => Ok(args),
            false => Err(Problem::input("It takes no further words.")),
        };
    };
    let mut in_order = in_order.into_iter();
    for (name, value) in others.iter().zip(in_order.by_ref()) {
        args.insert((*name).to_owned(), Value::from(value));
    }
    let tail = in_order.collect::<Vec<_>>().join(" ");
    if !tail.is_empty() {
        args.insert((*last).to_owned(), Value::from(tail));
    }
    Ok(args)
}

/// The names of required arguments that are not given.
fn missing<'a>(prompt: &'a Value, args: &Map<String, Value>) -> Vec<&'a str> {
    let required = declared(prompt)
        .into_iter()
        .filter(|(_, is_required)| *is_required);
    let names = required.map(|(name, _)| name);
    names.filter(|name| !args.contains_key(*name)).collect()
}

/// The form that asks for these arguments.
fn form(prompt: &Value, missing: &[&str]) -> Value {
    let all = prompt.get("arguments").and_then(Value::as_array);
    let about = |name: &str| {
        let mut all = all.into_iter().flatten();
        let own = all.find(|own| own.get("name").and_then(Value::as_str) == Some(name))?;
        own.get("description").cloned()
    };
    let fields = missing.iter().map(|name| {
        let field = json!({"type": "string", "description": about(name)});
        ((*name).to_owned(), field)
    });
    let fields: Map<String, Value> = fields.collect();
    json!({"type": "object", "properties": fields, "required": missing})
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_is_called_by_its_name_or_in_one_word() {
        let prompts = json!([{"name": "no args"}, {"name": "no_args2"}, {"n": 1}, {"name": "x/y"}]);
        let prompts = prompts.as_array().unwrap();
        for (word, name) in [
            ("no args", Some("no args")),
            ("no_args", Some("no args")),
            ("no_args2", Some("no_args2")),
            ("x/y", Some("x/y")),
            ("x_y", None),
            ("n", None),
        ] {
            let found = called(prompts, word).map(|(name, _)| name);
            assert_eq!(found, name, "{word}");
        }
    }

    #[test]
    fn arguments_come_by_name_or_in_order() {
        let prompt = json!({"arguments": [{"name": "file", "required": true}, {"name": "style"}]});
        for (rest, args) in [
            ("a.rs", json!({"file": "a.rs"})),
            (
                "a.rs short and kind",
                json!({"file": "a.rs", "style": "short and kind"}),
            ),
            (
                "style=short 'my file'",
                json!({"style": "short", "file": "my file"}),
            ),
            ("file=a=b", json!({"file": "a=b"})),
        ] {
            assert_eq!(Value::Object(given(&prompt, rest).unwrap()), args, "{rest}");
        }
        let given_style = given(&prompt, "style=x").unwrap();
        assert_eq!(missing(&prompt, &given_style), ["file"]);
        assert_eq!(
            form(&prompt, &["file"]),
            json!({"type": "object", "properties": {"file": {"type": "string", "description": null}}, "required": ["file"]})
        );
        assert!(given(&json!({}), "x").is_err());
        assert!(given(&prompt, "'x").is_err());
        assert_eq!(usage(&prompt), "file=… [style=…]");
    }
}
