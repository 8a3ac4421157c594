//! The conversation as a session on disk: its file, another session in its place, its name, and what is said on leaving.

use std::sync::Arc;

use super::flow::SaidBefore;
use super::inbox::WorkerEvent;
use super::session_cost::SessionCost;
use super::{Session, turns, usage};
use crate::app::session::ui_update::UiUpdate;
use crate::app::sessions::{self, BegunSession, list, transcript};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line, plural};
use crate::chat::message::Message;
use crate::store::sessions::log::SessionLog;
use crate::store::sessions::record::{ContextCause, Spent};
use crate::store::sessions::{Replay, SessionId};

/// Characters of a name.
const NAME_CHARS: usize = 80;
/// What a copy is asked for with.
const FORK: &str = "--fork-session";
const CHANGE_SESSION: &str = "change the session";

/// The session of the conversation.
#[derive(Default)]
pub(super) struct SavedSession {
    /// Absent when there is no place for it.
    pub(super) log: Option<SessionLog>,
    /// What this process had spent when the session began.
    pub(super) spent_before: Spent,
    /// What it cost in other processes.
    spent_earlier: Spent,
    /// The user's messages that were said before it was resumed: the end of the chat log is not about them.
    pub(super) resumed_messages: usize,
    /// How to go on with the latest session of this process that was left for another one, if something was said in it.
    left: Option<String>,
}

impl SavedSession {
    /// What the session has cost, when this process has spent `run`.
    pub(super) fn cost(&self, run: Spent) -> SessionCost {
        let differs = [self.spent_before, self.spent_earlier]
            .iter()
            .any(|spent| spent.cost > 0.0 || spent.credits > 0.0);
        SessionCost {
            session: run.minus(self.spent_before).plus(self.spent_earlier),
            run: differs.then_some(run),
        }
    }

    /// Takes the place of what was, when this process has spent `spent_before`.
    pub(super) fn of(begun: &BegunSession, spent_before: Spent) -> Self {
        let replay = begun.replay.as_ref();
        Self {
            log: Some(begun.log.clone()),
            spent_before,
            spent_earlier: replay.map_or_else(Spent::default, |replay| replay.spent),
            resumed_messages: replay.map_or(0, |replay| replay.user_texts().len()),
            left: None,
        }
    }
}

impl Session {
    /// `/usage`.
    pub(super) fn report_usage(&mut self) {
        let run = sessions::spent(&self.context.ledger.totals());
        let cost = self.saved.cost(run);
        self.list(move |context| usage::report(context, cost));
    }

    /// Goes on with what was said in a session.
    pub(super) fn take_over(&mut self, replay: &Replay) {
        self.leave_conversation();
        self.messages = replay.context();
        self.sent_messages = replay.user_texts();
        self.gauge();
        let before: Vec<Message> = replay.spoken().cloned().collect();
        self.flow.begun = Some(SaidBefore::Session(before));
        let export = format!("marvin export {}", replay.header.id);
        let entries = transcript::entries(replay, &self.context.clock);
        let entries = transcript::latest(entries, &export);
        self.updates.push(UiUpdate::SessionOpened(entries));
        self.updates.extend(replay.damage().map(UiUpdate::System));
        if let Some(words) = turns::not_sent(&replay.waiting) {
            self.updates.push(UiUpdate::Remark(words));
            self.updates
                .push(UiUpdate::Unsent(replay.waiting.join("\n\n")));
        }
        let is_gone = |message: &Message| match message {
            Message::User(user) => user.images.iter().any(|image| image.data.is_none()),
            _ => false,
        };
        if self.messages.iter().any(is_gone) {
            let words =
                "Images of this session are not sent again. Attach them anew if they matter.";
            self.updates.push(UiUpdate::Remark(words.to_owned()));
        }
        let folder = sessions::folder(&self.context, &self.settings);
        if !replay.header.cwd.is_empty() && replay.header.cwd != folder {
            self.updates.push(UiUpdate::System(format!(
                "This session was begun in {}; now it goes on in {}.",
                one_line(&replay.header.cwd),
                one_line(&folder)
            )));
        }
    }

    /// Writes what the conversation has become without a turn. Nothing before the first message. After a compaction the next message waits: its turn
    /// would write the same without the cause.
    pub(super) fn save_messages(&mut self, cause: ContextCause) {
        let log = self.saved.log.as_ref().filter(|log| log.is_on_disk());
        if let Some(turn) = log.map(SessionLog::latest_turn) {
            let (messages, inbox) = (self.messages.clone(), Arc::clone(&self.inbox));
            let is_awaited = cause == ContextCause::Compaction;
            self.pending_changes += usize::from(is_awaited);
            self.scribe.put(move || {
                let notice = turn.sync(&messages, cause).map(WorkerEvent::Notice);
                notice.into_iter().for_each(|notice| inbox.send(notice));
                if is_awaited {
                    inbox.send(WorkerEvent::Saved);
                }
            });
        }
    }

