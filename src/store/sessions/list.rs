//! The list of messages that the model sees, as far as it is on disk, and the records that turn it into another one.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write};

use super::record::{ContextCause, NumberedMessage, Record};
use super::replay::Replay;
use crate::chat::message::Message;

/// A message with its number and a hash of what is on disk of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WrittenMessage {
    n: u64,
    hash: u64,
}

/// The list, and what has been shown of all that was ever in it.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageList {
    written: Vec<WrittenMessage>,
    /// Numbers of the user's messages, the latest last.
    users: Vec<u64>,
    /// The highest number that is taken.
    last: u64,
    spoken: usize,
}

impl MessageList {
    /// The list as a file has it.
    pub(super) fn of(replay: &Replay) -> Self {
        let written = replay.numbered().map(|(n, message)| WrittenMessage {
            n,
            hash: hash(message),
        });
        Self {
            written: written.collect(),
            users: replay.users.clone(),
            last: replay.last,
            spoken: replay.recorded(),
        }
    }

    /// Whether nothing was ever in it.
    pub(super) fn is_unused(&self) -> bool {
        self.last == 0
    }

    /// Messages of the user and of Marvin that were shown.
    pub(super) fn spoken(&self) -> usize {
        self.spoken
    }

    /// The number of the user's last message.
    pub(super) fn last_user(&self) -> Option<u64> {
        self.users.last().copied()
    }

    pub(super) fn add<'a>(&mut self, message: &'a Message, time: &str) -> Record<'a> {
        let n = self.number();
        self.written.push(WrittenMessage {
            n,
            hash: hash(message),
        });
        self.spoken += usize::from(message.is_spoken());
        if matches!(message, Message::User(_)) {
            self.users.push(n);
        }
        Record::Message {
            n,
            time: time.to_owned(),
            message: Cow::Borrowed(message),
            call: None,
            thought: None,
        }
    }

    /// Becomes the list `messages`, and returns the records for that. What is new at the end is shown, unless the cause says otherwise; what is new before
    /// that is for the model alone.
    pub(super) fn follow<'a>(
        &mut self,
        messages: &'a [Message],
        cause: ContextCause,
        time: &str,
    ) -> Vec<Record<'a>> {
        let hashes: Vec<u64> = messages.iter().map(hash).collect();
        let is_same = |(old, hash): &(&WrittenMessage, &u64)| old.hash == **hash;
        let same = self.written.iter().zip(&hashes).take_while(is_same).count();
        let mut known: HashMap<u64, VecDeque<u64>> = HashMap::new();
        for old in self.written.iter().skip(same) {
            known.entry(old.hash).or_default().push_back(old.n);
        }
        let new_from = hashes.iter().enumerate().skip(same);
        let numbers: Vec<Option<u64>> = new_from
            .map(|(_, hash)| known.get_mut(hash).and_then(VecDeque::pop_front))
            .collect();
        let last_known = numbers
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |at| at + 1);
        let shown_from = match cause {
            ContextCause::Change => same + last_known,
            ContextCause::Seed
            | ContextCause::Compaction
            | ContextCause::Attachment
            | ContextCause::Shortened => messages.len(),
        };
        let mut records = Vec::new();
        if same < self.written.len() || same < shown_from {
            self.written.truncate(same);
            let mut new = Vec::new();
            let places = messages.iter().zip(&hashes).skip(same).zip(numbers);
            for ((message, hash), n) in places.take(shown_from - same) {
                let n = n.unwrap_or_else(|| {
                    let n = self.number();
                    let message = Cow::Borrowed(message);
                    new.push(NumberedMessage { n, message });
                    n
                });
                self.written.push(WrittenMessage { n, hash: *hash });
            }
            records.push(Record::Context {
                time: time.to_owned(),
                cause,
                order: self.written.iter().map(|message| message.n).collect(),
                new,
            });
        }
        for message in messages.iter().skip(shown_from) {
            records.push(self.add(message, time));
        }
        records
    }

    fn number(&mut self) -> u64 {
        self.last = self.last.saturating_add(1);
        self.last
    }
}

/// Hashes what is written to it.
struct HashWriter(DefaultHasher);

impl Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A hash of all that is written of a message.
fn hash(message: &Message) -> u64 {
    let mut writer = HashWriter(DefaultHasher::new());
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut writer, message);
    writer.0.finish()
}
