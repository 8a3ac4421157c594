//! The published formats of the model families, as a table: how a block opens, what it holds and how it closes.
//!
//! A mark stands in angle brackets (`<think>`), in angle brackets with bars (`<|tool_call|>`) or in square brackets (`[TOOL_CALLS]`). Letter case is no
//! matter in angle brackets, and a namespace may stand before the name (`<seed:think>`).

/// What a mark opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// Calls of tools.
    Calls,
    Thought,
    /// What a tool returned, or which tools there are.
    Result,
    /// Nothing: the mark goes, what follows stays.
    Token,
    /// The end of the model's turn.
    End,
    /// The turn of somebody else: the model has answered and goes on to write what others say.
    OtherTurn,
    /// A role's name follows, and tells whose turn it is.
    Role,
    /// A channel's name follows (<https://developers.openai.com/cookbook/articles/openai-harmony>).
    Channel,
}

/// A mark of one family: its name, what it opens, and what closes it besides its own closing mark. The page above a group publishes it.
struct Mark(&'static str, MarkKind, &'static [&'static str]);

use MarkKind::{Calls, Channel, End, OtherTurn, Result, Role, Thought, Token};

/// `<name>`, closed by `</name>`. Names in small letters, with underscores.
const ANGLES: &[Mark] = &[
    // https://github.com/NousResearch/Hermes-Function-Calling
    Mark("tool_call", Calls, &[]),
    Mark("reasoning", Thought, &[]),
    Mark("reason", Thought, &[]),
    Mark("reflection", Thought, &[]),
    Mark("scratch_pad", Thought, &[]),
    Mark("tool_response", Result, &[]),
    Mark("tool_responses", Result, &[]),
    Mark("tools", Result, &[]),
    // https://huggingface.co/ai21labs/AI21-Jamba-Mini-1.5
    Mark("tool_calls", Calls, &[]),
    // https://huggingface.co/nvidia/Llama-3.1-Nemotron-Nano-8B-v1
    Mark("toolcall", Calls, &[]),
    // https://www.ibm.com/granite/docs/models/granite
    Mark("function_call", Calls, &[]),
    Mark("answer", Token, &[]),
    Mark("response", Token, &[]),
    // https://docs.claude.com/en/docs/build-with-claude/prompt-engineering/use-xml-tags
    Mark("function_calls", Calls, &[]),
    Mark("tool_use", Calls, &[]),
    Mark("invoke", Calls, &[]),
    Mark("thinking", Thought, &[]),
    Mark("scratchpad", Thought, &[]),
    Mark("analysis", Thought, &[]),
    Mark("inner_monologue", Thought, &[]),
    Mark("inner_thoughts", Thought, &[]),
    Mark("monologue", Thought, &[]),
    Mark("internal", Thought, &[]),
    Mark("antthinking", Thought, &[]),
    Mark("chain_of_thought", Thought, &[]),
    Mark("deliberation", Thought, &[]),
    Mark("tool_result", Result, &[]),
    Mark("tool_results", Result, &[]),
    Mark("tool_outputs", Result, &[]),
    Mark("function_response", Result, &[]),
    Mark("function_result", Result, &[]),
    Mark("function_results", Result, &[]),
    Mark("final_answer", Token, &[]),
    Mark("final", Token, &[]),
    // https://huggingface.co/Qwen/Qwen3-Coder-30B-A3B-Instruct
    Mark("function", Calls, &[]),
    Mark("parameter", Token, &[]),
    // https://ai.google.dev/gemma/docs/functiongemma
    Mark("start_function_call", Calls, &["<end_function_call>"]),
    Mark(
        "start_function_response",
        Result,
        &["<end_function_response>"],
    ),
    Mark(
        "start_function_declaration",
        Result,
        &["<end_function_declaration>"],
    ),
    Mark("end_function_call", Token, &[]),
    Mark("end_function_response", Token, &[]),
    // https://qwen.readthedocs.io/en/latest/framework/function_call.html
    Mark("think", Thought, &[]),
    // https://ai.google.dev/gemma/docs/core/prompt-structure
    Mark("thought", Thought, &[]),
    Mark("thoughts", Thought, &[]),
    Mark("tool_output", Result, &[]),
    Mark("start_of_turn", Role, &[]),
    Mark("end_of_turn", End, &[]),
    Mark("bos", Token, &[]),
    Mark("eos", Token, &[]),
    Mark("pad", Token, &[]),
    Mark("unk", Token, &[]),
    Mark("end_of_utterance", Token, &[]),
    // https://huggingface.co/zai-org/GLM-4.5
    Mark("sop", Token, &[]),
    Mark("eop", Token, &[]),
    Mark("eod", Token, &[]),
    Mark("arg_key", Token, &[]),
    Mark("arg_value", Token, &[]),
];

/// `<|name|>`. Names that are not here are tokens.
const BARS: &[Mark] = &[
    // https://huggingface.co/microsoft/Phi-4-mini-instruct
    Mark(
        "tool_call",
        Calls,
        &[
            "<|/tool_call|>",
            "<|end_of_text|>",
            "<|end|>",
            "</tool_call>",
        ],
    ),
    Mark(
        "tool_calls",
        Calls,
        &["<|/tool_calls|>", "<|end_of_text|>", "<|end|>"],
    ),
    Mark(
        "think",
        Thought,
        &["<|/think|>", "<|end_think|>", "</think>"],
    ),
    Mark("thinking", Thought, &["<|/thinking|>", "<|end_thinking|>"]),
    Mark(
        "tool_response",
        Result,
        &["<|/tool_response|>", "<|end|>", "<|im_end|>"],
    ),
    Mark(
        "tool_output",
        Result,
        &["<|/tool_output|>", "<|end|>", "<|im_end|>"],
    ),
    Mark("tool", Result, &["<|/tool|>", "<|end|>"]),
    Mark("user", OtherTurn, &[]),
    Mark("system", OtherTurn, &[]),
    Mark("end", End, &[]),
    // https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/
    Mark("python_tag", Calls, &["<|eom_id|>", "<|eot_id|>"]),
    Mark("start_header_id", Role, &[]),
    Mark("eot_id", End, &[]),
    Mark("eom_id", End, &[]),
    // https://www.llama.com/docs/model-cards-and-prompt-formats/llama4/
    Mark("python_start", Calls, &["<|python_end|>"]),
    Mark("header_start", Role, &[]),
    Mark("eot", End, &[]),
    // https://huggingface.co/deepseek-ai/DeepSeek-V3.1
    Mark("tool_calls_begin", Calls, &["<|tool_calls_end|>"]),
    Mark("tool_call_begin", Calls, &["<|tool_call_end|>"]),
    Mark("tool_outputs_begin", Result, &["<|tool_outputs_end|>"]),
    Mark("tool_output_begin", Result, &["<|tool_output_end|>"]),
    Mark("end_of_sentence", End, &[]),
    // https://huggingface.co/moonshotai/Kimi-K2-Instruct
    Mark(
        "tool_calls_section_begin",
        Calls,
        &["<|tool_calls_section_end|>"],
    ),
    // https://huggingface.co/LiquidAI/LFM2-1.2B
    Mark("tool_call_start", Calls, &["<|tool_call_end|>"]),
    // https://docs.cohere.com/docs/command-r-hf
    Mark("start_action", Calls, &["<|end_action|>"]),
    Mark("start_thinking", Thought, &["<|end_thinking|>"]),
    Mark("start_tool_result", Result, &["<|end_tool_result|>"]),
    Mark("start_of_turn_token", Role, &[]),
    Mark("user_token", OtherTurn, &[]),
    Mark("system_token", OtherTurn, &[]),
    Mark("end_of_turn_token", End, &[]),
    // https://github.com/InternLM/InternLM
    Mark("action_start", Calls, &["<|action_end|>"]),
    // https://huggingface.co/open-thoughts/OpenThinker-7B
    Mark("begin_of_thought", Thought, &["<|end_of_thought|>"]),
    // https://github.com/openai/openai-python/blob/release-v0.28.0/chatml.md
    Mark("im_start", Role, &[]),
    Mark("im_end", End, &[]),
    Mark("endoftext", End, &[]),
    // https://www.ibm.com/granite/docs/models/granite
    Mark("start_of_role", Role, &[]),
    Mark("end_of_text", End, &[]),
    // https://ai.google.dev/gemma/docs/core/prompt-structure
    Mark("turn", Role, &[]),
    // https://huggingface.co/zai-org/GLM-4.5
    Mark("observation", OtherTurn, &[]),
    // https://developers.openai.com/cookbook/articles/openai-harmony
    Mark("return", End, &[]),
    Mark("start", Channel, &[]),
    Mark("channel", Channel, &[]),
];

/// `[name]`, in just these letters.
const SQUARES: &[Mark] = &[
    // https://mistralai.github.io/mistral-common/
    Mark("TOOL_CALLS", Calls, &["</s>", "[/TOOL_CALLS]"]),
    Mark("TOOL_RESULTS", Result, &["[/TOOL_RESULTS]"]),
    Mark("AVAILABLE_TOOLS", Result, &["[/AVAILABLE_TOOLS]"]),
    Mark("SYSTEM_PROMPT", Result, &["[/SYSTEM_PROMPT]"]),
    Mark("INST", OtherTurn, &[]),
    Mark("ARGS", Token, &[]),
    Mark("BOS", Token, &[]),
    Mark("EOS", Token, &[]),
    // https://docs.mistral.ai/capabilities/reasoning/
    Mark("THINK", Thought, &["[/THINK]"]),
    // https://huggingface.co/zai-org/GLM-4.5
    Mark("gMASK", Token, &[]),
];

/// Marks of another build.
const OTHERS: &[(&str, MarkKind, &[&str])] = &[
    // https://huggingface.co/moonshotai/Kimi-K2-Instruct
    ("◁think▷", Thought, &["◁/think▷"]),
    // https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/
    ("<<sys>>", Result, &["<</sys>>"]),
    // https://ai.google.dev/gemma/docs/core/prompt-structure
    ("<|tool_call>", Calls, &["<tool_call|>"]),
    ("<|tool_response>", Result, &["<tool_response|>"]),
    ("<|tool>", Result, &["<tool|>"]),
    ("<|channel>", Thought, &["<channel|>"]),
    ("<|turn>", Role, &[]),
    ("<turn|>", End, &[]),
    ("<tool_call|>", Token, &[]),
    // What Marvin itself writes into the requests of the reply flow, which models repeat: src/prompts/reply.
    ("[context: ", Result, &["]"]),
    ("[plan progress: ", Result, &["]"]),
    ("[so far you have answered ", Result, &["]"]),
    ("[the plan is done: ", Result, &["]"]),
    ("[if a part of the question ", Result, &["]"]),
    ("[memory topic: ", Result, &["]"]),
    ("[tool result: ", Result, &["\n\n"]),
    ("[tool error: ", Result, &["\n\n"]),
    (
        "<<<begin untrusted web extract>>>",
        Result,
        &["<<<end untrusted web extract>>>"],
    ),
];
/// The end of a turn, of Llama 2 and Mistral.
const END: &str = "</s>";
/// What DeepSeek V3.2 puts before the names in angles.
pub(super) const DSML: &str = "<|dsml|";
pub(super) const DSML_CLOSING: &str = "</|dsml|";
/// The longest name in a mark.
const MAX_NAME: usize = 48;
/// The longest mark, attributes included.
const MAX_MARK: usize = 160;

/// What stands at a place.
#[derive(Debug, PartialEq)]
pub(super) enum MarkMatch {
    /// Nothing that matters.
    Nothing,
    /// The text ends in what may become a mark.
    Unfinished,
    Mark(Opened),
}

/// A mark in a text.
#[derive(Debug, PartialEq)]
pub(super) struct Opened {
    pub kind: MarkKind,
    /// Its bytes.
    pub len: usize,
    /// It closes a block of its kind.
    pub is_closing: bool,
    /// What closes it, folded.
    pub closers: Vec<String>,
    /// People write about it: it counts only where a body follows.
    pub is_common: bool,
    /// The call's name stands in the mark itself.
    pub names_call: bool,
}

/// The mark at the start of `text`.
pub(super) fn mark(text: &str) -> MarkMatch {
    let other = OTHERS.iter().find_map(|(open, kind, close)| {
        let len = starts_with(text, open)?;
        Some(block(*kind, len, close))
    });
    if let Some(found) = other {
        return MarkMatch::Mark(found);
    }
    if let Some(rest) = text.strip_prefix(END) {
        // Within a text it ends what is struck through.
        let rest = rest.trim_start();
        return match rest.is_empty() || rest.starts_with(['<', '[']) {
            true => MarkMatch::Mark(block(End, END.len(), &[])),
            false => MarkMatch::Nothing,
        };
    }
    let closes_other = OTHERS
        .iter()
        .filter(|(_, kind, _)| *kind == Thought)
        .flat_map(|(_, _, close)| close.iter())
        .find_map(|close| starts_with(text, close));
    if let Some(len) = closes_other {
        return MarkMatch::Mark(closing(Thought, len));
    }
    let folded: String = text.chars().take(MAX_NAME).map(fold).collect();
    let is_unfinished = text.chars().nth(MAX_NAME).is_none()
        && OTHERS.iter().any(|(open, ..)| open.starts_with(&folded));
    let found = match text.as_bytes().first() {
        Some(b'<') => match starts_with(text, DSML).or_else(|| starts_with(text, DSML_CLOSING)) {
            Some(len) => dsml(text, len),
            None => angle(text),
        },
        Some(b'[') => square(text),
        _ => MarkMatch::Nothing,
    };
    match found {
        MarkMatch::Nothing if is_unfinished && !text.is_empty() => MarkMatch::Unfinished,
        found => found,
    }
}

/// A mark of DeepSeek's own markup: its prefix before the names that others use.
fn dsml(text: &str, len: usize) -> MarkMatch {
    let rest = text.get(len..).unwrap_or_default();
    let open = if text.starts_with("</") { "</" } else { "<" };
    match angle(&format!(
        "{open}{}",
        crate::base::text::head(rest, 2 * MAX_MARK)
    )) {
        MarkMatch::Mark(mut mark) => {
            mark.len = mark.len - open.len() + len;
            for close in &mut mark.closers {
                *close = close.replacen("</", DSML_CLOSING, 1);
            }
            MarkMatch::Mark(mark)
        }
        other => other,
    }
}

fn angle(text: &str) -> MarkMatch {
    let inside = text.get(1..).unwrap_or_default();
    if inside.starts_with(['|', '｜']) {
        return bars(text);
    }
    let inside_name = inside.strip_prefix('/').unwrap_or(inside);
    let is_closing = inside_name.len() < inside.len();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    let length = inside_name
        .find(|c| !is_part(c))
        .unwrap_or(inside_name.len());
    let written = inside_name.get(..length).unwrap_or_default();
    if length > MAX_NAME {
        return MarkMatch::Nothing;
    }
    let after = inside_name.get(length..).unwrap_or_default();
    if after.is_empty() {
        return MarkMatch::Unfinished;
    }
    // Models of Anthropic and others put a namespace before the name.
    let name = written.rsplit(':').next().unwrap_or_default();
    let name: String = name.chars().map(fold).collect();
    let name = name.replace('-', "_");
    let Some(Mark(_, kind, closers)) = ANGLES.iter().find(|mark| mark.0 == name) else {
        return MarkMatch::Nothing;
    };
    let rest = match after.chars().next() {
        Some('>') => after,
        Some(c) if c.is_whitespace() || matches!(c, '=' | '/') => after,
        _ => return MarkMatch::Nothing,
    };
    let limit = crate::base::text::head(rest, MAX_MARK);
    let Some(end) = limit.find('>').filter(|end| {
        let attributes = limit.get(..*end).unwrap_or_default();
        !attributes.contains('<')
    }) else {
        let is_open = rest.len() < MAX_MARK && !rest.contains('<');
        return if is_open {
            MarkMatch::Unfinished
        } else {
            MarkMatch::Nothing
        };
    };
    let len = text.len() - rest.len() + end + 1;
    if is_closing {
        return MarkMatch::Mark(closing(*kind, len));
    }
    let mut found = block(*kind, len, closers);
    if closers.is_empty() {
        let written: String = written.chars().map(fold).collect();
        found.closers.push(format!("</{written}>"));
    }
    found.is_common = *kind == Calls;
    found.names_call = end > 0 && matches!(name.as_str(), "function" | "invoke");
    MarkMatch::Mark(found)
}

fn bars(text: &str) -> MarkMatch {
    let inside = text.get(1..).unwrap_or_default();
    let mut chars = inside.chars();
    chars.next();
    let inside = chars.as_str();
    let is_end = |c: char| matches!(c, '|' | '｜' | '<' | '>') || c.is_whitespace();
    let Some(length) = inside.find(is_end) else {
        return match inside.len() <= MAX_NAME {
            true => MarkMatch::Unfinished,
            false => MarkMatch::Nothing,
        };
    };
    let name = inside.get(..length).unwrap_or_default();
    let mut end = inside.get(length..).unwrap_or_default().chars();
    if length == 0 || length > MAX_NAME || !matches!(end.next(), Some('|' | '｜')) {
        return MarkMatch::Nothing;
    }
    match end.next() {
        Some('>') => {}
        None => return MarkMatch::Unfinished,
        Some(_) => return MarkMatch::Nothing,
    }
    let len = text.len() - end.as_str().len();
    let name: String = name.chars().map(fold).collect();
    let closes = format!("<|{name}|>");
    let closed = BARS
        .iter()
        .find(|mark| mark.1 == Thought && mark.2.contains(&closes.as_str()));
    if closed.is_some() {
        return MarkMatch::Mark(closing(Thought, len));
    }
    MarkMatch::Mark(match BARS.iter().find(|mark| mark.0 == name) {
        Some(Mark(_, kind, closers)) => block(*kind, len, closers),
        None => block(Token, len, &[]),
    })
}

fn square(text: &str) -> MarkMatch {
    for Mark(name, kind, closers) in SQUARES {
        let inside = text.get(1..).unwrap_or_default();
        let (inside, is_closing) = match inside.strip_prefix('/') {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        let len = text.len() - inside.len() + name.len() + 1;
        if inside
            .strip_prefix(name)
            .is_some_and(|after| after.starts_with(']'))
        {
            return MarkMatch::Mark(match (is_closing, kind) {
                (true, Thought) => closing(Thought, len),
                (true, _) => closing(Token, len),
                (false, _) => block(*kind, len, closers),
            });
        }
        let whole = format!("{name}]");
        if whole.starts_with(inside) {
            return MarkMatch::Unfinished;
        }
    }
    MarkMatch::Nothing
}

fn block(kind: MarkKind, len: usize, closers: &[&str]) -> Opened {
    Opened {
        kind,
        len,
        is_closing: false,
        closers: closers.iter().map(|close| close.to_lowercase()).collect(),
        is_common: false,
        names_call: false,
    }
}

fn closing(kind: MarkKind, len: usize) -> Opened {
    Opened {
        is_closing: true,
        ..block(kind, len, &[])
    }
}

/// Where the first of `closers` begins after `from`, and where it ends.
pub(super) fn find_close(text: &str, from: usize, closers: &[String]) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        let start = at + rest.find(['<', '[', '◁', ']', '\n'])?;
        let here = text.get(start..).unwrap_or_default();
        let len = closers.iter().find_map(|close| starts_with(here, close));
        if let Some(len) = len {
            return Some((start, start + len));
        }
        at = start + here.chars().next().map_or(1, char::len_utf8);
    }
}

/// The bytes of `text` that are `pattern`, which is folded.
pub(super) fn starts_with(text: &str, pattern: &str) -> Option<usize> {
    let mut chars = text.chars();
    for wanted in pattern.chars() {
        if fold(chars.next()?) != wanted {
            return None;
        }
    }
    Some(text.len() - chars.as_str().len())
}

/// Small letters, and the bars and spaces of DeepSeek's tokens as those of others.
fn fold(c: char) -> char {
    match c {
        '｜' => '|',
        '▁' => '_',
        c => c.to_ascii_lowercase(),
    }
}

/// Whether a text that ends within a mark ends within one of these: the beginning of a common name is no mark yet.
pub(super) fn is_cut_mark(text: &str) -> bool {
    let folded: String = text.chars().take(MAX_NAME).map(fold).collect();
    if folded.starts_with("<|") || folded.starts_with('◁') {
        return true;
    }
    let name = folded.trim_start_matches(['<', '[', '/']);
    let name = name.rsplit(':').next().unwrap_or(name);
    let bare = name.split([' ', '=']).next().unwrap_or(name);
    let fits = |mark: &Mark| mark.0.to_lowercase().starts_with(bare);
    bare.len() >= 4 && (ANGLES.iter().any(fits) || SQUARES.iter().any(fits))
}
