//! A hooks file: JSON in the common form, `{"hooks": {EVENT: [{"matcher", "hooks": [{"type": "command", "command", "timeout", "onFailure"}]}]}}`. A file with a
//! fault is refused whole, with line and column: half of the user's checks are none.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use super::event::HookEvent;
use super::hook_set::DEFAULT_LIMIT;
use super::matcher::Matcher;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, nearest, one_line};

/// Largest file in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;
/// Hooks of a file.
const MAX_HOOKS: usize = 1_000;
/// Longest command in bytes.
const MAX_COMMAND_BYTES: usize = 64 << 10;

/// A hook of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileHook {
    pub event: HookEvent,
    pub matcher: Matcher,
    pub command: String,
    pub limit: Duration,
    pub blocks_on_failure: bool,
}

impl FileHook {
    /// What it is, in a line, with its command whole: somebody agrees to it by this line.
    pub(crate) fn line(&self) -> String {
        let matcher = match self.matcher.text() {
            text if text.is_empty() => String::new(),
            text => format!(" ({})", clip(&one_line(&text), 100)),
        };
        let lines = self.command.lines().map(one_line);
        let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
        // Where a line ends is to be seen: after the sign of a comment the next one begins with a command.
        format!(
            "{}{matcher}: {}",
            self.event.name(),
            lines.join(" \u{2424} ")
        )
    }
}

/// The hooks of a file's text, in its order.
///
/// # Errors
/// What is wrong, and in which line and column.
pub(crate) fn parse(text: &str) -> Outcome<Vec<FileHook>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: HooksFile = serde_json::from_str(text).map_err(|error| fault(&error))?;
    let Some(Events(hooks)) = file.hooks else {
        // A file in which the events stand elsewhere would be one without checks.
        let is_empty =
            serde_json::from_str::<Map<String, Value>>(text).is_ok_and(|all| all.is_empty());
        return match is_empty {
            true => Ok(Vec::new()),
            false => Err(Problem::input(
                "Line 1: there is no object \"hooks\"; events stand in it.",
            )),
        };
    };
    match hooks.len() > MAX_HOOKS {
        true => Err(Problem::limit(format!(
            "It has more than {MAX_HOOKS} hooks."
        ))),
        false => Ok(hooks),
    }
}

fn fault(error: &serde_json::Error) -> Problem {
    let (line, column) = (error.line(), error.column());
    let whole = error.to_string();
    let place = format!(" at line {line} column {column}");
    let what = whole.strip_suffix(&place).unwrap_or(&whole);
    let what = escape_controls(&clip(what, 300));
    let end = if what.ends_with('?') { "" } else { "." };
    Problem::input(format!("Line {line}, column {column}: {what}{end}"))
}

/// Whether a file that cannot be read whole wants something to fail where a hook fails, as far as one can tell.
pub(crate) fn wants_blocking(text: &str) -> bool {
    // However it is written: a slip in the key is a fault itself.
    let text = text.to_ascii_lowercase();
    let mut keys = text.match_indices("\"onfailure\"");
    keys.any(|(at, key)| {
        let rest = text.get(at + key.len()..).unwrap_or_default();
        let value = rest.trim_start().strip_prefix(':');
        value.is_some_and(|value| value.trim_start().starts_with("\"block\""))
    })
}

#[derive(Deserialize)]
#[serde(expecting = "an object with \"hooks\"")]
struct HooksFile {
    #[serde(default)]
    hooks: Option<Events>,
}

/// The hooks of all events.
struct Events(Vec<FileHook>);

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OfEvents;
        impl<'de> Visitor<'de> for OfEvents {
            type Value = Events;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of events")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Events, A::Error> {
                let mut all = Vec::new();
                while let Some(Word(event)) = map.next_key::<Word<HookEvent>>()? {
                    for group in map.next_value::<Vec<Group>>()? {
                        let matcher = group.matcher.map_or(Matcher::All, |matcher| matcher.0);
                        let hooks = group.hooks.into_iter();
                        all.extend(hooks.map(|entry| entry.hook(event, matcher.clone())));
                    }
                }
                Ok(Events(all))
            }
        }
        from.deserialize_map(OfEvents)
    }
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    matcher: Option<Word<Matcher>>,
    hooks: Vec<Entry>,
    #[serde(flatten)]
    _others: OtherKeys<OfGroup>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    _kind: Word<CommandKind>,
    command: Word<CommandText>,
    #[serde(default)]
    timeout: Option<Seconds>,
    #[serde(default, rename = "onFailure")]
    on_failure: Option<Word<OnFailure>>,
    /// Restricts it in a way that nobody here understands.
    #[serde(default, rename = "if")]
    _condition: Option<Unsupported>,
    #[serde(flatten)]
    _others: OtherKeys<OfEntry>,
}

