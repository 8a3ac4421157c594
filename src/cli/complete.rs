//! Completion scripts for bash, zsh and fish, from the tables.

use std::fmt::Write as _;

use super::subcommands;
use crate::app::help;
use crate::app::settings::flag::{Complete, Flag, ValueMode, words};
use crate::app::settings::flags;

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

/// A command that prints the sessions, one per line and the latest first: the beginning of the ID, `separator`, and what it is called. The columns of the list
/// are two blanks or more apart, and no text in it has two blanks.
fn sessions(separator: &str) -> String {
    format!("marvin sessions 2>/dev/null | awk -F'  +' 'NF > 3 {{print $1 \"{separator}\" $NF}}'")
}

/// The same without names.
const SESSION_IDS: &str = "marvin sessions 2>/dev/null | awk -F'  +' 'NF > 3 {print $1}'";

/// The flags that take the ID of a session, which may be left out. The word after one is no subcommand.
fn session_flags() -> Vec<String> {
    let flags = shown().filter(|flag| flag.complete == Complete::Session);
    let names = flags.flat_map(|flag| {
        let short = flag.short.map(|short| format!("-{short}"));
        [Some(format!("--{}", flag.long)), short]
    });
    names.flatten().collect()
}

pub(crate) const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

fn shown() -> impl Iterator<Item = &'static Flag> {
    flags::all().filter(|flag| !flag.hidden)
}

fn subcommand_names() -> Vec<&'static str> {
    subcommands::listed().map(|command| command.name).collect()
}

/// What `marvin help` takes: topics and subcommands.
fn topic_words() -> String {
    let mut words: Vec<&str> = help::topics().map(|topic| topic.name).collect();
    for name in subcommand_names() {
        if !words.contains(&name) {
            words.push(name);
        }
    }
    words.join(" ")
}

