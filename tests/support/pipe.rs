//! A child's output pipe, read by a thread that notes when each piece came.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::latch;

/// Bytes that one read gave, and when.
#[derive(Clone)]
pub struct Piece {
    pub at: Instant,
    pub bytes: Vec<u8>,
}

/// What a thread reads off one of the child's pipes.
#[derive(Default)]
pub(crate) struct Pipe {
    state: Mutex<Pieces>,
    changed: Condvar,
}

#[derive(Default)]
struct Pieces {
    list: Vec<Piece>,
    ended: bool,
}

impl Pipe {
    /// Starts reading; with a limit, stops and closes the pipe after that many bytes.
    pub(crate) fn read(
        mut from: impl Read + Send + 'static,
        stop_after: Option<usize>,
    ) -> Arc<Self> {
        let pipe = Arc::new(Self::default());
        let shared = Arc::clone(&pipe);
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            let mut total = 0;
            while stop_after.is_none_or(|limit| total < limit) {
                match from.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => {
                        total += n;
                        let at = Instant::now();
                        let bytes = buffer[..n].to_vec();
                        shared.lock().list.push(Piece { at, bytes });
                        shared.changed.notify_all();
                    }
                }
            }
            drop(from);
            shared.lock().ended = true;
            shared.changed.notify_all();
        });
        pipe
    }

    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was read so far.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        self.lock().list.clone()
    }

    /// The same as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&joined(&self.lock().list)).into_owned()
    }

    /// Waits for a text; returns when the piece that completed it was read, or what was read instead.
    pub(crate) fn wait_for(&self, text: &str, limit: Duration) -> Result<Instant, String> {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            let mut so_far = Vec::new();
            for piece in &state.list {
                so_far.extend_from_slice(&piece.bytes);
                if String::from_utf8_lossy(&so_far).contains(text) {
                    return Ok(piece.at);
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || state.ended {
                return Err(String::from_utf8_lossy(&so_far).into_owned());
            }
            state = latch::wait(&self.changed, state, left);
        }
    }

    /// Waits for the end of the pipe.
    pub(crate) fn wait_end(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        while !state.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = latch::wait(&self.changed, state, left);
        }
        true
    }
}

/// Everything the pieces hold.
pub(crate) fn joined(pieces: &[Piece]) -> Vec<u8> {
    pieces
        .iter()
        .flat_map(|p| p.bytes.iter().copied())
        .collect()
}
