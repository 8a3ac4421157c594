//! Reads a schema: every keyword is checked before any value is.

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Number, Value};

use super::pattern;
use super::pointer::{below, fragment};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::base::word_list::WordList;

const MAX_SCHEMA_BYTES: usize = 256 * 1024;
/// Maximum nesting of a schema.
const MAX_DEPTH: usize = 64;
/// Maximum number of patterns: each is compiled.
const MAX_PATTERNS: usize = 500;
/// Maximum length of a chain of schemas that look at the same value.
const MAX_CHAIN: usize = 64;
/// How many properties a message names.
const MAX_SHOWN_PROPERTIES: usize = 10;

/// The types of JSON values, as schemas name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl JsonType {
    const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::String,
        Self::Array,
        Self::Object,
    ];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// The place of a [`Node`] in a schema.
pub(super) type NodeId = usize;

/// A schema or subschema.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The schema `false`: no value fits.
    pub is_never: bool,
    pub kinds: Option<Vec<JsonType>>,
    pub reference: Option<NodeId>,
    pub properties: HashMap<String, NodeId>,
    /// The first of them in the schema's order, for messages.
    pub shown_properties: Vec<String>,
    pub required: Vec<String>,
    pub other_properties: Option<NodeId>,
    pub prefix_items: Vec<NodeId>,
    pub items: Option<NodeId>,
    pub unique_items: bool,
    pub one_of: Option<Vec<NodeId>>,
    pub any_of: Option<Vec<NodeId>>,
    pub all_of: Vec<NodeId>,
    pub not: Option<NodeId>,
    pub values: Option<Vec<Value>>,
    pub constant: Option<Value>,
    pub bounds: Vec<Bound>,
    pub multiple_of: Option<Number>,
    pub pattern: Option<(String, Regex)>,
    /// How many values and names a value is compared with.
    pub weight: usize,
}

impl Node {
    /// The subschemas that look at the same value.
    fn alongside(&self) -> impl Iterator<Item = NodeId> {
        let lists = [&self.one_of, &self.any_of].into_iter().flatten().flatten();
        let all = lists.chain(&self.all_of).copied();
        all.chain(self.reference).chain(self.not)
    }
}

/// A limit of a size or a number.
#[derive(Debug)]
pub(super) enum Bound {
    Length(Limit, u64),
    Items(Limit, u64),
    Properties(Limit, u64),
    Number(Limit, Number),
    /// A number that lies beyond this one.
    Exclusive(Limit, Number),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Least,
    Most,
}

/// A JSON Schema that values can be checked against.
#[derive(Debug)]
pub struct Schema {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
}

/// Beginnings of the addresses of the published drafts. Earlier ones are read as the latest: what they call differently is refused.
const DRAFTS: [&str; 2] = ["https://json-schema.org/draft", "http://json-schema.org/"];

