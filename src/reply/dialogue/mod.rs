//! What was said in this conversation: the rows that go to the model again, and those that the diary does not have yet.

pub(crate) mod carry_over;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use self::carry_over::{scrubbed, shortened};
use crate::base::redact::{ConversationLabels, redact, scrub};
use crate::base::shared_sort::SharedSort as _;
use crate::chat::message::Message;
use crate::reply::settings::ReplySettings;
use crate::store::memory::EraseTarget;

/// Groups of calls and results kept.
const MAX_GROUPS: usize = 16;
/// Rows sent, said things and calls together.
const MAX_ROWS: usize = 40;
/// Characters of all notes; the latest one is kept whatever it has.
const MAX_NOTE_CHARS: usize = 8_000;

/// The conversation of one profile. The thread that writes the diary shares it.
#[derive(Debug)]
pub(crate) struct DialogueMemory {
    limits: DialogueLimits,
    rows: Mutex<Rows>,
    labels: ConversationLabels,
}

/// What is sent of a conversation, and what is kept for the diary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DialogueLimits {
    /// Older things are not sent.
    pub window: Duration,
    /// Said things sent.
    pub messages: usize,
    /// Replies whose calls are sent.
    pub groups: usize,
    /// Characters of each row of these.
    pub row_chars: usize,
    /// Rows wait for the diary.
    pub is_remembered: bool,
}

impl From<&ReplySettings> for DialogueLimits {
    fn from(settings: &ReplySettings) -> Self {
        Self {
            window: settings.dialogue_window,
            messages: settings.dialogue_max_messages,
            groups: settings.tool_carryover_max_turns,
            row_chars: settings.tool_carryover_per_entry_chars,
            is_remembered: settings.memory_enabled,
        }
    }
}

/// What was said and is not in the diary yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PendingDialogue {
    /// The oldest first.
    pub rows: Vec<PendingRow>,
    /// It was spoken rather than typed.
    pub spoken: bool,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingRow {
    /// When; no two rows of a profile have the same moment.
    pub at: Timestamp,
    /// `User: …` or `Assistant: …`.
    pub text: String,
}

/// Rows in the order of their stamps, which strictly increase.
#[derive(Debug, Default)]
struct Rows {
    said: Vec<SaidRow>,
    groups: Vec<ToolGroup>,
    /// What the user saw beside the conversation, such as the output of a command of theirs. It is sent like what was said, and never remembered.
    notes: Vec<(Timestamp, String)>,
    last: Option<Timestamp>,
}

#[derive(Debug, Clone)]
struct SaidRow {
    /// The same as in the chat log: by it the diary knows the row.
    at: Timestamp,
    /// The diary has it.
    is_saved: bool,
    /// It belongs to another conversation: it only waits for the diary.
    is_left: bool,
    speaker: Speaker,
    /// It was spoken, or answers what was.
    spoken: bool,
    text: String,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SaidMessage<'a> {
    pub text: &'a str,
    /// A [`DialogueMemory::stamp`].
    pub at: Timestamp,
    /// It was heard rather than typed.
    pub spoken: bool,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
}

/// The calls and results of one reply.
#[derive(Debug, Clone)]
struct ToolGroup {
    at: Timestamp,
    messages: Vec<Message>,
}

impl Rows {
    /// A stamp for a row that is added now, later than all others even when the clock stands still or was put back.
    fn stamp(&mut self, now: Timestamp) -> Timestamp {
        let after = |last: Timestamp| {
            last.checked_add(SignedDuration::from_micros(1))
                .unwrap_or(last)
        };
        let at = self.last.map_or(now, |last| now.max(after(last)));
        self.last = Some(at);
        at
    }

    /// Adds a row with a stamp of [`Rows::stamp`] or of the chat log.
    fn insert(&mut self, row: SaidRow) {
        let place = self.said.partition_point(|other| other.at <= row.at);
        self.said.insert(place, row);
    }

