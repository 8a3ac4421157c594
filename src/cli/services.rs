//! `marvin services`: the services Marvin can use, their addresses and keys.

use std::fmt::Write as _;

use serde::Serialize;

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::llm::catalog::ROWS;
use crate::llm::choose;
use crate::net::services::{SERVICES, variable};
use crate::tools::engine::owned_tool::ToolRef;
use crate::tools::engine::registry::Registry;

/// Between columns.
const GAP: &str = "  ";

#[derive(Serialize)]
struct ServiceRow<'a> {
    id: &'static str,
    base: String,
    override_variable: String,
    key_variable: Option<&'static str>,
    key_set: bool,
    about: &'static str,
    tools: Vec<&'a str>,
}

/// The list, as text or JSON.
pub(super) fn list(words: &[String], env: &Env, registry: &Registry) -> Outcome<String> {
    let json = match words {
        [] => false,
        [word] if word == "--json" => true,
        _ => return Err(Problem::input("marvin services takes only --json.")),
    };
    let tools = registry.all();
    let providers = ROWS.iter().map(|row| ServiceRow {
        id: row.name,
        base: choose::base(env, row),
        override_variable: variable(row.name),
        key_variable: row.key,
        key_set: choose::key(env, row).is_some(),
        about: "language model",
        tools: Vec::new(),
    });
    let services = SERVICES.iter().map(|service| ServiceRow {
        id: service.id,
        base: service.base_in(env).to_owned(),
        override_variable: variable(service.id),
        key_variable: service.key,
        key_set: service.key_in(env).is_some(),
        about: service.about,
        tools: tools
            .iter()
            .filter(|tool| {
                let rules = tool.rules();
                let asks = rules.asks.iter().any(|used| used.id == service.id);
                asks || rules.service == Some(service.id)
            })
            .map(ToolRef::name)
            .collect(),
    });
    let rows: Vec<ServiceRow> = providers.chain(services).collect();
    if json {
        return serde_json::to_string_pretty(&rows)
            .map(|text| text + "\n")
            .map_err(|error| Problem::internal(format!("The list cannot be written: {error}.")));
    }
    Ok(table(&rows, super::out::width()))
}

/// The rows in columns. On a terminal of `width` columns a row lists as many tools as fit.
fn table(rows: &[ServiceRow<'_>], width: Option<usize>) -> String {
    let lines: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let key = match row.key_variable {
                None => "no key".to_owned(),
                Some(name) => format!("{name} {}", if row.key_set { "set" } else { "not set" }),
            };
            let variable = row.override_variable.clone();
            [row.id.to_owned(), row.base.clone(), variable, key]
        })
        .collect();
    let widest = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: [usize; 4] = std::array::from_fn(widest);
    let used_width: usize = widths.iter().map(|width| width + GAP.len()).sum();
    let room = width.map(|width| width.saturating_sub(used_width));
    let mut out = String::new();
    for (line, row) in lines.iter().zip(rows) {
        let mut text = String::new();
        for (cell, width) in line.iter().zip(widths) {
            let _ = write!(text, "{cell:<width$}{GAP}");
        }
        text.push_str(&fitting(&row.tools, room));
        let _ = writeln!(out, "{}", text.trim_end());
    }
    out
}

/// As many names as fit into `room` columns and the number of the others; all names without a limit.
fn fitting(names: &[&str], room: Option<usize>) -> String {
    let whole = names.join(", ");
    let Some(room) = room.filter(|room| whole.chars().count() > *room) else {
        return whole;
    };
    let shown = (1..names.len()).rev().find_map(|count| {
        let some = names.get(..count)?.join(", ");
        let text = format!("{some} +{}", names.len() - count);
        (text.chars().count() <= room).then_some(text)
    });
    shown.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_named_as_far_as_they_fit() {
        let names = ["one", "three", "five"];
        for (room, wanted) in [
            (None, "one, three, five"),
            (Some(16), "one, three, five"),
            (Some(15), "one, three +1"),
            (Some(12), "one +2"),
            (Some(6), "one +2"),
            (Some(5), ""),
            (Some(0), ""),
        ] {
            assert_eq!(fitting(&names, room), wanted, "{room:?}");
        }
        assert_eq!(fitting(&[], Some(0)), "");
    }

    #[test]
    fn columns_stand_under_each_other_and_lines_end_with_words() {
        let row = |id, base: &str, key_variable, tools| ServiceRow {
            id,
            base: base.to_owned(),
            override_variable: "V".to_owned(),
            key_variable,
            key_set: true,
            about: "",
            tools,
        };
        let rows = [
            row("a", "http://long", None, vec!["tool"]),
            row("longer", "b", Some("K"), Vec::new()),
        ];
        let all = "a       http://long  V  no key  tool\nlonger  b            V  K set\n";
        assert_eq!(table(&rows, None), all);
        assert_eq!(table(&rows, Some(36)), all);
        assert_eq!(table(&rows, Some(35)), all.replace("  tool", ""));
    }
}
