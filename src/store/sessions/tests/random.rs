//! Any conversation, any bytes and any damage.

use proptest::prelude::*;

use super::*;

/// Something that happens to a conversation.
#[derive(Debug, Clone)]
enum Step {
    Say(u8),
    Add(u8),
    Drop(usize, usize),
    Insert(usize, u8),
    Undo,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<u8>().prop_map(Step::Say),
        3 => any::<u8>().prop_map(Step::Add),
        1 => (0..9usize, 0..4usize).prop_map(|(at, count)| Step::Drop(at, count)),
        1 => (0..9usize, any::<u8>()).prop_map(|(at, n)| Step::Insert(at, n)),
        1 => Just(Step::Undo),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn whatever_happens_the_file_says_what_the_model_sees(steps in proptest::collection::vec(step(), 1..24)) {
        let (folder, mut log) = begun();
        let mut messages: Vec<Message> = Vec::new();
        for step in steps {
            // Few texts, so that equal messages occur.
            let text = |n: u8| format!("text {}", n % 3);
            match step {
                Step::Say(n) => {
                    log.begin_turn().say(&messages, &user(&text(n)), BY);
                    messages.push(user(&text(n)));
                }
                Step::Add(n) => messages.push(reply(&text(n))),
                Step::Drop(at, count) => {
                    let at = at.min(messages.len());
                    messages.drain(at..(at + count).min(messages.len()));
                }
                Step::Insert(at, n) => messages.insert(at.min(messages.len()), summary(&text(n))),
                Step::Undo => {
                    log.undo().unwrap();
                    let is_user = |message: &Message| matches!(message, Message::User(_));
                    if let Some(at) = messages.iter().rposition(is_user) {
                        messages.truncate(at);
                    }
                }
                Step::Reopen => {
                    let id = log.id().clone();
                    log.close();
                    log = match OpenedSession::open(&folder.store, &id) {
                        Ok(opened) => opened.log,
                        Err(_) => folder.begin(),
                    };
                }
            }
            if log.is_on_disk() {
                log.latest_turn().sync(&messages, ContextCause::Change);
                let replay = folder.replay(&log);
                let seen: Vec<Message> = replay.numbered().map(|(_, message)| message.clone()).collect();
                prop_assert_eq!(&seen, &messages);
                prop_assert_eq!(replay.damage(), None);
            }
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let replay = Replay::read(&bytes);
        prop_assert!(replay.context().is_empty() && replay.whole_bytes <= bytes.len() as u64);
    }

    #[test]
    fn any_change_of_a_file_is_read(at in 0..2_000usize, with in proptest::collection::vec(any::<u8>(), 0..9), gone in 0..60usize) {
        let (folder, log) = begun();
        let mut messages = Vec::new();
        exchange(&log, &mut messages, "one");
        exchange(&log, &mut messages, "two");
        let mut bytes = fs::read(folder.store.path(log.id())).unwrap();
        let at = at.min(bytes.len());
        bytes.splice(at..(at + gone).min(bytes.len()), with);
        let replay = Replay::read(&bytes);
        prop_assert!(replay.context().len() <= 6);
        log.close();
        fs::write(folder.store.path(log.id()), &bytes).unwrap();
        folder.store.list();
        if let Ok(opened) = OpenedSession::open(&folder.store, log.id()) {
            let mut now = opened.replay.context();
            exchange(&opened.log, &mut now, "three");
            prop_assert_eq!(folder.replay(&log).context(), now);
        }
    }
}