    /// Adds a note; the oldest ones make room for it.
    fn add_note(&mut self, at: Timestamp, text: String) {
        let place = self.notes.partition_point(|(other, _)| *other <= at);
        self.notes.insert(place, (at, text));
        let mut room = MAX_NOTE_CHARS;
        let fits = |(_, text): &&(Timestamp, String)| {
            let left = room.checked_sub(text.chars().count());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let count = self.notes.iter().rev().take_while(fits).count().max(1);
        self.notes.drain(..self.notes.len().saturating_sub(count));
    }

    fn pending(&self) -> impl Iterator<Item = &SaidRow> {
        self.said.iter().filter(|row| !row.is_saved)
    }
}

impl DialogueMemory {
    pub(crate) fn new(limits: DialogueLimits) -> Self {
        Self {
            limits,
            rows: Mutex::default(),
            labels: ConversationLabels::default(),
        }
    }

    /// The labels that stand for secrets in this conversation.
    pub(crate) fn labels(&self) -> &ConversationLabels {
        &self.labels
    }

    /// The moment for something that is said now; no two of them are the same.
    pub(crate) fn stamp(&self, now: Timestamp) -> Timestamp {
        self.rows().stamp(now)
    }

    /// Adds a message of the user; secrets are removed.
    pub(crate) fn add_message(&self, said: &SaidMessage<'_>, now: Timestamp) {
        self.add(Speaker::User, said.spoken, redact(said.text), said.at, now);
    }

    /// Adds an answer that was given at a [`DialogueMemory::stamp`]; secrets are removed.
    pub(crate) fn add_assistant(&self, text: &str, at: Timestamp, now: Timestamp) {
        let spoken = self.rows().said.last().is_some_and(|row| row.spoken);
        self.add(Speaker::Assistant, spoken, self.labels.scrub(text), at, now);
    }

    fn add(&self, speaker: Speaker, spoken: bool, text: String, at: Timestamp, now: Timestamp) {
        if text.trim().is_empty() {
            return;
        }
        let mut rows = self.rows();
        rows.insert(SaidRow {
            at,
            is_saved: false,
            is_left: false,
            speaker,
            spoken,
            text,
        });
        self.prune(&mut rows, now);
    }

    /// Adds what the user saw beside the conversation at a [`DialogueMemory::stamp`]; secrets are removed.
    pub(crate) fn add_note(&self, text: &str, at: Timestamp) {
        let text = self.labels.scrub(text);
        self.rows().add_note(at, text);
    }

    /// Adds the calls and results of a reply as one group; secrets are removed.
    pub(crate) fn add_tools(&self, messages: Vec<Message>, now: Timestamp) {
        let messages = scrubbed(messages, &|text| self.labels.scrub(text));
        if messages.is_empty() {
            return;
        }
        let mut rows = self.rows();
        let at = rows.stamp(now);
        rows.groups.push(ToolGroup { at, messages });
        let excess = rows.groups.len().saturating_sub(MAX_GROUPS);
        rows.groups.drain(..excess);
    }

    /// Adds what was said before this process began or in another one, and is in the diary already or not.
    pub(crate) fn seed(&self, speaker: Speaker, text: &str, at: Timestamp, is_saved: bool) {
        let text = redact(text);
        if text.trim().is_empty() {
            return;
        }
        self.labels.note(&text);
        let mut rows = self.rows();
        rows.last = rows.last.max(Some(at));
        rows.insert(SaidRow {
            at,
            is_saved,
            is_left: false,
            speaker,
            // The log does not tell.
            spoken: false,
            text,
        });
        self.prune(&mut rows, at);
    }

