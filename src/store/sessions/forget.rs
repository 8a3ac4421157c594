//! Taking out of sessions what the user wants to be forgotten.
//!
//! A message stays where it is and keeps its number, so that the session can be replayed and resumed as before; its text becomes a note that it was
//! forgotten. Lines that have nothing of it keep their bytes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;

use super::id::SessionId;
use super::on_disk::SessionOnDisk;
use super::record::{Line, NumberedMessage, Record};
use super::replay::first_words;
use super::store::SessionStore;
use crate::base::problem::Outcome;
use crate::base::shared_sort::SharedSort as _;
use crate::chat::display::Display;
use crate::chat::message::{Message, ProviderState};
use crate::disk::atomic::{self, Access};

/// What stands for a text that was forgotten.
const FORGOTTEN: &str = "[forgotten]";
/// The arguments of a call that were forgotten.
const NO_ARGUMENTS: &str = "{}";

/// What the user wants to be forgotten.
#[derive(Clone, Copy)]
pub(crate) struct ForgetTexts<'a> {
    /// Whether a text is, which was said at that time.
    pub text: &'a dyn Fn(&str, Option<Timestamp>) -> bool,
    /// Whether a line is that is no record of this version.
    pub line: &'a dyn Fn(&str) -> bool,
}

impl SessionStore {
    /// What [`SessionStore::forget`] would take out of each session.
    pub(crate) fn find_forgotten(&self, wanted: ForgetTexts<'_>) -> Vec<(SessionId, Vec<String>)> {
        let mut found: Vec<(SessionId, Vec<String>)> = Vec::new();
        for SessionOnDisk { id, .. } in self.files() {
            if let Ok(bytes) = self.bytes(&id) {
                let gone = Forgetting::of(&bytes, wanted).gone;
                if !gone.is_empty() {
                    found.push((id, gone));
                }
            }
        }
        found.shared_sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        found
    }

    /// Takes texts out of a session; returns them.
    ///
    /// # Errors
    /// It is open, here or in another Marvin; it cannot be read or written. It is as it was then.
    pub(crate) fn forget(&self, id: &SessionId, wanted: ForgetTexts<'_>) -> Outcome<Vec<String>> {
        let lock = self.lock(id)?;
        let path = self.path(id);
        let bytes = self.bytes(id)?;
        let cleaned = Forgetting::of(&bytes, wanted);
        if !cleaned.gone.is_empty() {
            let changed = fs::metadata(&path).and_then(|about| about.modified());
            atomic::write(&path, &cleaned.bytes(), Access::Private)?;
            // It was not used: a list of sessions has the latest first.
            if let Ok(changed) = changed {
                set_modified(&path, changed);
            }
        }
        self.remove_temporary(id);
        drop(lock);
        Ok(cleaned.gone)
    }

    /// Removes what a killed process left half written of a session.
    fn remove_temporary(&self, id: &SessionId) {
        let path = self.path(id);
        let begin = format!(".{id}.");
        for entry in path
            .parent()
            .map(fs::read_dir)
            .into_iter()
            .flatten()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&begin) && name.ends_with(".tmp") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn set_modified(path: &Path, time: SystemTime) {
    let file = File::options().append(true).open(path);
    // Where that is not possible, the session counts as used now.
    let _ = file.and_then(|file| file.set_modified(time));
}

/// A session's file that is gone through.
struct Forgetting<'a> {
    wanted: ForgetTexts<'a>,
    lines: Vec<Cow<'a, [u8]>>,
    /// Of an answer that arrives: where its pieces are among the lines, its text, and when it began.
    pieces: Vec<usize>,
    answer: String,
    began: String,
    /// The beginnings of messages of the user that are gone: the end of a turn repeats that of the first.
    firsts: HashSet<String>,
    gone: Vec<String>,
}

