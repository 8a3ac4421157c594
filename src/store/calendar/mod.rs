//! A calendar on disk: iCalendar files, and what of them lies in a stretch of time.

pub mod files;
pub mod occurrence;
pub mod short_uid;
pub mod this_and_future;
pub mod versions;
