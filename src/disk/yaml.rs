//! YAML as JSON values. The only module that uses the YAML crate.
//!
//! Writing keeps every key and its order, unknown ones included. Comments are kept by changing only the lines of the changed keys; if that does not give the
//! intended result, the file is rewritten without them, because the crate drops them.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::atomic;
use super::lock;
use crate::base::problem::{Outcome, Problem};
use crate::formats::yaml_lines;

/// Maximum bytes of a YAML file.
pub(crate) const CAP: u64 = 1024 * 1024;

/// Maximum brackets open at once. The crate refuses more than 128 levels, but only after its scanner has searched all open ones at every character: a file of
/// nothing but brackets takes it minutes.
const MAX_OPEN: usize = 256;

/// True when a text has far more opening brackets than closing ones. Those in strings count too: they come in pairs.
fn has_excess_brackets(text: &str) -> bool {
    let mut open = 0usize;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_OPEN {
            return true;
        }
    }
    false
}

/// Parses a text; an empty one is `null`. `name` is the file in messages. Keys that are not text become text, tags are dropped.
///
/// # Errors
/// `Input` with line and column; `Limit` above [`CAP`].
pub fn parse(text: &str, name: &str) -> Outcome<Value> {
    if text.len() as u64 > CAP {
        return Err(Problem::limit(format!("{name} is larger than 1 MiB.")).next("Shorten it."));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if has_excess_brackets(text) {
        return Err(Problem::input(format!(
            "{name} opens more than {MAX_OPEN} brackets inside each other."
        ))
        .next("Close them, or move the file away to start over."));
    }
    match serde_yaml::from_str::<serde_yaml::Value>(text) {
        Ok(value) => Ok(to_json(value)),
        Err(reason) => {
            let place = reason.location().map_or_else(String::new, |at| {
                format!(" (line {}, column {})", at.line(), at.column())
            });
            let words = reason.to_string();
            let words = words
                .split(" at line ")
                .next()
                .unwrap_or_default()
                .to_owned();
            Err(
                Problem::input(format!("{name} is not valid YAML{place}: {words}."))
                    .next("Fix the line, or move the file away to start over.")
                    .because(reason),
            )
        }
    }
}

/// Reads a file of keys; `None` when it does not exist.
///
/// # Errors
/// As [`parse`]; it cannot be read, or is something else than a YAML mapping.
pub(crate) fn read_keys(path: &Path) -> Outcome<Option<Map<String, Value>>> {
    let Some(text) = atomic::read_text(path, CAP)? else {
        return Ok(None);
    };
    let name = path.display().to_string();
    keys(parse(&text, &name)?, &name).map(Some)
}

/// The keys of a file's value; an empty file has none.
fn keys(value: Value, name: &str) -> Outcome<Map<String, Value>> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(keys) => Ok(keys),
        _ => Err(
            Problem::input(format!("{name} is not a list of \"key: value\" lines."))
                .next("Fix it, or move it away to start over."),
        ),
    }
}

pub(crate) fn text(value: &Value) -> Outcome<String> {
    serde_yaml::to_string(value)
        .map_err(|error| Problem::internal("Cannot write a value as YAML.").because(error))
}

/// Changes the keys of a file under its lock; a missing one starts from the text `beginning`. Nothing is written when `change` changes nothing.
///
/// # Errors
/// The file is not a YAML mapping, `change` fails, or the disk does; the file is then unchanged.
pub(crate) fn update_from(
    path: &Path,
    limit: Duration,
    beginning: impl FnOnce() -> Outcome<String>,
    change: impl FnOnce(&mut Map<String, Value>) -> Outcome<()>,
) -> Outcome<()> {
    let name = path.display().to_string();
    lock::update(path, limit, |old| {
        let old = match old {
            Some(bytes) => String::from_utf8(bytes).map_err(|error| {
                Problem::input(format!("{name} is not UTF-8 text.")).because(error)
            })?,
            None => beginning()?,
        };
        let mut keys = keys(parse(&old, &name)?, &name)?;
        let before = keys.clone();
        change(&mut keys)?;
        if keys == before {
            return Ok(None);
        }
        rewrite(&old, &before, keys).map(|text| Some(text.into_bytes()))
    })
}

/// The text with the changes from `before` to `after`, comments kept if that can be done.
fn rewrite(old: &str, before: &Map<String, Value>, after: Map<String, Value>) -> Outcome<String> {
    let mut new = old.to_owned();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        new = yaml_lines::with(&new, key, None);
    }
    for (key, value) in after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value))
    {
        let one = Map::from_iter([(key.clone(), value.clone())]);
        let lines = text(&Value::Object(one))?;
        new = yaml_lines::with(&new, key, Some(&lines));
    }
    let after = Value::Object(after);
    let same = match parse(&new, "") {
        Ok(Value::Null) => after.as_object().is_some_and(Map::is_empty),
        Ok(value) => value == after,
        Err(_) => false,
    };
    if same { Ok(new) } else { text(&after) }
}

fn to_json(value: serde_yaml::Value) -> Value {
    use serde_yaml::Value as Yaml;
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(b) => Value::Bool(b),
        Yaml::Number(n) => {
            if let Some(whole) = n.as_i64() {
                whole.into()
            } else if let Some(whole) = n.as_u64() {
                whole.into()
            } else {
                // Infinity and not-a-number have no JSON form; their text does.
                n.as_f64()
                    .and_then(serde_json::Number::from_f64)
                    .map_or_else(|| Value::String(n.to_string()), Value::Number)
            }
        }
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(items) => items.into_iter().map(to_json).collect(),
        Yaml::Mapping(pairs) => {
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| (key_text(key), to_json(value)));
            Value::Object(pairs.collect())
        }
        Yaml::Tagged(tagged) => to_json(tagged.value),
    }
}

