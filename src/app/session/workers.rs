//! Carries out what parts ordered: threads, the thread that writes, the chat log and the history of inputs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::disk_writer::DiskWriter;
use super::log_writer::PendingEntry;
use super::orders::{Order, Orders};
use super::run::Run;
use super::turn_job::TurnJob;
use super::work::catch_panic;
use super::worker_event::WorkerEvent;
use crate::store::input_history::InputHistory;

#[derive(Default)]
pub(super) struct Workers {
    disk: DiskWriter,
    /// The history of inputs of the active profile; read when it is first needed.
    history: Option<(String, Arc<Mutex<InputHistory>>)>,
}

impl Workers {
    pub(super) fn carry_out(&mut self, order: Order, run: &Run, orders: &mut Orders) {
        match order {
            Order::Work(work) => work.start(&run.inbox),
            Order::Write(write) => self.write(run, write),
            Order::WriteAndReport(work) => {
                let inbox = Arc::clone(&run.inbox);
                self.disk.put(move || work.run(&inbox));
            }
            Order::Log(entry) => self.log(entry, run),
            Order::Remember(line) => self.remember(line, run, orders),
            Order::Turn(id, job) => {
                let disk = Some(self.disk.handle());
                TurnJob { disk, ..*job }.start(id, Arc::clone(&run.inbox));
            }
        }
    }

    /// Writes something whose end nobody wants to know, unless it goes wrong.
    fn write(&mut self, run: &Run, write: impl FnOnce() + Send + 'static) {
        let inbox = Arc::clone(&run.inbox);
        self.disk.put(move || {
            let written = catch_panic("write", || {
                write();
                Ok(())
            });
            if let Err(problem) = written {
                inbox.send(WorkerEvent::Notice(problem.one_line()));
            }
        });
    }

    /// Adds an entry to the chat log.
    fn log(&mut self, entry: PendingEntry, run: &Run) {
        let (writer, context) = (run.log_writer.clone(), Arc::clone(&run.context));
        let inbox = Arc::clone(&run.inbox);
        self.write(run, move || {
            let told = entry.told.clone();
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            writer.append(&context, entry, &mut warn);
            // The turn that waits may be over.
            if let Some(told) = told {
                let _ = told.try_send(());
            }
        });
    }

    /// Adds a line to the history of inputs.
    fn remember(&mut self, line: String, run: &Run, orders: &mut Orders) {
        let history = self.history(run, orders);
        let inbox = Arc::clone(&run.inbox);
        self.write(run, move || {
            let mut entries = history.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(problem) = entries.add(&line) {
                inbox.send(WorkerEvent::Notice(problem.one_line()));
            }
        });
    }

    /// The history of inputs of the active profile.
    pub(super) fn history(&mut self, run: &Run, orders: &mut Orders) -> Arc<Mutex<InputHistory>> {
        let context = &run.context;
        let profile = context.profile();
        if let Some((of, history)) = &self.history
            && *of == profile
        {
            return Arc::clone(history);
        }
        let path = context.paths.profile(&profile);
        let path = path.map(|profile| profile.history()).unwrap_or_default();
        let opened = InputHistory::open(path, &mut |words| orders.system(words));
        let history = Arc::new(Mutex::new(opened));
        self.history = Some((profile, Arc::clone(&history)));
        history
    }

    /// Writes what is pending within `limit`; returns a notice for the user when something could not be saved.
    pub(super) fn finish(&mut self, run: &Run, limit: Duration) -> Option<String> {
        let (writer, context) = (run.log_writer.clone(), Arc::clone(&run.context));
        self.disk.put(move || writer.flush(&context));
        if self.disk.finish(limit) {
            return run.log_writer.unsaved_notice();
        }
        let words = "The end of the conversation was not saved: another Marvin holds the chat log.";
        Some(words.to_owned())
    }
}
