//! The settings of a run: the flags with what each stores in [`CliArgs`], and [`Settings`], which is what they mean together with the environment.
//!
//! [`crate::cli`] fills [`CliArgs`] by the table; [`Settings::new`] is called once, and nobody else decides between flag, environment and `config.yaml`.
//! [`prompt`] reads the first message, [`session`] says which session is meant. Nothing here looks at the disk, but for the prompt's file.

pub(crate) mod caller_servers;
pub(crate) mod flag;
pub(crate) mod json_flags;
mod permissions;
mod prompt;
pub(crate) mod session;

use std::path::PathBuf;

use crate::base::env::Env;
use crate::base::problem::Problem;
use crate::base::variables::{
    LLM_PROVIDER, MARVIN_EFFORT, MARVIN_LEASH, MARVIN_MODEL, MARVIN_MODELS, MARVIN_PRICES,
    MARVIN_TOOLS, Text,
};
use crate::llm::provider::Effort;
use crate::pipeline::tier::TierOverrides;
use crate::pipeline::{approval, phase};
use crate::proc::supervise::{self, SupervisedInput};
use crate::tools::engine::permission::mode::PermissionMode;
use flag::{Complete, Flag, FlagGroup, ValueMode, flag, text};
use json_flags::JsonFlags;
use permissions::{PermissionFlags, PermissionSettings};
use prompt::PromptSource;
use session::SessionFlags;

/// The interface to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interface {
    /// Line by line.
    Plain,
    /// Full screen.
    Screen,
}

/// The provider and model that the user asked for; the rest is chosen automatically.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelChoice {
    pub provider: Option<String>,
    pub model: Option<String>,
}

/// Facts about this process, looked up once.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessFacts {
    /// `None` when the current directory no longer exists.
    pub current: Option<PathBuf>,
    pub stdin_is_terminal: bool,
    /// This executable.
    pub executable: Option<PathBuf>,
    /// The arguments after the program's name, as they were typed.
    pub command: Vec<String>,
}

/// What the flags say about a run of the pipeline.
#[derive(Debug, Clone, Default)]
pub(crate) struct PipelineFlags {
    /// The branch to work on instead of the current one.
    pub branch: Option<String>,
    /// The first checkpoint may take what is not committed.
    pub allow_dirty: bool,
    /// Work in the folder itself and not in a worktree.
    pub in_place: bool,
    /// The phase after which it stops.
    pub until: Option<&'static str>,
    /// The phase from which on it is done again.
    pub from: Option<&'static str>,
    /// The phases after which the user has to approve.
    pub approve: Vec<&'static str>,
}

/// The settings of a run. Flags override the environment, which overrides `config.yaml`. Computed once and the same in every mode.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The environment on top of `config.yaml`, for values that are read where they are needed: keys, addresses, timeouts.
    pub env: Env,
    pub process: ProcessFacts,
    pub prompt: PromptSource,
    /// The directory to work in, if one was given.
    pub working_dir: Option<PathBuf>,
    pub model: ModelSettings,
    /// Run the pipeline instead of answering.
    pub pipeline: Option<PipelineFlags>,
    /// Groups of tools to offer, as given.
    pub tools: Option<String>,
    /// Which calls run, are asked about and are refused.
    pub permissions: PermissionSettings,
    /// The ntfy topic that gets a message when the run ends.
    pub ntfy: Option<String>,
    /// The interface, if one was chosen.
    pub interface: Option<Interface>,
    /// Report progress on standard error.
    pub verbose: bool,
    /// The session to begin or to go on with.
    pub session: SessionFlags,
    /// How a program drives the run.
    pub json: JsonFlags,
    /// Another Marvin started this one, and holds its standard input open as long as it lives (`MARVIN_LEASH`).
    pub is_leashed: bool,
}

/// Which models answer, and what they may cost.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelSettings {
    pub choice: ModelChoice,
    /// Models that the user gave to tiers of work.
    pub tiers: TierOverrides,
    /// How hard to think, as written.
    pub effort: Option<String>,
    /// A file with the user's own prices.
    pub prices: Option<PathBuf>,
    /// The user's file of models.
    pub models: Option<PathBuf>,
    /// No further model call is made once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
}

