//! Long results are condensed before a small model reads them: to what bears on the question, with its source.

use crate::base::redact::{redact, scrub};
use crate::base::text::{clip, one_line};
use crate::reply::answer::notes;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::reply::settings::ReplySettings;
use crate::reply::trace::Trace;

const DUTIES: &str = include_str!("../../prompts/reply/tool_digest.md");
/// Shorter results stay as they are.
const MIN_CHARS: usize = 400;
const MAX_CHUNK_CHARS: usize = 2_500;
const MAX_CHUNKS: usize = 6;
const MAX_NOTE_CHARS: usize = 600;
const PREVIEW_CHARS: usize = 80;

/// What condensing a result needs beside it.
pub(crate) struct ToolDigest<'a> {
    pub model: &'a dyn StageModel,
    pub settings: &'a ReplySettings,
    pub trace: &'a Trace,
    /// What the user asked.
    pub query: &'a str,
}

impl ToolDigest<'_> {
    /// The notes on the result of `tool`; `None` when it is short, nothing in it bears on the question, or the model failed.
    pub(crate) fn condense(&self, tool: &str, text: &str) -> Option<String> {
        let length = text.chars().count();
        if length < MIN_CHARS {
            return None;
        }
        let notes: Vec<String> = chunks(text)
            .iter()
            .filter_map(|chunk| self.note(tool, chunk))
            .collect();
        if notes.is_empty() {
            self.trace.line(format!(
                "🧩 Tool digest: no relevant facts — using raw payload ({length}ch)"
            ));
            return None;
        }
        let digest = notes.join(" ");
        self.trace.line(format!(
            "🧩 Tool digest: {} chars — \"{}\"",
            digest.chars().count(),
            scrub(&clip(&one_line(&digest), PREVIEW_CHARS))
        ));
        Some(digest)
    }

    fn note(&self, tool: &str, chunk: &str) -> Option<String> {
        let request = StageRequest {
            stage: Stage::ToolDigest,
            system: DUTIES.trim_end(),
            user: &format!(
                "QUESTION\n{}\n\nRESULT OF {tool}\n{}",
                self.query,
                redact(chunk)
            ),
            limit: self.settings.digest_limit,
        };
        let answer = self.model.ask(&request).ok()?;
        notes::kept(&answer, MAX_NOTE_CHARS)
    }
}

/// The text in pieces that a small model can read, cut at blank lines.
fn chunks(text: &str) -> Vec<String> {
    if text.chars().count() <= MAX_CHUNK_CHARS {
        return vec![text.to_owned()];
    }
    let mut chunks = notes::chunks(text, MAX_CHUNK_CHARS);
    chunks.truncate(MAX_CHUNKS);
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::reply::settings::TraceLevel;
    use crate::reply::testing::{Scripted, TraceLines};
    use std::sync::Arc;

    struct Condensed {
        notes: Option<String>,
        calls: usize,
        trace: String,
    }

    fn condensed(text: &str, answers: &[Option<&'static str>]) -> Condensed {
        let (model, lines) = (Scripted::new(answers), Arc::<TraceLines>::default());
        let trace = Trace::new(TraceLevel::Brief, Arc::clone(&lines) as _);
        let digest = ToolDigest {
            model: &model,
            settings: &ReplySettings::default(),
            trace: &trace,
            query: "when do they open",
        };
        Condensed {
            notes: digest.condense("browse_web", text),
            calls: model.calls(),
            trace: lines.take().join("\n"),
        }
    }

    #[test]
    fn a_result_is_condensed_by_its_length() {
        let paragraph = format!("{}\n\n", "x".repeat(2_000));
        for (text, calls) in [
            ("x".repeat(399), 0),
            ("x".repeat(400), 1),
            ("x\n\n".repeat(833), 1),
            (paragraph.repeat(2), 2),
            (paragraph.repeat(6), 6),
            (paragraph.repeat(9), 6),
            ("x".repeat(9_000), 1),
        ] {
            let condensed = condensed(&text, &[Some("At nine."); 9]);
            assert_eq!(condensed.calls, calls, "{} characters", text.len());
            let notes = (calls > 0).then(|| vec!["At nine."; calls].join(" "));
            assert_eq!(condensed.notes, notes);
        }
    }

    #[test]
    fn notes_are_short_and_shown_without_secrets() {
        let long = "a".repeat(700).leak();
        let notes = condensed(&"x".repeat(400), &[Some(long)]).notes.unwrap();
        assert_eq!(notes.chars().count(), 601);
        let text = format!("{}\n\n", "x".repeat(2_000)).repeat(3);
        let mixed = condensed(&text, &[Some("NONE"), Some("password=hunter2-tail"), None]);
        assert_eq!(mixed.notes.as_deref(), Some("password=hunter2-tail"));
        assert!(
            mixed.trace.starts_with("🧩 Tool digest: 21 chars — \""),
            "{}",
            mixed.trace
        );
        assert!(!mixed.trace.contains("hunter2"), "{}", mixed.trace);
        let none = condensed(&text, &[Some("none."), Some("N/A"), Some("(NONE)")]);
        assert_eq!(none.notes, None);
        assert_has(&none.trace, &["using raw payload (6006ch)"]);
    }
}
