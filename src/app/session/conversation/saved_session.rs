//! The session on disk: its file, another session in its place, its name, and what is said on leaving.

use std::sync::Arc;

use super::Conversation;
use crate::app::session::facts::Facts;
use crate::app::session::orders::Orders;
use crate::app::session::queued::not_sent;
use crate::app::session::run::Run;
use crate::app::session::session_cost::SessionCost;
use crate::app::session::turn_job::TurnRecord;
use crate::app::session::ui_update::UiUpdate;
use crate::app::session::worker_event::{AwaitedBy, WorkerEvent};
use crate::app::sessions::{self, BegunSession, list, transcript};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line, plural};
use crate::chat::message::Message;
use crate::store::sessions::log::{SessionLog, TurnLog};
use crate::store::sessions::record::Spent;
use crate::store::sessions::{Replay, SessionId};

/// Characters of a name.
const NAME_CHARS: usize = 80;
/// What a copy is asked for with.
const FORK: &str = "--fork-session";
const CHANGE_SESSION: &str = "change the session";

#[derive(Default)]
pub(in crate::app::session) struct SavedSession {
    /// Absent when there is no place for it.
    log: Option<SessionLog>,
    /// What this process had spent when the session began.
    spent_before: Spent,
    /// What it cost in other processes.
    spent_earlier: Spent,
    /// The user's messages that were said before it was resumed: the end of the chat log is not about them.
    resumed_messages: usize,
    /// How to go on with the latest session of this process that was left for another one, if something was said in it.
    left: Option<String>,
}

impl SavedSession {
    /// The one that was begun or opened, when this process has spent `spent_before`.
    pub(in crate::app::session) fn of(begun: &BegunSession, spent_before: Spent) -> Self {
        let replay = begun.replay.as_ref();
        Self {
            log: Some(begun.log.clone()),
            spent_before,
            spent_earlier: replay.map_or_else(Spent::default, |replay| replay.spent),
            resumed_messages: replay.map_or(0, |replay| replay.user_texts().len()),
            left: None,
        }
    }

    pub(super) fn log(&self) -> Option<&SessionLog> {
        self.log.as_ref()
    }

    pub(super) fn resumed_messages(&self) -> usize {
        self.resumed_messages
    }

    /// Only so many messages are left.
    pub(super) fn limit_resumed(&mut self, left: usize) {
        self.resumed_messages = self.resumed_messages.min(left);
    }

    /// Writes for the latest turn, if there is a file.
    pub(super) fn latest_turn(&self) -> Option<TurnLog> {
        let log = self.log.as_ref().filter(|log| log.is_on_disk());
        log.map(SessionLog::latest_turn)
    }

    /// What the session has cost, when this process has spent `run`.
    pub(in crate::app::session) fn cost(&self, run: Spent) -> SessionCost {
        let differs = [self.spent_before, self.spent_earlier]
            .iter()
            .any(|spent| spent.cost > 0.0 || spent.credits > 0.0);
        SessionCost {
            session: run.minus(self.spent_before).plus(self.spent_earlier),
            run: differs.then_some(run),
        }
    }

    /// What a turn writes to it, for a message that is kept as `kept`.
    pub(in crate::app::session) fn turn_record(&self, kept: Message) -> TurnRecord {
        TurnRecord {
            log: self.log.as_ref().map(SessionLog::begin_turn),
            session: self.log.as_ref().map(|log| log.id().clone()),
            kept,
            spent_before: self.spent_before,
        }
    }

    /// Notes which messages wait; they are written with the next one.
    pub(in crate::app::session) fn note_waiting(&self, waiting: Vec<String>) {
        if let Some(log) = &self.log {
            log.set_waiting(waiting);
        }
    }

    /// Writes which messages wait: they must outlive a process that is killed.
    pub(in crate::app::session) fn save_waiting(&self, run: &Run, orders: &mut Orders) {
        if let Some(turn) = self.log.as_ref().map(SessionLog::latest_turn) {
            let inbox = Arc::clone(&run.inbox);
            orders.write(move || {
                if let Some(notice) = turn.save_waiting() {
                    inbox.send(WorkerEvent::Notice(notice));
                }
            });
        }
    }