impl Settings {
    /// Combines `args` with `env`.
    pub(crate) fn new(args: CliArgs, env: Env, process: ProcessFacts) -> Self {
        // Without `..`, so that a new flag does not compile until it has a meaning.
        let CliArgs {
            words,
            non_interactive,
            prompt,
            prompt_file,
            images,
            stdin,
            working_dir,
            provider,
            model,
            tiers,
            design_first,
            allow_dirty,
            in_place,
            branch,
            until,
            from,
            approve,
            effort,
            tools,
            permissions,
            max_cost,
            ntfy,
            interface,
            verbose,
            session,
            json,
            // These select the command before there are settings.
            fire_alarm: _,
            review_job: _,
            supervise: _,
            help: _,
            version: _,
        } = args;
        let set = |variable: Text| variable.read(&env).map(str::to_owned);
        Self {
            prompt: PromptSource {
                text: prompt,
                file: prompt_file,
                words,
                with_stdin: stdin,
                images,
                is_leashed: MARVIN_LEASH.read(&env),
            },
            working_dir,
            model: ModelSettings {
                choice: ModelChoice {
                    provider: provider.or_else(|| set(LLM_PROVIDER)),
                    // The environment sets the model only for non-interactive runs, where the caller decides.
                    model: model.or_else(|| set(MARVIN_MODEL).filter(|_| non_interactive)),
                },
                tiers,
                effort: effort
                    .map(|effort| effort.word().to_owned())
                    .or_else(|| set(MARVIN_EFFORT)),
                prices: set(MARVIN_PRICES).map(PathBuf::from),
                models: set(MARVIN_MODELS).map(PathBuf::from),
                max_cost,
            },
            pipeline: design_first.then_some(PipelineFlags {
                branch,
                allow_dirty,
                in_place,
                until,
                from,
                approve,
            }),
            tools: tools
                .filter(|list| !list.is_empty())
                .or_else(|| set(MARVIN_TOOLS)),
            permissions: PermissionSettings::new(permissions, &env),
            ntfy,
            interface,
            verbose,
            session,
            json,
            is_leashed: MARVIN_LEASH.read(&env),
            process,
            env,
        }
    }
}

