//! What is to be asked of servers: a queue, and the threads that carry it out.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::SessionServers;
use super::server::SessionServer;
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::mcp::client::connection::{Connection, PROBE};
use crate::mcp::config::configured::Source;

/// Servers that are started at the same time.
const MAX_STARTING: usize = 4;
/// How often it is looked whether a server whose lists change is due.
const LOOK: Duration = Duration::from_millis(50);
/// How long the end waits for servers that are telling what they offer.
const FINISH: Duration = Duration::from_secs(1);

/// What is to be asked of servers, and by how many threads.
#[derive(Default)]
pub(super) struct Work {
    pub(super) queue: VecDeque<Arc<SessionServer>>,
    pub(super) running: usize,
    pub(super) threads: Vec<JoinHandle<()>>,
    /// What the user is told with the next message.
    pub(super) notices: Vec<String>,
    /// Lines that servers have shown since the last message.
    pub(super) told: usize,
    pub(super) is_over: bool,
}

impl SessionServers {
    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something that nobody waits for.
    pub(super) fn aside(&self, work: impl FnOnce() + Send + 'static) {
        let mut own = self.work();
        if own.is_over {
            return;
        }
        own.threads.retain(|thread| !thread.is_finished());
        let begun = thread::Builder::new().name("mcp".to_owned()).spawn(work);
        own.threads.extend(begun);
    }

    /// Waits until all that was asked of servers of which nothing is known is answered. A server whose era is found by its silence takes as long as the usual
    /// limit to be found, and then it answers at once: who waits that long waits for this too.
    pub(super) fn wait(&self, limit: Duration, stop: &Cancel) {
        let until = Instant::now() + limit;
        let mut work = self.work();
        while work.running > 0 {
            // What is remembered of a server serves the first message, however old it is.
            let awaited = || self.known().iter().filter(|server| server.is_awaited());
            if awaited().next().is_none() {
                return;
            }
            let settled = awaited().filter_map(|server| server.settled_by()).max();
            let until = settled
                .filter(|_| limit >= PROBE)
                .map_or(until, |at| at.max(until));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stop.is_fired() {
                return;
            }
            // A token that fires is no change here, so it is looked at now and then.
            let step = left.min(Duration::from_millis(50));
            work = self
                .changed
                .wait_timeout(work, step)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Tells of servers that were waited for in vain.
    pub(super) fn note_late(&self, waited: Duration, stop: &Cancel) {
        if waited.is_zero() || stop.is_fired() {
            return;
        }
        for server in self.known().iter().filter(|server| server.is_awaited()) {
            self.note(format!(
                "The MCP server {} has not answered within {} s (MARVIN_MCP_WAIT); this message goes without its tools.",
                server.shown,
                waited.as_secs()
            ));
        }
    }

    /// A list of a server has changed.
    pub(super) fn look_again(self: &Arc<Self>, server: &Arc<SessionServer>) {
        self.ask_later(server, true);
    }

    /// Has a server asked if what is remembered of it has been out of date for so many seconds.
    pub(super) fn refresh(self: &Arc<Self>, server: &Arc<SessionServer>, seconds: i64) {
        if server.is_to_be_asked(seconds) {
            self.enqueue(server);
        }
    }

    /// Lets servers that are there end what they are telling, so that a short run too leaves behind what they offer by now.
    pub(crate) fn finish_looking(&self, stop: &Cancel) {
        let until = Instant::now() + FINISH;
        let mut work = self.work();
        while work.running > 0
            && Instant::now() < until
            && !stop.is_fired()
            && (work.queue.iter().any(|server| server.is_there())
                || self.known().iter().any(|server| server.is_looked_at()))
        {
            work = self
                .changed
                .wait_timeout(work, LOOK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    pub(super) fn enqueue(self: &Arc<Self>, server: &Arc<SessionServer>) {
        self.ask_later(server, false);
    }

    fn ask_later(self: &Arc<Self>, server: &Arc<SessionServer>, changes: bool) {
        let mut work = self.work();
        if work.is_over || work.queue.iter().any(|own| Arc::ptr_eq(own, server)) {
            return;
        }
        server.plan(changes);
        work.queue.push_back(Arc::clone(server));
        if work.running == MAX_STARTING {
            return;
        }
        work.threads.retain(|thread| !thread.is_finished());
        let servers = Arc::clone(self);
        let begun = thread::Builder::new()
            .name("mcp".to_owned())
            .spawn(move || servers.carry_out());
        match begun {
            Ok(thread) => {
                work.threads.push(thread);
                work.running += 1;
            }
            Err(error) => {
                work.queue.pop_back();
                let problem = Problem::system("Cannot start a thread for it", error);
                server.fail(problem.one_line());
            }
        }
    }

    /// Asks servers until none waits.
    fn carry_out(self: Arc<Self>) {
        loop {
            let mut work = self.work();
            if work.is_over || work.queue.is_empty() {
                work.running -= 1;
                drop(work);
                self.changed.notify_all();
                return;
            }
            // One whose lists keep changing holds up no other.
            let due = work.queue.iter().position(|server| server.is_due());
            let due = due.and_then(|at| work.queue.remove(at));
            drop(work);
            let Some(server) = due else {
                let _is_over = self.stop.sleep(LOOK);
                continue;
            };
            let asked = server.ask(&self.stop);
            match asked {
                Ok(faults) => faults.into_iter().for_each(|fault| self.note(fault)),
                Err(problem) if problem.is_cancelled() => {}
                Err(problem) => {
                    let mut words = problem.one_line();
                    if server.configured.source == Source::Client {
                        words =
                            words.replace("of its entry in mcp.json", "in the editor's settings");
                    }
                    let shown = &server.shown;
                    self.note(format!("The MCP server {shown} is not connected: {words}"));
                }
            }
            self.changed.notify_all();
        }
    }

    /// Stops what is asked of servers; returns the connections that are to be closed.
    pub(super) fn stop_work(&self) -> Vec<Arc<dyn Connection>> {
        let mut work = self.work();
        work.is_over = true;
        work.queue.clear();
        let threads = std::mem::take(&mut work.threads);
        drop(work);
        self.stop.fire();
        let connections: Vec<_> = (self.known().iter())
            .filter_map(|server| server.connection())
            .collect();
        // What such a thread waits for may have no other end, such as a question to the user.
        connections.iter().for_each(|connection| connection.stop());
        for thread in threads {
            // The last one that is to know this session may be such a thread.
            if thread.thread().id() != thread::current().id() {
                let _crashed = thread.join();
            }
        }
        connections
    }
}
