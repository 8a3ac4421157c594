//! Decides what to do about a failed model call, given what was already shown and tried.

use std::time::Duration;

use super::failure::{Failure, FailureKind};

/// Longer waits become a failure.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(120);
/// How long to wait if the provider does not say; one retry per entry.
const WAITS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(60)];

/// What the decision depends on, besides the failure.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AttemptState {
    /// How often this request has waited for the provider's rate limit.
    pub waited: usize,
    /// The request was already repeated because of a malformed tool call.
    pub repeated: bool,
    /// Tools were offered.
    pub tools: bool,
    /// Text was shown in this turn, in this or an earlier round.
    pub shown: bool,
    /// A tool with side effects ran in this turn; another model would repeat them.
    pub wrote: bool,
    /// Another provider could take over (Copilot, signed in, and not the one that failed).
    pub successor: bool,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Wait, then send the same request again.
    Wait(Duration),
    /// Send the same request again immediately.
    Again,
    /// Send it again without tools.
    WithoutTools,
    /// Let the successor answer.
    FallBack,
    /// Show the error.
    GiveUp,
}

/// Chooses between retry, fallback and giving up.
pub(crate) fn decide(failure: &Failure, now: AttemptState) -> Decision {
    let clean = failure.nothing_shown();
    let next = if now.successor && clean && !now.shown && !now.wrote {
        Decision::FallBack
    } else {
        Decision::GiveUp
    };
    match &failure.kind {
        FailureKind::RateLimited { wait } if clean => match WAITS.get(now.waited) {
            Some(default) => {
                let wait = wait.unwrap_or(*default);
                if wait > MAX_WAIT {
                    next
                } else {
                    Decision::Wait(wait)
                }
            }
            None => next,
        },
        FailureKind::BadCall { .. } if clean && !now.repeated => Decision::Again,
        FailureKind::NoTools if clean && now.tools => Decision::WithoutTools,
        FailureKind::RateLimited { .. }
        | FailureKind::Quota
        | FailureKind::TooLarge
        | FailureKind::Auth
        | FailureKind::Network
        | FailureKind::Server
        | FailureKind::Stalled
        | FailureKind::Cut
        | FailureKind::Protocol => next,
        FailureKind::BadCall { .. }
        | FailureKind::NoTools
        | FailureKind::NoSuchPath
        | FailureKind::OtherWire
        | FailureKind::NoSummaries
        | FailureKind::TooLong
        | FailureKind::Refused
        | FailureKind::Unfinished
        | FailureKind::Cancelled => Decision::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::Problem;
    use crate::llm::provider::Reply;

    fn failed(why: FailureKind) -> Failure {
        Failure::new(why, Problem::network("x"))
    }

    #[test]
    fn rate_limits_are_waited_for_twice() {
        let limited = |secs: Option<u64>| {
            failed(FailureKind::RateLimited {
                wait: secs.map(Duration::from_secs),
            })
        };
        let at = |waited| AttemptState {
            waited,
            successor: true,
            ..AttemptState::default()
        };
        assert_eq!(
            decide(&limited(Some(7)), at(0)),
            Decision::Wait(Duration::from_secs(7))
        );
        assert_eq!(
            decide(&limited(None), at(0)),
            Decision::Wait(Duration::from_secs(30))
        );
        assert_eq!(
            decide(&limited(None), at(1)),
            Decision::Wait(Duration::from_secs(60))
        );
        assert_eq!(decide(&limited(None), at(2)), Decision::FallBack);
        assert_eq!(decide(&limited(Some(121)), at(0)), Decision::FallBack);
    }

    #[test]
    fn nothing_is_repeated_once_text_was_shown_or_a_file_written() {
        let shown = failed(FailureKind::Server).with_partial(Reply {
            text: "half".into(),
            ..Reply::default()
        });
        let successor = AttemptState {
            successor: true,
            ..AttemptState::default()
        };
        assert_eq!(
            decide(&failed(FailureKind::Server), successor),
            Decision::FallBack
        );
        assert_eq!(decide(&shown, successor), Decision::GiveUp);
        assert_eq!(
            decide(
                &failed(FailureKind::Server),
                AttemptState {
                    wrote: true,
                    ..successor
                }
            ),
            Decision::GiveUp
        );
        assert_eq!(
            decide(
                &failed(FailureKind::Server),
                AttemptState {
                    shown: true,
                    ..successor
                }
            ),
            Decision::GiveUp
        );
        assert_eq!(
            decide(&failed(FailureKind::Auth), AttemptState::default()),
            Decision::GiveUp,
            "no successor: the first error stands"
        );
    }

    #[test]
    fn sick_calls_and_toolless_models_get_one_more_try() {
        let bad = || failed(FailureKind::BadCall { wrote: "{".into() });
        assert_eq!(decide(&bad(), AttemptState::default()), Decision::Again);
        assert_eq!(
            decide(
                &bad(),
                AttemptState {
                    repeated: true,
                    ..AttemptState::default()
                }
            ),
            Decision::GiveUp
        );
        assert_eq!(
            decide(
                &failed(FailureKind::NoTools),
                AttemptState {
                    tools: true,
                    ..AttemptState::default()
                }
            ),
            Decision::WithoutTools
        );
        for why in [
            FailureKind::Refused,
            FailureKind::TooLong,
            FailureKind::Cancelled,
        ] {
            assert_eq!(
                decide(
                    &failed(why),
                    AttemptState {
                        successor: true,
                        ..AttemptState::default()
                    }
                ),
                Decision::GiveUp
            );
        }
        for why in [FailureKind::Quota, FailureKind::TooLarge] {
            assert_eq!(
                decide(&failed(why), AttemptState::default()),
                Decision::GiveUp
            );
        }
    }
}