/// The command line as typed: flags and words, not yet interpreted.
#[derive(Debug, Clone, Default)]
pub(crate) struct CliArgs {
    /// Arguments that are not flags.
    pub words: Vec<String>,
    /// `--non-interactive`.
    pub non_interactive: bool,
    /// `--prompt`.
    pub prompt: Option<String>,
    /// `--prompt-file`.
    pub prompt_file: Option<PathBuf>,
    /// `--image`, as often as it was given.
    pub images: Vec<PathBuf>,
    /// `--stdin`.
    pub stdin: bool,
    /// `--working-dir`.
    pub working_dir: Option<PathBuf>,
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model MODEL`.
    pub model: Option<String>,
    /// `--model TIER=MODEL`.
    pub tiers: TierOverrides,
    /// `--design-first`.
    pub design_first: bool,
    /// `--allow-dirty`.
    pub allow_dirty: bool,
    /// `--in-place`.
    pub in_place: bool,
    /// `--branch`.
    pub branch: Option<String>,
    /// `--until`.
    pub until: Option<&'static str>,
    /// `--from`.
    pub from: Option<&'static str>,
    /// `--approve`.
    pub approve: Vec<&'static str>,
    /// `--effort`.
    pub effort: Option<Effort>,
    /// `--tools`.
    pub tools: Option<String>,
    /// `--allowed-tools`, `--disallowed-tools`, `--permission-mode`.
    pub permissions: PermissionFlags,
    /// `--max-cost`.
    pub max_cost: Option<f64>,
    /// `--ntfy`; empty for a random topic.
    pub ntfy: Option<String>,
    /// `--plain`, `--curses`.
    pub interface: Option<Interface>,
    /// `--verbose`.
    pub verbose: bool,
    /// `--continue`, `--resume`, `--fork-session`, `--session-id`.
    pub session: SessionFlags,
    /// The flags of [`json_flags`].
    pub json: JsonFlags,
    /// `--fire-alarm`, which the system's scheduler uses.
    pub fire_alarm: Option<String>,
    /// `--review-job`, with which Marvin starts a review in the background.
    pub review_job: Option<String>,
    /// `--supervise`: the words are a program to run as its supervisor.
    pub supervise: Option<SupervisedInput>,
    /// `--help`.
    pub help: bool,
    /// `--version`.
    pub version: bool,
}

impl CliArgs {
    /// Whether it has a prompt.
    fn has_prompt(&self) -> bool {
        let given = self.prompt.is_some() || self.prompt_file.is_some() || self.stdin;
        given || !self.words.is_empty()
    }
}

/// All flags.
pub(crate) fn flags() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().chain(json_flags::FLAGS)
}

/// Those that a person gives.
static FLAGS: &[Flag] = &[
    flag(
        "non-interactive",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Answer one prompt on standard output and end.",
        |args, _| {
            args.non_interactive = true;
            Ok(())
        },
    )
    .brief("Answer one prompt on standard output and end."),
    flag(
        "prompt",
        FlagGroup::Prompt,
        ValueMode::Value("TEXT"),
        "The prompt.",
        |args, value| {
            args.prompt = Some(text(value, "--prompt")?);
            Ok(())
        },
    ),
    flag(
        "prompt-file",
        FlagGroup::Prompt,
        ValueMode::Value("FILE"),
        "Read the prompt from a file.",
        |args, value| {
            args.prompt_file = Some(PathBuf::from(value));
            Ok(())
        },
    )
    .complete(Complete::File),
    flag(
        "image",
        FlagGroup::Prompt,
        ValueMode::Value("FILE"),
        "Send this image with the prompt; give it again for more images.",
        |args, value| {
            args.images.push(PathBuf::from(value));
            Ok(())
        },
    )
    .brief("Send an image with the prompt.")
    .short('i')
    .complete(Complete::File),
    flag(
        "stdin",
        FlagGroup::Prompt,
        ValueMode::Nothing,
        "Append standard input to the prompt, marked as data.",
        |args, _| {
            args.stdin = true;
            Ok(())
        },
    ),
    flag(
        "working-dir",
        FlagGroup::Prompt,
        ValueMode::Value("DIR"),
        "Work on the code in this folder; file tools cannot leave it.",
        |args, value| {
            args.working_dir = Some(PathBuf::from(value));
            Ok(())
        },
    )
    .brief("Work on the code in this folder.")
    .complete(Complete::Folder),
    flag(
        "provider",
        FlagGroup::Model,
        ValueMode::Value("NAME"),
        "The language model's provider; marvin help providers lists them.",
        |args, value| {
            args.provider = Some(text(value, "--provider")?);
            Ok(())
        },
    )
    .brief("Where the language model comes from.")
    .complete(Complete::Provider),
    flag(
        "model",
        FlagGroup::Model,
        ValueMode::Value("[TIER=]MODEL"),
        "The model, or the model of a tier of work; all=MODEL sets every tier.",
        |args, value| {
            let value = text(value, "--model")?;
            // What stands before the sign must look like a tier: names of models have dots, colons and dashes.
            if let Some((name, model)) = value.split_once('=')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            {
                return args.tiers.add(name, model);
            }
            args.model = Some(value);
            Ok(())
        },
    )
    .brief("The model; marvin models lists them."),
    flag(
        "design-first",
        FlagGroup::Pipeline,
        ValueMode::Nothing,
        "Build software: documents, tests, implementation and checks, each step by a child (the pipeline).",
        |args, _| {
            args.design_first = true;
            args.non_interactive = true;
            Ok(())
        },
    )
    .brief("Build software in phases (the pipeline)."),
    flag(
        "allow-dirty",
        FlagGroup::Pipeline,
        ValueMode::Nothing,
        "Let the pipeline's first commit take changes that are not committed; a new run works in place then.",
        |args, _| {
            args.allow_dirty = true;
            Ok(())
        },
    ),
    flag(
        "in-place",
        FlagGroup::Pipeline,
        ValueMode::Nothing,
        "Let the pipeline work in the folder and on the branch that is checked out there, not in a worktree of its own.",
        |args, _| {
            args.in_place = true;
            Ok(())
        },
    ),
    flag(
        "branch",
        FlagGroup::Pipeline,
        ValueMode::Value("NAME"),
        "Let the pipeline work on this branch, which is made when there is none; implies --in-place.",
        |args, value| {
            args.branch = Some(text(value, "--branch")?);
            Ok(())
        },
    ),
    flag(
        "until",
        FlagGroup::Pipeline,
        ValueMode::Value("PHASE"),
        "Let the pipeline stop after this phase; the same command without it goes on.",
        |args, value| {
            args.until = Some(phase::named(&text(value, "--until")?)?.name);
            Ok(())
        },
    )
    .complete(Complete::Phase),
    flag(
        "from",
        FlagGroup::Pipeline,
        ValueMode::Value("PHASE"),
        "Let the pipeline do this phase and those after it again, although they are done.",
        |args, value| {
            args.from = Some(phase::named(&text(value, "--from")?)?.name);
            Ok(())
        },
    )
    .complete(Complete::Phase),
    flag(
        "approve",
        FlagGroup::Pipeline,
        ValueMode::Value("POINT,…"),
        "Let the pipeline wait for your approval after spec, design, tests or code, or after a phase.",
        |args, value| {
            args.approve.extend(approval::points(&text(value, "--approve")?)?);
            Ok(())
        },
    )
    .complete(Complete::Approval),
    flag(
        "effort",
        FlagGroup::Model,
        ValueMode::Value("LEVEL"),
        "How hard the model thinks: low, medium or high; unless set, high for work on code and low otherwise.",
        |args, value| {
            args.effort = Some(Effort::parse(&text(value, "--effort")?)?);
            Ok(())
        },
    )
    .brief("How hard the model thinks: low, medium, high.")
    .complete(Complete::Effort),
    flag(
        "tools",
        FlagGroup::Model,
        ValueMode::Any("GROUP,…"),
        "Offer only these groups of tools, or tools by their names; all, none and sub-agent work too.",
        |args, value| {
            let list = text(value, "--tools")?;
            args.tools = Some(match list.trim().is_empty() {
                true => "none".to_owned(),
                false => list,
            });
            Ok(())
        },
    )
    .complete(Complete::Group),
    flag(
        "allowed-tools",
        FlagGroup::Permissions,
        ValueMode::Any("RULES"),
        "Let calls run unasked that fit one of these rules: read_file, git_*, run_command(cargo test:*), create_file(docs/**).",
        |args, value| {
            args.permissions.allow.push(text(value, "--allowed-tools")?);
            Ok(())
        },
    )
    .second("allowedTools"),
    flag(
        "disallowed-tools",
        FlagGroup::Permissions,
        ValueMode::Any("RULES"),
        "Refuse calls that fit one of these rules; a tool that is named alone is not offered at all.",
        |args, value| {
            args.permissions.deny.push(text(value, "--disallowed-tools")?);
            Ok(())
        },
    )
    .second("disallowedTools"),
    flag(
        "permission-mode",
        FlagGroup::Permissions,
        ValueMode::Any("MODE"),
        "What happens with calls that no rule decides: bypassPermissions, acceptEdits, default, dontAsk or plan; marvin help permissions explains them.",
        |args, value| {
            args.permissions.mode = Some(PermissionMode::parse(&text(value, "--permission-mode")?)?);
            Ok(())
        },
    )
    .complete(Complete::PermissionMode),
    flag(
        "dangerously-skip-permissions",
        FlagGroup::Permissions,
        ValueMode::Nothing,
        "The same as --permission-mode bypassPermissions.",
        |args, _| {
            args.permissions.mode = Some(PermissionMode::Bypass);
            Ok(())
        },
    ),
    flag(
        "allow-dangerously-skip-permissions",
        FlagGroup::Permissions,
        ValueMode::Nothing,
        "Accepted: the mode bypassPermissions can be chosen without it.",
        |_, _| Ok(()),
    )
    .hidden(),
    flag(
        "max-cost",
        FlagGroup::Run,
        ValueMode::Value("USD"),
        "Make no further model call once this much is spent.",
        |args, value| {
            let value = text(value, "--max-cost")?;
            let cost = value
                .trim_start_matches('$')
                .parse::<f64>()
                .ok()
                .filter(|cost| cost.is_finite() && *cost >= 0.0);
            args.max_cost = Some(cost.ok_or_else(|| {
                Problem::input(format!("--max-cost wants US dollars, not \"{value}\"."))
                    .next("For example: --max-cost 2.50")
            })?);
            Ok(())
        },
    )
    .brief("Make no further call once this much is spent."),
    flag(
        "ntfy",
        FlagGroup::Run,
        ValueMode::Maybe("TOPIC"),
        "Send one message to this ntfy topic when the run ends; without a topic one is made up.",
        |args, value| {
            args.ntfy = Some(text(value, "--ntfy")?);
            Ok(())
        },
    ),
    flag(
        "continue",
        FlagGroup::Session,
        ValueMode::Nothing,
        "Go on with the latest session of this folder.",
        |args, _| {
            args.session.latest = true;
            Ok(())
        },
    )
    .brief("Go on with the latest session of this folder.")
    .short('c'),
    flag(
        "resume",
        FlagGroup::Session,
        ValueMode::Maybe("ID"),
        "Go on with a session: the beginning of its ID or its name, or choose from a list.",
        |args, value| {
            args.session.resume = Some(text(value, "--resume")?);
            Ok(())
        },
    )
    .brief("Go on with a session, or choose one.")
    .short('r')
    .complete(Complete::Session),
    flag(
        "fork-session",
        FlagGroup::Session,
        ValueMode::Nothing,
        "With --continue or --resume: go on with a copy, and leave the session as it is.",
        |args, _| {
            args.session.fork = true;
            Ok(())
        },
    ),
    flag(
        "session-id",
        FlagGroup::Session,
        ValueMode::Value("UUID"),
        "With --non-interactive: keep the conversation as this session, or go on with it.",
        |args, value| {
            args.session.id = Some(session::id(&text(value, "--session-id")?)?);
            Ok(())
        },
    ),
    flag(
        "plain",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Use the plain interface.",
        |args, _| {
            args.interface = Some(Interface::Plain);
            Ok(())
        },
    )
    .brief("Lines instead of the full screen."),
    flag(
        "curses",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Use the full-screen interface.",
        |args, _| {
            args.interface = Some(Interface::Screen);
            Ok(())
        },
    ),
    flag(
        "verbose",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Say on standard error what is done and why it failed.",
        |args, _| {
            args.verbose = true;
            Ok(())
        },
    ),
    flag("help",
        FlagGroup::Run, ValueMode::Nothing, "Show this help.", |args, _| {
        args.help = true;
        Ok(())
    })
    .short('h'),
    flag(
        "version",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Show the version.",
        |args, _| {
            args.version = true;
            Ok(())
        },
    )
    .short('V'),
    flag(
        "fire-alarm",
        FlagGroup::Run,
        ValueMode::Value("ID"),
        "Ring an alarm that is due; the scheduler calls it.",
        |args, value| {
            args.fire_alarm = Some(text(value, "--fire-alarm")?);
            Ok(())
        },
    )
    .hidden(),
    flag(
        "review-job",
        FlagGroup::Run,
        ValueMode::Value("ID"),
        "Do the review of this id; Marvin starts itself so.",
        |args, value| {
            args.review_job = Some(text(value, "--review-job")?);
            Ok(())
        },
    )
    .hidden(),
    flag(
        supervise::FLAG,
        FlagGroup::Run,
        ValueMode::Maybe("BYTES"),
        "Run the program after -- and end it when standard input closes; Marvin starts itself so.",
        |args, value| {
            let value = text(value, "--supervise")?;
            args.supervise = Some(SupervisedInput::parse(&value).ok_or_else(|| {
                Problem::input(format!("--supervise wants a number of bytes or leash, not \"{value}\"."))
            })?);
            Ok(())
        },
    )
    .hidden(),
    flag("no-bytecode",
        FlagGroup::Run, ValueMode::Nothing, "Ignored.", |_, _| Ok(()))
        .short('B')
        .hidden(),
];

pub(crate) fn long(name: &str) -> Option<&'static Flag> {
    // A hidden flag that has a short name is known only by that.
    flags().find(|flag| {
        let is_named = flag.long == name || flag.second == Some(name);
        is_named && (!flag.hidden || flag.short.is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(args: CliArgs, vars: &[(&str, &str)]) -> Settings {
        let vars = vars
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        let process = ProcessFacts::default();
        Settings::new(args, Env::new(vars), process)
    }

    #[test]
    fn the_tables_are_in_order() {
        for (i, flag) in flags().enumerate() {
            assert!(
                flag.doc.ends_with('.') && !flag.doc.trim_end_matches('.').contains(". "),
                "{}: one sentence",
                flag.long
            );
            assert!(
                flag.long
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-'),
                "{}",
                flag.long
            );
            for other in flags().skip(i + 1) {
                assert!(
                    flag.long != other.long && (flag.short.is_none() || flag.short != other.short),
                    "{} twice",
                    flag.long
                );
            }
        }
    }

    #[test]
    fn a_flag_beats_the_environment() {
        let vars = [("LLM_PROVIDER", "groq"), ("MARVIN_TOOLS", "git")];
        let unset = settings(CliArgs::default(), &vars);
        assert_eq!(unset.model.choice.provider.as_deref(), Some("groq"));
        assert_eq!(unset.tools.as_deref(), Some("git"));
        let args = || CliArgs {
            provider: Some("openai".to_owned()),
            tools: Some("files".to_owned()),
            ..CliArgs::default()
        };
        let set = settings(args(), &vars);
        assert_eq!(set.model.choice.provider.as_deref(), Some("openai"));
        assert_eq!(set.tools.as_deref(), Some("files"));
        let empty = CliArgs {
            tools: Some(String::new()),
            ..args()
        };
        assert_eq!(settings(empty, &vars).tools.as_deref(), Some("git"));
    }

    #[test]
    fn the_environment_chooses_a_model_only_where_nobody_watches() {
        let vars = [("MARVIN_MODEL", "of-caller")];
        let args = |non_interactive| CliArgs {
            non_interactive,
            ..CliArgs::default()
        };
        assert_eq!(settings(args(false), &vars).model.choice.model, None);
        let model = settings(args(true), &vars).model.choice.model;
        assert_eq!(model.as_deref(), Some("of-caller"));
    }
}
