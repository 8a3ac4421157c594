//! What is known of agents on the threads of workers: the model's call asks the session to start one, and what happens to an agent goes to the session.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, select};

use crate::app::session::inbox::Inbox;
use crate::app::session::worker_event::WorkerEvent;
use crate::app::session::worker_event::agent::{AgentEvent, AgentLaunch, AgentQuestions};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::{Event, EventSink};
use crate::tools::engine::agent_host::{AgentHost, QuestionAnswerer};
use crate::tools::engine::agent_task::AgentTask;

/// How long the call waits until the session has started the agent.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long the user has to answer an agent, before the documents have to do.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);
/// How long questions wait for those of other children of the same agent.
const TURN_LIMIT: Duration = Duration::from_secs(3_600);

/// Starts agents in the session that has this inbox.
pub(in crate::app::session) struct SessionHost {
    pub(in crate::app::session) inbox: Arc<Inbox>,
}

impl AgentHost for SessionHost {
    fn start(&self, task: AgentTask, stop: &Cancel) -> Outcome<u64> {
        let (reply, started) = bounded(1);
        let launch = AgentLaunch { task, reply };
        (self.inbox).send(WorkerEvent::Agent(AgentEvent::Launch(Box::new(launch))));
        wait(&started, stop, START_LIMIT)?.unwrap_or_else(|| {
            Err(
                Problem::internal("The session did not start the agent. This is a bug in Marvin.")
                    .next("Launch it without background."),
            )
        })
    }
}

/// Passes on what happens to the agent of this number, and asks the user what it wants to know.
pub(super) struct AgentRelay {
    number: u64,
    inbox: Arc<Inbox>,
    /// Who takes what lies in it asks, and puts it back: an agent's children work side by side, and the user is asked by one after the other.
    turn: (Sender<()>, Receiver<()>),
}

/// The turn to ask; it ends with it.
struct AskingTurn<'a>(&'a Sender<()>);

impl Drop for AskingTurn<'_> {
    fn drop(&mut self) {
        let _ = self.0.try_send(());
    }
}

impl AgentRelay {
    pub(super) fn new(number: u64, inbox: Arc<Inbox>) -> Self {
        let turn = bounded(1);
        let _ = turn.0.try_send(());
        Self {
            number,
            inbox,
            turn,
        }
    }

    fn send(&self, event: AgentEvent) {
        self.inbox.send(WorkerEvent::Agent(event));
    }
}

impl EventSink for AgentRelay {
    fn emit(&self, event: Event) {
        if let Event::Pipeline(event) = event {
            self.send(AgentEvent::Happened(self.number, event));
        }
    }
}

impl QuestionAnswerer for AgentRelay {
    fn answer(&self, questions: &str, stop: &Cancel) -> Outcome<Option<String>> {
        let (put_back, turns) = &self.turn;
        let Some(()) = wait(turns, stop, TURN_LIMIT)? else {
            return Ok(None);
        };
        let _turn = AskingTurn(put_back);
        let (reply, answers) = bounded(1);
        self.send(AgentEvent::Asks(AgentQuestions {
            number: self.number,
            text: questions.to_owned(),
            reply,
        }));
        let answer = wait(&answers, stop, ANSWER_LIMIT)?;
        if answer.is_none() {
            self.send(AgentEvent::Unanswered(self.number));
        }
        Ok(answer)
    }
}

/// What comes within `limit`; nothing when that is over, or nobody can send any more.
///
/// # Errors
/// `stop` fired.
fn wait<T>(from: &Receiver<T>, stop: &Cancel, limit: Duration) -> Outcome<Option<T>> {
    let (wake, woken) = bounded::<()>(1);
    let _wake = stop.on_fire(move || {
        let _ = wake.try_send(());
    });
    select! {
        recv(from) -> got => Ok(got.ok()),
        recv(woken) -> _ => Err(Problem::cancelled()),
        default(limit) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_ends_with_the_agent() {
        let (inbox, _woken) = Inbox::new();
        let relay = AgentRelay::new(3, inbox);
        let stop = Cancel::new();
        stop.fire();
        assert!(
            relay
                .answer("1. Which port?", &stop)
                .unwrap_err()
                .is_cancelled()
        );
    }

    #[test]
    fn a_question_that_nobody_can_answer_any_more_is_left_to_the_documents() {
        let (inbox, woken) = Inbox::new();
        let relay = AgentRelay::new(3, Arc::clone(&inbox));
        let asking = std::thread::spawn(move || relay.answer("1. Why?", &Cancel::new()));
        woken.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(inbox.take());
        assert_eq!(asking.join().unwrap().unwrap(), None);
        let told = inbox.take();
        assert!(matches!(
            told.front(),
            Some((_, WorkerEvent::Agent(AgentEvent::Unanswered(3))))
        ));
    }
}
