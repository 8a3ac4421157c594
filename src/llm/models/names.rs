//! Names of models: the same model is written in several ways.

use crate::base::word_list::WordList;

/// `anthropic/claude-haiku-4.5:free` as `claude-haiku-4.5`, in lower case; a bare `haiku-4.5` as Claude's.
pub(super) fn bare_name(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    let name = name.split(':').next().unwrap_or(&name);
    let claude = ["haiku-", "sonnet-", "opus-", "fable-"]
        .iter()
        .any(|family| name.starts_with(family));
    if claude {
        format!("claude-{name}")
    } else {
        name.to_owned()
    }
}

/// What follows `prefix` in `name`: `grok-4-1-fast` is `grok-4.1-fast` to some; `gpt-4-1106` is not a `gpt-4.1`.
pub(super) fn rest<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let same = |(one, other): (u8, u8)| {
        one == other || matches!((one, other), (b'-', b'.') | (b'.', b'-'))
    };
    let rest = name.get(prefix.len()..)?;
    let number_goes_on = rest.starts_with(|c: char| c.is_ascii_digit())
        && prefix.ends_with(|c: char| c.is_ascii_digit());
    (name.bytes().zip(prefix.bytes()).all(same) && !number_goes_on).then_some(rest)
}

/// Words of names whose models embed, draw, speak, transcribe or judge, and do not chat.
const OTHER_USES: WordList = WordList(
    "babbage bge dall davinci embed embedding embeddings image imagen imagine lyria minilm \
     moderation orpheus realtime rerank reranker sora transcribe tts veo video whisper",
);

/// False for a model whose name says that it does not chat. Most providers list all their models and do not mark these.
pub(crate) fn is_for_chat(model: &str) -> bool {
    let name = model.to_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    // `imagen4`, `sora2`
    let letters = |word: &str| {
        let kind = word.trim_end_matches(|c: char| c.is_ascii_digit());
        OTHER_USES.has(kind)
    };
    !name.split(['-', '_', '.', ':']).any(letters)
}

/// True for the end of a dated snapshot's name: `-2025-08-07`, `-20250929`, `-0709`, and nothing at all.
pub(super) fn is_snapshot(rest: &str) -> bool {
    let Some(date) = rest.strip_prefix('-') else {
        return rest.is_empty();
    };
    let group = |group: &str| group.len() >= 2 && group.bytes().all(|b| b.is_ascii_digit());
    date.split('-').all(group) && date.bytes().filter(u8::is_ascii_digit).count() >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_tags_and_case_do_not_matter() {
        for (model, name) in [
            ("openai/gpt-4o-mini:free", "gpt-4o-mini"),
            ("Qwen/Qwen3-32B", "qwen3-32b"),
            ("haiku-4.5", "claude-haiku-4.5"),
            ("models/gemini-2.5-pro", "gemini-2.5-pro"),
            ("", ""),
        ] {
            assert_eq!(bare_name(model), name);
        }
    }

    #[test]
    fn a_dash_is_a_dot_and_numbers_are_whole() {
        assert_eq!(rest("grok-4-1-fast-x", "grok-4.1-fast"), Some("-x"));
        assert_eq!(rest("gpt-4-1106", "gpt-4.1"), None);
        assert_eq!(rest("gpt-5", "gpt-5.1"), None);
        assert_eq!(rest("größe", "grö"), Some("ße"));
        assert_eq!(rest("aé", "ab"), None, "no slice inside a character");
    }

    #[test]
    fn a_name_says_when_a_model_is_not_for_chat() {
        for other in
            "text-embedding-3-small models/gemini-embedding-001 imagen-4.0-generate-001 sora2-pro \
            playai-tts distil-whisper-large-v3-en gpt-4o-mini-transcribe nomic-embed-text:latest \
            bge-m3 DALL-E-3"
                .split_ascii_whitespace()
        {
            assert!(!is_for_chat(other), "{other}");
        }
        for chat in [
            "gpt-6-luna",
            "ft:gpt-6-luna:our-house::a1b2c3",
            "qwen/qwen3-vl-235b-a22b-instruct",
            "an-image-house/llama-4-scout",
            "default",
            "",
        ] {
            assert!(is_for_chat(chat), "{chat}");
        }
    }

    #[test]
    fn snapshots_are_dates() {
        for dated in ["", "-2025-08-07", "-20250929", "-0709", "-09-2025"] {
            assert!(is_snapshot(dated), "{dated}");
        }
        for other in ["-5-20251101", "-mini", ".1", "-1", "-0309-reasoning", "-"] {
            assert!(!is_snapshot(other), "{other}");
        }
    }
}
