//! Finds what memory holds for a message: what to look up, diary entries, places of the knowledge graph.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::base::embedding::Embedding;
use crate::base::problem::{Outcome, ProblemKind};
use crate::base::redact::scrub;
use crate::base::template::fill;
use crate::base::text::{clip, plural};
use crate::base::words::is_unspaced;
use crate::chat::message::Message;
use crate::reply::answer::json_span;
use crate::reply::dialogue::carry_over::dialogue_lines;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::reply::prompts;
use crate::reply::scratch::ScratchCache;
use crate::reply::settings::{MemorySource, ReplySettings};
use crate::reply::trace::Trace;
use crate::store::memory::{MemoryStore, Node};

const MAX_KEYWORDS: usize = 5;
const MAX_NODES: usize = 5;
/// Characters of a node's facts.
const NODE_CHARS: usize = 300;
/// Characters of an entry in the trace, and how many entries and names it shows.
const PREVIEW_CHARS: usize = 80;
const MAX_PREVIEWS: usize = 3;
const MAX_TRACE_NAMES: usize = 4;

/// Words of a question that name no subject.
const QUESTION_STOP_WORDS: [&str; 40] = [
    "about", "and", "any", "are", "can", "could", "did", "does", "for", "from", "had", "has",
    "have", "her", "his", "how", "into", "its", "may", "not", "that", "the", "their", "them",
    "there", "they", "this", "was", "were", "what", "when", "where", "which", "who", "whom",
    "whose", "why", "will", "with", "would",
];

#[derive(Clone, Copy)]
pub(crate) struct RecallInput<'a> {
    /// The message without secrets, on one line.
    pub query: &'a str,
    /// What the plan says to look up.
    pub topic: Option<&'a str>,
    /// Time and place; empty for none.
    pub context_line: &'a str,
    /// The conversation before the message.
    pub history: &'a [Message],
    pub now: Timestamp,
}

/// What was found, rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Recalled {
    /// The latest day first.
    pub diary: Vec<String>,
    /// The best match first.
    pub graph: Vec<String>,
}

impl Recalled {
    pub(crate) fn is_empty(&self) -> bool {
        self.diary.is_empty() && self.graph.is_empty()
    }
}

/// What to look up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Extraction {
    keywords: Vec<String>,
    questions: Vec<String>,
    from: Option<Date>,
    to: Option<Date>,
}

/// Looks up what the message needs; whatever fails is left out.
pub(crate) fn recall(
    input: &RecallInput<'_>,
    store: &MemoryStore,
    model: &dyn StageModel,
    settings: &ReplySettings,
    scratch: &ScratchCache,
    trace: &Trace,
) -> Recalled {
    let extraction = extract(input, model, settings, scratch, trace);
    let mut recalled = Recalled::default();
    if settings.memory_source != MemorySource::Graph {
        let found = search_diary(&extraction, store, model, settings, trace);
        recalled.diary = found.unwrap_or_else(|problem| {
            trace.detail("memory", || format!("no diary: {}", problem.what));
            Vec::new()
        });
    }
    if settings.memory_source != MemorySource::Diary {
        let found = search_graph(&extraction.questions, store, trace);
        recalled.graph = found.unwrap_or_else(|problem| {
            trace.detail("memory", || format!("no graph: {}", problem.what));
            Vec::new()
        });
    }
    recalled
}

/// What to look up, from the cache if the same was asked in this conversation. Nothing when the model gives no usable answer twice.
fn extract(
    input: &RecallInput<'_>,
    model: &dyn StageModel,
    settings: &ReplySettings,
    scratch: &ScratchCache,
    trace: &Trace,
) -> Extraction {
    let query = extractor_query(input);
    let key = format!("enrichment:{query}");
    if let Some(kept) = scratch.get(&key).and_then(|answer| parse(&answer)) {
        return kept;
    }
    let epoch = scratch.epoch();
    let system = fill(prompts::EXTRACTOR, &[("known", &known(input))]);
    for _attempt in 0..2 {
        let answer = model.ask(&StageRequest {
            stage: Stage::Extractor,
            system: &system,
            user: &query,
            limit: settings.tools_limit,
        });
        match answer {
            Ok(answer) => {
                if let Some(extraction) = parse(&answer) {
                    scratch.put(epoch, &key, answer);
                    return extraction;
                }
                trace.detail("memory", || "the extractor's answer is unusable".to_owned());
            }
            Err(problem) => {
                trace.detail("memory", || {
                    format!("no extraction: {}", scrub(&problem.what))
                });
                // Nobody waits twice for a model that does not answer, or for one that was stopped.
                if matches!(problem.kind, ProblemKind::Timeout | ProblemKind::Cancelled) {
                    break;
                }
            }
        }
    }
    Extraction::default()
}

