//! A node of the knowledge graph.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use super::text_form;
use crate::base::text::clip;

/// The node above all others; it holds no facts.
pub(crate) const ROOT: &str = "root";
/// Tokens of a node's facts above which it is split.
pub(crate) const SPLIT_TOKENS: u64 = 1_500;
/// Levels below the root.
pub(crate) const MAX_DEPTH: usize = 8;
const MAX_DESCRIPTION_CHARS: usize = 300;
const MAX_NAME_CHARS: usize = 80;
/// After so many days a use counts half.
const HALF_LIFE_DAYS: f64 = 14.0;
const SECONDS_OF_A_DAY: f64 = 86_400.0;

/// What a fact is about. Each is a node right below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Branch {
    /// Who the user is.
    User,
    /// What the user told the assistant about its own behaviour.
    Directives,
    /// What was looked up.
    World,
}

impl Branch {
    pub(crate) const ALL: [Self; 3] = [Self::User, Self::Directives, Self::World];

    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Directives => "directives",
            Self::World => "world",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Directives => "Directives",
            Self::World => "World",
        }
    }

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::User => "Who the user is: facts about them and their life.",
            Self::Directives => "What the user told the assistant about its own behaviour.",
            Self::World => "Facts about the world that were looked up.",
        }
    }

    pub(crate) fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|branch| branch.id() == id)
    }
}

/// A place for facts, one a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Node {
    pub id: String,
    /// `None` for the root.
    pub parent: Option<String>,
    #[serde(deserialize_with = "or_empty")]
    pub name: String,
    #[serde(deserialize_with = "or_empty")]
    pub description: String,
    #[serde(deserialize_with = "or_empty")]
    pub data: String,
    pub tokens: u64,
    pub accesses: u64,
    #[serde(with = "text_form")]
    pub last_access: Timestamp,
    #[serde(with = "text_form")]
    pub created: Timestamp,
    #[serde(with = "text_form")]
    pub updated: Timestamp,
}

fn or_empty<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(from)?.unwrap_or_default())
}

impl Node {
    pub(super) fn new(
        id: impl Into<String>,
        parent: Option<&str>,
        name: &str,
        description: &str,
        now: Timestamp,
    ) -> Self {
        Self {
            id: id.into(),
            parent: parent.map(ToOwned::to_owned),
            name: clip(name, MAX_NAME_CHARS),
            description: clip(description, MAX_DESCRIPTION_CHARS),
            last_access: now,
            created: now,
            updated: now,
            ..Self::default()
        }
    }

    pub(crate) fn facts(&self) -> impl Iterator<Item = &str> {
        self.data
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    }

    pub(super) fn set_data(&mut self, data: String) {
        self.tokens = tokens(&data);
        self.data = data;
    }

    /// How much it is used: older uses count less. A use in the future, from a clock that was wrong, counts as one of now.
    pub(crate) fn decayed_score(&self, now: Timestamp) -> f64 {
        let age = now.as_microsecond() - self.last_access.as_microsecond();
        let age = age.max(0) as f64 / 1e6;
        let accesses = self.accesses.min(1 << 40) as f64;
        accesses / (1.0 + age / SECONDS_OF_A_DAY / HALF_LIFE_DAYS)
    }
}

/// What a text costs in a prompt, roughly.
pub(super) fn tokens(text: &str) -> u64 {
    match text.chars().count() as u64 {
        0 => 0,
        chars => (chars / 4).max(1),
    }
}
