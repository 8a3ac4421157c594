//! Turns, jobs and notices, without a terminal, a provider or a disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::*;
use crate::app::session::conversation::saved_session::SavedSession;
use crate::app::session::turns::running_turn::{ArrivingAnswer, RunningTurn};
use crate::app::session::ui_update::TurnOutcome;
use crate::app::session::worker_event::AwaitedBy;
use crate::app::session::worker_event::{ConversationState, TurnEnd, WorkerEvent};
use crate::app::sessions::BegunSession;
use crate::app::settings::ModelChoice;
use crate::app::setup::{self, Spending};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Problem;
use crate::chat::event::Event;
use crate::chat::message::Message;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::models::ModelRegistry;
use crate::model_call::model_target::ModelTarget;
use crate::store::sessions::log::SessionLog;
use crate::store::sessions::record::{SessionPlace, Spent};
use crate::store::sessions::{SessionId, SessionStore};

/// A core without a terminal, a provider or a disk: what it wants done is looked at, and nothing of it is carried out.
struct Alone {
    core: Core,
    run: Run,
    orders: Orders,
}

impl Alone {
    fn new() -> Self {
        let spending = Spending {
            prices: Arc::new(ModelRegistry::default()),
            max_cost: None,
            successor: None,
        };
        Self {
            core: Core::new(
                Conversation::default(),
                Turns::default(),
                Model::new(spending, None),
            ),
            run: Run::for_tests(),
            orders: Orders::default(),
        }
    }

    fn submit(&mut self, line: &str) {
        self.core.submit(line, &self.run, &mut self.orders);
        self.core.settle(&self.run, &mut self.orders);
    }

    /// A turn that answers `message` runs, under this number.
    fn run_turn(&mut self, id: u64, message: &str) -> Cancel {
        let (stop, with_session) = self.run.child_stop();
        self.core.conversation.begin_turn(message.to_owned());
        self.core.turns.begin(RunningTurn {
            id,
            conversation: self.core.conversation.number(),
            stop: stop.clone(),
            _with_session: with_session,
            since: Instant::now(),
            message: message.to_owned(),
            spoken: None,
            profile: "main".to_owned(),
            flow: None,
            resent: false,
            answer: ArrivingAnswer::default(),
            cancelled: None,
        });
        stop
    }

    /// What nobody waits for.
    fn handle(&mut self, event: WorkerEvent) {
        self.report(AwaitedBy::Nobody, event);
    }

    fn report(&mut self, awaited_by: AwaitedBy, event: WorkerEvent) {
        self.orders.reported(awaited_by);
        self.core.handle(event, &self.run, &mut self.orders);
        self.core.settle(&self.run, &mut self.orders);
    }

    fn updates(&mut self) -> Vec<UiUpdate> {
        self.orders.take_updates()
    }

    /// The texts that the chat log gets.
    fn logged(&mut self) -> Vec<String> {
        let mut logged = Vec::new();
        while let Some(order) = self.orders.next() {
            if let Order::Log(entry) = order {
                logged.push(entry.text);
            }
        }
        logged
    }
}

fn delta(text: &str) -> Event {
    Event::Delta(text.to_owned())
}

#[test]
fn a_message_waits_until_somebody_answers_and_is_refused_when_nobody_can() {
    let mut alone = Alone::new();
    alone.submit("hello");
    assert_eq!(alone.core.turns.queue().collect::<Vec<_>>(), ["hello"]);
    assert!(alone.core.is_busy(&alone.orders));
    let reason = Problem::config("No key.".to_owned());
    alone.handle(WorkerEvent::Chosen(Err(reason)));
    assert!(!alone.core.turns.has_waiting() && alone.core.turns.has_failed());
    let shown: Vec<UiUpdate> = alone.updates();
    let is_message = |update: &&UiUpdate| matches!(update, UiUpdate::UserMessage { text, .. } if text == "hello");
    assert_eq!(shown.iter().filter(is_message).count(), 1);
    let failures = shown.iter();
    let failures = failures.filter(|update| matches!(update, UiUpdate::Failed(_)));
    assert_eq!(failures.count(), 2, "of the choice and of the message");
}

