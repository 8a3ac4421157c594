//! Setting up a language model: a list of the ways, what each of them asks for, the check whether it works, and where the choice is kept.
//!
//! At the first start the list comes by itself, and messages wait until it is closed. `/model` brings it back as long as there is no model. Whatever looks,
//! asks or writes runs on a thread; a check is a job, which Esc stops.

mod check;
pub(super) mod event;
mod keep;
mod menu;

use std::sync::{Arc, Mutex, PoisonError};

use super::choice::{ChoiceKind, LinePrompt, TypedLine};
use super::inbox::WorkerEvent;
use super::{BackendState, Session};
use crate::app::session::choice::ChoiceList;
use crate::app::session::ui_update::{ProgramToRun, UiUpdate};
use crate::app::settings::ModelChoice;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::LLM_PROVIDER;
use crate::llm::catalog::{self, ProviderSpec};
use crate::llm::copilot::{self, availability};
use crate::model_call::model_target::ModelTarget;
use crate::tools::engine::context::SessionContext;
use check::{Check, Checked};
use event::SetUpEvent;

/// What the user was asked for.
#[derive(Debug, Default)]
enum Step {
    /// Nothing is being set up.
    #[default]
    Closed,
    /// One of the lists.
    List,
    /// The key of a provider.
    Key(&'static ProviderSpec),
    /// The address of their own server.
    Address,
    /// The key of that server.
    ServerKey(OwnServer),
    /// The name of a model there.
    ServerModel(OwnServer),
}

/// A server that speaks like OpenAI.
#[derive(Clone, Default)]
pub(super) struct OwnServer {
    base: String,
    key: Option<String>,
}

impl std::fmt::Debug for OwnServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnServer")
            .field("base", &self.base)
            .field("has_key", &self.key.is_some())
            .finish()
    }
}

/// The state of setting up.
#[derive(Default)]
pub(super) struct SetUp {
    /// The interface can show the list, and somebody is there to choose.
    is_possible: bool,
    step: Step,
    /// The provider without a model, while messages wait for the choice.
    without_model: Option<Box<ModelTarget>>,
}

/// What was set up in this session, as the next one finds it in `config.yaml` and in the files of keys.
#[derive(Default)]
struct NewSettings(Mutex<Vec<(String, String)>>);

/// The environment with what was set up since the start.
pub(crate) fn model_env(context: &SessionContext) -> Env {
    let mut env = context.env.clone();
    let settings = context.modules.get::<NewSettings>();
    let settings = settings.0.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, value) in settings.iter() {
        env.set_below(name, value.clone());
    }
    env
}

fn add_settings(context: &SessionContext, new: impl IntoIterator<Item = (String, String)>) {
    let settings = context.modules.get::<NewSettings>();
    let mut settings = settings.0.lock().unwrap_or_else(PoisonError::into_inner);
    settings.extend(new);
}

impl Session {
    /// The interface can show lists and ask for lines, and somebody is there to answer: without a model the session asks how to get one.
    pub(crate) fn allow_set_up(&mut self) {
        self.set_up.is_possible = self.context.policy.depth == 0;
    }

    /// True while a list or a question of it is open.
    pub(super) fn is_setting_up(&self) -> bool {
        !matches!(self.set_up.step, Step::Closed)
    }

    pub(super) fn can_set_up(&self) -> bool {
        self.set_up.is_possible
    }

    /// Asks how to get a model, if this is the first choice and nobody named it. The target is given back if it is to be used now.
    pub(super) fn ask_for_model(&mut self, target: Box<ModelTarget>) -> Option<Box<ModelTarget>> {
        let is_asked_for = self.settings.model.provider.is_some();
        let is_first = matches!(self.backend, BackendState::Choosing);
        if target.provider.is_model() || is_asked_for || !is_first || !self.set_up.is_possible {
            return Some(target);
        }
        if !self.offer_set_up(true) {
            return Some(target);
        }
        self.set_up.without_model = Some(target);
        None
    }

