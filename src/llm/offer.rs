//! The tools of a request.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// The tools of a request. Rendering has no state, so all requests with the same tools have the same bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offer {
    /// Those that the model may call, in published order. What was found is at the end, in the order in which it was found.
    pub tools: Vec<Offered>,
    /// Those that wait until a search finds them, in an order of their own that no search changes: the found ones stay among them.
    pub waiting: Arc<[Offered]>,
    /// How many a request may have.
    most: usize,
}

/// What a wire writes around the parts of a tool, at most.
const ENVELOPE_BYTES: usize = 74;

impl Offer {
    pub(crate) fn new(tools: Vec<Offered>) -> Self {
        Self {
            most: tools.len(),
            tools,
            waiting: Arc::default(),
        }
    }

    /// No tools.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// The same with tools that wait; a request may have `most`.
    pub(crate) fn with_waiting(mut self, waiting: Arc<[Offered]>, most: usize) -> Self {
        self.waiting = waiting;
        self.most = most;
        self
    }

    /// About how many bytes the tools take in a request: a little more than any wire writes.
    pub(crate) fn bytes(&self) -> usize {
        self.tools.iter().map(Offered::bytes).sum()
    }

    /// About how many tokens they take.
    pub(crate) fn tokens(&self) -> usize {
        self.bytes() / 4
    }

    /// Appends the waiting tool `name`, unless it was found before or there is no room for it.
    pub(crate) fn append(&mut self, name: &str) {
        let is_there = has(&self.tools, name);
        if let Some(tool) = self
            .waiting
            .iter()
            .find(|tool| !is_there && tool.name == name)
            && self.tools.len() < self.most
        {
            self.tools.push(tool.clone());
        }
    }

    /// Takes a tool out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.tools.retain(|tool| tool.name != name);
        if has(&self.waiting, name) {
            let left = self.waiting.iter().filter(|tool| tool.name != name);
            self.waiting = left.cloned().collect();
        }
    }

    /// The tools that were found.
    pub(crate) fn found(&self) -> impl Iterator<Item = &Offered> {
        let is_found = |tool: &&Offered| has(&self.waiting, &tool.name);
        self.tools.iter().filter(is_found)
    }

    /// Forgets what was found.
    pub(crate) fn forget_found(&mut self) {
        let waiting = &self.waiting;
        self.tools.retain(|tool| !has(waiting, &tool.name));
    }

    /// This offer in a conversation whose last request had `before`. What was sent stays as it was and where it was, because providers cache it; what is
    /// offered beside it now is appended, and what there is no more is left out.
    #[must_use]
    pub(crate) fn following(self, before: &Self) -> Self {
        if self.waiting.is_empty() {
            return self;
        }
        let there_is =
            |tool: &&Offered| has(&self.tools, &tool.name) || has(&self.waiting, &tool.name);
        let mut tools: Vec<Offered> = before.tools.iter().filter(there_is).cloned().collect();
        // What was sent openly was found by no search: it cannot begin to wait.
        let was_direct =
            |tool: &Offered| has(&before.tools, &tool.name) && !has(&before.waiting, &tool.name);
        let own_waiting = match self.waiting.iter().any(was_direct) {
            false => self.waiting,
            true => {
                let waiting = self.waiting.iter().filter(|tool| !was_direct(tool));
                waiting.cloned().collect()
            }
        };
        for tool in self.tools {
            if !has(&tools, &tool.name) {
                tools.push(tool);
            }
        }
        let sent = |tool: &Offered| tools.iter().find(|sent| sent.name == tool.name);
        let is_other = |tool: &Offered| sent(tool).is_some_and(|sent| !sent.is_same_as(tool));
        let waiting = match own_waiting.iter().any(is_other) {
            false => own_waiting,
            true => (own_waiting.iter())
                .map(|tool| sent(tool).unwrap_or(tool).clone())
                .collect(),
        };
        Self {
            tools,
            waiting,
            most: self.most,
        }
    }
}

fn has(tools: &[Offered], name: &str) -> bool {
    tools.iter().any(|tool| tool.name == name)
}

/// One tool as the model sees it.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    /// Name that the provider accepts (`[A-Za-z0-9_-]`, at most 64 characters).
    pub name: Cow<'static, str>,
    /// One sentence, as a JSON string.
    pub about_json: Cow<'static, str>,
    /// JSON Schema of its parameters: an object.
    pub params_json: Cow<'static, str>,
    /// Phrases that call it without a model.
    pub phrases: Phrases,
}

impl Offered {
    /// About how many bytes it takes in a request.
    pub(crate) fn bytes(&self) -> usize {
        self.name.len() + self.about_json.len() + self.params_json.len() + ENVELOPE_BYTES
    }

    /// Whether a request has the same bytes for both.
    fn is_same_as(&self, other: &Self) -> bool {
        self.about_json == other.about_json && self.params_json == other.params_json
    }
}

/// Phrases that call a tool without a model.
#[derive(Debug, Clone)]
pub(crate) enum Phrases {
    /// Of a built-in tool.
    BuiltIn(&'static [&'static str]),
    /// Of a tool registered at run time.
    Owned(Arc<[String]>),
}

impl Phrases {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let (built_in, owned): (&[&str], &[String]) = match self {
            Self::BuiltIn(phrases) => (phrases, &[]),
            Self::Owned(phrases) => (&[], phrases),
        };
        built_in
            .iter()
            .copied()
            .chain(owned.iter().map(String::as_str))
    }
}

/// A schema received at run time in the form that every provider accepts: an object with properties, without `$schema` and `$id`.
pub(crate) fn object_schema(schema: Value) -> Box<RawValue> {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    for name in ["$schema", "$id"] {
        schema.shift_remove(name);
    }
    schema
        .entry("type")
        .or_insert_with(|| Value::from("object"));
    schema
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    to_raw_value(&schema).unwrap_or_default()
}
