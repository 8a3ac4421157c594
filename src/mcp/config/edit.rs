//! Changes to a file of servers: under a lock, written whole, and only where its text is understood.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::configured::Source;
use super::files::{KEYS, ServerFile, unknown};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::disk::atomic::{self, Access};
use crate::disk::lock::Lock;
use crate::formats::json_edit;

/// How long to wait for another process that changes the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Adds a server behind the others.
///
/// # Errors
/// There is one of this name, or the file cannot be read or written.
pub(crate) fn add(file: &ServerFile, name: &str, entry: &Value) -> Outcome<()> {
    change(file, |text, whole| {
        let known = file.servers(whole);
        if known.iter().any(|server| server.name == name) {
            let shown = one_line(&clip(name, 60));
            return Err(Problem::input(format!(
                "There is a server \"{shown}\" in {} already.",
                file.path.display()
            ))
            .next("Choose another name, or remove that one first: marvin mcp remove NAME."));
        }
        let [usual, other] = KEYS;
        let key = match (whole.get(usual), whole.get(other)) {
            (None, Some(_)) => other,
            _ => usual,
        };
        let text = match text.trim().is_empty() {
            true => "{}\n",
            false => text,
        };
        // In place of nothing, which is no object, the whole of it is written.
        Ok(match whole.get(key).is_some_and(Value::is_null) {
            true => json_edit::set(text, &[key], &json!({ name: entry })),
            false => json_edit::set(text, &[key, name], entry),
        })
    })
}

/// Removes a server.
///
/// # Errors
/// There is none of this name, or the file cannot be read or written.
pub(crate) fn remove(file: &ServerFile, name: &str) -> Outcome<()> {
    change(file, |text, whole| {
        let key = key_of(file, whole, name)?;
        Ok(json_edit::remove(text, &[key, name]))
    })
}

/// Has a server started from now on, or not.
///
/// # Errors
/// There is none of this name, or the file cannot be read or written.
pub(crate) fn set_enabled(file: &ServerFile, name: &str, is_enabled: bool) -> Outcome<()> {
    change(file, |text, whole| {
        let key = key_of(file, whole, name)?;
        let entry = whole.get(key).and_then(|all| all.get(name));
        let has = |word: &str| entry.is_some_and(|entry| entry.get(word).is_some());
        let mut changed = text.to_owned();
        let mut set = |word: &str, value: Option<bool>| {
            let path = [key, name, word];
            let new = match value {
                Some(value) => json_edit::set(&changed, &path, &Value::Bool(value)),
                None => json_edit::remove(&changed, &path),
            };
            new.map(|new| changed = new)
        };
        let done = match (has("enabled"), has("disabled"), is_enabled) {
            (true, _, true) => set("enabled", Some(true)).and_then(|()| match has("disabled") {
                true => set("disabled", None),
                false => Some(()),
            }),
            (true, _, false) => set("enabled", Some(false)),
            (false, true, true) => set("disabled", None),
            (false, false, true) => Some(()),
            (false, _, false) => set("disabled", Some(true)),
        };
        Ok(done.map(|()| changed))
    })
}

/// The key below which a server stands.
fn key_of(file: &ServerFile, whole: &Value, name: &str) -> Outcome<&'static str> {
    let has = |key: &&&str| whole.get(**key).is_some_and(|all| all.get(name).is_some());
    KEYS.iter().find(has).copied().ok_or_else(|| {
        let known = file.servers(whole);
        let known: Vec<String> = known.into_iter().map(|server| server.name).collect();
        let problem = unknown(name, &known);
        problem.next(format!("Looked in {}.", file.path.display()))
    })
}

/// Reads the file, has its text changed, and writes that.
fn change(
    file: &ServerFile,
    edit: impl FnOnce(&str, &Value) -> Outcome<Option<String>>,
) -> Outcome<()> {
    let stop = Cancel::new();
    let (access, _lock) = match file.source {
        // A lock file would be one more file in other people's status of git.
        Source::Project => {
            let folder = file.path.parent().unwrap_or_else(|| Path::new("."));
            (Access::Usual, Lock::folder(folder, LOCK_TIMEOUT, &stop)?)
        }
        Source::User | Source::Client => (
            Access::Private,
            Lock::take(&file.path, LOCK_TIMEOUT, &stop)?,
        ),
    };
    let text = file.text()?.unwrap_or_default();
    let whole = file.parse(&text)?;
    let changed = edit(&text, &whole)?.filter(|changed| file.parse(changed).is_ok());
    let changed = changed.ok_or_else(|| {
        Problem::internal(format!(
            "{} could not be changed, and is as it was.",
            file.path.display()
        ))
    })?;
    if changed == text {
        return Ok(());
    }
    atomic::write(&file.path, changed.as_bytes(), access)
}
