//! Reviews that run in the background of the project: shown in the status line, and announced when they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::app::session::inbox::Inbox;
use crate::app::session::run::Run;
use crate::app::session::ui_update::RunningCall;
use crate::app::session::worker_event::WorkerEvent;
use crate::base::cancel::Cancel;
use crate::disk::beneath::Root;
use crate::store::review_jobs::{self, ReviewJob};

/// How often running reviews are looked at; without any, nobody looks.
const INTERVAL: Duration = Duration::from_secs(2);

/// Reviews that ended while nobody was here, of which a session tells at its start.
const MAX_EARLIER: usize = 3;

/// What the session knows of reviews.
#[derive(Default)]
pub(super) struct ReviewList {
    /// Those that run, as the status line shows them.
    running: Vec<RunningCall>,
    /// A thread is looking.
    watched: Arc<AtomicBool>,
}

impl ReviewList {
    /// Looks for reviews of the project on a thread of its own, for as long as there are any.
    pub(super) fn watch(&self, run: &Run) {
        let Some(root) = run.context.working_dir.root() else {
            return;
        };
        if self.watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let watch = Watch {
            root,
            watched: Arc::clone(&self.watched),
            inbox: Arc::clone(&run.inbox),
            stop: run.stop.clone(),
        };
        let started = thread::Builder::new()
            .name("reviews".to_owned())
            .spawn(move || watch.run());
        if started.is_err() {
            self.watched.store(false, Ordering::SeqCst);
        }
    }

    pub(super) fn running(&self) -> &[RunningCall] {
        &self.running
    }

    /// The reviews that run now, one line each.
    pub(super) fn set_running(&mut self, lines: Vec<String>) {
        let since = Instant::now();
        let calls = lines.into_iter().map(|name| RunningCall {
            name,
            since,
            background: true,
            output: String::new(),
        });
        self.running = calls.collect();
    }
}

struct Watch {
    root: Arc<Root>,
    watched: Arc<AtomicBool>,
    inbox: Arc<Inbox>,
    stop: Cancel,
}

impl Watch {
    fn run(self) {
        self.tell_of_earlier();
        let mut before: Vec<ReviewJob> = Vec::new();
        loop {
            let now = review_jobs::running(&self.root);
            self.tell(&before, &now);
            before = now;
            if before.is_empty() {
                self.watched.store(false, Ordering::SeqCst);
                // One that was started while this thread looked the other way found it still looking.
                let is_over = review_jobs::running(&self.root).is_empty();
                if is_over || self.watched.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
            if !self.stop.sleep(INTERVAL) {
                return;
            }
        }
    }

    fn tell(&self, before: &[ReviewJob], now: &[ReviewJob]) {
        let line = |job: &ReviewJob| format!("review {}, {}", job.id, job.phase);
        let lines = |jobs: &[ReviewJob]| jobs.iter().map(line).collect::<Vec<_>>();
        if lines(before) != lines(now) {
            self.inbox.send(WorkerEvent::Reviews(lines(now)));
        }
        for job in before {
            if now.iter().any(|other| other.id == job.id) {
                continue;
            }
            let Ok(ended) = review_jobs::read(&self.root, &job.id) else {
                continue;
            };
            self.tell_end(&ended);
        }
    }

    /// Tells of the latest reviews that ended while no session was open here; older ones count as told.
    fn tell_of_earlier(&self) {
        let untold = review_jobs::untold(&self.root);
        let older = untold.len().saturating_sub(MAX_EARLIER);
        for (at, job) in untold.iter().enumerate() {
            match at < older {
                true => review_jobs::set_told(&self.root, &job.id),
                false => self.tell_end(job),
            }
        }
    }

    fn tell_end(&self, job: &ReviewJob) {
        review_jobs::set_told(&self.root, &job.id);
        self.inbox.send(WorkerEvent::Notice(job.ending()));
    }
}
