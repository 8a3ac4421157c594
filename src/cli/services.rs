//! `marvin services`: what Marvin can talk to, where, and with which key.

use std::fmt::Write as _;

use serde::Serialize;

use crate::base::env::Env;
use crate::base::error::{Outcome, Problem};
use crate::llm::catalog::ROWS;
use crate::llm::choose;
use crate::net::services::{SERVICES, variable};
use crate::tools::all;

#[derive(Serialize)]
struct Row {
    id: &'static str,
    base: String,
    override_variable: String,
    key_variable: Option<&'static str>,
    key_set: bool,
    about: &'static str,
    tools: Vec<&'static str>,
}

/// The list, as text or JSON.
pub(super) fn list(words: &[String], env: &Env) -> Outcome<String> {
    let json = match words {
        [] => false,
        [word] if word == "--json" => true,
        _ => return Err(Problem::input("marvin services takes only --json.")),
    };
    let providers = ROWS.iter().map(|row| Row {
        id: row.name,
        base: choose::base(env, row),
        override_variable: variable(row.name),
        key_variable: row.key,
        key_set: choose::key(env, row).is_some(),
        about: "language model",
        tools: Vec::new(),
    });
    let services = SERVICES.iter().map(|service| Row {
        id: service.id,
        base: service.base_in(env).to_owned(),
        override_variable: variable(service.id),
        key_variable: service.key,
        key_set: service.key_in(env).is_some(),
        about: service.about,
        tools: all()
            .filter(|tool| {
                let asks = tool.rules.asks.iter().any(|asked| asked.id == service.id);
                asks || tool.rules.service == Some(service.id)
            })
            .map(|tool| tool.name)
            .collect(),
    });
    let rows: Vec<Row> = providers.chain(services).collect();
    if json {
        return serde_json::to_string_pretty(&rows)
            .map(|text| text + "\n")
            .map_err(|why| Problem::internal(format!("The list cannot be written: {why}.")));
    }
    let mut out = String::new();
    for row in rows {
        let key = match row.key_variable {
            None => "no key".to_owned(),
            Some(name) => format!("{name} {}", if row.key_set { "set" } else { "not set" }),
        };
        let _ = writeln!(
            out,
            "{:<22} {:<55} {:<34} {key}",
            row.id, row.base, row.override_variable
        );
    }
    Ok(out)
}