/// The keys of an object that are not its own. They count for other programs, but one that is nearly one of its own is a slip: what was meant would not hold.
struct OtherKeys<T>(PhantomData<T>);

/// The keys that an object has here.
trait OwnKeys {
    const KEYS: &'static [&'static str];
}

struct OfGroup;

impl OwnKeys for OfGroup {
    const KEYS: &'static [&'static str] = &["matcher", "hooks"];
}

struct OfEntry;

impl OwnKeys for OfEntry {
    const KEYS: &'static [&'static str] = &["type", "command", "timeout", "onFailure"];
}

impl<'de, T: OwnKeys> Deserialize<'de> for OtherKeys<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let keys = BTreeMap::<String, IgnoredAny>::deserialize(from)?;
        // A comment is near to a command, and none.
        for key in keys.keys().filter(|key| *key != "comment") {
            if let Some(near) = nearest(key, T::KEYS.iter().copied()).first() {
                return Err(de::Error::custom(format!(
                    "there is no key \"{}\"; did you mean {near}?",
                    clip(key, 60)
                )));
            }
        }
        Ok(Self(PhantomData))
    }
}

impl Entry {
    fn hook(self, event: HookEvent, matcher: Matcher) -> FileHook {
        FileHook {
            event,
            matcher,
            command: self.command.0.0,
            limit: self.timeout.map_or(DEFAULT_LIMIT, |seconds| seconds.0),
            blocks_on_failure: matches!(self.on_failure, Some(Word(OnFailure::Block))),
        }
    }
}

/// A text that stands for something.
struct Word<T>(T);

/// What texts of a hooks file stand for. What is wrong with one is told where it stands.
trait FromWord: Sized {
    fn from_word(word: &str) -> Result<Self, String>;
}

impl<'de, T: FromWord> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OfWord<T>(PhantomData<T>);
        impl<T: FromWord> Visitor<'_> for OfWord<T> {
            type Value = Word<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Self::Value, E> {
                T::from_word(word).map(Word).map_err(E::custom)
            }
        }
        from.deserialize_str(OfWord(PhantomData))
    }
}

impl FromWord for HookEvent {
    fn from_word(word: &str) -> Result<Self, String> {
        Self::parse(word).ok_or_else(|| {
            let near = nearest(word, Self::names());
            let near = near
                .first()
                .map_or_else(String::new, |near| format!("; did you mean {near}?"));
            format!("there is no event \"{}\"{near}", clip(word, 60))
        })
    }
}

impl FromWord for Matcher {
    fn from_word(word: &str) -> Result<Self, String> {
        let problem = |problem: Problem| problem.what.trim_end_matches('.').to_owned();
        Self::parse(word).map_err(problem)
    }
}

struct CommandKind;

impl FromWord for CommandKind {
    fn from_word(word: &str) -> Result<Self, String> {
        match word {
            "command" => Ok(Self),
            other => Err(format!(
                "hooks are of the type \"command\", not \"{}\"",
                clip(other, 60)
            )),
        }
    }
}

struct CommandText(String);

impl FromWord for CommandText {
    fn from_word(word: &str) -> Result<Self, String> {
        match word {
            _ if word.trim().is_empty() => Err("the command is empty".to_owned()),
            _ if word.contains('\0') => Err("the command has a NUL character".to_owned()),
            _ if word.len() > MAX_COMMAND_BYTES => Err(format!(
                "the command is longer than {MAX_COMMAND_BYTES} bytes"
            )),
            _ => Ok(Self(word.to_owned())),
        }
    }
}

enum OnFailure {
    Continue,
    Block,
}

impl FromWord for OnFailure {
    fn from_word(word: &str) -> Result<Self, String> {
        match word {
            "continue" => Ok(Self::Continue),
            "block" => Ok(Self::Block),
            other => Err(format!(
                "onFailure is continue or block, not \"{}\"",
                clip(other, 60)
            )),
        }
    }
}

/// A time in seconds.
struct Seconds(Duration);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(from)?;
        let seconds = Duration::try_from_secs_f64(seconds);
        seconds
            .map(Seconds)
            .map_err(|_| de::Error::custom("timeout is no number of seconds"))
    }
}

struct Unsupported;

impl<'de> Deserialize<'de> for Unsupported {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(from)?;
        Err(de::Error::custom(
            "\"if\" is not supported: a hook would run where it is not meant to; let the command look at its input",
        ))
    }
}

