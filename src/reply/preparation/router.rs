//! Picks the tools that the chat model gets for a message.

use std::collections::HashMap;

use super::tool_vectors;
use crate::base::problem::Outcome;
use crate::base::shared_sort::SharedSort as _;
use crate::chat::message::Message;
use crate::reply::dialogue::carry_over::dialogue_lines;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::reply::prompts;
use crate::reply::scratch::ScratchCache;
use crate::reply::settings::{ReplySettings, ToolStrategy};
use crate::reply::tools::catalogue::Catalogue;

const MAX_PICKS: usize = 5;
/// Picks by words, alone or together with meaning.
const MAX_RANKED: usize = 8;
/// How much of each ranking counts when two are put together, and how little the first places differ: reciprocal rank fusion as in Cormack, Clarke and
/// Büttcher (2009), with their constant.
const FUSED_RANKS: usize = 20;
const RANK_OFFSET: f64 = 60.0;
/// Characters of a description, in a short catalogue and in one with more than [`LONG_CATALOGUE`] tools.
const ABOUT_CHARS: usize = 120;
const SHORT_ABOUT_CHARS: usize = 60;
const LONG_CATALOGUE: usize = 40;

/// What a message is routed by.
#[derive(Clone, Copy)]
pub(crate) struct RouterInput<'a> {
    /// The message without secrets, on one line.
    pub query: &'a str,
    pub catalogue: &'a Catalogue,
    /// Time and place; empty for none.
    pub context_line: &'a str,
    /// The conversation before the message.
    pub history: &'a [Message],
}

/// The picked tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Routing {
    pub names: Vec<String>,
    /// How they were found.
    pub strategy: &'static str,
    /// Nothing could be picked, so it is everything.
    pub is_everything: bool,
}

/// The tools for a message, from the cache if the same was asked in this conversation.
pub(crate) fn pick(
    input: &RouterInput<'_>,
    model: &dyn StageModel,
    settings: &ReplySettings,
    scratch: &ScratchCache,
) -> Routing {
    let strategy = strategy_name(settings.tool_selection_strategy);
    let key = format!(
        "router:{}|{strategy}|{}",
        input.query,
        input.catalogue.fingerprint()
    );
    if let Some(names) = scratch.get(&key) {
        let names = names.split(',').filter(|name| !name.is_empty());
        return Routing {
            names: names.map(str::to_owned).collect(),
            strategy,
            is_everything: false,
        };
    }
    let epoch = scratch.epoch();
    let routing = route(input, model, settings);
    if !routing.is_everything {
        scratch.put(epoch, &key, routing.names.join(","));
    }
    routing
}

/// The same without the cache: for a search of the chat model among all tools.
pub(crate) fn route(
    input: &RouterInput<'_>,
    model: &dyn StageModel,
    settings: &ReplySettings,
) -> Routing {
    let catalogue = input.catalogue;
    let strategy = settings.tool_selection_strategy;
    let some = |names: Vec<String>, strategy| Routing {
        is_everything: !names.is_empty() && names.len() == catalogue.len(),
        names,
        strategy: strategy_name(strategy),
    };
    if catalogue.len() == 0 {
        return some(Vec::new(), strategy);
    }
    match strategy {
        ToolStrategy::All => return some(all(catalogue), ToolStrategy::All),
        ToolStrategy::Llm => match ask(input, model, settings) {
            Ok(Some(names)) => return some(names, ToolStrategy::Llm),
            // Nobody waits for the tools of a reply that was stopped, and as everything they are not kept for the next one.
            Err(problem) if problem.is_cancelled() => {
                return Routing {
                    is_everything: true,
                    ..some(Vec::new(), strategy)
                };
            }
            Ok(None) | Err(_) => {}
        },
        ToolStrategy::Embedding => {
            return match tool_vectors::pick(input.query, catalogue, model) {
                Ok(names) => some(names, ToolStrategy::Embedding),
                Err(_) => some(all(catalogue), ToolStrategy::All),
            };
        }
        ToolStrategy::Keyword | ToolStrategy::Both => {}
    }
    // Both together find more than either, so they also stand in for a router that failed, where there is a model for it.
    if strategy != ToolStrategy::Keyword
        && !settings.embed_model.is_empty()
        && let Ok(near) = tool_vectors::by_nearness(input.query, catalogue, model)
    {
        let near: Vec<&str> = near.into_iter().map(|(name, _)| name).collect();
        let names = fused(&catalogue.rank(input.query, FUSED_RANKS), &near);
        return some(names, ToolStrategy::Both);
    }
    let ranked = catalogue.rank(input.query, MAX_RANKED);
    if ranked.is_empty() {
        return some(all(catalogue), ToolStrategy::All);
    }
    let names = ranked.into_iter().map(str::to_owned);
    some(names.collect(), ToolStrategy::Keyword)
}