    /// True when `/model` should bring the ways to a model instead of the models that are known.
    pub(super) fn needs_set_up(&self) -> bool {
        let is_ready = matches!(self.backend, BackendState::Ready(_));
        self.set_up.is_possible && is_ready && !self.has_model()
    }

    fn has_model(&self) -> bool {
        matches!(&self.backend, BackendState::Ready(target) if target.provider.is_model())
    }

    /// Looks what is there and shows the list.
    pub(super) fn offer_set_up(&mut self, is_first: bool) -> bool {
        let (env, paths) = (model_env(&self.context), self.context.paths.clone());
        let (inbox, stop) = (Arc::clone(&self.inbox), self.stop_all.clone());
        let has_model = self.has_model();
        let started = self.work("set-up", move || {
            let list = match is_first && keep::works_without(&paths) {
                true => None,
                false => Some(menu::list(&env, has_model, &stop)),
            };
            inbox.send(WorkerEvent::SetUp(Box::new(SetUpEvent::Menu {
                list,
                is_first,
            })));
        });
        self.listings += usize::from(started);
        started
    }

    pub(super) fn set_up_event(&mut self, event: SetUpEvent) {
        match event {
            SetUpEvent::Menu { list, is_first } => {
                self.listings -= 1;
                match list {
                    Some(list) if is_first => {
                        self.set_up.step = Step::List;
                        self.updates.push(UiUpdate::Offer(list));
                    }
                    Some(list) => self.show_list(list),
                    None => self.end_set_up(),
                }
            }
            SetUpEvent::Checked { id, checked } => {
                self.jobs.retain(|job| job.id != id);
                self.checked(checked);
            }
        }
    }

    fn show_list(&mut self, list: ChoiceList) {
        self.set_up.step = Step::List;
        self.updates.push(UiUpdate::Choose(list));
    }

    fn show_prompt(&mut self, step: Step, title: String, hint: String, is_secret: bool) {
        self.set_up.step = step;
        self.updates.push(UiUpdate::Prompt(LinePrompt {
            title,
            hint,
            is_secret,
        }));
    }

    /// The user chose a row of one of the lists.
    pub(super) fn choose_set_up(&mut self, kind: ChoiceKind, id: &str) {
        match (kind, id) {
            (ChoiceKind::SetUp, menu::COPILOT) => self.sign_in(),
            (ChoiceKind::SetUp, menu::KEY) => {
                self.show_list(menu::key_providers(&model_env(&self.context)));
            }
            (ChoiceKind::SetUp, menu::ADDRESS) => self.ask_for_address(String::new()),
            (ChoiceKind::SetUp, menu::WITHOUT) => {
                let paths = self.context.paths.clone();
                self.keep(move || keep::work_without(&paths));
                self.leave_set_up();
            }
            (ChoiceKind::KeyProviders, name) => {
                if let Some(row) = catalog::row(name) {
                    self.ask_for_key(row, String::new());
                }
            }
            (ChoiceKind::ServerModels, model) => {
                let Step::ServerModel(server) = std::mem::take(&mut self.set_up.step) else {
                    return self.leave_set_up();
                };
                self.use_server(server, model.to_owned());
            }
            // A server that was found on this machine, and one of its models.
            (_, found) => {
                if let Some((name, model)) = found.split_once(' ') {
                    self.use_model(name, Some(model.to_owned()), Vec::new(), String::new());
                }
            }
        }
    }

    /// The user closed a list without choosing: back to the one before, and from the first one on without a model.
    pub(crate) fn choice_closed(&mut self, kind: ChoiceKind) {
        match kind {
            ChoiceKind::SetUp => self.leave_set_up(),
            ChoiceKind::KeyProviders | ChoiceKind::ServerModels => {
                self.offer_set_up(false);
            }
            ChoiceKind::Sessions | ChoiceKind::Models | ChoiceKind::Themes => {}
        }
    }

