//! What a conversation begins with, and what the model is told of earlier ones.
//!
//! In a project it begins empty; outside of projects the last talk held there goes on. `history` in the preferences can widen that to everything, or end it.

use std::fmt::Write as _;

use super::list;
use crate::base::text::{clip, one_line};
use crate::store::chat_log::{ChatLog, LogEntry, LogRole};
use crate::store::sessions::{SessionId, SessionSummary};
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::history_scope::HistoryScope;

/// Messages of the last talk that a conversation goes on with.
const SEED: usize = 20;
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

/// Reads what a new conversation in the folder `cwd` begins with.
pub(crate) fn start(
    session: &SessionContext,
    cwd: &str,
    warn: &mut dyn FnMut(String),
) -> ConversationStart {
    let scope = session.history_scope(warn);
    let (entries, is_apart) = match (scope, session.workspace()) {
        (HistoryScope::All, _) => (
            log(session).map_or_else(Vec::new, |log| log.seed(SEED, warn)),
            false,
        ),
        (HistoryScope::None, _) | (HistoryScope::Folder, Some(_)) => (Vec::new(), true),
        (HistoryScope::Folder, None) => outside(session, warn),
    };
    let latest = || session.sessions().ok()?.latest(cwd);
    let offer = entries.is_empty().then(latest).flatten();
    ConversationStart {
        offer: offer.map(|latest| offer_words(&latest, session)),
        entries,
        is_apart,
    }
}

/// The last talk outside of projects, and whether the chat log has more than that.
fn outside(session: &SessionContext, warn: &mut dyn FnMut(String)) -> (Vec<LogEntry>, bool) {
    match session.sessions() {
        Ok(sessions) if sessions.has_other(None) => (sessions.said_in(None, None, SEED), true),
        // A log from before there were sessions.
        _ => (
            log(session).map_or_else(Vec::new, |log| log.seed(SEED, warn)),
            false,
        ),
    }
}

/// What a conversation goes on with after its log was changed; `None` when it did not begin with that log.
pub(crate) fn of_changed_log(
    session: &SessionContext,
    log: &ChatLog,
    warn: &mut dyn FnMut(String),
) -> Option<Vec<LogEntry>> {
    let is_all = session.history_scope(warn) == HistoryScope::All;
    let began_with_it = is_all || session.workspace().is_none() && session.may_know_log();
    began_with_it.then(|| log.seed(SEED, warn))
}

fn log(session: &SessionContext) -> Option<ChatLog> {
    let profile = session.paths.profile(&session.profile()).ok()?;
    Some(ChatLog::new(profile.chat_log(), &session.clock))
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
    current: Option<&SessionId>,
    sent: Option<&str>,
    warn: &mut dyn FnMut(String),
) -> String {
    // What is wrong with the preference was told when the conversation began.
    let entries = match session.history_scope(&mut |_| {}) {
        HistoryScope::None => Vec::new(),
        HistoryScope::All => of_log(session, sent, warn),
        HistoryScope::Folder => {
            let workspace = session.workspace();
            match session.sessions() {
                Ok(sessions) if sessions.has_other(current) => {
                    sessions.said_in(workspace.as_deref(), current, HISTORY_ENTRIES)
                }
                _ if workspace.is_none() => of_log(session, sent, warn),
                _ => Vec::new(),
            }
        }
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
fn of_log(
    session: &SessionContext,
    sent: Option<&str>,
    warn: &mut dyn FnMut(String),
) -> Vec<LogEntry> {
    let Some(log) = log(session) else {
        return Vec::new();
    };
    let mut entries = log.last(HISTORY_ENTRIES + usize::from(sent.is_some()), warn);
    let is_sent =
        |entry: &LogEntry| entry.role == LogRole::You && Some(entry.text.as_str()) == sent;
    if let Some(index) = entries.iter().rposition(is_sent) {
        entries.remove(index);
    }
    entries.split_off(entries.len().saturating_sub(HISTORY_ENTRIES))
}
