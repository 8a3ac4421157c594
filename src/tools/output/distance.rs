//! The unit of distances and weather that the user's preferred unit.

use crate::formats::distance::DistanceUnit;
use crate::tools::engine::context::SessionContext;

/// The unit from the preferences; kilometres by default.
pub(crate) fn preferred_unit(session: &SessionContext) -> DistanceUnit {
    let said = session.preference("distance_unit");
    match said.as_ref().and_then(|value| value.as_str()) {
        Some(unit) if unit.trim().to_lowercase().starts_with("mi") => DistanceUnit::Mi,
        _ => DistanceUnit::Km,
    }
}
