//! iCalendar (RFC 5545): reading without changing a byte, recurrence, and writing whole events.
//!
//! `scan` finds events in a file, `line`, `text` and `moment` read their lines, `rule` and `expand` their recurrence, `zones` their zones. Called by
//! `store::calendar` and its tools; it knows neither files nor the clock.

pub(crate) mod event;
pub(crate) mod expand;
pub(crate) mod line;
pub(crate) mod moment;
pub(crate) mod rule;
pub(crate) mod scan;
pub(crate) mod text;
pub(crate) mod zone;
pub(crate) mod zones;
