//! The clock: local time in the formats that files and messages use.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{Timestamp, Zoned, tz::TimeZone};

use super::variables::MARVIN_NOW;
use super::zones::ZoneFiles;

/// How long the local zone is cached: the user may travel, and the system's zone files may be replaced.
const ZONE_TTL: Duration = Duration::from_secs(300);

/// The system clock in the zone of the environment, or a fixed moment for tests (`MARVIN_NOW`: RFC 3339, in the zone named in brackets behind it, else UTC).
#[derive(Debug, Clone, Default)]
pub struct Clock {
    fixed: Option<Zoned>,
    zones: Arc<ZoneFiles>,
    /// The user's zone and when it was read; `None` before the first use.
    local: Arc<Mutex<Option<(Instant, TimeZone)>>>,
}

impl Clock {
    /// A clock for the environment: `TZ` names the zone, `TZDIR` where zones lie, `MARVIN_NOW` stops the clock.
    pub fn new(env: &super::env::Env) -> Self {
        let zones = ZoneFiles::new(env);
        Self {
            fixed: MARVIN_NOW.read(env).and_then(|text| fixed(&zones, text)),
            zones: Arc::new(zones),
            local: Arc::default(),
        }
    }

    /// The time zones of this machine.
    pub fn zones(&self) -> &ZoneFiles {
        &self.zones
    }

    /// Now, in the local zone.
    pub fn now(&self) -> Zoned {
        match &self.fixed {
            Some(fixed) => fixed.clone(),
            None => Timestamp::now().to_zoned(self.local()),
        }
    }

    fn local(&self) -> TimeZone {
        let mut held = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Some((since, zone)) if since.elapsed() < ZONE_TTL => zone.clone(),
            _ => {
                let zone = self.zones.local();
                *held = Some((Instant::now(), zone.clone()));
                zone
            }
        }
    }

    /// Now, as the time since 1970.
    pub fn since_1970(&self) -> Duration {
        let now = self.now().timestamp().as_millisecond();
        Duration::from_millis(u64::try_from(now).unwrap_or_default())
    }

    /// The system's clock that nobody sets: it is the same in every process since the system was started. None beside a fixed moment, and where it is not
    /// known.
    pub fn steady(&self) -> Option<Duration> {
        match self.fixed {
            Some(_) => None,
            None => monotonic(),
        }
    }

    /// RFC 3339 in UTC with a Z and milliseconds: for logs that other programs read.
    pub fn utc(&self) -> String {
        format!("{:.3}", self.now().timestamp())
    }

    /// `20261121_011430`, local: for backup names.
    pub fn stamp(&self) -> String {
        self.now().strftime("%Y%m%d_%H%M%S").to_string()
    }

    /// `14:30`, local: for the chat log.
    pub fn hour_minute(&self) -> String {
        self.now().strftime("%H:%M").to_string()
    }
}

/// The moment that a text names; `None` when it names none.
fn fixed(zones: &ZoneFiles, text: &str) -> Option<Zoned> {
    if text.contains('[') {
        return zones.zoned(text);
    }
    let moment: Timestamp = text.trim().parse().ok()?;
    Some(moment.to_zoned(TimeZone::UTC))
}

#[cfg(target_os = "linux")]
fn monotonic() -> Option<Duration> {
    // By the C library: rustix looks for the kernel's own function itself, and breaks off in valgrind, which hides that.
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).ok()?;
    Some(now.into())
}

#[cfg(not(target_os = "linux"))]
fn monotonic() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;

    #[test]
    fn a_fixed_clock_shows_one_moment_in_every_format() {
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
        for text in ["2026-11-21T14:30:05Z", "2026-11-21T15:30:05+01:00"] {
            let clock = Clock::new(&Env::from([("MARVIN_NOW", text)]));
            assert_eq!(clock.utc(), "2026-11-21T14:30:05.000Z", "{text}");
        }
        let clock = Clock::new(&Env::from([("MARVIN_NOW", "yesterday")]));
        assert_eq!(clock.fixed, None);
    }
}