    /// Begins another session, with nothing in it, when the conversation becomes that of another profile.
    pub(super) fn begin_session(&mut self) {
        let left = self.close_session();
        let log = self
            .context
            .sessions()
            .ok()
            .map(|store| sessions::new(&store, None, &self.context, &self.settings));
        self.saved = SavedSession {
            log,
            spent_before: sessions::spent(&self.context.ledger.totals()),
            left,
            ..SavedSession::default()
        };
    }

    /// Ends the writing of the session, and returns how to go on with it.
    fn close_session(&mut self) -> Option<String> {
        let left = self.farewell_words();
        if let Some(log) = self.saved.log.take() {
            self.scribe.put(move || log.close());
        }
        left
    }

    /// Another conversation cannot take the place of this one while something is under way in it. `what` the user wants.
    ///
    /// # Errors
    /// Something is under way.
    pub(super) fn may_leave_conversation(&self, what: &str) -> Outcome<()> {
        if self.turn.is_some() {
            return Err(Problem::refused("An answer is on its way.")
                .next(format!("Stop it with Esc or Ctrl-C, then {what}.")));
        }
        let words = if self.is_compacting {
            "The conversation is being compacted."
        } else if !self.queue.is_empty() || self.preparation.is_some() || self.undos > 0 {
            "Messages are waiting for their answer."
        } else {
            return Ok(());
        };
        Err(Problem::refused(words).next(format!("After that, {what}.")))
    }

    /// `/new`: an empty conversation. The chat log, which is what is remembered across sessions, stays as it is.
    pub(super) fn new_session(&mut self) {
        if let Err(problem) = self.may_leave_conversation(CHANGE_SESSION) {
            return self.updates.push(UiUpdate::Failed(problem));
        }
        let before = self.saved.log.as_ref().filter(|log| log.is_on_disk());
        let before = before.map(|log| log.id().short().to_owned());
        self.begin_session();
        self.leave_conversation();
        self.flow.begun = Some(SaidBefore::Session(Vec::new()));
        self.updates.push(UiUpdate::SessionOpened(Vec::new()));
        let words = match before {
            Some(id) => format!("A new session. /resume {id} goes back to the one before."),
            None => "A new session.".to_owned(),
        };
        self.updates.push(UiUpdate::Remark(words));
    }

    /// `/name`: shows or changes the name of the session.
    pub(super) fn name_session(&mut self, text: &str) -> Outcome<()> {
        let name = clip(&one_line(text), NAME_CHARS);
        if name.is_empty() {
            return Err(Problem::input("There is no name after /name.")
                .next("For example: /name retry test."));
        }
        let Some(log) = self.saved.log.clone() else {
            return Err(Problem::config("This conversation is not kept on disk.").next("Set HOME."));
        };
        let inbox = Arc::clone(&self.inbox);
        let words = format!("This session is called \"{name}\" now.");
        self.scribe.put(move || {
            let words = log
                .rename(&name)
                .map_or_else(|problem| problem.one_line(), |()| words);
            inbox.send(WorkerEvent::Notice(words));
        });
        Ok(())
    }

    /// `/resume`: goes on with another session, or shows those there are.
    pub(super) fn resume(&mut self, text: &str) -> Outcome<()> {
        self.may_leave_conversation(CHANGE_SESSION)?;
        let (forks, words): (Vec<&str>, Vec<&str>) =
            text.split_whitespace().partition(|word| *word == FORK);
        let (word, is_fork) = (words.join(" "), !forks.is_empty());
        if word.is_empty() {
            if is_fork {
                return Err(Problem::input("There is no ID of the session to copy.")
                    .next("/resume lists them."));
            }
            self.offer_sessions(false);
            return Ok(());
        }
        let store = self.context.sessions()?;
        let place = sessions::place(&self.context, &self.settings);
        let current = self.saved.log.as_ref().map(|log| log.id().clone());
        let inbox = Arc::clone(&self.inbox);
        self.pending_changes += 1;
        self.scribe.put(move || {
            let fork = is_fork.then(SessionId::random);
            let begun = store.find(&word).and_then(|id| {
                if fork.is_none() && current.as_ref() == Some(&id) {
                    return Err(Problem::refused("This is that session already."));
                }
                sessions::open(&store, &id, fork, place)
            });
            inbox.send(WorkerEvent::SessionLoaded(begun.map(Box::new)));
        });
        Ok(())
    }

