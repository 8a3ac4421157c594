//! Completion scripts for bash, zsh and fish, from the tables.

use std::fmt::Write as _;

use super::subcommands::SUBCOMMANDS;
use crate::app::settings::FLAGS;
use crate::app::settings::flag::{Complete, Flag, ValueMode, words};

/// The completion script for `shell`; `None` when it is not known.
pub(crate) fn script(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "zsh" => Some(zsh()),
        "fish" => Some(fish()),
        _ => None,
    }
}

/// A command that prints the names of the tools, one per line, in any shell.
const TOOL_NAMES: &str = "marvin tools 2>/dev/null | awk '{print $1}'";

/// Shells with completion.
pub(crate) const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

fn shown() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().filter(|flag| !flag.hidden)
}

fn subcommands() -> Vec<&'static str> {
    SUBCOMMANDS
        .iter()
        .filter(|command| !command.hidden)
        .map(|command| command.name)
        .collect()
}

fn bash() -> String {
    // A name with a space is one name; elsewhere spaces separate words.
    let files = |kind| {
        format!(
            "local IFS=$'\\n'; COMPREPLY=($(compgen -{kind} -- \"$cur\")); compopt -o filenames 2>/dev/null"
        )
    };
    let longs: Vec<String> = shown().map(|flag| format!("--{}", flag.long)).collect();
    let mut out = String::from(
        "_marvin() {\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n    case $prev in\n",
    );
    for flag in shown().filter(|flag| flag.takes != ValueMode::Nothing) {
        let reply = match flag.complete {
            Complete::File => files('f'),
            Complete::Folder => files('d'),
            Complete::Nothing => "COMPREPLY=()".to_owned(),
            Complete::Provider | Complete::Group => format!(
                "COMPREPLY=($(compgen -W '{}' -- \"$cur\"))",
                words(flag.complete).join(" ")
            ),
        };
        let _ = writeln!(out, "        --{}) {reply}; return;;", flag.long);
    }
    let _ = writeln!(
        out,
        "        completions) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return;;",
        SHELLS.join(" ")
    );
    let _ = writeln!(
        out,
        "        tool) COMPREPLY=($(compgen -W \"$({TOOL_NAMES})\" -- \"$cur\")); return;;\n    esac"
    );
    let _ = writeln!(
        out,
        "    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '{}' -- \"$cur\"))",
        longs.join(" ")
    );
    let _ = writeln!(
        out,
        "    elif [[ $COMP_CWORD == 1 ]]; then COMPREPLY=($(compgen -W '{}' -- \"$cur\")); fi\n}}\ncomplete -o default -F _marvin marvin",
        subcommands().join(" ")
    );
    out
}

fn zsh() -> String {
    let quote = |text: &str| {
        text.replace('\'', "'\\''")
            .replace('[', "\\[")
            .replace(']', "\\]")
            .replace(':', "\\:")
    };
    let mut out = String::from(
        "#compdef marvin\n_marvin() {\n    local context state line\n    typeset -A opt_args\n    _arguments -s -C \\\n",
    );
    for flag in shown() {
        let value = match flag.takes {
            ValueMode::Nothing => String::new(),
            ValueMode::Value(name) | ValueMode::Maybe(name) => {
                let action = match flag.complete {
                    Complete::File => "_files".to_owned(),
                    Complete::Folder => "_files -/".to_owned(),
                    Complete::Nothing => " ".to_owned(),
                    Complete::Provider | Complete::Group => {
                        format!("({})", words(flag.complete).join(" "))
                    }
                };
                format!(
                    "{}:{}:{action}",
                    if matches!(flag.takes, ValueMode::Maybe(_)) {
                        ":"
                    } else {
                        ""
                    },
                    quote(name)
                )
            }
        };
        let equals = if flag.takes == ValueMode::Nothing {
            ""
        } else {
            "="
        };
        let _ = writeln!(
            out,
            "        '--{}{equals}[{}]{value}' \\",
            flag.long,
            quote(flag.doc)
        );
    }
    let _ = writeln!(
        out,
        "        '1:subcommand:({})' \\\n        '*:word:->word' && return\n    [[ $state == word ]] || return 1",
        subcommands().join(" ")
    );
    let _ = writeln!(
        out,
        "    case $words[CURRENT-1] in\n        completions) compadd -- {};;\n        tool) compadd -- ${{(f)\"$({TOOL_NAMES})\"}};;\n        *) _files;;\n    esac\n}}\n_marvin \"$@\"",
        SHELLS.join(" ")
    );
    out
}

fn fish() -> String {
    let quote = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let mut out = String::new();
    for command in SUBCOMMANDS.iter().filter(|command| !command.hidden) {
        let _ = writeln!(
            out,
            "complete -c marvin -n __fish_use_subcommand -f -a {} -d '{}'",
            command.name,
            quote(command.doc)
        );
    }
    let _ = writeln!(
        out,
        "complete -c marvin -n 'test (commandline -opc)[-1] = completions' -f -a '{}'",
        SHELLS.join(" ")
    );
    // Only the word after `tool` is a tool's name; what follows are its arguments.
    let _ = writeln!(
        out,
        "complete -c marvin -n 'test (commandline -opc)[-1] = tool' -f -a \"({})\"",
        TOOL_NAMES.replace('$', "\\$")
    );
    for flag in shown() {
        let _ = write!(out, "complete -c marvin -l {}", flag.long);
        if let Some(short) = flag.short {
            let _ = write!(out, " -s {short}");
        }
        if matches!(flag.takes, ValueMode::Value(_)) {
            out.push_str(" -r");
        }
        match flag.complete {
            Complete::Folder => out.push_str(" -f -a '(__fish_complete_directories)'"),
            Complete::Provider | Complete::Group => {
                let _ = write!(out, " -f -a '{}'", words(flag.complete).join(" "));
            }
            Complete::File | Complete::Nothing => {}
        }
        let _ = writeln!(out, " -d '{}'", quote(flag.doc));
    }
    out
}