/// The best of two rankings together.
fn fused(one: &[&str], other: &[&str]) -> Vec<String> {
    let mut scores: HashMap<&str, f64> = HashMap::new();
    for ranking in [one, other] {
        for (name, rank) in ranking.iter().take(FUSED_RANKS).zip(1_u32..) {
            *scores.entry(name).or_default() += 1.0 / (RANK_OFFSET + f64::from(rank));
        }
    }
    let mut names: Vec<_> = scores.into_iter().collect();
    names.shared_sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(other.0)));
    let names = names.into_iter().take(MAX_RANKED);
    names.map(|(name, _)| name.to_owned()).collect()
}

fn all(catalogue: &Catalogue) -> Vec<String> {
    catalogue.names().map(str::to_owned).collect()
}

const fn strategy_name(strategy: ToolStrategy) -> &'static str {
    match strategy {
        ToolStrategy::All => "all",
        ToolStrategy::Keyword => "keyword",
        ToolStrategy::Embedding => "embedding",
        ToolStrategy::Both => "both",
        ToolStrategy::Llm => "llm",
    }
}

/// The picks of the router's model; `None` when its answer names no tool and is not "none".
fn ask(
    input: &RouterInput<'_>,
    model: &dyn StageModel,
    settings: &ReplySettings,
) -> Outcome<Option<Vec<String>>> {
    let answer = model.ask(&StageRequest {
        stage: Stage::Router,
        system: prompts::ROUTER.trim_end(),
        user: &user_message(input),
        // The words of the question pick tools as well; a router that stalls costs no more than a planner that does.
        limit: settings.tools_limit.min(settings.planner_limit),
    })?;
    Ok(parse(&answer, &|name| input.catalogue.canonical(name)))
}

fn user_message(input: &RouterInput<'_>) -> String {
    let mut blocks = Vec::new();
    let mut block = |heading: &str, text: &str| {
        if !text.is_empty() {
            blocks.push(format!("{heading}\n{text}"));
        }
    };
    block("KNOWN FACTS", input.context_line);
    let dialogue = dialogue_lines(input.history);
    block("RECENT DIALOGUE", &dialogue.join("\n"));
    let chars = match input.catalogue.len() > LONG_CATALOGUE {
        true => SHORT_ABOUT_CHARS,
        false => ABOUT_CHARS,
    };
    block("TOOLS", &input.catalogue.list(chars));
    block("MESSAGE", input.query);
    blocks.join("\n\n")
}

/// Words of an answer that are looked at: what is longer is no list of names, and each is compared with those of all tools.
const MAX_WORDS: usize = 500;

/// The known tools that an answer names, the first five; none for the word "none"; `None` when it names nothing.
fn parse(answer: &str, known: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    if bare(answer).eq_ignore_ascii_case("none") {
        return Some(Vec::new());
    }
    let mut names: Vec<String> = Vec::new();
    let pieces = answer.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
    let pieces = pieces.take(MAX_WORDS);
    for name in pieces.filter_map(|piece| known(bare(piece))) {
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() == MAX_PICKS {
            break;
        }
    }
    (!names.is_empty()).then_some(names)
}

