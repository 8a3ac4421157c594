//! A calendar on disk: iCalendar files, and what of them lies in a stretch of time.

pub(crate) mod files;
pub(crate) mod occurrence;
pub(crate) mod short_uid;
pub(crate) mod this_and_future;
pub(crate) mod versions;
