//! Module `profiles`: the user's profiles and preferences.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::base::params::{Param, Type, choice};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::store::{preferences, profiles};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{Effect, RECORDS, ToolOk};

tools! { "profiles";
    /// Switch user profile, creating it if new.
    switch_profile(SwitchProfile; RECORDS.seconds(10).idempotent()) {
        /// name; lower-cased, spaces to underscores
        profile_name: String, example: "ann", alias: &["name", "profile"];
    } => switch, says ["switch to profile {profile_name}", "switch profile to {profile_name}"];

    /// Change one preference.
    update_preferences(UpdatePreferences; RECORDS.seconds(5).destructive().idempotent()) {
        /// preference name
        key: PreferenceKey, example: "dietary";
        /// set, add or remove
        action: Action = "set";
        /// text; lists comma-separated
        value: PreferenceValue, example: "vegetarian";
    } => update;
}

/// The published keys.
const KEYS: [&str; 9] = [
    "dietary",
    "spice_tolerance",
    "favorite_cuisines",
    "avoid_cuisines",
    "has_car",
    "max_distance_km",
    "budget",
    "accessibility",
    "notes",
];
/// Further known keys.
const MORE_KEYS: [&str; 2] = ["distance_unit", "contact"];

/// The name of a preference: a documented one, or any key that is in the file.
#[derive(Debug, Clone)]
pub(crate) struct PreferenceKey(String);

impl Param for PreferenceKey {
    const TYPE: Type = Type::Choice(&KEYS);
    fn read(value: &Value) -> Option<Self> {
        let name = value.as_str()?.trim();
        let plain = name.to_lowercase().replace([' ', '-'], "_");
        let known = KEYS.contains(&plain.as_str()) || MORE_KEYS.contains(&plain.as_str());
        Some(Self(if known { plain } else { name.to_owned() }))
    }
}

/// A value from a model: text, or the list or number that the text stands for.
#[derive(Debug, Clone)]
pub(crate) struct PreferenceValue(String);

impl Param for PreferenceValue {
    const TYPE: Type = Type::Text;
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Array(items) => {
                let items: Option<Vec<String>> = items.iter().map(String::read).collect();
                items.map(|items| Self(items.join(", ")))
            }
            other => String::read(other).map(Self),
        }
    }
}

choice! {
    /// What to do with a preference.
    pub(crate) enum Action {
        /// Replace it.
        Set = "set",
        /// Add to a list or text.
        Add = "add",
        /// Remove from a list or text, or delete the value.
        Remove = "remove",
    }
}

fn switch(ctx: &ToolContext, args: SwitchProfile) -> Outcome<ToolOk> {
    let session = &ctx.session;
    let name = profiles::name(&session.paths, &args.profile_name)?;
    let before = session.profile();
    let new = profiles::switch(&session.paths, &name)?;
    let profile = session.paths.profile(&name)?;
    let mut out = match (new, name == before) {
        (true, _) => format!("Profile \"{name}\" was created and is active now."),
        (false, true) => format!("Profile \"{name}\" is active already."),
        (false, false) => format!("Switched from profile \"{before}\" to \"{name}\"."),
    };
    let _ = write!(
        out,
        "\nFolder: {}\nPreferences: {}\nConversation: {}\nProfiles: {}",
        profile.dir().display(),
        profile.preferences().display(),
        profile.chat_log().display(),
        profiles::names(&session.paths).join(", ")
    );
    if name == before {
        return Ok(ToolOk::from(out));
    }
    session.set_profile(&name);
    Ok(ToolOk::from(out).and(Effect::SwitchProfile(name)))
}

fn update(ctx: &ToolContext, args: UpdatePreferences) -> Outcome<String> {
    let profile = ctx.session.paths.profile(&ctx.session.profile())?;
    let PreferenceKey(key) = args.key;
    let PreferenceValue(given) = args.value;
    let mut report = String::new();
    preferences::update(&profile, |keys| {
        let old = keys.get(&key);
        if old.is_none() && !is_known(&key) {
            return Err(unknown(&key, keys));
        }
        let new = changed(&key, old, args.action, given.trim())?;
        report = if old == new.as_ref() {
            format!("{key} is {} as before.", shown(old))
        } else {
            format!("{key}: {} (was {}).", shown(new.as_ref()), shown(old))
        };
        match new {
            Some(new) => keys.insert(key.clone(), new),
            None => keys.shift_remove(&key),
        };
        Ok(())
    })?;
    Ok(report)
}

fn is_known(key: &str) -> bool {
    KEYS.contains(&key) || MORE_KEYS.contains(&key)
}

