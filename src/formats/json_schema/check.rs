//! Compares a value with a schema, and says where and why it does not fit.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::number::{canonical, compare, is_integer, is_multiple};
use super::pointer::below;
use super::schema::{Bound, JsonType, Limit, Node, NodeId, Schema};
use crate::base::text::{clip, plural};

/// The most places that are told.
const MAX_MISFITS: usize = 5;
/// The most comparisons of one value with one subschema: a schema can be written so that there are more than anybody waits for.
const MAX_STEPS: usize = 5_000_000;
/// The deepest nesting of comparisons, which is one of calls.
const MAX_DEPTH: usize = 1_000;

/// A place at which a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// A JSON pointer into the value.
    pub place: String,
    /// What was expected there, and what is there.
    pub words: String,
}

impl Schema {
    /// The first places at which `value` does not fit; none when it fits.
    pub fn check(&self, value: &Value) -> Vec<Misfit> {
        let mut checker = Checker {
            schema: self,
            verdicts: HashMap::new(),
            told: HashSet::new(),
            steps: 0,
            excess: None,
        };
        let mut misfits = Misfits {
            found: Vec::new(),
            most: MAX_MISFITS,
        };
        checker.tell(self.root, value, "", 0, &mut misfits);
        if let Some(words) = checker.excess {
            misfits.found.clear();
            misfits.add("", words.to_owned());
        }
        misfits.found
    }
}

struct Misfits {
    found: Vec<Misfit>,
    most: usize,
}

impl Misfits {
    fn add(&mut self, place: &str, words: String) {
        if !self.is_full() {
            self.found.push(Misfit {
                place: place.to_owned(),
                words,
            });
        }
    }

    fn is_full(&self) -> bool {
        self.found.len() >= self.most
    }
}

struct Checker<'a> {
    schema: &'a Schema,
    /// Whether a value, by its address, fits what a reference leads to: without this a few references take exponential time.
    verdicts: HashMap<(NodeId, usize), bool>,
    /// What was told about already.
    told: HashSet<(NodeId, usize)>,
    steps: usize,
    /// Why the comparison was given up.
    excess: Option<&'static str>,
}

