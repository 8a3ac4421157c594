//! Sessions on real files: what is replayed, torn ends, damage, copies, locks and lists.

mod earlier;
mod forget;
mod interrupted;
mod random;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::log::SessionLog;
use super::record::{CallRecord, ContextCause, SessionPlace, Spent, TurnEnding, TurnResult};
use super::replay::TranscriptItem;
use super::*;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::ProblemKind;
use crate::base::testing::assert_has;
use crate::chat::display::Display;
use crate::chat::event::CallEnd;
use crate::chat::message::{Assistant, Message, ToolCall, ToolOutput};

const BY: (&str, &str) = ("openai", "gpt-x");

struct Folder {
    _dir: tempfile::TempDir,
    path: PathBuf,
    store: SessionStore,
}

fn folder() -> Folder {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::from([("MARVIN_NOW", "2026-11-21T14:30:05+00:00[UTC]")]);
    let path = dir.path().join("sessions");
    Folder {
        store: SessionStore::new(path.clone(), &Clock::new(&env)),
        path,
        _dir: dir,
    }
}

/// A folder, and a session in it of which nothing is said yet.
fn begun() -> (Folder, SessionLog) {
    let folder = folder();
    let log = folder.begin();
    (folder, log)
}

impl Folder {
    fn begin(&self) -> SessionLog {
        self.begin_in("/work", None)
    }

    fn begin_in(&self, cwd: &str, workspace: Option<&str>) -> SessionLog {
        let mut place = in_folder(cwd);
        place.workspace = workspace.map(str::to_owned);
        SessionLog::new(&self.store, SessionId::random(), place, "main".to_owned())
    }

    fn replay(&self, log: &SessionLog) -> Replay {
        self.store.read(log.id()).unwrap()
    }

    fn text(&self, log: &SessionLog) -> String {
        fs::read_to_string(self.store.path(log.id())).unwrap()
    }
}

fn in_folder(cwd: &str) -> SessionPlace {
    SessionPlace {
        cwd: cwd.to_owned(),
        ..SessionPlace::default()
    }
}

fn user(text: &str) -> Message {
    Message::user(text)
}

fn reply(text: &str) -> Message {
    Message::assistant(text)
}

fn call(id: &str) -> Message {
    Message::Assistant(Assistant {
        calls: vec![ToolCall::new(id, "tree", "{}")],
        ..Assistant::default()
    })
}

fn result(id: &str) -> Message {
    Message::Tool(ToolOutput {
        id: id.to_owned(),
        name: "tree".to_owned(),
        text: "src/\n".to_owned(),
        failed: false,
        images: Vec::new(),
    })
}

fn summary(text: &str) -> Message {
    Message::System {
        text: text.to_owned(),
    }
}

/// What the user is shown, in short.
fn shown(replay: &Replay) -> Vec<String> {
    let row = |row: &replay::TranscriptRow| match &row.item {
        TranscriptItem::Message(n) => match replay.message(*n).unwrap() {
            Message::User(user) => format!("user: {}", user.text),
            Message::Assistant(said) if said.calls.is_empty() => format!("marvin: {}", said.text),
            Message::Assistant(said) => format!("call {}", said.calls[0].id),
            Message::Tool(output) => format!("result {}", output.id),
            Message::System { text } => format!("system: {text}"),
        },
        TranscriptItem::Ended(ending) => format!("{:?}", ending.result),
        other => format!("{other:?}"),
    };
    replay.rows().iter().map(row).collect()
}

/// Says a message and takes the answer.
fn exchange(log: &SessionLog, messages: &mut Vec<Message>, text: &str) {
    let turn = log.begin_turn();
    assert_eq!(turn.say(messages, &user(text), BY), None);
    messages.push(user(text));
    messages.push(reply(&format!("To {text}.")));
    assert_eq!(turn.sync(messages, ContextCause::Change), None);
    let spent = Spent {
        cost: 0.25,
        ..Spent::default()
    };
    assert_eq!(turn.end(TurnResult::Complete.into(), spent), None);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_session_without_a_message_leaves_no_file() {
    let (folder, log) = begun();
    log.rename("nothing").unwrap();
    assert_eq!(
        log.latest_turn()
            .end(TurnResult::Complete.into(), Spent::default()),
        None
    );
    log.undo().unwrap();
    assert!(!folder.path.exists());
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "hello");
    assert_eq!(mode(&folder.path), 0o700);
    assert_eq!(mode(&folder.store.path(log.id())), 0o600);
    assert_eq!(folder.replay(&log).name.as_deref(), Some("nothing"));
}

