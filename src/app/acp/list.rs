//! The sessions that there are, and their removal.

use std::path::Path;
use std::sync::PoisonError;

use serde_json::{Value, json};

use super::params::{Answer, absolute, internal, optional_text, text, wrong};
use super::shared::Shared;
use crate::app::profile;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, head, one_line};
use crate::disk::paths::Paths;
use crate::store::sessions::{ListCursor, SessionId, SessionStore, SessionSummary};

/// Sessions of a page.
const PAGE: usize = 50;
/// Characters of a title.
const TITLE_CHARS: usize = 80;

/// The title of a session that is called so, or whose first words these are.
pub(super) fn title(words: &str) -> String {
    let words = head(words, 8 * TITLE_CHARS);
    // What was embedded stands behind what the user wrote.
    let typed = words.split("<document source=").next().unwrap_or_default();
    let line = one_line(match typed.trim() {
        "" => words,
        typed => typed,
    });
    match line.chars().nth(TITLE_CHARS) {
        None => line,
        Some(_) => clip(&line, TITLE_CHARS - 1),
    }
}

/// The sessions of the active profile.
pub(super) fn store(shared: &Shared) -> Outcome<SessionStore> {
    let env = &shared.settings.env;
    let paths = Paths::new(env);
    let profile = paths.profile(&profile::active(&paths))?;
    Ok(SessionStore::new(profile.sessions(), &Clock::new(env)))
}

/// `session/list`: a page of the sessions, the latest first.
pub(super) fn page(shared: &Shared, params: &Value) -> Answer {
    let (cwd, cursor) = (
        optional_text(params, "cwd")?,
        optional_text(params, "cursor")?,
    );
    let store = store(shared).map_err(|problem| internal(&problem))?;
    let mut listed = shared.listed.lock().unwrap_or_else(PoisonError::into_inner);
    // The pages behind the first one show the list that the first one was of.
    if cursor.is_none() || listed.is_empty() {
        store.update_list(&mut listed);
    }
    let mut sessions: Vec<&SessionSummary> = listed.iter().collect();
    if let Some(cwd) = cwd {
        // A session has the real path of its folder, and the client may know the folder by another.
        let real = absolute("cwd", cwd)?.canonicalize().ok();
        let is_wanted = |folder: &str| {
            folder == cwd
                || folder == cwd.trim_end_matches('/')
                || real.as_deref() == Some(Path::new(folder))
        };
        sessions.retain(|session| is_wanted(&session.cwd));
    }
    // The cursor is the place in time of the last session of the page before, which may have been used or deleted since.
    if let Some(cursor) = cursor {
        let words = "The cursor is none of session/list.";
        let place = ListCursor::read(cursor).ok_or_else(|| wrong("cursor", words))?;
        sessions.retain(|session| place.is_above(session));
    }
    let mut rest = sessions.iter().copied();
    let still_there = |session: &&SessionSummary| cursor.is_none() || store.has(&session.id);
    let page: Vec<&SessionSummary> = rest.by_ref().filter(still_there).take(PAGE).collect();
    let rows: Vec<Value> = page.iter().copied().map(row).collect();
    let mut answer = json!({"sessions": rows});
    if rest.next().is_some()
        && let Some(last) = page.last()
    {
        super::tool_call::set(
            &mut answer,
            "nextCursor",
            json!(ListCursor::at(last).to_string()),
        );
    }
    Ok(answer)
}

fn row(session: &SessionSummary) -> Value {
    json!({
        "sessionId": session.id.as_str(),
        "cwd": session.cwd,
        "title": title(session.name.as_ref().unwrap_or(&session.first)),
        "updatedAt": session.time,
    })
}

/// A problem with a session without what a command line could do instead, which is of no use to an editor.
pub(super) fn for_editor(mut problem: Problem) -> Problem {
    if problem.kind == ProblemKind::Refused {
        problem.next = vec!["End the other one first.".to_owned()];
    }
    problem
}

/// `session/delete` of a session that is not open here. One that there is not is gone already.
pub(super) fn delete(shared: &Shared, params: &Value) -> Answer {
    let store = store(shared).map_err(|problem| internal(&problem))?;
    let id = SessionId::parse(text(params, "sessionId")?).filter(|id| store.has(id));
    match id.map(|id| store.delete(&id)) {
        Some(Err(problem)) if problem.kind != ProblemKind::Missing => {
            Err(internal(&for_editor(problem)))
        }
        _ => Ok(json!({})),
    }
}
