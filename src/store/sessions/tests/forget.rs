//! What the user wants to be forgotten is taken out of sessions, and they go on as before.

use super::*;
use crate::chat::message::{ProviderState, User};
use crate::store::memory::is_said_in_json;

/// Takes the word out; returns what was taken out.
fn forget(
    folder: &Folder,
    id: &SessionId,
    word: &str,
) -> crate::base::problem::Outcome<Vec<String>> {
    let text = |text: &str, _| text.contains(word);
    let line = |line: &str| is_said_in_json(line.to_owned(), |line| line.contains(word));
    let wanted = ForgetTexts {
        text: &text,
        line: &line,
    };
    let found = folder.store.find_forgotten(wanted);
    let gone = folder.store.forget(id, wanted)?;
    let of_id = found.into_iter().find(|(other, _)| other == id);
    assert_eq!(of_id.map(|(_, texts)| texts).unwrap_or_default(), gone);
    assert!(folder.store.find_forgotten(wanted).is_empty());
    Ok(gone)
}

#[test]
fn what_was_typed_goes_with_its_message_or_alone() {
    for (word, first) in [
        ("porto", "[forgotten]"),
        ("mapped", "[forgotten]"),
        ("tea", "see porto"),
    ] {
        let (folder, log) = begun();
        let said = Message::User(User {
            text: "see porto\nmapped.txt".to_owned(),
            typed: Some("see porto".to_owned()),
            ..User::default()
        });
        log.begin_turn().say(&[], &said, BY);
        log.begin_turn()
            .end(TurnEnding::default(), Spent::default());
        let id = log.id().clone();
        log.close();
        forget(&folder, &id, word).unwrap();
        let replay = folder.store.read(&id).unwrap();
        assert_eq!(replay.first(), first, "{word}");
        let mut listed = Vec::new();
        folder.store.update_list(&mut listed);
        assert_eq!(listed[0].first, first, "{word}");
    }
}

/// What the model sees, a line each.
fn seen(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::System { text } => format!("note {text}"),
        Message::User(user) => format!("user {}", user.text),
        Message::Assistant(said) => {
            let args: Vec<&str> = said.calls.iter().map(|call| call.args.as_str()).collect();
            format!("marvin {}{}", said.text, args.concat())
        }
        Message::Tool(output) => format!("tool {}", output.text),
    };
    messages.iter().map(text).collect()
}

#[test]
fn a_session_that_has_forgotten_something_goes_on() {
    let (folder, log) = begun();
    let turn = log.begin_turn();
    let state = ProviderState {
        provider: "gemini".to_owned(),
        json: "{\"thought\":\"about p\\u006frto\"}".to_owned(),
    };
    let searching = Message::Assistant(Assistant {
        text: "I look.".to_owned(),
        calls: vec![ToolCall::new(
            "c1",
            "wiki",
            "{\"q\":\"the\\nporto bridge\"}",
        )],
        provider_state: Some(state),
    });
    let found = Message::Tool(ToolOutput::ok("c1", "wiki", "porto has six bridges"));
    let mut messages = vec![user("tell me of porto")];
    turn.say(&[], &messages[0], BY);
    for message in [searching, found, reply("Porto is a city.")] {
        messages.push(message);
        turn.sync(&messages, ContextCause::Change);
    }
    turn.end(TurnEnding::default(), Spent::default());
    log.rename("my porto trip").unwrap();
    turn.say(&messages, &user("and tea?"), BY);
    messages.extend([user("and tea?"), reply("Tea is a drink.")]);
    turn.note_thought("After porto now tea.");
    turn.sync(&messages, ContextCause::Change);
    // What arrives in pieces, and messages that wait.
    let pieces = log.begin_turn();
    pieces.say(&messages, &user("more"), BY);
    pieces.stream("in por");
    std::thread::sleep(std::time::Duration::from_millis(300));
    pieces.stream("to they dance");
    log.set_waiting(vec!["what of porto".to_owned(), "and rain".to_owned()]);
    pieces.save_waiting();
    let id = log.id().clone();
    let problem = forget(&folder, &id, "porto").unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Refused, "it is open: {problem}");
    log.close();
    let before = folder.replay(&log);
    assert!(folder.text(&log).contains("After porto now tea."));
    let path = folder.store.path(&id);
    let changed = fs::metadata(&path).unwrap().modified().unwrap();

    let gone = forget(&folder, &id, "porto").unwrap();
    assert!(gone.contains(&"tell me of porto".to_owned()), "{gone:?}");
    assert!(gone.contains(&"in porto they dance".to_owned()), "{gone:?}");
    let text = folder.text(&log);
    for word in ["porto", "p\\\\u006frto", "in por", "dance"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), changed);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let after = folder.replay(&log);
    assert_eq!(after.damage(), None);
    assert_eq!(after.rows().len(), before.rows().len());
    assert_eq!(after.waiting, ["and rain"]);
    assert_eq!(
        seen(&after.context()),
        [
            "user [forgotten]",
            "marvin I look.{}",
            "tool [forgotten]",
            "marvin Porto is a city.",
            "user and tea?",
            "marvin Tea is a drink.",
            "user more",
            "marvin [forgotten]",
        ]
    );
    let listed = folder.store.list();
    assert_eq!(
        (listed[0].first.as_str(), listed[0].messages),
        ("[forgotten]", 6 + 1)
    );

    let opened = OpenedSession::open(&folder.store, &id).unwrap();
    let mut context = opened.replay.context();
    let turn = opened.log.begin_turn();
    turn.say(&context, &user("go on"), BY);
    context.push(user("go on"));
    let last = seen(&folder.replay(&opened.log).context());
    assert_eq!(last, seen(&context));
}

#[test]
fn lines_of_other_versions_go_and_those_beside_them_keep_their_bytes() {
    let folder = folder();
    fs::create_dir_all(&folder.path).unwrap();
    let id = SessionId::random();
    let line = |n: u64, text: &str| {
        format!(
            "{{\"type\": \"message\", \"n\":{n}, \"time\":\"2026-11-21T10:00:00Z\", \"theirs\":1, \"message\":{{\"role\":\"user\",\"text\":\"{text}\"}}}}\n"
        )
    };
    let newer = "{\"type\":\"mood\",\"text\":\"caf\\u00e9 mood\"}\n";
    let torn = "{\"type\":\"message\",\"n\":9,\"text\":\"the café";
    let text = [
        &line(1, "tea"),
        newer,
        &line(2, "a café"),
        "broken café\n",
        &line(3, "rain"),
        torn,
    ]
    .concat();
    let path = folder.store.path(&id);
    fs::write(&path, &text).unwrap();
    fs::write(folder.path.join(format!(".{id}.jsonlAbC.tmp")), "café").unwrap();
    assert_eq!(forget(&folder, &id, "café").unwrap().len(), 4);
    let after = fs::read_to_string(&path).unwrap();
    assert!(
        after.starts_with(&line(1, "tea")) && after.ends_with(&line(3, "rain")),
        "{after}"
    );
    assert_eq!(after.lines().count(), 3);
    assert!(!after.contains("caf"));
    let left: Vec<_> = fs::read_dir(&folder.path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(
        left.iter()
            .all(|path| !path.to_string_lossy().ends_with(".tmp")),
        "{left:?}"
    );
    // Nothing of it, nothing written.
    let changed = fs::metadata(&path).unwrap().modified().unwrap();
    assert!(forget(&folder, &id, "snow").unwrap().is_empty());
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), changed);
}
