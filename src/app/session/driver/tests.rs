//! A whole session with its threads and its files.

use super::*;
use crate::app::session::worker_event::{ConversationState, TurnEnd};
use crate::app::settings::{CliArgs, ProcessFacts};
use crate::base::env::Env;
use crate::chat::message::Message;
use crate::store::chat_log::{LogEntry, LogRole};

struct Opened {
    session: Session,
    wake: Receiver<()>,
    home: tempfile::TempDir,
}

impl Opened {
    /// A session whose model is on a port that nobody listens on.
    fn new() -> Self {
        Self::with(&[
            ("LLM_PROVIDER", "ollama"),
            ("OLLAMA_MODEL", "m:2b"),
            ("OLLAMA_URL", "http://127.0.0.1:9"),
            ("MARVIN_RETRIES", "0"),
        ])
    }

    fn with(vars: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().to_str().unwrap().to_owned();
        let own = [("HOME", dir.as_str()), ("MARVIN_CONFIG_DIR", dir.as_str())];
        let vars = own.iter().chain(vars).map(|(name, value)| {
            let (name, value): (std::ffi::OsString, std::ffi::OsString) =
                ((*name).into(), (*value).into());
            (name, value)
        });
        let settings = Settings::new(CliArgs::default(), Env::new(vars), ProcessFacts::default());
        let (session, wake) = Session::open(settings, AskMode::Nobody).unwrap();
        let mut opened = Self {
            session,
            wake,
            home,
        };
        opened.rest();
        opened
    }

    fn write_settings(&self, text: &str) {
        std::fs::write(self.home.path().join("reply.json"), text).unwrap();
    }

    /// The notices up to when nothing is under way.
    fn rest(&mut self) -> Vec<String> {
        let mut shown = Vec::new();
        loop {
            self.session.receive();
            shown.extend(self.told());
            if !self.session.busy() {
                return shown;
            }
            self.wake.recv_timeout(Duration::from_secs(60)).unwrap();
        }
    }

    fn told(&mut self) -> Vec<String> {
        let updates = self.session.take_updates().into_iter();
        let told = updates.filter_map(|update| match update {
            UiUpdate::System(text) => Some(text),
            _ => None,
        });
        told.collect()
    }

    /// A line as the history of inputs and the conversation keep it.
    fn kept(&self, line: &str) -> (String, String) {
        let (core, run) = (&self.session.core, &self.session.run);
        let facts = core.facts();
        (
            core.flow.for_history(line, run, &facts),
            core.flow.for_conversation(line, run, &facts),
        )
    }
}

#[test]
fn the_interface_waits_for_no_settings() {
    for (line, wants) in [
        ("hello", "\"maybe\""),
        ("/flow", "The reply flow is on"),
        ("/help", ""),
    ] {
        let mut opened = Opened::new();
        opened.write_settings("{\"flow\": \"maybe\"}");
        opened.session.submit(line);
        assert_eq!(opened.told(), [] as [&str; 0], "{line}");
        let later = opened.rest().join("\n");
        assert!(later.contains(wants), "{line}: {later}");
    }
}

#[test]
fn messages_wait_for_the_settings_and_keep_their_order() {
    let mut opened = Opened::new();
    opened.write_settings("{\"flow\": \"off\"}");
    opened.session.submit("one");
    opened.session.submit("two");
    assert_eq!(opened.session.queue().collect::<Vec<_>>(), ["one", "two"]);
    opened.rest();
    assert_eq!(opened.session.core.conversation.sent(), ["one", "two"]);
    assert!(opened.session.core.flow.engine().is_none());
}

#[test]
fn what_may_become_memory_has_no_secrets_in_history_and_conversation() {
    let mut opened = Opened::new();
    let line = "password=swordfish99";
    let redacted = "password=[REDACTED]".to_owned();
    assert_eq!(opened.kept(line), (redacted.clone(), redacted));
    opened.write_settings("{\"flow\": \"off\"}");
    opened.session.submit("/flow");
    opened.rest();
    assert_eq!(opened.kept(line), (line.to_owned(), line.to_owned()));
}

#[test]
fn what_was_begun_in_a_conversation_that_was_left_reaches_no_other() {
    let mut opened = Opened::with(&[]);
    let session = &mut opened.session;
    let conversation = &mut session.core.conversation;
    let left = conversation.number();
    let state = |text: &str| ConversationState {
        messages: vec![Message::user(text.to_owned())],
        ..ConversationState::default()
    };
    conversation.begin_turn("old".to_owned());
    conversation.end_turn(
        Some(state("old")),
        (String::new(), ""),
        &session.run,
        &mut session.orders,
    );
    conversation.abandon(7);
    session.submit("/new");
    let conversation = &mut session.core.conversation;
    assert_eq!(conversation.spoken(), 0);
    conversation.begin_turn("new".to_owned());
    let now = Some(state("new"));
    conversation.end_turn(now, (String::new(), ""), &session.run, &mut session.orders);
    let entry = LogEntry {
        role: LogRole::You,
        text: "old".to_owned(),
        time: String::new(),
        at: None,
    };
    let late = TurnEnd {
        conversation: Some(state("old")),
        ..TurnEnd::default()
    };
    for event in [
        WorkerEvent::Loaded(left, Ok(Some(vec![entry]))),
        WorkerEvent::Compacted(left, Ok(Some(state("old").messages))),
        WorkerEvent::Undone(left, Ok(())),
        WorkerEvent::NtfyMessage(left, "🔔 old".to_owned()),
        WorkerEvent::TurnEnded(7, Box::new(late)),
    ] {
        session.run.inbox.send(event);
        session.receive();
        let conversation = &session.core.conversation;
        assert_eq!(conversation.messages(), state("new").messages);
        assert_eq!(conversation.sent(), ["new"]);
    }
    assert!(session.core.flow.noted().is_empty());
}

#[test]
fn a_conversation_is_not_left_while_it_is_compacted() {
    let mut opened = Opened::with(&[]);
    let session = &mut opened.session;
    session.submit("/compact");
    // Its end has not been received.
    session.submit("/profile winter");
    assert_eq!(session.queue().collect::<Vec<_>>(), ["/profile winter"]);
    let facts = session.core.facts();
    assert!(session.core.conversation.may_be_left(&facts).is_err());
}
