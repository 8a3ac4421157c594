//! Setting up a language model: a list of the ways, what each of them asks for, the check whether it works, and where the choice is kept.
//!
//! At the first start the list comes by itself, and messages wait until it is closed. `/model` brings it back as long as there is no model. Whatever looks,
//! asks or writes runs on a thread; a check is a job, which Esc stops.

mod check;
mod keep;
mod menu;

use std::sync::Arc;

use super::{Backend, Model};
use crate::app::choice::{ChoiceKind, ChoiceList, LinePrompt, TypedLine};
use crate::app::session::facts::Facts;
use crate::app::session::model_env::{add_settings, model_env};
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::ui_update::{ProgramToRun, UiUpdate};
use crate::app::session::worker_event::set_up::{Checked, OwnServer, SetUpEvent};
use crate::app::session::worker_event::{AwaitedBy, WorkerEvent};
use crate::app::settings::ModelChoice;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::LLM_PROVIDER;
use crate::llm::catalog::{self, ProviderSpec};
use crate::llm::copilot::{self, availability};
use crate::model_call::model_target::ModelTarget;
use check::Check;

/// What the user was asked for.
#[derive(Debug, Default)]
enum Step {
    /// Nothing is being set up.
    #[default]
    Closed,
    List,
    Key(&'static ProviderSpec),
    /// The address of their own server.
    Address,
    ServerKey(OwnServer),
    /// The name of a model there.
    ServerModel(OwnServer),
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

impl Model {
    /// The interface can show lists and ask for lines, and somebody is there to answer: without a model the session asks how to get one.
    pub(in crate::app::session) fn allow_set_up(&mut self, run: &Run) {
        self.set_up.is_possible = run.context.policy.depth == 0;
    }

    /// True while a list or a question of it is open.
    pub(super) fn is_setting_up(&self) -> bool {
        !matches!(self.set_up.step, Step::Closed)
    }

    pub(super) fn can_set_up(&self) -> bool {
        self.set_up.is_possible
    }

    /// Asks how to get a model, if this is the first choice and nobody named it. The target is given back if it is to be used now.
    pub(super) fn ask_for_model(
        &mut self,
        target: Box<ModelTarget>,
        run: &Run,
        orders: &mut Orders,
    ) -> Option<Box<ModelTarget>> {
        let is_asked_for = run.settings.model.choice.provider.is_some();
        let is_first = matches!(self.backend, Backend::Choosing);
        if target.provider.is_model() || is_asked_for || !is_first || !self.set_up.is_possible {
            return Some(target);
        }
        self.offer_set_up(true, run, orders);
        self.set_up.without_model = Some(target);
        None
    }

    /// True when `/model` should bring the ways to a model instead of the models that are known.
    pub(super) fn needs_set_up(&self) -> bool {
        let is_ready = matches!(self.backend, Backend::Ready(_));
        self.set_up.is_possible && is_ready && !self.has_model()
    }

    fn has_model(&self) -> bool {
        matches!(&self.backend, Backend::Ready(target) if target.provider.is_model())
    }

    /// Looks what is there and shows the list.
    pub(super) fn offer_set_up(&self, is_first: bool, run: &Run, orders: &mut Orders) {
        let (env, paths) = (model_env(&run.context), run.context.paths.clone());
        let stop = run.stop.clone();
        let has_model = self.has_model();
        let make = move || match is_first && keep::works_without(&paths) {
            true => Ok(None),
            false => Ok(Some(menu::list(&env, has_model, &stop))),
        };
        orders.work("set-up", AwaitedBy::Interface, make, move |list| {
            WorkerEvent::SetUp(Box::new(SetUpEvent::Menu { list, is_first }))
        });
    }

    /// A thread has looked or checked.
    pub(in crate::app::session) fn set_up_event(
        &mut self,
        event: SetUpEvent,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) {
        match event {
            SetUpEvent::Menu { list, is_first } => match list {
                Ok(Some(list)) if is_first => {
                    self.set_up.step = Step::List;
                    orders.show(UiUpdate::Offer(list));
                }
                Ok(Some(list)) => self.show_list(list, orders),
                Ok(None) => self.end_set_up(run, facts, orders),
                Err(problem) => {
                    orders.fail(problem);
                    self.end_set_up(run, facts, orders);
                }
            },
            SetUpEvent::Checked { checked, .. } => self.checked(checked, run, orders),
        }
    }

    fn show_list(&mut self, list: ChoiceList, orders: &mut Orders) {
        self.set_up.step = Step::List;
        orders.show(UiUpdate::Choose(list));
    }

    fn show_prompt(
        &mut self,
        step: Step,
        (title, hint): (String, String),
        is_secret: bool,
        orders: &mut Orders,
    ) {
        self.set_up.step = step;
        orders.show(UiUpdate::Prompt(LinePrompt {
            title,
            hint,
            is_secret,
        }));
    }

    /// The user chose a row of one of the lists.
    pub(super) fn choose_set_up(
        &mut self,
        kind: ChoiceKind,
        id: &str,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) {
        match (kind, id) {
            (ChoiceKind::SetUp, menu::COPILOT) => self.sign_in(run, facts, orders),
            (ChoiceKind::SetUp, menu::KEY) => {
                self.show_list(menu::key_providers(&model_env(&run.context)), orders);
            }
            (ChoiceKind::SetUp, menu::ADDRESS) => self.ask_for_address(String::new(), orders),
            (ChoiceKind::SetUp, menu::WITHOUT) => {
                let paths = run.context.paths.clone();
                keep_on_disk(run, orders, move || keep::work_without(&paths));
                self.leave_set_up(run, facts, orders);
            }
            (ChoiceKind::KeyProviders, name) => {
                if let Some(row) = catalog::row(name) {
                    self.ask_for_key(row, String::new(), orders);
                }
            }
            (ChoiceKind::ServerModels, model) => {
                let Step::ServerModel(server) = std::mem::take(&mut self.set_up.step) else {
                    return self.leave_set_up(run, facts, orders);
                };
                self.use_server(server, model.to_owned(), run, orders);
            }
            // A server that was found on this machine, and one of its models.
            (_, found) => {
                if let Some((name, model)) = found.split_once(' ') {
                    self.use_model((name, Some(model.to_owned())), Vec::new(), "", run, orders);
                }
            }
        }
    }

    /// The user closed a list without choosing: back to the one before, and from the first one on without a model.
    pub(in crate::app::session) fn choice_closed(
        &mut self,
        kind: ChoiceKind,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) {
        match kind {
            ChoiceKind::SetUp => self.leave_set_up(run, facts, orders),
            ChoiceKind::KeyProviders | ChoiceKind::ServerModels => {
                self.offer_set_up(false, run, orders);
            }
            ChoiceKind::Sessions | ChoiceKind::Models | ChoiceKind::Themes | ChoiceKind::Trust => {}
        }
    }

    /// The user typed the line that was asked for, or closed the question.
    pub(in crate::app::session) fn answer_prompt(
        &mut self,
        line: Option<TypedLine>,
        run: &Run,
        orders: &mut Orders,
    ) {
        let step = std::mem::take(&mut self.set_up.step);
        let line = line.map(TypedLine::into_text).unwrap_or_default();
        let line = line.trim().to_owned();
        if line.is_empty() {
            match step {
                Step::Key(_) => {
                    self.show_list(menu::key_providers(&model_env(&run.context)), orders);
                }
                _ => {
                    self.offer_set_up(false, run, orders);
                }
            }
            return;
        }
        match step {
            Step::Key(row) if !is_key(&line) => self.ask_for_key(row, NO_KEY.to_owned(), orders),
            Step::Key(row) => {
                run.context.secrets.add(&line);
                check_on_thread(Check::Key { row, key: line }, run, orders);
            }
            Step::Address => match check::address(&line) {
                Ok(base) => {
                    check_on_thread(Check::Server(OwnServer { base, key: None }), run, orders);
                }
                Err(problem) => self.ask_for_address(problem.one_line(), orders),
            },
            Step::ServerKey(server) if !is_key(&line) => {
                self.ask_for_server_key(server, NO_KEY.to_owned(), orders);
            }
            Step::ServerKey(server) => {
                run.context.secrets.add(&line);
                let key = Some(line);
                check_on_thread(Check::Server(OwnServer { key, ..server }), run, orders);
            }
            Step::ServerModel(server) => self.use_server(server, line, run, orders),
            Step::Closed | Step::List => {}
        }
    }

    fn ask_for_key(&mut self, row: &'static ProviderSpec, problem: String, orders: &mut Orders) {
        let place = keep::key_place(row.key.unwrap_or_default());
        let hint = join(&problem, &format!("It is not shown, and kept in {place}."));
        let title = format!("Key for {}", row.name);
        self.show_prompt(Step::Key(row), (title, hint), true, orders);
    }

    fn ask_for_address(&mut self, problem: String, orders: &mut Orders) {
        let hint = join(&problem, "For example http://127.0.0.1:8000/v1.");
        let title = "Address of an OpenAI-compatible server".to_owned();
        self.show_prompt(Step::Address, (title, hint), false, orders);
    }

    fn ask_for_server_key(&mut self, server: OwnServer, problem: String, orders: &mut Orders) {
        let place = keep::key_place(keep::SERVER_KEY);
        let hint = join(&problem, &format!("It is not shown, and kept in {place}."));
        let title = "Key for this server".to_owned();
        self.show_prompt(Step::ServerKey(server), (title, hint), true, orders);
    }

    /// Lets the CLI's own sign-in have the terminal.
    fn sign_in(&mut self, run: &Run, facts: &Facts, orders: &mut Orders) {
        let Some(program) = availability::program(&run.context.env) else {
            let problem = Problem::missing("The GitHub Copilot CLI is not installed.")
                .next("Install it: npm install -g @github/copilot.")
                .next("Then choose this again, with /model.");
            orders.fail(problem);
            return self.leave_set_up(run, facts, orders);
        };
        orders.show(UiUpdate::RunProgram(ProgramToRun {
            program,
            args: vec!["login".to_owned()],
        }));
    }

    /// The sign-in has given the terminal back.
    pub(in crate::app::session) fn program_ended(
        &mut self,
        ended: Outcome<()>,
        run: &Run,
        orders: &mut Orders,
    ) {
        match ended {
            Ok(()) => check_on_thread(Check::Copilot, run, orders),
            Err(problem) => {
                orders.fail(problem);
                self.offer_set_up(false, run, orders);
            }
        }
    }

    fn checked(&mut self, checked: Checked, run: &Run, orders: &mut Orders) {
        match checked {
            Checked::Stopped => {
                self.offer_set_up(false, run, orders);
            }
            Checked::Key(row, file) => {
                let words = format!(" The key is in {file}, which only you can read.");
                self.use_model((row.name, None), Vec::new(), &words, run, orders);
            }
            Checked::KeyRefused(row, problem) => self.ask_for_key(row, problem.one_line(), orders),
            Checked::Copilot => {
                self.use_model((copilot::NAME, None), Vec::new(), "", run, orders);
            }
            Checked::NotSignedIn(problem) | Checked::Failed(problem) => {
                orders.fail(problem);
                self.offer_set_up(false, run, orders);
            }
            Checked::Server(server, models) if models.is_empty() => {
                let hint = "The server lists no models. For example qwen3-8b.".to_owned();
                let title = "Name of a model there".to_owned();
                self.show_prompt(Step::ServerModel(server), (title, hint), false, orders);
            }
            Checked::Server(server, models) => {
                self.show_list(menu::server_models(&models), orders);
                self.set_up.step = Step::ServerModel(server);
            }
            Checked::ServerNeedsKey(server, problem) => {
                let problem = match server.key {
                    Some(_) => problem.one_line(),
                    None => "The server wants a key.".to_owned(),
                };
                self.ask_for_server_key(server, problem, orders);
            }
            Checked::NoServer(problem) => self.ask_for_address(problem.one_line(), orders),
        }
    }

    fn use_server(&mut self, server: OwnServer, model: String, run: &Run, orders: &mut Orders) {
        let mut words = String::new();
        if let Some(key) = server.key {
            let place = keep::key_place(keep::SERVER_KEY);
            words = format!(" The key is in {place}, which only you can read.");
            let (paths, kept) = (run.context.paths.clone(), key.clone());
            keep_on_disk(run, orders, move || {
                keep::key(&paths, keep::SERVER_KEY, &kept).map(drop)
            });
            // Until it is written, and for this session alone.
            let known = (keep::SERVER_KEY.to_owned(), key);
            add_settings(&run.context, [known]);
        }
        let address = vec![(keep::SERVER_URL.to_owned(), server.base)];
        let chosen = (keep::OWN_SERVER, Some(model));
        self.use_model(chosen, address, &words, run, orders);
    }

    /// Switches to what was chosen, and keeps the choice for later sessions.
    fn use_model(
        &mut self,
        (provider, model): (&str, Option<String>),
        mut settings: Vec<(String, String)>,
        words: &str,
        run: &Run,
        orders: &mut Orders,
    ) {
        settings.push((LLM_PROVIDER.name.to_owned(), provider.to_owned()));
        if let Some(model) = &model {
            settings.push((catalog::variable(provider, "MODEL"), model.clone()));
        }
        let fixed = settings.iter().map(|(name, _)| name);
        let mut fixed = fixed.filter(|name| run.context.env.all().any(|(set, _)| set == *name));
        let later = match fixed.next() {
            Some(name) => format!(" {name} decides again in the next session."),
            None => String::new(),
        };
        let paths = run.context.paths.clone();
        let kept = settings.clone();
        keep_on_disk(run, orders, move || keep::settings(&paths, &kept));
        add_settings(&run.context, settings);
        self.set_up.step = Step::Closed;
        orders.remark(format!(
            "{provider} is chosen, also for later sessions.{words}{later}"
        ));
        let choice = ModelChoice {
            provider: Some(provider.to_owned()),
            model,
        };
        self.choose(choice, run, orders);
    }

    /// Goes on as it is.
    fn leave_set_up(&mut self, run: &Run, facts: &Facts, orders: &mut Orders) {
        self.set_up.step = Step::Closed;
        // The welcome says it too.
        if self.needs_set_up() {
            orders.remark("No language model answers; /model brings the choice back.");
        }
        self.end_set_up(run, facts, orders);
    }

    /// What waited for the choice goes on without a model.
    fn end_set_up(&mut self, run: &Run, facts: &Facts, orders: &mut Orders) {
        if let Some(target) = self.set_up.without_model.take() {
            self.adopt(target, run, facts, orders);
        }
    }

    /// The choice was made, or the attempt failed: then it goes on without a model.
    pub(super) fn set_up_chosen(
        &mut self,
        is_done: bool,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) {
        match is_done {
            true => self.set_up.without_model = None,
            false => self.end_set_up(run, facts, orders),
        }
    }
}

/// Checks on a thread; Esc stops it.
fn check_on_thread(check: Check, run: &Run, orders: &mut Orders) {
    let env = model_env(&run.context);
    let words = check.words();
    let run_check = move |_, stop| Ok(check.run(&env, &stop));
    orders.job(words, false, run_check, |id, checked| {
        let checked = checked.unwrap_or_else(Checked::Failed);
        WorkerEvent::SetUp(Box::new(SetUpEvent::Checked { id, checked }))
    });
}

/// Writes on the thread for that; a failure is told.
fn keep_on_disk(
    run: &Run,
    orders: &mut Orders,
    write: impl FnOnce() -> Outcome<()> + Send + 'static,
) {
    let inbox = Arc::clone(&run.inbox);
    orders.write(move || {
        if let Err(problem) = write() {
            inbox.send(WorkerEvent::Notice(problem.one_line()));
        }
    });
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
