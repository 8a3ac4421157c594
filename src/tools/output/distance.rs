//! Distances in the user's preferred unit.

use crate::base::text::{thousands, trim_decimals};
use crate::tools::engine::context::SessionContext;

/// Metres in a mile.
pub(super) const MILE: f64 = 1_609.344;
/// Metres in a foot.
pub(super) const FOOT: f64 = 0.304_8;

/// Kilometres or miles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DistanceUnit {
    /// Metres and kilometres.
    Km,
    /// Feet and miles.
    Mi,
}

impl DistanceUnit {
    /// The unit from the preferences; kilometres by default.
    pub(crate) fn of(world: &SessionContext) -> Self {
        let said = world.preference("distance_unit");
        match said.as_ref().and_then(|value| value.as_str()) {
            Some(unit) if unit.trim().to_lowercase().starts_with("mi") => Self::Mi,
            _ => Self::Km,
        }
    }

    /// A distance with useful precision: `350 m`, `1.2 km`, `0.3 mi`.
    pub(crate) fn say(self, metres: f64) -> String {
        let (small, small_name, large, large_name, change) = match self {
            Self::Km => (1.0, "m", 1_000.0, "km", 995.0),
            Self::Mi => (FOOT, "ft", MILE, "mi", 0.095 * MILE),
        };
        if metres < change {
            let number = metres / small;
            let step = if number < 100.0 { 1.0 } else { 10.0 };
            return format!(
                "{} {small_name}",
                trim_decimals((number / step).round() * step, 0)
            );
        }
        let number = metres / large;
        if number < 99.5 {
            return format!("{} {large_name}", trim_decimals(number, 1));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = number.round() as u64;
        format!("{} {large_name}", thousands(whole))
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
            (347.0, "350 m", "0.2 mi"),
            (994.0, "990 m", "0.6 mi"),
            (999.0, "1 km", "0.6 mi"),
            (1_234.0, "1.2 km", "0.8 mi"),
            (25_000.0, "25 km", "15.5 mi"),
            (250_400.0, "250 km", "156 mi"),
            (5_381_234.0, "5,381 km", "3,344 mi"),
        ] {
            assert_eq!(
                (DistanceUnit::Km.say(metres), DistanceUnit::Mi.say(metres)),
                (km.into(), mi.into())
            );
        }
    }
}
