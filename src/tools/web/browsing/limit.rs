//! A time limit for a part of a call, so that one silent service leaves time for the others.

use std::time::Duration;

use crate::base::problem::Outcome;
use crate::net::service::time_limit::limited;
use crate::tools::engine::context::ToolContext;

/// Runs `work`, and cancels it after `limit`; `name` is the service.
///
/// # Errors
/// Those of `work`; `Network` on timeout.
pub(super) fn with_time_limit<T>(
    ctx: &ToolContext,
    limit: Duration,
    name: &str,
    work: impl FnOnce(&ToolContext) -> Outcome<T>,
) -> Outcome<T> {
    limited(&ctx.stop, limit, name, |stop| {
        work(&ToolContext {
            stop: stop.clone(),
            ..ctx.clone()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;

    #[test]
    fn only_the_slow_part_times_out() {
        let ctx = ToolContext::for_tests(Env::from([("HOME", "/nowhere")]));
        let stop = ctx.stop.clone();
        let wait = |ctx: &ToolContext| ctx.wait(Duration::from_secs(60));
        let late = with_time_limit(&ctx, Duration::from_millis(20), "The sea", wait).unwrap_err();
        assert_eq!(late.what, "The sea did not answer within 1 s.");
        assert!(!stop.is_fired());
        assert_eq!(
            with_time_limit(&ctx, Duration::from_secs(60), "The sea", |_| Ok(1)).unwrap(),
            1
        );
        stop.fire();
        let cancelled =
            with_time_limit(&ctx, Duration::from_secs(60), "The sea", wait).unwrap_err();
        assert!(cancelled.is_cancelled());
    }
}
