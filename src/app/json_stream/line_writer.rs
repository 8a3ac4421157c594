//! Writes lines of JSON to standard output: one object a line, each with an id of its own and the id of the session, in one write.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::base::cancel::Cancel;
use crate::base::ids;

/// The longest line in bytes: readers of the form stop at a buffer of 1 MiB.
pub(super) const MAX_LINE: usize = 1 << 20;
/// Bytes that stand around the text of a line.
const ENVELOPE: usize = 4096;
/// The most that a text may take in a line, as JSON.
pub(super) const MAX_TEXT: usize = MAX_LINE - ENVELOPE;
/// What stands at the end of a text that is longer.
pub(super) const CLIPPED: &str = "\n[The rest is left out: a line has at most 1 MiB.]";

/// The most that a pipe which can be written to takes at once without making the writer wait: PIPE_BUF (pipe(7)).
const SURE_ROOM: usize = 4096;
/// How often a wait for the reader looks whether the turn was stopped.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Writes the lines of a run. Fires the token when the reader closes the pipe.
pub(crate) struct LineWriter {
    state: Mutex<WriterState>,
    /// Unknown until the session was opened.
    session: OnceLock<String>,
    reader_gone: Cancel,
    /// The pipe, where its reader may stand still.
    pipe: Option<OwnedFd>,
    /// Once it has fired, nobody waits for a reader that stands still: that of the turn, or else of the run.
    stop: Mutex<Cancel>,
}

struct WriterState {
    out: Box<dyn Write + Send>,
    ids: LineIds,
    /// The line that is being made, behind those that the reader has not taken; kept, because most lines are short and many.
    lines: Vec<u8>,
    /// Bytes of them that are written.
    written: usize,
    error: Option<io::Error>,
}

impl LineWriter {
    /// Writes to this process's standard output.
    ///
    /// # Errors
    /// Standard output is closed.
    pub(crate) fn new(reader_gone: Cancel) -> io::Result<Self> {
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Self::to_pipe(out, reader_gone)
    }

    fn to_pipe(out: File, reader_gone: Cancel) -> io::Result<Self> {
        Ok(Self {
            pipe: Some(out.as_fd().try_clone_to_owned()?),
            ..Self::to(out, reader_gone)
        })
    }

    pub(super) fn to(out: impl Write + Send + 'static, reader_gone: Cancel) -> Self {
        Self {
            state: Mutex::new(WriterState {
                out: Box::new(out),
                ids: LineIds::new(),
                lines: Vec::new(),
                written: 0,
                error: None,
            }),
            session: OnceLock::new(),
            stop: Mutex::new(reader_gone.clone()),
            reader_gone,
            pipe: None,
        }
    }

    /// The lines are those of this session.
    pub(crate) fn set_session(&self, id: &str) {
        let _ = self.session.set(id.to_owned());
    }

    /// The id of the session that the lines tell: a random one where there is none.
    fn session(&self) -> &str {
        self.session.get_or_init(ids::uuid)
    }

    /// The lines are those of a turn that `stop` stops: then those that a standing reader does not take are kept for later.
    pub(super) fn begin_turn(&self, stop: Cancel) {
        *self.stop() = stop;
    }

    /// Writes what was kept of a turn that has ended; waits for the reader.
    pub(super) fn end_turn(&self) {
        self.begin_turn(self.reader_gone.clone());
        self.flush(self.lock());
    }

    /// Writes one object with `uuid` and `session_id` at its end.
    pub(super) fn write(&self, line: &impl Serialize) {
        self.write_with(self.lock(), line, None);
    }

    /// The same under an id that the line has already, if it is one.
    pub(super) fn write_as(&self, id: Option<&str>, line: &impl Serialize) {
        let id = id.filter(|id| ids::is_uuid(id));
        self.write_with(self.lock(), line, id);
    }

