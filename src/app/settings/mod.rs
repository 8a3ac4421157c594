//! The settings of a run: [`CliArgs`], what was typed, and [`Settings`], what it means together with the environment.
//!
//! [`crate::cli`] fills [`CliArgs`] by the tables of [`flags`] and [`json_flags`]; [`Settings::new`] is called once, and nobody else decides between flag,
//! environment and `config.yaml`. [`prompt`] reads the first message, [`session`] says which session is meant. Nothing here looks at the disk, but for the
//! prompt's file.

pub(crate) mod caller_servers;
pub(crate) mod flag;
pub(crate) mod flags;
pub(crate) mod json_flags;
mod permissions;
mod prompt;
pub(crate) mod sandbox;
pub(crate) mod session;

use std::path::PathBuf;

use crate::base::env::Env;
use crate::base::variables::{
    LLM_PROVIDER, MARVIN_DEPTH, MARVIN_EFFORT, MARVIN_LEASH, MARVIN_MODEL, MARVIN_MODELS,
    MARVIN_NO_HOOKS, MARVIN_PRICES, MARVIN_TOOLS, Text,
};
use crate::llm::provider::Effort;
use crate::pipeline::feature::FeatureName;
use crate::pipeline::tier::TierOverrides;
use crate::proc::supervise::SupervisedInput;
use crate::tools::engine::project_trust::RunTrust;
use json_flags::JsonFlags;
use permissions::{PermissionFlags, PermissionSettings};
use prompt::PromptSource;
use sandbox::{SandboxFlags, SandboxSettings};
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
    pub executable: Option<PathBuf>,
    /// The arguments after the program's name, as they were typed.
    pub command: Vec<String>,
}

/// What the flags say about a run of the pipeline.
#[derive(Debug, Clone, Default)]
pub(crate) struct PipelineFlags {
    /// Run it instead of answering.
    pub is_wanted: bool,
    /// The branch to work on instead of the current one.
    pub branch: Option<String>,
    /// The first checkpoint may take what is not committed.
    pub allow_dirty: bool,
    /// Work in the folder itself and not in a worktree.
    pub in_place: bool,
    /// The feature that is built.
    pub feature: Option<FeatureName>,
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
    pub access: AccessSettings,
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

/// What a model may do, and what it uses of what others wrote.
#[derive(Debug, Clone)]
pub(crate) struct AccessSettings {
    /// Groups of tools to offer, as given.
    pub tools: Option<String>,
    /// Which calls run, are asked about and are refused.
    pub permissions: PermissionSettings,
    /// What commands of the model may change.
    pub sandbox: SandboxSettings,
    /// What is used of what a project brings along.
    pub trust: RunTrust,
    /// Nothing of the project's own files is read for the model, whoever agreed to it.
    pub without_project: bool,
    /// No hook of a file runs.
    pub without_hooks: bool,
}

impl Settings {
    /// Combines `args` with `env`.
    pub(crate) fn new(args: CliArgs, env: Env, process: ProcessFacts) -> Self {
        // Without `..`, here and below, so that a new flag does not compile until it has a meaning.
        let CliArgs {
            mut prompt,
            working_dir,
            model,
            pipeline,
            access,
            non_interactive,
            interface,
            verbose,
            ntfy,
            session,
            json,
            command,
        } = args;
        prompt.is_leashed = MARVIN_LEASH.read(&env);
        let asks_nobody = non_interactive || command.review_job.is_some();
        Self {
            prompt,
            working_dir,
            model: ModelSettings::new(model, &env, non_interactive),
            // Before a subcommand the feature alone.
            pipeline: (pipeline.is_wanted || pipeline.feature.is_some()).then_some(pipeline),
            access: AccessSettings::new(access, &env, asks_nobody),
            ntfy,
            interface,
            verbose,
            session,
            json,
            process,
            env,
        }
    }