#[test]
fn a_turn_with_calls_is_replayed_for_the_user_and_for_the_model() {
    let (folder, log) = begun();
    let seed = [user("long ago"), reply("Yes.")];
    let turn = log.begin_turn();
    turn.say(&seed, &user("see @a.txt"), BY);
    let mut messages = seed.to_vec();
    messages.push(summary("news"));
    messages.push(user("see @a.txt\n<file>alpha</file>"));
    turn.sync(&messages, ContextCause::Attachment);
    messages.extend([call("c1"), result("c1")]);
    turn.sync(&messages, ContextCause::Change);
    messages.push(reply("It says alpha."));
    turn.sync(&messages, ContextCause::Change);
    let replay = folder.replay(&log);
    assert_eq!(replay.context(), messages);
    assert_eq!(
        shown(&replay),
        [
            "user: see @a.txt",
            "call c1",
            "result c1",
            "marvin: It says alpha."
        ]
    );
    assert_eq!(replay.header.cwd, "/work");
    assert_eq!(
        replay.model,
        Some(("openai".to_owned(), "gpt-x".to_owned()))
    );
    let text = folder.text(&log);
    let begin = format!(
        "{{\"type\":\"session\",\"version\":1,\"id\":\"{}\",\"time\":\"2026-11-21T14:30:05.000Z\"",
        log.id()
    );
    assert!(text.starts_with(&begin), "{text}");
    assert_has(&text, &[r#""message":{"role":"user","text":"see @a.txt"}"#]);
}

#[test]
fn what_a_compaction_drops_stays_visible_for_the_user_alone() {
    let (folder, log) = begun();
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "one");
    exchange(&log, &mut messages, "two");
    let turn = log.begin_turn();
    turn.say(&messages, &user("three"), BY);
    let compacted = vec![
        user("two"),
        summary("Summary of earlier messages"),
        user("three"),
    ];
    turn.sync(&compacted, ContextCause::Compaction);
    let replay = folder.replay(&log);
    assert_eq!(replay.context(), compacted);
    assert_eq!(
        shown(&replay),
        [
            "user: one",
            "marvin: To one.",
            "user: two",
            "marvin: To two.",
            "user: three",
            "Compaction"
        ]
    );
}

#[test]
fn an_undone_exchange_is_gone_for_both() {
    let (folder, log) = begun();
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "one");
    exchange(&log, &mut messages, "two");
    log.undo().unwrap();
    let replay = folder.replay(&log);
    assert_eq!(shown(&replay), ["user: one", "marvin: To one."]);
    assert_eq!(replay.context(), [user("one"), reply("To one.")]);
    messages.truncate(2);
    exchange(&log, &mut messages, "three");
    let replay = folder.replay(&log);
    assert_eq!(replay.user_texts(), ["one", "three"]);
    assert_eq!(replay.context(), messages);
    let listed = folder.store.list();
    assert_eq!((listed[0].messages, listed[0].first.as_str()), (4, "one"));
    for _ in 0..4 {
        log.undo().unwrap();
    }
    assert_eq!(folder.replay(&log).context(), []);
}

#[test]
fn a_call_without_a_result_gets_one_that_says_so() {
    let (folder, log) = begun();
    let turn = log.begin_turn();
    turn.say(&[], &user("go"), BY);
    turn.sync(&[user("go"), call("c1")], ContextCause::Change);
    let context = folder.replay(&log).context();
    assert!(matches!(&context[2], Message::Tool(output) if output.failed && output.id == "c1"));
}

#[test]
fn a_turn_that_hangs_writes_nothing_into_the_next() {
    let (folder, log) = begun();
    let hangs = log.begin_turn();
    hangs.say(&[], &user("one"), BY);
    let next = log.begin_turn();
    next.say(&[user("one")], &user("two"), BY);
    hangs.sync(&[user("one"), reply("late")], ContextCause::Change);
    assert_eq!(folder.replay(&log).context(), [user("one"), user("two")]);
    log.close();
    next.sync(&[], ContextCause::Change);
    assert_eq!(folder.replay(&log).context(), [user("one"), user("two")]);
}

