//! One line of the report.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) area: &'static str,
    pub(super) name: String,
    /// Nothing to do.
    pub(super) ok: bool,
    pub(super) state: String,
    /// What to do; empty when `ok`.
    pub(super) advice: String,
}

/// A finding about `name`; the advice is kept only if it is not ok.
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
