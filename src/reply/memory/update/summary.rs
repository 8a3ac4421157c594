//! The summary of a day: what was said is folded into it in batches.

use crate::base::problem::Outcome;
use crate::base::redact;
use crate::base::template;
use crate::base::text::{clip, single_spaced};
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::reply::settings::ReplySettings;
use crate::store::memory::DiaryRow;

const SYSTEM: &str = include_str!("../../../prompts/reply/summariser.md");
const USER: &str = include_str!("../../../prompts/reply/summariser_user.md");

/// Pieces of what was said in one call, and their characters together: small models have small windows.
const MAX_BATCH_PIECES: usize = 10;
const MAX_BATCH_CHARS: usize = 8_000;
/// Characters of a piece; what is longer is cut into several.
const MAX_PIECE_CHARS: usize = 4_000;
/// Characters of a summary; the model is asked for 200 words.
const MAX_SUMMARY_CHARS: usize = 4_000;
const MAX_TOPICS: usize = 5;
const MAX_TOPIC_CHARS: usize = 60;
/// What separates topics, in several scripts.
const TOPIC_SEPARATORS: [char; 6] = [',', ';', '，', '、', '،', '；'];

/// What happened on a day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub text: String,
    pub topics: Vec<String>,
}

impl Summary {
    pub(super) fn of_row(row: &DiaryRow) -> Self {
        Self {
            text: row.summary.clone(),
            topics: row.topics.clone(),
        }
    }

    /// The summary in an answer of the model; `None` when one of its two parts is missing or empty.
    pub(super) fn parse(answer: &str) -> Option<Self> {
        let mut text: Option<String> = None;
        let mut topics: Option<Vec<String>> = None;
        for line in answer.lines() {
            if let Some(rest) = labelled(line, "summary") {
                text = Some(rest.to_owned());
            } else if let Some(rest) = labelled(line, "topics") {
                topics = Some(topics_in(rest));
                if text.is_some() {
                    break;
                }
            } else if let (Some(text), None) = (&mut text, &topics) {
                text.push(' ');
                text.push_str(line);
            }
        }
        let text = clip(&redact::redact(&text?), MAX_SUMMARY_CHARS);
        let topics = topics.filter(|topics| !topics.is_empty())?;
        (!text.is_empty()).then_some(Self { text, topics })
    }
}

/// What follows `label:` in a line, however the model decorated the label.
fn labelled<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "*#_>-".contains(c));
    let head = line.get(..label.len())?;
    if !head.eq_ignore_ascii_case(label) {
        return None;
    }
    let rest = line.get(label.len()..)?;
    let rest = rest.trim_start_matches(['*', '_', ' ']);
    let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix('：'))?;
    Some(rest.trim_start_matches(['*', '_']).trim())
}

fn topics_in(text: &str) -> Vec<String> {
    let mut topics: Vec<String> = Vec::new();
    for topic in text.split(TOPIC_SEPARATORS) {
        let topic = topic.trim_matches(|c: char| c.is_whitespace() || "\"'`*[](){}.".contains(c));
        let topic = clip(&redact::redact(topic), MAX_TOPIC_CHARS);
        if !topic.is_empty() && !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    topics.truncate(MAX_TOPICS);
    topics
}

/// The rows in the portions in which they are summarised, the oldest first.
pub(super) fn batches(rows: &[String]) -> Vec<Vec<String>> {
    let mut batches: Vec<Vec<String>> = Vec::new();
    let mut chars = 0;
    for piece in rows.iter().flat_map(|row| pieces(row)) {
        let length = piece.chars().count();
        match batches.last_mut() {
            Some(batch) if batch.len() < MAX_BATCH_PIECES && chars + length <= MAX_BATCH_CHARS => {
                batch.push(piece);
                chars += length;
            }
            _ => {
                batches.push(vec![piece]);
                chars = length;
            }
        }
    }
    batches
}

fn pieces(row: &str) -> Vec<String> {
    let chars: Vec<char> = row.chars().collect();
    chars
        .chunks(MAX_PIECE_CHARS)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Asks for the summary of the day with a batch of what was said; `None` when the answer is unusable.
pub(super) fn fold_in(
    model: &dyn StageModel,
    settings: &ReplySettings,
    so_far: Option<&Summary>,
    batch: &[String],
) -> Outcome<Option<Summary>> {
    let none = || "(nothing yet)".to_owned();
    let summary = so_far.map_or_else(none, |summary| single_spaced(&summary.text));
    let topics = so_far.map_or_else(none, |summary| summary.topics.join(", "));
    let user = template::fill(
        USER,
        &[
            ("summary", &clip(&summary, MAX_SUMMARY_CHARS)),
            ("topics", &topics),
            ("dialogue", &batch.join("\n")),
        ],
    );
    let answer = model.ask(&StageRequest {
        stage: Stage::Summariser,
        system: SYSTEM.trim_end(),
        user: &user,
        limit: settings.summariser_limit,
    })?;
    Ok(Summary::parse(&answer))
}