fn key_text(key: serde_yaml::Value) -> String {
    match to_json(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn update(
        path: &Path,
        limit: Duration,
        change: impl FnOnce(&mut Map<String, Value>) -> Outcome<()>,
    ) -> Outcome<()> {
        update_from(path, limit, || Ok(String::new()), change)
    }

    #[test]
    fn values_are_parsed_and_errors_have_positions() {
        let text =
            "# mine\ndietary: [vegan]\n1: one\nhas_car: no\nkm: 2.5\nat: 12:30\nwhen: 2026-01-02\n";
        assert_eq!(
            parse(text, "f").unwrap(),
            json!({"dietary": ["vegan"], "1": "one", "has_car": "no", "km": 2.5, "at": "12:30", "when": "2026-01-02"})
        );
        assert_eq!(parse("", "f").unwrap(), Value::Null);
        assert_eq!(parse("# only\n", "f").unwrap(), Value::Null);
        assert_eq!(parse("a: .inf", "f").unwrap(), json!({"a": ".inf"}));
        for (text, line) in [
            ("a: 1\nb: [1,\nc: 2\n", "line "),
            ("a: 1\na: 2\n", "duplicate"),
        ] {
            let problem = parse(text, "prefs.yaml").unwrap_err();
            assert!(problem.what.starts_with("prefs.yaml"), "{problem}");
            assert!(problem.what.contains(line), "{problem}");
        }
        assert!(parse(&"a".repeat(2 << 20), "f").is_err());
    }

    #[test]
    fn exploding_aliases_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..12 {
            let refs = vec![format!("*a{}", i - 1); 10].join(", ");
            text.push_str(&format!("a{i}: &a{i} [{refs}]\n"));
        }
        let problem = parse(&text, "bomb.yaml").unwrap_err();
        assert!(problem.what.contains("bomb.yaml"), "{problem}");
    }

    #[test]
    fn unknown_keys_survive_and_no_change_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("preferences.yaml");
        let limit = Duration::from_secs(5);
        std::fs::write(
            &path,
            "# comment\nzeta: {odd: [1, {x: y}]}\nbudget: any\nalpha: 1\n",
        )
        .unwrap();
        update(&path, limit, |_| Ok(())).unwrap();
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .starts_with("# comment")
        );
        update(&path, limit, |keys| {
            keys.insert("budget".into(), "free".into());
            Ok(())
        })
        .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# comment\n"), "{text}");
        let value = Value::Object(read_keys(&path).unwrap().unwrap());
        assert_eq!(
            value.to_string(),
            r#"{"zeta":{"odd":[1,{"x":"y"}]},"budget":"free","alpha":1}"#
        );
        std::fs::write(&path, "- a\n").unwrap();
        assert!(update(&path, limit, |_| Ok(())).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "- a\n");
    }

    #[test]
    fn other_yaml_forms_are_rewritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("preferences.yaml");
        for (text, kept) in [
            ("# c\n{a: 1, b: [x]}\n", false),
            ("a: &x [1]\nb: *x\n", false),
            ("? a\n: 1\nb: 2\n", false),
            ("# c\r\na: 1\r\nb: 2\r\n", true),
            ("%YAML 1.2\n---\na: >-\n  long\n  text # no comment\n", true),
        ] {
            std::fs::write(&path, text).unwrap();
            let mut expected = parse(text, "f").unwrap();
            update(&path, Duration::from_secs(5), |keys| {
                keys.insert("a".into(), json!(["new", "c: d"]));
                Ok(())
            })
            .unwrap();
            expected["a"] = json!(["new", "c: d"]);
            let value = Value::Object(read_keys(&path).unwrap().unwrap());
            assert_eq!(value, expected, "{text}");
            let now = std::fs::read_to_string(&path).unwrap();
            let first = text.split('\n').next().unwrap();
            assert!(!kept || now.starts_with(first), "{now}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(text in "\\PC{0,20}|[ \n:#\\-'\"yesno0-9.~]{0,10}") {
            let value = json!({"k": text, "list": [text]});
            let yaml = super::text(&value).unwrap();
            prop_assert_eq!(parse(&yaml, "f").unwrap(), value);
        }

        #[test]
        fn a_change_affects_one_key_whatever_the_layout(
            lines in proptest::collection::vec("(a|b|#a|c c)?:?( |  |- )(x|1|'y'|# r|\\[p, q\\]|\\||>-|)", 0..8), gone: bool,
        ) {
            let text = lines.join("\n");
            if let Ok(Value::Object(before)) = parse(&text, "f") {
                let mut after = before.clone();
                if gone { after.shift_remove("a"); } else { after.insert("a".into(), json!({"new": [true]})); }
                let new = rewrite(&text, &before, after.clone()).unwrap();
                // A file whose last key was removed is empty.
                let now = match parse(&new, "f").unwrap() {
                    Value::Null => Value::Object(Map::new()),
                    now => now,
                };
                prop_assert_eq!(now, Value::Object(after), "{}", new);
            }
        }

        #[test]
        fn any_text_gives_a_result(text in "[a-c:\\[\\]{}\\-&*!|> \n\t'\"#%]{0,40}") {
            let _ = parse(&text, "f");
        }
    }
}