#[test]
fn one_process_at_a_time_has_a_session() {
    let (folder, log) = begun();
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "one");
    let open = || OpenedSession::open(&folder.store, log.id());
    let problem = open().err().unwrap();
    assert_eq!(problem.kind, ProblemKind::Refused);
    let pid = format!("(process {})", std::process::id());
    assert!(problem.what.contains(&pid), "{problem}");
    assert!(problem.one_line().contains("--fork-session"), "{problem}");
    let copy = OpenedSession::fork(
        &folder.store,
        log.id(),
        SessionId::random(),
        in_folder("/b"),
    );
    let before = folder.text(&log);
    let copy = copy.unwrap();
    assert_eq!(
        folder.store.list().len(),
        1,
        "a copy of which nothing was said"
    );
    exchange(&copy.log, &mut messages, "two");
    assert_eq!(folder.text(&log), before);
    let replay = folder.replay(&copy.log);
    assert_eq!(replay.header.parent.as_deref(), Some(log.id().as_str()));
    assert_eq!(replay.header.cwd, "/b");
    assert_eq!(replay.user_texts(), ["one", "two"]);
    assert_eq!(replay.context(), messages);
    log.close();
    assert!(open().is_ok());
    let none = OpenedSession::open(&folder.store, &SessionId::random());
    assert_eq!(none.err().unwrap().kind, ProblemKind::Missing);
}

#[test]
fn a_file_torn_at_any_byte_goes_on() {
    let (folder, log) = begun();
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "one");
    exchange(&log, &mut messages, "zw\u{f6}lf");
    log.close();
    let whole = fs::read(folder.store.path(log.id())).unwrap();
    let lines: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    for at in 1..=whole.len() {
        fs::write(folder.store.path(log.id()), &whole[..at]).unwrap();
        let opened = OpenedSession::open(&folder.store, log.id()).unwrap();
        assert_eq!(opened.replay.damage(), None, "cut at {at}");
        // A line is there as soon as its last brace is.
        let count = lines.iter().filter(|end| **end <= at).count();
        let said = [(2, 1), (3, 2), (5, 3), (6, 4)];
        let expected = said
            .iter()
            .rfind(|(line, _)| *line <= count)
            .map_or(0, |(_, n)| *n);
        let mut messages = opened.replay.context();
        assert_eq!(messages.len(), expected, "cut at {at}");
        exchange(&opened.log, &mut messages, "more");
        opened.log.close();
        let replay = folder.replay(&log);
        assert_eq!(replay.context(), messages, "cut at {at}");
        assert_eq!(replay.damage(), None, "cut at {at}");
    }
}

