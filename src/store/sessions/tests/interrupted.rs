//! What a process that ends leaves of an answer and of messages that wait.

use super::*;

#[test]
fn messages_that_wait_outlive_the_process_until_they_are_sent() {
    let (folder, log) = begun();
    let turn = log.begin_turn();
    turn.say(&[], &user("one"), BY);
    log.set_waiting(vec!["two".to_owned(), "three".to_owned()]);
    assert_eq!(turn.save_waiting(), None);
    assert_eq!(folder.replay(&log).waiting, ["two", "three"]);
    log.set_waiting(vec!["three".to_owned()]);
    let messages = [user("one"), reply("To one.")];
    log.begin_turn().say(&messages, &user("two"), BY);
    let replay = folder.replay(&log);
    assert_eq!(replay.waiting, ["three"]);
    assert_eq!(
        shown(&replay),
        ["user: one", "marvin: To one.", "user: two"]
    );
    // A run without a queue leaves them.
    log.close();
    let opened = OpenedSession::open(&folder.store, log.id()).unwrap();
    let next = opened.log.begin_turn();
    next.say(&opened.replay.context(), &user("four"), BY);
    assert_eq!(folder.replay(&log).waiting, ["three"]);
    opened.log.set_waiting(Vec::new());
    next.save_waiting();
    assert_eq!(folder.replay(&log).waiting, Vec::<String>::new());
}

#[test]
fn what_had_arrived_of_an_answer_is_there_after_a_kill() {
    let (folder, log) = begun();
    let turn = log.begin_turn();
    turn.say(&[], &user("one"), BY);
    assert_eq!(turn.stream("The half of it"), None);
    log.close();
    let opened = OpenedSession::open(&folder.store, log.id()).unwrap();
    let cut = ["user: one", "marvin: The half of it", "CutOff"];
    assert_eq!(shown(&opened.replay), cut);
    let mut messages = opened.replay.context();
    assert_eq!(messages, [user("one"), reply("The half of it")]);
    exchange(&opened.log, &mut messages, "two");
    let replay = folder.replay(&log);
    assert_eq!(replay.context(), messages);
    assert_eq!(
        shown(&replay),
        [
            "user: one",
            "marvin: The half of it",
            "user: two",
            "marvin: To two."
        ]
    );
    assert_eq!(opened.log.spoken(), 4);
}

#[test]
fn pieces_of_an_answer_that_became_a_message_are_not_shown_twice() {
    let (folder, log) = begun();
    let turn = log.begin_turn();
    turn.say(&[], &user("one"), BY);
    turn.stream("To ");
    let messages = [user("one"), reply("To one.")];
    turn.sync(&messages, ContextCause::Change);
    let replay = folder.replay(&log);
    assert_eq!(shown(&replay), ["user: one", "marvin: To one."]);
    turn.stream("The second round");
    turn.end(TurnResult::Stopped.into(), Spent::default());
    assert_eq!(shown(&folder.replay(&log)).last().unwrap(), "Stopped");
}
