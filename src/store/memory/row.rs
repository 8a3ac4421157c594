//! An entry of the diary.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize};

use super::text_form;
use crate::base::redact;
use crate::base::text::single_spaced;

/// How the user talked to Marvin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DiarySource {
    #[default]
    Text,
    Voice,
}

impl<'de> Deserialize<'de> for DiarySource {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Ok(match name.as_str() {
            "voice" => Self::Voice,
            _ => Self::Text,
        })
    }
}

/// What happened on a day (UTC), as typed or as spoken. There is one row for each day and source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DiaryRow {
    #[serde(with = "text_form")]
    pub date: Date,
    #[serde(default)]
    pub source: DiarySource,
    #[serde(default)]
    pub summary: String,
    #[serde(default)]
    pub topics: Vec<String>,
    /// When the first summary of the day was written.
    #[serde(with = "text_form", default)]
    pub created: Timestamp,
    #[serde(with = "text_form", default)]
    pub updated: Timestamp,
}

impl DiaryRow {
    /// A row of `date` that is written now. Secrets are masked.
    pub(crate) fn new(
        date: Date,
        source: DiarySource,
        summary: &str,
        topics: &[String],
        now: Timestamp,
    ) -> Self {
        let mut row = Self {
            date,
            source,
            summary: redact::scrub(summary),
            topics: Vec::new(),
            created: now,
            updated: now,
        };
        row.add_topics(topics);
        row
    }

    /// Adds the topics that it does not have.
    pub(super) fn add_topics(&mut self, topics: &[String]) {
        for topic in topics {
            let topic = redact::scrub(&single_spaced(topic));
            let known = self
                .topics
                .iter()
                .any(|own| own.to_lowercase() == topic.to_lowercase());
            if !topic.is_empty() && !known {
                self.topics.push(topic);
            }
        }
    }

    /// Takes over what another row of the same day and source says; nothing of either is lost.
    pub(super) fn combine(&mut self, other: &Self) {
        if !self.summary.contains(&other.summary) {
            if other.summary.contains(&self.summary) {
                self.summary.clone_from(&other.summary);
            } else {
                self.summary = format!("{} {}", self.summary, other.summary);
            }
        }
        self.add_topics(&other.topics);
        self.created = self.created.min(other.created);
        self.updated = self.updated.max(other.updated);
    }

    /// `[2026-03-01] What happened. (Topics: one, two)`
    pub(crate) fn line(&self) -> String {
        match self.topics.as_slice() {
            [] => format!("[{}] {}", self.date, self.summary),
            topics => format!(
                "[{}] {} (Topics: {})",
                self.date,
                self.summary,
                topics.join(", ")
            ),
        }
    }
}
