//! The system message of the chat model.

use serde_json::json;

use crate::base::template::fill;
use crate::base::text::clip;
use crate::reply::prompts;
use crate::reply::tools::catalogue::{Catalogue, TOOL_SEARCH};

/// Characters of preferences, and of saved places, for a small model.
const SMALL_FACTS_CHARS: usize = 600;

/// What the system message is made of. Empty parts are left out.
#[derive(Clone, Copy)]
pub(crate) struct SystemParts<'a> {
    /// As [`crate::reply::preparation::context_line`] writes it.
    pub context_line: &'a str,
    pub assistant_name: &'a str,
    pub is_small: bool,
    pub facts: ProfileFacts<'a>,
    /// The message was heard.
    pub is_spoken: bool,
    pub is_read_aloud: bool,
    /// The only language of the voice that speaks the answer.
    pub voice_language: Option<&'a str>,
    /// As [`crate::reply::memory::warm_profile`] renders it.
    pub warm_profile: &'a str,
    pub memory: MemoryBlock<'a>,
    /// The steps of the plan, without those for the memory.
    pub steps: &'a [String],
    /// Tools that may be called, `tool_search` among them or not.
    pub tools: &'a [String],
    /// The catalogue, when calls are written as text.
    pub text_tools: Option<&'a Catalogue>,
}

/// What the profile says about the user.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProfileFacts<'a> {
    pub preferences: &'a str,
    pub profile: &'a str,
    pub places: &'a str,
    /// Background jobs, one per line.
    pub jobs: &'a str,
}

/// What is recalled of earlier conversations.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum MemoryBlock<'a> {
    #[default]
    None,
    /// As it was found.
    Raw {
        diary: &'a [String],
        graph: &'a [String],
    },
    /// Condensed.
    Note(&'a str),
}

pub(crate) fn build(parts: &SystemParts<'_>) -> String {
    let mut out = Sections(format!("{}\n", parts.context_line));
    out.add(&fill(prompts::PERSONA, &[("name", parts.assistant_name)]));
    add_facts(&mut out, parts);
    out.add(if parts.is_spoken {
        prompts::INPUT_SPOKEN
    } else {
        prompts::INPUT_TYPED
    });
    out.add(prompts::INFERENCE);
    let by_size = |small, large| if parts.is_small { small } else { large };
    out.add(by_size(prompts::INCENTIVE_SMALL, prompts::INCENTIVE_LARGE));
    out.add(if parts.is_read_aloud {
        prompts::STYLE_SPOKEN
    } else {
        prompts::STYLE_TYPED
    });
    out.add(prompts::GUIDANCE);
    let search = match parts.tools.iter().any(|name| name == TOOL_SEARCH) {
        true => ", and tried `tool_search` if none fits",
        false => "",
    };
    let constraints = by_size(prompts::CONSTRAINTS_SMALL, prompts::CONSTRAINTS_LARGE);
    let constraints = fill(constraints, &[("search", search)]);
    out.add(&constraints);
    if parts.is_small {
        // A small model follows what it has read twice.
        out.add(&constraints);
    }
    out.add(&match parts.voice_language {
        Some(language) => fill(prompts::LANGUAGE_FIXED, &[("language", language)]),
        None => fill(prompts::LANGUAGE_FOLLOW, &[]),
    });
    out.add(parts.warm_profile);
    add_memory(&mut out, parts.memory);
    if parts.steps.len() >= 2 {
        let steps = parts.steps.iter().enumerate();
        let steps: Vec<String> = steps
            .map(|(n, step)| format!("{}. {step}", n + 1))
            .collect();
        out.add(&fill(prompts::ACTION_PLAN, &[("steps", &steps.join("\n"))]));
    }
    if let Some(catalogue) = parts.text_tools {
        let entries = parts.tools.iter().map(|name| catalogue.entry(name));
        let entries: Vec<String> = entries.collect();
        let example = example(parts.tools, catalogue);
        out.add(&fill(
            prompts::TEXT_TOOLS,
            &[("tools", &entries.join("\n")), ("example", &example)],
        ));
    }
    out.0
}

/// A call of the first tool that needs arguments, filled in.
pub(crate) fn example(tools: &[String], catalogue: &Catalogue) -> String {
    let needs_any = |name: &&String| catalogue.inputs(name).iter().any(|input| input.is_required);
    let shown = tools.iter().find(needs_any).or(tools.first());
    let name = shown.map_or(TOOL_SEARCH, String::as_str);
    json!({"name": name, "arguments": catalogue.example(name)}).to_string()
}

fn add_facts(out: &mut Sections, parts: &SystemParts<'_>) {
    let facts = parts.facts;
    let size = |text: &str| match parts.is_small {
        true => clip(text.trim(), SMALL_FACTS_CHARS),
        false => text.trim().to_owned(),
    };
    out.headed("Preferences of the user", &size(facts.preferences));
    out.headed("Active profile", facts.profile);
    out.headed("Saved places", &size(facts.places));
    out.headed("Background jobs", facts.jobs);
}

