//! The catalogue of tools for users and programs, and the help of one tool.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::tools::engine::owned_tool::ToolRef;
use crate::tools::engine::registry::Registry;
use crate::tools::engine::rules::Annotations;

/// Columns of the list.
const NAME_COLUMNS: usize = 24;
const MODULE_COLUMNS: usize = 10;

/// The help of one tool: description and parameters.
pub(crate) fn help(tool: &ToolRef) -> String {
    let mut out = format!("{} ({}): {}\n", tool.name(), tool.module(), tool.about());
    for field in tool.parameters() {
        let mut facts = vec![field.wanted];
        facts.push(if field.required {
            "required".to_owned()
        } else {
            field
                .default
                .map_or_else(|| "optional".to_owned(), |json| format!("default {json}"))
        });
        facts.extend(field.min.map(|min| format!("at least {min}")));
        facts.extend(field.max.map(|max| format!("at most {max}")));
        let _ = writeln!(
            out,
            "  {:<18} {} ({})",
            field.name,
            field.about,
            facts.join(", ")
        );
    }
    let _ = writeln!(
        out,
        "For example: marvin tool {} --json '{}'",
        tool.name(),
        tool.example_call()
    );
    out
}

#[derive(Serialize)]
struct CatalogueRow<'a> {
    name: &'a str,
    module: &'a str,
    summary: &'a str,
    parameters: Value,
    flags: Flags,
    annotations: Annotations,
    service: Option<&'static str>,
}

#[derive(Serialize)]
struct Flags {
    coding_only: bool,
    write_op: bool,
    interactive_only: bool,
    long_running: bool,
}

/// The tools of `registry` that match the words `[--json] [WORD]`, one per line or as JSON.
///
/// # Errors
/// No tool matches, or there is an unknown flag.
pub(crate) fn list(words: &[String], registry: &Registry) -> Outcome<String> {
    let json = words.iter().any(|word| word == "--json");
    let word = words
        .iter()
        .find(|word| !word.starts_with('-'))
        .map(|word| word.to_lowercase());
    if let Some(flag) = words
        .iter()
        .find(|word| word.starts_with('-') && *word != "--json")
    {
        return Err(Problem::input(format!("There is no flag {flag} here."))
            .next("The one flag is --json."));
    }
    let fits = |tool: &&ToolRef| {
        word.as_ref().is_none_or(|word| {
            [tool.name(), tool.module(), &tool.about().to_lowercase()]
                .iter()
                .any(|text| text.contains(word.as_str()))
        })
    };
    let tools = registry.all();
    let found: Vec<&ToolRef> = tools.iter().filter(fits).collect();
    if json {
        let rows: Vec<CatalogueRow> = found.iter().map(|tool| row(tool)).collect();
        return serde_json::to_string_pretty(&rows)
            .map(|text| text + "\n")
            .map_err(|error| {
                Problem::internal(format!("The catalogue cannot be written: {error}."))
            });
    }
    if found.is_empty() {
        let near = text::did_you_mean(
            word.as_deref().unwrap_or_default(),
            tools.iter().map(ToolRef::name),
        );
        return Err(
            Problem::missing("No tool fits that word.").next(near.map_or_else(
                || "marvin tools lists all.".to_owned(),
                |near| text::capitalize(&near),
            )),
        );
    }
    let mut out = String::new();
    for tool in found {
        let (name, module, about) = (tool.name(), tool.module(), tool.about());
        let _ = writeln!(
            out,
            "{name:<NAME_COLUMNS$} {module:<MODULE_COLUMNS$} {about}"
        );
    }
    Ok(out)
}

/// The text of [`list`] with the descriptions in a column of their own, in lines of at most `columns`.
pub(crate) fn broken(text: &str, columns: usize) -> String {
    let indent = NAME_COLUMNS + MODULE_COLUMNS + 2;
    let room = columns.saturating_sub(indent).max(20);
    let mut out = String::new();
    for line in text.lines() {
        let (lead, about) = line.split_at_checked(indent).unwrap_or((line, ""));
        out.push_str(lead);
        let mut used = 0;
        for word in about.split_whitespace() {
            let width = word.chars().count();
            if used > 0 && used + 1 + width > room {
                let _ = write!(out, "\n{:indent$}", "");
                used = 0;
            } else if used > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += width;
        }
        out.push('\n');
    }
    out
}

fn row(tool: &ToolRef) -> CatalogueRow<'_> {
    let rules = tool.rules();
    let flags = Flags {
        coding_only: rules.coding,
        write_op: rules.effect.is_write(),
        interactive_only: false,
        long_running: rules.long,
    };
    CatalogueRow {
        name: tool.name(),
        module: tool.module(),
        summary: tool.about(),
        parameters: serde_json::from_str(&tool.schema()).unwrap_or_default(),
        flags,
        annotations: rules.annotations(),
        service: rules.service,
    }
}