/// Identifies a value while the whole is borrowed.
fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'a> Checker<'a> {
    fn node(&self, id: NodeId) -> Option<&'a Node> {
        self.schema.nodes.get(id)
    }

    /// Counts a step; false when there were too many.
    fn step(&mut self, id: NodeId, depth: usize) -> bool {
        self.steps += 1 + self.node(id).map_or(0, |node| node.weight);
        if self.steps > MAX_STEPS {
            self.excess = Some("the value and the schema are too large to be compared");
        } else if depth > MAX_DEPTH {
            self.excess = Some("the value is nested too deeply to be compared");
        }
        self.excess.is_none()
    }

    fn fits(&mut self, id: NodeId, value: &Value, depth: usize) -> bool {
        if !self.step(id, depth) {
            return false;
        }
        let Some(node) = self.node(id) else {
            return true;
        };
        if own_misfit(node, value).is_some() {
            return false;
        }
        let depth = depth + 1;
        if let Some(target) = node.reference
            && !self.fits_reference(target, value, depth)
        {
            return false;
        }
        if !node.all_of.iter().all(|id| self.fits(*id, value, depth)) {
            return false;
        }
        if let Some(any) = &node.any_of
            && !any.iter().any(|id| self.fits(*id, value, depth))
        {
            return false;
        }
        if let Some(one) = &node.one_of
            && self.count_fitting(one, value, depth) != 1
        {
            return false;
        }
        if let Some(not) = node.not
            && self.fits(not, value, depth)
        {
            return false;
        }
        match value {
            Value::Object(map) => map.iter().all(|(name, value)| {
                let schema = property(node, name);
                schema.is_none_or(|id| self.fits(id, value, depth))
            }),
            Value::Array(items) => items.iter().enumerate().all(|(i, value)| {
                let schema = node.prefix_items.get(i).copied().or(node.items);
                schema.is_none_or(|id| self.fits(id, value, depth))
            }),
            _ => true,
        }
    }

    fn fits_reference(&mut self, target: NodeId, value: &Value, depth: usize) -> bool {
        let key = (target, address(value));
        if let Some(verdict) = self.verdicts.get(&key) {
            return *verdict;
        }
        let verdict = self.fits(target, value, depth);
        self.verdicts.insert(key, verdict);
        verdict
    }

    /// How many of these the value fits: two are as many as it takes.
    fn count_fitting(&mut self, ids: &[NodeId], value: &Value, depth: usize) -> usize {
        let fitting = ids.iter().filter(|id| self.fits(**id, value, depth));
        fitting.take(2).count()
    }

    /// Adds the places at which the value does not fit.
    fn tell(
        &mut self,
        id: NodeId,
        value: &Value,
        place: &str,
        depth: usize,
        misfits: &mut Misfits,
    ) {
        if misfits.is_full() || !self.step(id, depth) {
            return;
        }
        let Some(node) = self.node(id) else {
            return;
        };
        if let Some(words) = own_misfit(node, value) {
            misfits.add(place, words);
        }
        let depth = depth + 1;
        if let Some(target) = node.reference
            && !self.fits_reference(target, value, depth)
            && self.told.insert((target, address(value)))
        {
            self.tell(target, value, place, depth, misfits);
        }
        for id in &node.all_of {
            self.tell(*id, value, place, depth, misfits);
        }
        if let Some(any) = &node.any_of
            && !any.iter().any(|id| self.fits(*id, value, depth))
        {
            self.tell_alternatives(any, value, place, depth, misfits);
        }
        if let Some(one) = &node.one_of {
            match self.count_fitting(one, value, depth) {
                0 => self.tell_alternatives(one, value, place, depth, misfits),
                1 => {}
                _ => misfits.add(
                    place,
                    "expected to fit exactly one of the alternatives, fits several".to_owned(),
                ),
            }
        }
        if let Some(not) = node.not
            && self.fits(not, value, depth)
        {
            misfits.add(place, format!("{} is excluded by \"not\"", shown(value)));
        }
        self.tell_parts(node, value, place, depth, misfits);
    }

    fn tell_parts(
        &mut self,
        node: &Node,
        value: &Value,
        place: &str,
        depth: usize,
        misfits: &mut Misfits,
    ) {
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    if misfits.is_full() {
                        break;
                    }
                    let Some(id) = property(node, name) else {
                        continue;
                    };
                    let is_known = node.properties.contains_key(name);
                    let is_closed = self.node(id).is_some_and(|node| node.is_never);
                    let place = below(place, name);
                    if !is_known && is_closed {
                        misfits.add(&place, unknown_property(node));
                    } else {
                        self.tell(id, value, &place, depth, misfits);
                    }
                }
            }
            Value::Array(items) => {
                for (i, value) in items.iter().enumerate() {
                    if misfits.is_full() {
                        break;
                    }
                    if let Some(id) = node.prefix_items.get(i).copied().or(node.items) {
                        self.tell(id, value, &below(place, &i.to_string()), depth, misfits);
                    }
                }
            }
            _ => {}
        }
    }

    /// Says that none of the alternatives fits, and what is wrong with the one that is of the value's type.
    fn tell_alternatives(
        &mut self,
        ids: &[NodeId],
        value: &Value,
        place: &str,
        depth: usize,
        misfits: &mut Misfits,
    ) {
        let mut kinds: Vec<JsonType> = Vec::new();
        let mut nearest = None;
        for id in ids {
            let Some(node) = self.resolved(*id) else {
                continue;
            };
            match &node.kinds {
                Some(own) if own.iter().any(|kind| is_kind(value, *kind)) => {
                    nearest = nearest.or(Some(*id));
                }
                Some(own) => kinds.extend(own),
                None => nearest = nearest.or(Some(*id)),
            }
        }
        let Some(nearest) = nearest else {
            kinds.dedup();
            misfits.add(place, expected_kinds(&kinds, value));
            return;
        };
        let mut inner = Misfits {
            found: Vec::new(),
            most: 1,
        };
        self.tell(nearest, value, place, depth, &mut inner);
        let count = plural(ids.len(), "alternative");
        match inner.found.pop() {
            Some(Misfit { place: at, words }) if at == place => {
                misfits.add(place, format!("fits none of {count}: {words}"));
            }
            Some(Misfit { place: at, words }) => misfits.add(
                &at,
                format!("{words} (in the nearest of {count} of its whole)"),
            ),
            None => misfits.add(place, format!("fits none of {count}")),
        }
    }

    /// A node, or what it refers to when it does nothing else.
    fn resolved(&self, id: NodeId) -> Option<&'a Node> {
        let node = self.node(id)?;
        match node.reference {
            Some(target) if node.kinds.is_none() => self.node(target),
            _ => Some(node),
        }
    }
}

fn property(node: &Node, name: &str) -> Option<NodeId> {
    node.properties.get(name).copied().or(node.other_properties)
}

/// What is wrong with a value apart from its parts and other schemas.
fn own_misfit(node: &Node, value: &Value) -> Option<String> {
    if node.is_never {
        return Some("no value is allowed here".to_owned());
    }
    if let Some(kinds) = &node.kinds
        && !kinds.iter().any(|kind| is_kind(value, *kind))
    {
        return Some(expected_kinds(kinds, value));
    }
    if let Some(constant) = &node.constant
        && !is_equal(constant, value)
    {
        return Some(format!(
            "expected {}, got {}",
            shown(constant),
            shown(value)
        ));
    }
    if let Some(values) = &node.values
        && !values.iter().any(|allowed| is_equal(allowed, value))
    {
        let allowed: Vec<String> = values.iter().take(10).map(shown).collect();
        let more = if values.len() > 10 { ", …" } else { "" };
        let allowed = allowed.join(", ");
        return Some(format!(
            "expected one of {allowed}{more}, got {}",
            shown(value)
        ));
    }
    for bound in &node.bounds {
        if let Some(words) = beyond(bound, value) {
            return Some(words);
        }
    }
    match value {
        Value::Number(number) => {
            let step = node.multiple_of.as_ref()?;
            let fits = is_multiple(number, step);
            (!fits).then(|| format!("expected a multiple of {step}, got {number}"))
        }
        Value::String(text) => {
            let (pattern, regex) = node.pattern.as_ref()?;
            let fits = regex.is_match(text);
            (!fits).then(|| {
                format!(
                    "expected text that matches {}, got {}",
                    clip(pattern, 200),
                    shown(value)
                )
            })
        }
        Value::Object(map) => {
            let missing = node.required.iter().find(|name| !map.contains_key(*name))?;
            let name = shown(&Value::from(missing.as_str()));
            Some(format!("the required property {name} is missing"))
        }
        Value::Array(items) if node.unique_items => {
            let mut seen = HashSet::new();
            let again = items
                .iter()
                .find(|item| !seen.insert(canonical_text(item)))?;
            Some(format!(
                "expected items that differ, got {} twice",
                shown(again)
            ))
        }
        _ => None,
    }
}

