//! The flags of a run that a program drives: the form of its output and input, limits, the system prompt. Their spellings are those of the Claude Agent SDKs.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

use super::CliArgs;
use super::caller_servers::CallerServers;
use super::flag::{Flag, FlagGroup, ValueMode, flag, text};
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::formats::json_schema::schema::Schema;
use crate::llm::provider::Effort;
use crate::model_call::user_facts::CallerPrompt;

/// Tokens for thinking up to which an effort is meant.
const EFFORTS: [(u64, Effort); 3] = [
    (0, Effort::None),
    (4_096, Effort::Low),
    (16_384, Effort::Medium),
];

/// The effort that is meant by so many tokens for thinking.
pub(crate) fn effort_for(tokens: u64) -> Effort {
    let mut fitting = EFFORTS.iter().filter(|(most, _)| tokens <= *most);
    fitting.next().map_or(Effort::High, |(_, effort)| *effort)
}

/// Largest text of a prompt that a file has, in bytes.
const PROMPT_CAP: u64 = 1 << 20;

/// The form of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// The answer as it is written.
    #[default]
    Text,
    /// One object at the end.
    Json,
    /// One object for each thing that happens.
    StreamJson,
}

/// What the flags say about a run that a program drives.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct JsonFlags {
    pub output: OutputFormat,
    /// Messages come as lines of JSON.
    pub reads_lines: bool,
    /// Pieces of the answer are told as they come.
    pub is_partial: bool,
    /// Each message comes back when its turn begins.
    pub replays_messages: bool,
    /// Calls that must be asked about are asked of the calling program.
    pub asks_caller: bool,
    /// Requests to the model for each message.
    pub max_turns: Option<usize>,
    pub prompt: CallerPrompt,
    /// The JSON Schema that the answer must fit.
    pub schema: Option<Value>,
    /// The conversation is not kept.
    pub keeps_nothing: bool,
    /// Servers that the calling program brings along.
    pub servers: CallerServers,
    /// Folders beside the working directory.
    pub added_dirs: Vec<PathBuf>,
    /// The model that answers when the chosen one fails.
    pub fallback_model: Option<String>,
}

impl JsonFlags {
    /// Whether a program drives the run that may not have thought of what a model can do: what nobody allowed does not run.
    pub(crate) fn wants_permissions(&self) -> bool {
        self.reads_lines || self.asks_caller
    }

    /// Whether the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.output != OutputFormat::Text
    }

    /// Refuses combinations that make no sense.
    ///
    /// # Errors
    /// Which flags do not go together, and what to do instead.
    pub(crate) fn check(args: &CliArgs) -> Outcome<()> {
        let flags = &args.json;
        let needs_stream = [
            (flags.reads_lines, "--input-format stream-json"),
            (flags.is_partial, "--include-partial-messages"),
            (flags.replays_messages, "--replay-user-messages"),
            (flags.asks_caller, "--permission-prompt-tool stdio"),
        ];
        let is_stream = flags.output == OutputFormat::StreamJson;
        if let Some((_, name)) = needs_stream.iter().find(|(given, _)| *given && !is_stream) {
            return Err(
                Problem::input(format!("{name} needs --output-format stream-json."))
                    .next("Give both."),
            );
        }
        if !flags.servers.own.is_empty() && !flags.reads_lines {
            return Err(Problem::input(
                "--mcp-config names servers in the calling program, and without --input-format stream-json it cannot answer.",
            )
            .next("Give --input-format stream-json and --output-format stream-json."));
        }
        let only_alone = [
            (flags.max_turns.is_some(), "--max-turns"),
            (flags.prompt.instead.is_some(), "--system-prompt"),
            (flags.prompt.appended.is_some(), "--append-system-prompt"),
            (flags.keeps_nothing, "--no-session-persistence"),
            (flags.servers.answers.is_some(), "--answers"),
        ];
        let mut only_alone = only_alone.iter().filter(|(given, _)| *given);
        if let Some((_, name)) = only_alone.next().filter(|_| !args.non_interactive) {
            return Err(Problem::input(format!(
                "{name} is only for runs in which nobody is there."
            ))
            .next("Give it with --non-interactive."));
        }
        if flags.reads_lines && (args.has_prompt() || !args.prompt.images.is_empty()) {
            return Err(Problem::input(
                "With --input-format stream-json the messages come on standard input, so there can be no prompt beside it.",
            )
            .next("Send {\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"…\"}} there."));
        }
        if flags.is_json() && args.pipeline.is_wanted {
            return Err(Problem::input(
                "--design-first writes text: it has no --output-format json or stream-json.",
            )
            .next("marvin pipeline status --json tells how far it is."));
        }
        Ok(())
    }
}