#[test]
fn esc_stops_the_answer_and_gives_the_queue_back_unsent() {
    let mut alone = Alone::new();
    let stop = alone.run_turn(1, "first");
    alone.submit("second");
    alone.submit("third");
    assert!(alone.core.cancel(&mut alone.orders));
    assert!(stop.is_fired());
    let returned: Vec<String> = alone
        .updates()
        .into_iter()
        .filter_map(|update| match update {
            UiUpdate::Unsent(text) => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(returned, ["second\n\nthird"]);
    assert!(!alone.core.turns.has_waiting());
    alone.handle(WorkerEvent::Event(1, delta("so far")));
    alone.handle(WorkerEvent::TurnEnded(1, Box::default()));
    assert_eq!(alone.logged().last().unwrap(), "so far\n\n[stopped]");
    assert!(!alone.core.cancel(&mut alone.orders), "nothing is left");
}

#[test]
fn how_a_turn_ended_is_logged_and_shown_before_what_was_held_back() {
    let mut alone = Alone::new();
    alone.run_turn(1, "question");
    alone.handle(WorkerEvent::Notice("a notice".to_owned()));
    alone.handle(WorkerEvent::Event(1, delta("half")));
    let failure = Failure::new(FailureKind::Unfinished, Problem::network("Cut."));
    let end = TurnEnd {
        failure: Some(failure),
        ..TurnEnd::default()
    };
    alone.updates();
    alone.handle(WorkerEvent::TurnEnded(1, Box::new(end)));
    let shown = alone.updates();
    let names: Vec<&str> = shown
        .iter()
        .map(|update| match update {
            UiUpdate::AnswerEnd(TurnOutcome::Failed) => "end",
            UiUpdate::System(text) => text,
            UiUpdate::Failed(_) => "failure",
            _ => "another",
        })
        .collect();
    assert_eq!(names, ["end", "a notice", "failure"]);
    assert_eq!(alone.logged(), ["half\n\n[incomplete]"]);
    assert_eq!(alone.core.conversation.replies().next(), Some("half"));
}

#[test]
fn what_a_turn_that_was_left_behind_brings_changes_nothing() {
    let mut alone = Alone::new();
    alone.run_turn(1, "old");
    let (core, run) = (&mut alone.core, &alone.run);
    core.new_session(run, &mut alone.orders);
    let end = TurnEnd {
        conversation: Some(ConversationState {
            messages: vec![Message::user("old"), Message::assistant("late")],
            ..ConversationState::default()
        }),
        effects: vec![Effect::Exit(String::new())],
        ..TurnEnd::default()
    };
    alone.handle(WorkerEvent::TurnEnded(1, Box::new(end)));
    assert_eq!(alone.core.conversation.replies().count(), 0);
    assert!(!alone.core.turns.is_leaving());
}

#[test]
fn a_command_in_the_background_is_told_to_the_model_after_the_answer() {
    let mut alone = Alone::new();
    alone.run_turn(1, "question");
    alone.submit("!sleep 9 &");
    let jobs = alone.core.jobs.background(alone.core.conversation.number());
    assert_eq!(jobs, ["sleep 9"]);
    // The turn has number 1 by hand; the job is the first that the run numbered.
    let outcome = Ok("done".to_owned());
    alone.handle(WorkerEvent::Command { id: 1, outcome });
    assert!(alone.core.jobs.is_empty());
    let state = ConversationState {
        messages: vec![Message::user("question")],
        ..ConversationState::default()
    };
    let end = TurnEnd {
        conversation: Some(state),
        ..TurnEnd::default()
    };
    alone.handle(WorkerEvent::TurnEnded(1, Box::new(end)));
    let messages = alone.core.conversation.messages();
    assert!(
        matches!(messages, [Message::User(_), Message::System { text }] if text.contains("sleep 9"))
    );
}

impl Alone {
    /// A model that needs no network, for the plain loop.
    fn answer_offline(&mut self) -> Arc<ModelTarget> {
        let choice = ModelChoice {
            provider: Some("offline".to_owned()),
            model: None,
        };
        let spending = self.core.model.spending().clone();
        let target = setup::model_target(&choice, &spending, &Env::default(), &mut |_| {});
        let target = Arc::new(target.unwrap());
        self.core.model.use_target(Arc::clone(&target), &self.run);
        self.submit("/flow off");
        target
    }

    /// The conversation is written to a session in `dir`, which has the message "question".
    fn write_to(&mut self, dir: &Path) -> (SessionStore, SessionId) {
        let store = SessionStore::new(dir.to_owned(), &self.run.context.clock);
        let id = SessionId::random();
        let place = SessionPlace::default();
        let begun = BegunSession {
            log: SessionLog::new(&store, id.clone(), place, "main".to_owned()),
            replay: None,
        };
        let turn = begun.log.begin_turn();
        assert_eq!(
            turn.say(&[], &Message::user("question"), ("offline", "m")),
            None
        );
        self.core.conversation = Conversation::new(SavedSession::of(&begun, Spent::default()));
        (store, id)
    }

    /// Writes what was ordered, up to the first order that `is_last`.
    fn write_until(&mut self, is_last: impl Fn(&Order) -> bool) -> Option<Order> {
        while let Some(order) = self.orders.next() {
            match order {
                order if is_last(&order) => return Some(order),
                Order::Write(write) => write(),
                Order::WriteAndReport(work) => work.run(&self.run.inbox),
                Order::Work(_) | Order::Log(_) | Order::Remember(_) | Order::Turn(..) => {}
            }
        }
        None
    }
}

fn is_turn(order: &Order) -> bool {
    matches!(order, Order::Turn(..))
}

#[test]
fn a_message_is_sent_after_what_was_said_before_it_is_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut alone = Alone::new();
    alone.answer_offline();
    let (store, id) = alone.write_to(dir.path());
    alone.run_turn(1, "question");
    alone.submit("next");
    alone.submit("!sleep 9 &");
    let job = alone.run.number() - 1;
    let outcome = Ok("slept".to_owned());
    alone.handle(WorkerEvent::Command { id: job, outcome });
    let state = ConversationState {
        messages: vec![Message::user("question"), Message::assistant("answer")],
        ..ConversationState::default()
    };
    let end = TurnEnd {
        conversation: Some(state),
        ..TurnEnd::default()
    };
    alone.handle(WorkerEvent::TurnEnded(1, Box::new(end)));
    assert!(alone.write_until(is_turn).is_none(), "sent too early");
    let saved = store.read(&id).unwrap().context();
    let [_, Message::Assistant(answer), Message::System { text }] = &saved[..] else {
        panic!("{saved:?}");
    };
    assert!(
        answer.text == "answer" && text.contains("slept"),
        "{saved:?}"
    );
    for (awaited_by, event) in alone.run.inbox.take() {
        alone.report(awaited_by, event);
    }
    assert!(alone.write_until(is_turn).is_some(), "not sent");
}

#[test]
fn what_waits_is_written_in_the_session_of_the_old_profile_before_the_new_one_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut alone = Alone::new();
    let (store, id) = alone.write_to(dir.path());
    alone.run_turn(1, "question");
    let change = Queued::new(QueuedKind::ChangeProfile, "winter".to_owned());
    alone.orders.request(CoreRequest::Queue(change));
    alone.core.settle(&alone.run, &mut alone.orders);
    assert!(alone.write_until(is_turn).is_none());
    let waiting = || store.read(&id).unwrap().waiting;
    assert_eq!(waiting(), ["/profile winter"]);
    let end = TurnEnd {
        conversation: Some(ConversationState::default()),
        ..TurnEnd::default()
    };
    alone.handle(WorkerEvent::TurnEnded(1, Box::new(end)));
    let is_switch = |order: &Order| matches!(order, Order::WriteAndReport(_));
    assert!(alone.write_until(is_switch).is_some());
    assert_eq!(waiting(), [] as [&str; 0]);
}

