//! What is said, sent again, remembered and forgotten.

use super::*;
use crate::chat::message::{Assistant, ToolCall, ToolOutput};
use proptest::prelude::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

#[test]
fn what_was_spoken_waits_apart_from_what_was_typed() {
    let memory = memory();
    user(&memory, "one", at(0));
    assistant(&memory, "two", at(1));
    said(&memory, "three", true, at(2));
    assistant(&memory, "four", at(3));
    user(&memory, "five", at(4));
    let mut parts = Vec::new();
    loop {
        let pending = memory.pending();
        if pending.rows.is_empty() {
            break;
        }
        memory.mark_saved(&pending, at(5));
        parts.push((pending.spoken, texts_of(&pending).join(" ")));
    }
    let want = [
        (false, "User: one Assistant: two"),
        (true, "User: three Assistant: four"),
        (false, "User: five"),
    ];
    assert_eq!(parts, want.map(|(spoken, rows)| (spoken, rows.to_owned())));
}

fn memory() -> DialogueMemory {
    DialogueMemory::new((&ReplySettings::default()).into())
}

fn texts_of(pending: &PendingDialogue) -> Vec<&str> {
    pending.rows.iter().map(|row| row.text.as_str()).collect()
}

fn user(memory: &DialogueMemory, text: &str, now: Timestamp) {
    said(memory, text, false, now);
}

fn said(memory: &DialogueMemory, text: &str, spoken: bool, now: Timestamp) {
    let at = memory.stamp(now);
    memory.add_message(&SaidMessage { text, at, spoken }, now);
}

fn assistant(memory: &DialogueMemory, text: &str, now: Timestamp) {
    memory.add_assistant(text, memory.stamp(now), now);
}

fn round(id: usize, results: usize, chars: usize) -> Vec<Message> {
    let ids = (0..results).map(|n| format!("call_{id}_{n}"));
    let call = |id: String| ToolCall::new(id, "read_note", r#"{"path":"a.md"}"#);
    let mut messages = vec![Message::Assistant(Assistant::new(
        "",
        ids.clone().map(call).collect(),
    ))];
    messages
        .extend(ids.map(|id| Message::Tool(ToolOutput::ok(id, "read_note", "x".repeat(chars)))));
    messages
}

fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User(user) => format!("U {}", user.text),
        Message::Assistant(own) if own.calls.is_empty() => format!("A {}", own.text),
        Message::Assistant(own) => format!("C {}", own.calls.len()),
        Message::Tool(output) => format!("R {}", output.text.chars().count()),
        Message::System { text } => format!("S {text}"),
    };
    messages.iter().map(text).collect()
}

#[test]
fn a_reply_is_sent_again_in_the_order_in_which_it_happened() {
    let memory = memory();
    user(&memory, "read  my note,\nmail ada@example.org", at(0));
    memory.add_tools(round(1, 1, 5), at(0));
    assistant(&memory, "Done.\nSee above.", at(0));
    assert_eq!(
        texts(&memory.recent(at(300))),
        [
            "U read my note, mail [REDACTED_EMAIL]",
            "C 1",
            "R 5",
            "A Done.\nSee above."
        ]
    );
    assert!(memory.has_recent(at(300)) && !memory.has_recent(at(301)));
    // The calls belong to the conversation, not to the window.
    assert_eq!(texts(&memory.recent(at(301))), ["C 1", "R 5"]);
    memory.clear_carry_over();
    assert_eq!(memory.recent(at(301)), []);
    memory.add_tools(Vec::new(), at(302));
    assistant(&memory, " ", at(302));
    assert!(!memory.has_recent(at(302)));
}

#[test]
fn only_the_latest_groups_are_sent_and_long_rows_are_cut() {
    let memory = memory();
    for reply in 0..20 {
        user(&memory, &format!("{reply}"), at(reply));
        memory.add_tools(round(1, 1, 3_000), at(reply));
    }
    assert_eq!(memory.rows().groups.len(), MAX_GROUPS);
    let sent = texts(&memory.recent(at(20)));
    let groups: Vec<&String> = sent.iter().filter(|text| text.starts_with('R')).collect();
    assert_eq!(groups, ["R 1201", "R 1201"]);
    assert_eq!(sent.last().unwrap(), "R 1201");
}

