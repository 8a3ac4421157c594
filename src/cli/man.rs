//! The manual page in roff, from the tables.

use std::fmt::Write as _;

use super::help::{ABOUT, USAGE, written};
use super::subcommands::SUBCOMMANDS;
use crate::agent::ending::{RUN_ENDS, RunEnd};
use crate::app::settings::FLAGS;
use crate::app::variables;
use crate::base::text::capitalize;

/// The keys of the cost line.
const COST_KEYS: &[(&str, &str)] = &[
    ("session_cost", "US dollars of the run"),
    ("llm_turns", "model calls"),
    ("model_turns", "model calls by model"),
    ("model_cost", "US dollars by model"),
    ("input_tokens", "tokens of the requests, all of them"),
    (
        "cached_tokens",
        "of these, read from the provider's cache at a lower price",
    ),
    ("written_tokens", "of these, written to it"),
    ("reasoning_tokens", "of output_tokens, reasoning"),
    ("output_tokens", "tokens of the replies, all of them"),
    (
        "estimated",
        "true when any of these numbers is Marvin's estimate, because the provider did not say",
    ),
];

pub(crate) fn page() -> String {
    let mut out = format!(
        ".TH MARVIN 1 \"\" \"Marvin {}\"\n.SH NAME\nmarvin \\- {}\n.SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION"),
        roff(ABOUT.trim_start_matches("Marvin: "))
    );
    for usage in USAGE {
        let _ = writeln!(out, ".B {}\n.br", roff(usage));
    }
    out.push_str(".SH DESCRIPTION\nWithout a mode flag Marvin answers in the terminal. With \\-\\-non\\-interactive it reads one prompt, writes the answer to standard output as it arrives, and ends; the last line of standard error is the cost as JSON.\n");
    section(
        &mut out,
        "OPTIONS",
        FLAGS
            .iter()
            .filter(|flag| !flag.hidden)
            .map(|flag| (written(flag).trim().to_owned(), flag.doc.to_owned())),
    );
    section(
        &mut out,
        "SUBCOMMANDS",
        SUBCOMMANDS
            .iter()
            .filter(|command| !command.hidden)
            .map(|command| {
                (
                    format!("{} {}", command.name, command.usage),
                    command.doc.to_owned(),
                )
            }),
    );
    section(
        &mut out,
        "ENVIRONMENT",
        variables::all().map(|variable| (variable.name, variable.doc)),
    );
    out.push_str(".SH COST\nThe line begins with MARVIN_COST: and is followed by one JSON object with these keys, in this order; later versions may add more at its end.\n");
    let rows = COST_KEYS.iter();
    rows.for_each(|(key, text)| {
        let _ = writeln!(out, ".TP\n.B {key}\n{}", roff(text));
    });
    out.push_str(".PP\nA provider that says what it charges is believed, unless MARVIN_PRICES names the model. Otherwise the tokens are multiplied with the prices of the model. What a provider does not say is estimated, and shown with ~ before it. Models on this machine cost nothing.\n");
    out.push_str(".SH EXIT STATUS\n");
    out.push_str("The status is 0 only when a complete answer was written. Whatever it is, the part of the answer that had arrived stands on standard output; with 1 a line that begins with Error: on standard error tells why, in the words in quotation marks.\n");
    for end in RUN_ENDS {
        let _ = writeln!(out, ".TP\n.B {}\n{}", end.status, roff(&end_words(end)));
    }
    out.push_str(".SH FILES\n.TP\n~/.config/local-finder/\nSettings (config.yaml), profiles, usage. MARVIN_CONFIG_DIR replaces it.\n.TP\nPROJECT/.marvin/\nWhat Marvin keeps for a project.\n");
    out.push_str(".SH EXAMPLES\n.nf\nmarvin \\-\\-non\\-interactive \\-\\-prompt \"show the tree\"\ngit diff | marvin \\-\\-non\\-interactive \\-\\-stdin \\-\\-prompt \"write a commit message\"\nmarvin tool code_grep pattern=TODO\n.fi\n");
    out
}

/// An end of a run: what happened, and how its error line can be told from others.
fn end_words(end: &RunEnd) -> String {
    let when = capitalize(end.when);
    if end.words.is_empty() {
        format!("{when}.")
    } else {
        format!("{when}: \"{}\".", end.words)
    }
}

fn section(out: &mut String, heading: &str, rows: impl Iterator<Item = (String, String)>) {
    let _ = writeln!(out, ".SH {heading}");
    for (term, text) in rows {
        let _ = writeln!(out, ".TP\n.B {}\n{}", roff(term.trim()), roff(&text));
    }
}

/// Escapes what roff would interpret.
fn roff(text: &str) -> String {
    let text: String = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .chars()
        .map(|c| {
            if c.is_ascii() {
                c.to_string()
            } else {
                format!("\\[u{:04X}]", u32::from(c))
            }
        })
        .collect();
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}
