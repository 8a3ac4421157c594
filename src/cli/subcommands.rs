//! The subcommands, declared once: parsing, help, completions and the manual page are generated from this table.

use crate::app::memory::command as memory;

pub(crate) struct Subcommand {
    pub name: &'static str,
    /// What may follow the name, one form a line: arguments, a tab, what that does. One text, because a table of them would be relocated at every start.
    pub forms: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Flags that it accepts before its name, without dashes; all others are an error.
    pub flags: &'static [&'static str],
    /// It takes no words, and its flags may follow its name too.
    pub flags_follow: bool,
    /// Its flags may stand among its words, too.
    pub flags_among_words: bool,
    /// The first screen of the help has only its name: most people do not need it.
    pub is_further: bool,
    /// Accepted but not listed.
    pub hidden: bool,
}

impl Subcommand {
    /// Each form: arguments, and what it does.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lines = self.forms.lines();
        lines.map(|line| line.split_once('\t').unwrap_or((line, "")))
    }
}

const fn subcommand(name: &'static str, doc: &'static str, forms: &'static str) -> Subcommand {
    Subcommand {
        name,
        forms,
        doc,
        flags: &[],
        flags_follow: false,
        flags_among_words: false,
        is_further: false,
        hidden: false,
    }
}

impl Subcommand {
    const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    const fn flags_follow(mut self) -> Self {
        self.flags_follow = true;
        self
    }

    const fn flags_among_words(mut self) -> Self {
        self.flags_among_words = true;
        self
    }

    const fn further(mut self) -> Self {
        self.is_further = true;
        self
    }

    const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
}