#[test]
fn a_line_that_is_no_record_is_passed_over_and_counted() {
    let (folder, log) = begun();
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "one");
    log.close();
    let path = folder.store.path(log.id());
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(2, "\u{0}\u{0}\u{0} {");
    lines.insert(2, r#"{"type":"dream","of":"sheep"}"#);
    lines.insert(2, r#"{"type":"message","n":"nine"}"#);
    fs::write(&path, lines.join("\n")).unwrap();
    let replay = folder.replay(&log);
    assert_eq!(replay.context(), messages);
    assert!(
        replay
            .damage()
            .unwrap()
            .starts_with("One line of this session's file")
    );
    lines.remove(0);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let opened = OpenedSession::open(&folder.store, log.id()).unwrap();
    assert_eq!(opened.replay.context(), messages, "without its first line");
    assert_eq!(folder.store.list().len(), 1);
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    opened.log.close();
    fs::write(&path, newer).unwrap();
    let problem = OpenedSession::open(&folder.store, log.id()).err().unwrap();
    assert!(problem.what.contains("newer Marvin"), "{problem}");
}

#[test]
fn a_list_that_is_asked_for_again_is_as_one_that_is_read_anew() {
    let (folder, first) = begun();
    let second = folder.begin();
    let (mut messages, mut known) = (Vec::new(), Vec::new());
    exchange(&first, &mut messages, "one");
    exchange(&second, &mut messages, "two");
    let mut again = || {
        folder.store.update_list(&mut known);
        assert_eq!(known, folder.store.list());
        known.clone()
    };
    assert_eq!(again().len(), 2);
    first.rename("fetcher").unwrap();
    assert_eq!(
        again()
            .iter()
            .filter(|session| session.name.is_some())
            .count(),
        1
    );
    second.close();
    folder.store.delete(second.id()).unwrap();
    assert_eq!(again().len(), 1);
    // What has not changed is not opened.
    first.close();
    let path = folder.store.path(first.id());
    let before = fs::metadata(&path).unwrap();
    let unread = "x".repeat(usize::try_from(before.len()).unwrap());
    fs::write(&path, unread).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    folder.store.update_list(&mut known);
    assert_eq!(known[0].messages, 2);
    file.set_len(0).unwrap();
    folder.store.update_list(&mut known);
    assert_eq!(known[0].messages, 0);
}

#[test]
fn a_list_shows_the_latest_first_whatever_the_ends_hold() {
    let (folder, log) = begun();
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "the first words\nand more");
    log.rename("fetcher").unwrap();
    let listed = folder.store.list();
    let session = &listed[0];
    assert_eq!(session.name.as_deref(), Some("fetcher"));
    assert_eq!(session.first, "the first words and more");
    assert_eq!((session.messages, session.spent.cost), (2, 0.25));
    // A turn under way, and a result longer than what is read of the end.
    let turn = log.begin_turn();
    turn.say(&messages, &user("second"), BY);
    messages.extend([user("second"), call("c1"), summary(&"x".repeat(20_000))]);
    turn.sync(&messages, ContextCause::Change);
    let listed = folder.store.list();
    assert_eq!(listed[0].name.as_deref(), Some("fetcher"));
    assert_eq!(listed[0].messages, 3);
    turn.end(TurnResult::Stopped.into(), Spent::default());
    assert_eq!(folder.store.list()[0].messages, 3);
    assert_eq!(folder.store.latest("/work").unwrap().id, *log.id());
    assert_eq!(folder.store.latest("/elsewhere"), None);
}

#[test]
fn the_beginning_of_an_id_or_a_name_finds_a_session() {
    let folder = folder();
    let ids = [
        "3f2a91c4-0000-4000-8000-000000000001",
        "3f2a91c4-0000-4000-8000-000000000002",
    ];
    for id in ids {
        let id = SessionId::parse(id).unwrap();
        let log = SessionLog::new(&folder.store, id, in_folder("/w"), "main".to_owned());
        log.rename(&format!("name {}", log.id().as_str().len()))
            .unwrap();
        exchange(&log, &mut Vec::new(), "x");
    }
    let find = |word: &str| folder.store.find(word).map(|id| id.to_string());
    assert_eq!(find(ids[1]).unwrap(), ids[1]);
    assert_eq!(find(&ids[0].to_uppercase()).unwrap(), ids[0]);
    let several = find("3f2a").unwrap_err().one_line();
    assert_has(&several, &["2 sessions fit", ids[0]]);
    assert!(find("name 36").unwrap_err().what.contains("2 sessions"));
    assert_eq!(find("77").unwrap_err().kind, ProblemKind::Missing);
    assert_eq!(find("\u{1b}[2J").unwrap_err().kind, ProblemKind::Missing);
}

#[test]
fn what_could_not_be_written_is_written_later() {
    let folder = folder();
    fs::write(&folder.path, "in the way").unwrap();
    let log = folder.begin();
    let turn = log.begin_turn();
    let notice = turn.say(&[], &user("one"), BY).unwrap();
    assert!(notice.starts_with("This session is not saved:"), "{notice}");
    let messages = [user("one"), reply("1")];
    assert_eq!(
        turn.sync(&messages, ContextCause::Change),
        None,
        "told once"
    );
    assert_eq!(turn.stream("1"), None, "nothing was written");
    let ended = turn.end(TurnResult::Complete.into(), Spent::default());
    assert_eq!(ended, None, "nor here");
    fs::remove_file(&folder.path).unwrap();
    let turn = log.begin_turn();
    let notice = turn.say(&messages, &user("two"), BY).unwrap();
    assert_eq!(notice, "This session is saved again.");
    let replay = folder.replay(&log);
    assert_eq!(replay.context(), [user("one"), reply("1"), user("two")]);
    assert_eq!(replay.header.model, "gpt-x");
}

