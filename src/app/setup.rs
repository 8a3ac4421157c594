//! Opening a session: what its tools share, the provider, and what the model is told about the user.

use std::path::Path;
use std::sync::Arc;

use super::settings::sandbox::further_folder;
use super::settings::{ModelChoice, Settings};
use super::stream::say;
use super::{profile, variables};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::base::variables::{
    MARVIN_MODELS, MARVIN_NO_FALLBACK, MARVIN_PRICES, MARVIN_PROJECT_TEXTS, OLLAMA_CONTEXT, Text,
};
use crate::disk::beneath::Root;
use crate::disk::size_limit;
use crate::llm::catalog;
use crate::llm::choose::{self, ProviderChoice};
use crate::llm::copilot::{self, CopilotProvider};
use crate::llm::http_provider::HttpProvider;
use crate::llm::models::{ModelRegistry, ModelsFile, UserPrices, near};
use crate::llm::offline::Offline;
use crate::llm::patience::{ChildPatience, Patience};
use crate::llm::provider::{Effort, Provider};
use crate::mcp::client::answers::ScriptedAnswers;
use crate::mcp::session::{ServerSetup, SessionServers};
use crate::model_call::model_target::{LearnedLimit, ModelTarget, Successor};
use crate::net::user_agent::agent;
use crate::pipeline::agents::PipelineAgents;
use crate::proc::writable_by_commands;
use crate::store::project_texts::ProjectTexts;
use crate::tools::engine::context::{Agents, Secrets, SessionContext};
use crate::tools::engine::permission::gate::known_tools;
use crate::tools::engine::permission::permissions::Permissions;
use crate::tools::engine::permission::rule::{self, Rule};
use crate::tools::engine::policy::ToolPolicy;
use crate::tools::engine::project_trust::SessionTrust;
use crate::tools::engine::registry::Registry;
use crate::tools::parse_groups;

/// What the tools of a session share, in its working directory.
///
/// # Errors
/// The given working directory or a tool group does not exist, or a permission rule is none.
pub(crate) fn session(
    settings: &Settings,
    warn: &mut dyn FnMut(String),
) -> Outcome<SessionContext> {
    size_limit::report_as_error();
    let mut policy = ToolPolicy::new(&settings.env, warn);
    if let Some(list) = &settings.access.tools {
        let (of_servers, own): (Vec<&str>, Vec<&str>) =
            list.split(',').partition(|word| rule::is_of_server(word));
        policy.server_tools = Rule::parse_list(&of_servers.join(","), &[])?;
        policy.groups = parse_groups(&own.join(","))?;
    }
    let registry = registry();
    let known = known_tools(&registry.all());
    let permissions = settings.access.permissions.rules(&known)?;
    policy.disallowed.clone_from(&permissions.deny);
    let mut env = settings.env.clone();
    if settings.access.without_project {
        let texts = ProjectTexts::OfUser.beneath(ProjectTexts::of(&env));
        env.set(MARVIN_PROJECT_TEXTS.name, texts.word().unwrap_or_default());
    }
    let mut session = SessionContext::new(env, policy);
    session.set_registry(registry);
    session.permissions = Permissions::new(permissions);
    let env = settings.env.clone();
    if settings.is_leashed() || session.policy.depth > 0 || settings.pipeline.is_some() {
        session.supervisor.clone_from(&settings.process.executable);
    }
    if settings.is_leashed() {
        let patience = Patience::of(&settings.env, warn);
        session.patience = Some(ChildPatience::new(patience, |outage| say(&outage.line())));
    }
    session.secrets = Secrets::new(Box::new(move || variables::secrets(&env)));
    let active = profile::active(&session.paths);
    session.set_profile(&active);
    match (&settings.working_dir, &settings.process.current) {
        (Some(dir), _) => session.working_dir.set(
            Root::open(dir)
                .map_err(|problem| problem.next("--working-dir needs a folder that exists."))?,
            true,
        ),
        (None, Some(current)) if is_project(&settings.env, current) => {
            if let Ok(root) = Root::open(current) {
                session.working_dir.set(root, session.policy.depth > 0);
            }
        }
        (None, Some(current)) => session.working_dir.leave_unset(current.clone()),
        (None, None) => {}
    }
    session.trust = SessionTrust::new(settings.access.trust.clone());
    if let Some(root) = session.working_dir.root() {
        session.trust.begin_in(root.path());
    }
    // A sub-agent and a child of the pipeline have none but those that --tools names.
    let is_own = session.policy.depth == 0 && settings.pipeline.is_none();
    if is_own || !session.policy.server_tools.is_empty() {
        let folder = session.working_dir.root();
        let folder = folder.map(|root| root.path().to_owned());
        let servers = SessionServers::new(ServerSetup {
            folder: folder.or_else(|| settings.process.current.clone()),
            executable: settings.process.executable.clone(),
            without_project: settings.access.without_project,
            has_only_brought: settings.json.servers.are_alone,
        });
        servers.bring(settings.json.servers.elsewhere.clone());
        if let Some(answers) = settings.json.servers.answers.clone() {
            servers.set_questions(Arc::new(ScriptedAnswers {
                values: answers,
                tell: say,
            }));
        }
        session.modules.set(servers);
    }
    for dir in &settings.json.added_dirs {
        let current = settings.process.current.as_deref();
        let folder = further_folder(dir, current, &session.paths)
            .map_err(|problem| problem.next("--add-dir needs a folder."))?;
        let Some((given, real)) = folder else {
            warn(format!(
                "The folder {} of --add-dir does not exist.",
                dir.display()
            ));
            continue;
        };
        let root =
            Root::open(&real).map_err(|problem| problem.next("--add-dir needs a folder."))?;
        let name = format!("folder {}", root.path().display());
        session.working_dir.add(given, root.called(name));
    }
    let added = session.working_dir.added();
    let added: Vec<_> = added.iter().map(|root| root.path().to_owned()).collect();
    session.sandbox = settings
        .access
        .sandbox
        .session(&added, &session.paths, warn)?;
    session.keep_to_sandbox();
    if let Some(choice) = session.sandbox.fence() {
        let own = session.working_dir.root();
        let own = own.map(|root| root.path().to_owned());
        writable_by_commands::note(choice.writable.iter().cloned().chain(own));
    }
    Ok(session)
}