    /// Another conversation goes on: what was said so far only waits for the diary, and `before` was said in it, before a message of the moment `at`.
    pub(crate) fn begin_conversation(&self, before: &[Message], at: Timestamp) {
        self.labels.clear();
        let mut rows = self.rows();
        rows.groups.clear();
        rows.notes.clear();
        let waits = self.limits.is_remembered;
        rows.said.retain_mut(|row| {
            row.is_left = true;
            waits && !row.is_saved
        });
        let mut ago = SignedDuration::from_micros(0);
        for message in before.iter().rev().take(self.limits.messages) {
            ago += SignedDuration::from_micros(1);
            let at = at.checked_sub(ago).unwrap_or(at);
            let (speaker, text) = match message {
                Message::User(user) => (Speaker::User, redact(&user.text)),
                Message::Assistant(said) => (Speaker::Assistant, scrub(&said.text)),
                Message::System { text } => {
                    let text = scrub(text);
                    self.labels.note(&text);
                    rows.add_note(at, text);
                    continue;
                }
                Message::Tool(_) => continue,
            };
            if text.trim().is_empty() {
                continue;
            }
            self.labels.note(&text);
            rows.insert(SaidRow {
                at,
                is_saved: true,
                is_left: false,
                speaker,
                spoken: false,
                text,
            });
        }
    }

    /// Forgets saved rows that are not sent any more. Rows that nothing will save count as saved.
    fn prune(&self, rows: &mut Rows, now: Timestamp) {
        let begin = self.begin(now);
        let beyond = rows.said.len().saturating_sub(self.limits.messages);
        let is_remembered = self.limits.is_remembered;
        let mut index = 0;
        rows.said.retain(|row| {
            index += 1;
            let is_sent = row.at >= begin && index > beyond && !row.is_left;
            is_remembered && !row.is_saved || is_sent
        });
    }

    /// The beginning of the window.
    fn begin(&self, now: Timestamp) -> Timestamp {
        let window = SignedDuration::try_from(self.limits.window).unwrap_or(SignedDuration::MAX);
        now.checked_sub(window).unwrap_or(Timestamp::MIN)
    }

    /// Whether something was said inside the window; if not, the next message begins a new conversation.
    pub(crate) fn has_recent(&self, now: Timestamp) -> bool {
        let begin = self.begin(now);
        let rows = self.rows();
        let last = rows.said.iter().rfind(|row| !row.is_left);
        last.is_some_and(|row| row.at >= begin)
    }

    /// The messages of this conversation, the oldest first: what was said inside the window, and the calls of the latest replies.
    pub(crate) fn recent(&self, now: Timestamp) -> Vec<Message> {
        let begin = self.begin(now);
        let mut units: Vec<(Timestamp, Vec<Message>)> = Vec::new();
        {
            let rows = self.rows();
            let is_sent = |row: &&SaidRow| row.at >= begin && !row.is_left;
            let said = rows.said.iter().filter(is_sent);
            let said: Vec<&SaidRow> = said.collect();
            let from = said.len().saturating_sub(self.limits.messages);
            for row in said.into_iter().skip(from) {
                let message = match row.speaker {
                    Speaker::User => Message::user(row.text.as_str()),
                    Speaker::Assistant => Message::assistant(row.text.as_str()),
                };
                units.push((row.at, vec![message]));
            }
            let notes = rows.notes.iter().filter(|(at, _)| *at >= begin);
            units.extend(notes.map(|(at, text)| {
                let text = text.clone();
                (*at, vec![Message::System { text }])
            }));
            let from = rows.groups.len().saturating_sub(self.limits.groups);
            for group in rows.groups.iter().skip(from) {
                let messages = shortened(&group.messages, self.limits.row_chars);
                units.extend(rounds(messages).into_iter().map(|round| (group.at, round)));
            }
        }
        units.shared_sort_by_key(|(at, _)| *at);
        let mut room = MAX_ROWS;
        let fits = |(_, messages): &&(Timestamp, Vec<Message>)| {
            let fitting = room.checked_sub(messages.len());
            room = fitting.unwrap_or(0);
            fitting.is_some()
        };
        let count = units.iter().rev().take_while(fits).count();
        let from = units.len() - count;
        units
            .into_iter()
            .skip(from)
            .flat_map(|(_, messages)| messages)
            .collect()
    }