/// What the hooks of another program's settings are in a file of Marvin's, and what of them was left out, a line each.
///
/// # Errors
/// The text is no JSON object with hooks.
pub(crate) fn import(text: &str) -> Outcome<(Value, Vec<String>)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let settings: Value = serde_json::from_str(text).map_err(|error| fault(&error))?;
    let Some(events) = settings.get("hooks").and_then(Value::as_object) else {
        return Err(Problem::input("It has no object \"hooks\"."));
    };
    let mut left_out = Vec::new();
    let mut hooks = Map::new();
    for (name, groups) in events {
        let shown = escape_controls(&clip(name, 60));
        let Some(event) = HookEvent::parse(name) else {
            left_out.push(format!("{shown}: this version has no such event."));
            continue;
        };
        let mut kept = Vec::new();
        for group in groups.as_array().into_iter().flatten() {
            let entries = group.get("hooks").and_then(Value::as_array);
            let mut commands = Vec::new();
            for entry in entries.into_iter().flatten() {
                match imported(entry) {
                    Ok(entry) => commands.push(entry),
                    Err(why) => left_out.push(format!("{shown}: {why}.")),
                }
            }
            let matcher = group
                .get("matcher")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if let Err(problem) = Matcher::parse(matcher) {
                left_out.push(format!("{shown}: {}", problem.what));
            } else if !commands.is_empty() {
                kept.push(match matcher {
                    "" | "*" => json!({"hooks": commands}),
                    matcher => json!({"matcher": matcher, "hooks": commands}),
                });
            }
        }
        if !kept.is_empty() {
            hooks.insert(event.name().to_owned(), Value::from(kept));
        }
    }
    Ok((json!({"hooks": hooks}), left_out))
}