pub(crate) static SUBCOMMANDS: &[Subcommand] = &[
    subcommand(
        "tool",
        "Run one tool without a model.",
        "NAME [key=value …] [--json '{…}'] [--working-dir DIR]\trun it; coding tools work in the folder\n\
         NAME --help\tshow its parameters",
    )
    .flags(&["working-dir", "sandbox", "sandbox-network", "add-dir"])
    .flags_among_words(),
    subcommand(
        "tools",
        "List the tools.",
        "[WORD]\tall, or those that fit a word\n[WORD] --json\twith parameters and effects, for programs",
    ),
    subcommand(
        "tk",
        "Work on tickets with the ticket script's commands.",
        "COMMAND …\tone command of the script\nhelp\tlist the commands",
    ),
    subcommand(
        "models",
        "List the models that a provider serves.",
        "[PROVIDER]\twith window, price and end; unless named, of the provider that would answer\n\
         [PROVIDER] --json\tfor programs",
    )
    .flags(&["provider"]),
    subcommand(
        "acp",
        "Be the agent of an editor that speaks the Agent Client Protocol.",
        "\tread requests on standard input, answer on standard output; the editor starts it so\n\
         --setup\tsay what is missing until a model can answer",
    )
    .flags(&[
        "provider",
        "model",
        "effort",
        "tools",
        "sandbox",
        "sandbox-network",
        "add-dir",
        "permission-mode",
        "dangerously-skip-permissions",
        "allowed-tools",
        "disallowed-tools",
        "max-cost",
        "append-system-prompt",
        "trust-project",
        "no-hooks",
    ])
    .flags_follow(),
    subcommand(
        "pipeline",
        "Plan, follow, steer and merge a run of the pipeline.",
        "plan --prompt TEXT [--working-dir DIR] [--json]\tphases, models, cost and time of a run with these flags, before anything is paid\n\
         approve [POINT] [--feature NAME] [--working-dir DIR]\tlet a run go on that waits for your approval (--approve)\n\
         status [--feature NAME] [--working-dir DIR] [--json]\tphases, children, tests and cost\n\
         report [--html FILE] [--feature NAME] [--working-dir DIR] [--json]\teach requirement with its design, tests, commits and findings, and what it cost\n\
         log [PHASE] [--feature NAME] [--working-dir DIR]\twhat the children of a phase did and said; of the last one unless named\n\
         merge [NAME] [--squash|--all] [--force] [--working-dir DIR]\tbring the work of its worktree into your branch, as one commit unless all are wanted\n\
         merge [NAME] --resolve [--model TIER=MODEL] [--working-dir DIR]\thave a child resolve what conflicts, in the worktree\n\
         worktrees [--remove NAME [--force]] [--working-dir DIR]\tlist the worktrees of runs and reviews, or remove one",
    )
    .flags(&["working-dir", "feature", "provider", "model", "max-cost"])
    .flags_among_words(),
    subcommand(
        "mcp",
        "Use others' MCP servers, and offer Marvin's tools as one.",
        super::mcp::FORMS,
    )
    .flags(&[
        "working-dir",
        "tools",
        "trust-project",
        "trust-project-mcp",
        "sandbox",
        "sandbox-network",
        "add-dir",
    ]),
    subcommand(
        "trust",
        "Say which projects may act by themselves: their hooks, skills and MCP servers.",
        "[DIR]\ttrust the project in this folder, or in the current one, and show what it brings along\n\
         --list\tthe folders about which you decided\n\
         --list --json\tfor programs\n\
         --remove DIR\tforget what you decided about a folder",
    )
    .further(),
    subcommand(
        "skills",
        "List the skills that count here.",
        "\twhere they are, who can use them, and what is wrong with them\n--json\tfor programs",
    )
    .flags(&["trust-project"])
    .further(),
    subcommand(
        "hooks",
        "List the hooks that run here.",
        "\tyours and the project's\nimport FILE\tprint what the hooks of another program's settings would be in hooks.json",
    )
    .flags(&["no-hooks"])
    .further(),
    subcommand(
        "memory",
        "Show, search, export and erase what Marvin remembers.",
        memory::FORMS,
    )
    .flags(&["provider", "model", "max-cost"]),
    subcommand(
        "sessions",
        "List the sessions of this profile, or remove some.",
        "[WORD]\tthe latest first; only those that fit a word\n[WORD] --json\tfor programs\n--delete ID…\tremove them",
    ),
    subcommand(
        "export",
        "Print a session.",
        "ID\tas Markdown\nID --json\tits lines as they are",
    ),
    subcommand(
        "services",
        "List the outside services and their addresses.",
        "\twith address, key and tools\n--json\tfor programs",
    ),
    subcommand(
        "doctor",
        "Say what works here and what to do about the rest.",
        "\tproviders, programs, voice, services, folders\n--json\tfor programs",
    )
    .flags(&["provider", "model"]),
    subcommand(
        "completions",
        "Print a completion script for a shell.",
        "bash|zsh|fish\tfor example: source <(marvin completions bash)",
    ),
    subcommand(
        "debug",
        "Run a part of Marvin on its own.",
        "reply PART [ARGUMENT]\tone of the reply flow, on standard input\n\
         mcp-fixture --http [HOST:]PORT\ta server for the conformance suite of the Model Context Protocol",
    )
    .hidden(),
    subcommand(
        "help",
        "Explain a topic or a subcommand, or search the help.",
        "\tlist the topics\n\
         TOPIC\texplain it\n\
         SUBCOMMAND\tshow its usage\n\
         -s WORD…\tshow where the help says something about the words",
    ),
    subcommand(
        "man",
        "Print the manual page.",
        "\tto read it: marvin man | man -l -",
    ),
];

pub(crate) fn find(name: &str) -> Option<&'static Subcommand> {
    SUBCOMMANDS.iter().find(|command| command.name == name)
}

/// Those that the help lists.
pub(crate) fn listed() -> impl Iterator<Item = &'static Subcommand> {
    SUBCOMMANDS.iter().filter(|command| !command.hidden)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::settings::flags;

    #[test]
    fn every_subcommand_is_described_by_a_sentence_and_its_forms() {
        for command in SUBCOMMANDS {
            assert!(command.doc.ends_with('.'), "{}", command.name);
            for (_, does) in command.forms() {
                assert!(!does.is_empty(), "{}", command.name);
            }
            for flag in command.flags {
                assert!(flags::long(flag).is_some(), "{}: {flag}", command.name);
            }
        }
    }
}
