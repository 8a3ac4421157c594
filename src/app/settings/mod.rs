//! The settings of a run: [`CliArgs`], what was typed, and [`Settings`], what it means together with the environment.
//!
//! [`crate::cli`] fills [`CliArgs`] by the tables of [`flags`] and [`json_flags`]; [`Settings::new`] is called once, and nobody else decides between flag, environment and `config.yaml`.
//! [`prompt`] reads the first message, [`session`] says which session is meant. Nothing here looks at the disk, but for the prompt's file.

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
    /// Groups of tools to offer, as given.
    pub tools: Option<String>,
    /// Which calls run, are asked about and are refused.
    pub permissions: PermissionSettings,
    /// What commands of the model may change.
    pub sandbox: SandboxSettings,
    /// What is used of what a project brings along.
    pub trust: RunTrust,
    /// No hook of a file runs.
    pub without_hooks: bool,
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
            feature,
            until,
            from,
            approve,
            effort,
            tools,
            permissions,
            sandbox,
            trust,
            without_project,
            without_hooks,
            max_cost,
            ntfy,
            interface,
            verbose,
            session,
            json,
            review_job,
            // These select the command before there are settings.
            fire_alarm: _,
            supervise: _,
            help: _,
            version: _,
        } = args;
        let set = |variable: Text| variable.read(&env).map(str::to_owned);
        let permissions = PermissionSettings::new(permissions, &env);
        let is_unattended = non_interactive || review_job.is_some() || permissions.is_bypassing();
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
                feature,
                until,
                from,
                approve,
            }),
            tools: tools
                .filter(|list| !list.is_empty())
                .or_else(|| set(MARVIN_TOOLS)),
            permissions,
            sandbox: SandboxSettings::new(sandbox, &env, is_unattended),
            trust: match trust {
                _ if without_project => RunTrust::Nothing,
                // A child uses what its parent says, and nothing of its own accord.
                RunTrust::AsStored if MARVIN_DEPTH.read(&env, &mut |_| {}) > 0 => RunTrust::Nothing,
                trust => trust,
            },
            without_hooks: without_hooks || MARVIN_NO_HOOKS.read(&env),
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
    /// `--feature`.
    pub feature: Option<FeatureName>,
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
    /// `--sandbox`, `--sandbox-network`.
    pub sandbox: SandboxFlags,
    /// `--trust-project`, and what the Marvin above says.
    pub trust: RunTrust,
    /// `--setting-sources` without `project`.
    pub without_project: bool,
    /// `--no-hooks`.
    pub without_hooks: bool,
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