/// The tools of a run. Tools that are not built in are registered here.
pub(crate) fn registry() -> Registry {
    Registry::default()
}

/// The home folder and `/` are not projects.
pub(crate) fn is_project(env: &Env, dir: &Path) -> bool {
    let home = env.get("HOME").map(Path::new);
    let same = |other: &Path| {
        other == dir
            || other
                .canonicalize()
                .is_ok_and(|other| dir.canonicalize().is_ok_and(|dir| dir == other))
    };
    dir != Path::new("/") && !home.is_some_and(same)
}

/// The reasoning effort that the user chose.
///
/// # Errors
/// There is none of that name.
pub(crate) fn effort(settings: &Settings) -> Outcome<Option<Effort>> {
    let word = settings.model.effort.as_deref().map(str::trim);
    word.filter(|word| !word.is_empty())
        .map(Effort::parse)
        .transpose()
}

/// What is the same for every model of a run: what calls may cost, and what answers when a model fails.
#[derive(Clone)]
pub(crate) struct Spending {
    /// Prices of the user.
    pub prices: Arc<ModelRegistry>,
    /// No further model call is made once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
    /// What answers when the chosen model fails; none when the user does not want it.
    pub successor: Option<Arc<Successor>>,
}

/// The model that answers: the one in `choice`, else the first usable provider with its default model.
///
/// # Errors
/// The provider is unknown, has no key, or cannot be reached as it is set up.
pub(crate) fn model_target(
    choice: &ModelChoice,
    spending: &Spending,
    env: &Env,
    warn: &mut dyn FnMut(String),
) -> Outcome<ModelTarget> {
    let own = choice.model.as_deref();
    let (provider, model, local, on_this_machine): (Box<dyn Provider>, _, _, _) =
        match choose::choose(env, choice.provider.as_deref())? {
            ProviderChoice::Offline => (Box::new(Offline), own.unwrap_or("offline"), true, true),
            ProviderChoice::Copilot => {
                let model = own.unwrap_or_else(|| copilot::model(env));
                return Ok(copilot_target(
                    CopilotProvider::new(env),
                    model,
                    spending,
                    warn,
                ));
            }
            ProviderChoice::Remote(remote) => {
                let row = remote.row;
                let model = own.unwrap_or_else(|| choose::model(env, row));
                spending
                    .prices
                    .warning(row.name, model)
                    .into_iter()
                    .for_each(&mut *warn);
                let on_this_machine = remote.is_on_this_machine();
                let provider = HttpProvider::new(remote, env, agent(env, None), warn)?;
                (Box::new(provider), model, row.local, on_this_machine)
            }
        };
    Ok(ModelTarget {
        info: spending.prices.facts(provider.name(), model),
        provider,
        model: model.to_owned(),
        local,
        on_this_machine,
        prices: Arc::clone(&spending.prices),
        max_cost: spending.max_cost,
        successor: spending.successor.clone(),
        learned: LearnedLimit::default(),
    })
}

