//! The formats of the families, whole, cut, broken, in pieces; and texts that speak about them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::draft::{DraftChange, DraftFilter};
use super::*;

const TOOLS: [&str; 4] = ["web_search", "set_alarm", "convert_units", "read_note"];

fn is_known(name: &str) -> bool {
    TOOLS.contains(&name)
}

fn sorted(text: &str) -> ModelText {
    read(text, &is_known)
}

/// Calls with their arguments as one JSON object.
fn calls(text: &str) -> Vec<(String, Value)> {
    let calls = sorted(text).calls.into_iter();
    calls
        .map(|call| {
            let given = match call.arguments {
                RawArguments::Json(value) => value,
                RawArguments::Texts(pairs) => pairs
                    .into_iter()
                    .map(|(key, value)| (key, Value::from(value)))
                    .collect(),
            };
            (call.name, given)
        })
        .collect()
}

/// What is on the screen before the answer is whole, at its fullest, when it comes in pieces of so many characters.
fn drafts(text: &str, size: usize) -> Vec<String> {
    let mut filter = DraftFilter::new(TOOLS.map(str::to_owned).to_vec(), Vec::new());
    let chars: Vec<char> = text.chars().collect();
    let mut screen = String::new();
    let mut frames = Vec::new();
    for piece in chars.chunks(size) {
        for change in filter.feed(&piece.iter().collect::<String>()) {
            match change {
                DraftChange::Show(piece) => screen.push_str(&piece),
                DraftChange::Drop => screen.clear(),
            }
            frames.push(screen.clone());
        }
    }
    frames
}

/// One call of `web_search` with the query `tides`, as each family writes it: lines of a family's name and what it writes.
fn written() -> Vec<(String, String)> {
    let lines = include_str!("../../../fixtures/reply/written-calls.jsonl").lines();
    let row = |line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| row[name].as_str().unwrap().to_owned();
        (field("family"), field("text"))
    };
    lines.map(row).collect()
}

/// Thoughts in the ways of several families.
const THOUGHTS: &[&str] = &[
    "",
    "<think>They want tides</think>",
    "<THINK>\nThey want tides\n</THINK>\n\n",
    "[THINK]They want tides[/THINK]",
    "◁think▷They want tides◁/think▷",
    "<|START_THINKING|>They want tides<|END_THINKING|>",
    "<seed:think>They want tides</seed:think>",
    "<reasoning>They want tides</reasoning>\n",
];

/// Words of which none may be on the screen.
const MACHINERY: [&str; 22] = [
    "web_search",
    "tool_call",
    "TOOL_CALL",
    "function",
    "tides\"",
    "arguments",
    "parameters",
    "<|",
    "|>",
    "｜",
    "Thought",
    "Action",
    "Observation",
    "call:",
    "<tool",
    "</",
    "[TOOL",
    "analysis",
    "commentary",
    "I search",
    "They want",
    "They look",
];

fn arguments(call: &(String, Value)) -> Value {
    match &call.1 {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        other => other.clone(),
    }
}