/// Keywords that restrict and are not known here.
const UNSUPPORTED: WordList = WordList(
    "$dynamicRef $recursiveRef additionalItems contains dependencies dependentRequired \
     dependentSchemas else extends disallow if maxContains minContains patternProperties \
     propertyNames then unevaluatedItems unevaluatedProperties",
);

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// It is none, is too large, or has a keyword that cannot be checked; the place is named.
    pub fn parse(text: &str) -> Outcome<Self> {
        if text.len() > MAX_SCHEMA_BYTES {
            return Err(Problem::limit(format!(
                "The JSON schema is larger than {} KiB.",
                MAX_SCHEMA_BYTES / 1024
            )));
        }
        let document: Value = serde_json::from_str(text).map_err(|error| {
            Problem::input(format!("The JSON schema is not JSON: {error}."))
                .next("Give an object such as {\"type\":\"object\",\"properties\":{…}}.")
        })?;
        if nesting(&document) > MAX_DEPTH {
            return Err(Problem::limit(format!(
                "The JSON schema is nested more than {MAX_DEPTH} deep."
            )));
        }
        let mut reader = Reader {
            document: &document,
            nodes: Vec::new(),
            known: HashMap::new(),
            anchors: HashMap::new(),
            references: Vec::new(),
            patterns: 0,
        };
        let root = reader.schema("", &document)?;
        reader.resolve()?;
        let schema = Self {
            nodes: reader.nodes,
            root,
        };
        let places: HashMap<NodeId, String> = reader
            .known
            .into_iter()
            .map(|(place, node)| (node, place))
            .collect();
        schema.refuse_loops(&places)?;
        Ok(schema)
    }

    /// True when only objects fit.
    pub fn is_about_objects(&self) -> bool {
        let root = self.nodes.get(self.root);
        root.is_some_and(|root| root.kinds.as_deref() == Some(&[JsonType::Object]))
    }

    /// Refuses references that lead back without looking at a part of the value, and chains that are too long to follow.
    fn refuse_loops(&self, places: &HashMap<NodeId, String>) -> Outcome<()> {
        // How long the chain below a node is; none while the node is being followed.
        let mut lengths: HashMap<NodeId, Option<usize>> = HashMap::new();
        for start in 0..self.nodes.len() {
            let mut open: Vec<(NodeId, bool)> = vec![(start, false)];
            while let Some((id, is_done)) = open.pop() {
                let Some(node) = self.nodes.get(id) else {
                    continue;
                };
                let place = || places.get(&id).map_or("", String::as_str);
                if is_done {
                    let below = node
                        .alongside()
                        .filter_map(|next| lengths.get(&next).copied().flatten());
                    let length = below.max().unwrap_or_default() + 1;
                    if length > MAX_CHAIN {
                        return Err(wrong(
                            place(),
                            &format!("more than {MAX_CHAIN} references in a row start here"),
                        ));
                    }
                    lengths.insert(id, Some(length));
                    continue;
                }
                match lengths.get(&id) {
                    Some(Some(_)) => continue,
                    Some(None) => {
                        return Err(wrong(place(), "the references lead in a circle"));
                    }
                    None => {}
                }
                lengths.insert(id, None);
                open.push((id, true));
                open.extend(node.alongside().map(|next| (next, false)));
            }
        }
        Ok(())
    }
}

/// The error about a place in the schema.
fn wrong(place: &str, words: &str) -> Problem {
    let place = match place {
        "" => "its top".to_owned(),
        place => clip(&escape_controls(place), 200),
    };
    Problem::input(format!(
        "The JSON schema cannot be used, at {place}: {words}."
    ))
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or_default(),
        Value::Object(map) => 1 + map.values().map(nesting).max().unwrap_or_default(),
        _ => 1,
    }
}

struct Reader<'a> {
    document: &'a Value,
    nodes: Vec<Node>,
    /// The node of each place.
    known: HashMap<String, NodeId>,
    anchors: HashMap<String, NodeId>,
    /// References to follow: the node, its place, and what it refers to.
    references: Vec<(NodeId, String, String)>,
    patterns: usize,
}