fn extractor_query(input: &RecallInput<'_>) -> String {
    match input.topic.map(str::trim).filter(|topic| !topic.is_empty()) {
        Some(topic) => format!("{}\n[Memory topic: {topic}]", input.query),
        None => input.query.to_owned(),
    }
}

/// What the chat model knows anyway.
fn known(input: &RecallInput<'_>) -> String {
    let dialogue = dialogue_lines(input.history);
    if input.context_line.is_empty() && dialogue.is_empty() {
        let now = input.now.strftime("%Y-%m-%d %H:%M");
        return format!("The time is {now} UTC.");
    }
    let line = Some(input.context_line.to_owned()).filter(|line| !line.is_empty());
    let lines: Vec<String> = line.into_iter().chain(dialogue).collect();
    lines.join("\n")
}

/// The answer of the extractor; `None` without a list of keywords.
fn parse(answer: &str) -> Option<Extraction> {
    let value: Value = serde_json::from_str(json_span::object(answer)?).ok()?;
    let list = |key: &str| -> Option<Vec<String>> {
        let items = value.get(key)?.as_array()?.iter();
        let texts = items.filter_map(|item| match item {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
        Some(texts.filter(|text| !text.is_empty()).collect())
    };
    let day = |key: &str| -> Option<Date> {
        let text = value.get(key)?.as_str()?.trim();
        let moment: Option<Timestamp> = text.parse().ok();
        let day = moment.map(|moment| moment.to_zoned(TimeZone::UTC).date());
        day.or_else(|| text.get(..10)?.parse().ok())
    };
    let mut keywords = list("keywords")?;
    keywords.truncate(MAX_KEYWORDS);
    Some(Extraction {
        keywords,
        questions: list("questions").unwrap_or_default(),
        from: day("from"),
        to: day("to"),
    })
}

fn search_diary(
    extraction: &Extraction,
    store: &MemoryStore,
    model: &dyn StageModel,
    settings: &ReplySettings,
    trace: &Trace,
) -> Outcome<Vec<String>> {
    let words = &extraction.keywords;
    if words.is_empty() {
        return Ok(Vec::new());
    }
    trace.line(format!("🔍 Memory search: {}", scrub(&words.join(", "))));
    let (from, to, max) = (extraction.from, extraction.to, settings.memory_max_results);
    let rows = match near(words, model, settings, trace) {
        Some(near) => {
            let near = (settings.embed_model.as_str(), &near);
            store.diary_search_near(words, near, from, to, max)?
        }
        None => store.diary_search(words, from, to, max)?,
    };
    if !rows.is_empty() {
        let noun = if rows.len() == 1 { "entry" } else { "entries" };
        trace.line(format!("📖 Diary: recalled {} {noun}", rows.len()));
    }
    for row in rows.iter().take(MAX_PREVIEWS) {
        trace.line(format!("   {}", clip(&scrub(&row.line()), PREVIEW_CHARS)));
    }
    Ok(rows.iter().map(|row| row.line()).collect())
}

/// The words as a vector, where embeddings are set and come in time.
fn near(
    words: &[String],
    model: &dyn StageModel,
    settings: &ReplySettings,
    trace: &Trace,
) -> Option<Embedding> {
    if settings.embed_model.is_empty() {
        return None;
    }
    match model.embed(&[words.join(", ")]) {
        Ok(vectors) => vectors.into_iter().next(),
        Err(problem) => {
            trace.detail("memory", || {
                format!("searched by words alone: {}", scrub(&problem.what))
            });
            None
        }
    }
}

fn search_graph(questions: &[String], store: &MemoryStore, trace: &Trace) -> Outcome<Vec<String>> {
    let questions: Vec<(&String, Vec<String>)> = questions
        .iter()
        .map(|question| (question, question_words(question)))
        .collect();
    let mut seen = HashSet::new();
    let words = questions.iter().flat_map(|(_, words)| words);
    let words: Vec<String> = words.filter(|word| seen.insert(*word)).cloned().collect();
    if words.len() < 2 {
        return Ok(Vec::new());
    }
    let mut nodes = store.search_nodes(&words, MAX_NODES)?;
    nodes.retain(|node| !node.data.trim().is_empty());
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let shown = names.get(..MAX_TRACE_NAMES).unwrap_or(&names).join(", ");
    trace.line(format!(
        "🧠 Knowledge: {} — {}",
        plural(nodes.len(), "node"),
        scrub(&shown)
    ));
    for node in &nodes {
        if let Some(question) = best_question(node, &questions) {
            let line = format!("{} → {question}", node.name);
            trace.line(format!("   {}", scrub(&line)));
        }
    }
    nodes.iter().map(|node| rendered(node, store)).collect()
}

/// `[Root > World] The lighthouse was built in 1871`
fn rendered(node: &Node, store: &MemoryStore) -> Outcome<String> {
    let above = store.ancestors(&node.id)?;
    let mut path: Vec<&str> = above.iter().map(|node| node.name.as_str()).collect();
    path.push(&node.name);
    let facts: Vec<&str> = node.facts().collect();
    let facts: String = facts.join("; ").chars().take(NODE_CHARS).collect();
    Ok(format!("[{}] {facts}", path.join(" > ")))
}

/// The words of a question that name a subject.
fn question_words(question: &str) -> Vec<String> {
    let lower = question.to_lowercase();
    let mut words = Vec::new();
    for word in lower.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if word.chars().any(is_unspaced) {
            // No spaces between words: pairs of characters stand for them.
            words.extend(
                crate::base::words::runs(word).filter(|pair| pair.chars().nth(1).is_some()),
            );
        } else if word.chars().count() >= 3 && !QUESTION_STOP_WORDS.contains(&word) {
            words.push(word.to_owned());
        }
    }
    words
}

/// The question that a node answers best: the one with the largest part of its words in the node.
fn best_question<'a>(node: &Node, questions: &[(&'a String, Vec<String>)]) -> Option<&'a String> {
    let text = format!("{} {} {}", node.name, node.description, node.data).to_lowercase();
    let mut best: Option<(f64, &String)> = None;
    for (question, words) in questions {
        let hits = words
            .iter()
            .filter(|word| text.contains(word.as_str()))
            .count();
        let part = hits as f64 / words.len().max(1) as f64;
        if hits > 0 && best.is_none_or(|(before, _)| part > before) {
            best = Some((part, question));
        }
    }
    best.map(|(_, question)| question)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::settings::TraceLevel;
    use crate::reply::testing::{Scripted, TraceLines, memory_store};
    use crate::store::memory::{Branch, DiaryRow, DiarySource};
    use std::sync::Arc;

    struct Fixture {
        _dir: tempfile::TempDir,
        store: MemoryStore,
        scratch: ScratchCache,
        lines: Arc<TraceLines>,
        settings: ReplySettings,
    }

    fn fixture() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let store = memory_store(dir.path());
        for (date, summary) in [
            ("2026-01-20", "The user bought hiking boots for Skye."),
            ("2026-02-11", "The boots leak; they prefer trail shoes."),
        ] {
            let topics = ["hiking".to_owned()];
            let now = "2026-02-12T08:00:00Z".parse().unwrap();
            let row = DiaryRow::new(
                date.parse().unwrap(),
                DiarySource::Text,
                summary,
                &topics,
                now,
            );
            store.diary_put(row).unwrap();
        }
        let fact = "Corvid Lighthouse was built in 1871".to_owned();
        store.append(Branch::World.id(), &[fact]).unwrap();
        Fixture {
            _dir: dir,
            store,
            scratch: ScratchCache::default(),
            lines: Arc::default(),
            settings: ReplySettings::default(),
        }
    }

    impl Fixture {
        fn recall(&self, query: &str, model: &Scripted) -> Recalled {
            let input = RecallInput {
                query,
                topic: Some("boots"),
                context_line: "",
                history: &[],
                now: "2026-03-01T10:00:00Z".parse().unwrap(),
            };
            let trace = Trace::new(TraceLevel::Brief, self.lines.clone());
            recall(
                &input,
                &self.store,
                model,
                &self.settings,
                &self.scratch,
                &trace,
            )
        }
    }

    #[test]
    fn an_answer_is_usable_with_a_list_of_keywords() {
        let text =
            |list: &[&str]| -> Vec<String> { list.iter().map(|text| (*text).to_owned()).collect() };
        assert_eq!(
            parse(
                "Sure: {\"keywords\": [\"a\", 2, \" \", null], \"questions\": \"x\", \"from\": \"2026-01-31T23:30:00-02:00\", \"to\": \"soon\"} ok"
            ),
            Some(Extraction {
                keywords: text(&["a", "2"]),
                questions: Vec::new(),
                from: Some("2026-02-01".parse().unwrap()),
                to: None,
            })
        );
        assert_eq!(parse("{\"keywords\": []}"), Some(Extraction::default()));
        let many = parse(r#"{"keywords": ["1","2","3","4","5","6"], "to": "2026-01-31"}"#).unwrap();
        assert_eq!(
            (many.keywords.len(), many.to),
            (5, Some("2026-01-31".parse().unwrap()))
        );
        for unusable in [
            "",
            "none",
            "{}",
            "{\"keywords\": \"a\"}",
            "{\"keywords\": [",
            "[\"a\"]",
        ] {
            assert_eq!(parse(unusable), None, "{unusable}");
        }
    }

    #[test]
    fn entries_come_newest_first_and_the_same_query_is_extracted_once() {
        let fixture = fixture();
        let model = Scripted::new(&[Some(r#"{"keywords":["boots"],"questions":[]}"#)]);
        let found = fixture.recall("which boots", &model);
        assert_eq!(
            found.diary,
            [
                "[2026-02-11] The boots leak; they prefer trail shoes. (Topics: hiking)",
                "[2026-01-20] The user bought hiking boots for Skye. (Topics: hiking)",
            ]
        );
        assert_eq!(found.graph, [] as [&str; 0]);
        let (system, user) = model.last();
        assert_eq!(user, "which boots\n[Memory topic: boots]");
        assert!(system.contains("2026-03-01 10:00 UTC"), "{system}");
        assert_eq!(fixture.recall("which boots", &model), found);
        assert_eq!(model.calls(), 1);
        let lines = fixture.lines.take();
        assert_eq!(lines[0], "🔍 Memory search: boots");
        assert_eq!(lines[1], "📖 Diary: recalled 2 entries");
        assert!(
            lines[2].starts_with("   [2026-02-11] The boots leak"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_range_filters_before_the_best_are_taken() {
        let mut fixture = fixture();
        fixture.settings.memory_max_results = 1;
        let model = Scripted::new(&[Some(
            r#"{"keywords":["boots"],"from":"2026-01-01T00:00:00Z","to":"2026-01-31T23:59:59Z"}"#,
        )]);
        let found = fixture.recall("boots in January", &model);
        assert_eq!(found.diary.len(), 1);
        assert!(found.diary[0].starts_with("[2026-01-20]"), "{found:?}");
    }

    #[test]
    fn questions_lead_to_the_graph() {
        let fixture = fixture();
        let answer =
            r#"{"keywords":["coast"],"questions":["which corvid lighthouse does the user like?"]}"#;
        let found = fixture.recall("that lighthouse", &Scripted::new(&[Some(answer)]));
        assert_eq!(
            found.graph,
            ["[Root > World] Corvid Lighthouse was built in 1871"]
        );
        let lines = fixture.lines.take();
        for line in [
            "🧠 Knowledge: 1 node — World",
            "   World → which corvid lighthouse does the user like?",
        ] {
            assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
        }
    }

    #[test]
    fn an_unusable_answer_is_asked_for_once_more_and_not_kept() {
        let fixture = fixture();
        let model = Scripted::new(&[
            Some("no idea"),
            Some("still none"),
            None,
            Some(r#"{"keywords":["boots"]}"#),
        ]);
        assert!(fixture.recall("which boots", &model).is_empty());
        assert_eq!(model.calls(), 2);
        assert_eq!(fixture.recall("which boots", &model).diary.len(), 2);
        assert_eq!(model.calls(), 4);
    }

    #[test]
    fn one_source_leaves_the_other_alone() {
        let mut fixture = fixture();
        let answer = r#"{"keywords":["boots"],"questions":["which corvid lighthouse?"]}"#;
        fixture.settings.memory_source = MemorySource::Diary;
        let found = fixture.recall("x", &Scripted::new(&[Some(answer)]));
        assert!(found.graph.is_empty() && found.diary.len() == 2);
        fixture.settings.memory_source = MemorySource::Graph;
        let found = fixture.recall("y", &Scripted::new(&[Some(answer)]));
        assert!(found.diary.is_empty() && found.graph.len() == 1);
    }

    #[test]
    fn words_of_questions_name_subjects_in_every_script() {
        assert_eq!(
            question_words("Where does the user's Aunt live?"),
            ["user's", "aunt", "live"]
        );
        assert_eq!(question_words("灯台 is it?"), ["灯台"]);
        assert_eq!(
            question_words("好きな灯台は?").first().map(String::as_str),
            Some("好き")
        );
    }
}
