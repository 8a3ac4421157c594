//! `offline`, the built-in provider: no model and no network. It matches the last message against the phrases that the offered tools declare, calls
//! the tool through the normal loop and shows its result. It never pretends to be a model.

use serde_json::{Map, Value};

use super::failure::{Failure, FailureKind};
use super::provider::{Delta, Offer, Provider, Reply, Request};
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::base::shared_sort::SharedSort as _;
use crate::base::{ids, text};
use crate::chat::message::{Message, ToolCall};

pub(crate) use super::catalog::OFFLINE as NAME;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Offline;

impl Provider for Offline {
    fn name(&self) -> &'static str {
        NAME
    }

    fn is_model(&self) -> bool {
        false
    }

    fn stream(
        &self,
        request: &Request<'_>,
        on: &mut dyn FnMut(Delta<'_>),
        _: &Cancel,
    ) -> Result<Reply, Failure> {
        let mut reply = Reply::default();
        match request.messages.last() {
            Some(Message::Tool(output)) if output.failed => {
                let what = output.text.strip_prefix("Error: ").unwrap_or(&output.text);
                return Err(Failure::new(FailureKind::Refused, Problem::input(what)));
            }
            Some(Message::Tool(output)) => {
                on(Delta::Text(&output.text));
                reply.text.clone_from(&output.text);
            }
            Some(Message::User(user)) => match find(request.offer, &user.text) {
                Some((name, args)) => {
                    let args = Value::Object(args).to_string();
                    reply.calls.push(ToolCall::new(ids::call(), name, args));
                }
                None => {
                    return Err(Failure::new(
                        FailureKind::Refused,
                        unmatched(request.offer, &user.text),
                    ));
                }
            },
            _ => {
                return Err(Failure::new(
                    FailureKind::Refused,
                    unmatched(request.offer, ""),
                ));
            }
        }
        Ok(reply)
    }
}

/// The tool and arguments of the phrase that matches the whole message.
fn find(offer: &Offer, said: &str) -> Option<(String, Map<String, Value>)> {
    let said = said.trim().trim_end_matches(['.', '!', '?']);
    // Of several matching phrases, the one with the most literal words wins.
    let fitting = offer
        .tools
        .iter()
        .flat_map(|tool| tool.phrases.iter().map(move |phrase| (tool, phrase)));
    let best = fitting
        .filter_map(|(tool, phrase)| {
            let (words, fixed) = parted(phrase);
            let mut args = fit(words, said)?;
            args.extend(fixed);
            Some((own_words(words), tool, args))
        })
        .max_by_key(|(words, ..)| *words)?;
    Some((best.1.name.clone().into_owned(), best.2))
}

/// Splits a phrase from its fixed values: `note: {content}{path=inbox.md}`.
fn parted(phrase: &str) -> (&str, Map<String, Value>) {
    let (mut words, mut fixed) = (phrase, Map::new());
    while let Some((before, slot)) = words
        .strip_suffix('}')
        .and_then(|rest| rest.rsplit_once('{'))
        && let Some((name, value)) = slot.split_once('=')
    {
        fixed.insert(name.to_owned(), Value::from(value));
        words = before.trim_end();
    }
    (words, fixed)
}

fn own_words(phrase: &str) -> usize {
    phrase
        .split_whitespace()
        .filter(|word| !word.starts_with('{'))
        .count()
}

/// Matches `said` against a phrase: literal words ignoring case, and any non-empty text in the slots.
fn fit(phrase: &str, said: &str) -> Option<Map<String, Value>> {
    let (literal, rest) = match phrase.find('{') {
        Some(at) => phrase.split_at(at),
        None => (phrase, ""),
    };
    let said = strip_prefix_any_case(said, literal)?;
    if rest.is_empty() {
        return said.trim().is_empty().then(Map::new);
    }
    let (slot, after) = rest.strip_prefix('{')?.split_once('}')?;
    let next = after.split('{').next().unwrap_or_default();
    if next.is_empty() {
        let value = unquoted(said);
        return (!value.is_empty())
            .then(|| Map::from_iter([(slot.to_owned(), Value::from(value))]));
    }
    // The last occurrence of the next literal words: "replace a with b with c in f" is rare, and can be quoted.
    let lower = said.to_lowercase();
    if lower.len() != said.len() {
        return None;
    }
    for (at, _) in lower.match_indices(&next.to_lowercase()) {
        let value = unquoted(said.get(..at)?);
        if value.is_empty() {
            continue;
        }
        if let Some(mut args) = fit(after, said.get(at..)?) {
            args.insert(slot.to_owned(), Value::from(value));
            return Some(args);
        }
    }
    None
}

