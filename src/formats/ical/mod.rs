//! iCalendar (RFC 5545): reading without changing a byte, recurrence, and writing whole events.

pub mod event;
pub mod expand;
pub mod line;
pub mod moment;
pub mod rule;
pub mod scan;
pub mod text;
pub mod zone;