/// Asks the server of a local model what the model takes, and says what it lacks.
pub(crate) fn ask_server(target: &mut ModelTarget, stop: &Cancel, warn: &mut dyn FnMut(String)) {
    let Some(served) = target.provider.served_facts(&target.model, stop) else {
        return;
    };
    let provider = target.provider.name();
    target.info = target.prices.facts_told(provider, &target.model, &served);
    let model = &target.model;
    if served.chats == Some(false) {
        warn(format!(
            "{provider} says that {model} answers no chats: it is for embeddings. Choose another model: --model NAME."
        ));
    } else if !target.info.takes_tools {
        warn(format!(
            "{provider} says that {model} takes no tools, so it can only talk. For work, choose one that does: --model NAME."
        ));
    }
}

/// A word about a model's name that its provider does not list, or that nobody knows, where it is nearly that of another one.
pub(crate) fn doubt(target: &ModelTarget, env: &Env) -> Option<String> {
    let row = catalog::row(target.provider.name())?;
    let (model, base) = (&target.model, choose::remote(env, row).base);
    let is_doubtful = match near::is_listed(row.name, &base, model) {
        Some(is_listed) => !is_listed,
        None => !target.info.known,
    };
    if !is_doubtful {
        return None;
    }
    let near = near::did_you_mean(row.name, &base, model, Clock::new(env).now().date())?;
    let shown = text::clip(&text::escape_controls(model), 80);
    Some(format!(
        "\"{shown}\" is no model that {} is known to have. {near}",
        row.name
    ))
}

/// Copilot with `model`. Nothing takes over when it fails.
fn copilot_target(
    provider: CopilotProvider,
    model: &str,
    spending: &Spending,
    warn: &mut dyn FnMut(String),
) -> ModelTarget {
    if spending.max_cost.is_some() {
        warn("--max-cost does not limit Copilot, whose use is not counted in dollars.".to_owned());
    }
    ModelTarget {
        info: spending.prices.facts(copilot::NAME, model),
        provider: Box::new(provider),
        model: model.to_owned(),
        local: false,
        on_this_machine: false,
        prices: Arc::clone(&spending.prices),
        max_cost: spending.max_cost,
        successor: None,
        learned: LearnedLimit::default(),
    }
}

/// Copilot with its model, for single messages.
pub(crate) fn copilot(spending: &Spending, env: &Env, warn: &mut dyn FnMut(String)) -> ModelTarget {
    copilot_target(
        CopilotProvider::new(env),
        copilot::model(env),
        spending,
        warn,
    )
}

/// Copilot as it answers when another provider fails: only where its CLI is installed and signed in.
fn successor(env: &Env, spending: &Spending) -> Successor {
    let (env, spending) = (env.clone(), spending.clone());
    Successor::new(move |stop| {
        // Without a CLI nothing is started.
        if !copilot::availability::is_installed(&env) {
            return None;
        }
        let provider = CopilotProvider::signed_in(&env, stop).ok()?;
        let model = copilot::model(&env);
        Some(copilot_target(provider, model, &spending, &mut |_| {}))
    })
}

/// What runs child Marvins, with the model of `target` where no other is set; none when there is no model.
pub(crate) fn agents(settings: &Settings, target: &ModelTarget) -> Option<Arc<dyn Agents>> {
    let program = settings.process.executable.clone()?;
    target.provider.is_model().then(|| {
        Arc::new(PipelineAgents {
            program,
            provider: target.provider.name().to_owned(),
            model: target.model.clone(),
            tiers: settings.model.tiers.clone(),
            max_cost: target.max_cost,
        }) as Arc<dyn Agents>
    })
}

