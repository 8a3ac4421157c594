//! Times and directions as people read them.

use crate::base::text::thousands;

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
    fn times_are_rounded_before_they_are_parted() {
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
