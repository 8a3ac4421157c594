//! The log on real files: format, layouts, torn ends, links, undo, compaction.

use super::*;
use crate::base::testing::assert_has;
use crate::chat::message::Message;
use std::os::unix::fs::symlink;

/// A log in a folder of its own, and the warnings it produced.
struct Case {
    dir: tempfile::TempDir,
    log: ChatLog,
    warned: Vec<String>,
}

impl Case {
    fn new(text: impl AsRef<[u8]>) -> Self {
        let case = Self::missing();
        fs::write(case.log.path(), text).unwrap();
        case
    }

    fn missing() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = crate::base::env::Env::from([("MARVIN_NOW", "2026-11-21T14:30:05+00:00[UTC]")]);
        let log = ChatLog::new(dir.path().join("chat_log.json"), &Clock::new(&env));
        Self {
            dir,
            log,
            warned: Vec::new(),
        }
    }

    fn say(&mut self, role: LogRole, text: &str) {
        let warned = &mut self.warned;
        self.log
            .append(&[(role, text)], &mut |w| warned.push(w))
            .unwrap();
    }

    fn seed(&mut self, n: usize) -> Vec<String> {
        let warned = &mut self.warned;
        let entries = self.log.seed(n, &mut |w| warned.push(w));
        entries.into_iter().map(|entry| entry.text).collect()
    }

    fn undo(&mut self, said: Option<&str>) -> Outcome<Vec<LogEntry>> {
        let warned = &mut self.warned;
        self.log.undo_last_exchange(said, &mut |w| warned.push(w))
    }

    fn text(&self) -> String {
        fs::read_to_string(self.log.path()).unwrap()
    }

    fn parsed(&self) -> Vec<Value> {
        serde_json::from_str(&self.text()).unwrap()
    }
}

fn summary(text: &str) -> RawEntry {
    RawEntry::from_iter([
        ("role".to_owned(), "system".into()),
        ("text".to_owned(), text.into()),
    ])
}

#[test]
fn a_new_log_has_an_entry_a_line() {
    let mut case = Case::missing();
    assert_eq!(case.seed(5), [] as [&str; 0]);
    assert!(!case.log.path().exists(), "reading made a file");
    case.say(LogRole::You, " \n");
    assert!(!case.log.path().exists(), "an empty text was stored");
    case.say(LogRole::You, "a \"quoted\"\nline \u{1b}[0m");
    case.say(LogRole::Assistant, "b");
    assert_eq!(
        case.text(),
        "[\n{\"role\":\"you\",\"text\":\"a \\\"quoted\\\"\\nline \\u001b[0m\",\"time\":\"14:30\"},\n\
         {\"role\":\"assistant\",\"text\":\"b\",\"time\":\"14:30\"}\n]\n"
    );
    assert_eq!(case.seed(1), ["b"]);
    assert_eq!(case.warned, [] as [String; 0]);
}

#[test]
fn the_layout_of_the_file_is_kept_and_every_old_byte() {
    let old = r#"{"role": "you", "text": "x", "time": "2026-01-02T03:04:05Z"}"#;
    let strange = r#"{"kind": 7, "role": "oracle", "text": "y", "parts": [{"a": []}]}"#;
    for (before, kept, added) in [
        (
            format!("[{old},{strange}]"),
            format!("[{old},{strange}"),
            "{\"role\":\"you\"",
        ),
        (
            format!("\u{feff}[\n  {old},\n  {strange}\n]"),
            format!("\u{feff}[\n  {old},\n  {strange},\n  "),
            "{\"role\":\"you\"",
        ),
        (
            "[\n    {\n        \"text\": \"z\"\n    }\n]\n\n".to_owned(),
            "[\n    {\n        \"text\": \"z\"\n    },\n    {\n".to_owned(),
            "      \"role\": \"you\",\n",
        ),
        (" [ ] ".to_owned(), "[\n".to_owned(), "{\"role\""),
    ] {
        let mut case = Case::new(&before);
        case.say(LogRole::You, "new");
        let text = case.text();
        assert!(text.starts_with(&kept), "{text}");
        assert!(text.contains(added) && text.ends_with("\n]\n"), "{text}");
        case.say(LogRole::Assistant, "newer");
        assert_eq!(case.seed(2), ["new", "newer"]);
        assert_eq!(case.undo(Some("new")).unwrap().len(), 2);
        let text = case.text();
        let bom = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let now: Value = serde_json::from_str(bom).unwrap();
        let then: Value =
            serde_json::from_str(before.strip_prefix('\u{feff}').unwrap_or(&before)).unwrap();
        assert_eq!(now, then);
        assert_eq!(case.warned, [] as [String; 0]);
    }
}

