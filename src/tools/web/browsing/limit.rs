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
    use std::sync::Arc;

    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::env::Env;
    use crate::base::problem::Problem;
    use crate::chat::event::NullSink;
    use crate::tools::engine::context::SessionContext;
    use crate::tools::engine::policy::ToolPolicy;

    #[test]
    fn only_the_slow_part_times_out() {
        let env = Env::from([("HOME", "/nowhere")]);
        let bounds = ToolPolicy::new(&env, &mut |_| {});
        let stop = Cancel::new();
        let ctx = ToolContext::new(
            Arc::new(SessionContext::new(env, bounds)),
            stop.clone(),
            Arc::new(NullSink),
        );
        let wait = |ctx: &ToolContext| match ctx.stop.sleep(Duration::from_secs(60)) {
            true => Ok(()),
            false => Err(Problem::cancelled()),
        };
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
