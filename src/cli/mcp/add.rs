//! `marvin mcp add`: a server for the user's file, or the project's.

use serde_json::{Map, Value, json};

use super::{target, unknown_flag, usage};
use crate::app::settings::Settings;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::cli::out::print;
use crate::mcp::config::configured::{ConfiguredServer, Source};
use crate::mcp::config::edit;

const FLAGS: [&str; 5] = ["--env", "--header", "--project", "--url", "--sse"];

/// `marvin mcp add NAME …`.
pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let add = AddArgs::read(words)?;
    let name = add.name.clone();
    let is_of_project = add.is_of_project;
    let entry = add.entry()?;
    let server = ConfiguredServer {
        name,
        source: Source::User,
        entry,
    };
    server.check()?;
    let file = target::file(is_of_project, &settings)?;
    edit::add(&file, &server.name, &server.entry)?;
    let (name, path) = (one_line(&server.name), file.path.display());
    let mut said = format!("Added {name} to {path}.\n");
    if is_of_project {
        said.push_str("It is used once you agreed to it in a conversation in this project.\n");
    }
    print(&said)?;
    Ok(0)
}

/// The words after `add`.
#[derive(Default)]
struct AddArgs {
    name: String,
    env: Map<String, Value>,
    headers: Map<String, Value>,
    is_of_project: bool,
    url: Option<String>,
    is_sse: bool,
    command: Vec<String>,
}

impl AddArgs {
    fn read(words: &[String]) -> Outcome<Self> {
        let mut add = Self::default();
        let mut has_name = false;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (flag, value) = match word.split_once('=').filter(|_| word.starts_with("--")) {
                Some((flag, value)) => (flag, Some(value)),
                None => (word.as_str(), None),
            };
            let mut value = || {
                let value = value.or_else(|| words.next().map(String::as_str));
                value.ok_or_else(|| usage("add", &format!("{flag} needs a value.")))
            };
            match flag {
                "--env" => add.env.extend([pair(flag, value()?, '=')?]),
                "--header" => add.headers.extend([pair(flag, value()?, ':')?]),
                "--url" => add.url = Some(value()?.to_owned()),
                "--project" => add.is_of_project = true,
                "--sse" => add.is_sse = true,
                "--" => {
                    add.command.extend(words.by_ref().cloned());
                }
                flag if flag.starts_with("--") => return Err(unknown_flag("add", flag, &FLAGS)),
                name if !has_name => {
                    name.clone_into(&mut add.name);
                    has_name = true;
                }
                // From the command on everything is its own, flags too.
                command => {
                    add.command.push(command.to_owned());
                    add.command.extend(words.by_ref().cloned());
                }
            }
        }
        if add.name.trim().is_empty() {
            return Err(usage("add", "The server needs a name."));
        }
        Ok(add)
    }

    /// What is written under the name.
    fn entry(self) -> Outcome<Value> {
        let mut entry = Map::new();
        let mut command = self.command.into_iter();
        match (command.next(), self.url) {
            (Some(_), Some(_)) => {
                return Err(usage(
                    "add",
                    "A server is a command or an address, not both.",
                ));
            }
            (None, None) => return Err(usage("add", "A command or --url is missing.")),
            (Some(_), None) if self.is_sse || !self.headers.is_empty() => {
                return Err(usage("add", "--sse and --header are for addresses."));
            }
            (None, Some(_)) if !self.env.is_empty() => {
                return Err(usage("add", "--env is for commands."));
            }
            (Some(program), None) => {
                entry.insert("command".to_owned(), Value::from(program));
                let args: Vec<String> = command.collect();
                if !args.is_empty() {
                    entry.insert("args".to_owned(), json!(args));
                }
                if !self.env.is_empty() {
                    entry.insert("env".to_owned(), Value::Object(self.env));
                }
            }
            (None, Some(url)) => {
                let kind = match self.is_sse {
                    true => "sse",
                    false => "http",
                };
                entry.insert("type".to_owned(), Value::from(kind));
                entry.insert("url".to_owned(), Value::from(url));
                if !self.headers.is_empty() {
                    entry.insert("headers".to_owned(), Value::Object(self.headers));
                }
            }
        }
        Ok(Value::Object(entry))
    }
}

fn pair(flag: &str, text: &str, separator: char) -> Outcome<(String, Value)> {
    let (name, value) = text.split_once(separator).ok_or_else(|| {
        Problem::input(format!(
            "{flag} needs NAME{separator}VALUE, not \"{}\".",
            one_line(&clip(text, 60))
        ))
    })?;
    let value = match separator {
        ':' => value.trim(),
        _ => value,
    };
    Ok((name.trim().to_owned(), Value::from(value)))
}
