//! Travel modes, and the server that has the data for each. OSRM ignores the profile in a request's path: the server's own data decides.

use serde_json::Value;

use crate::base::params::{Param, Type};
use crate::base::text::{clip, escape_controls};
use crate::net::services::{OSRM_BIKE, OSRM_CAR, OSRM_FOOT, Service};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Driving,
    Cycling,
    Foot,
}

/// A travel mode as requested; unknown words fall back to driving, with a notice.
#[derive(Debug, Clone)]
pub(crate) struct RequestedMode {
    pub(super) mode: Mode,
    /// A word that names no mode.
    unknown: Option<String>,
}

impl Mode {
    /// As published.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Driving => "driving",
            Self::Cycling => "cycling",
            Self::Foot => "foot",
        }
    }

    /// `by car`, as the end of a sentence.
    pub(super) fn by(self) -> &'static str {
        match self {
            Self::Driving => "by car",
            Self::Cycling => "by bicycle",
            Self::Foot => "on foot",
        }
    }

    pub(super) fn service(self) -> &'static Service {
        match self {
            Self::Driving => &OSRM_CAR,
            Self::Cycling => &OSRM_BIKE,
            Self::Foot => &OSRM_FOOT,
        }
    }

    /// The profile in the path: the demo server's for cars, and accepted by all servers of routing.openstreetmap.de.
    pub(super) fn profile() -> &'static str {
        "driving"
    }

    /// The mode that a route was calculated for, judging by its steps (`driving`, `cycling`, `pushing bike`, `walking`; ferries and trains fit every
    /// mode).
    pub(super) fn of_steps<'a>(modes: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut pushed = false;
        let mut walked = false;
        for mode in modes {
            match mode {
                "driving" => return Some(Self::Driving),
                "cycling" => return Some(Self::Cycling),
                "pushing bike" => pushed = true,
                "walking" => walked = true,
                _ => {}
            }
        }
        match (pushed, walked) {
            (true, _) => Some(Self::Cycling),
            (false, true) => Some(Self::Foot),
            (false, false) => None,
        }
    }
}

impl Param for RequestedMode {
    const TYPE: Type = Type::Choice(&["driving", "cycling", "foot"]);

    fn read(value: &Value) -> Option<Self> {
        let word = value.as_str()?.trim().to_lowercase();
        let mode = match word.as_str() {
            "driving" | "drive" | "car" | "auto" | "" => Some(Mode::Driving),
            "cycling" | "cycle" | "bicycle" | "bike" | "biking" => Some(Mode::Cycling),
            "foot" | "walking" | "walk" | "on foot" | "by foot" | "pedestrian" => Some(Mode::Foot),
            _ => None,
        };
        Some(Self {
            mode: mode.unwrap_or(Mode::Driving),
            unknown: mode.is_none().then_some(word),
        })
    }
}

impl RequestedMode {
    /// The notice about a word that names no mode.
    pub(super) fn notice(&self) -> Option<String> {
        let word = self.unknown.as_ref()?;
        Some(format!(
            "There is no mode \"{}\" (driving, cycling and foot are known): this is by car.",
            clip(&escape_controls(word), 40)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;

    #[test]
    fn words_of_people_are_known_and_others_are_told() {
        let read = |word: &str| RequestedMode::read(&Value::from(word)).unwrap();
        assert_eq!(read("Walking").mode, Mode::Foot);
        assert_eq!(read(" foot ").mode, Mode::Foot);
        assert_eq!(read("bike").mode, Mode::Cycling);
        assert!(read("walking").notice().is_none());
        let requests = read("by \u{1b}[31mballoon");
        assert_eq!(requests.mode, Mode::Driving);
        assert_has(
            &requests.notice().unwrap(),
            &["no mode \"by \\x1b[31mballoon\""],
        );
    }

    #[test]
    fn the_steps_tell_whose_data_it_is() {
        for (modes, wanted) in [
            (&["ferry", "walking"][..], Some(Mode::Foot)),
            (&["walking", "driving"], Some(Mode::Driving)),
            (&["pushing bike", "walking"], Some(Mode::Cycling)),
            (&["ferry", "train"], None),
        ] {
            assert_eq!(Mode::of_steps(modes.iter().copied()), wanted, "{modes:?}");
        }
    }
}