/// Why a value lies beyond a bound.
fn beyond(bound: &Bound, value: &Value) -> Option<String> {
    let size = |limit: Limit, most: u64, size: usize, noun: &str| {
        let count = u64::try_from(size).unwrap_or(u64::MAX);
        let is_beyond = match limit {
            Limit::Least => count < most,
            Limit::Most => count > most,
        };
        let word = if limit == Limit::Least {
            "least"
        } else {
            "most"
        };
        is_beyond.then(|| {
            let s = if most == 1 { "" } else { "s" };
            format!("expected at {word} {most} {noun}{s}, got {count}")
        })
    };
    match (bound, value) {
        (Bound::Length(limit, count), Value::String(text)) => {
            size(*limit, *count, text.chars().count(), "character")
        }
        (Bound::Items(limit, count), Value::Array(items)) => {
            size(*limit, *count, items.len(), "item")
        }
        (Bound::Properties(limit, count), Value::Object(map)) => {
            size(*limit, *count, map.len(), "member")
        }
        (Bound::Number(limit, than), Value::Number(number)) => {
            let (wrong, word) = match limit {
                Limit::Least => (Ordering::Less, "least"),
                Limit::Most => (Ordering::Greater, "most"),
            };
            let is_beyond = compare(number, than) == wrong;
            is_beyond.then(|| format!("expected at {word} {than}, got {number}"))
        }
        (Bound::Exclusive(limit, than), Value::Number(number)) => {
            let (right, word) = match limit {
                Limit::Least => (Ordering::Greater, "more"),
                Limit::Most => (Ordering::Less, "less"),
            };
            let is_beyond = compare(number, than) != right;
            is_beyond.then(|| format!("expected {word} than {than}, got {number}"))
        }
        _ => None,
    }
}

fn unknown_property(node: &Node) -> String {
    let known = node.shown_properties.iter();
    let known: Vec<String> = known
        .map(|name| shown(&Value::from(name.as_str())))
        .collect();
    match known.is_empty() {
        true => "no property is allowed here".to_owned(),
        false => format!("there is no such property; known are {}", known.join(", ")),
    }
}

fn is_kind(value: &Value, kind: JsonType) -> bool {
    match (kind, value) {
        (JsonType::Null, Value::Null)
        | (JsonType::Boolean, Value::Bool(_))
        | (JsonType::Number, Value::Number(_))
        | (JsonType::String, Value::String(_))
        | (JsonType::Array, Value::Array(_))
        | (JsonType::Object, Value::Object(_)) => true,
        (JsonType::Integer, Value::Number(number)) => is_integer(number),
        _ => false,
    }
}

fn expected_kinds(kinds: &[JsonType], value: &Value) -> String {
    let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
    let got = match value {
        Value::Null => JsonType::Null,
        Value::Bool(_) => JsonType::Boolean,
        Value::Number(number) if is_integer(number) => JsonType::Integer,
        Value::Number(_) => JsonType::Number,
        Value::String(_) => JsonType::String,
        Value::Array(_) => JsonType::Array,
        Value::Object(_) => JsonType::Object,
    };
    format!("expected {}, got {}", words.join(" or "), got.word())
}

/// A value in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("an array of {}", plural(items.len(), "item")),
        Value::Object(_) => "an object".to_owned(),
        value => clip(&value.to_string(), 80),
    }
}

/// Whether two values are the same, numbers by their value and members in any order.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => is_equal_object(one, other),
        (one, other) => one == other,
    }
}

fn is_equal_object(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let is_in = |(name, value): (&String, &Value)| {
        other.get(name).is_some_and(|other| is_equal(value, other))
    };
    one.len() == other.len() && one.iter().all(is_in)
}

/// The same text for values that are equal.
fn canonical_text(value: &Value) -> String {
    match value {
        Value::Number(number) => canonical(number),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical_text).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}:{}", Value::from(name.as_str()), canonical_text(value))
            };
            let mut members: Vec<String> = map.iter().map(member).collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
        value => value.to_string(),
    }
}
