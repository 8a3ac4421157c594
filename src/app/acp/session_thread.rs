//! The thread of a session, which has its conversation: answers its prompts one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::params::{Answer, internal, wrong};
use super::prompt::{LinkedFolders, PromptMessage};
use super::session::{AcpSession, Prompt, request_cancelled, stopped};
use super::{commands, list, project_form};
use crate::app::images;
use crate::app::session::attachments::attach::{Attachments, attach_files};
use crate::app::session::one_shot::{OneShot, TurnWays};
use crate::app::session::project_question::NOT_NOW;
use crate::app::session::turn_job::Notice;
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::MARVIN_MCP_WAIT;
use crate::chat::event::{NullSink, StopReason};
use crate::formats::json_rpc::RpcError;
use crate::llm::failure::{Failure, FailureKind};
use crate::mcp::session::SessionServers;
use crate::model_call::model_target::ModelTarget;
use crate::model_call::user_facts::CallerPrompt;
use crate::store::sessions::log::SessionLog;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::hooks::turns::session_ends;
use crate::tools::project::command_watch::settle_at_end;

/// What to do about a failure of a provider that does not say it.
const NEXT: &str = "Send the message again, or choose another model; marvin doctor says more.";

/// The conversation of a session, and what it is written to.
pub(super) struct SessionThread {
    pub(super) session: Arc<AcpSession>,
    pub(super) settings: Arc<Settings>,
    pub(super) one_shot: OneShot,
    pub(super) log: SessionLog,
    /// The client is to be asked about the project before the first message is sent.
    pub(super) asks_about_project: bool,
}

impl SessionThread {
    /// Answers prompts until the session ends; then nobody is to find it any more.
    pub(super) fn run(mut self, forget: impl FnOnce()) {
        let session = Arc::clone(&self.session);
        while let Some(prompt) = session.next() {
            let answered = catch_unwind(AssertUnwindSafe(|| self.answer(&prompt)));
            let answer = answered.unwrap_or_else(|_| {
                let words = "Marvin crashed while answering. This is a bug in Marvin.";
                Err(internal(&Problem::internal(words)))
            });
            let running = session.answered();
            let is_answered = running.as_ref().is_some_and(|running| running.is_answered);
            let answer = match running {
                Some(running) if running.is_request_cancelled => Err(request_cancelled()),
                _ if prompt.stop.is_fired() => Ok(stopped("cancelled")),
                _ => answer,
            };
            session
                .context
                .save_usage()
                .into_iter()
                .for_each(|notice| say(&notice));
            if !is_answered {
                session.answer(&prompt.id, &answer);
            }
        }
        let ending = ToolContext::new(
            Arc::clone(&session.context),
            Cancel::new(),
            Arc::new(NullSink),
        );
        session_ends(&ending, "other");
        settle_at_end(&session.context)
            .into_iter()
            .for_each(|notice| say(&notice));
        self.log.close();
        session.context.modules.get::<SessionServers>().end();
        forget();
        session.finish();
        self.one_shot.remember();
    }

