//! Answers to requests of the caller, written on a thread of their own: a caller that has stopped reading is still listened to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::Value;

use super::line_writer::LineWriter;
use crate::app::stream::say;
use crate::base::problem::{Outcome, Problem};

/// How long it is waited until an answer is written: so long answers and what follows them come in order.
const PATIENCE: Duration = Duration::from_millis(100);
/// Answers that may wait for a reader.
const MAX_WAITING: usize = 1_000;

/// Writes answers in the order in which they were given.
pub(super) struct AnswerQueue {
    send: Sender<QueuedAnswer>,
    /// Those that are not written yet.
    waiting: Arc<AtomicUsize>,
}

struct QueuedAnswer {
    line: Value,
    /// Dropped once it is written.
    written: Sender<()>,
}

impl AnswerQueue {
    /// # Errors
    /// No thread can be started.
    pub(super) fn new(writer: Arc<LineWriter>) -> Outcome<Self> {
        let (send, answers) = bounded(MAX_WAITING);
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let write = move || write_all(&writer, &answers, &left);
        thread::Builder::new()
            .name("answers".to_owned())
            .spawn(write)
            .map_err(|error| Problem::system("Cannot start a thread for answers", error))?;
        Ok(Self { send, waiting })
    }

    /// Has an answer written. It is waited for a moment, unless others wait already.
    pub(super) fn write(&self, line: Value) {
        let (written, on_written) = bounded(1);
        let is_first = self.waiting.fetch_add(1, Ordering::SeqCst) == 0;
        if self.send.try_send(QueuedAnswer { line, written }).is_err() {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return say(&format!(
                "An answer to the calling program is left out: {MAX_WAITING} wait already, and it reads none."
            ));
        }
        if is_first {
            // An error says that it is written.
            let _ = on_written.recv_timeout(PATIENCE);
        }
    }
}

fn write_all(writer: &LineWriter, answers: &Receiver<QueuedAnswer>, waiting: &AtomicUsize) {
    for answer in answers {
        writer.write_control(&answer.line);
        waiting.fetch_sub(1, Ordering::SeqCst);
        drop(answer.written);
    }
}