#[test]
fn a_change_of_the_model_is_a_record() {
    let (folder, log) = begun();
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "one");
    log.begin_turn()
        .say(&messages, &user("two"), ("groq", "llama"));
    let replay = folder.replay(&log);
    assert_eq!(replay.model, Some(("groq".to_owned(), "llama".to_owned())));
    assert!(shown(&replay)[2].contains("llama"));
}

#[test]
fn what_the_user_saw_of_a_call_is_kept_and_the_model_sees_the_same() {
    let (folder, log) = begun();
    let turn = log.begin_turn();
    turn.say(&[], &user("go"), BY);
    let mut messages = vec![user("go"), call("c1")];
    turn.sync(&messages, ContextCause::Change);
    let shown = CallRecord {
        end: CallEnd::ExitCode(3),
        took_ms: 5_000,
        answered_by: vec!["nominatim".to_owned()],
        display: Some(Display::Diff {
            old: "a\n".to_owned(),
            new: "b\n".to_owned(),
            first_line: Some(7),
        }),
    };
    turn.add_result(&result("c1"), shown.clone());
    messages.push(result("c1"));
    turn.sync(&messages, ContextCause::Change);
    let replay = folder.replay(&log);
    assert_eq!(replay.call(3), Some(&shown));
    assert_eq!(replay.context(), messages);
    let text = folder.text(&log);
    assert_eq!(text.matches(r#""id":"c1","name":"tree","text""#).count(), 1);

    let large = CallRecord {
        display: Some(Display::Patch {
            text: "+".repeat(300_000),
        }),
        ..shown.clone()
    };
    turn.add_result(&result("c2"), large);
    let kept = folder.replay(&log).call(4).cloned().unwrap();
    assert_eq!(
        kept,
        CallRecord {
            display: None,
            ..shown
        }
    );

    // An older version wrote none, a newer one may write another form: the result stays.
    let record = text.lines().find(|line| line.contains("took_ms")).unwrap();
    let from = record.find(r#","call":{"#).unwrap();
    let without = format!("{}}}", &record[..from]);
    for other in [
        without,
        record.replace(r#"{"exit_code":3}"#, r#"{"rain":3}"#),
    ] {
        let replay = Replay::read(text.replace(record, &other).as_bytes());
        assert_eq!(replay.call(3), None, "{other}");
        assert_eq!(replay.context(), messages, "{other}");
    }
}

#[test]
fn why_a_turn_failed_is_kept() {
    let (folder, log) = begun();
    let turn = log.begin_turn();
    turn.say(&[], &user("one"), BY);
    let ending = TurnEnding {
        result: TurnResult::Failed,
        error: Some("The key is wrong.".to_owned()),
    };
    turn.end(ending.clone(), Spent::default());
    let item = |replay: &Replay| replay.rows().last().unwrap().item.clone();
    let kept = folder.replay(&log);
    assert_eq!(item(&kept), TranscriptItem::Ended(ending));
    let older = (folder.text(&log)).replace(r#","error":"The key is wrong.""#, "");
    let older = Replay::read(older.as_bytes());
    let expected = TranscriptItem::Ended(TurnResult::Failed.into());
    assert_eq!(item(&older), expected);
}

#[test]
fn a_note_from_before_the_first_message_is_of_the_conversation() {
    let (folder, log) = begun();
    let before = [user("old"), reply("Old."), summary("a command was run")];
    log.begin_turn().say(&before, &user("one"), BY);
    let replay = folder.replay(&log);
    assert_eq!(
        shown(&replay),
        ["system: a command was run", "user: one"],
        "not what the chat log remembers"
    );
    assert_eq!(replay.context().len(), 4);
    let alone = folder.begin();
    alone.begin_turn().say(&before[2..], &user("one"), BY);
    assert_eq!(
        shown(&folder.replay(&alone)),
        ["system: a command was run", "user: one"]
    );
}
