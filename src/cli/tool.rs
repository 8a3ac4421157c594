//! `marvin tool` and `marvin tools`.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::run::print;
use super::values;
use crate::app::one_tool;
use crate::app::session::Start;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::error::{Outcome, Problem};
use crate::base::params::{Schema, right_call};
use crate::base::text;
use crate::tools::bounds::Bounds;
use crate::tools::registry::{named, unknown};
use crate::tools::{Access, Tool, all};

/// `marvin tool NAME [key=value …] [--json '{…}'] [--working-dir DIR]`.
pub(super) fn run(words: &[String], start: Start) -> Outcome<u8> {
    let name = words.first().ok_or_else(|| {
        Problem::input("Which tool? None was named.")
            .next("marvin tools lists them; marvin tool NAME --help shows one.")
    })?;
    let tool = named(name).ok_or_else(|| unknown(name, &Bounds::default()))?;
    let mut pairs = Vec::new();
    let (mut json, mut dir) = (None, None);
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = |flag: &str| {
            inline
                .clone()
                .or_else(|| rest.next().cloned())
                .ok_or_else(|| Problem::input(format!("{flag} needs a value.")))
        };
        match flag {
            "--help" | "-h" => return print(&help(tool)).map(|()| 0),
            "--json" => json = Some(value(flag)?),
            "--working-dir" => dir = Some(PathBuf::from(value(flag)?)),
            _ if flag.starts_with("--") => {
                return Err(
                    Problem::input(format!("There is no flag {flag} here.")).next(
                        "Flags: --json, --working-dir, --help. Parameters are given as key=value.",
                    ),
                );
            }
            _ => pairs.push(word.clone()),
        }
    }
    let args = serde_json::Value::Object(values::object(tool.fields, &pairs, json.as_deref())?)
        .to_string();
    let stop = Cancel::new();
    stop_on_signals(&stop);
    let output = one_tool::run(&start, name, args, dir.as_deref(), &stop)?;
    if output.failed {
        say(&output.text);
        return Ok(1);
    }
    print(&format!("{}\n", output.text.trim_end_matches('\n')))?;
    Ok(0)
}

/// Ctrl-C ends the tool and its children instead of this process alone.
fn stop_on_signals(stop: &Cancel) {
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
        let stop = stop.clone();
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                stop.fire();
            }
        });
    }
}

/// What one tool does and takes.
fn help(tool: &Tool) -> String {
    let mut out = format!("{} ({}): {}\n", tool.name, tool.module, tool.about());
    for field in tool.fields {
        let mut facts = vec![field.kind.wanted()];
        facts.push(if field.required {
            "required".to_owned()
        } else {
            field.default.map_or_else(
                || "optional".to_owned(),
                |value| format!("default {}", value()),
            )
        });
        facts.extend(field.min.map(|min| format!("at least {min}")));
        facts.extend(field.max.map(|max| format!("at most {max}")));
        let _ = writeln!(
            out,
            "  {:<18} {} ({})",
            field.name,
            field.doc(),
            facts.join(", ")
        );
    }
    let _ = writeln!(
        out,
        "For example: marvin tool {} --json '{}'",
        tool.name,
        right_call(tool.fields)
    );
    out
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    module: &'static str,
    summary: &'static str,
    parameters: Schema,
    flags: Flags,
    service: Option<&'static str>,
}

#[derive(Serialize)]
struct Flags {
    coding_only: bool,
    write_op: bool,
    interactive_only: bool,
    long_running: bool,
}

/// `marvin tools [--json] [WORD]`.
pub(super) fn catalogue(words: &[String]) -> Outcome<String> {
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
    let fits = |tool: &&Tool| {
        word.as_ref().is_none_or(|word| {
            [tool.name, tool.module, &tool.about().to_lowercase()]
                .iter()
                .any(|text| text.contains(word.as_str()))
        })
    };
    let found: Vec<&Tool> = all().filter(fits).collect();
    if json {
        let rows: Vec<Row> = found.iter().map(|tool| row(tool)).collect();
        return serde_json::to_string_pretty(&rows)
            .map(|text| text + "\n")
            .map_err(|why| Problem::internal(format!("The catalogue cannot be written: {why}.")));
    }
    if found.is_empty() {
        let near = text::did_you_mean(
            word.as_deref().unwrap_or_default(),
            all().map(|tool| tool.name),
        );
        return Err(
            Problem::missing("No tool fits that word.").next(near.map_or_else(
                || "marvin tools lists all.".to_owned(),
                |near| text::capital(&near),
            )),
        );
    }
    let mut out = String::new();
    for tool in found {
        let _ = writeln!(
            out,
            "{:<24} {:<10} {}",
            tool.name,
            tool.module,
            tool.about()
        );
    }
    Ok(out)
}

fn row(tool: &Tool) -> Row {
    let flags = Flags {
        coding_only: tool.rules.coding,
        write_op: tool.rules.access == Access::Write,
        interactive_only: false,
        long_running: tool.rules.long,
    };
    Row {
        name: tool.name,
        module: tool.module,
        summary: tool.about(),
        parameters: Schema(tool.fields),
        flags,
        service: tool.rules.service,
    }
}
