//! The manual page in roff, from the tables and the topics.

use std::fmt::Write as _;

use super::help::{ABOUT, USAGE, usage};
use super::subcommands;
use crate::app::help::markup::Block;
use crate::app::help::roff::{self, escape};
use crate::app::help::{HelpTables, topics};

/// Topics whose sections have the names that manual pages give them.
const SECTIONS: [(&str, &str); 2] = [("flags", "options"), ("variables", "environment")];

pub(crate) fn page(tables: &HelpTables) -> String {
    let mut out = format!(
        ".TH MARVIN 1 \"\" \"Marvin {}\"\n.SH NAME\nmarvin \\- {}\n.SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION"),
        escape(ABOUT.trim_start_matches("Marvin: "))
    );
    for (usage, _) in USAGE {
        let _ = writeln!(out, ".B {}\n.br", escape(usage));
    }
    out.push_str(".SH DESCRIPTION\nWithout a mode flag Marvin answers in the terminal. With \\-\\-non\\-interactive it reads one prompt, writes the answer to standard output as it arrives, and ends; the last line of standard error is the cost as JSON. The sections after SUBCOMMANDS are what \\fBmarvin help TOPIC\\fR prints.\n");
    topic(&mut out, "flags", tables);
    roff::section(&mut out, "subcommands");
    for command in subcommands::listed() {
        let mut blocks = usage(command);
        if let Some(Block::Paragraph(doc)) = blocks.first().cloned() {
            blocks = blocks.split_off(2);
            blocks.insert(0, Block::Heading(format!("marvin {}", command.name)));
            blocks.insert(1, Block::Paragraph(doc));
        }
        out.push_str(&roff::text(&blocks));
    }
    for other in topics().filter(|topic| topic.name != "flags") {
        topic(&mut out, other.name, tables);
    }
    out
}

fn topic(out: &mut String, name: &str, tables: &HelpTables) {
    let Some(topic) = topics().find(|topic| topic.name == name) else {
        return;
    };
    let title = SECTIONS.iter().find(|(topic, _)| *topic == name);
    roff::section(out, title.map_or(name, |(_, title)| title));
    out.push_str(&roff::text(&topic.blocks(tables)));
}
