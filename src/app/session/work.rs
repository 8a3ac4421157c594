//! Work for a thread of its own, or for the thread that writes: what is done, and how its end is reported.
//!
//! The session gets one report of each, whatever happens: also when the work panics, and when no thread can be started. So nothing waits for a worker that is
//! gone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::inbox::Inbox;
use super::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::problem::{Outcome, Problem};

/// What a worker does.
pub(super) struct Work {
    name: &'static str,
    awaited_by: AwaitedBy,
    run: Box<dyn FnOnce(Outcome<()>) -> WorkerEvent + Send>,
}

impl Work {
    /// `report` makes a message of what `make` returns, or of why it could not.
    pub(super) fn new<T>(
        name: &'static str,
        awaited_by: AwaitedBy,
        make: impl FnOnce() -> Outcome<T> + Send + 'static,
        report: impl FnOnce(Outcome<T>) -> WorkerEvent + Send + 'static,
    ) -> Self {
        let run =
            move |started: Outcome<()>| report(started.and_then(|()| catch_panic(name, make)));
        Self {
            name,
            awaited_by,
            run: Box::new(run),
        }
    }

    pub(super) fn awaited_by(&self) -> AwaitedBy {
        self.awaited_by
    }

    /// Does it on this thread.
    pub(super) fn run(self, inbox: &Inbox) {
        self.report(Ok(()), inbox);
    }

    /// Does it on a thread of its own.
    pub(super) fn start(self, inbox: &Arc<Inbox>) {
        let name = self.name;
        let work = Arc::new(Mutex::new(Some(self)));
        let (on_thread, to) = (Arc::clone(&work), Arc::clone(inbox));
        let thread = thread::Builder::new().name(name.to_owned());
        let started = thread.spawn(move || {
            if let Some(work) = take(&on_thread) {
                work.run(&to);
            }
        });
        if let Err(reason) = started
            && let Some(work) = take(&work)
        {
            work.report(Err(Problem::system("Cannot start a thread", reason)), inbox);
        }
    }

    fn report(self, started: Outcome<()>, inbox: &Inbox) {
        inbox.report(self.awaited_by, (self.run)(started));
    }
}

fn take(work: &Mutex<Option<Work>>) -> Option<Work> {
    let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
    work.take()
}

/// What `make` returns; an error when it panics. `name` says where that was.
pub(super) fn catch_panic<T>(name: &str, make: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| {
        Err(Problem::internal(format!(
            "Marvin crashed in a background task ({name}). This is a bug in Marvin."
        ))
        .next(
            "The conversation goes on: try it again, and please report this if it happens twice.",
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::session::orders::Orders;
    use crate::app::session::run::Run;
    use crate::base::testing::assert_has;

    /// The only report, and who has waited for it.
    fn only_report(inbox: &Inbox) -> (AwaitedBy, WorkerEvent) {
        let mut reports = inbox.take();
        assert_eq!(reports.len(), 1);
        reports.pop_front().unwrap()
    }

    #[test]
    fn work_that_panics_is_reported_once_to_whoever_waits_for_it() {
        for awaited_by in [
            AwaitedBy::Nobody,
            AwaitedBy::NextMessage,
            AwaitedBy::Interface,
        ] {
            let (inbox, woken) = Inbox::new();
            let make = || -> Outcome<String> { panic!("on purpose") };
            Work::new("list", awaited_by, make, WorkerEvent::Listing).start(&inbox);
            woken.recv_timeout(Duration::from_secs(60)).unwrap();
            let (by, event) = only_report(&inbox);
            assert_eq!(by, awaited_by);
            let WorkerEvent::Listing(Err(problem)) = event else {
                panic!("no failure");
            };
            let words = problem.one_line();
            assert_has(&words, &["(list)", "try it again"]);
        }
    }

    #[test]
    fn whoever_waits_for_work_goes_on_after_its_report_however_it_ends() {
        let outcomes: [fn() -> Outcome<String>; 3] = [
            || Ok("done".to_owned()),
            || Err(Problem::missing("Nothing.")),
            || panic!("on purpose"),
        ];
        for make in outcomes {
            for awaited_by in [AwaitedBy::NextMessage, AwaitedBy::Interface] {
                let (run, mut orders) = (Run::for_tests(), Orders::default());
                orders.work("list", awaited_by, make, WorkerEvent::Listing);
                assert!(orders.blocks_interface());
                let Some(crate::app::session::orders::Order::Work(work)) = orders.next() else {
                    panic!("no work");
                };
                work.run(&run.inbox);
                orders.reported(only_report(&run.inbox).0);
                assert!(!orders.blocks_interface() && !orders.blocks_next_message());
            }
        }
    }
}