fn add_memory(out: &mut Sections, memory: MemoryBlock<'_>) {
    match memory {
        MemoryBlock::None => {}
        MemoryBlock::Raw { diary, graph } => {
            for (prompt, entries) in [(prompts::DIARY, diary), (prompts::GRAPH, graph)] {
                if !entries.is_empty() {
                    out.add(&fill(prompt, &[("entries", &entries.join("\n"))]));
                }
            }
        }
        MemoryBlock::Note(note) if note.trim().is_empty() => {}
        MemoryBlock::Note(note) => out.add(&fill(prompts::MEMORY_NOTE, &[("note", note)])),
    }
}

/// Parts with a blank line between them.
struct Sections(String);

impl Sections {
    fn add(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            if !self.0.ends_with("\n\n") {
                self.0.push('\n');
            }
            self.0.push_str(text);
            self.0.push('\n');
        }
    }

    fn headed(&mut self, heading: &str, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.add(&format!("## {heading}\n{text}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_lacks;
    use crate::reply::testing::catalogue;

    const LINE: &str = "[Context: Friday, March 6, 2026 at 14:05 Europe/Lisbon, Location: Porto]";

    fn parts<'a>() -> SystemParts<'a> {
        SystemParts {
            context_line: LINE,
            assistant_name: "Marvin",
            is_small: false,
            facts: ProfileFacts::default(),
            is_spoken: false,
            is_read_aloud: false,
            voice_language: None,
            warm_profile: "",
            memory: MemoryBlock::None,
            steps: &[],
            tools: &[],
            text_tools: None,
        }
    }

    fn strings<const N: usize>(list: [&str; N]) -> Vec<String> {
        list.map(str::to_owned).to_vec()
    }

    #[test]
    fn empty_parts_leave_nothing_behind() {
        let text = build(&parts());
        assert!(
            text.starts_with(&format!("{LINE}\n\nYou are Marvin")),
            "{text}"
        );
        assert_lacks(
            &text,
            &[
                "##",
                "ACTION PLAN",
                "reference only",
                "tool_search",
                "tool_call",
                "{{",
                "\n\n\n",
            ],
        );
    }

    #[test]
    fn the_parts_stand_in_their_order() {
        let catalogue = catalogue(None);
        let steps = strings(["read_note path='film.md'", "Reply to the user."]);
        let tools = strings(["read_note", "stop", "tool_search"]);
        let diary = strings(["[2026-02-11] Boots leak.", "[2026-01-20] Bought boots."]);
        let graph = strings(["[Root > World] Herons wade."]);
        let text = build(&SystemParts {
            is_small: true,
            facts: ProfileFacts {
                preferences: &"budget: any ".repeat(100),
                profile: "main",
                places: "home: Porto",
                jobs: "cargo build",
            },
            warm_profile: "WARM",
            memory: MemoryBlock::Raw {
                diary: &diary,
                graph: &graph,
            },
            steps: &steps,
            tools: &tools,
            text_tools: Some(&catalogue),
            ..parts()
        });
        let order = [
            "[Context: ",
            "You are Marvin",
            "## Preferences",
            "## Active profile\nmain",
            "## Saved places\nhome: Porto",
            "## Background jobs\ncargo build",
            "The user types",
            "Prefer a sensible",
            "Use a tool when",
            "Be brief",
            "Every specific fact",
            "Rules for tools",
            "Answer in the language",
            "WARM",
            "reference only",
            "most recent",
            "[2026-02-11]",
            "[2026-01-20]",
            "## Shared earlier",
            "[Root > World]",
            "ACTION PLAN",
            "1. read_note",
            "2. Reply",
            "## Tools\nread_note: ",
            "Input: path: string (required)",
            "stop: ",
            "tool_search: ",
            "```tool_call",
        ];
        let mut from = 0;
        for part in order {
            let at = text[from..].find(part);
            from += at.unwrap_or_else(|| panic!("{part} is not in its place: {text}"));
        }
        assert_eq!(text.matches("Rules for tools").count(), 2, "read twice");
        let preferences = text.split("## Preferences of the user\n").nth(1).unwrap();
        assert_eq!(preferences.split('\n').next().unwrap().chars().count(), 601);
    }

    #[test]
    fn a_note_stands_for_what_was_found_and_speech_changes_the_style() {
        let text = build(&SystemParts {
            memory: MemoryBlock::Note("They take size 42."),
            is_spoken: true,
            is_read_aloud: true,
            voice_language: Some("Portuguese"),
            steps: &strings(["Reply to the user."]),
            tools: &strings(["tool_search"]),
            ..parts()
        });
        assert!(text.contains("They take size 42.") && text.contains("reference only"));
        assert!(text.contains("read aloud") && text.contains("speaks only Portuguese"));
        assert!(!text.contains("Be brief") && !text.contains("ACTION PLAN"));
        assert!(text.contains("`tool_search`") && text.matches("Never decline").count() == 1);
    }

    #[test]
    fn what_was_remembered_fills_no_slot() {
        let text = build(&SystemParts {
            memory: MemoryBlock::Note("{{name}} {{steps}}"),
            ..parts()
        });
        assert!(text.contains("{{name}} {{steps}}"));
    }
}
