//! Opening a session: its world, its provider, the user it talks to.

use std::path::{Path, PathBuf};

use super::settings::Low;
use super::{profile, variables};
use crate::agent::system::Person;
use crate::base::env::Env;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::disk::size_limit;
use crate::llm::choose::{self, Chosen};
use crate::llm::http_provider::HttpProvider;
use crate::llm::models;
use crate::llm::offline::Offline;
use crate::llm::provider::Provider;
use crate::net::user_agent::agent;
use crate::tools::engine::context::{Secrets, World};
use crate::tools::engine::policy::Bounds;

/// Directories of this process at its start.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// The environment with flags above and `config.yaml` below.
    pub env: Env,
    /// The current directory; `None` when it is gone.
    pub current: Option<PathBuf>,
    /// Standard input is a terminal.
    pub stdin_is_terminal: bool,
}

/// The world of a session in its working directory.
///
/// # Errors
/// The given working directory does not exist, or a tool group does not.
pub(crate) fn world(
    start: &Start,
    given: Option<&Path>,
    warn: &mut dyn FnMut(String),
) -> Outcome<World> {
    size_limit::report_as_error();
    let bounds = Bounds::new(&start.env, warn)?;
    let mut world = World::new(start.env.clone(), bounds);
    let env = start.env.clone();
    world.secrets = Secrets::new(Box::new(move || variables::secrets(&env)));
    let active = profile::active(&world.paths);
    world.set_profile(&active);
    match (given, &start.current) {
        (Some(dir), _) => world.place.set(
            Root::open(dir)
                .map_err(|problem| problem.next("--working-dir needs a folder that exists."))?,
            true,
        ),
        (None, Some(current)) if is_project(&start.env, current) => {
            if let Ok(root) = Root::open(current) {
                world.place.set(root, world.bounds.depth > 0);
            }
        }
        (None, Some(current)) => world.place.leave_unset(current.clone()),
        (None, None) => {}
    }
    Ok(world)
}

/// The home folder and `/` are not projects: taken as working directory they would open everything the user has to a coding tool.
fn is_project(env: &Env, dir: &Path) -> bool {
    let home = env.get("HOME").map(Path::new);
    let same = |other: &Path| {
        other == dir
            || other
                .canonicalize()
                .is_ok_and(|other| dir.canonicalize().is_ok_and(|dir| dir == other))
    };
    dir != Path::new("/") && !home.is_some_and(same)
}

/// Facts about the user for the prompt.
pub(crate) fn person(world: &World, sent: Option<&str>, warn: &mut dyn FnMut(String)) -> Person {
    profile::person(world, sent, warn)
}

/// The provider in use, and its model.
pub(crate) struct Answering {
    /// The provider.
    pub provider: Box<dyn Provider>,
    /// The model's name.
    pub model: String,
    /// Runs on this machine.
    pub local: bool,
}

impl Answering {
    /// Provider and model, for display.
    pub(crate) fn words(&self) -> String {
        if self.provider.is_model() {
            format!("{} answers, with {}.", self.provider.name(), self.model)
        } else {
            "No model answers; only what works offline.".to_owned()
        }
    }
}

/// Chooses provider and model: flags, then environment, then defaults.
pub(crate) fn answering(low: &Low, env: &Env, warn: &mut dyn FnMut(String)) -> Outcome<Answering> {
    let chosen = choose::choose(env, low.provider.as_deref())?;
    let own = low
        .model
        .as_deref()
        .or_else(|| env.get("MARVIN_MODEL").filter(|_| low.non_interactive));
    match chosen {
        Chosen::Offline => Ok(Answering {
            provider: Box::new(Offline),
            model: own.unwrap_or("offline").to_owned(),
            local: true,
        }),
        Chosen::Remote(remote) => {
            let model = own
                .unwrap_or_else(|| choose::model(env, remote.row))
                .to_owned();
            let local = remote.row.local;
            Ok(Answering {
                provider: Box::new(HttpProvider::new(remote, env, agent(env, None), warn)?),
                model,
                local,
            })
        }
    }
}

/// Bytes of a list of prices, at most.
const PRICES_CAP: u64 = 16 << 20;

/// The user's prices, when `MARVIN_PRICES` names a file with them.
pub(crate) fn prices(env: &Env) -> Outcome<models::Prices> {
    let Some(path) = env.get("MARVIN_PRICES") else {
        return Ok(models::Prices::default());
    };
    let text = open::text(Path::new(path), PRICES_CAP)
        .map_err(|why| Problem::system(format!("Cannot read MARVIN_PRICES ({path})"), why))?;
    models::Prices::parse(&text)
}