fn unknown(key: &str, keys: &Map<String, Value>) -> Problem {
    let own = keys.keys().map(String::as_str).filter(|key| !is_known(key));
    let known = KEYS.into_iter().chain(MORE_KEYS).chain(own);
    let problem = Problem::input(format!(
        "There is no preference \"{}\".",
        clip(&escape_controls(key), 60)
    ));
    problem.near(key, known).next(format!(
        "The preferences are: {}. What fits none of them goes to notes.",
        KEYS.join(", ")
    ))
}

/// The type of a preference.
enum PreferenceForm {
    List,
    Words(&'static [&'static str]),
    Flag,
    Distance,
    Number,
    Text,
}

impl PreferenceForm {
    /// By key; the user's own keys keep their type.
    fn of(key: &str, old: Option<&Value>) -> Self {
        match key {
            "dietary" | "favorite_cuisines" | "avoid_cuisines" | "accessibility" => Self::List,
            "spice_tolerance" => Self::Words(&["none", "mild", "medium", "hot", "extra-hot"]),
            "budget" => Self::Words(&["free", "inexpensive", "moderate", "expensive", "any"]),
            "distance_unit" => Self::Words(&["km", "mi"]),
            "has_car" => Self::Flag,
            "max_distance_km" => Self::Distance,
            _ => match old {
                Some(Value::Array(_)) => Self::List,
                Some(Value::Bool(_)) => Self::Flag,
                Some(Value::Number(_)) => Self::Number,
                _ => Self::Text,
            },
        }
    }
}

/// The value after the change; `None` when the key is removed.
fn changed(key: &str, old: Option<&Value>, action: Action, given: &str) -> Outcome<Option<Value>> {
    let invalid = |wanted: &str| {
        let given = clip(&escape_controls(given), 60);
        Problem::input(format!("{key} cannot be \"{given}\".")).next(format!("Give {wanted}."))
    };
    let form = PreferenceForm::of(key, old);
    if let (PreferenceForm::List, action) = (&form, action) {
        return list(key, old, action, given).map(Some);
    }
    if let (PreferenceForm::Text, Action::Add | Action::Remove) = (&form, action) {
        return text(key, old, action, given).map(Some);
    }
    if action == Action::Remove {
        return Ok(None);
    }
    let value = match form {
        PreferenceForm::Words(words) => {
            let plain = given.to_lowercase().replace([' ', '_'], "-");
            let word = words.iter().find(|word| **word == plain);
            Value::from(*word.ok_or_else(|| invalid(&format!("one of {}", words.join(", "))))?)
        }
        PreferenceForm::Flag => match given.to_lowercase().as_str() {
            "y" => true.into(),
            "n" | "none" => false.into(),
            _ => bool::read(&Value::from(given))
                .ok_or_else(|| invalid("yes or no"))?
                .into(),
        },
        PreferenceForm::Distance => {
            let plain = given.to_lowercase();
            let number = plain.strip_suffix("km").unwrap_or(&plain).trim();
            let number = number_of(number).filter(|number| number.as_f64() > Some(0.0));
            number.ok_or_else(|| invalid("a number of kilometres above zero"))?
        }
        PreferenceForm::Number => number_of(given).ok_or_else(|| invalid("a number"))?,
        PreferenceForm::List | PreferenceForm::Text => Value::from(given),
    };
    Ok(Some(value))
}

/// A finite number, as an integer if possible.
fn number_of(text: &str) -> Option<Value> {
    text.parse::<i64>().map(Value::from).ok().or_else(|| {
        let number = text.parse::<f64>().ok()?;
        serde_json::Number::from_f64(number).map(Value::Number)
    })
}

fn parts(text: &str) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    let trimmed = text.trim();
    let plain = trimmed
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(trimmed);
    for part in plain.split([',', ';', '\n']) {
        let part = part.trim().trim_matches(['"', '\'']).trim();
        if !part.is_empty() && !parts.iter().any(|other| same(other, part)) {
            parts.push(part.into());
        }
    }
    parts
}

fn same(item: &Value, word: &str) -> bool {
    match item {
        Value::String(text) => text.trim().to_lowercase() == word.to_lowercase(),
        other => shown(Some(other)) == word,
    }
}

