//! Lengths, durations and directions as people read them, in the user's preferred units.

use crate::base::text::{thousands, trim_decimals};
use crate::tools::engine::context::ToolContext;
use crate::tools::output::distance::{DistanceUnit, FOOT, MILE};

/// The units of distances and weather, by the preference `distance_unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    /// Kilometres, °C, millimetres.
    Metric,
    /// Miles, °F, inches.
    Miles,
}

impl Units {
    /// The preference of the active profile.
    pub(crate) fn of(ctx: &ToolContext) -> Self {
        match DistanceUnit::of(&ctx.world) {
            DistanceUnit::Mi => Self::Miles,
            DistanceUnit::Km => Self::Metric,
        }
    }

    /// A length in the preferred unit.
    pub(crate) fn length(self, metres: f64) -> String {
        match self {
            Self::Metric => kilometres(metres),
            Self::Miles => miles(metres),
        }
    }

    /// A length in both units, the preferred one first: `1.9 km (1.2 mi)`.
    pub(crate) fn both(self, metres: f64) -> String {
        match self {
            Self::Metric => format!("{} ({})", kilometres(metres), miles(metres)),
            Self::Miles => format!("{} ({})", miles(metres), kilometres(metres)),
        }
    }
}

fn kilometres(metres: f64) -> String {
    if metres.round() < 1_000.0 {
        return format!("{} m", trim_decimals(metres, 0));
    }
    format!("{} km", large(metres / 1_000.0))
}

fn miles(metres: f64) -> String {
    let miles = metres / MILE;
    if miles < 0.095 {
        return format!("{} ft", trim_decimals(metres / FOOT, 0));
    }
    format!("{} mi", large(miles))
}

/// One decimal below a thousand: `1.9`, `12.0`, `877.4`, `1,204`.
fn large(number: f64) -> String {
    if number < 999.95 {
        return format!("{number:.1}");
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    thousands(number.round() as u64)
}

/// A duration, rounded before it is split: 59.6 minutes are `1 h 0 min`, not `0 h 60 min`.
pub(crate) fn duration(seconds: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let (whole, minutes) = (
        seconds.round() as u64,
        (seconds.round() / 60.0).round() as u64,
    );
    match (whole, minutes) {
        (0, _) => "0 min".to_owned(),
        (1..60, _) => format!("{whole} s"),
        (_, 0..60) => format!("{minutes} min"),
        _ => format!("{} h {} min", thousands(minutes / 60), minutes % 60),
    }
}

/// The compass point for degrees clockwise from north, one of eight.
pub(crate) fn compass(degrees: f64) -> &'static str {
    const POINTS: [&str; 8] = [
        "north",
        "northeast",
        "east",
        "southeast",
        "south",
        "southwest",
        "west",
        "northwest",
    ];
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let at = (degrees.rem_euclid(360.0) / 45.0).round() as usize;
    POINTS.get(at % POINTS.len()).copied().unwrap_or("north")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_before_splitting() {
        for (seconds, wanted) in [
            (0.0, "0 min"),
            (0.4, "0 min"),
            (5.3, "5 s"),
            (59.4, "59 s"),
            (59.6, "1 min"),
            (260.2, "4 min"),
            (59.6 * 60.0, "1 h 0 min"),
            (3_569.0, "59 min"),
            (119.6 * 60.0, "2 h 0 min"),
            (3_600.0 * 30.0, "30 h 0 min"),
            (3_600.0 * 1_000.0, "1,000 h 0 min"),
        ] {
            assert_eq!(duration(seconds), wanted, "{seconds}");
        }
    }

    #[test]
    fn lengths_never_show_a_thousand_metres() {
        for (metres, metric, imperial) in [
            (0.0, "0 m", "0 ft"),
            (2.4, "2 m", "8 ft"),
            (234.4, "234 m", "0.1 mi"),
            (999.4, "999 m", "0.6 mi"),
            (999.6, "1.0 km", "0.6 mi"),
            (1_886.3, "1.9 km", "1.2 mi"),
            (99_960.0, "100.0 km", "62.1 mi"),
            (877_412.0, "877.4 km", "545.2 mi"),
            (999_960.0, "1,000 km", "621.3 mi"),
            (1_234_567.0, "1,235 km", "767.1 mi"),
        ] {
            assert_eq!(Units::Metric.length(metres), metric);
            assert_eq!(Units::Miles.length(metres), imperial);
        }
        assert_eq!(Units::Miles.both(1_886.3), "1.2 mi (1.9 km)");
    }

    #[test]
    fn directions_are_compass_points() {
        for (degrees, wanted) in [
            (0.0, "north"),
            (359.0, "north"),
            (243.0, "southwest"),
            (-90.0, "west"),
            (22.6, "northeast"),
        ] {
            assert_eq!(compass(degrees), wanted);
        }
    }
}
