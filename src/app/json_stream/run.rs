//! Answers one message after the other: those of a calling program, or the one of the command line.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::answer_lines::AnswerLines;
use super::caller::{Caller, Wishes};
use super::content_blocks::fitted_message;
use super::init_line::{self, InitFacts};
use super::line_writer::LineWriter;
use super::model_wish::ModelWish;
use super::permission_questions::CallerApprover;
use super::result_line::{self, TurnOutcome};
use super::structured::{NextTry, StructuredAnswer};
use super::user_line::{COMPACT, UserLine};
use super::{caller_servers, control};
use crate::agent::ending::out_of_requests;
use crate::app::session::one_shot::{OneShot, TurnWays};
use crate::app::session::turn_job::Notice;
use crate::app::settings::Settings;
use crate::app::settings::json_flags::effort_for;
use crate::app::setup::Spending;
use crate::app::stream::say;
use crate::app::{images, sessions};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::MARVIN_MCP_WAIT;
use crate::chat::event::{Event, EventSink, Level};
use crate::chat::image::Image;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::{catalog, choose};
use crate::mcp::session::SessionServers;
use crate::model_call::model_target::ModelTarget;
use crate::model_call::user_facts::CallerPrompt;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::hooks::turns as hooks;
use crate::tools::engine::offering::{self, Recipient};
use crate::tools::project::command_watch::settle_at_end;
use crate::tools::session::skills;

/// A run whose output is lines of JSON.
pub(crate) struct JsonRun {
    pub(crate) settings: Arc<Settings>,
    pub(crate) session: Arc<SessionContext>,
    pub(crate) stop: Cancel,
    pub(crate) spending: Spending,
    pub(crate) lines: Arc<AnswerLines>,
    pub(crate) writer: Arc<LineWriter>,
    /// How the session begins, in the words of hooks.
    pub(crate) source: &'static str,
    /// The first message was taken.
    pub(crate) has_begun: AtomicBool,
    /// It was told that not all tools are offered.
    pub(crate) has_told_of_tools: AtomicBool,
}

/// The message of the command line; without it the caller's are read.
pub(crate) type FirstMessage = Option<(String, Vec<Image>)>;

