//! Distances as people read them, in kilometres or miles: the one place that rounds them.

use crate::base::text::{thousands, trim_decimals};

/// Metres in a mile.
const MILE: f64 = 1_609.344;
/// Metres in a foot.
const FOOT: f64 = 0.304_8;

/// Kilometres or miles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DistanceUnit {
    /// Metres and kilometres.
    Km,
    /// Feet and miles.
    Mi,
}

impl DistanceUnit {
    /// A distance with useful precision: `234 m`, `1.2 km`, `276.5 km`, `1,235 km`, `0.3 mi`.
    pub(crate) fn say(self, metres: f64) -> String {
        let (small, small_name, large, large_name, change) = match self {
            Self::Km => (1.0, "m", 1_000.0, "km", 999.5),
            Self::Mi => (FOOT, "ft", MILE, "mi", 0.095 * MILE),
        };
        if metres < change {
            let number = metres / small;
            // A foot is finer than any of this is measured.
            let step = if self == Self::Mi && number >= 100.0 {
                10.0
            } else {
                1.0
            };
            let rounded = (number / step).round() * step;
            return format!("{} {small_name}", trim_decimals(rounded, 0));
        }
        let number = metres / large;
        if number < 999.95 {
            return format!("{} {large_name}", trim_decimals(number, 1));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = number.round() as u64;
        format!("{} {large_name}", thousands(whole))
    }

    /// A distance in both units, this one first: `1.9 km (1.2 mi)`.
    pub(crate) fn both(self, metres: f64) -> String {
        let other = match self {
            Self::Km => Self::Mi,
            Self::Mi => Self::Km,
        };
        format!("{} ({})", self.say(metres), other.say(metres))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_as_exact_as_needed() {
        for (metres, km, mi) in [
            (0.0, "0 m", "0 ft"),
            (31.5, "32 m", "100 ft"),
            (40.2, "40 m", "130 ft"),
            (234.4, "234 m", "0.1 mi"),
            (347.0, "347 m", "0.2 mi"),
            (994.0, "994 m", "0.6 mi"),
            (999.4, "999 m", "0.6 mi"),
            (999.6, "1 km", "0.6 mi"),
            (1_234.0, "1.2 km", "0.8 mi"),
            (25_000.0, "25 km", "15.5 mi"),
            (276_540.0, "276.5 km", "171.8 mi"),
            (999_940.0, "999.9 km", "621.3 mi"),
            (999_960.0, "1,000 km", "621.3 mi"),
            (5_381_234.0, "5,381 km", "3,344 mi"),
        ] {
            assert_eq!(
                (DistanceUnit::Km.say(metres), DistanceUnit::Mi.say(metres)),
                (km.into(), mi.into())
            );
        }
        assert_eq!(DistanceUnit::Mi.both(1_886.3), "1.2 mi (1.9 km)");
    }
}
