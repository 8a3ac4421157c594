//! The models that somebody may have meant who wrote a name that no model has.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::civil::Date;

use super::list::{ListedModel, serves};
use super::names::is_for_chat;
use super::{endings, table};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, edits};
use crate::llm::catalog;

/// Most names that are suggested.
const MAX_NAMES: usize = 3;
/// Shorter words are in too many names.
const MIN_WORD_CHARS: usize = 3;

/// The names of the lists that came in this process, by provider and address.
static LISTED: Mutex<BTreeMap<(&str, String), Vec<String>>> = Mutex::new(BTreeMap::new());

/// Remembers what `provider` at `base` lists.
pub(super) fn remember(provider: &'static str, base: &str, names: Vec<String>) {
    let mut all = LISTED.lock().unwrap_or_else(PoisonError::into_inner);
    all.insert((provider, base.to_owned()), names);
}

/// `Did you mean "gpt-6.1-terra"?`, of the models that `provider` at `base` has listed and those that the table knows of it.
pub(crate) fn did_you_mean(provider: &str, base: &str, model: &str, today: Date) -> Option<String> {
    let all = LISTED.lock().unwrap_or_else(PoisonError::into_inner);
    let listed = all.get(&(provider, base.to_owned()));
    words(&nearest(
        provider,
        model,
        listed.map_or(&[], Vec::as_slice),
        today,
    ))
}

/// Whether `provider` at `base` has listed `model`; `None` where its list has not come.
pub(crate) fn is_listed(provider: &str, base: &str, model: &str) -> Option<bool> {
    let all = LISTED.lock().unwrap_or_else(PoisonError::into_inner);
    let listed = all.get(&(provider, base.to_owned()))?;
    let listed: Vec<ListedModel> = listed.iter().map(|name| ListedModel::named(name)).collect();
    Some(serves(&listed, model))
}

/// [`did_you_mean`], of models that are `listed`.
pub(crate) fn did_you_mean_of(
    provider: &str,
    model: &str,
    listed: &[String],
    today: Date,
) -> Option<String> {
    words(&nearest(provider, model, listed, today))
}

/// [`did_you_mean`], where only what is `listed` can be meant.
pub(crate) fn did_you_mean_listed(model: &str, listed: &[String]) -> Option<String> {
    words(&nearest_of(model, listed))
}

fn words(names: &[String]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    (!quoted.is_empty()).then(|| format!("Did you mean {}?", quoted.join(" or ")))
}

/// The names nearest to `model`, the nearest first: those that differ by a slip of the finger, else those in which it is a word.
fn nearest(provider: &str, model: &str, listed: &[String], today: Date) -> Vec<String> {
    nearest_of(model, &candidates(provider, model, listed, today))
}

fn nearest_of(model: &str, candidates: &[String]) -> Vec<String> {
    let wanted = plain(model);
    let limit = (wanted.chars().count() / 4).clamp(1, 4);
    let mut near: Vec<(usize, &String)> = candidates
        .iter()
        .filter(|name| name.as_str() != model)
        .map(|name| (edits(&wanted, &plain(name)), name))
        .filter(|(edits, _)| *edits <= limit)
        .collect();
    // The sort is stable: the table has the newest first.
    near.shared_sort_by_key(|(edits, _)| *edits);
    let best = near.first().map_or(0, |(edits, _)| *edits);
    near.retain(|(edits, _)| *edits <= best + usize::from(best > 1));
    let mut names: Vec<String> = near.into_iter().map(|(_, name)| name.clone()).collect();
    if names.is_empty() && wanted.chars().count() >= MIN_WORD_CHARS {
        let has_word = |name: &&String| {
            let name = plain(name);
            name != wanted
                && (name.starts_with(&wanted)
                    || name.split(['-', ':', '/']).any(|word| word == wanted))
        };
        names = candidates.iter().filter(has_word).cloned().collect();
    }
    names.truncate(MAX_NAMES);
    names
}

/// A name without what people write in two ways.
fn plain(name: &str) -> String {
    clip(name, 100).to_lowercase().replace(['.', '_'], "-")
}

/// What the provider is known to serve: its list, then the table, in which names may lack the vendor in front.
fn candidates(provider: &str, model: &str, listed: &[String], today: Date) -> Vec<String> {
    let mut names: Vec<String> = listed
        .iter()
        .filter(|name| is_for_chat(name))
        .cloned()
        .collect();
    if !names.is_empty() {
        return names;
    }
    names.extend(catalog::row(provider).map(|row| row.model.to_owned()));
    let vendor = model.rsplit_once('/').map(|(vendor, _)| vendor);
    for name in table::names(provider) {
        let end = endings::retirement(provider, name).map(|found| found.end);
        if end.is_some_and(|end| end.is_over(today)) || !is_for_chat(name) {
            continue;
        }
        let whole = vendor.map_or_else(|| name.to_owned(), |vendor| format!("{vendor}/{name}"));
        if !names.contains(&whole) {
            names.push(whole);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(provider: &str, model: &str, listed: &[&str]) -> Vec<String> {
        let listed: Vec<String> = listed.iter().map(|name| (*name).to_owned()).collect();
        nearest(provider, model, &listed, "2026-11-24".parse().unwrap())
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_model() {
        for (provider, model, wanted) in [
            ("openai", "gpt-6.1-tera", "gpt-6.1-terra"),
            ("openai", "GPT-6.1-Terra", "gpt-6.1-terra"),
            ("openai", "gpt6.1-terra", "gpt-6.1-terra"),
            ("anthropic", "claude-sonet-5-5", "claude-sonnet-5-5"),
            ("anthropic", "claude-sonnet-5.5", "claude-sonnet-5-5"),
            ("groq", "openai/gpt-oss-120", "openai/gpt-oss-120b"),
            ("gemini", "gemini-3.1-pro-previw", "gemini-3.1-pro-preview"),
        ] {
            let names = near(provider, model, &[]);
            assert_eq!(names.first().map(String::as_str), Some(wanted), "{model}");
        }
        assert_eq!(near("openai", "gpt-6.1-tera", &[]), ["gpt-6.1-terra"]);
    }

    #[test]
    fn a_family_finds_its_models_and_nonsense_finds_none() {
        let opus = near("anthropic", "opus", &[]);
        assert!(
            !opus.is_empty() && opus.iter().all(|name| name.contains("opus")),
            "{opus:?}"
        );
        assert_eq!(near("anthropic", "llama", &[]), [""; 0]);
        assert_eq!(near("ollama", "x", &[]), [""; 0]);
    }

    #[test]
    fn a_list_of_the_provider_comes_before_the_table() {
        let listed = ["our-terra", "qwen3-coder:30b", "nomic-embed-text:latest"];
        assert_eq!(
            near("ollama", "qwen3-coder:3b", &listed),
            ["qwen3-coder:30b"]
        );
        assert_eq!(near("ollama", "qwen3", &["qwen3:8b"]), ["qwen3:8b"]);
        assert_eq!(near("openai", "gpt-6.1-tera", &listed), [""; 0]);
    }

    #[test]
    fn what_has_ended_is_not_suggested() {
        let names = near("openai", "gpt-4.1-nanno", &[]);
        assert!(
            !names.iter().any(|name| name == "gpt-4.1-nano"),
            "{names:?}"
        );
    }
}