impl Reader<'_> {
    fn schema(&mut self, place: &str, value: &Value) -> Outcome<NodeId> {
        if let Some(known) = self.known.get(place) {
            return Ok(*known);
        }
        let id = self.nodes.len();
        self.nodes.push(Node::default());
        self.known.insert(place.to_owned(), id);
        let mut node = Node::default();
        match value {
            Value::Bool(fits) => node.is_never = !fits,
            Value::Object(map) => {
                for (keyword, value) in map {
                    self.keyword(id, &mut node, place, keyword, value)?;
                }
            }
            _ => return Err(wrong(place, "a schema is an object, true or false")),
        }
        if let Some(slot) = self.nodes.get_mut(id) {
            *slot = node;
        }
        Ok(id)
    }

    fn keyword(
        &mut self,
        id: NodeId,
        node: &mut Node,
        place: &str,
        keyword: &str,
        value: &Value,
    ) -> Outcome<()> {
        let at = below(place, keyword);
        let fail = |words: &str| Err(wrong(&at, words));
        match keyword {
            "type" => node.kinds = Some(kinds(&at, value)?),
            "properties" => {
                let properties = self.named_schemas(&at, value)?;
                let names = properties.iter().take(MAX_SHOWN_PROPERTIES);
                node.shown_properties = names.map(|(name, _)| name.clone()).collect();
                node.properties = properties.into_iter().collect();
            }
            "$defs" | "definitions" => drop(self.named_schemas(&at, value)?),
            "required" => {
                node.required = texts(&at, value)?;
                node.weight += node.required.len();
            }
            "additionalProperties" => node.other_properties = Some(self.schema(&at, value)?),
            "items" if value.is_array() => {
                return fail("a list of schemas is called prefixItems in draft 2020-12");
            }
            "items" => node.items = Some(self.schema(&at, value)?),
            "prefixItems" => node.prefix_items = self.schemas(&at, value)?,
            "allOf" => node.all_of = self.schemas(&at, value)?,
            "anyOf" => node.any_of = Some(self.schemas(&at, value)?),
            "oneOf" => node.one_of = Some(self.schemas(&at, value)?),
            "not" => node.not = Some(self.schema(&at, value)?),
            "enum" => match value {
                Value::Array(values) => {
                    node.weight += size(value);
                    node.values = Some(values.clone());
                }
                _ => return fail("expected a list of values"),
            },
            "const" => {
                node.weight += size(value);
                node.constant = Some(value.clone());
            }
            "uniqueItems" => match value {
                Value::Bool(unique) => node.unique_items = *unique,
                _ => return fail("expected true or false"),
            },
            "minLength" => node
                .bounds
                .push(Bound::Length(Limit::Least, count(&at, value)?)),
            "maxLength" => node
                .bounds
                .push(Bound::Length(Limit::Most, count(&at, value)?)),
            "minItems" => node
                .bounds
                .push(Bound::Items(Limit::Least, count(&at, value)?)),
            "maxItems" => node
                .bounds
                .push(Bound::Items(Limit::Most, count(&at, value)?)),
            "minProperties" => {
                node.bounds
                    .push(Bound::Properties(Limit::Least, count(&at, value)?));
            }
            "maxProperties" => {
                node.bounds
                    .push(Bound::Properties(Limit::Most, count(&at, value)?));
            }
            "minimum" => node
                .bounds
                .push(Bound::Number(Limit::Least, number(&at, value)?)),
            "maximum" => node
                .bounds
                .push(Bound::Number(Limit::Most, number(&at, value)?)),
            "exclusiveMinimum" => {
                node.bounds
                    .push(Bound::Exclusive(Limit::Least, number(&at, value)?));
            }
            "exclusiveMaximum" => {
                node.bounds
                    .push(Bound::Exclusive(Limit::Most, number(&at, value)?));
            }
            "multipleOf" => {
                let step = number(&at, value)?;
                if step.as_f64().is_none_or(|step| step <= 0.0) {
                    return fail("expected a number above 0");
                }
                node.multiple_of = Some(step);
            }
            "pattern" => {
                let Value::String(pattern) = value else {
                    return fail("expected a regular expression");
                };
                self.patterns += 1;
                if self.patterns > MAX_PATTERNS {
                    return fail(&format!("there are more than {MAX_PATTERNS} patterns"));
                }
                let compiled = pattern::compile(pattern).map_err(|reason| {
                    let reason = clip(&escape_controls(&reason), 300);
                    wrong(&at, &format!("the pattern cannot be used: {reason}"))
                })?;
                node.pattern = Some((pattern.clone(), compiled));
            }
            "$ref" => match value {
                Value::String(target) => {
                    self.references.push((id, at, target.clone()));
                }
                _ => return fail("expected a reference"),
            },
            "$anchor" | "$dynamicAnchor" => match value {
                Value::String(name) if self.anchors.contains_key(name) => {
                    return fail("there is another anchor of this name");
                }
                Value::String(name) => {
                    self.anchors.insert(name.clone(), id);
                }
                _ => return fail("expected a name"),
            },
            "$schema" => match value.as_str() {
                Some(draft) if DRAFTS.iter().any(|start| draft.starts_with(start)) => {}
                _ => return fail("only the drafts of json-schema.org are known"),
            },
            "$id" if !place.is_empty() => {
                return fail("only the whole schema can have an $id");
            }
            _ if UNSUPPORTED.has(keyword) => {
                return fail("this keyword restricts values and is not supported");
            }
            // Annotations, and keywords of other vocabularies.
            _ => {}
        }
        Ok(())
    }

    fn schemas(&mut self, at: &str, value: &Value) -> Outcome<Vec<NodeId>> {
        match value {
            Value::Array(values) if !values.is_empty() => values
                .iter()
                .enumerate()
                .map(|(i, value)| self.schema(&below(at, &i.to_string()), value))
                .collect(),
            _ => Err(wrong(at, "expected a list of schemas")),
        }
    }

    fn named_schemas(&mut self, at: &str, value: &Value) -> Outcome<Vec<(String, NodeId)>> {
        match value {
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| Ok((name.clone(), self.schema(&below(at, name), value)?)))
                .collect(),
            _ => Err(wrong(at, "expected an object with schemas")),
        }
    }

    /// Finds what the references mean; what they lead to may have further ones.
    fn resolve(&mut self) -> Outcome<()> {
        while let Some((id, at, target)) = self.references.pop() {
            let shown = || clip(&escape_controls(&target), 100);
            let missing = || wrong(&at, &format!("there is nothing at \"{}\"", shown()));
            let own = self.document.get("$id").and_then(Value::as_str);
            let own = own.map(|own| own.split('#').next().unwrap_or_default());
            let (document, inside) = target.split_once('#').unwrap_or((&target, ""));
            if !document.is_empty() && Some(document) != own {
                return Err(wrong(
                    &at,
                    &format!(
                        "\"{}\" lies outside of the schema, where nothing is read",
                        shown()
                    ),
                ));
            }
            let inside = fragment(inside).ok_or_else(missing)?;
            let found = if inside.is_empty() || inside.starts_with('/') {
                let document = self.document;
                let value = document.pointer(&inside).ok_or_else(missing)?;
                // The same place may be written in several ways.
                let place = inside
                    .split('/')
                    .skip(1)
                    .fold(String::new(), |place, part| {
                        below(&place, &part.replace("~1", "/").replace("~0", "~"))
                    });
                self.schema(&place, value)?
            } else {
                *self.anchors.get(&inside).ok_or_else(missing)?
            };
            if let Some(node) = self.nodes.get_mut(id) {
                node.reference = Some(found);
            }
        }
        Ok(())
    }
}