    /// Takes back the last message of the user, if it is `text`, with everything that came after it.
    pub(crate) fn undo(&self, text: &str) {
        let mut rows = self.rows();
        let is_user = |row: &SaidRow| row.speaker == Speaker::User;
        let Some(at) = rows.said.iter().rposition(is_user) else {
            return;
        };
        let begun = rows.said.get(at).filter(|row| row.text == redact(text));
        if let Some(stamp) = begun.map(|row| row.at) {
            rows.said.truncate(at);
            rows.notes.retain(|(at, _)| *at < stamp);
            rows.groups.retain(|group| group.at < stamp);
        }
    }

    /// What the diary does not have yet: the first of it, as far as all of that was typed, or all spoken.
    pub(crate) fn pending(&self) -> PendingDialogue {
        let rows = self.rows();
        let mut pending = PendingDialogue::default();
        if !self.limits.is_remembered {
            return pending;
        }
        let mut rows = rows.pending().peekable();
        pending.spoken = rows.peek().is_some_and(|row| row.spoken);
        for row in rows.take_while(|row| row.spoken == pending.spoken) {
            let speaker = match row.speaker {
                Speaker::User => "User",
                Speaker::Assistant => "Assistant",
            };
            pending.rows.push(PendingRow {
                at: row.at,
                text: format!("{speaker}: {}", row.text),
            });
        }
        pending
    }

    /// Whether something is not in the diary yet.
    pub(crate) fn has_pending(&self) -> bool {
        self.limits.is_remembered && self.rows().pending().next().is_some()
    }

    /// Whether it is time to write the diary: something waits, and either nobody has said anything for as long as the window, or it waits for as long.
    pub(crate) fn is_update_due(&self, now: Timestamp) -> bool {
        let begin = self.begin(now);
        let rows = self.rows();
        let oldest = rows.pending().next().map(|row| row.at);
        self.limits.is_remembered && oldest.is_some_and(|at| at <= begin)
    }

    /// The diary has what was pending.
    pub(crate) fn mark_saved(&self, pending: &PendingDialogue, now: Timestamp) {
        let mut rows = self.rows();
        for row in &mut rows.said {
            let is_told = |told: &PendingRow| told.at == row.at;
            row.is_saved |= pending.rows.iter().any(is_told);
        }
        self.prune(&mut rows, now);
    }

    /// Whether [`DialogueMemory::forget`] would forget something that was said.
    pub(crate) fn holds(&self, target: &EraseTarget) -> bool {
        let rows = self.rows();
        let mut said = rows.said.iter().map(|row| (row.at, &row.text));
        let mut notes = rows.notes.iter().map(|(at, text)| (*at, text));
        said.any(|(at, text)| target.covers(text, at))
            || notes.any(|(at, text)| target.covers(text, at))
    }

    /// Forgets what the user wants to be forgotten: what was said, and the calls of earlier replies, which may repeat it.
    pub(crate) fn forget(&self, target: &EraseTarget) {
        let mut rows = self.rows();
        rows.said.retain(|row| !target.covers(&row.text, row.at));
        rows.notes.retain(|(at, text)| !target.covers(text, *at));
        if !matches!(target, EraseTarget::Node(_)) {
            rows.groups.clear();
        }
    }

    /// Forgets the calls of earlier replies: the conversation was stopped, or a new one begins.
    pub(crate) fn clear_carry_over(&self) {
        self.rows().groups.clear();
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls with their results, which must not be separated.
fn rounds(messages: Vec<Message>) -> Vec<Vec<Message>> {
    let mut rounds: Vec<Vec<Message>> = Vec::new();
    for message in messages {
        match (&message, rounds.last_mut()) {
            (Message::Tool(_), Some(round)) => round.push(message),
            _ => rounds.push(vec![message]),
        }
    }
    rounds
}

#[cfg(test)]
mod tests;