/// Largest file of prices or models in bytes; the whole catalogue of models.dev takes a quarter of it.
const MODELS_CAP: u64 = 16 << 20;

/// What is known about models, with the ceiling that the user set.
///
/// # Errors
/// The ceiling depends on prices of the user that cannot be read.
pub(crate) fn spending(
    settings: &Settings,
    clock: &Clock,
    warn: &mut dyn FnMut(String),
) -> Outcome<Spending> {
    if settings.model.max_cost.is_some() {
        user_prices(settings).map_err(|problem| {
            problem.next("--max-cost needs it: what is spent is counted by it.")
        })?;
    }
    let mut spending = Spending {
        prices: Arc::new(model_registry(settings, clock, warn)),
        max_cost: settings.model.max_cost,
        successor: None,
    };
    if let Some(model) = &settings.json.fallback_model {
        let (mut choice, env) = (settings.model.choice.clone(), settings.env.clone());
        choice.model = Some(model.clone());
        let alone = spending.clone();
        let find = move |_: &Cancel| model_target(&choice, &alone, &env, &mut |_| {}).ok();
        spending.successor = Some(Arc::new(Successor::new(find)));
        return Ok(spending);
    }
    // A child's announcement would be read by its parent, not by the user.
    if !MARVIN_NO_FALLBACK.read(&settings.env) && !settings.is_leashed() {
        spending.successor = Some(Arc::new(successor(&settings.env, &spending)));
    }
    Ok(spending)
}

/// What is known about models: the files that `MARVIN_PRICES` and `MARVIN_MODELS` name, and the table. A file that cannot be used is told and left out.
pub(crate) fn model_registry(
    settings: &Settings,
    clock: &Clock,
    warn: &mut dyn FnMut(String),
) -> ModelRegistry {
    let prices = or_default(user_prices(settings), warn);
    let file = or_default(models_file(settings), warn);
    let window = or_default(ollama_window(&settings.env), warn);
    ModelRegistry::new(prices, file, clock.clone()).with_ollama_window(window)
}

fn or_default<T: Default>(read: Outcome<T>, warn: &mut dyn FnMut(String)) -> T {
    read.unwrap_or_else(|problem| {
        warn(format!("{} It is not used.", problem.one_line()));
        T::default()
    })
}

/// The prices in the file that `MARVIN_PRICES` names.
///
/// # Errors
/// It cannot be read.
pub(crate) fn user_prices(settings: &Settings) -> Outcome<UserPrices> {
    match &settings.model.prices {
        Some(path) => UserPrices::parse(&text_of(MARVIN_PRICES, path)?),
        None => Ok(UserPrices::default()),
    }
}

/// The models in the file that `MARVIN_MODELS` names.
///
/// # Errors
/// It cannot be read.
pub(crate) fn models_file(settings: &Settings) -> Outcome<ModelsFile> {
    match &settings.model.models {
        Some(path) => ModelsFile::parse(&text_of(MARVIN_MODELS, path)?),
        None => Ok(ModelsFile::default()),
    }
}

/// The window that `OLLAMA_CONTEXT` sets.
///
/// # Errors
/// It is no number of tokens.
pub(crate) fn ollama_window(env: &Env) -> Outcome<Option<u64>> {
    let Some(text) = OLLAMA_CONTEXT.read(env).map(str::trim) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(tokens) if tokens > 0 => Ok(Some(tokens)),
        _ => {
            let shown = text::clip(&text::escape_controls(text), 40);
            let name = OLLAMA_CONTEXT.name;
            let what = format!("{name} is \"{shown}\", which is no number of tokens.");
            Err(Problem::config(what).next(format!("Set it to one, such as {name}=65536.")))
        }
    }
}

fn text_of(variable: Text, path: &Path) -> Outcome<String> {
    open::text(path, MODELS_CAP).map_err(|error| {
        let (name, path) = (variable.name, path.display());
        Problem::system(format!("Cannot read {name} ({path})"), error).next(format!(
            "Set {name} to a file that can be read, or unset it."
        ))
    })
}
