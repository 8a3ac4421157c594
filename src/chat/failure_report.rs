//! How a child Marvin tells its parent, on one line of standard error, why it failed, by which the parent decides whether and when to try again, or that it
//! waits for its provider itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::problem::ProblemKind;

/// The beginning of the line; JSON follows.
const MARKER: &str = "MARVIN_FAILURE:";
/// The same of the line that tells of a wait.
const WAIT_MARKER: &str = "MARVIN_WAIT:";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailureReport {
    pub kind: ProblemKind,
    /// Set when its provider failed in a way that may be over soon; nothing in the child or its task is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<ProviderOutage>,
    /// It comes again however often it is tried, whatever its kind: the account is used up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasting: bool,
}

/// A provider that cannot answer now: it has a fault of its own, is overloaded, limits the rate, says nothing, or cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProviderOutage {
    pub provider: String,
    /// How long it asks to wait, in milliseconds, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ProviderOutage {
    pub(crate) fn new(provider: &str, retry_after: Option<Duration>) -> Self {
        Self {
            provider: provider.to_owned(),
            retry_after_ms: retry_after
                .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    /// The line by which a child tells that it waits itself, without its end.
    pub(crate) fn line(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{WAIT_MARKER}{json}")
    }

    /// What a line says, if it is such a one.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line.trim_end().strip_prefix(WAIT_MARKER)?).ok()
    }

    /// How long it asks to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }
}

impl FailureReport {
    /// The line, without its end.
    pub(crate) fn line(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("{MARKER}{json}")
    }

    /// What a line says, if it is such a one.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line.trim_end().strip_prefix(MARKER)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_and_nothing_else_is() {
        let plain = FailureReport {
            kind: ProblemKind::Auth,
            outage: None,
            lasting: false,
        };
        assert_eq!(plain.line(), r#"MARVIN_FAILURE:{"kind":"auth"}"#);
        let wait = Duration::from_millis(1_500);
        let outage = FailureReport {
            kind: ProblemKind::Network,
            outage: Some(ProviderOutage::new("openai", Some(wait))),
            lasting: true,
        };
        for report in [plain, outage] {
            assert_eq!(FailureReport::parse(&(report.line() + "\n")), Some(report));
        }
        for line in [
            "MARVIN_FAILURE:",
            "MARVIN_FAILURE:{\"kind\":\"new\"}",
            "Error: 503",
        ] {
            assert_eq!(FailureReport::parse(line), None, "{line}");
        }
    }
}
