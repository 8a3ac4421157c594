//! The time zone of a wall time, and the lookup of zones by name.

use std::sync::Arc;

use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

/// The zone of a wall time.
#[derive(Debug, Clone)]
pub enum Zone {
    /// Floating: the user's zone, wherever they are.
    Floating,
    Known(TimeZone),
    /// The rules of a VTIMEZONE: offsets and the times from which they apply.
    Rules(Arc<Vec<(DateTime, Offset)>>),
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Floating, Self::Floating) => true,
            (Self::Known(one), Self::Known(two)) => one == two,
            (Self::Rules(one), Self::Rules(two)) => one == two,
            _ => false,
        }
    }
}

impl Zone {
    /// A wall time of this zone in the user's zone. A time that the clocks skip is moved past the gap.
    pub fn here(&self, wall: DateTime, view: &TimeZone) -> Option<Zoned> {
        match self {
            Self::Floating => wall.to_zoned(view.clone()).ok(),
            Self::Known(zone) => {
                let there = wall.to_zoned(zone.clone()).ok()?;
                Some(there.with_time_zone(view.clone()))
            }
            Self::Rules(rules) => {
                let holds = rules.partition_point(|(since, _)| *since <= wall);
                let (_, offset) = rules.get(holds.saturating_sub(1))?;
                let moment = offset.to_timestamp(wall).ok()?;
                Some(moment.to_zoned(view.clone()))
            }
        }
    }

    /// The user's time as a wall time of this zone: what UNTIL means for an event there.
    pub fn wall(&self, moment: &Zoned) -> DateTime {
        match self {
            Self::Floating => moment.datetime(),
            Self::Known(zone) => moment.with_time_zone(zone.clone()).datetime(),
            Self::Rules(rules) => {
                // An onset is given in the time that applied before it.
                let offset_before = rules.windows(2).rev().find_map(|pair| match pair {
                    [(_, before), (since, offset)] => {
                        let since = before.to_timestamp(*since).ok()?;
                        (since <= moment.timestamp()).then_some(*offset)
                    }
                    _ => None,
                });
                let offset = offset_before.or_else(|| rules.first().map(|(_, offset)| *offset));
                offset
                    .unwrap_or(Offset::UTC)
                    .to_datetime(moment.timestamp())
            }
        }
    }
}

/// Looks up zones by name.
pub trait ZoneSource {
    fn find(&self, id: &str) -> Zone;
}

/// Knows no zones: for times that are given without one.
pub(crate) struct NoZones;

impl ZoneSource for NoZones {
    fn find(&self, _id: &str) -> Zone {
        Zone::Floating
    }
}