#[test]
fn a_torn_end_is_mended_at_every_byte() {
    let mut whole = Case::missing();
    whole.say(LogRole::You, "one");
    whole.say(LogRole::Assistant, "tw\u{f6} },{}]");
    let text = whole.text();
    let second = text.rfind(",\n").unwrap();
    for at in 1..text.len() - 1 {
        if text.as_bytes()[..at].trim_ascii_end().ends_with(b"\n]") {
            continue;
        }
        let mut case = Case::new(&text.as_bytes()[..at]);
        case.say(LogRole::You, "three");
        let texts: Vec<String> = case
            .parsed()
            .iter()
            .map(|e| e["text"].as_str().unwrap().to_owned())
            .collect();
        let both = at > text.rfind('}').unwrap();
        let one = at >= second;
        let expected: &[&str] = match (both, one) {
            (true, _) => &["one", "tw\u{f6} },{}]", "three"],
            (_, true) => &["one", "three"],
            _ => &["three"],
        };
        assert_eq!(texts, expected, "cut at {at}");
        assert_eq!(case.warned.len(), 1, "cut at {at}: {:?}", case.warned);
        let mut seen = Case::new(&text.as_bytes()[..at]);
        seen.seed(3);
        assert_eq!(seen.parsed().len(), expected.len() - 1, "seeding mends too");
    }
}

#[test]
fn what_is_no_log_is_moved_aside_and_a_link_stays_a_link() {
    let mut case = Case::missing();
    let real = case.dir.path().join("elsewhere.json");
    fs::write(&real, "{\"not\": \"a log\"}").unwrap();
    symlink("elsewhere.json", case.log.path()).unwrap();
    assert_eq!(case.seed(3), [] as [&str; 0]);
    assert!(case.warned[0].contains("elsewhere.json.corrupt-20261121_143005"));
    case.say(LogRole::You, "anew");
    assert!(case.log.path().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("anew"));
    let aside = case
        .dir
        .path()
        .join("elsewhere.json.corrupt-20261121_143005");
    assert_eq!(fs::read_to_string(aside).unwrap(), "{\"not\": \"a log\"}");
    case.log
        .compact(|_, _| Some(vec![summary("s")]), &mut |_| {})
        .unwrap()
        .unwrap();
    assert!(case.log.path().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"s\""));
}

#[test]
fn a_folder_in_its_place_is_a_problem_and_nothing_more() {
    let mut case = Case::missing();
    fs::create_dir(case.log.path()).unwrap();
    assert_eq!(case.seed(3), [] as [&str; 0]);
    assert!(case.warned[0].contains("not a regular file"));
    assert!(
        case.log
            .append(&[(LogRole::You, "x")], &mut |_| {})
            .is_err()
    );
    assert!(case.log.path().is_dir());
}

#[test]
fn the_last_exchange_is_taken_back_and_no_more() {
    let mut case = Case::missing();
    assert_eq!(case.undo(None).unwrap_err().kind, ProblemKind::Missing);
    case.say(LogRole::System, "welcome");
    case.say(LogRole::You, "first");
    case.say(LogRole::Assistant, "1");
    let before = case.text();
    case.say(LogRole::You, "second");
    for n in 0..100 {
        case.say(LogRole::Assistant, &format!("part {n}"));
    }
    assert_eq!(
        case.undo(Some("first")).unwrap_err().kind,
        ProblemKind::Refused
    );
    let taken = case.undo(Some("second")).unwrap();
    assert_eq!((taken.len(), taken[0].text.as_str()), (101, "second"));
    assert_eq!(case.text(), before);
    assert_eq!(case.undo(None).unwrap().len(), 2);
    assert!(case.undo(None).is_err());
    assert_eq!(case.seed(9), ["welcome"]);
    let mut only = Case::new("[{\"role\":\"you\",\"text\":\"x\"}]");
    only.undo(None).unwrap();
    assert_eq!(only.parsed(), [] as [Value; 0]);
}

#[test]
fn compaction_keeps_the_last_entries_word_for_word_and_a_copy_of_all() {
    let mut case = Case::missing();
    for n in 0..30 {
        case.say(LogRole::You, &format!("entry {n}"));
    }
    let before = case.text();
    let mut backups = Vec::new();
    for keep in [20, 5] {
        let change = |mut entries: Vec<RawEntry>, _: &Path| {
            let kept = entries.split_off(entries.len() - keep);
            let text = format!("{} from {}", entries.len(), entries[0]["text"]);
            Some(std::iter::once(summary(&text)).chain(kept).collect())
        };
        backups.extend(case.log.compact(change, &mut |_| {}).unwrap());
    }
    assert_eq!(fs::read_to_string(&backups[0]).unwrap(), before);
    let name = backups[1].file_name().unwrap().to_string_lossy();
    assert_eq!(name, "chat_log.json.backup.20261121_143005-2");
    let parsed = case.parsed();
    assert_eq!(parsed[0]["role"], "system");
    assert_eq!(parsed[0]["text"], "16 from \"10 from \\\"entry 0\\\"\"");
    assert_eq!(parsed[1]["text"], "entry 25");
    assert!(before.ends_with(&case.text()[case.text().find("},\n").unwrap() + 3..]));
    let now = case.text();
    assert_eq!(case.log.compact(|_, _| None, &mut |_| {}).unwrap(), None);
    assert_eq!(case.text(), now);
}