    /// What it cost and how to go on with it, if something was said in it; else of the one that was left for it.
    pub(in crate::app::session) fn farewell_words(&self, run: &Run) -> Option<String> {
        let said = |log: &&SessionLog| log.sent() > 0 && log.spoken() > 0 && log.is_on_disk();
        let Some(log) = self.log.as_ref().filter(said) else {
            return self.left.clone();
        };
        Some(format!(
            "Session {short}: {}{}. To go on: marvin --resume {short}",
            plural(log.spoken(), "message"),
            self.cost(run.spent()).words(),
            short = log.id().short(),
        ))
    }

    /// Ends the writing of it, and returns how to go on with it.
    fn close(&mut self, run: &Run, orders: &mut Orders) -> Option<String> {
        let left = self.farewell_words(run);
        if let Some(log) = self.log.take() {
            orders.write(move || log.close());
        }
        left
    }
}

impl Conversation {
    /// Goes on with what was said in a session, in the place of everything else.
    pub(in crate::app::session) fn take_over(
        &mut self,
        replay: &Replay,
        run: &Run,
        orders: &mut Orders,
    ) {
        self.messages = replay.context();
        self.sent = replay.user_texts();
        self.gauge(run);
        let export = format!("marvin export {}", replay.header.id);
        let entries = transcript::entries(replay, &run.context.clock);
        let entries = transcript::latest(entries, &export);
        orders.show(UiUpdate::SessionOpened(entries));
        replay
            .damage()
            .into_iter()
            .for_each(|words| orders.system(words));
        if let Some(words) = not_sent(&replay.waiting) {
            orders.remark(words);
            orders.show(UiUpdate::Unsent(replay.waiting.join("\n\n")));
        }
        let is_gone = |message: &Message| match message {
            Message::User(user) => user.images.iter().any(|image| image.data.is_none()),
            _ => false,
        };
        if self.messages.iter().any(is_gone) {
            orders.remark(
                "Images of this session are not sent again. Attach them anew if they matter.",
            );
        }
        let folder = sessions::folder(&run.context, &run.settings);
        if !replay.header.cwd.is_empty() && replay.header.cwd != folder {
            orders.system(format!(
                "This session was begun in {}; now it goes on in {}.",
                one_line(&replay.header.cwd),
                one_line(&folder)
            ));
        }
    }

    /// Begins another session, with nothing in it. Returns the ID of the one before, if it is on disk.
    pub(in crate::app::session) fn begin_session(
        &mut self,
        run: &Run,
        orders: &mut Orders,
    ) -> Option<String> {
        let before = self.saved.log.as_ref().filter(|log| log.is_on_disk());
        let before = before.map(|log| log.id().short().to_owned());
        let left = self.saved.close(run, orders);
        let store = run.context.sessions().ok();
        self.saved = SavedSession {
            log: store.map(|store| sessions::new(&store, None, &run.context, &run.settings)),
            spent_before: run.spent(),
            left,
            ..SavedSession::default()
        };
        before
    }

    /// Is written to another session from now on.
    pub(in crate::app::session) fn change_session(
        &mut self,
        begun: &BegunSession,
        run: &Run,
        orders: &mut Orders,
    ) {
        let left = self.saved.close(run, orders);
        self.saved = SavedSession {
            left,
            ..SavedSession::of(begun, run.spent())
        };
    }

    /// Another conversation cannot take the place of this one while something is under way in it.
    ///
    /// # Errors
    /// Something is under way.
    pub(in crate::app::session) fn may_be_left(&self, facts: &Facts) -> Outcome<()> {
        self.may_be_changed(facts, CHANGE_SESSION)?;
        self.no_undo(CHANGE_SESSION)
    }