#[test]
fn rows_wait_for_the_diary_and_are_forgotten_when_they_are_saved_and_old() {
    let memory = memory();
    user(&memory, "one", at(0));
    assistant(&memory, "two", at(1));
    assert!(!memory.is_update_due(at(299)) && memory.is_update_due(at(300)));
    let pending = memory.pending();
    assert_eq!(texts_of(&pending), ["User: one", "Assistant: two"]);
    user(&memory, "three", at(400));
    memory.mark_saved(&pending, at(400));
    assert_eq!(texts_of(&memory.pending()), ["User: three"]);
    assert_eq!(memory.rows().said.len(), 1);
    memory.mark_saved(&memory.pending(), at(401));
    assert_eq!(memory.pending(), PendingDialogue::default());
    assert!(memory.has_recent(at(401)) && !memory.is_update_due(at(9_000)));
}

#[test]
fn what_was_said_before_the_start_is_sent_but_not_saved_twice() {
    let memory = memory();
    memory.seed(Speaker::User, "one", at(0), true);
    memory.seed(Speaker::Assistant, "two", at(1), false);
    memory.seed(Speaker::User, "three", at(2), true);
    assert_eq!(texts(&memory.recent(at(3))), ["U one", "A two", "U three"]);
    // A row of a session that crashed may lie between those of another one.
    assert_eq!(texts_of(&memory.pending()), ["Assistant: two"]);
    assert!(memory.stamp(at(0)) > at(2), "whatever the clock says");
}

#[test]
fn another_conversation_sends_its_own_rows_and_the_old_ones_wait_for_the_diary() {
    let memory = memory();
    user(&memory, "old", at(1));
    memory.begin_conversation(
        &[Message::user("before"), Message::assistant("Yes.")],
        at(9),
    );
    user(&memory, "now", at(9));
    assert_eq!(
        texts(&memory.recent(at(9))),
        ["U before", "A Yes.", "U now"]
    );
    assert_eq!(texts_of(&memory.pending()), ["User: old", "User: now"]);
    memory.begin_conversation(&[], at(10));
    assert!(!memory.has_recent(at(10)));
    assert_eq!(memory.recent(at(10)), []);
    assert_eq!(texts_of(&memory.pending()), ["User: old", "User: now"]);
}

#[test]
fn notes_are_sent_with_what_was_said_and_never_remembered() {
    let memory = memory();
    memory.add_note("$ env\ntoken=hunter2", at(1));
    assert!(!memory.has_recent(at(1)), "nobody has said anything");
    user(&memory, "what is that", at(2));
    assistant(&memory, "An output.", at(3));
    memory.add_note("News of a kayak", at(4));
    user(&memory, "and now", at(5));
    assert_eq!(
        texts(&memory.recent(at(5))),
        [
            "S $ env\ntoken=[REDACTED]",
            "U what is that",
            "A An output.",
            "S News of a kayak",
            "U and now"
        ]
    );
    assert_eq!(memory.pending().rows.len(), 3);
    memory.forget(&EraseTarget::Word("kayak".to_owned()));
    assert_eq!(texts(&memory.recent(at(5)))[3], "U and now");
    memory.add_note("Later", at(6));
    memory.undo("and now");
    assert_eq!(memory.recent(at(6)).len(), 3);
    assert_eq!(
        texts(&memory.recent(at(302))),
        ["U what is that", "A An output."]
    );
}

#[test]
fn the_oldest_notes_make_room_for_new_ones() {
    let memory = memory();
    for second in 0..5 {
        memory.add_note(&format!("{second}{}", "x".repeat(2_999)), at(second));
    }
    let sent = texts(&memory.recent(at(5)));
    assert_eq!(sent.len(), 2);
    assert!(sent[0].starts_with("S 3x") && sent[1].starts_with("S 4x"));
    memory.add_note(&"y".repeat(9_000), at(6));
    assert_eq!(memory.recent(at(6)).len(), 1, "the latest one stays");
    memory.begin_conversation(
        &[
            Message::System {
                text: "Told before".to_owned(),
            },
            Message::user("before"),
        ],
        at(9),
    );
    assert_eq!(texts(&memory.recent(at(9))), ["S Told before", "U before"]);
}

