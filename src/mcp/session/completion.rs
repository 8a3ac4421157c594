//! What completes the name of a server's resource (`@SERVER:URI`) and the arguments of its prompts (`/SERVER:PROMPT key=value`), as the user types them.

use std::sync::Arc;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::SessionServers;
use super::prompts::{called, declared, given};
use super::server::{Resources, SessionServer};
use crate::base::problem::Outcome;
use crate::mcp::client::connection::{List, Wait};
use crate::mcp::client::listing;

/// How long a key may wait for a server.
const KEY_LIMIT: Duration = Duration::from_millis(300);
/// How long the resources of a server may take, of which keys get what is there by then.
const LIST_LIMIT: Duration = Duration::from_secs(30);
/// Values of one completion, as the protocol limits them.
const MAX_VALUES: usize = 100;

impl SessionServers {
    /// The server among those that are known by now before the colon of `SERVER:REST`, and the rest; the longest name that fits.
    fn known_named<'a>(&self, text: &'a str) -> Option<(&Arc<SessionServer>, &'a str)> {
        text.contains(':').then_some(())?;
        let fitting = self.known().iter().filter_map(|server| {
            let (len, rest) = server.named(text)?;
            Some((len, server, rest))
        });
        let (_, server, rest) = fitting.max_by_key(|(len, ..)| *len)?;
        Some((server, rest))
    }

    /// `SERVER:` for each server with resources whose name begins so.
    pub(crate) fn names_like(&self, typed: &str) -> Vec<String> {
        let typed = typed.to_lowercase();
        let has_resources = |server: &&Arc<SessionServer>| {
            (server.snapshot()).is_some_and(|snapshot| snapshot.has_resources)
        };
        let servers = self.known().iter().filter(has_resources);
        let names = servers.map(|server| format!("{}:", server.word()));
        names
            .filter(|name| !typed.is_empty() && name.to_lowercase().starts_with(&typed))
            .collect()
    }

    /// What completes `SERVER:URI`: the server's resources, the beginnings of its templates, and what it has for the variable of one. `None` where no server is
    /// named. Waits a moment for the server; what comes later is there for the next key.
    pub(crate) fn resources_like(self: &Arc<Self>, typed: &str) -> Option<Vec<String>> {
        let (server, rest) = self.known_named(typed)?;
        let resources = self.resources(server).unwrap_or_default();
        let mut found: Vec<String> = resources.uris.clone();
        for template in &resources.templates {
            let Some((before, after)) = template.split_once('{') else {
                continue;
            };
            let Some(value) = rest.strip_prefix(before) else {
                found.push(before.to_owned());
                continue;
            };
            found.extend(self.values_of_template(server, template, (before, after), value));
        }
        let mut all: Vec<String> = Vec::new();
        for uri in found {
            let name = format!("{}:{uri}", server.word());
            if name.to_lowercase().contains(&typed.to_lowercase()) && !all.contains(&name) {
                all.push(name);
            }
        }
        Some(all)
    }

    fn values_of_template(
        &self,
        server: &SessionServer,
        template: &str,
        (before, after): (&str, &str),
        value: &str,
    ) -> Vec<String> {
        // `{+path}`, `{path*}` and the like (RFC 6570) are the variable `path`.
        let (variable, after) = after.split_once('}').unwrap_or((after, ""));
        let variable = variable.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        let variable = variable.split([',', ':', '*']).next().unwrap_or_default();
        let after = after.split('{').next().unwrap_or_default();
        let reference = json!({"type": "ref/resource", "uri": template});
        let values = self.completed(server, &reference, (variable, value), &Map::new());
        let values = values.into_iter();
        values
            .map(|value| format!("{before}{value}{after}"))
            .collect()
    }

    /// The resources of a server, if they are there or come within a moment.
    fn resources(self: &Arc<Self>, server: &Arc<SessionServer>) -> Option<Arc<Resources>> {
        if let Some(known) = server.resources() {
            return Some(known);
        }
        if server.begins_listing() {
            let (servers, own) = (Arc::clone(self), Arc::clone(server));
            self.aside(move || {
                own.set_resources(servers.listed(&own).ok());
                servers.changed.notify_all();
            });
        }
        let until = Instant::now() + KEY_LIMIT;
        let mut work = self.work();
        loop {
            let known = server.resources();
            let left = until.saturating_duration_since(Instant::now());
            if known.is_some() || left.is_zero() {
                return known;
            }
            // The lists may have come between the look and the wait.
            let step = left.min(Duration::from_millis(20));
            work = self
                .changed
                .wait_timeout(work, step)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn listed(&self, server: &SessionServer) -> Outcome<Resources> {
        let connection = server.reachable()?;
        let until = Instant::now() + LIST_LIMIT;
        let texts = |list: List, key: &str| -> Outcome<Vec<String>> {
            let items = listing::all(&*connection, list, until, &self.stop)?.items;
            let text = |item: &Value| item.get(key)?.as_str().map(str::to_owned);
            Ok(items.iter().filter_map(text).collect())
        };
        Ok(Resources {
            uris: texts(List::Resources, "uri")?,
            // Some have resources and know no templates.
            templates: texts(List::Templates, "uriTemplate").unwrap_or_default(),
        })
    }

    /// What completes a word after `/SERVER:PROMPT` and what stands behind it in `line`: names of arguments that are not given yet, and values that the server
    /// has for them.
    pub(crate) fn prompt_words(&self, line: &str, typed: &str) -> Vec<String> {
        let after = line.trim_start().strip_prefix('/').unwrap_or_default();
        let (name, rest) = after.split_once(char::is_whitespace).unwrap_or((after, ""));
        let Some((server, prompt)) = self.known_named(name) else {
            return Vec::new();
        };
        let snapshot = server.snapshot().unwrap_or_default();
        let Some((prompt, found)) = called(&snapshot.prompts, prompt) else {
            return Vec::new();
        };
        let Ok(args) = given(found, rest) else {
            return Vec::new();
        };
        let reference = json!({"type": "ref/prompt", "name": prompt});
        let declared = declared(found);
        let named = typed.split_once('=');
        if let Some((key, value)) = named.filter(|(key, _)| declared.iter().any(|d| d.0 == *key)) {
            let values = self.completed(server, &reference, (key, value), &args);
            let quoted = values.iter().filter_map(|value| quoted(value));
            return quoted.map(|value| format!("{key}={value}")).collect();
        }
        let free = declared.iter().map(|(name, _)| *name);
        let free: Vec<&str> = free.filter(|name| !args.contains_key(*name)).collect();
        let mut words = match free.first() {
            Some(next) => self.completed(server, &reference, (next, typed), &args),
            None => return Vec::new(),
        };
        words = words.iter().filter_map(|value| quoted(value)).collect();
        words.extend(free.iter().map(|name| format!("{name}=")));
        words
    }

    /// Values that the server has for an argument; none where it is not connected, does not know that, or takes too long.
    fn completed(
        &self,
        server: &SessionServer,
        reference: &Value,
        argument: (&str, &str),
        others: &Map<String, Value>,
    ) -> Vec<String> {
        let Ok(connection) = server.reachable() else {
            return Vec::new();
        };
        if !connection.is_open() {
            self.connect_aside(server);
            return Vec::new();
        }
        let wait = Wait::new(KEY_LIMIT, &self.stop);
        let result = connection.complete(reference, argument, others, wait);
        let result = result.unwrap_or_default();
        let values = result
            .pointer("/completion/values")
            .and_then(Value::as_array);
        let values = values.into_iter().flatten().take(MAX_VALUES);
        values
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// Opens the connection, for the keys that come.
    fn connect_aside(&self, server: &SessionServer) {
        let (Ok(connection), Some(entry)) = (server.reachable(), server.entry()) else {
            return;
        };
        let (limit, stop) = (entry.limits.startup, self.stop.clone());
        self.aside(move || {
            // Whoever uses it next is told why it does not work.
            let _unknown = connection.open(Wait::new(limit, &stop));
        });
    }
}

/// A value as a word of the line; `None` where it cannot be one.
fn quoted(value: &str) -> Option<String> {
    let is_plain = !value.contains(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '\\'));
    match is_plain {
        true => Some(value.to_owned()),
        false if !value.contains(['\'', '\n']) => Some(format!("'{value}'")),
        false => None,
    }
}
