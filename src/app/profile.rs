//! The active profile: its name, and the parts of it that go into the system prompt.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::sessions::earlier;
use crate::base::clock::Clock;
use crate::base::problem::Outcome;
use crate::base::text::one_line;
use crate::disk::paths::{Paths, ProfilePaths};
use crate::mcp::session::SessionServers;
use crate::model_call::user_facts::{CallerPrompt, LazyText, UserFacts};
use crate::reply::settings::sources::SECTION;
use crate::store::places::{Place, SavedPlaces};
use crate::store::preferences;
use crate::store::review_jobs;
use crate::store::sessions::SessionId;
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::history_scope::HISTORY;

pub(crate) use crate::store::profiles::{active, name, names, switch};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProfileListing {
    pub name: String,
    pub active: bool,
    /// Number of saved places.
    pub places: usize,
    /// Size of the chat log.
    pub log_bytes: u64,
}

/// All profiles, sorted by name.
pub(crate) fn list(paths: &Paths, clock: &Clock, active: &str) -> Vec<ProfileListing> {
    let listed = |name: String| {
        let profile = paths.profile(&name).ok()?;
        Some(ProfileListing {
            active: name == active,
            places: SavedPlaces::of(&profile, clock).count(),
            log_bytes: std::fs::metadata(profile.chat_log()).map_or(0, |about| about.len()),
            name,
        })
    };
    names(paths).into_iter().filter_map(listed).collect()
}

/// The path of the profile's `preferences.yaml`, which is created with explanations when it does not exist. The command `preferences` opens it in an
/// editor.
///
/// # Errors
/// The name is invalid, or the disk is not writable.
pub(crate) fn preferences_file(paths: &Paths, name: &str) -> Outcome<PathBuf> {
    let profile = paths.profile(name)?;
    preferences::make(&profile)?;
    Ok(profile.preferences())
}

/// The latest reviews that have ended which the model is told of.
const MAX_ENDED_REVIEWS: usize = 3;

/// What the system prompt says about the user; `jobs` are the commands that run in the background. Missing files are skipped; corrupt ones are set
/// aside and reported. `current` is the session that goes on, and `sent` the message that is about to be sent: they are on disk already and must not appear
/// as history too.
pub(crate) fn user_facts(
    session: &Arc<SessionContext>,
    current: Option<SessionId>,
    sent: Option<String>,
    jobs: String,
    mut warn: impl FnMut(String) + Clone + Send + 'static,
) -> UserFacts {
    // A sub-agent works on a task and needs nothing about the user.
    if session.policy.depth > 0 {
        return UserFacts::default();
    }
    let Ok(profile) = session.paths.profile(&session.profile()) else {
        return UserFacts::default();
    };
    let clock = session.clock.clone();
    UserFacts {
        caller: CallerPrompt::default(),
        preferences: preferences_text(&profile, &mut warn),
        servers: session.modules.get::<SessionServers>().instructions(),
        jobs: joined(&[jobs, project_jobs(session)]),
        places: LazyText::new(Box::new({
            let (profile, clock, mut warn) = (profile.clone(), clock.clone(), warn.clone());
            move || places(&SavedPlaces::of(&profile, &clock).read_or_set_aside(&mut warn))
        })),
        history: LazyText::new(Box::new({
            let session = Arc::clone(session);
            move || {
                let (current, sent) = (current.as_ref(), sent.as_deref());
                earlier::compact_history(&session, &profile, current, sent, &mut warn)
            }
        })),
    }
}

/// The texts that are not empty, one below the other.
fn joined(texts: &[String]) -> String {
    let texts = texts.iter().filter(|text| !text.is_empty());
    texts.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// The reviews that run in the background of this project, and those whose end is news, one per line.
fn project_jobs(session: &SessionContext) -> String {
    let Some(root) = session.working_dir.root() else {
        return String::new();
    };
    let news = review_jobs::news(&root);
    let older = news.len().saturating_sub(MAX_ENDED_REVIEWS);
    let jobs = review_jobs::running(&root)
        .into_iter()
        .chain(news.into_iter().skip(older));
    let lines = jobs.map(|job| one_line(&job.line()));
    lines.collect::<Vec<_>>().join("\n")
}

fn preferences_text(profile: &ProfilePaths, warn: &mut dyn FnMut(String)) -> String {
    let mut out = String::new();
    match preferences::read(profile) {
        Ok(keys) => {
            // Settings of the program say nothing about the user.
            let about_user = |(key, value): &(&String, &Value)| {
                ![SECTION, HISTORY].contains(&key.as_str()) && !is_blank(value)
            };
            for (key, value) in keys.iter().filter(about_user) {
                let _ = writeln!(out, "{key}: {}", plain(value));
            }
        }
        // Users edit their preferences by hand: report the mistake and leave the file for them to fix.
        Err(problem) => warn(problem.one_line()),
    }
    out
}

/// One line per labelled place.
fn places(places: &[Place]) -> String {
    let mut out = String::new();
    for place in places.iter().filter(|place| !place.label.is_empty()) {
        let parts: Vec<String> = [&place.name, &place.address]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(|part| one_line(part))
            .collect();
        let _ = write!(out, "{}: {}", one_line(&place.label), parts.join(", "));
        if let Some((lat, lng)) = place.coordinates() {
            let _ = write!(out, " ({lat}, {lng})");
        }
        out.push('\n');
    }
    out
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;

    #[test]
    fn profiles_are_listed_with_what_they_hold() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().to_str().unwrap();
        let paths = Paths::new(&Env::from([("MARVIN_CONFIG_DIR", dir)]));
        let clock = Clock::default();
        assert_eq!(list(&paths, &clock, "main"), []);
        for name in ["main", "ann"] {
            switch(&paths, name).unwrap();
        }
        let ann = paths.profile("ann").unwrap();
        for label in ["home", "work"] {
            let place = Place {
                label: label.to_owned(),
                ..Place::default()
            };
            SavedPlaces::of(&ann, &clock).save(&place).unwrap();
        }
        std::fs::write(ann.chat_log(), "[]").unwrap();
        let found = list(&paths, &clock, "ann");
        let row = |row: &ProfileListing| (row.name.clone(), row.active, row.places, row.log_bytes);
        assert_eq!(
            found.iter().map(row).collect::<Vec<_>>(),
            [
                ("ann".to_owned(), true, 2, 2),
                ("main".to_owned(), false, 0, 0)
            ]
        );
        let path = preferences_file(&paths, "main").unwrap();
        assert!(std::fs::read_to_string(path).unwrap().starts_with("# "));
    }
}