fn kinds(at: &str, value: &Value) -> Outcome<Vec<JsonType>> {
    let kind = |value: &Value| {
        let found = JsonType::ALL.into_iter().find(|kind| value == kind.word());
        found.ok_or_else(|| {
            let words = JsonType::ALL.map(JsonType::word).join(", ");
            wrong(at, &format!("expected one of {words}"))
        })
    };
    match value {
        Value::Array(values) if !values.is_empty() => values.iter().map(kind).collect(),
        value => Ok(vec![kind(value)?]),
    }
}

fn texts(at: &str, value: &Value) -> Outcome<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let texts = value
        .as_array()
        .and_then(|values| values.iter().map(text).collect());
    texts.ok_or_else(|| wrong(at, "expected a list of names"))
}

/// A number of things: 2 and 2.0 are the same.
fn count(at: &str, value: &Value) -> Outcome<u64> {
    let float = || {
        let number = value
            .as_f64()
            .filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
        Some(number as u64)
    };
    let count = value.as_u64().or_else(float);
    count.ok_or_else(|| wrong(at, "expected a whole number of 0 or more"))
}

fn number(at: &str, value: &Value) -> Outcome<Number> {
    match value {
        Value::Number(number) => Ok(number.clone()),
        _ => Err(wrong(at, "expected a number")),
    }
}
