//! Turns, jobs and notices, without a terminal, a provider or a disk.

use super::*;
use crate::app::session::worker_event::ConversationState;
use crate::app::setup::Spending;
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::chat::event::Event;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::models::ModelRegistry;

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

    fn handle(&mut self, event: WorkerEvent) {
        self.orders.reported(&event);
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