    /// The user typed the line that was asked for, or closed the question.
    pub(crate) fn answer_prompt(&mut self, line: Option<TypedLine>) {
        let step = std::mem::take(&mut self.set_up.step);
        let line = line.map(TypedLine::into_text).unwrap_or_default();
        let line = line.trim().to_owned();
        if line.is_empty() {
            match step {
                Step::Key(_) => self.show_list(menu::key_providers(&model_env(&self.context))),
                _ => {
                    self.offer_set_up(false);
                }
            }
            return;
        }
        match step {
            Step::Key(row) if !is_key(&line) => self.ask_for_key(row, NO_KEY.to_owned()),
            Step::Key(row) => {
                self.context.secrets.add(&line);
                self.check(Check::Key { row, key: line });
            }
            Step::Address => match check::address(&line) {
                Ok(base) => self.check(Check::Server(OwnServer { base, key: None })),
                Err(problem) => self.ask_for_address(problem.one_line()),
            },
            Step::ServerKey(server) if !is_key(&line) => {
                self.ask_for_server_key(server, NO_KEY.to_owned());
            }
            Step::ServerKey(server) => {
                self.context.secrets.add(&line);
                let key = Some(line);
                self.check(Check::Server(OwnServer { key, ..server }));
            }
            Step::ServerModel(server) => self.use_server(server, line),
            Step::Closed | Step::List => {}
        }
    }

    fn ask_for_key(&mut self, row: &'static ProviderSpec, problem: String) {
        let place = keep::key_place(row.key.unwrap_or_default());
        let hint = join(&problem, &format!("It is not shown, and kept in {place}."));
        self.show_prompt(Step::Key(row), format!("Key for {}", row.name), hint, true);
    }

    fn ask_for_address(&mut self, problem: String) {
        let hint = join(&problem, "For example http://127.0.0.1:8000/v1.");
        let title = "Address of an OpenAI-compatible server".to_owned();
        self.show_prompt(Step::Address, title, hint, false);
    }

    fn ask_for_server_key(&mut self, server: OwnServer, problem: String) {
        let place = keep::key_place(keep::SERVER_KEY);
        let hint = join(&problem, &format!("It is not shown, and kept in {place}."));
        let title = "Key for this server".to_owned();
        self.show_prompt(Step::ServerKey(server), title, hint, true);
    }

    /// Lets the CLI's own sign-in have the terminal.
    fn sign_in(&mut self) {
        let Some(program) = availability::program(&self.context.env) else {
            let problem = Problem::missing("The GitHub Copilot CLI is not installed.")
                .next("Install it: npm install -g @github/copilot.")
                .next("Then choose this again, with /model.");
            self.updates.push(UiUpdate::Failed(problem));
            return self.leave_set_up();
        };
        self.updates.push(UiUpdate::RunProgram(ProgramToRun {
            program,
            args: vec!["login".to_owned()],
        }));
    }

    /// The sign-in has given the terminal back.
    pub(crate) fn program_ended(&mut self, ended: Outcome<()>) {
        match ended {
            Ok(()) => self.check(Check::Copilot),
            Err(problem) => {
                self.updates.push(UiUpdate::Failed(problem));
                self.offer_set_up(false);
            }
        }
    }

    fn check(&mut self, check: Check) {
        let (env, inbox) = (model_env(&self.context), Arc::clone(&self.inbox));
        self.run_job(check.words(), false, move |id, stop| {
            let checked = check.run(&env, &stop);
            inbox.send(WorkerEvent::SetUp(Box::new(SetUpEvent::Checked {
                id,
                checked,
            })));
        });
    }

    fn checked(&mut self, checked: Checked) {
        match checked {
            Checked::Stopped => {
                self.offer_set_up(false);
            }
            Checked::Key(row, file) => {
                let words = format!(" The key is in {file}, which only you can read.");
                self.use_model(row.name, None, Vec::new(), words);
            }
            Checked::KeyRefused(row, problem) => self.ask_for_key(row, problem.one_line()),
            Checked::Copilot => self.use_model(copilot::NAME, None, Vec::new(), String::new()),
            Checked::NotSignedIn(problem) => {
                self.updates.push(UiUpdate::Failed(problem));
                self.offer_set_up(false);
            }
            Checked::Server(server, models) if models.is_empty() => {
                let hint = "The server lists no models. For example qwen3-8b.".to_owned();
                let title = "Name of a model there".to_owned();
                self.show_prompt(Step::ServerModel(server), title, hint, false);
            }
            Checked::Server(server, models) => {
                self.show_list(menu::server_models(&models));
                self.set_up.step = Step::ServerModel(server);
            }
            Checked::ServerNeedsKey(server, problem) => {
                let problem = match server.key {
                    Some(_) => problem.one_line(),
                    None => "The server wants a key.".to_owned(),
                };
                self.ask_for_server_key(server, problem);
            }
            Checked::NoServer(problem) => self.ask_for_address(problem.one_line()),
        }
    }

