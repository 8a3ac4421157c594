//! The subcommands, declared once: parsing, help, completions and the manual page are generated from this table.

pub(crate) struct Subcommand {
    pub name: &'static str,
    /// Its arguments, as the help shows them.
    pub usage: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Accepted but not listed.
    pub hidden: bool,
}

pub(crate) static SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "tool",
        usage: "NAME [key=value …] [--json '{…}'] [--working-dir DIR]",
        doc: "Run one tool without a model.",
        hidden: false,
    },
    Subcommand {
        name: "tools",
        usage: "[--json] [WORD]",
        doc: "List the tools.",
        hidden: false,
    },
    Subcommand {
        name: "tk",
        usage: "COMMAND …",
        doc: "Work on tickets with the ticket script's commands.",
        hidden: false,
    },
    Subcommand {
        name: "models",
        usage: "[PROVIDER] [--json]",
        doc: "List the models that a provider serves, with window, price and end.",
        hidden: false,
    },
    Subcommand {
        name: "pipeline",
        usage: "status|log [PHASE] [--working-dir DIR] [--json]",
        doc: "Show how a run of the pipeline stands, or the logs of a phase's children.",
        hidden: false,
    },
    Subcommand {
        name: "memory",
        usage: "show [--json]|search WORD… [--json]|forget WORD…|YYYY-MM-DD|node ID|all [--yes]|export [FILE]|import FILE|clean|topics",
        doc: "Show, search, export and erase what Marvin remembers about you.",
        hidden: false,
    },
    Subcommand {
        name: "sessions",
        usage: "[--json] [WORD]|--delete ID…",
        doc: "List the sessions of this profile, the latest first, or remove some.",
        hidden: false,
    },
    Subcommand {
        name: "export",
        usage: "ID [--json]",
        doc: "Print a session as Markdown, or its lines as they are.",
        hidden: false,
    },
    Subcommand {
        name: "services",
        usage: "[--json]",
        doc: "List the outside services and their addresses.",
        hidden: false,
    },
    Subcommand {
        name: "doctor",
        usage: "[--json]",
        doc: "Say what works here and what to do about the rest.",
        hidden: false,
    },
    Subcommand {
        name: "completions",
        usage: "bash|zsh|fish",
        doc: "Print a completion script for a shell.",
        hidden: false,
    },
    Subcommand {
        name: "debug",
        usage: "reply PART [ARGUMENT]",
        doc: "Run a part of the reply flow on standard input.",
        hidden: true,
    },
    Subcommand {
        name: "man",
        usage: "",
        doc: "Print the manual page.",
        hidden: false,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_is_described_by_a_sentence() {
        assert!(SUBCOMMANDS.iter().all(|command| command.doc.ends_with('.')));
    }
}
