//! One server as it stands in a file: read when it is listed, expanded only when it is used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};

use super::entry::{HttpReach, Limits, Reach, ServerEntry};
use super::expand::{self, Variables};
use super::secrets;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::base::word_list::WordList;
use crate::formats::address::Address;
use crate::mcp::revision::{LEGACY, MODERN};

/// Largest file of variables in bytes.
const MAX_ENV_FILE: u64 = 1 << 20;
/// Programs that download what they run.
const DOWNLOADERS: WordList = WordList("npx uvx pipx bunx docker podman");
/// Keys by which other programs run tools without a question.
const CONSENT_KEYS: WordList = WordList("trust alwaysAllow autoApprove");
/// No limit is longer, in milliseconds.
const MAX_LIMIT: f64 = 86_400_000.0;

/// Whose file an entry stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    User,
    Project,
    /// The program that drives Marvin.
    Client,
}

impl Source {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Client => "client",
        }
    }
}

/// The ways to reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Stdio,
    Http,
    Sse,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// An entry of a file, or of the command line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfiguredServer {
    pub name: String,
    pub source: Source,
    pub entry: Value,
}

impl ConfiguredServer {
    /// SHA-256 of the entry, in hexadecimal.
    pub(crate) fn hash(&self) -> String {
        let hash = digest(&SHA256, self.entry.to_string().as_bytes());
        hash.as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Listed, but not started.
    pub(crate) fn is_disabled(&self) -> bool {
        let is =
            |key: &str, value: bool| self.entry.get(key).and_then(Value::as_bool) == Some(value);
        is("disabled", true) || is("enabled", false)
    }

    /// How it is reached.
    ///
    /// # Errors
    /// The entry does not say it.
    pub(crate) fn kind(&self) -> Outcome<Kind> {
        let fields = self.fields()?;
        match fields.text("type")? {
            Some("stdio") => Ok(Kind::Stdio),
            Some("http" | "streamable-http" | "streamableHttp") => Ok(Kind::Http),
            Some("sse") => Ok(Kind::Sse),
            Some(other) => Err(Problem::config(format!(
                "Its type \"{}\" is unknown.",
                one_line(&clip(other, 40))
            ))
            .next("Types are stdio, http and sse.")),
            None if fields.0.contains_key("command") => Ok(Kind::Stdio),
            None if fields.url()?.is_some() => Ok(Kind::Http),
            None => Err(Problem::config("It has neither a command nor a url.")
                .next("Give one of them, as in {\"command\": \"npx\", \"args\": [\"-y\", \"PACKAGE\"]} or {\"url\": \"https://HOST/mcp\"}.")),
        }
    }

    /// Its command line or address as it is written, on one line.
    pub(crate) fn target(&self) -> String {
        let text = |key: &str| self.entry.get(key).and_then(Value::as_str);
        let mut words: Vec<&str> = Vec::new();
        // An entry with both is reached as its type says, and the user agrees to what is reached.
        let is_web = matches!(self.kind(), Ok(Kind::Http | Kind::Sse));
        match text("command").filter(|_| !is_web) {
            Some(command) => {
                words.push(command);
                let args = self.entry.get("args").and_then(Value::as_array);
                words.extend(args.into_iter().flatten().filter_map(Value::as_str));
            }
            None => words.extend(text("url").or(text("httpUrl"))),
        }
        let quoted = words
            .iter()
            .map(|word| match word.contains([' ', '\t', '\n']) {
                true => format!("'{word}'"),
                false => (*word).to_owned(),
            });
        one_line(&quoted.collect::<Vec<_>>().join(" "))
    }

    /// The names of the variables that it is given, each once: those of the environment, and those that its `env` sets.
    pub(crate) fn variables(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect_names(&self.entry, &mut names);
        if matches!(self.kind(), Ok(Kind::Stdio)) {
            let set = self.entry.get("env").and_then(Value::as_object);
            for name in set.into_iter().flat_map(Map::keys) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    /// What a program is given beside its command line, as it is written: variables decide what a command line runs. Empty where there is nothing.
    pub(crate) fn given(&self) -> String {
        let is_program = matches!(self.kind(), Ok(Kind::Stdio));
        let text = |key: &str| {
            let text = self.entry.get(key).and_then(Value::as_str);
            text.filter(|_| is_program)
        };
        let mut gets = self.variables();
        gets.extend(text("envFile").map(|file| format!("the variables of {file}")));
        let gets = (!gets.is_empty()).then(|| format!("gets {}", gets.join(", ")));
        let at = text("cwd").map(|dir| format!("in {dir}"));
        let parts: Vec<String> = gets.into_iter().chain(at).collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!(" ({})", one_line(&parts.join("; "))),
        }
    }

    /// A key by which another program would run its tools without a question, which does not count here.
    pub(crate) fn ignored_consent(&self) -> Option<&'static str> {
        let is_set = |key: &&str| {
            self.entry.get(*key).is_some_and(|value| match value {
                Value::Null | Value::Bool(false) => false,
                Value::Array(items) => !items.is_empty(),
                _ => true,
            })
        };
        CONSENT_KEYS.iter().find(is_set)
    }

    fn fields(&self) -> Outcome<Fields<'_>> {
        self.entry
            .as_object()
            .map(Fields)
            .ok_or_else(|| Problem::config("Its entry is no object."))
    }