fn strip_prefix_any_case<'a>(said: &'a str, prefix: &str) -> Option<&'a str> {
    let head = said.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| said.get(prefix.len()..))
        .flatten()
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    for quote in ['"', '\'', '`'] {
        if let Some(inner) = value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inner;
        }
    }
    value
}

/// The answer to a message that matches no phrase: how to set up a model, and the most similar phrases.
fn unmatched(offer: &Offer, said: &str) -> Problem {
    let words: Vec<String> = said
        .split_whitespace()
        .map(str::to_lowercase)
        .take(50)
        .collect();
    let mut phrases: Vec<(usize, &str)> = offer
        .tools
        .iter()
        .flat_map(|tool| tool.phrases.iter().map(|phrase| parted(phrase).0))
        .map(|phrase| {
            (
                phrase
                    .split_whitespace()
                    .filter(|word| words.iter().any(|said| said == word))
                    .count(),
                phrase,
            )
        })
        .collect();
    // With no word in common, the phrases without slots.
    phrases.shared_sort_by_key(|(shared, phrase)| {
        (std::cmp::Reverse(*shared), phrase.matches('{').count())
    });
    let near: Vec<&str> = phrases.iter().take(4).map(|(_, phrase)| *phrase).collect();
    let problem = Problem::config(format!("No language model is set up, and \"{}\" is nothing I can do without one.", text::clip(&text::escape_controls(said.trim()), 60)))
        .next("To set one up: export OPENAI_API_KEY=… (or another provider's key), or run ollama: marvin help providers.");
    if near.is_empty() {
        problem
    } else {
        problem.facts(format!(
            "Without a model I understand: {}.",
            near.join(" · ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::provider::{Offered, Phrases};

    fn offer() -> Offer {
        let tool = |name: &'static str, phrases: &'static [&'static str]| Offered {
            name: name.into(),
            about_json: "\"\"".into(),
            params_json: "{}".into(),
            phrases: Phrases::BuiltIn(phrases),
        };
        Offer::new(vec![
            tool("tree", &["show the tree", "list files in {path}"]),
            tool("code_grep", &["find {pattern}"]),
            tool(
                "apply_patch",
                &["replace {old_str} with {new_str} in {path}"],
            ),
            tool(
                "write_note",
                &["note: {content}{path=inbox.md}{append=true}"],
            ),
        ])
    }

    fn found(said: &str) -> Option<(String, String)> {
        find(&offer(), said).map(|(name, args)| (name, Value::Object(args).to_string()))
    }

    #[test]
    fn phrases_become_calls() {
        assert_eq!(
            found(" Show the Tree! "),
            Some(("tree".into(), "{}".into()))
        );
        assert_eq!(
            found("find fn main"),
            Some(("code_grep".into(), r#"{"pattern":"fn main"}"#.into()))
        );
        assert_eq!(
            found("replace \"teh with\" with 'the' in notes.md"),
            Some((
                "apply_patch".into(),
                r#"{"path":"notes.md","new_str":"the","old_str":"teh with"}"#.into()
            ))
        );
        assert_eq!(
            found("Note: buy milk"),
            Some((
                "write_note".into(),
                r#"{"content":"buy milk","append":"true","path":"inbox.md"}"#.into()
            ))
        );
        assert_eq!(found("find"), None);
        assert_eq!(found("explain the tree"), None);
        assert_eq!(found("ſhow the tree"), None);
    }

    #[test]
    fn what_fits_nothing_says_how_to_get_a_model_and_what_works() {
        let problem = unmatched(&offer(), "please replace my job");
        assert!(
            problem
                .one_line()
                .starts_with("No language model is set up")
        );
        assert!(
            problem
                .facts
                .unwrap()
                .starts_with("Without a model I understand: replace {old_str}")
        );
    }
}