impl JsonRun {
    /// Answers until there is no message any more; the outcome is that of the last turn.
    ///
    /// # Errors
    /// The last turn has no whole answer, a line of the caller could not be read, or standard output was closed.
    pub(crate) fn run(
        &self,
        mut one_shot: OneShot,
        target: ModelTarget,
        first: FirstMessage,
    ) -> Outcome<()> {
        let caller = Caller::new(
            Arc::clone(&self.writer),
            Arc::clone(&self.session),
            control::answer,
        );
        caller.set_model(&target.model);
        caller_servers::add(&caller, &self.settings.json.servers.own);
        let start = Arc::new(target);
        let wish = Arc::new(ModelWish {
            caller: Arc::clone(&caller),
            settings: Arc::clone(&self.settings),
            spending: self.spending.clone(),
            stop: self.stop.clone(),
            lines: Arc::clone(&self.lines),
            now: Mutex::new(Arc::clone(&start)),
            start,
        });
        let mut outcome = Ok(());
        let mut first = first;
        let mut structured = None;
        if first.is_none() {
            caller.listen()?;
        }
        if self.settings.json.asks_caller {
            let approver = CallerApprover(Arc::clone(&caller));
            self.session
                .permissions
                .set_approver(Some(Arc::new(approver)));
        }
        loop {
            let (message, attached) = match first.take() {
                Some((text, images)) => {
                    caller.close();
                    (Ok(UserLine::of_text(text)), images)
                }
                None => match caller.next(&self.stop) {
                    Some(message) => (message, Vec::new()),
                    None => break,
                },
            };
            let wishes = caller.wishes();
            let prepared = message.and_then(|message| {
                let schema = wishes
                    .schema
                    .as_ref()
                    .or(self.settings.json.schema.as_ref());
                if let (None, Some(schema)) = (&structured, schema) {
                    let most = match self.lines.writes_lines() {
                        true => result_line::MAX_VALUE,
                        false => usize::MAX,
                    };
                    structured = Some(StructuredAnswer::offer(&self.session, schema, most)?);
                }
                let target = wish.target()?;
                let images = self.images_of(&message, attached, &target)?;
                Ok((target, message, images))
            });
            outcome = match prepared {
                Ok((target, message, images)) if !message.is_question => {
                    if let Some(words) = one_shot.add(message.text, images, &target) {
                        say(&format!("Warning: {words}"));
                    }
                    outcome
                }
                Ok((target, message, _))
                    if !message.is_verbatim && message.text.trim() == COMPACT =>
                {
                    self.compact(&mut one_shot, &caller, &target, &message)
                }
                Ok((target, message, images)) => {
                    one_shot.set_ways(TurnWays {
                        switch: Some(wish.clone()),
                        is_verbatim: message.is_verbatim,
                        ..self.ways(&wishes, structured.as_ref())
                    });
                    self.turn(
                        &mut one_shot,
                        &caller,
                        &target,
                        (message, images),
                        structured.as_ref(),
                    )
                }
                Err(problem) => self.refuse(&caller, &wish.last(), problem),
            };
            if self.stop.is_fired() {
                break;
            }
        }
        if self.has_begun.load(Ordering::Relaxed) {
            // With the run that was stopped nobody is waited for.
            hooks::session_ends(&self.context(&self.stop), "other");
        }
        if let Some(notice) = settle_at_end(&self.session) {
            say(&format!("Warning: {notice}"));
        }
        let servers = self.session.modules.get::<SessionServers>();
        servers.finish_looking(&self.stop);
        match self.writer.finish() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Problem::cancelled()),
            Err(error) => Err(Problem::system("Cannot write to standard output", error)),
            Ok(()) if caller.has_bad_line() => outcome.and(Err(Problem::input(
                "A line on standard input could not be read.",
            ))),
            Ok(()) => outcome,
        }
    }

    fn turn(
        &self,
        one_shot: &mut OneShot,
        caller: &Arc<Caller>,
        target: &Arc<ModelTarget>,
        (message, images): (UserLine, Vec<Image>),
        structured: Option<&StructuredAnswer>,
    ) -> Outcome<()> {
        self.lines.begin_turn(&target.model);
        let mut replayed = Some((message.message, message.uuid));
        let notice: Notice = Arc::new(|text| say(&format!("Warning: {text}")));
        let mut is_stopped = false;
        let mut value = None;
        let mut next = (message.text, images);
        if let Some(structured) = structured {
            structured.begin();
        }
        let mut is_own = false;
        let answered = loop {
            let mut stop_of_turn = None;
            self.session.hooks.expect_own_words(is_own);
            let answered = one_shot.answer(
                Arc::clone(target),
                next,
                self.lines.clone(),
                &notice,
                |stop| {
                    stop_of_turn = Some(stop.clone());
                    caller.set_turn(Some(stop.clone()));
                    if let Some((message, id)) = replayed.take() {
                        self.begin(stop, caller, target, (&message, id.as_deref()));
                    }
                },
            );
            caller.pause_turn();
            is_stopped |= stop_of_turn.is_some_and(|stop| stop.is_fired());
            let (Some(structured), Ok(())) = (structured, &answered) else {
                break answered;
            };
            match structured.after(&self.lines.said()) {
                NextTry::Done(fitting) => {
                    value = Some(fitting);
                    break answered;
                }
                _ if self.session.hooks.end().is_some() => break answered,
                NextTry::Again(words) if !is_stopped => {
                    if let Some(most) = self.settings.json.max_turns {
                        let left = most.saturating_sub(self.lines.requests());
                        if left == 0 {
                            break Err(out_of_requests(most));
                        }
                        one_shot.limit_requests(left);
                    }
                    self.lines.set_model(&target.model);
                    is_own = true;
                    next = (words, Vec::new());
                }
                NextTry::Again(why) | NextTry::Exhausted(why) => break Err(misfit(&why)),
            }
        };
        caller.set_turn(None);
        self.end(&answered, is_stopped, value.as_ref(), target);
        answered.map_err(|failure| *failure.problem)
    }

    /// A turn whose message cannot be answered.
    fn refuse(&self, caller: &Caller, target: &ModelTarget, problem: Problem) -> Outcome<()> {
        self.lines.begin_turn(&target.model);
        if self.lines.writes_lines() {
            self.init(caller, target);
        }
        let refused = Err(Failure::new(FailureKind::Refused, problem));
        self.end(&refused, false, None, target);
        refused.map_err(|failure| *failure.problem)
    }

    /// A turn in which the caller has the conversation summarized.
    fn compact(
        &self,
        one_shot: &mut OneShot,
        caller: &Arc<Caller>,
        target: &Arc<ModelTarget>,
        message: &UserLine,
    ) -> Outcome<()> {
        self.lines.begin_turn(&target.model);
        let (stop, _with_run) = self.stop.child();
        caller.set_turn(Some(stop.clone()));
        let replayed = (&message.message, message.uuid.as_deref());
        self.begin(&stop, caller, target, replayed);
        let before = one_shot.tokens();
        let said = one_shot.command(COMPACT, &[], Arc::clone(target), &stop);
        let after = one_shot.tokens();
        if after < before {
            self.lines.compacted_by_hand(before, after);
        }
        caller.set_turn(None);
        let answered = match said {
            Some(Err(problem)) if problem.is_cancelled() => Err(Failure::cancelled()),
            Some(Err(problem)) => Err(Failure::new(FailureKind::Refused, problem)),
            Some(Ok(said)) => {
                self.lines.emit(Event::Notice(Level::Info, said));
                Ok(())
            }
            None => Ok(()),
        };
        self.end(&answered, stop.is_fired(), None, target);
        answered.map_err(|failure| *failure.problem)
    }

    /// The first lines of a turn.
    fn begin(
        &self,
        stop: &Cancel,
        caller: &Caller,
        target: &ModelTarget,
        (message, id): (&Value, Option<&str>),
    ) {
        if !self.has_begun.swap(true, Ordering::Relaxed) {
            let ctx = self.context(stop);
            hooks::session_starts(&ctx, self.source, &target.model);
        }
        let mut faults = caller.servers.connect(&self.session.registry(), stop);
        let configured = self.session.modules.get::<SessionServers>();
        let patience = MARVIN_MCP_WAIT.read(&self.session.env, &mut |_| {});
        faults.extend(configured.join(&self.session, Duration::from_secs(patience), stop));
        faults.extend(self.left_out(caller, target));
        if self.lines.writes_lines() {
            faults.extend(self.init(caller, target));
            if self.settings.json.replays_messages {
                let line = serde_json::json!({
                    "type": "user",
                    "message": fitted_message(message),
                    "parent_tool_use_id": null,
                    "isReplay": true,
                });
                self.writer.write_as(id, &line);
            }
        }
        for fault in faults {
            self.lines.emit(Event::Notice(Level::Warning, fault));
        }
    }

    /// Name and state of each server, in a word.
    fn server_states(&self, caller: &Caller) -> Value {
        let mut states = caller.servers.states();
        let configured = self.session.modules.get::<SessionServers>().states();
        if let Some(states) = states.as_array_mut() {
            states.extend(configured);
        }
        states
    }

    /// Says once that the model takes fewer tools than there are because of the caller's.
    fn left_out(&self, caller: &Caller, target: &ModelTarget) -> Option<String> {
        let most = target.info.max_tools();
        let registry = self.session.registry();
        let all = registry.allowed(&self.session.policy);
        let is_news = || !self.has_told_of_tools.swap(true, Ordering::Relaxed);
        let is_too_many = caller.servers.has_any()
            && most > 0
            && all.len() > most
            && offering::offer(&self.session, recipient(target), &mut |_| {})
                .waiting
                .is_empty();
        (is_too_many && is_news()).then(|| {
            format!(
                "{} takes at most {most} tools, so {} of the {} are not offered to it; --tools chooses.",
                target.model,
                all.len() - most,
                all.len()
            )
        })
    }

    /// A context for what happens outside calls.
    fn context(&self, stop: &Cancel) -> ToolContext {
        let session = Arc::clone(&self.session);
        ToolContext::new(session, stop.clone(), self.lines.clone())
    }

    fn end(
        &self,
        answered: &Result<(), Failure>,
        is_stopped: bool,
        value: Option<&Value>,
        target: &ModelTarget,
    ) {
        let outcome = TurnOutcome {
            failure: answered.as_ref().err(),
            is_stopped,
            session: &self.session,
            target: Some(target),
            value,
        };
        result_line::write(&self.lines, &outcome);
        self.writer.end_turn();
    }

    /// Writes the first line. Returns what is to be told of the tools that it names.
    fn init(&self, caller: &Caller, target: &ModelTarget) -> Vec<String> {
        skills::offer(&self.session);
        let skills = skills::offered_names(&self.session);
        let own = COMPACT.trim_start_matches('/');
        let called = skills::for_user(&self.session, &[own]).into_iter();
        let mut slash_commands: Vec<String> = called.map(|(name, _)| name).collect();
        slash_commands.push(own.to_owned());
        let mut told = Vec::new();
        let mut warn = |words: String| told.push(words);
        let offer = offering::offer(&self.session, recipient(target), &mut warn);
        // Those that a search finds can be called too.
        let tools = offer.tools.iter().chain(offer.waiting.iter());
        let tools: Vec<String> = tools.map(|tool| tool.name.to_string()).collect();
        init_line::write(
            &self.writer,
            &InitFacts {
                cwd: &sessions::folder(&self.session, &self.settings),
                tools: &tools,
                servers: &self.server_states(caller),
                model: &target.model,
                permission_mode: self.session.permissions.mode().word(),
                has_key: self.has_key(target),
                sandbox: &self.session.sandbox,
                left_out: self.session.trust.left_out(),
                skills: &skills,
                slash_commands: &slash_commands,
            },
        );
        told
    }

    /// A key was found; what has none by its nature is signed in to.
    fn has_key(&self, target: &ModelTarget) -> bool {
        let row = catalog::row(target.provider.name());
        let is_keyed = |row| choose::remote(&self.settings.env, row).key.is_some();
        target.provider.is_model() && row.is_none_or(is_keyed)
    }

    fn images_of(
        &self,
        message: &UserLine,
        mut images: Vec<Image>,
        target: &ModelTarget,
    ) -> Outcome<Vec<Image>> {
        for (name, bytes) in &message.images {
            images.push(images::from_bytes(name, Arc::clone(bytes), target)?);
        }
        images::check(&images, target)?;
        Ok(images)
    }

    fn ways(&self, wishes: &Wishes, structured: Option<&StructuredAnswer>) -> TurnWays {
        let flags = &self.settings.json;
        let effort = wishes.thinking_tokens.map(effort_for);
        TurnWays {
            max_requests: flags.max_turns,
            effort,
            switch: None,
            is_verbatim: false,
            prompt: CallerPrompt {
                instead: wishes
                    .prompt
                    .instead
                    .clone()
                    .or_else(|| flags.prompt.instead.clone()),
                without_history: true,
                appended: joined(&flags.prompt.appended, &wishes.prompt.appended),
                form: structured.map(StructuredAnswer::form),
            },
        }
    }
}

fn recipient(target: &ModelTarget) -> Recipient {
    Recipient {
        max_tools: target.info.max_tools(),
        is_model: target.provider.is_model(),
        keeps_tools: target.provider.keeps_conversation(),
    }
}

fn misfit(why: &str) -> Failure {
    let why = format!("{}.", why.trim_end_matches('.'));
    let problem = Problem::limit("No answer of the model fitted the JSON schema.").next(why);
    let problem = problem.next(
        "Ask for less at once, or choose a model that calls tools more reliably: --model NAME.",
    );
    Failure::new(FailureKind::Misfit, problem)
}

fn joined(one: &Option<String>, other: &Option<String>) -> Option<String> {
    let parts: Vec<&str> = [one, other]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}