impl<'a> Forgetting<'a> {
    fn of(bytes: &'a [u8], wanted: ForgetTexts<'a>) -> Self {
        let mut all = Self {
            wanted,
            lines: Vec::new(),
            pieces: Vec::new(),
            answer: String::new(),
            began: String::new(),
            firsts: HashSet::new(),
            gone: Vec::new(),
        };
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            all.line(line);
        }
        all.end_answer();
        all
    }

    fn bytes(&self) -> Vec<u8> {
        self.lines.concat()
    }

    fn line(&mut self, line: &'a [u8]) {
        match Line::read(line) {
            Line::Record(record) => self.record(line, record),
            Line::Passed | Line::Corrupt => {
                let text = String::from_utf8_lossy(line);
                match (self.wanted.line)(text.trim()) {
                    true => self.gone.push(text.into_owned()),
                    false => self.lines.push(line.into()),
                }
            }
        }
    }

    fn record(&mut self, line: &'a [u8], mut record: Record<'static>) {
        let before = self.gone.len();
        match &mut record {
            Record::Message {
                time,
                message,
                call,
                thought,
                ..
            } => {
                self.end_answer();
                self.message(message.to_mut(), time);
                // Thoughts about an answer that goes say the same.
                let is_changed = self.gone.len() > before;
                let says = |thought: &mut String| is_changed || self.goes(thought, time);
                let thought = thought.take_if(says);
                self.gone.extend(thought.filter(|_| !is_changed));
                let display = call.as_mut().and_then(|call| {
                    let says = |display: &mut Display| {
                        let json = serde_json::to_string(display).unwrap_or_default();
                        (self.wanted.line)(&json)
                    };
                    call.display.take_if(says)
                });
                self.gone
                    .extend(display.map(|display| format!("{display:?}")));
            }
            Record::Context { time, new, .. } => {
                self.end_answer();
                for NumberedMessage { message, .. } in new {
                    self.message(message.to_mut(), time);
                }
            }
            Record::Name { time, name } => self.text(name, time, ""),
            Record::Turn(turn) => {
                self.end_answer();
                if self.firsts.contains(&turn.first) {
                    FORGOTTEN.clone_into(&mut turn.first);
                    self.gone.push(String::new());
                }
                let time = turn.time.clone();
                self.text(&mut turn.first, &time, FORGOTTEN);
                for text in [&mut turn.name, &mut turn.error].into_iter().flatten() {
                    self.text(text, &time, FORGOTTEN);
                }
            }
            Record::Waiting { time, texts } => {
                texts.iter_mut().for_each(|text| self.text(text, time, ""));
                texts.retain(|text| !text.is_empty());
            }
            Record::Piece { time, text } => {
                if self.pieces.is_empty() {
                    self.began.clone_from(time);
                }
                self.pieces.push(self.lines.len());
                self.answer.push_str(text);
            }
            Record::Undo { .. } => self.end_answer(),
            Record::Session(_)
            | Record::Model { .. }
            | Record::Workspace { .. }
            | Record::Unknown => {}
        }
        self.lines.push(match self.gone.len() == before {
            true => line.into(),
            false => written(&record),
        });
        // Repetitions are no news.
        self.gone.retain(|text| !text.is_empty());
    }

    /// Pieces are parts of one text, so they are looked at together.
    fn end_answer(&mut self) {
        let answer = std::mem::take(&mut self.answer);
        let mut pieces = std::mem::take(&mut self.pieces).into_iter();
        if !self.goes(&answer, &self.began) {
            return;
        }
        let note = Record::Piece {
            time: self.began.clone(),
            text: FORGOTTEN.to_owned(),
        };
        let first = pieces.next().and_then(|first| self.lines.get_mut(first));
        if let Some(first) = first {
            *first = written(&note);
        }
        for piece in pieces {
            if let Some(line) = self.lines.get_mut(piece) {
                *line = Cow::default();
            }
        }
        self.gone.push(answer);
    }

    fn goes(&self, text: &str, time: &str) -> bool {
        !matches!(text, "" | FORGOTTEN | NO_ARGUMENTS)
            && (self.wanted.text)(text, time.parse().ok())
    }

    /// Replaces a text that goes.
    fn text(&mut self, text: &mut String, time: &str, by: &str) {
        if self.goes(text, time) {
            self.gone.push(std::mem::replace(text, by.to_owned()));
        }
    }

    fn message(&mut self, message: &mut Message, time: &str) {
        let before = self.gone.len();
        match message {
            Message::System { text } => self.text(text, time, FORGOTTEN),
            Message::User(user) => {
                let first = first_words(user.title());
                self.text(&mut user.text, time, FORGOTTEN);
                // What was typed is a part of that.
                let is_gone = self.gone.len() > before;
                let says = |typed: &mut String| is_gone || self.goes(typed, time);
                let typed = user.typed.take_if(says);
                self.gone.extend(typed.filter(|_| !is_gone));
                if self.gone.len() > before {
                    self.firsts.insert(first);
                    user.images.clear();
                }
            }
            Message::Assistant(said) => {
                self.text(&mut said.text, time, FORGOTTEN);
                for call in &mut said.calls {
                    let args = &call.args;
                    if self.goes(args, time) || (self.wanted.line)(args) {
                        call.provider_state = None;
                        let args = std::mem::replace(&mut call.args, NO_ARGUMENTS.to_owned());
                        self.gone.push(args);
                    }
                }
                // It belongs to the answer as it was.
                let is_changed = self.gone.len() > before;
                let says =
                    |state: &mut ProviderState| is_changed || (self.wanted.line)(&state.json);
                let state = said.provider_state.take_if(says);
                self.gone
                    .extend(state.filter(|_| !is_changed).map(|state| state.json));
            }
            Message::Tool(output) => self.text(&mut output.text, time, FORGOTTEN),
        }
    }
}

fn written(record: &Record<'_>) -> Cow<'static, [u8]> {
    let mut line = serde_json::to_vec(record).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