/// A hook of another program as one of Marvin's.
fn imported(entry: &Value) -> Result<Value, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    CommandKind::from_word(text("type"))?;
    let CommandText(command) = CommandText::from_word(text("command"))?;
    let shown = escape_controls(&clip(&command, 60));
    for key in ["if", "async"] {
        if entry
            .get(key)
            .is_some_and(|value| *value != Value::Bool(false))
        {
            return Err(format!("\"{key}\" of {shown} is not supported"));
        }
    }
    let mut hook = json!({"type": "command", "command": command});
    if let (Some(hook), Some(seconds)) = (
        hook.as_object_mut(),
        entry
            .get("timeout")
            .filter(|value| Seconds::deserialize(*value).is_ok()),
    ) {
        hook.insert("timeout".to_owned(), seconds.clone());
    }
    Ok(hook)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_in_its_order_with_what_it_leaves_out() {
        let text = r#"{"$schema": "x", "hooks": {
            "PreToolUse": [
                {"matcher": "run_command|create_file", "hooks": [
                    {"type": "command", "command": "./check.sh", "timeout": 5, "onFailure": "block", "statusMessage": "…", "comment": "…"},
                    {"type": "command", "command": "true"}]},
                {"hooks": []}],
            "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done", "onFailure": "continue"}]}]}}"#;
        let hooks = parse(text).unwrap();
        let lines: Vec<String> = hooks.iter().map(FileHook::line).collect();
        assert_eq!(
            lines,
            [
                "PreToolUse (run_command|create_file): ./check.sh",
                "PreToolUse (run_command|create_file): true",
                "Stop: say done"
            ]
        );
        assert_eq!(hooks[0].limit, Duration::from_secs(5));
        assert!(hooks[0].blocks_on_failure && !hooks[1].blocks_on_failure);
        assert_eq!(hooks[1].limit, DEFAULT_LIMIT);
        assert!(hooks[0].matcher.matches(&["create_file"]) && !hooks[1].matcher.matches(&["tree"]));
        assert!(hooks[2].matcher.matches(&["anything"]));
        assert!(parse("{}").unwrap().is_empty());
        assert!(parse("\u{feff}{\"hooks\": {}}").unwrap().is_empty());
    }

    #[test]
    fn the_line_about_a_hook_has_its_command_whole() {
        let command = format!("check {} # no\n\n touch HIDDEN", "-- --never ".repeat(300));
        let file =
            json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
        let line = parse(&file.to_string()).unwrap()[0].line();
        assert!(
            line.ends_with("-- --never # no \u{2424} touch HIDDEN"),
            "{line}"
        );
        assert_eq!(line.matches("--never").count(), 300);
    }

    #[test]
    fn a_fault_is_told_with_its_line_and_column() {
        let entry =
            |entry: &str| format!("{{\"hooks\":\n {{\"Stop\":\n  [{{\"hooks\": [{entry}]}}]}}}}");
        for (text, place, words) in [
            (
                "{\"hooks\":\n {\"PretoolUse\": []}}".to_owned(),
                "Line 2, column 14",
                "did you mean PreToolUse?",
            ),
            (
                "{\"hooks\":\n {\"Stop\": {}}}".to_owned(),
                "Line 2",
                "sequence",
            ),
            (
                "{\"hooks\": []}".to_owned(),
                "Line 1",
                "an object of events",
            ),
            (
                "{\"PreToolUse\": [{\"hooks\": []}]}".to_owned(),
                "Line 1",
                "no object \"hooks\"",
            ),
            ("{\"hooks\": null}".to_owned(), "Line 1", "no object"),
            (
                "{\"hooks\": {\"Stop\":\n [{\"matchers\": \"a\", \"hooks\": []}]}}".to_owned(),
                "Line 2",
                "did you mean matcher?",
            ),
            (
                entry("{\"type\": \"command\", \"command\": \"a\", \"onfailure\": \"block\"}"),
                "Line 3",
                "did you mean onFailure?",
            ),
            (
                entry("{\"type\": \"command\", \"command\": \"a\", \"timout\": 5}"),
                "Line 3",
                "did you mean timeout?",
            ),
            ("[1]".to_owned(), "Line 1", ""),
            ("{\"hooks\": {".to_owned(), "Line 1, column 11", "EOF"),
            (String::new(), "Line 1", "EOF"),
            (
                entry("{\"type\": \"prompt\", \"prompt\": \"x\"}"),
                "Line 3",
                "not \"prompt\"",
            ),
            (
                entry("{\"type\": \"command\"}"),
                "Line 3",
                "missing field `command`",
            ),
            (
                entry("{\"type\": \"command\", \"command\": \" \"}"),
                "Line 3",
                "the command is empty",
            ),
            (
                entry("{\"type\": \"command\", \"command\": \"a\\u0000\"}"),
                "Line 3",
                "NUL",
            ),
            (
                entry("{\"type\": \"command\", \"command\": 5}"),
                "Line 3",
                "expected a text",
            ),
            (
                entry("{\"type\": \"command\", \"command\": \"a\", \"timeout\": -1}"),
                "Line 3",
                "no number of seconds",
            ),
            (
                entry("{\"type\": \"command\", \"command\": \"a\", \"timeout\": \"5\"}"),
                "Line 3",
                "invalid type",
            ),
            (
                entry("{\"type\": \"command\", \"command\": \"a\", \"onFailure\": \"stop\"}"),
                "Line 3",
                "continue or block",
            ),
            (
                entry("{\"type\": \"command\", \"command\": \"a\", \"if\": \"Bash(rm:*)\"}"),
                "Line 3",
                "\"if\" is not supported",
            ),
            (
                "{\"hooks\": {\"Stop\":\n\n [{\"matcher\": \"a(\", \"hooks\": []}]}}".to_owned(),
                "Line 3",
                "no regular expression",
            ),
            (
                "{\"hooks\": {\"Stop\": [{\"matcher\": \"(a{1000}){1000}\", \"hooks\": []}]}}"
                    .to_owned(),
                "Line 1",
                "is too large",
            ),
            ("null".to_owned(), "Line 1", "expected an object with"),
        ] {
            let problem = parse(&text).unwrap_err().what;
            assert!(
                problem.starts_with(place) && problem.contains(words),
                "{text}: {problem}"
            );
        }
        let many = vec![r#"{"type": "command", "command": "a"}"#; MAX_HOOKS + 1].join(",");
        assert!(
            parse(&entry(&many))
                .unwrap_err()
                .what
                .contains("more than 1000")
        );
    }

    #[test]
    fn what_can_be_read_of_a_broken_file_says_whether_failures_block() {
        assert!(wants_blocking(
            "{\"hooks\": [{\"onFailure\" :\n \"block\", "
        ));
        assert!(wants_blocking("\"onfailure\": \"block\""));
        for text in [
            "",
            "\"onFailure\": \"continue\"",
            "\"onFailure\"",
            "\"block\"",
            "onFailure: block",
            "\"onFailures\": \"block\"",
        ] {
            assert!(!wants_blocking(text), "{text}");
        }
    }

    #[test]
    fn settings_of_another_program_become_a_file_that_can_be_read() {
        let settings = r#"{"permissions": {}, "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [
                {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/check", "timeout": 10},
                {"type": "prompt", "prompt": "Is it good?"},
                {"type": "command", "command": "later", "async": true}]}],
            "WorktreeCreate": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#;
        let (file, left_out) = import(settings).unwrap();
        let hooks = parse(&file.to_string()).unwrap();
        assert_eq!(hooks.len(), 1);
        assert!(hooks[0].matcher.matches(&["Bash"]) && hooks[0].limit == Duration::from_secs(10));
        assert_eq!(left_out.len(), 3, "{left_out:?}");
        assert!(left_out[2].contains("WorktreeCreate"));
        assert!(import("{}").is_err() && import("[").is_err());
    }
}