#[test]
fn the_only_turn_of_a_run_is_not_in_the_chat_log() {
    let mut alone = Alone::new();
    let target = alone.answer_offline();
    alone.write_until(|_| false);
    alone.run.is_one_shot = true;
    let message = Queued::new(QueuedKind::Message, "question".to_owned());
    let (run, orders) = (&alone.run, &mut alone.orders);
    alone.core.begin_turn(message, target, None, run, orders);
    assert!(matches!(alone.orders.next(), Some(Order::Turn(..))));
    assert!(alone.orders.next().is_none());
}

#[test]
fn the_flow_may_answer_a_person_and_no_program_whatever_the_coding_mode() {
    let Alone {
        mut core,
        run,
        mut orders,
    } = Alone::new();
    run.context.set_coding(false);
    let choice = ModelChoice {
        provider: Some("ollama".to_owned()),
        model: Some("gemma4:e2b".to_owned()),
    };
    let spending = core.model.spending().clone();
    let target = setup::model_target(&choice, &spending, &Env::default(), &mut |_| {});
    let (target, facts) = (target.unwrap(), core.facts());
    let parts = (Arc::clone(&run.settings), Arc::clone(&run.context));
    let of_program = Run::one_shot(parts.0, parts.1, Cancel::new());
    for (run, may_answer) in [(&of_program, false), (&run, true)] {
        let flow = &mut core.flow;
        let is_decided = flow.ensure_settings(&target, run, &facts, &mut orders);
        assert_eq!(is_decided, !may_answer);
        // Its settings are read when it may.
        assert_eq!(orders.next().is_some(), may_answer);
    }
}