    /// The same, unless somebody else is writing: the reader may have stopped reading, and the process is about to end.
    pub(super) fn try_write(&self, line: &impl Serialize) {
        match self.state.try_lock() {
            Ok(state) => self.write_with(state, line, None),
            Err(TryLockError::Poisoned(state)) => self.write_with(state.into_inner(), line, None),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// Writes one object as it is: a line of the control protocol.
    pub(super) fn write_control(&self, line: &impl Serialize) {
        let mut state = self.lock();
        let start = state.begin_line();
        match serde_json::to_writer(&mut state.lines, line) {
            Ok(()) => state.lines.push(b'\n'),
            Err(_) => state.lines.truncate(start),
        }
        self.flush(state);
    }

    fn write_with<'a>(
        &'a self,
        mut state: MutexGuard<'a, WriterState>,
        line: &impl Serialize,
        id: Option<&str>,
    ) {
        let start = state.begin_line();
        let made = serde_json::to_writer(&mut state.lines, line);
        if made.is_err() || state.lines.pop() != Some(b'}') {
            return state.lines.truncate(start);
        }
        let own = state.ids.next();
        let parts: [&[u8]; 5] = [
            b",\"uuid\":\"",
            id.map_or(own.as_slice(), str::as_bytes),
            b"\",\"session_id\":\"",
            self.session().as_bytes(),
            b"\"}\n",
        ];
        parts
            .iter()
            .for_each(|part| state.lines.extend_from_slice(part));
        self.flush(state);
    }

    /// Writes what waits, in steps, so that a stop ends the wait for a reader that stands still. The rest is then written by whoever writes next.
    fn flush<'a>(&'a self, mut state: MutexGuard<'a, WriterState>) {
        loop {
            let WriterState {
                out,
                lines,
                written,
                error,
                ..
            } = &mut *state;
            let rest = lines.get(*written..).unwrap_or_default();
            if rest.is_empty() || error.is_some() {
                return state.clear();
            }
            if !self.has_room(&AT_ONCE) {
                drop(state);
                if self.stop().is_fired() {
                    return;
                }
                self.has_room(&LOOK);
                state = self.lock();
                continue;
            }
            let most = match self.pipe {
                Some(_) => SURE_ROOM.min(rest.len()),
                None => rest.len(),
            };
            match out.write(rest.get(..most).unwrap_or_default()) {
                Ok(0) => *error = Some(io::ErrorKind::WriteZero.into()),
                Ok(count) => *written += count,
                Err(reason) if reason.kind() == io::ErrorKind::Interrupted => {}
                Err(reason) => *error = Some(reason),
            }
            if error.is_some() {
                self.reader_gone.fire();
            }
        }
    }

    /// Whether something can be written without waiting; waits for that so long. A pipe that is closed fails at once.
    fn has_room(&self, time: &Timespec) -> bool {
        let Some(pipe) = &self.pipe else {
            return true;
        };
        let ready = poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(time));
        ready.is_ok_and(|ready| ready > 0)
    }

    /// Why a line could not be written: `BrokenPipe` when the reader went away. Waits for the reader.
    ///
    /// # Errors
    /// One could not.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.begin_turn(Cancel::new());
        self.flush(self.lock());
        self.lock().error.take().map_or(Ok(()), Err)
    }

    fn stop(&self) -> MutexGuard<'_, Cancel> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WriterState {
    /// Where the next line begins, behind what waits.
    fn begin_line(&mut self) -> usize {
        self.lines.drain(..std::mem::take(&mut self.written));
        self.lines.len()
    }

    fn clear(&mut self) {
        self.written = 0;
        match self.lines.capacity() > MAX_LINE {
            true => self.lines = Vec::new(),
            false => self.lines.clear(),
        }
    }
}

/// UUIDs (RFC 9562, version 4) from one random seed: a line costs no call of the system for its id.
struct LineIds(u64);

impl LineIds {
    fn new() -> Self {
        Self(u64::from_str_radix(&ids::hex(8), 16).unwrap_or_default())
    }

    /// SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>): every seed gives 2^64 different numbers.
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn next(&mut self) -> [u8; 36] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let high = (self.number() & !0xf000) | 0x4000;
        let low = (self.number() & !(3 << 62)) | (2 << 62);
        let number = (u128::from(high) << 64) | u128::from(low);
        let mut text = [b'-'; 36];
        let mut shift = 128;
        for (at, place) in text.iter_mut().enumerate() {
            if !matches!(at, 8 | 13 | 18 | 23) {
                shift -= 4;
                let digit = usize::try_from((number >> shift) & 15).unwrap_or_default();
                *place = DIGITS.get(digit).copied().unwrap_or(b'0');
            }
        }
        text
    }
}