/// A word without the marks that models put around names.
fn bare(piece: &str) -> &str {
    piece.trim_matches(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\''
                    | '`'
                    | '“'
                    | '”'
                    | '‘'
                    | '’'
                    | '['
                    | ']'
                    | '('
                    | ')'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | '*'
                    | '-'
                    | '–'
                    | '—'
                    | '•'
                    | '.'
                    | ','
                    | ';'
                    | ':'
                    | '!'
                    | '?'
                    | '。'
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::testing::{Scripted, catalogue};

    fn input<'a>(query: &'a str, catalogue: &'a Catalogue) -> RouterInput<'a> {
        RouterInput {
            query,
            catalogue,
            context_line: "[Context: today]",
            history: &[],
        }
    }

    #[test]
    fn a_stopped_reply_leaves_no_picks_behind() {
        struct Stopped;
        impl StageModel for Stopped {
            fn ask(&self, _: &StageRequest<'_>) -> Outcome<String> {
                Err(crate::base::problem::Problem::cancelled())
            }
        }
        let (all, scratch) = (catalogue(None), ScratchCache::default());
        let settings = ReplySettings::default();
        let question = input("read my note", &all);
        assert!(
            pick(&question, &Stopped, &settings, &scratch)
                .names
                .is_empty()
        );
        let model = Scripted::new(&[Some("read_note")]);
        let picked = pick(&question, &model, &settings, &scratch);
        assert_eq!(picked.names, ["read_note"]);
    }

    #[test]
    fn names_are_found_in_every_wrapping() {
        let known = |name: &str| {
            let known = [
                "read_note",
                "convert_units",
                "search_notes",
                "notes_ls",
                "write_note",
                "tree",
            ];
            known.contains(&name).then(|| name.to_owned())
        };
        for (answer, want) in [
            ("None", Some(vec![])),
            ("`none`.", Some(vec![])),
            ("read_note", Some(vec!["read_note"])),
            ("none of these, read_note", Some(vec!["read_note"])),
            (
                "1. `read_note`\n- **convert_units**, nothing; [search_notes] (notes_ls) \"write_note\", tree",
                Some(vec![
                    "read_note",
                    "convert_units",
                    "search_notes",
                    "notes_ls",
                    "write_note",
                ]),
            ),
            ("tree, tree read_note.", Some(vec!["tree", "read_note"])),
            ("", None),
            ("I would look it up.", None),
        ] {
            let want: Option<Vec<String>> =
                want.map(|names| names.into_iter().map(str::to_owned).collect());
            assert_eq!(parse(answer, &known), want, "{answer}");
        }
    }

    #[test]
    fn the_same_words_are_routed_once_in_a_conversation() {
        let (all, scratch) = (catalogue(None), ScratchCache::default());
        let settings = ReplySettings::default();
        let model = Scripted::new(&[Some("web_search"), Some("none"), Some("tree")]);
        let names = |query: &str| pick(&input(query, &all), &model, &settings, &scratch).names;
        assert_eq!(names("how tall is a heron"), ["web_search"]);
        assert_eq!(names("how tall is a heron"), ["web_search"]);
        assert_eq!(names("thanks"), [] as [&str; 0]);
        assert_eq!(names("thanks"), [] as [&str; 0]);
        assert_eq!(model.calls(), 2);
        scratch.clear();
        assert_eq!(names("thanks"), ["tree"]);
    }

    #[test]
    fn embeddings_pick_the_nearest_tools_and_without_them_it_is_everything() {
        let (all, scratch) = (catalogue(None), ScratchCache::default());
        let settings = ReplySettings {
            tool_selection_strategy: ToolStrategy::Embedding,
            embed_model: "nomic".to_owned(),
            ..ReplySettings::default()
        };
        let query = input("convert units", &all);
        let dead = pick(&query, &Scripted::new(&[]), &settings, &scratch);
        assert!(dead.is_everything && dead.strategy == "all", "{dead:?}");
        let model = Scripted::new(&[]).with_vectors();
        let picked = pick(&query, &model, &settings, &scratch);
        assert_eq!(picked.strategy, "embedding");
        assert_eq!(picked.names[0], "convert_units");
        assert!((3..=8).contains(&picked.names.len()), "{picked:?}");
        // The picks are kept for the conversation, the vectors of the tools for good.
        assert_eq!(
            pick(&query, &Scripted::new(&[]), &settings, &scratch),
            picked
        );
        assert_eq!(
            all.vectors(|| panic!("asked again")).unwrap().len(),
            all.len()
        );
    }

    #[test]
    fn two_rankings_together_prefer_what_both_have() {
        assert_eq!(fused(&["a", "b"], &["c", "b", "a"]), ["a", "b", "c"]);
        assert_eq!(fused(&[], &["c", "b"]), ["c", "b"]);
        let many: Vec<String> = (0..30).map(|n| format!("t{n:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(fused(&many, &[]).len(), MAX_RANKED);
    }

    #[test]
    fn words_and_meaning_stand_in_for_a_dead_router_and_words_for_a_dead_meaning() {
        let all = catalogue(None);
        let settings = |strategy| ReplySettings {
            tool_selection_strategy: strategy,
            embed_model: "nomic".to_owned(),
            ..ReplySettings::default()
        };
        let query = input("wake me up at seven", &all);
        for strategy in [ToolStrategy::Llm, ToolStrategy::Both] {
            let alive = Scripted::new(&[]).with_vectors();
            let routing = route(&query, &alive, &settings(strategy));
            assert_eq!(
                (routing.strategy, routing.names.len()),
                ("both", MAX_RANKED)
            );
            assert!(
                routing.names.contains(&"set_alarm".to_owned()),
                "{routing:?}"
            );
        }
        let routing = route(&query, &Scripted::new(&[]), &settings(ToolStrategy::Both));
        assert_eq!(routing.strategy, "keyword");
        assert!(
            routing.names.contains(&"set_alarm".to_owned()),
            "{routing:?}"
        );
    }

    #[test]
    fn a_dead_router_is_replaced_by_words_and_then_by_everything() {
        let (all, scratch) = (catalogue(None), ScratchCache::default());
        let settings = ReplySettings::default();
        let model = Scripted::new(&[None, Some("no idea at all"), None]);
        let routing = |query: &str| pick(&input(query, &all), &model, &settings, &scratch);
        let units = routing("convert units");
        assert!(units.names.contains(&"convert_units".to_owned()) && !units.is_everything);
        assert_eq!(units.strategy, "keyword");
        for calls in [2, 3] {
            let everything = routing("zzyzx qwortle");
            assert!(everything.is_everything && everything.names.len() == all.len());
            assert_eq!(model.calls(), calls, "everything is not cached");
        }
    }

    #[test]
    fn strategies_without_a_model_ask_none() {
        let all = catalogue(None);
        let model = Scripted::new(&[]);
        for (strategy, query, name, is_everything) in [
            (ToolStrategy::All, "convert units", "all", true),
            (ToolStrategy::Keyword, "convert units", "keyword", false),
            (ToolStrategy::Keyword, "to be or not", "all", true),
        ] {
            let settings = ReplySettings {
                tool_selection_strategy: strategy,
                ..ReplySettings::default()
            };
            let routing = route(&input(query, &all), &model, &settings);
            assert_eq!(
                (routing.strategy, routing.is_everything),
                (name, is_everything)
            );
        }
        let none = catalogue(Some(Vec::new()));
        let routing = route(&input("hi", &none), &model, &ReplySettings::default());
        assert_eq!(
            (routing.names.len(), routing.is_everything, model.calls()),
            (0, false, 0)
        );
    }

    #[test]
    fn the_router_sees_facts_dialogue_tools_and_message_in_that_order() {
        let git = catalogue(Some(vec!["git"]));
        let history = [Message::user("x"), Message::assistant("Kestrel-41")];
        let with = RouterInput {
            history: &history,
            ..input("and which colour", &git)
        };
        let text = user_message(&with);
        let order = [
            "KNOWN FACTS\n[Context: today]",
            "RECENT DIALOGUE\n- user: x\n- assistant: Kestrel-41",
            "TOOLS\ngit_",
            "MESSAGE\nand which colour",
        ];
        let places: Vec<usize> = order.iter().map(|part| text.find(part).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
        let bare = RouterInput {
            context_line: "",
            ..input("x", &git)
        };
        let text = user_message(&bare);
        assert!(text.starts_with("TOOLS\n"), "{text}");
        // The whole catalogue stays small enough for the window of a small model.
        let all = catalogue(None);
        assert!(user_message(&input("x", &all)).len() / 4 < 3_000);
    }
}
