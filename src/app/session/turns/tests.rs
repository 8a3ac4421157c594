//! The queue.

use super::*;

fn message(text: &str) -> Queued {
    Queued::new(QueuedKind::Message, text.to_owned())
}

#[test]
fn what_waits_is_taken_back_from_its_end_and_sent_from_its_beginning() {
    let (mut turns, mut orders) = (Turns::default(), Orders::default());
    turns.push(message("one"));
    turns.push(Queued::new(QueuedKind::ToCopilot, "two".to_owned()));
    turns.push(Queued::new(QueuedKind::ChangeProfile, "three".to_owned()));
    turns.push_front(message("zero"));
    assert_eq!(
        turns.waiting().collect::<Vec<_>>(),
        ["zero", "one", "/pro two", "/profile three"]
    );
    let taken = turns.take_back(&mut orders);
    assert_eq!(taken.as_deref(), Some("/profile three"));
    assert_eq!(turns.next_kind(), Some(QueuedKind::Message));
    assert_eq!(turns.take_next(), Some(message("zero")));
    turns.leave();
    assert_eq!(turns.next_kind(), None, "nothing is sent after leaving");
    assert!(!turns.return_waiting(&mut orders), "it is kept on disk");
}

#[test]
fn messages_that_nobody_can_answer_are_shown_with_the_reason() {
    let (mut turns, mut orders) = (Turns::default(), Orders::default());
    for queued in [message("a"), message("b")] {
        turns.push(queued);
    }
    turns.push(Queued::new(QueuedKind::ToCopilot, "c".to_owned()));
    turns.refuse_messages("No key.", &Run::for_tests(), &mut orders);
    assert_eq!(turns.queue().collect::<Vec<_>>(), ["/pro c"]);
    assert!(turns.has_failed());
    assert_eq!(orders.take_updates().len(), 4);
}
