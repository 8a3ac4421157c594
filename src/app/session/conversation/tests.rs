//! What the conversation keeps, drops and says, without a disk.

use super::*;
use crate::app::session::facts::Facts;
use crate::app::session::ui_update::UiUpdate;
use crate::base::problem::Outcome;

struct Alone {
    conversation: Conversation,
    run: Run,
    orders: Orders,
}

impl Alone {
    fn new() -> Self {
        Self {
            conversation: Conversation::default(),
            run: Run::for_tests(),
            orders: Orders::default(),
        }
    }

    /// A turn that ends with these messages.
    fn say(&mut self, messages: &[Message]) {
        let sent = messages.iter().rev().find_map(|message| match message {
            Message::User(user) => Some(user.text.clone()),
            _ => None,
        });
        let mut state = self.conversation.begin_turn(sent.unwrap_or_default());
        state.messages = messages.to_vec();
        let shown = (String::new(), "");
        (self.conversation).end_turn(Some(state), shown, &self.run, &mut self.orders);
    }

    fn remarks(&mut self) -> Vec<String> {
        let updates = self.orders.take_updates().into_iter();
        let remarks = updates.filter_map(|update| match update {
            UiUpdate::Remark(words) => Some(words),
            _ => None,
        });
        remarks.collect()
    }
}

#[test]
fn what_comes_during_an_answer_follows_it() {
    let mut alone = Alone::new();
    let text = "news".to_owned();
    (alone.conversation).tell_model(text, true, &mut alone.orders);
    assert!(alone.conversation.messages().is_empty());
    alone.say(&[Message::user("a"), Message::assistant("b")]);
    let last = alone.conversation.messages().last();
    assert!(matches!(last, Some(Message::System { text }) if text == "news"));
    let text = "more".to_owned();
    (alone.conversation).tell_model(text, false, &mut alone.orders);
    assert_eq!(alone.conversation.messages().len(), 4);
}

#[test]
fn that_the_oldest_messages_are_no_longer_sent_is_said_once() {
    let mut alone = Alone::new();
    let all: Vec<Message> = ["a", "b", "c", "d"].map(Message::user).into();
    alone.say(&all[..3]);
    assert_eq!(alone.remarks(), [] as [&str; 0]);
    alone.say(&all[1..]);
    alone.say(&all[2..]);
    assert_eq!(alone.remarks().len(), 1);
}

#[test]
fn a_turn_that_ends_late_joins_only_what_it_left() {
    for (said_since, expected) in [(false, 1), (true, 2)] {
        let mut alone = Alone::new();
        alone.conversation.abandon(3);
        if said_since {
            alone.say(&[Message::user("other"), Message::assistant("answer")]);
        }
        let state = ConversationState {
            messages: vec![Message::user("late")],
            ..ConversationState::default()
        };
        (alone.conversation).ended_late(3, Some(state), &mut alone.orders);
        assert_eq!(alone.conversation.messages().len(), expected);
        assert!(alone.conversation.late_until().is_none());
    }
}

#[test]
fn a_conversation_is_left_only_when_nothing_is_under_way() {
    let conversation = Conversation::default();
    let compacting = Conversation {
        is_compacting: true,
        ..Conversation::default()
    };
    let undoing = Conversation {
        undos: 1,
        ..Conversation::default()
    };
    let answering = Facts {
        is_answering: true,
        ..Facts::default()
    };
    let waiting = Facts {
        has_waiting: true,
        ..Facts::default()
    };
    let idle = Facts::default();
    assert!(conversation.may_be_left(&idle).is_ok());
    for (conversation, facts) in [
        (&conversation, &answering),
        (&conversation, &waiting),
        (&compacting, &idle),
        (&undoing, &idle),
    ] {
        assert!(conversation.may_be_left(facts).is_err());
    }
}

#[test]
fn undo_and_compact_are_refused_with_words_while_something_is_under_way() {
    let answering = Facts {
        is_answering: true,
        ..Facts::default()
    };
    let waiting = Facts {
        has_waiting: true,
        ..Facts::default()
    };
    let idle = Facts::default();
    for (facts, is_compacting, undos, undo, compact) in [
        (&answering, false, 0, "on its way", "on its way"),
        (&waiting, false, 0, "are waiting", "are waiting"),
        (&idle, true, 0, "being compacted", "being compacted"),
        (&idle, false, 1, "", "being taken back"),
    ] {
        let mut alone = Alone::new();
        alone.say(&[Message::user("a"), Message::assistant("b")]);
        alone.conversation.is_compacting = is_compacting;
        alone.conversation.undos = undos;
        let (run, orders) = (&alone.run, &mut alone.orders);
        let words = |outcome: Outcome<()>| match outcome {
            Ok(()) => String::new(),
            Err(problem) => problem.one_line(),
        };
        let refused = words(alone.conversation.undo(run, facts, orders));
        assert!(
            refused.contains(undo) && refused.is_empty() == undo.is_empty(),
            "{refused}"
        );
        let refused = words(alone.conversation.compact(run, facts, orders));
        assert!(
            refused.contains(compact) && !refused.is_empty(),
            "{refused}"
        );
        assert!(orders.next().is_none(), "nothing was ordered");
    }
}
