//! The calendar: one iCalendar file for each profile, its views, and reminders of its events.

pub mod ical;
pub mod occurrence;
