//! `marvin sessions` and `marvin export`: the sessions of the active profile.

use super::out::{print, print_words};
use crate::app::profile;
use crate::app::sessions::{export, list};
use crate::app::settings::Settings;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::disk::paths::Paths;
use crate::store::sessions::record::Line;
use crate::store::sessions::{Replay, SessionStore};

const DELETE: &str = "--delete";

/// `marvin sessions`: the list, or the end of some of them.
pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<()> {
    match words.split_first() {
        Some((first, ids)) if first == DELETE => delete(ids, settings),
        _ => list(words, settings),
    }
}

/// Removes sessions; none when one of the words names none.
fn delete(words: &[String], settings: &Settings) -> Outcome<()> {
    if words.is_empty() {
        return Err(Problem::input("There is no ID of the session to remove.")
            .next("marvin sessions lists them."));
    }
    let (store, _) = store(settings)?;
    let ids: Outcome<Vec<_>> = words.iter().map(|word| store.find(word)).collect();
    for id in ids? {
        store.delete(&id)?;
        print(&format!("Removed session {id}.\n"))?;
    }
    Ok(())
}

/// Prints the list, for people or as JSON.
pub(super) fn list(words: &[String], settings: &Settings) -> Outcome<()> {
    let (is_json, words) = arguments("sessions", words)?;
    let (store, clock) = store(settings)?;
    let filter = words.join(" ");
    let sessions = store.list();
    let rows = list::rows(&sessions, &clock, &settings.env);
    let (sessions, rows): (Vec<_>, Vec<_>) = sessions
        .into_iter()
        .zip(rows)
        .filter(|(_, row)| row.fits(&filter))
        .unzip();
    if is_json {
        let text = serde_json::to_string_pretty(&sessions)
            .map_err(|error| Problem::internal("The list cannot be written.").because(error))?;
        return print(&format!("{text}\n"));
    }
    if rows.is_empty() {
        let text = match filter.is_empty() {
            true => "There are no sessions yet.\n",
            false => "No session fits.\n",
        };
        return print(text);
    }
    print_words(&list::table(&rows, false))
}

/// Prints one session as Markdown, or its lines as they are.
pub(super) fn export(words: &[String], settings: &Settings) -> Outcome<()> {
    let (is_json, words) = arguments("export", words)?;
    let word = words.join(" ");
    if word.trim().is_empty() {
        return Err(Problem::input("marvin export needs the ID of a session.")
            .next("marvin sessions lists them."));
    }
    let (store, clock) = store(settings)?;
    let id = store.find(&word)?;
    let bytes = store.bytes(&id)?;
    if is_json {
        let is_object = |line: &&[u8]| {
            !line.trim_ascii().is_empty() && !matches!(Line::read(line), Line::Corrupt)
        };
        let lines = bytes.split(|byte| *byte == b'\n').filter(is_object);
        let text: String = lines
            .map(|line| format!("{}\n", String::from_utf8_lossy(line)))
            .collect();
        return print(&text);
    }
    let mut replay = Replay::read(&bytes);
    replay.header.id = id.to_string();
    print_words(&export::markdown(&replay, &clock))
}

fn store(settings: &Settings) -> Outcome<(SessionStore, Clock)> {
    let paths = Paths::new(&settings.env);
    let files = paths.profile(&profile::active(&paths))?;
    let clock = Clock::new(&settings.env);
    Ok((SessionStore::new(files.sessions(), &clock), clock))
}

/// Whether `--json` is among the words, and the others.
fn arguments<'a>(name: &str, words: &'a [String]) -> Outcome<(bool, Vec<&'a str>)> {
    let (flags, words): (Vec<&str>, Vec<&str>) = words
        .iter()
        .map(String::as_str)
        .partition(|word| word.starts_with('-'));
    match flags.iter().find(|flag| **flag != "--json") {
        Some(other) => Err(Problem::input(format!(
            "marvin {name} has no flag \"{}\".",
            crate::base::text::one_line(other)
        ))
        .next(match name {
            "sessions" => "It has --json, and --delete before IDs.",
            _ => "It has --json.",
        })),
        None => Ok((!flags.is_empty(), words)),
    }
}