    fn answer(&mut self, prompt: &Prompt) -> Answer {
        let session = Arc::clone(&self.session);
        let (updates, context) = (&session.updates, &session.context);
        let root = context.working_dir.root();
        let added = context.working_dir.added();
        let folders = LinkedFolders {
            root: root.as_ref().map(|root| root.path()),
            added: &added,
        };
        let message = PromptMessage::read(&prompt.params, folders)?;
        let choice = session.choice();
        let models = &session.shared.models;
        let target = models.target(&session.first, &choice.model, &prompt.stop);
        let target = target.map_err(|problem| internal(&problem))?;
        updates.begin(&prompt.stop, target.info.window);
        let notices = session.take_notices();
        notices
            .iter()
            .for_each(|notice| updates.remark(&format!("{notice}\n\n")));
        if self.asks_about_project {
            let asked = self.ask_about_project(&target, &prompt.stop);
            asked.map_err(|problem| internal(&problem))?;
            self.asks_about_project = false;
        }
        // Whatever goes with it: editors add the file that is open.
        let line = message.typed.trim();
        let offered = line.starts_with('/').then(|| commands::update(&session));
        let said = commands::run(&session, line).or_else(|| {
            let (target, names) = (Arc::clone(&target), commands::own_names());
            let said = self.one_shot.command(line, &names, target, &prompt.stop)?;
            Some(said.unwrap_or_else(|problem| problem.one_line()))
        });
        if let Some(said) = said {
            updates.remark(&said);
            // What is trusted from now on may have brought skills.
            let offers = commands::update(&session);
            if offered.is_some_and(|before| before != offers) {
                updates.update(&offers);
            }
            return Ok(stopped("end_turn"));
        }
        let servers = context.modules.get::<SessionServers>();
        let patience = MARVIN_MCP_WAIT.read(&context.env, &mut |_| {});
        let told = servers.join(context, Duration::from_secs(patience), &prompt.stop);
        told.iter()
            .for_each(|notice| updates.remark(&format!("{notice}\n\n")));
        let attached = attached(&message, &target, prompt, &session)?;
        self.one_shot.set_ways(TurnWays {
            max_requests: self.settings.json.max_turns,
            effort: choice.effort,
            prompt: CallerPrompt {
                without_history: true,
                ..self.settings.json.prompt.clone()
            },
            // A choice of another model holds from the next prompt on.
            switch: None,
            is_verbatim: false,
        });
        let told = updates.clone();
        let notice: Notice = Arc::new(move |text| told.notice(&format!("Warning: {text}")));
        let title = list::title(message.title());
        let mut turn = None;
        let answered = self.one_shot.answer_attached(
            target,
            (message.text, attached),
            updates.clone(),
            &notice,
            |stop| {
                let of_turn = stop.clone();
                turn = Some((stop.clone(), prompt.stop.on_fire(move || of_turn.fire())));
            },
        );
        let is_stopped = turn.is_some_and(|(stop, _)| stop.is_fired());
        // After a cancel the request may have its answer already, and nothing of it is told any more.
        if !is_stopped && session.wants_title() {
            updates.update(&json!({
                "sessionUpdate": "session_info_update",
                "title": title,
                "updatedAt": context.clock.utc(),
            }));
        }
        match answered {
            _ if is_stopped => Ok(stopped("cancelled")),
            Ok(()) => Ok(stopped("end_turn")),
            Err(failure) => self.failed(failure),
        }
    }

    /// Has the client ask whether what the project brings along may act, if there is something to ask about.
    fn ask_about_project(&mut self, target: &Arc<ModelTarget>, stop: &Cancel) -> Outcome<()> {
        let session = Arc::clone(&self.session);
        let Some(list) = self.one_shot.project_question() else {
            return Ok(());
        };
        let chosen = project_form::ask(&session.shared.client, &session.id, &list, stop)?;
        let line = format!("/trust {}", chosen.as_deref().unwrap_or(NOT_NOW));
        if let Some(said) = self.one_shot.command(&line, &[], Arc::clone(target), stop) {
            let said = said.unwrap_or_else(|problem| problem.one_line());
            session.updates.remark(&format!("{said}\n\n"));
        }
        session.tell(&commands::update(&session));
        Ok(())
    }

    /// The end of a prompt that has no whole answer.
    fn failed(&self, mut failure: Failure) -> Answer {
        let updates = &self.session.updates;
        let is_cut = matches!(
            updates.stop_reason(),
            Some(StopReason::MaxTokens | StopReason::ModelContextWindowExceeded)
        );
        match failure.kind {
            FailureKind::Cancelled => Ok(stopped("cancelled")),
            FailureKind::Unfinished if is_cut => Ok(stopped("max_tokens")),
            FailureKind::Rounds | FailureKind::Budget => {
                updates.remark(&failure.problem.one_line());
                Ok(stopped("max_turn_requests"))
            }
            FailureKind::Filtered | FailureKind::Declined => Ok(stopped("refusal")),
            _ => {
                if failure.problem.next.is_empty() {
                    failure.problem.next.push(NEXT.to_owned());
                }
                Err(internal(&failure.problem))
            }
        }
    }
}

/// What goes with a message.
fn attached(
    message: &PromptMessage,
    target: &ModelTarget,
    prompt: &Prompt,
    session: &AcpSession,
) -> Result<Attachments, RpcError> {
    let of_prompt = |problem: Problem| wrong("prompt", problem.one_line());
    let images = message.images.iter();
    let images = images.map(|(name, bytes)| images::from_bytes(name, Arc::clone(bytes), target));
    let images = images.collect::<Result<Vec<_>, _>>().map_err(of_prompt)?;
    let files = message.files.iter();
    let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
    let ctx = ToolContext::new(
        Arc::clone(&session.context),
        prompt.stop.clone(),
        session.updates.clone(),
    );
    let mut attached = attach_files(&files, images, target, &ctx).map_err(of_prompt)?;
    let typed = Some(message.title()).filter(|typed| *typed != message.text.trim());
    attached.typed = typed.map(str::to_owned);
    Ok(attached)
}
