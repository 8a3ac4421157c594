//! Condenses what memory holds to what bears on the message.

use super::enrichment::Recalled;
use crate::base::redact::scrub;
use crate::base::text::clip;
use crate::reply::answer::notes;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::reply::prompts;
use crate::reply::settings::ReplySettings;
use crate::reply::trace::Trace;

/// Less than this is passed on as it is.
const MIN_CHARS: usize = 400;
/// What one call condenses.
const BATCH_CHARS: usize = 2_000;
const NOTE_CHARS: usize = 500;
const PREVIEW_CHARS: usize = 80;

/// What goes into the system message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemoryDigest {
    /// What was found, as it is.
    Raw,
    /// This instead.
    Note(String),
    /// Nothing of it bears on the message.
    Nothing,
}

/// The digest of what was recalled for `query`.
pub(crate) fn digest(
    query: &str,
    recalled: &Recalled,
    model: &dyn StageModel,
    settings: &ReplySettings,
    is_small: bool,
    trace: &Trace,
) -> MemoryDigest {
    let is_enabled = settings.memory_digest_enabled.unwrap_or(is_small);
    if !is_enabled || recalled.is_empty() {
        return MemoryDigest::Raw;
    }
    let whole = joined(&[
        headed(DIARY, &recalled.diary),
        headed(GRAPH, &recalled.graph),
    ]);
    let chars = whole.chars().count();
    if chars < MIN_CHARS {
        return MemoryDigest::Raw;
    }
    let batches = if chars <= BATCH_CHARS {
        vec![whole]
    } else {
        let batches = |heading: &'static str, entries: &[String]| {
            let batches = notes::batches(entries, BATCH_CHARS).into_iter();
            batches.map(move |batch| format!("{heading}\n{batch}"))
        };
        batches(DIARY, &recalled.diary)
            .chain(batches(GRAPH, &recalled.graph))
            .collect()
    };
    let notes: Vec<String> = batches
        .iter()
        .filter_map(|batch| note(query, batch, model, settings, trace))
        .collect();
    if notes.is_empty() {
        trace.line("🧩 Memory digest: no directly-relevant past memory");
        return MemoryDigest::Nothing;
    }
    let note = notes.join(" ");
    let preview = clip(&scrub(&note.replace('\n', " ")), PREVIEW_CHARS);
    trace.line(format!(
        "🧩 Memory digest: {} chars — \"{preview}\"",
        note.chars().count()
    ));
    MemoryDigest::Note(note)
}

const DIARY: &str = "DIARY";
const GRAPH: &str = "KNOWLEDGE";

fn headed(heading: &str, entries: &[String]) -> String {
    match entries {
        [] => String::new(),
        entries => format!("{heading}\n{}", entries.join("\n")),
    }
}

fn joined(texts: &[String]) -> String {
    let texts = texts.iter().filter(|text| !text.is_empty());
    texts.map(String::as_str).collect::<Vec<_>>().join("\n\n")
}

/// The note on one batch; a call that fails says nothing.
fn note(
    query: &str,
    batch: &str,
    model: &dyn StageModel,
    settings: &ReplySettings,
    trace: &Trace,
) -> Option<String> {
    let answer = model.ask(&StageRequest {
        stage: Stage::MemoryDigest,
        system: prompts::MEMORY_DIGEST.trim_end(),
        user: &format!("MESSAGE\n{query}\n\nNOTES\n{batch}"),
        limit: settings.digest_limit,
    });
    match answer {
        Ok(answer) => notes::kept(&answer, NOTE_CHARS),
        Err(problem) => {
            trace.detail("memory", || format!("no digest: {}", scrub(&problem.what)));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::event::NullSink;
    use crate::reply::settings::TraceLevel;
    use crate::reply::testing::Scripted;
    use std::sync::Arc;

    fn recalled(diary: usize, graph: usize, chars: usize) -> Recalled {
        let entry = |n: usize| format!("[2026-01-{:02}] {}", n + 1, "x".repeat(chars));
        Recalled {
            diary: (0..diary).map(entry).collect(),
            graph: (0..graph).map(entry).collect(),
        }
    }

    fn digest(
        recalled: &Recalled,
        model: &Scripted,
        enabled: Option<bool>,
        is_small: bool,
    ) -> MemoryDigest {
        let settings = ReplySettings {
            memory_digest_enabled: enabled,
            ..ReplySettings::default()
        };
        let trace = Trace::new(TraceLevel::Brief, Arc::new(NullSink));
        super::digest("which boots", recalled, model, &settings, is_small, &trace)
    }

    #[test]
    fn little_and_nothing_and_large_models_need_no_call() {
        let model = Scripted::new(&[]);
        for (recalled, enabled, is_small) in [
            (recalled(0, 0, 0), None, true),
            (recalled(2, 1, 50), None, true),
            (recalled(3, 0, 500), None, false),
            (recalled(3, 0, 500), Some(false), true),
        ] {
            assert_eq!(
                digest(&recalled, &model, enabled, is_small),
                MemoryDigest::Raw
            );
        }
        assert_eq!(model.calls(), 0);
    }

    #[test]
    fn one_call_condenses_what_fits_and_more_are_made_for_the_rest() {
        let model = Scripted::new(&[Some(" \"They take size 42.\" ")]);
        let found = digest(&recalled(2, 1, 300), &model, None, true);
        assert_eq!(found, MemoryDigest::Note("They take size 42.".to_owned()));
        let (_, user) = model.last();
        assert!(
            user.starts_with("MESSAGE\nwhich boots\n\nNOTES\nDIARY\n[2026-01-01]"),
            "{user}"
        );
        assert!(user.contains("\n\nKNOWLEDGE\n"), "{user}");
        let model = Scripted::new(&[Some("One."), Some("(none)."), None, Some("Two.")]);
        let found = digest(&recalled(4, 3, 900), &model, Some(true), false);
        assert_eq!(
            model.calls(),
            4,
            "two diary entries in a call, then two of the graph"
        );
        assert_eq!(found, MemoryDigest::Note("One. Two.".to_owned()));
    }

    #[test]
    fn nothing_relevant_is_nothing_at_all() {
        for answer in [Some("NONE"), Some("(none)."), Some(""), None] {
            let model = Scripted::new(&[answer]);
            assert_eq!(
                digest(&recalled(2, 0, 300), &model, None, true),
                MemoryDigest::Nothing
            );
        }
    }
}
