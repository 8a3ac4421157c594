//! The clock: what time it is here, in the forms that files and messages want.

use jiff::{Timestamp, Zoned, tz::TimeZone};

/// The system clock in the zone of the environment, or a fixed moment for tests (`MARVIN_NOW`, RFC 3339 with zone).
#[derive(Debug, Clone, Default)]
pub struct Clock {
    fixed: Option<Zoned>,
    zone: Option<TimeZone>,
}

impl Clock {
    /// A clock for the environment: `TZ` names the zone, `MARVIN_NOW` stops the clock.
    pub fn new(env: &super::env::Env) -> Self {
        let fixed = env
            .get("MARVIN_NOW")
            .and_then(|text| text.parse::<Zoned>().ok());
        let zone = env
            .get("TZ")
            .and_then(|name| TimeZone::get(name.trim_start_matches(':')).ok());
        Self { fixed, zone }
    }

    /// Now, in the local zone.
    pub fn now(&self) -> Zoned {
        match (&self.fixed, &self.zone) {
            (Some(fixed), _) => fixed.clone(),
            (None, Some(zone)) => Timestamp::now().to_zoned(zone.clone()),
            (None, None) => Zoned::now(),
        }
    }

    /// RFC 3339 in UTC with a Z and milliseconds: for logs that other programs read.
    pub fn utc(&self) -> String {
        format!("{:.3}", self.now().timestamp())
    }

    /// `20261121_011430`, local: for names of backups.
    pub fn stamp(&self) -> String {
        self.now().strftime("%Y%m%d_%H%M%S").to_string()
    }

    /// `14:30`, local: the chat log's time.
    pub fn hour_minute(&self) -> String {
        self.now().strftime("%H:%M").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;

    #[test]
    fn a_stopped_clock_shows_the_same_moment_in_every_form() {
        let clock = Clock::new(&Env::from([(
            "MARVIN_NOW",
            "2026-11-21T14:30:05+01:00[Europe/Lisbon]",
        )]));
        assert_eq!(clock.fixed, None, "a wrong offset is not a moment");
        let clock = Clock::new(&Env::from([(
            "MARVIN_NOW",
            "2026-11-21T14:30:05+00:00[Europe/Lisbon]",
        )]));
        assert_eq!(
            (
                clock.utc().as_str(),
                clock.stamp().as_str(),
                clock.hour_minute().as_str()
            ),
            ("2026-11-21T14:30:05.000Z", "20261121_143005", "14:30")
        );
    }
}
