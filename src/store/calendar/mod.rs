//! A calendar on disk: iCalendar files, and the events of a period in them.

pub(crate) mod files;
pub(crate) mod occurrence;
pub(crate) mod short_uid;
pub(crate) mod this_and_future;
pub(crate) mod versions;
