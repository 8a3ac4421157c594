//! `marvin services`: the services Marvin can use, their addresses and keys.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use crate::app::help::layout::{self, Style};
use crate::app::help::markup::Block;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::llm::address::{ProviderAddress, address};
use crate::llm::catalog::ROWS;
use crate::llm::choose;
use crate::net::services::{GROQ_WHISPER, SERVICES, Service, shown_address, variable};
use crate::tools::engine::owned_tool::ToolRef;
use crate::tools::engine::registry::Registry;
use crate::voice::transcribe::whisper_address;

/// Between columns.
const GAP: &str = "  ";

#[derive(Serialize)]
struct ServiceRow<'a> {
    id: &'static str,
    /// Names that mean it too.
    other_names: &'static [&'static str],
    base: String,
    /// The variable that the address comes from; `None` for the usual one.
    set_by: Option<String>,
    override_variable: String,
    /// Variables of other programs that set the address too.
    other_variables: Vec<&'static str>,
    /// The variable of the key: the one that is set, if any is.
    key_variable: Option<&'static str>,
    key_set: bool,
    about: &'static str,
    tools: Vec<&'a str>,
}

/// The address of `service` in use, and the variable that set it.
pub(super) fn service_address(service: &Service, env: &Env) -> ProviderAddress {
    if service.id == GROQ_WHISPER.id {
        return whisper_address(env);
    }
    let is_own = service.is_own(env);
    ProviderAddress {
        base: service.base_in(env).to_owned(),
        variable: is_own.then(|| variable(service.id).into()),
    }
}

/// The list, as text or JSON.
pub(super) fn list(words: &[String], env: &Env, registry: &Registry) -> Outcome<String> {
    let json = match words {
        [] => false,
        [word] if word == "--json" => true,
        _ => return Err(Problem::input("marvin services takes only --json.")),
    };
    let tools = registry.all();
    let providers = ROWS.iter().map(|row| {
        let remote = choose::remote(env, row);
        let set_by = address(env, row).variable.map(Cow::into_owned);
        ServiceRow {
            id: row.name,
            other_names: row.aliases,
            base: shown_address(&remote.base),
            set_by,
            override_variable: variable(row.name),
            other_variables: row.other_urls.iter().map(|other| other.variable).collect(),
            key_variable: remote.key_variable(),
            key_set: remote.key.is_some(),
            about: "language model",
            tools: Vec::new(),
        }
    });
    let services = SERVICES.iter().map(|service| {
        let address = service_address(service, env);
        ServiceRow {
            id: service.id,
            other_names: &[],
            base: shown_address(&address.base),
            set_by: address.variable.map(Cow::into_owned),
            override_variable: variable(service.id),
            other_variables: Vec::new(),
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
        }
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
            let variable = row
                .set_by
                .as_ref()
                .unwrap_or(&row.override_variable)
                .clone();
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
    if let Some(columns) = width.filter(|columns| *columns < used_width) {
        return stacked(rows, columns);
    }
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

/// The rows one below the other, for terminals that are narrower than the columns.
fn stacked(rows: &[ServiceRow<'_>], columns: usize) -> String {
    let term_and_text = |row: &ServiceRow<'_>| {
        let key = match (row.key_variable, row.key_set) {
            (None, _) => String::new(),
            (Some(name), true) => format!("; {name} set"),
            (Some(name), false) => format!("; {name} not set"),
        };
        let tools = match row.tools.as_slice() {
            [] => String::new(),
            tools => format!("; {}", tools.join(", ")),
        };
        let set_by = row.set_by.as_ref();
        let set_by = set_by.map_or_else(String::new, |variable| format!(" (by {variable})"));
        (
            row.id.to_owned(),
            format!("{}{set_by}{key}{tools}", row.base),
        )
    };
    let rows = Block::Rows(rows.iter().map(term_and_text).collect());
    let about = "MARVIN_URL_<ID> replaces an address; marvin help services says more.";
    let blocks = [rows, Block::Paragraph(about.to_owned())];
    layout::text(&blocks, columns, &Style::PLAIN)
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
            other_names: &[],
            base: base.to_owned(),
            set_by: None,
            override_variable: "V".to_owned(),
            other_variables: Vec::new(),
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
        let narrow = table(&rows, Some(28));
        assert!(
            narrow.starts_with("  a       http://long; tool\n  longer  b; K set\n"),
            "{narrow}"
        );
    }
}