    /// What the user wants to do, `then`, needs a conversation in which nothing is under way.
    ///
    /// # Errors
    /// Something is under way.
    pub(super) fn may_be_changed(&self, facts: &Facts, then: &str) -> Outcome<()> {
        if facts.is_answering {
            return Err(Problem::refused("An answer is on its way.")
                .next(format!("Stop it with Esc or Ctrl-C, then {then}.")));
        }
        let words = if self.is_compacting {
            "The conversation is being compacted."
        } else if facts.has_waiting {
            "Messages are waiting for their answer."
        } else {
            return Ok(());
        };
        Err(Problem::refused(words).next(format!("After that, {then}.")))
    }

    /// # Errors
    /// The last exchange is being taken back.
    pub(super) fn no_undo(&self, then: &str) -> Outcome<()> {
        match self.undos {
            0 => Ok(()),
            _ => Err(Problem::refused("The last exchange is being taken back.")
                .next(format!("After that, {then}."))),
        }
    }

    /// `/name`: changes the name of the session.
    ///
    /// # Errors
    /// There is no name, or no session.
    pub(in crate::app::session) fn rename(
        &self,
        text: &str,
        run: &Run,
        orders: &mut Orders,
    ) -> Outcome<()> {
        let name = clip(&one_line(text), NAME_CHARS);
        if name.is_empty() {
            return Err(Problem::input("There is no name after /name.")
                .next("For example: /name retry test."));
        }
        let Some(log) = self.saved.log.clone() else {
            return Err(Problem::config("This conversation is not kept on disk.").next("Set HOME."));
        };
        let inbox = Arc::clone(&run.inbox);
        let words = format!("This session is called \"{name}\" now.");
        orders.write(move || {
            let words = log
                .rename(&name)
                .map_or_else(|problem| problem.one_line(), |()| words);
            inbox.send(WorkerEvent::Notice(words));
        });
        Ok(())
    }

    /// `/resume`: opens another session, or shows those there are.
    ///
    /// # Errors
    /// Something is under way, or the words are wrong.
    pub(in crate::app::session) fn resume(
        &self,
        text: &str,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) -> Outcome<()> {
        self.may_be_left(facts)?;
        let (forks, words): (Vec<&str>, Vec<&str>) =
            text.split_whitespace().partition(|word| *word == FORK);
        let (word, is_fork) = (words.join(" "), !forks.is_empty());
        if word.is_empty() {
            if is_fork {
                return Err(Problem::input("There is no ID of the session to copy.")
                    .next("/resume lists them."));
            }
            self.list_sessions(false, run, orders);
            return Ok(());
        }
        let store = run.context.sessions()?;
        let place = sessions::place(&run.context, &run.settings);
        let current = self.id();
        let open = move || {
            let fork = is_fork.then(SessionId::random);
            let id = store.find(&word)?;
            if fork.is_none() && current.as_ref() == Some(&id) {
                return Err(Problem::refused("This is that session already."));
            }
            Ok(Box::new(sessions::open(&store, &id, fork, place)?))
        };
        let awaited_by = AwaitedBy::NextMessage;
        orders.write_and_report("resume", awaited_by, open, WorkerEvent::SessionLoaded);
        Ok(())
    }

    fn id(&self) -> Option<SessionId> {
        self.saved.log.as_ref().map(|log| log.id().clone())
    }

    /// Lists the sessions to choose from, in the conversation or before it.
    pub(in crate::app::session) fn list_sessions(
        &self,
        at_start: bool,
        run: &Run,
        orders: &mut Orders,
    ) {
        let context = Arc::clone(&run.context);
        let current = self.id();
        let make = move || {
            let mut all = context.sessions()?.list();
            all.retain(|session| Some(&session.id) != current.as_ref());
            Ok(list::rows(&all, &context.clock, &context.env))
        };
        let report = move |rows| WorkerEvent::Sessions { rows, at_start };
        orders.work("sessions", AwaitedBy::Interface, make, report);
    }
}