#[test]
fn the_call_of_each_family_is_a_call_and_nothing_of_it_is_seen() {
    for (family, text) in &written() {
        let found = calls(text);
        assert_eq!(found.len(), 1, "{family}: {:?}", sorted(text));
        assert_eq!(found[0].0, "web_search", "{family}");
        assert_eq!(arguments(&found[0]), json!({"query": "tides"}), "{family}");
        let prose = sorted(text).prose;
        for word in MACHINERY {
            assert!(!prose.contains(word), "{family}: {prose}");
            for size in [1, 3, 1000] {
                for frame in drafts(text, size) {
                    assert!(
                        !frame.contains(word),
                        "{family} in pieces of {size}: {frame}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_call_of_a_tool_that_nobody_has_is_never_seen_either() {
    for (family, text) in &written() {
        let text = text.replace("web_search", "look_up");
        let found = sorted(&text);
        // What only a tool's name makes a call.
        if ["in mid-sentence", "in a fence, Python"].contains(&family.as_str()) {
            continue;
        }
        let is_seen = found.prose.contains("look_up") || found.prose.contains("tides\"");
        assert!(!is_seen, "{family}: {}", found.prose);
        assert!(!found.calls.is_empty() || found.has_broken_call, "{family}");
    }
}

#[test]
fn a_call_that_is_cut_at_any_place_is_neither_guessed_nor_seen() {
    for (family, text) in &written() {
        for (at, _) in text.char_indices() {
            let found = sorted(text.get(..at).unwrap());
            for call in &found.calls {
                let RawArguments::Json(given) = &call.arguments else {
                    continue;
                };
                let whole = arguments(&(call.name.clone(), given.clone()));
                // Nothing given is what a name alone says; half a query is not.
                let is_whole = whole == json!({"query": "tides"})
                    || whole.is_null()
                    || whole == json!({})
                    || whole.is_string();
                assert!(is_whole, "{family} cut at {at}: {call:?}");
            }
            for word in [
                "\"query\"",
                "tool_call",
                "<|start",
                "python_tag",
                "arguments",
                "<function",
            ] {
                // An answer that begins like data is never shown as it is.
                let is_guarded = found.prose.starts_with(['{', '[']);
                assert!(
                    is_guarded || !found.prose.contains(word),
                    "{family} cut at {at}: {}",
                    found.prose
                );
            }
        }
    }
}

#[test]
fn two_calls_at_once_are_two() {
    for text in [
        "<tool_call>{\"name\": \"web_search\", \"arguments\": {\"query\": \"a\"}}</tool_call>\n<tool_call>{\"name\": \"set_alarm\", \"arguments\": {\"time\": \"7\"}}</tool_call>",
        "[TOOL_CALLS]web_search[ARGS]{\"query\": \"a\"}[TOOL_CALLS]set_alarm[ARGS]{\"time\": \"7\"}",
        "[web_search(query=\"a\"), set_alarm(time=\"7\")]",
        "{\"name\": \"web_search\", \"parameters\": {\"query\": \"a\"}}\n{\"name\": \"set_alarm\", \"parameters\": {\"time\": \"7\"}}",
        "{\"name\": \"web_search\", \"parameters\": {\"query\": \"a\"}}; {\"name\": \"set_alarm\", \"parameters\": {\"time\": \"7\"}}",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.web_search:0<|tool_call_argument_begin|>{\"query\": \"a\"}<|tool_call_end|><|tool_call_begin|>functions.set_alarm:1<|tool_call_argument_begin|>{\"time\": \"7\"}<|tool_call_end|><|tool_calls_section_end|>",
        "<start_function_call>call:web_search{query:<escape>a<escape>}<end_function_call><start_function_call>call:set_alarm{time:<escape>7<escape>}<end_function_call>",
        "<function_calls>\n<invoke name=\"web_search\">\n<parameter name=\"query\">a</parameter>\n</invoke>\n<invoke name=\"set_alarm\">\n<parameter name=\"time\">7</parameter>\n</invoke>\n</function_calls>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>web_search<｜tool▁sep｜>{\"query\": \"a\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>set_alarm<｜tool▁sep｜>{\"time\": \"7\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ] {
        let want = vec![
            ("web_search".to_owned(), json!({"query": "a"})),
            ("set_alarm".to_owned(), json!({"time": "7"})),
        ];
        assert_eq!(calls(text), want, "{text}");
        let rest = sorted(text).prose;
        assert!(matches!(rest.as_str(), "" | ";"), "{text}: {rest}");
    }
}

#[test]
fn thoughts_tokens_and_results_are_never_said() {
    for (text, want) in [
        ("<think>hm</think>It is Wick.", "It is Wick."),
        ("<THINK>hm</THINK>\n\nIt is Wick.", "It is Wick."),
        ("<Thinking>hm</Thinking>It is Wick.", "It is Wick."),
        ("hm, so</think>\nIt is Wick.", "It is Wick."),
        ("It is Wick.<think>now what</think>", "It is Wick."),
        ("It is Wick.\n<thought>now what", "It is Wick."),
        ("<seed:think>hm</seed:think>It is Wick.", "It is Wick."),
        ("[THINK]hm[/THINK]It is Wick.", "It is Wick."),
        ("hm[/THINK]It is Wick.", "It is Wick."),
        ("◁think▷hm◁/think▷It is Wick.", "It is Wick."),
        (
            "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>It is Wick.<|END_RESPONSE|>",
            "It is Wick.",
        ),
        (
            "<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>It is Wick.<|end_of_solution|>",
            "It is Wick.",
        ),
        ("<|channel>thought\nhm<channel|>It is Wick.", "It is Wick."),
        (
            "<think>hm</think><response>It is Wick.</response>",
            "It is Wick.",
        ),
        (
            "<scratchpad>hm</scratchpad><answer>It is Wick.</answer>",
            "It is Wick.",
        ),
        ("<reasoning>hm</reasoning>It is Wick.", "It is Wick."),
        (
            "<inner_monologue>hm</inner_monologue>It is Wick.",
            "It is Wick.",
        ),
        (
            "Here is my thought process:\nhm\nHere is my response:\nIt is Wick.",
            "It is Wick.",
        ),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>It is Wick.<|return|>",
            "It is Wick.",
        ),
        ("<|channel|>final<|message|>It is Wick.", "It is Wick."),
        (
            "analysisThe user wants a town.assistantfinalIt is Wick.",
            "It is Wick.",
        ),
        (
            "<|im_start|>assistant\nIt is Wick.<|im_end|>",
            "It is Wick.",
        ),
        (
            "It is Wick.<|im_end|>\n<|im_start|>user\nThanks!<|im_end|>",
            "It is Wick.",
        ),
        (
            "<|start_header_id|>assistant<|end_header_id|>\n\nIt is Wick.<|eot_id|>",
            "It is Wick.",
        ),
        (
            "<|start_of_role|>assistant<|end_of_role|>It is Wick.<|end_of_text|>",
            "It is Wick.",
        ),
        (
            "<start_of_turn>model\nIt is Wick.<end_of_turn>",
            "It is Wick.",
        ),
        (
            "It is Wick.<end_of_turn>\n<start_of_turn>user\nThanks",
            "It is Wick.",
        ),
        ("<s>It is Wick.</s>", "It is Wick."),
        ("[INST] Which town? [/INST] It is Wick.</s>", "It is Wick."),
        ("<<SYS>>Be brief.<</SYS>>It is Wick.", "It is Wick."),
        (
            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>It is Wick.<|END_OF_TURN_TOKEN|>",
            "It is Wick.",
        ),
        (
            "<｜Assistant｜>It is Wick.<｜end▁of▁sentence｜>",
            "It is Wick.",
        ),
        ("<|assistant|>It is Wick.<|end|>", "It is Wick."),
        ("It is Wick.<|user|>Thanks<|assistant|>Bye", "It is Wick."),
        ("It is Wick.<|endoftext|>Once upon a time", "It is Wick."),
        ("[gMASK]<sop>It is Wick.<eop>", "It is Wick."),
        ("<bos>It is Wick.<eos>", "It is Wick."),
        (
            "<tool_response>{\"town\": 1}</tool_response>It is Wick.",
            "It is Wick.",
        ),
        (
            "[TOOL_RESULTS]{\"town\": 1}[/TOOL_RESULTS]It is Wick.",
            "It is Wick.",
        ),
        (
            "```tool_output\n{\"town\": 1}\n```\nIt is Wick.",
            "It is Wick.",
        ),
        (
            "[Tool result: web_search]\nWick\n\nIt is Wick.",
            "It is Wick.",
        ),
        (
            "[Plan progress: 1/2. The next step is \"x\".]\nIt is Wick.",
            "It is Wick.",
        ),
        (
            "[Context: Friday, Location: Wick]\nIt is Wick.",
            "It is Wick.",
        ),
        (
            "Thought: I know this.\nFinal Answer: It is Wick.",
            "It is Wick.",
        ),
        ("Final Answer: It is Wick.", "It is Wick."),
        ("It is Wick.<|im_e", "It is Wick."),
        ("It is Wick.\n<tool_ca", "It is Wick."),
    ] {
        let found = sorted(text);
        assert_eq!(found.prose, want, "{text}");
        assert_eq!(found.calls, Vec::new(), "{text}");
        for size in [1, 3, 1000] {
            for frame in drafts(text, size) {
                // What stands before a lone closing tag cannot be known to be a thought; it is taken back.
                let is_prefix = want.starts_with(frame.trim());
                let is_lone = text.starts_with("hm");
                assert!(is_prefix || is_lone, "{text} in pieces of {size}: {frame}");
            }
            let last = drafts(text, size).pop().unwrap_or_default();
            assert!(
                want.starts_with(last.trim()),
                "{text} in pieces of {size}: {last}"
            );
        }
    }
}

#[test]
fn text_about_the_formats_is_shown_as_it_is() {
    for text in [
        "Write `<think>` before the thought and `</think>` behind it.",
        "A call of Hermes looks like this:\n\n```xml\n<tool_call>\n{\"name\": \"web_search\", \"arguments\": {}}\n</tool_call>\n```\n\nThe program reads it.",
        "The template ends a turn with `<|im_end|>`.",
        "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Wick\"}}\n```\nis what OpenAI sends.",
        "Hermes writes <tool_call> around a call.",
        "2 < 3, and <b>bold</b>, and a<b && c>d.",
        "Use [INST in a search, or [1] and [x].",
        "The function f(x) = {x | x > 0} and {\"a\": 1}.",
        "Action: call the office before noon.",
        "- [ ] buy milk\n- [x] sell cow",
        "```rust\nlet x: Vec<u8> = vec![];\n```\nDone.",
        "``a ` b`` and `c`.",
        "Thought: a short story by Wick.",
        "In German, „Haus“ is a house. 日本語も｜です。",
        "[a link](https://example.org/x) and ~~old~~",
        "My name is {name}, his is {\"name\": \"Bob\"}.",
    ] {
        let found = sorted(text);
        let is_same = found.prose == text || text.starts_with("Thought: ");
        assert!(is_same, "{text}\n{}", found.prose);
        assert!(found.calls.is_empty() && !found.has_broken_call, "{text}");
        let finished = format!("{text}\n\nSo it is.");
        for size in [1, 3, 1000] {
            let last = drafts(&finished, size).pop().unwrap_or_default();
            assert!(
                finished.starts_with(&last),
                "{text} in pieces of {size}: {last}"
            );
        }
    }
}

#[test]
fn a_call_that_begins_in_code_which_nobody_closed_is_not_shown() {
    for text in [
        "```rust\nfn a() {}\n```tool_call\n{\"name\": \"web_search\"}\n```",
        "```[\n\0\n```tool_call",
        "```sh\nls\n  ````tool_calls\n",
    ] {
        for size in [1, 3, 1000] {
            let frames = drafts(text, size);
            assert!(
                frames.iter().all(|frame| !frame.contains("tool_call")),
                "{frames:?}"
            );
            // The code is.
            assert_eq!(
                frames.last().map(|last| last.trim().lines().count()),
                Some(2),
                "{frames:?}"
            );
        }
    }
}

#[test]
fn a_draft_is_as_long_as_the_answer_where_nothing_is_hidden() {
    for text in [
        "It opened in 1932.\nIt closed in 1940.\n",
        "Put this in:\n```rust\nfn main() {}\n```\nDone.\n",
        "Put this in:\n```json\n{\"port\": 1}\n```\nDone.\n",
        "Use `<think>` here.\n",
        "**Bold** and *not*, [1] and [a](b).\n",
        "2 < 3 and <b>x</b>\n",
        "ありがとう、さようなら。\n",
    ] {
        for size in [1, 3, 1000] {
            let last = drafts(text, size).pop().unwrap_or_default();
            assert_eq!(last, text, "in pieces of {size}");
        }
    }
}

#[test]
fn the_time_grows_with_the_length() {
    use crate::base::cpu_time::CpuTime;
    for unit in [
        "<tool_call>",
        "<tool_call>{",
        "<tool_call>a(",
        "`",
        "`a",
        "``a",
        "{\"name\":",
        "[",
        "[{",
        "{",
        "<",
        "<|",
        "<think>",
        "</think>",
        "Action: a\n",
        "Thought: a\n",
        "```\n",
        "```json\n{\"name\":\n",
        "[TOOL_CALLS]a{",
        "<|channel|>",
        "<|start|>",
        "\"",
        "'{\"name\": '",
        "Observation:\n",
        "◁",
        "<function=a>",
        "<invoke name=\"a\">",
        "[a(",
        "functools[",
        "{\"name\": \"a\", \"arguments\": {",
    ] {
        let time = |count: usize| {
            let text = unit.repeat(count);
            let since = CpuTime::now();
            std::hint::black_box(sorted(&text));
            std::hint::black_box(without_thoughts(&text));
            since.elapsed()
        };
        let (small, large) = (time(400), time(4_000));
        let most = small.max(std::time::Duration::from_millis(2)) * 40;
        assert!(large <= most, "{unit}: {small:?} became {large:?}");
    }
}

#[test]
fn an_answer_with_all_kinds_of_machinery_around_a_call_shows_its_prose_alone() {
    let leads = [
        "",
        "One moment.\n",
        "Ich sehe nach.\n\n",
        "お待ちください。\n",
    ];
    let tails = [
        "",
        "\n<tool_response>They want nothing</tool_response>",
        "<|im_end|>\n<|im_start|>user\nThey want more",
        "\n\n<think>They want this",
    ];
    let around = THOUGHTS
        .iter()
        .flat_map(|thought| leads.map(|lead| (thought, lead)));
    let around: Vec<_> = around
        .flat_map(|(thought, lead)| tails.map(|tail| (thought, lead, tail)))
        .collect();
    let mut number = 0;
    for (family, call) in &written() {
        // What counts at the end alone, or is cut by what follows it.
        let is_last = call.contains("```")
            || ["Thought", "**Thought", "{"]
                .iter()
                .any(|start| call.starts_with(start))
            || family == "Granite 20B";
        for (thought, lead, tail) in &around {
            let text = format!("{thought}{lead}{call}{}", if is_last { "" } else { tail });
            let found = calls(&text);
            assert_eq!(found.len(), 1, "{text}: {:?}", sorted(&text));
            assert_eq!(arguments(&found[0]), json!({"query": "tides"}), "{text}");
            let prose = sorted(&text).prose;
            // Each size at every third text.
            number += 1;
            let frames = drafts(&text, [1, 3, 1000][number % 3]);
            for word in MACHINERY {
                assert!(!prose.contains(word), "{text}: {prose}");
                let is_seen = frames.iter().any(|frame| frame.contains(word));
                assert!(!is_seen, "{word}: {text}: {frames:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn nothing_breaks_it(text in "(<tool_call>|</tool_call>|<think>|</think>|<\\|channel\\|>|<\\|message\\|>|analysis|\\[TOOL_CALLS\\]|\\{\"name\": \"web_search\", \"arguments\": \\{\\}\\}|Action: |Action Input: |Thought: |```json\n|```tool_call\n|```|`|\\{|\\}|\\[|\\]|<|\\||>|\"|'|\n| |\\PC){0,16}", size in 1usize..9) {
        let found = sorted(&text);
        prop_assert!(found.prose.len() <= text.len());
        for frame in drafts(&text, size) {
            let is_call = frame.contains("<tool_call>{") && !frame.contains('`');
            prop_assert!(!is_call, "{}", frame);
            let is_call = frame.contains("[TOOL_CALLS]") && !frame.contains('`');
            prop_assert!(!is_call, "{}", frame);
        }
    }

    #[test]
    fn prose_stays_prose(text in "[\\p{L}0-9 .,!?*#\n-]{0,80}") {
        prop_assert_eq!(sorted(&text).prose, text.trim());
    }

    #[test]
    fn a_draft_never_shows_what_is_no_prose(family in any::<proptest::sample::Index>(), lead in "([A-Z][a-z]{1,8} [a-z]{1,8}\\. ){0,3}", size in 1usize..12) {
        let (_, call) = family.get(&written()).clone();
        let text = format!("{lead}\n{call}");
        let last = drafts(&text, size).pop().unwrap_or_default();
        prop_assert!(MACHINERY.iter().all(|word| !last.contains(word)), "{}", last);
    }
}