#[test]
fn a_torn_log_is_mended_before_it_is_compacted() {
    let case = Case::new("[\n{\"role\":\"you\",\"text\":\"a\"},\n{\"role\":\"assis");
    let mut warned = Vec::new();
    let entries = case.log.entries(&mut |w| warned.push(w)).unwrap().unwrap();
    assert_eq!((entries.len(), warned.len()), (1, 1));
    let backup = case
        .log
        .compact(|entries, _| Some(entries), &mut |w| warned.push(w))
        .unwrap();
    assert!(backup.is_some() && warned.len() == 1);
    assert_eq!(case.parsed().len(), 1);
    let none = Case::missing();
    assert_eq!(
        none.log
            .compact(|entries, _| Some(entries), &mut |_| {})
            .unwrap(),
        None
    );
    assert!(none.log.entries(&mut |_| {}).unwrap().is_none());
}

#[test]
fn only_the_talk_goes_to_a_model() {
    let case = Case::new(
        r#"[{"role":"system","text":"s"},{"role":"user","text":"u"},{"role":"assistant","text":"a"},{"role":"x","text":"x"}]"#,
    );
    let entries = case.log.seed(9, &mut |_| {});
    assert_eq!(
        messages(&entries),
        [Message::user("u"), Message::assistant("a")]
    );
}

#[test]
fn only_entries_that_become_memory_say_when_to_the_second() {
    let mut case = Case::missing();
    case.say(LogRole::You, "plain");
    let at: Timestamp = "2026-11-21T14:30:05.25Z".parse().unwrap();
    let entries = [(LogRole::You, "to be remembered", Some(at))];
    case.log.append_dated(&entries, &mut |_| {}).unwrap();
    let text = case.text();
    assert_has(
        &text,
        &["{\"role\":\"you\",\"text\":\"plain\",\"time\":\"14:30\"}"],
    );
    let read = case.log.last(9, &mut |_| {});
    let stamps: Vec<_> = read.iter().map(|entry| entry.at).collect();
    assert_eq!(stamps, [None, Some(at)]);
}

#[test]
fn what_is_forgotten_goes_from_the_log_and_its_copies() {
    let entry = |text: &str, at: &str| {
        format!(
            "{{\"role\":\"you\",\"text\":\"{text}\",\"theirs\":[1],\"time\":\"14:30\",\"at\":\"{at}\"}}"
        )
    };
    let (one, two) = (
        entry("my kayak", "2026-11-01T10:00:00Z"),
        entry("tea", "2026-11-02T10:00:00Z"),
    );
    let mut case = Case::new(format!("[\n{one},\n{two}\n]\n"));
    let beside = |name: &str| case.dir.path().join(name);
    let backup = beside("chat_log.json.backup.20260101_000000");
    fs::write(&backup, format!("[{one}]")).unwrap();
    let other = beside("chat_log.json.backup.20260102_000000");
    let unchanged = format!("[{two}]  ");
    fs::write(&other, &unchanged).unwrap();
    let torn = beside("chat_log.json.corrupt-20260101_000000");
    fs::write(&torn, "[{\"text\":\"my kay").unwrap();
    let entry = |entry: &LogEntry| entry.text.contains("kayak");
    let file = |path: &Path| fs::read_to_string(path).unwrap().contains("kay");
    let wanted = ForgetEntries {
        entry: &entry,
        file: &file,
    };
    let found = case.log.find_forgotten(&wanted);
    let files: Vec<&Path> = found
        .entries
        .iter()
        .map(|(path, _)| path.as_path())
        .collect();
    assert_eq!(
        (files, found.files.as_slice()),
        (vec![case.log.path(), &backup], &[torn.clone()][..])
    );
    let text = case.text();
    let warned = &mut case.warned;
    assert_eq!(
        case.log.forget(&wanted, &mut |w| warned.push(w)).unwrap(),
        found
    );
    assert_ne!(case.text(), text);
    assert_eq!(case.text(), format!("[\n{two}\n]\n"));
    assert_eq!(fs::read_to_string(&backup).unwrap(), EMPTY);
    assert_eq!(fs::read_to_string(&other).unwrap(), unchanged);
    assert!(!torn.exists());
    case.say(LogRole::You, "go on");
    assert_eq!(case.parsed().len(), 2);
    assert!(case.warned.is_empty());
    let found = case.log.find_forgotten(&wanted);
    assert!(found.entries.is_empty() && found.files.is_empty());
}

#[test]
fn a_torn_log_loses_what_is_forgotten_and_its_torn_end() {
    let mut case = Case::new(
        "[\n{\"role\":\"you\",\"text\":\"my kayak\"},\n{\"role\":\"you\",\"text\":\"tea\"},\n{\"role\":\"you\",\"te",
    );
    let wanted = ForgetEntries {
        entry: &|entry: &LogEntry| entry.text.contains("kayak"),
        file: &|_: &Path| true,
    };
    let found = case.log.find_forgotten(&wanted);
    assert_eq!((found.entries.len(), found.files.len()), (1, 0));
    let warned = &mut case.warned;
    assert_eq!(
        case.log.forget(&wanted, &mut |w| warned.push(w)).unwrap(),
        found
    );
    assert_eq!(case.parsed().len(), 1);
    assert_eq!(case.warned.len(), 1, "{:?}", case.warned);
}
