//! The first lines of a session, and how to set up a provider when there is none.

use std::fmt::Write as _;

use crate::base::env::Env;
use crate::llm::catalog::{ProviderSpec, ROWS};
use crate::llm::choose;
use crate::llm::copilot::{self, availability};
use crate::model_call::model_target::ModelTarget;

/// The providers that the welcome mentions; `marvin doctor` lists all.
const NAMED: [&str; 5] = ["ollama", "openai", "gemini", "groq", "anthropic"];

/// The welcome text: what is available, and without a model how to get one, by commands where `env` is given because nothing can be chosen.
pub(super) fn words(is_new: bool, target: &ModelTarget, env: Option<&Env>) -> String {
    if target.provider.is_model() {
        return format!(
            "Here I am. {}\nSay what you want done. /help lists the commands.\n",
            target.words()
        );
    }
    let mut out = without_model(is_new);
    match env {
        None => out.push_str("\nTo give me something to think with: /model\n"),
        Some(env) => out.push_str(&ways(env)),
    }
    out
}

fn without_model(is_new: bool) -> String {
    let mut out = String::new();
    out.push_str(if is_new {
        "Brain the size of a planet, and no language model set up. Typical.\n\n"
    } else {
        "Still no language model set up.\n\n"
    });
    out.push_str("Working right now, offline: files, git, notes, calendar, tickets, units and\n");
    out.push_str("more; /tools lists them all.\n");
    out.push_str("  try   convert 5 miles to km      show the tree      note: buy milk\n");
    out.push_str("  or    /tools calendar            /tool code_grep pattern=TODO\n");
    out
}

/// The ways to a model, as commands: for where nothing can be chosen.
fn ways(env: &Env) -> String {
    let mut out = "\nTo give me something to think with, one of:\n".to_owned();
    let (how, looked) = match availability::is_installed(env) {
        true => ("gh auth login", "not signed in"),
        false => (
            "npm install -g @github/copilot && gh auth login",
            "not installed",
        ),
    };
    let _ = writeln!(out, "  {:<10} {how:<36} {looked}", copilot::NAME);
    for name in NAMED {
        if let Some(row) = ROWS.iter().find(|row| row.name == name) {
            let (how, looked) = setting(env, row);
            let _ = writeln!(out, "  {name:<10} {how:<36} {looked}");
        }
    }
    let others: Vec<&str> = ROWS
        .iter()
        .map(|row| row.name)
        .filter(|name| !NAMED.contains(name))
        .collect();
    let _ = writeln!(
        out,
        "  …and {} more providers, any OpenAI-compatible URL among them: marvin doctor",
        others.len()
    );
    out
}

/// How to set up one provider, and what was found of it.
fn setting(env: &Env, row: &'static ProviderSpec) -> (String, String) {
    let remote = choose::remote(env, row);
    match row.key {
        Some(variable) => {
            let looked = match remote.key.is_some() {
                true => "set".to_owned(),
                false => "not set, nor in ~/.ssh".to_owned(),
            };
            (format!("export {variable}=…"), looked)
        }
        None => (
            format!("ollama pull {}", row.model),
            "no answer on its port".to_owned(),
        ),
    }
}