#[test]
fn what_is_forgotten_is_neither_sent_nor_written() {
    let memory = memory();
    user(&memory, "my kayak is red", at(0));
    memory.add_tools(round(1, 1, 10), at(0));
    assistant(&memory, "Noted.", at(1));
    memory.forget(&EraseTarget::Node("user".to_owned()));
    assert_eq!(
        (memory.pending().rows.len(), memory.recent(at(1)).len()),
        (2, 4)
    );
    let kayak = EraseTarget::Word("KAYAK".to_owned());
    assert!(memory.holds(&kayak));
    assert!(!memory.holds(&EraseTarget::Word("kay".to_owned())));
    memory.forget(&kayak);
    assert!(!memory.holds(&kayak));
    assert_eq!(texts_of(&memory.pending()), ["Assistant: Noted."]);
    assert_eq!(texts(&memory.recent(at(1))), ["A Noted."]);
    memory.forget(&EraseTarget::All);
    assert!(memory.pending().rows.is_empty());
}

#[test]
fn memory_stays_small_when_nothing_is_remembered() {
    let limits = DialogueLimits {
        is_remembered: false,
        ..(&ReplySettings::default()).into()
    };
    let memory = DialogueMemory::new(limits);
    for n in 0..2_000 {
        user(&memory, &n.to_string(), at(0));
    }
    assert_eq!(memory.rows().said.len(), 20);
    assert_eq!(memory.recent(at(0)).len(), 20);
}

#[derive(Debug, Clone)]
enum Step {
    User,
    Assistant,
    Tools(usize, usize),
    Save,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::User),
        3 => Just(Step::Assistant),
        2 => (1usize..4, 1usize..7).prop_map(|(rounds, results)| Step::Tools(rounds, results)),
        1 => Just(Step::Save),
    ]
}

#[test]
fn the_last_exchange_can_be_taken_back() {
    let dialogue = DialogueMemory::new(DialogueLimits::from(&ReplySettings::default()));
    let now = Timestamp::from_second(1_000_000).unwrap();
    user(&dialogue, "one", now);
    assistant(&dialogue, "Eins.", now);
    let before = dialogue.recent(now);
    user(&dialogue, "two  mail ada@example.org", now);
    assistant(&dialogue, "Zwei.", now);
    dialogue.undo("something else");
    assert_eq!(dialogue.recent(now).len(), 4);
    dialogue.undo("two mail ada@example.org");
    assert_eq!(dialogue.recent(now), before);
    dialogue.undo("one");
    dialogue.undo("one");
    assert!(dialogue.recent(now).is_empty() && dialogue.pending().rows.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// The clock may stand still and jump in both directions.
    #[test]
    fn stamps_increase_caps_hold_and_pairs_stay_together(
        steps in proptest::collection::vec((step(), -400i64..400), 0..60),
    ) {
        let memory = memory();
        let (mut clock, mut said, mut saved) = (0, Vec::new(), Vec::new());
        for (index, (step, jump)) in steps.into_iter().enumerate() {
            clock += jump;
            let now = at(clock);
            match step {
                Step::User => {
                    said.push(format!("User: {index}"));
                    user(&memory, &index.to_string(), now);
                }
                Step::Assistant => {
                    said.push(format!("Assistant: {index}"));
                    assistant(&memory, &index.to_string(), now);
                }
                Step::Tools(rounds, results) => {
                    let group = (0..rounds).flat_map(|n| round(index * 10 + n, results, 2_000));
                    memory.add_tools(group.collect(), now);
                }
                Step::Save => {
                    let pending = memory.pending();
                    memory.mark_saved(&pending, now);
                    saved.extend(pending.rows.into_iter().map(|row| row.text));
                }
            }
            let stamps: Vec<Timestamp> = memory.rows().said.iter().map(|row| row.at).collect();
            prop_assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]));
            let sent = memory.recent(now);
            prop_assert!(sent.len() <= MAX_ROWS);
            let is_said = |message: &&Message| match message {
                Message::User(_) => true,
                Message::Assistant(own) => own.calls.is_empty(),
                _ => false,
            };
            prop_assert!(sent.iter().filter(is_said).count() <= 20);
            let mut open: Vec<String> = Vec::new();
            for message in &sent {
                match message {
                    Message::Tool(output) => {
                        prop_assert_eq!(open.first(), Some(&output.id));
                        open.remove(0);
                    }
                    other => {
                        prop_assert!(open.is_empty());
                        if let Message::Assistant(own) = other {
                            open = own.calls.iter().map(|call| call.id.clone()).collect();
                        }
                    }
                }
            }
            prop_assert!(open.is_empty());
        }
        saved.extend(memory.pending().rows.into_iter().map(|row| row.text));
        prop_assert_eq!(saved, said, "every row reaches the diary once");
    }
}
