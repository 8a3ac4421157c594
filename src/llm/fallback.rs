//! Decides what to do about a failed model call, given what was already shown and tried.

use std::time::Duration;

use super::failure::{Failure, FailureKind};

/// Longer waits become a failure.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(120);
/// How long to wait if the provider does not say; one retry per entry.
const WAITS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(60)];
/// The same for a fault that may be over soon.
const SHORT_WAITS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(8)];

/// The most attempts that are waited for.
pub(crate) const MAX_RETRIES: u64 = WAITS.len() as u64;

/// What the decision depends on, besides the failure.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AttemptState {
    /// How often this request has waited to be sent again.
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

impl AttemptState {
    /// The same when a request may wait `retries` times.
    pub(crate) fn limited_to(self, retries: u64) -> Self {
        let is_used_up = self.waited as u64 >= retries;
        Self {
            waited: if is_used_up { usize::MAX } else { self.waited },
            ..self
        }
    }
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
    let defaults = match failure.passing {
        Some(_) => SHORT_WAITS,
        None => WAITS,
    };
    let waits = failure.outage().map(|named| (named, defaults));
    if let Some((named, defaults)) = waits.filter(|_| clean)
        && let Some(default) = defaults.get(now.waited)
    {
        let wait = named.unwrap_or(*default);
        return if wait > MAX_WAIT {
            next
        } else {
            Decision::Wait(wait)
        };
    }
    match &failure.kind {
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
        | FailureKind::Rounds
        | FailureKind::Misfit
        | FailureKind::Budget
        | FailureKind::Filtered
        | FailureKind::Declined
        | FailureKind::Cancelled => Decision::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::Problem;
    use crate::llm::failure::PassingError;
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
    fn a_passing_fault_is_waited_for_shortly() {
        let passing = |kind: FailureKind, ms: Option<u64>| Failure {
            passing: Some(PassingError {
                wait: ms.map(Duration::from_millis),
            }),
            ..failed(kind)
        };
        let at = |waited| AttemptState {
            waited,
            ..AttemptState::default()
        };
        let secs = |secs| Decision::Wait(Duration::from_secs(secs));
        for kind in [
            FailureKind::Server,
            FailureKind::Network,
            FailureKind::Cut,
            FailureKind::RateLimited { wait: None },
        ] {
            let unsaid = || passing(kind.clone(), None);
            let decisions = [0, 1, 2].map(|waited| decide(&unsaid(), at(waited)));
            assert_eq!(decisions, [secs(2), secs(8), Decision::GiveUp], "{kind:?}");
            let said = decide(&passing(kind.clone(), Some(28)), at(0));
            assert_eq!(said, Decision::Wait(Duration::from_millis(28)));
            let shown = unsaid().with_partial(Reply {
                text: "half".into(),
                ..Reply::default()
            });
            assert_eq!(decide(&shown, at(0)), Decision::GiveUp);
        }
        let long = passing(FailureKind::Server, Some(121_000));
        assert_eq!(decide(&long, at(0)), Decision::GiveUp);
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