    fn use_server(&mut self, server: OwnServer, model: String) {
        let mut words = String::new();
        if let Some(key) = server.key {
            let place = keep::key_place(keep::SERVER_KEY);
            words = format!(" The key is in {place}, which only you can read.");
            let (paths, kept) = (self.context.paths.clone(), key.clone());
            self.keep(move || keep::key(&paths, keep::SERVER_KEY, &kept).map(drop));
            // Until it is written, and for this session alone.
            let known = (keep::SERVER_KEY.to_owned(), key);
            add_settings(&self.context, [known]);
        }
        let address = vec![(keep::SERVER_URL.to_owned(), server.base)];
        self.use_model(keep::OWN_SERVER, Some(model), address, words);
    }

    /// Switches to what was chosen, and keeps the choice for later sessions.
    fn use_model(
        &mut self,
        provider: &str,
        model: Option<String>,
        mut settings: Vec<(String, String)>,
        words: String,
    ) {
        settings.push((LLM_PROVIDER.name.to_owned(), provider.to_owned()));
        if let Some(model) = &model {
            settings.push((catalog::variable(provider, "MODEL"), model.clone()));
        }
        let fixed = settings.iter().map(|(name, _)| name);
        let mut fixed = fixed.filter(|name| self.context.env.all().any(|(set, _)| set == *name));
        let later = match fixed.next() {
            Some(name) => format!(" {name} decides again in the next session."),
            None => String::new(),
        };
        let paths = self.context.paths.clone();
        let kept = settings.clone();
        self.keep(move || keep::settings(&paths, &kept));
        add_settings(&self.context, settings);
        self.set_up.step = Step::Closed;
        let remembered = format!("{provider} is chosen, also for later sessions.{words}{later}");
        self.updates.push(UiUpdate::Remark(remembered));
        self.choose(ModelChoice {
            provider: Some(provider.to_owned()),
            model,
        });
    }

    /// Writes on the thread for that; a failure is told.
    fn keep(&mut self, write: impl FnOnce() -> Outcome<()> + Send + 'static) {
        let inbox = Arc::clone(&self.inbox);
        self.scribe.put(move || {
            if let Err(problem) = write() {
                inbox.send(WorkerEvent::Notice(problem.one_line()));
            }
        });
    }

    /// Goes on as it is.
    fn leave_set_up(&mut self) {
        self.set_up.step = Step::Closed;
        // The welcome says it too.
        if self.needs_set_up() {
            let words = "No language model answers; /model brings the choice back.";
            self.updates.push(UiUpdate::Remark(words.to_owned()));
        }
        self.end_set_up();
    }

    /// What waited for the choice goes on without a model.
    pub(super) fn end_set_up(&mut self) {
        if let Some(target) = self.set_up.without_model.take() {
            self.adopt(target);
        }
    }

    /// The choice was made, or the attempt failed: then it goes on without a model.
    pub(super) fn set_up_chosen(&mut self, is_done: bool) {
        match is_done {
            true => self.set_up.without_model = None,
            false => self.end_set_up(),
        }
    }
}

/// Why a line is refused.
const NO_KEY: &str = "A key has no blanks and no special characters.";

/// Whether a request could carry it.
fn is_key(line: &str) -> bool {
    line.bytes().all(|byte| byte.is_ascii_graphic())
}

fn join(problem: &str, hint: &str) -> String {
    match problem {
        "" => hint.to_owned(),
        problem => format!("{problem} {hint}"),
    }
}