    /// Shows the sessions to choose from, in the conversation or before it.
    pub(super) fn offer_sessions(&mut self, at_start: bool) {
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        let current = self.saved.log.as_ref().map(|log| log.id().clone());
        let started = self.work("sessions", move || {
            let rows = context.sessions().map(|store| {
                let mut all = store.list();
                all.retain(|session| Some(&session.id) != current.as_ref());
                list::rows(&all, &context.clock, &context.env)
            });
            inbox.send(WorkerEvent::Sessions { rows, at_start });
        });
        self.listings += usize::from(started);
    }

    pub(super) fn sessions_listed(&mut self, rows: Outcome<Vec<list::SessionRow>>, at_start: bool) {
        self.listings -= 1;
        self.updates.push(match rows {
            Ok(rows) if rows.is_empty() => {
                UiUpdate::System("There is no other session yet.".to_owned())
            }
            Ok(rows) => UiUpdate::ChooseSession { rows, at_start },
            Err(problem) => UiUpdate::Failed(problem),
        });
    }

    pub(super) fn session_loaded(&mut self, begun: Outcome<Box<BegunSession>>) {
        self.pending_changes -= 1;
        match begun {
            Ok(begun) => {
                let left = self.close_session();
                let spent = sessions::spent(&self.context.ledger.totals());
                self.saved = SavedSession::of(&begun, spent);
                self.saved.left = left;
                if let Some(replay) = &begun.replay {
                    self.take_over(replay);
                    let title = match &replay.name {
                        Some(name) => name.clone(),
                        None => replay.first(),
                    };
                    let words = format!("Session {}: {}", begun.log.id().short(), one_line(&title));
                    self.updates.push(UiUpdate::Remark(words));
                }
            }
            Err(problem) => self.updates.push(UiUpdate::Failed(problem)),
        }
        self.send_next();
    }

    /// What the session cost and how to go on with it, if something was said in it; else of the one that was left for it.
    pub(crate) fn farewell_words(&self) -> Option<String> {
        let said = |log: &&SessionLog| log.sent() > 0 && log.spoken() > 0 && log.is_on_disk();
        let Some(log) = self.saved.log.as_ref().filter(said) else {
            return self.saved.left.clone();
        };
        let run = sessions::spent(&self.context.ledger.totals());
        Some(format!(
            "Session {short}: {}{}. To go on: marvin --resume {short}",
            plural(log.spoken(), "message"),
            self.saved.cost(run).words(),
            short = log.id().short(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::approve::AskMode;
    use crate::app::session::inbox::{ConversationState, TurnEnd};
    use crate::app::settings::{CliArgs, ProcessFacts, Settings};
    use crate::base::env::Env;
    use crate::store::chat_log::{LogEntry, LogRole};

    #[test]
    fn what_was_begun_in_a_conversation_that_was_left_reaches_no_other() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().to_str().unwrap();
        let env = Env::from([("HOME", dir), ("MARVIN_CONFIG_DIR", dir)]);
        let settings = Settings::new(CliArgs::default(), env, ProcessFacts::default());
        let (mut session, _wake) = Session::open(settings, AskMode::Nobody).unwrap();
        let left = session.conversation;
        let old = vec![Message::user("old".to_owned())];
        session.messages = old.clone();
        session.sent_messages = vec!["old".to_owned()];
        session.abandoned = Some((7, 1));
        session.new_session();
        assert!(session.messages.is_empty());
        session.messages = vec![Message::user("new".to_owned())];
        session.sent_messages = vec!["new".to_owned()];
        let entry = LogEntry {
            role: LogRole::You,
            text: "old".to_owned(),
            time: String::new(),
            at: None,
        };
        let late = TurnEnd {
            conversation: Some(ConversationState {
                messages: old.clone(),
                ..ConversationState::default()
            }),
            ..TurnEnd::default()
        };
        session.pending_changes += 3;
        for event in [
            WorkerEvent::Loaded(left, Some(vec![entry])),
            WorkerEvent::Compacted(left, Ok(Some(old))),
            WorkerEvent::Undone(left, Ok(())),
            WorkerEvent::NtfyMessage(left, "🔔 old".to_owned()),
            WorkerEvent::TurnEnded(7, Box::new(late)),
        ] {
            session.note(event);
            assert_eq!(session.messages, [Message::user("new".to_owned())]);
            assert_eq!(session.sent_messages, ["new"]);
        }
        assert!(session.flow.notes.is_empty());
    }

    #[test]
    fn a_conversation_is_not_left_while_it_is_compacted() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().to_str().unwrap();
        let env = Env::from([("HOME", dir), ("MARVIN_CONFIG_DIR", dir)]);
        let settings = Settings::new(CliArgs::default(), env, ProcessFacts::default());
        let (mut session, _wake) = Session::open(settings, AskMode::Nobody).unwrap();
        session.submit("/compact");
        // Its end has not been received.
        session.change_profile("winter").unwrap();
        assert_eq!(session.queue().collect::<Vec<_>>(), ["/profile winter"]);
        assert!(session.resume("3f2a").is_err());
    }
}