pub(super) static FLAGS: &[Flag] = &[
    flag(
        "output-format",
        FlagGroup::Program,
        ValueMode::Value("FORM"),
        "What stands on standard output: text, json (one object at the end) or stream-json (one object a line).",
        |args, value| {
            args.json.output = match text(value, "--output-format")?.as_str() {
                "text" => OutputFormat::Text,
                "json" => OutputFormat::Json,
                "stream-json" => OutputFormat::StreamJson,
                other => return Err(no_form("--output-format", other, "text, json, stream-json")),
            };
            args.non_interactive |= args.json.is_json();
            Ok(())
        },
    ),
    flag(
        "input-format",
        FlagGroup::Program,
        ValueMode::Value("FORM"),
        "What comes on standard input: text, or stream-json (messages and requests of the calling program, one object a line).",
        |args, value| {
            args.json.reads_lines = match text(value, "--input-format")?.as_str() {
                "text" => false,
                "stream-json" => true,
                other => return Err(no_form("--input-format", other, "text, stream-json")),
            };
            args.non_interactive |= args.json.reads_lines;
            Ok(())
        },
    ),
    flag(
        "include-partial-messages",
        FlagGroup::Program,
        ValueMode::Nothing,
        "Tell the pieces of an answer as they come, with --output-format stream-json.",
        |args, _| {
            args.json.is_partial = true;
            Ok(())
        },
    ),
    flag(
        "replay-user-messages",
        FlagGroup::Program,
        ValueMode::Nothing,
        "Send each message back when its turn begins, with --output-format stream-json.",
        |args, _| {
            args.json.replays_messages = true;
            Ok(())
        },
    ),
    flag(
        "permission-prompt-tool",
        FlagGroup::Program,
        ValueMode::Value("stdio"),
        "Ask the calling program about calls that must be asked about, with --input-format stream-json.",
        |args, value| match text(value, "--permission-prompt-tool")?.as_str() {
            "stdio" => {
                args.json.asks_caller = true;
                Ok(())
            }
            other => Err(no_form("--permission-prompt-tool", other, "stdio")),
        },
    ),
    flag(
        "max-turns",
        FlagGroup::Program,
        ValueMode::Any("N"),
        "The most requests to the model for a message.",
        |args, value| {
            let value = text(value, "--max-turns")?;
            let most = value.parse().ok().filter(|most| *most > 0);
            args.json.max_turns = Some(most.ok_or_else(|| {
                Problem::input(format!(
                    "--max-turns wants a number of requests, at least 1, not \"{}\".",
                    shown(&value)
                ))
            })?);
            Ok(())
        },
    ),
    flag(
        "system-prompt",
        FlagGroup::Program,
        ValueMode::Any("TEXT"),
        "Say this to the model instead of Marvin's character and what is known of the user; empty: as without it.",
        |args, value| {
            set(
                &mut args.json.prompt.instead,
                text(value, "--system-prompt")?,
            );
            Ok(())
        },
    ),
    flag(
        "system-prompt-file",
        FlagGroup::Program,
        ValueMode::Value("FILE"),
        "The same, from a file.",
        |args, value| {
            set(
                &mut args.json.prompt.instead,
                from_file(&value, "--system-prompt-file")?,
            );
            Ok(())
        },
    )
    .complete(super::flag::Complete::File),
    flag(
        "append-system-prompt",
        FlagGroup::Program,
        ValueMode::Any("TEXT"),
        "Say this to the model at the end of its instructions.",
        |args, value| {
            set(
                &mut args.json.prompt.appended,
                text(value, "--append-system-prompt")?,
            );
            Ok(())
        },
    ),
    flag(
        "append-system-prompt-file",
        FlagGroup::Program,
        ValueMode::Value("FILE"),
        "The same, from a file.",
        |args, value| {
            let appended = from_file(&value, "--append-system-prompt-file")?;
            set(&mut args.json.prompt.appended, appended);
            Ok(())
        },
    )
    .complete(super::flag::Complete::File),
    flag(
        "json-schema",
        FlagGroup::Program,
        ValueMode::Any("SCHEMA|@FILE"),
        "Make the answer fit this JSON Schema; with --output-format text it stands alone on standard output.",
        |args, value| {
            let given = text(value, "--json-schema")?;
            let schema = match given.strip_prefix('@') {
                Some(path) => from_file(&path.into(), "--json-schema")?,
                None => given,
            };
            Schema::parse(&schema)?;
            args.json.schema = serde_json::from_str(&schema).ok();
            args.non_interactive = true;
            Ok(())
        },
    ),
    flag(
        "no-session-persistence",
        FlagGroup::Program,
        ValueMode::Nothing,
        "Keep nothing of the conversation; with json and stream-json it is kept under the id that the lines tell.",
        |args, _| {
            args.json.keeps_nothing = true;
            Ok(())
        },
    ),
    flag(
        "print",
        FlagGroup::Program,
        ValueMode::Nothing,
        "The same as --non-interactive.",
        |args, _| {
            args.non_interactive = true;
            Ok(())
        },
    )
    .short('p'),
    flag(
        "thinking",
        FlagGroup::Program,
        ValueMode::Value("MODE"),
        "adaptive, or disabled for no thoughts where the model can do without.",
        |args, value| match text(value, "--thinking")?.as_str() {
            "adaptive" | "enabled" => {
                args.model.thinks = true;
                Ok(())
            }
            "disabled" => {
                args.model.effort = Some(Effort::None);
                Ok(())
            }
            other => Err(no_form("--thinking", other, "adaptive, disabled")),
        },
    )
    .hidden(),
    flag(
        "max-thinking-tokens",
        FlagGroup::Program,
        ValueMode::Any("N"),
        "The effort for which so many tokens are usual.",
        |args, value| {
            let value = text(value, "--max-thinking-tokens")?;
            let most = value.parse().map_err(|_| {
                Problem::input(format!(
                    "--max-thinking-tokens wants a number of tokens, not \"{}\".",
                    shown(&value)
                ))
            })?;
            args.model.effort = Some(effort_for(most));
            Ok(())
        },
    )
    .hidden(),
    flag(
        "thinking-display",
        FlagGroup::Program,
        ValueMode::Value("MODE"),
        "Ignored: thoughts are told as they come.",
        |_, _| Ok(()),
    )
    .hidden(),
    flag(
        "await-initialize",
        FlagGroup::Program,
        ValueMode::Nothing,
        "Ignored: initialize is read before anything begins.",
        |_, _| Ok(()),
    )
    .hidden(),
    flag(
        "setting-sources",
        FlagGroup::Program,
        ValueMode::Any("LIST"),
        "Whose settings count: without project, nothing that a project brings along is used.",
        |args, value| {
            let value = text(value, "--setting-sources")?;
            let all = ["user", "project", "local"];
            let other = value.split(',').map(str::trim);
            let mut other = other.filter(|word| !word.is_empty() && !all.contains(word));
            if let Some(other) = other.next() {
                return Err(no_form("--setting-sources", other, "user, project"));
            }
            args.access.without_project = !value.split(',').any(|word| word.trim() == "project");
            Ok(())
        },
    )
    .hidden(),
    flag(
        "add-dir",
        FlagGroup::Prompt,
        ValueMode::Value("DIR"),
        "Let file tools and commands in the sandbox write in this folder too, by absolute paths; repeatable.",
        |args, value| {
            args.json.added_dirs.push(PathBuf::from(value));
            Ok(())
        },
    )
    .complete(super::flag::Complete::Folder),
    flag(
        "fallback-model",
        FlagGroup::Program,
        ValueMode::Any("MODEL"),
        "Have this model of the same provider answer when the chosen one fails.",
        |args, value| {
            args.json.fallback_model = Some(text(value, "--fallback-model")?);
            Ok(())
        },
    ),
    flag(
        "mcp-config",
        FlagGroup::Program,
        ValueMode::Any("JSON|FILE"),
        "Servers of the Model Context Protocol for this run, as in mcp.json, or in the calling program; repeatable.",
        |args, value| args.json.servers.add_flag(&text(value, "--mcp-config")?),
    ),
    flag(
        "strict-mcp-config",
        FlagGroup::Program,
        ValueMode::Nothing,
        "Use no servers but those of --mcp-config and initialize.",
        |args, _| {
            args.json.servers.are_alone = true;
            Ok(())
        },
    ),
    flag(
        "answers",
        FlagGroup::Program,
        ValueMode::Any("JSON"),
        "Values by the names of fields for what servers of the Model Context Protocol ask for, where nobody is there.",
        |args, value| {
            let value = text(value, "--answers")?;
            let values = serde_json::from_str(&value).map_err(|error| {
                Problem::input(format!("--answers is no object of JSON: {error}."))
                    .next("Give {\"FIELD\":\"VALUE\"}.")
            })?;
            args.json.servers.answers = Some(values);
            Ok(())
        },
    ),
    unbuilt("betas", ValueMode::Any("LIST")),
    unbuilt("plugin-dir", ValueMode::Any("DIR")),
    unbuilt("agents", ValueMode::Any("JSON")),
    unbuilt("session-mirror", ValueMode::Nothing),
    unbuilt("include-hook-events", ValueMode::Nothing),
    unbuilt("task-budget", ValueMode::Any("N")),
    unbuilt("resume-session-at", ValueMode::Any("ID")),
    unbuilt("settings", ValueMode::Any("FILE")),
];

/// A flag of the SDKs that a caller relies on, so that it must not be ignored.
const fn unbuilt(long: &'static str, takes: ValueMode) -> Flag {
    let mut row = flag(long, FlagGroup::Program, takes, "Not supported.", |_, _| {
        Ok(())
    });
    row.hidden = true;
    row.is_unbuilt = true;
    row
}

fn set(to: &mut Option<String>, text: String) {
    *to = Some(text).filter(|text| !text.trim().is_empty());
}

fn from_file(path: &OsString, name: &str) -> Outcome<String> {
    let path = std::path::Path::new(path);
    open::text(path, PROMPT_CAP).map_err(|error| {
        Problem::system(format!("Cannot read {} ({name})", path.display()), error)
            .next(format!("Give {name} a readable text file."))
    })
}

fn no_form(flag: &str, value: &str, forms: &str) -> Problem {
    Problem::input(format!("{flag} cannot be \"{}\".", shown(value)))
        .next(format!("It is one of: {forms}."))
}

fn shown(value: &str) -> String {
    crate::base::text::escape_controls(&crate::base::text::clip(value, 60))
}