    /// Another Marvin started this one, and holds its standard input open as long as it lives (`MARVIN_LEASH`).
    pub(crate) fn is_leashed(&self) -> bool {
        self.prompt.is_leashed
    }
}

impl ModelSettings {
    fn new(flags: ModelFlags, env: &Env, non_interactive: bool) -> Self {
        let ModelFlags {
            provider,
            model,
            tiers,
            effort,
            thinks,
            max_cost,
        } = flags;
        let set = |variable: Text| variable.read(env).map(str::to_owned);
        Self {
            choice: ModelChoice {
                provider: provider.or_else(|| set(LLM_PROVIDER)),
                // The environment sets the model only for non-interactive runs, where the caller decides.
                model: model.or_else(|| set(MARVIN_MODEL).filter(|_| non_interactive)),
            },
            tiers,
            effort: effort
                .map(|effort| effort.word().to_owned())
                .or_else(|| set(MARVIN_EFFORT))
                .or_else(|| thinks.then(|| Effort::of_mode(true).word().to_owned())),
            prices: set(MARVIN_PRICES).map(PathBuf::from),
            models: set(MARVIN_MODELS).map(PathBuf::from),
            max_cost,
        }
    }
}

impl AccessSettings {
    fn new(flags: AccessFlags, env: &Env, asks_nobody: bool) -> Self {
        let AccessFlags {
            tools,
            permissions,
            sandbox,
            trust,
            without_project,
            without_hooks,
        } = flags;
        let permissions = PermissionSettings::new(permissions, env);
        let is_unattended = asks_nobody || permissions.is_bypassing();
        Self {
            tools: tools
                .filter(|list| !list.is_empty())
                .or_else(|| MARVIN_TOOLS.read(env).map(str::to_owned)),
            permissions,
            sandbox: SandboxSettings::new(sandbox, env, is_unattended),
            trust: match trust {
                _ if without_project => RunTrust::Nothing,
                // A child uses what its parent says, and nothing of its own accord.
                RunTrust::AsStored if MARVIN_DEPTH.read(env, &mut |_| {}) > 0 => RunTrust::Nothing,
                trust => trust,
            },
            without_project,
            without_hooks: without_hooks || MARVIN_NO_HOOKS.read(env),
        }
    }
}

/// The command line as typed: flags and words, not yet interpreted.
#[derive(Debug, Clone, Default)]
pub(crate) struct CliArgs {
    pub prompt: PromptSource,
    pub working_dir: Option<PathBuf>,
    pub model: ModelFlags,
    pub pipeline: PipelineFlags,
    pub access: AccessFlags,
    pub non_interactive: bool,
    /// `--plain`, `--curses`.
    pub interface: Option<Interface>,
    pub verbose: bool,
    /// `--ntfy`; empty for a random topic.
    pub ntfy: Option<String>,
    /// `--continue`, `--resume`, `--fork-session`, `--session-id`.
    pub session: SessionFlags,
    /// The flags of [`json_flags`].
    pub json: JsonFlags,
    pub command: CommandFlags,
}

/// Which models answer, and what they may cost, as typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelFlags {
    pub provider: Option<String>,
    pub model: Option<String>,
    /// `--model TIER=MODEL`.
    pub tiers: TierOverrides,
    pub effort: Option<Effort>,
    /// `--thinking adaptive`: the model is to think even where nobody chose an effort.
    pub thinks: bool,
    pub max_cost: Option<f64>,
}

/// What a model may do and use, as typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessFlags {
    pub tools: Option<String>,
    /// `--allowed-tools`, `--disallowed-tools`, `--permission-mode`.
    pub permissions: PermissionFlags,
    /// `--sandbox`, `--sandbox-network`.
    pub sandbox: SandboxFlags,
    /// `--trust-project`, and what the Marvin above says.
    pub trust: RunTrust,
    /// `--setting-sources` without `project`.
    pub without_project: bool,
    pub without_hooks: bool,
}

/// Flags that do something else than a conversation, before there are settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandFlags {
    /// `--fire-alarm`, which the system's scheduler uses.
    pub fire_alarm: Option<String>,
    /// `--review-job`, with which Marvin starts a review in the background.
    pub review_job: Option<String>,
    /// `--supervise`: the words are a program to run as its supervisor.
    pub supervise: Option<SupervisedInput>,
    pub help: bool,
    pub version: bool,
}

impl CliArgs {
    fn has_prompt(&self) -> bool {
        let prompt = &self.prompt;
        let given = prompt.text.is_some() || prompt.file.is_some() || prompt.with_stdin;
        given || !prompt.words.is_empty()
    }
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
    fn a_flag_beats_the_environment() {
        let vars = [("LLM_PROVIDER", "groq"), ("MARVIN_TOOLS", "git")];
        let unset = settings(CliArgs::default(), &vars);
        assert_eq!(unset.model.choice.provider.as_deref(), Some("groq"));
        assert_eq!(unset.access.tools.as_deref(), Some("git"));
        let args = |tools: &str| {
            let mut args = CliArgs::default();
            args.model.provider = Some("openai".to_owned());
            args.access.tools = Some(tools.to_owned());
            args
        };
        let set = settings(args("files"), &vars);
        assert_eq!(set.model.choice.provider.as_deref(), Some("openai"));
        assert_eq!(set.access.tools.as_deref(), Some("files"));
        assert_eq!(
            settings(args(""), &vars).access.tools.as_deref(),
            Some("git")
        );
    }

    #[test]
    fn whoever_wants_thoughts_gets_them_with_the_effort_that_was_chosen() {
        for (thinks, flag, variable, effort) in [
            (false, None, None, None),
            (true, None, None, Some("high")),
            (true, None, Some("low"), Some("low")),
            (true, Some(Effort::None), Some("low"), Some("none")),
        ] {
            let mut args = CliArgs::default();
            args.model.thinks = thinks;
            args.model.effort = flag;
            let variable = variable.map(|word| ("MARVIN_EFFORT", word));
            let settings = settings(args, variable.as_slice());
            assert_eq!(settings.model.effort.as_deref(), effort);
        }
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
