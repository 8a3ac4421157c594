//! Reads a session's file: what was said, for the user, and what the model sees of it.

use std::collections::{HashMap, HashSet};

use super::record::{
    CallRecord, ContextCause, Line, Record, SessionHeader, Spent, TurnEnding, TurnRecord,
    TurnResult,
};
use crate::base::text::{clip, one_line};
use crate::chat::message::Message;
use crate::chat::repair::repair;

/// Characters of the user's first message that a list shows.
const FIRST_CHARS: usize = 120;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TranscriptRow {
    /// In UTC.
    pub time: String,
    pub item: TranscriptItem,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TranscriptItem {
    /// The message of this number.
    Message(u64),
    /// Older messages were summarised for the model.
    Compaction,
    Model {
        provider: String,
        model: String,
    },
    Name(String),
    /// Marvin ended before the answer above did.
    CutOff,
    /// A turn ended otherwise than with an answer.
    Ended(TurnEnding),
}

/// A session as its file tells it.
#[derive(Debug, Default)]
pub struct Replay {
    pub(crate) header: SessionHeader,
    messages: HashMap<u64, Message>,
    /// What is known of the calls of results, by the results' numbers.
    calls: HashMap<u64, CallRecord>,
    /// What the model thought before answers, by their numbers.
    thoughts: HashMap<u64, String>,
    order: Vec<u64>,
    rows: Vec<TranscriptRow>,
    /// Numbers of the user's messages, the latest last.
    pub(super) users: Vec<u64>,
    /// The highest number.
    pub(super) last: u64,
    pub(crate) name: Option<String>,
    /// The projects that it was held in beside the one it began in.
    entered: Vec<String>,
    /// Provider and model that answered last.
    pub(crate) model: Option<(String, String)>,
    pub(crate) spent: Spent,
    /// The messages that were not sent.
    pub(crate) waiting: Vec<String>,
    /// The pieces of an answer of which there is no message, and when the first came.
    pieces: Option<(String, String)>,
    /// The number of the message that they have become.
    cut_off: Option<u64>,
    /// Time of the last record.
    pub(crate) time: String,
    /// Lines that are not records.
    corrupt: usize,
    /// Bytes up to the end of the last whole line.
    pub(super) whole_bytes: u64,
    /// The last line is whole, but its line end is missing.
    pub(super) needs_line_end: bool,
}

impl Replay {
    /// Reads the bytes of a file. Takes any bytes: a line cut off at the end and records of newer versions are passed over, and lines that are not
    /// records too, but those are counted.
    pub fn read(bytes: &[u8]) -> Self {
        let mut replay = Self::default();
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            at += line.len();
            let is_whole = line.last() == Some(&b'\n');
            match Line::read(line) {
                Line::Record(record) => {
                    replay.take(record);
                    replay.needs_line_end = !is_whole;
                }
                Line::Passed => replay.needs_line_end = !is_whole,
                Line::Corrupt if is_whole => {
                    replay.corrupt += 1;
                    replay.needs_line_end = false;
                }
                // A torn end.
                Line::Corrupt => break,
            }
            replay.whole_bytes = at as u64;
        }
        replay.end_pieces();
        replay
    }

    /// What had arrived of an answer becomes a message. The model sees it too; as a record it is written with the next message.
    fn end_pieces(&mut self) {
        let Some((time, text)) = self.pieces.take() else {
            return;
        };
        if text.trim().is_empty() {
            return;
        }
        let n = self.last.saturating_add(1);
        if self.add(n, Message::assistant(text)) {
            self.cut_off = Some(n);
            self.row(time.clone(), TranscriptItem::Message(n));
            self.row(time, TranscriptItem::CutOff);
        }
    }

    fn take(&mut self, record: Record<'static>) {
        match record {
            Record::Session(header) => {
                // A copy of a session has the header of its own.
                if self.header.version == 0 {
                    self.see(&header.time.clone());
                    self.model = Some((header.provider.clone(), header.model.clone()));
                    self.header = header;
                }
            }
            Record::Message {
                n,
                time,
                message,
                call,
                thought,
            } => {
                self.see(&time);
                self.pieces = None;
                let message = message.into_owned();
                let is_user = matches!(message, Message::User(_));
                // The same line twice is one message.
                if self.add(n, message) {
                    self.order.push(n);
                    if let Some(call) = call {
                        self.calls.insert(n, *call);
                    }
                    if let Some(thought) = thought {
                        self.thoughts.insert(n, thought);
                    }
                    self.row(time, TranscriptItem::Message(n));
                    if is_user {
                        self.users.push(n);
                    }
                }
            }
            Record::Context {
                time,
                cause,
                order,
                new,
            } => {
                self.see(&time);
                self.pieces = None;
                for numbered in new {
                    self.add(numbered.n, numbered.message.into_owned());
                }
                // A number twice would be a message twice.
                let mut seen = HashSet::new();
                self.order = order.into_iter().filter(|n| seen.insert(*n)).collect();
                if cause == ContextCause::Compaction {
                    self.row(time, TranscriptItem::Compaction);
                }
            }
            Record::Model {
                time,
                provider,
                model,
            } => {
                self.see(&time);
                self.model = Some((provider.clone(), model.clone()));
                self.row(time, TranscriptItem::Model { provider, model });
            }
            Record::Name { time, name } => {
                self.see(&time);
                self.name = Some(name.clone()).filter(|name| !name.is_empty());
                self.row(time, TranscriptItem::Name(name));
            }
            Record::Undo { time, from } => {
                self.see(&time);
                self.pieces = None;
                self.order.retain(|n| *n < from);
                self.users.retain(|n| *n < from);
                // What followed the message goes with it: notices too.
                let is_gone = |row: &TranscriptRow| matches!(row.item, TranscriptItem::Message(n) if n >= from);
                if let Some(at) = self.rows.iter().position(is_gone) {
                    self.rows.truncate(at);
                }
            }
            Record::Turn(turn) => self.turn(turn),
            Record::Waiting { time, texts } => {
                self.see(&time);
                self.waiting = texts;
            }
            Record::Piece { time, text } => {
                self.see(&time);
                match &mut self.pieces {
                    Some((_, before)) => before.push_str(&text),
                    None => self.pieces = Some((time, text)),
                }
            }
            Record::Workspace { time, path } => {
                self.see(&time);
                self.entered.push(path);
            }
            Record::Unknown => {}
        }
    }

    fn turn(&mut self, turn: TurnRecord) {
        self.see(&turn.time);
        self.pieces = None;
        self.spent = turn.spent;
        if turn.result != TurnResult::Complete {
            let ending = TurnEnding {
                result: turn.result,
                error: turn.error,
            };
            self.row(turn.time, TranscriptItem::Ended(ending));
        }
    }

    fn see(&mut self, time: &str) {
        time.clone_into(&mut self.time);
    }

    /// False when the number is taken.
    fn add(&mut self, n: u64, message: Message) -> bool {
        self.last = self.last.max(n);
        let is_new = !self.messages.contains_key(&n);
        if is_new {
            self.messages.insert(n, message);
        }
        is_new
    }

    fn row(&mut self, time: String, item: TranscriptItem) {
        self.rows.push(TranscriptRow { time, item });
    }

    /// What the model sees, numbered, as it was written.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (u64, &Message)> {
        let numbered = |n: &u64| Some((*n, self.messages.get(n)?));
        self.order.iter().filter_map(numbered)
    }

    /// What the model sees, in a form that every provider takes: a call that was cut off by the end of the process has a result that says so.
    pub fn context(&self) -> Vec<Message> {
        let cut_off = self.cut_off.and_then(|n| self.messages.get(&n));
        let numbered = self.numbered().map(|(_, message)| message);
        let mut messages = numbered.chain(cut_off).cloned().collect();
        repair(&mut messages);
        messages
    }

    /// What the user saw, in order.
    pub(crate) fn rows(&self) -> &[TranscriptRow] {
        &self.rows
    }

    /// The projects that it was held in.
    pub(super) fn workspaces(&self) -> Vec<String> {
        self.header
            .workspace
            .iter()
            .chain(&self.entered)
            .cloned()
            .collect()
    }

    /// The message of a row.
    pub(crate) fn message(&self, n: u64) -> Option<&Message> {
        self.messages.get(&n)
    }

    /// What the user saw of the call whose result has this number; `None` when it was written without that.
    pub(crate) fn call(&self, n: u64) -> Option<&CallRecord> {
        self.calls.get(&n)
    }

    /// What the model thought before the answer with this number.
    pub(crate) fn thought(&self, n: u64) -> Option<&str> {
        self.thoughts.get(&n).map(String::as_str)
    }

    /// Messages of the user and of Marvin that have a record.
    pub(super) fn recorded(&self) -> usize {
        self.spoken().count() - usize::from(self.cut_off.is_some())
    }

    /// What the user and Marvin said, the oldest first.
    pub(crate) fn spoken(&self) -> impl DoubleEndedIterator<Item = &Message> {
        let messages = self.rows.iter().filter_map(|row| match row.item {
            TranscriptItem::Message(n) => self.message(n),
            _ => None,
        });
        messages.filter(|message| message.is_spoken())
    }

    /// The user's messages, the latest last.
    pub fn user_texts(&self) -> Vec<String> {
        let texts = self.spoken().filter_map(|message| match message {
            Message::User(user) => Some(user.text.clone()),
            _ => None,
        });
        texts.collect()
    }

    /// The beginning of the user's first message.
    pub(crate) fn first(&self) -> String {
        let first = self.spoken().find_map(|message| match message {
            Message::User(user) => Some(first_words(user.title())),
            _ => None,
        });
        first.unwrap_or_default()
    }

    /// How many lines could not be read, for the user; `None` when all could.
    pub(crate) fn damage(&self) -> Option<String> {
        match self.corrupt {
            0 => None,
            1 => Some(
                "One line of this session's file could not be read and was passed over.".to_owned(),
            ),
            more => Some(format!(
                "{more} lines of this session's file could not be read and were passed over."
            )),
        }
    }
}

/// The beginning of a message, for a list.
pub(super) fn first_words(text: &str) -> String {
    clip(
        &one_line(crate::base::text::head(text, 4 * FIRST_CHARS)),
        FIRST_CHARS,
    )
}