    /// Whether the entry can be understood, its variables apart.
    ///
    /// # Errors
    /// It cannot; the words say why.
    pub(crate) fn check(&self) -> Outcome<()> {
        let fields = self.fields()?;
        let needed = match self.kind()? {
            Kind::Stdio => fields.text("command")?,
            Kind::Http | Kind::Sse => fields.url()?,
        };
        if let (Kind::Http | Kind::Sse, Some(url)) = (self.kind()?, needed)
            && expand::names(url).next().is_none()
        {
            usable_url(url)?;
        }
        match needed.is_some_and(|needed| !needed.trim().is_empty()) {
            true => ["args", "tools", "includeTools", "excludeTools"]
                .iter()
                .try_for_each(|key| fields.list(key).map(drop)),
            false => Err(Problem::config("Its command or url is empty.")),
        }
    }

    /// The entry with its variables written out, and what was understood in another way than it may have been meant.
    ///
    /// # Errors
    /// The entry is wrong, or a variable is missing.
    pub(crate) fn resolve(&self, variables: Variables<'_>) -> Outcome<(ServerEntry, Vec<String>)> {
        let mut notices = Vec::new();
        let fields = self.fields()?;
        let reach = match self.kind()? {
            Kind::Stdio => fields.program(variables, &mut notices)?,
            Kind::Http => Reach::Http(fields.http(variables)?),
            Kind::Sse => Reach::Sse(fields.http(variables)?),
        };
        let startup = match &reach {
            Reach::Stdio { command, .. } if DOWNLOADERS.has(file_name(command)) => 60,
            _ => 30,
        };
        let mut limit = |key: &str, seconds: u64| fields.limit(key, seconds, &mut notices);
        let limits = Limits {
            startup: limit("startupTimeout", startup),
            call: limit("timeout", 60),
            total: limit("maxTotalTimeout", 600),
            idle: limit("idleTimeout", 600),
        };
        let protocol = fields.text("protocol")?;
        let is_known = |revision: &&str| {
            *revision == MODERN || LEGACY.iter().any(|legacy| legacy.name == *revision)
        };
        if let Some(unknown) = protocol.filter(|revision| !is_known(revision)) {
            return Err(Problem::config(format!(
                "Its protocol \"{}\" is no revision that Marvin knows.",
                one_line(&clip(unknown, 40))
            ))
            .next("Leave it out: which one a server speaks is found out."));
        }
        let mut included = fields.list("tools")?;
        included.extend(fields.list("includeTools")?);
        let entry = ServerEntry {
            name: self.name.clone(),
            hash: self.hash(),
            secrets: secrets::find(&self.entry, &reach, variables),
            reach,
            limits,
            protocol: protocol.map(str::to_owned),
            included,
            excluded: fields.list("excludeTools")?,
            is_always_loaded: fields.is_set("alwaysLoad"),
        };
        Ok((entry, notices))
    }
}

fn usable_url(url: &str) -> Outcome<()> {
    let wrong =
        |problem: Problem| Problem::config(format!("Its url cannot be used: {}", problem.what));
    Address::parse(url).map(drop).map_err(wrong)
}

fn file_name(command: &str) -> &str {
    let name = Path::new(command).file_name();
    name.and_then(|name| name.to_str()).unwrap_or_default()
}

fn collect_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for name in expand::names(text) {
                if !names.iter().any(|own| own == name) {
                    names.push(name.to_owned());
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Object(members) => members.values().for_each(|item| collect_names(item, names)),
        _ => {}
    }
}