fn bash() -> String {
    // A name with a space is one name; elsewhere spaces separate words.
    let files = |kind| {
        format!(
            "local IFS=$'\\n'; COMPREPLY=($(compgen -{kind} -- \"$cur\")); compopt -o filenames 2>/dev/null"
        )
    };
    let ids = format!("COMPREPLY=($(compgen -W \"$({SESSION_IDS})\" -- \"$cur\"))");
    let longs: Vec<String> = shown().map(|flag| format!("--{}", flag.long)).collect();
    let mut out = String::from(
        "_marvin() {\n    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n    case $prev in\n",
    );
    for flag in shown().filter(|flag| flag.takes != ValueMode::Nothing) {
        let names = match flag.short {
            Some(short) => format!("--{}|-{short}", flag.long),
            None => format!("--{}", flag.long),
        };
        let reply = match flag.complete {
            Complete::Session => {
                // The ID may be left out.
                let _ = writeln!(
                    out,
                    "        {names}) [[ $cur == -* ]] || {{ {ids}; return; }};;"
                );
                continue;
            }
            Complete::File => files('f'),
            Complete::Folder => files('d'),
            Complete::Nothing => "COMPREPLY=()".to_owned(),
            Complete::Provider
            | Complete::Effort
            | Complete::Group
            | Complete::Phase
            | Complete::Approval
            | Complete::PermissionMode
            | Complete::SandboxMode => format!(
                "COMPREPLY=($(compgen -W '{}' -- \"$cur\"))",
                words(flag.complete).join(" ")
            ),
        };
        let _ = writeln!(out, "        {names}) {reply}; return;;");
    }
    let _ = writeln!(
        out,
        "        completions) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return;;",
        SHELLS.join(" ")
    );
    let _ = writeln!(
        out,
        "        help) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return;;",
        topic_words()
    );
    let _ = writeln!(
        out,
        "        tool) COMPREPLY=($(compgen -W \"$({TOOL_NAMES})\" -- \"$cur\")); return;;\n        export) {ids}; return;;\n    esac"
    );
    let _ = writeln!(
        out,
        "    if [[ \" ${{COMP_WORDS[*]}} \" == *\" sessions \"* ]]; then\n        if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '--delete --json' -- \"$cur\")); return; fi\n        if [[ \" ${{COMP_WORDS[*]}} \" == *\" --delete \"* ]]; then {ids}; return; fi\n    fi"
    );
    let _ = writeln!(
        out,
        "    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '{}' -- \"$cur\"))",
        longs.join(" ")
    );
    let _ = writeln!(
        out,
        "    elif [[ $COMP_CWORD == 1 ]]; then COMPREPLY=($(compgen -W '{}' -- \"$cur\")); fi\n}}\ncomplete -o default -F _marvin marvin",
        subcommand_names().join(" ")
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
    let mut out = String::from("#compdef marvin\n");
    let _ = writeln!(
        out,
        "_marvin_sessions() {{\n    local -a found\n    found=(${{(f)\"$({})\"}})\n    _describe -V 'session' found\n}}\n_marvin_subcommands() {{\n    [[ $words[CURRENT-1] == ({}) ]] || compadd -- {}\n}}",
        sessions(":"),
        session_flags().join("|"),
        subcommand_names().join(" ")
    );
    out.push_str(
        "_marvin() {\n    local context state line\n    local -a own\n    typeset -A opt_args\n    (( $words[(I)sessions] )) && own=('--delete[Remove the sessions whose IDs follow.]')\n    _arguments -s -C $own \\\n",
    );
    for flag in shown() {
        let value = match flag.takes {
            ValueMode::Nothing => String::new(),
            ValueMode::Value(name) | ValueMode::Any(name) | ValueMode::Maybe(name) => {
                let action = match flag.complete {
                    Complete::File => "_files".to_owned(),
                    Complete::Folder => "_files -/".to_owned(),
                    Complete::Nothing => " ".to_owned(),
                    Complete::Session => "_marvin_sessions".to_owned(),
                    Complete::Provider
                    | Complete::Effort
                    | Complete::Group
                    | Complete::Phase
                    | Complete::Approval
                    | Complete::PermissionMode
                    | Complete::SandboxMode => {
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
        if let Some(short) = flag.short.filter(|_| flag.complete == Complete::Session) {
            let _ = writeln!(out, "        '-{short}[{}]{value}' \\", quote(flag.doc));
        }
    }
    out.push_str(
        "        '1:subcommand:_marvin_subcommands' \\\n        '*:word:->word' && return\n    [[ $state == word ]] || return 1\n",
    );
    let _ = writeln!(
        out,
        "    case $words[CURRENT-1] in\n        completions) compadd -- {};;\n        help) compadd -- {};;\n        tool) compadd -- ${{(f)\"$({TOOL_NAMES})\"}};;\n        export) _marvin_sessions;;\n        *) if (( $words[(I)sessions] && $words[(I)--delete] )); then _marvin_sessions; else _files; fi;;\n    esac\n}}\n_marvin \"$@\"",
        SHELLS.join(" "),
        topic_words()
    );
    out
}

fn fish() -> String {
    let quote = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let takes_session = format!(
        "contains -- (commandline -opc)[-1] {}",
        session_flags().join(" ")
    );
    let mut out = format!("function __marvin_sessions\n    {}\nend\n", sessions("\\t"));
    for condition in [
        takes_session.as_str(),
        "test (commandline -opc)[-1] = export",
        "contains -- sessions (commandline -opc); and contains -- --delete (commandline -opc)",
    ] {
        let _ = writeln!(
            out,
            "complete -c marvin -n '{condition}' -k -f -a '(__marvin_sessions)'"
        );
    }
    out.push_str(
        "complete -c marvin -n 'contains -- sessions (commandline -opc)' -l delete -d 'Remove the sessions whose IDs follow.'\n",
    );
    for command in subcommands::listed() {
        let _ = writeln!(
            out,
            "complete -c marvin -n '__fish_use_subcommand; and not {takes_session}' -f -a {} -d '{}'",
            command.name,
            quote(command.doc)
        );
    }
    let _ = writeln!(
        out,
        "complete -c marvin -n 'test (commandline -opc)[-1] = completions' -f -a '{}'",
        SHELLS.join(" ")
    );
    for topic in help::topics() {
        let _ = writeln!(
            out,
            "complete -c marvin -n 'test (commandline -opc)[-1] = help' -f -a {} -d '{}'",
            topic.name,
            quote(topic.about)
        );
    }
    let _ = writeln!(
        out,
        "complete -c marvin -n 'test (commandline -opc)[-1] = help' -f -a '{}'",
        topic_words()
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
        if matches!(flag.takes, ValueMode::Value(_) | ValueMode::Any(_)) {
            out.push_str(" -r");
        }
        match flag.complete {
            Complete::Folder => out.push_str(" -f -a '(__fish_complete_directories)'"),
            Complete::Provider
            | Complete::Effort
            | Complete::Group
            | Complete::Phase
            | Complete::Approval
            | Complete::PermissionMode
            | Complete::SandboxMode => {
                let _ = write!(out, " -f -a '{}'", words(flag.complete).join(" "));
            }
            Complete::File | Complete::Session | Complete::Nothing => {}
        }
        let _ = writeln!(out, " -d '{}'", quote(flag.doc));
    }
    out
}