fn list(key: &str, old: Option<&Value>, action: Action, given: &str) -> Outcome<Value> {
    let given = parts(given);
    let mut items = match old {
        Some(Value::Array(items)) => items.clone(),
        // A list written as one string.
        Some(Value::String(text)) => parts(text),
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![other.clone()],
    };
    let has = |items: &[Value], word: &Value| {
        items
            .iter()
            .any(|item| same(item, word.as_str().unwrap_or_default()))
    };
    match action {
        Action::Set => items = given,
        Action::Add => {
            let new: Vec<Value> = given.into_iter().filter(|w| !has(&items, w)).collect();
            items.extend(new);
        }
        Action::Remove => {
            if !given.iter().any(|word| has(&items, word)) {
                let values = shown(Some(&Value::Array(items)));
                return Err(
                    Problem::missing(format!("{key} does not hold that; it is {values}."))
                        .next("Name one of its items."),
                );
            }
            items.retain(|item| {
                !given
                    .iter()
                    .any(|word| same(item, word.as_str().unwrap_or_default()))
            });
        }
    }
    Ok(Value::Array(items))
}

fn text(key: &str, old: Option<&Value>, action: Action, given: &str) -> Outcome<Value> {
    let old = match old {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    if action == Action::Add {
        let has = old.lines().any(|line| line.trim() == given);
        return Ok(Value::from(
            match (old.is_empty(), has || given.is_empty()) {
                (_, true) => old,
                (true, false) => given.to_owned(),
                (false, false) => format!("{old}\n{given}"),
            },
        ));
    }
    if given.is_empty() || !old.contains(given) {
        return Err(Problem::missing(format!("{key} does not hold that text."))
            .next("Give the words as they stand there, or use set with the whole new text."));
    }
    let rest = old.replacen(given, "", 1);
    let lines: Vec<&str> = rest
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    Ok(Value::from(lines.join("\n")))
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "not set".to_owned(),
        Some(Value::Array(items)) if items.is_empty() => "empty".to_owned(),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| shown(Some(item)))
            .collect::<Vec<_>>()
            .join(", "),
        Some(Value::String(text)) if text.trim().is_empty() => "empty".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => if *flag { "yes" } else { "no" }.to_owned(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(key: &str, old: Value, action: Action, given: &str) -> Result<Value, String> {
        changed(key, Some(&old), action, given)
            .map(|new| new.unwrap_or(Value::Null))
            .map_err(|problem| problem.one_line())
    }

    #[test]
    fn every_form_of_a_preference() {
        use Action::{Add, Remove, Set};
        for (key, old, action, given, new) in [
            (
                "dietary",
                json!(["vegan"]),
                Set,
                " a, b;A,, 'c' ",
                json!(["a", "b", "c"]),
            ),
            (
                "dietary",
                json!(["Vegan"]),
                Add,
                "vegan, nuts",
                json!(["Vegan", "nuts"]),
            ),
            (
                "accessibility",
                json!("ramp, lift"),
                Add,
                "quiet",
                json!(["ramp", "lift", "quiet"]),
            ),
            (
                "accessibility",
                json!("ramp, lift"),
                Remove,
                "LIFT",
                json!(["ramp"]),
            ),
            ("dietary", json!(["a"]), Set, "", json!([])),
            (
                "spice_tolerance",
                json!("mild"),
                Set,
                "Extra Hot",
                json!("extra-hot"),
            ),
            ("budget", json!("any"), Remove, "any", Value::Null),
            ("has_car", json!(true), Set, "No", json!(false)),
            ("max_distance_km", json!(10), Set, "2.5 km", json!(2.5)),
            ("max_distance_km", json!(10), Set, "7", json!(7)),
            ("notes", json!(""), Add, "likes tea", json!("likes tea")),
            (
                "notes",
                json!("likes tea"),
                Add,
                "hates rain",
                json!("likes tea\nhates rain"),
            ),
            (
                "notes",
                json!("likes tea\nhates rain"),
                Remove,
                "likes tea",
                json!("hates rain"),
            ),
            (
                "transport",
                json!(["bike"]),
                Add,
                "bus",
                json!(["bike", "bus"]),
            ),
            ("beds", json!(2), Set, "3", json!(3)),
        ] {
            assert_eq!(change(key, old, action, given), Ok(new), "{key} {given}");
        }
        for (key, old, action, given, said) in [
            (
                "spice_tolerance",
                json!("mild"),
                Set,
                "volcanic",
                "one of none, mild",
            ),
            ("has_car", json!(true), Set, "a bike", "yes or no"),
            ("max_distance_km", json!(10), Set, "far", "a number"),
            ("max_distance_km", json!(10), Set, "nan", "a number"),
            ("max_distance_km", json!(10), Set, "-3", "above zero"),
            ("dietary", json!(["a"]), Remove, "b", "it is a."),
            ("notes", json!("x"), Remove, "y", "does not hold"),
        ] {
            let problem = change(key, old, action, given).unwrap_err();
            assert!(problem.contains(said), "{problem}");
        }
    }
}