/// What stands in an entry.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn is_set(&self, key: &str) -> bool {
        self.get(key) == Some(&Value::Bool(true))
    }

    fn text(&self, key: &str) -> Outcome<Option<&'a str>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::config(format!("Its {key} is no text."))),
        }
    }

    fn url(&self) -> Outcome<Option<&'a str>> {
        Ok(self.text("url")?.or(self.text("httpUrl")?))
    }

    fn list(&self, key: &str) -> Outcome<Vec<String>> {
        let wrong = || Problem::config(format!("Its {key} is no list of texts."));
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let items = items.iter().map(|item| plain(item).ok_or_else(wrong));
                items.collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    fn pairs(&self, key: &str, variables: Variables<'_>) -> Outcome<Vec<(String, String)>> {
        let wrong = || Problem::config(format!("Its {key} is no object of texts."));
        let Some(members) = self.get(key) else {
            return Ok(Vec::new());
        };
        let pair = |(name, value): (&String, &Value)| {
            let value = plain(value).ok_or_else(wrong)?;
            Ok((name.clone(), variables.expand(&value)?))
        };
        members
            .as_object()
            .ok_or_else(wrong)?
            .iter()
            .map(pair)
            .collect()
    }

    fn program(&self, variables: Variables<'_>, notices: &mut Vec<String>) -> Outcome<Reach> {
        let command = self
            .text("command")?
            .filter(|command| !command.trim().is_empty());
        let command = command.ok_or_else(|| Problem::config("It has no command."))?;
        let args = self.list("args")?;
        let whole = variables.expand(command)?;
        let is_file = || in_folder(&whole, variables.folder).exists();
        let has_blank = command.trim().contains([' ', '\t']);
        let mut words = match args.is_empty() && has_blank && !is_file() {
            true => {
                let words = (variables.split(command)?)
                    .ok_or_else(|| Problem::config("A quote in its command is not closed."))?;
                if words.len() > 1 {
                    notices.push(
                        "Its command is taken as a program with arguments; they belong into args."
                            .to_owned(),
                    );
                }
                words
            }
            false => vec![whole],
        };
        for arg in &args {
            words.push(variables.expand(arg)?);
        }
        let mut words = words.into_iter();
        let mut env = match self.text("envFile")? {
            Some(path) => env_file(&in_folder(&variables.expand(path)?, variables.folder))?,
            None => Vec::new(),
        };
        for (name, value) in self.pairs("env", variables)? {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(Problem::config(format!(
                    "Its env has the name \"{}\", which no variable can have, or a value with a null character.",
                    one_line(&clip(&name, 60))
                )));
            }
            env.retain(|(own, _)| *own != name);
            env.push((name, value));
        }
        let cwd = self
            .text("cwd")?
            .map(|cwd| variables.expand(cwd))
            .transpose()?;
        Ok(Reach::Stdio {
            command: words.next().unwrap_or_default(),
            args: words.collect(),
            env,
            cwd: cwd.map(|cwd| in_folder(&cwd, variables.folder)),
        })
    }

    fn http(&self, variables: Variables<'_>) -> Outcome<HttpReach> {
        let url = self
            .url()?
            .ok_or_else(|| Problem::config("It has no url."))?;
        let url = variables.expand(url)?;
        usable_url(&url)?;
        let headers = self.pairs("headers", variables)?;
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        for (name, value) in &headers {
            if name.is_empty()
                || !name.chars().all(is_token)
                || value.chars().any(|c| c.is_control() && c != '\t')
            {
                return Err(Problem::config(format!(
                    "Its header \"{}\" is no header of HTTP, or has a line break in its value.",
                    one_line(&clip(name, 60))
                )));
            }
        }
        let oauth = match self.get("oauth") {
            Some(oauth @ Value::Object(_)) => expanded(oauth, variables)?,
            Some(_) => return Err(Problem::config("Its oauth is no object.")),
            None => Value::Null,
        };
        Ok(HttpReach {
            url,
            headers,
            oauth,
        })
    }

    /// A limit in milliseconds; other programs write seconds, which are small numbers.
    fn limit(&self, key: &str, default: u64, notices: &mut Vec<String>) -> Duration {
        let Some(value) = self.get(key) else {
            return Duration::from_secs(default);
        };
        match value.as_f64() {
            Some(seconds) if seconds > 0.0 && seconds < 1_000.0 => {
                notices.push(format!(
                    "Its {key} of {value} is taken as seconds; in milliseconds it is {}.",
                    seconds * 1_000.0
                ));
                Duration::from_secs_f64(seconds)
            }
            Some(ms) if ms > 0.0 => Duration::from_secs_f64(ms.min(MAX_LIMIT) / 1_000.0),
            _ => {
                notices.push(format!(
                    "Its {key} is no number of milliseconds, so {default} seconds are used."
                ));
                Duration::from_secs(default)
            }
        }
    }
}

/// A text; a number or a truth value as it is written.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn expanded(value: &Value, variables: Variables<'_>) -> Outcome<Value> {
    Ok(match value {
        Value::String(text) => Value::from(variables.expand(text)?),
        Value::Array(items) => items
            .iter()
            .map(|item| expanded(item, variables))
            .collect::<Outcome<_>>()?,
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| Ok((key.clone(), expanded(value, variables)?));
            Value::Object(members.iter().map(member).collect::<Outcome<_>>()?)
        }
        other => other.clone(),
    })
}

/// A path as it is meant in a folder.
fn in_folder(path: &str, folder: Option<&Path>) -> PathBuf {
    folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path))
}

/// The variables of a file with a line `NAME=VALUE` for each.
fn env_file(path: &Path) -> Outcome<Vec<(String, String)>> {
    let text = open::text(path, MAX_ENV_FILE).map_err(|error| {
        Problem::system(format!("Cannot read its envFile {}", path.display()), error)
    })?;
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs = lines.filter_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let in_quotes = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = in_quotes('"').or_else(|| in_quotes('\'')).unwrap_or(value);
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    });
    Ok(pairs.collect())
}

#[cfg(test)]
mod tests;