/// The beginning of `text` that takes at most `most` bytes as JSON; the whole when it fits.
pub(super) fn head_in_json(text: &str, most: usize) -> &str {
    // No character takes more than six bytes for each of its own.
    if text.len().saturating_mul(6) <= most {
        return text;
    }
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += length_of(c);
        if taken > most {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// `text`, or what a line has room for: its beginning, and that it is one. It takes at most `most` bytes as JSON.
pub(super) fn clipped(text: &str, most: usize) -> Cow<'_, str> {
    if head_in_json(text, most).len() == text.len() {
        return Cow::Borrowed(text);
    }
    let head = head_in_json(text, most.saturating_sub(length_in_json(CLIPPED)));
    Cow::Owned(format!("{head}{CLIPPED}"))
}

/// Bytes of `text` as JSON, without the quotation marks.
pub(super) fn length_in_json(text: &str) -> usize {
    text.chars().map(length_of).sum()
}

fn length_of(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::{BufRead as _, BufReader, Read, Seek};
    use std::thread;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_line_has_an_id_of_its_own_and_that_of_the_session() {
        let file = tempfile::tempfile().unwrap();
        let writer = LineWriter::to(file.try_clone().unwrap(), Cancel::new());
        writer.set_session("s1");
        for n in 0..1_000 {
            writer.write(&json!({"type": "x", "n": n}));
        }
        writer.write_control(&json!({"type": "control_response"}));
        let mut file = file;
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let mut ids = HashSet::new();
        for line in text.lines().take(1_000) {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["session_id"], "s1");
            let id = line["uuid"].as_str().unwrap().to_owned();
            let parts: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert!(id.get(14..15) == Some("4") && "89ab".contains(id.get(19..20).unwrap()));
            ids.insert(id);
        }
        assert_eq!(ids.len(), 1_000);
        assert_eq!(
            text.lines().last(),
            Some(r#"{"type":"control_response"}"#),
            "{text}"
        );
    }

    #[test]
    fn a_reader_that_is_gone_fires_the_token_once_and_is_told_at_the_end() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let gone = Cancel::new();
        let lines = LineWriter::to(File::from(OwnedFd::from(writer)), gone.clone());
        lines.write(&json!({"type": "x"}));
        lines.write(&json!({"type": "x"}));
        assert!(gone.is_fired());
        let error = lines.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_stop_ends_the_wait_for_a_reader_and_what_was_written_then_comes_in_order() {
        let (reader, pipe) = io::pipe().unwrap();
        let lines = LineWriter::to_pipe(File::from(OwnedFd::from(pipe)), Cancel::new()).unwrap();
        let stop = Cancel::new();
        lines.begin_turn(stop.clone());
        let long = "x".repeat(MAX_TEXT);
        let line = |n: u64| lines.write(&json!({"n": n, "long": long}));
        let text: Vec<io::Result<String>> = thread::scope(|scope| {
            let writing = scope.spawn(|| (0..4).for_each(line));
            // The pipe is full once the first line waits.
            while lines.lock().written == 0 {
                thread::yield_now();
            }
            assert!(!writing.is_finished());
            stop.fire();
            writing.join().unwrap();
            let reading = scope.spawn(move || BufReader::new(reader).lines().take(5).collect());
            lines.end_turn();
            line(4);
            lines.finish().unwrap();
            reading.join().unwrap()
        });
        for (n, line) in text.into_iter().enumerate() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            assert_eq!(line["n"], n);
            assert_eq!(line["long"], long);
        }
        assert_eq!(
            lines.lock().lines.capacity(),
            0,
            "what was kept is given back"
        );
    }

    proptest! {
        #[test]
        fn a_head_fits_and_is_as_long_as_it_can_be(text in "(\\PC|[\n\t\u{0}\u{1b}\"\\\\]){0,80}", most in 0_usize..120) {
            let head = head_in_json(&text, most);
            let length = |text: &str| serde_json::to_string(text).unwrap().len() - 2;
            prop_assert!(text.starts_with(head));
            prop_assert!(length(head) <= most);
            prop_assert_eq!(length(head), length_in_json(head));
            if let Some(next) = text[head.len()..].chars().next() {
                let longer = [head, &next.to_string()].concat();
                prop_assert!(length(&longer) > most);
            }
        }
    }
}
