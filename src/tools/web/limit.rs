//! A part of a call with a limit of its own, so that one service that says nothing leaves time for the others.

use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};

use crate::base::error::{Outcome, Problem};
use crate::tools::context::Ctx;

/// Does `work`, and stops it after `limit`; `name` is who is waited for.
///
/// # Errors
/// Those of `work`; `Network` when its limit passed.
pub(super) fn within<T>(
    ctx: &Ctx,
    limit: Duration,
    name: &str,
    work: impl FnOnce(&Ctx) -> Outcome<T>,
) -> Outcome<T> {
    let (stop, _with_call) = ctx.stop.child();
    let part = Ctx {
        stop: stop.clone(),
        ..ctx.clone()
    };
    let (done, ended) = bounded::<()>(0);
    let outcome = thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                stop.fire();
            }
        });
        let outcome = work(&part);
        drop(done);
        outcome
    });
    outcome.map_err(|problem| {
        if problem.is_cancelled() && !ctx.stop.is_fired() {
            let passed = format!("{name} did not answer within {} s.", limit.as_secs());
            Problem::network(passed).next("Try again in a moment.")
        } else {
            problem
        }
    })
}
