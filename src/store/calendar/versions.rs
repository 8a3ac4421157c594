//! Events with several versions in a file: the highest SEQUENCE wins (RFC 5545 section 3.8.7.4).

use std::collections::HashMap;

use crate::formats::ical::scan::{CalendarScan, EventSpan};

/// The newest version of every revised event, by UID and RECURRENCE-ID.
pub(crate) struct Versions<'a> {
    file: &'a CalendarScan<'a>,
    newest: HashMap<(String, String), u64>,
}

impl<'a> Versions<'a> {
    /// Collects the events of a file that are not first versions.
    pub(crate) fn of(file: &'a CalendarScan<'a>) -> Self {
        let mut newest = HashMap::new();
        for place in file.events.iter().filter(|place| place.sequence > 0) {
            let version: &mut u64 = newest.entry(file.key(place)).or_default();
            *version = place.sequence.max(*version);
        }
        Self { file, newest }
    }

    /// Whether the file has a newer version of the event.
    pub(crate) fn is_old(&self, place: &EventSpan) -> bool {
        if self.newest.is_empty() {
            return false;
        }
        let key = self.file.key(place);
        let newer = self
            .newest
            .get(&key)
            .is_some_and(|newest| *newest > place.sequence);
        newer && !key.0.is_empty()
    }
}
