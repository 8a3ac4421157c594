//! One line of the report.

use serde::Serialize;

/// One finding.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) area: &'static str,
    pub(super) name: String,
    /// No action is needed.
    pub(super) ok: bool,
    /// What was found.
    pub(super) state: String,
    /// What to do; empty if no action is needed.
    pub(super) advice: String,
}

/// The finding about `name`; the advice applies if it is not ok.
pub(super) fn finding(
    area: &'static str,
    name: &str,
    ok: bool,
    state: String,
    advice: &str,
) -> Finding {
    Finding {
        area,
        name: name.to_owned(),
        ok,
        state,
        advice: if ok { String::new() } else { advice.to_owned() },
    }
}
