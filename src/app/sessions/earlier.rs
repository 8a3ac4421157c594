//! What a conversation begins with, and what the model is told of earlier ones.
//!
//! In a project it begins empty; outside of projects the last talk held there goes on. `history` in the preferences can widen that to everything, or end it.

use std::fmt::Write as _;

use super::list;
use crate::base::text::{clip, one_line};
use crate::disk::paths::ProfilePaths;
use crate::store::chat_log::{ChatLog, LogEntry, LogRole};
use crate::store::sessions::{SessionId, SessionStore, SessionSummary};
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::history_scope::HistoryScope;

/// Messages of the last talk that a conversation goes on with.
const SEED: usize = 20;
/// Messages among which those of one place are looked for.
const SEARCHED: usize = 200;
/// Entries of the compact history in the system prompt.
const HISTORY_ENTRIES: usize = 20;
/// Characters of each.
const HISTORY_CHARS: usize = 200;
/// Characters of a session's title in the line that offers it.
const TITLE_CHARS: usize = 40;

/// What a new conversation begins with.
#[derive(Debug, Default)]
pub(crate) struct ConversationStart {
    /// The end of the last talk, which goes on.
    pub entries: Vec<LogEntry>,
    /// The chat log holds what was said elsewhere too, so the conversation knows these entries alone.
    pub is_apart: bool,
    /// A line that offers the last session of the folder.
    pub offer: Option<String>,
}

/// Reads what a new conversation of a profile in the folder `cwd` begins with.
pub(crate) fn start(
    session: &SessionContext,
    profile: &ProfilePaths,
    cwd: &str,
    warn: &mut dyn FnMut(String),
) -> ConversationStart {
    let log = ChatLog::new(profile.chat_log(), &session.clock);
    let sessions = SessionStore::new(profile.sessions(), &session.clock);
    let (entries, is_apart) = match (HistoryScope::of(profile, warn), session.workspace()) {
        (HistoryScope::All, _) => (log.seed(SEED, warn), false),
        (HistoryScope::None, _) | (HistoryScope::Folder, Some(_)) => (Vec::new(), true),
        (HistoryScope::Folder, None) if sessions.are_latest_in(None) => {
            (log.seed(SEED, warn), false)
        }
        (HistoryScope::Folder, None) => (outside(&log, &sessions, warn), true),
    };
    let latest = || sessions.latest(cwd);
    let offer = entries.is_empty().then(latest).flatten();
    ConversationStart {
        offer: offer.map(|latest| offer_words(&latest, session)),
        entries,
        is_apart,
    }
}

/// What the chat log holds of the last talks outside of projects. What scripts said in sessions is not in it.
fn outside(log: &ChatLog, sessions: &SessionStore, warn: &mut dyn FnMut(String)) -> Vec<LogEntry> {
    let said = sessions.said_in(None, None, SEARCHED);
    let mut entries = log.seed(SEARCHED, warn);
    entries.retain(|entry| {
        // The log marks answers that were stopped.
        let is_same =
            |said: &LogEntry| said.role == entry.role && entry.text.starts_with(&said.text);
        entry.is_spoken() && said.iter().any(is_same)
    });
    entries.split_off(entries.len().saturating_sub(SEED))
}

/// What a conversation goes on with after a tool changed the log of its profile; `None` when it did not begin with that log.
pub(crate) fn of_changed_log(
    session: &SessionContext,
    profile: &ProfilePaths,
    warn: &mut dyn FnMut(String),
) -> Option<Vec<LogEntry>> {
    let is_all = HistoryScope::of(profile, warn) == HistoryScope::All;
    let began_with_it = is_all || session.workspace().is_none() && session.may_know_log(profile);
    let log = ChatLog::new(profile.chat_log(), &session.clock);
    began_with_it.then(|| log.seed(SEED, warn))
}

fn offer_words(latest: &SessionSummary, session: &SessionContext) -> String {
    let title = latest.name.as_deref().unwrap_or(&latest.first);
    format!(
        "marvin -c or /resume {} goes on with the last session here: \"{}\", {}.",
        latest.id.short(),
        clip(&one_line(title), TITLE_CHARS),
        list::local_time(&latest.time, &session.clock.now())
    )
}

/// The compact history in the system prompt: what was said last, as far as this conversation may know of it. `current` is its session, and `sent` the message
/// that is about to be sent: both are on disk already and must not appear as history too.
pub(crate) fn compact_history(
    session: &SessionContext,
    profile: &ProfilePaths,
    current: Option<&SessionId>,
    sent: Option<&str>,
    warn: &mut dyn FnMut(String),
) -> String {
    let log = ChatLog::new(profile.chat_log(), &session.clock);
    let sessions = SessionStore::new(profile.sessions(), &session.clock);
    let workspace = session.workspace();
    // What is wrong with the preference was told when the conversation began.
    let entries = match HistoryScope::of(profile, &mut |_| {}) {
        HistoryScope::None => Vec::new(),
        HistoryScope::All => of_log(&log, sent, warn),
        // A log from before there were sessions.
        HistoryScope::Folder if workspace.is_none() && !sessions.has_other(current) => {
            of_log(&log, sent, warn)
        }
        HistoryScope::Folder => sessions.said_in(workspace.as_deref(), current, HISTORY_ENTRIES),
    };
    let mut out = String::new();
    for LogEntry {
        role, text, time, ..
    } in entries
    {
        let text = clip(&one_line(&text), HISTORY_CHARS);
        let _ = writeln!(out, "[{}] {}: {text}", one_line(&time), role.word());
    }
    out
}

/// The latest entries of the chat log. Reads only its end.
fn of_log(log: &ChatLog, sent: Option<&str>, warn: &mut dyn FnMut(String)) -> Vec<LogEntry> {
    let mut entries = log.last(HISTORY_ENTRIES + usize::from(sent.is_some()), warn);
    let is_sent =
        |entry: &LogEntry| entry.role == LogRole::You && Some(entry.text.as_str()) == sent;
    if let Some(index) = entries.iter().rposition(is_sent) {
        entries.remove(index);
    }
    entries.split_off(entries.len().saturating_sub(HISTORY_ENTRIES))
}
