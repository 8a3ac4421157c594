//! Messages from workers to the session: one queue, and a wake-up when it is not empty.
//!
//! Adjacent pieces of streamed text are joined while they wait. An interface that reads thirty times a second never slows down a stream of five
//! thousand pieces, and the queue is no larger than the text.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::worker_event::{AwaitedBy, WorkerEvent};
use crate::chat::event::{Event, EventSink};
use crate::chat::reply_event::ReplyEvent;
use crate::store::sessions::log::TurnLog;
use crossbeam_channel::{Receiver, Sender, bounded};

pub(super) struct Inbox {
    events: Mutex<VecDeque<(AwaitedBy, WorkerEvent)>>,
    wake: Sender<()>,
}

impl Inbox {
    /// An empty queue, and a channel that holds one item whenever the queue is not empty.
    pub(super) fn new() -> (Arc<Self>, Receiver<()>) {
        let (wake, woken) = bounded(1);
        let inbox = Self {
            events: Mutex::default(),
            wake,
        };
        (Arc::new(inbox), woken)
    }

    /// Adds an event that nobody waits for, and wakes the session.
    pub(super) fn send(&self, event: WorkerEvent) {
        self.report(AwaitedBy::Nobody, event);
    }

    /// Adds the report of some work, and wakes the session.
    pub(super) fn report(&self, awaited_by: AwaitedBy, event: WorkerEvent) {
        let mut events = self.lock();
        let older = events.iter_mut().rev().take(REPLACED_WITHIN);
        let older = older.map(|(_, older)| older);
        if let Some(older) = older.into_iter().find(|older| is_replaced(older, &event)) {
            // The reader has not seen the older lines, and a flood of them must not fill the queue.
            *older = event;
            return;
        }
        match (events.back_mut().map(|(_, last)| last), event) {
            (
                Some(WorkerEvent::Event(turn, Event::Delta(before))),
                WorkerEvent::Event(same, Event::Delta(more)),
            )
            | (
                Some(WorkerEvent::Event(turn, Event::Thinking(before))),
                WorkerEvent::Event(same, Event::Thinking(more)),
            ) if *turn == same => before.push_str(&more),
            (
                Some(WorkerEvent::Event(turn, Event::Reply(ReplyEvent::Draft { piece: before }))),
                WorkerEvent::Event(same, Event::Reply(ReplyEvent::Draft { piece: more })),
            ) if *turn == same => before.push_str(&more),
            (_, event) => events.push_back((awaited_by, event)),
        }
        drop(events);
        // A full channel already means a wake-up.
        let _ = self.wake.try_send(());
    }

    /// Empties the queue: each event with who has waited for it.
    pub(super) fn take(&self) -> VecDeque<(AwaitedBy, WorkerEvent)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(AwaitedBy, WorkerEvent)>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of the newest messages are searched for lines that newer ones replace: more than there are calls at once.
const REPLACED_WITHIN: usize = 32;

/// Whether `newer` has the lines of the same program.
fn is_replaced(older: &WorkerEvent, newer: &WorkerEvent) -> bool {
    match (older, newer) {
        (
            WorkerEvent::Event(turn, Event::Output { id, .. }),
            WorkerEvent::Event(same_turn, Event::Output { id: same, .. }),
        ) => turn == same_turn && id == same,
        (WorkerEvent::CommandOutput { id, .. }, WorkerEvent::CommandOutput { id: same, .. }) => {
            id == same
        }
        _ => false,
    }
}

/// Forwards a turn's events together with its number.
pub(super) struct EventRelay {
    pub(super) inbox: Arc<Inbox>,
    pub(super) turn: u64,
    /// Writes the answer while it arrives. The reply flow has none: only its whole answer is free of secrets.
    pub(super) log: Option<TurnLog>,
}

impl EventSink for EventRelay {
    fn emit(&self, event: Event) {
        if let (Some(log), Event::Delta(piece)) = (&self.log, &event)
            && let Some(notice) = log.stream(piece)
        {
            self.inbox.send(WorkerEvent::Notice(notice));
        }
        self.inbox.send(WorkerEvent::Event(self.turn, event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_pieces_of_one_turn_are_joined_and_the_bell_rings_once() {
        let (inbox, woken) = Inbox::new();
        let say =
            |turn, text: &str| inbox.send(WorkerEvent::Event(turn, Event::Delta(text.to_owned())));
        say(1, "a");
        say(1, "b");
        inbox.send(WorkerEvent::Event(1, Event::Thinking("t".to_owned())));
        say(1, "c");
        say(2, "d");
        assert_eq!(woken.len(), 1);
        let texts: Vec<String> = inbox
            .take()
            .into_iter()
            .map(|(_, event)| match event {
                WorkerEvent::Event(turn, Event::Delta(text) | Event::Thinking(text)) => {
                    format!("{turn}{text}")
                }
                _ => "something else".to_owned(),
            })
            .collect();
        assert_eq!(texts, ["1ab", "1t", "1c", "2d"]);
        assert!(inbox.take().is_empty());
    }

    #[test]
    fn newer_lines_of_a_program_replace_older_ones_that_wait() {
        let (inbox, _woken) = Inbox::new();
        for n in 0..10_000 {
            for id in ["a", "b"] {
                let (id, lines) = (id.to_owned(), n.to_string());
                let recent = Vec::new();
                inbox.send(WorkerEvent::Event(1, Event::Output { id, lines, recent }));
            }
            let lines = n.to_string();
            inbox.send(WorkerEvent::CommandOutput { id: 7, lines });
        }
        let left = inbox.take();
        assert_eq!(left.len(), 3);
        for (_, event) in left {
            match event {
                WorkerEvent::Event(_, Event::Output { lines, .. })
                | WorkerEvent::CommandOutput { lines, .. } => assert_eq!(lines, "9999"),
                _ => panic!("something else"),
            }
        }
    }
}
