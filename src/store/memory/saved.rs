//! Which rows of the conversation the diary has.
//!
//! Several processes may talk in one profile, each writes what was said in it, and one that crashed leaves rows that lie between those of another. So
//! the diary names the latest rows one by one, by when they were said, and everything before these by one moment.

use std::collections::BTreeSet;

use jiff::Timestamp;

/// Rows named one by one; more than a session takes in from the end of the chat log.
const MAX_RECENT: usize = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SavedRows {
    /// Everything up to here is in the diary, or must not come into it.
    settled: Option<Timestamp>,
    /// The later rows that are in it.
    recent: BTreeSet<Timestamp>,
}

impl SavedRows {
    /// As a file has it that is read at `now`. One without names says no more than when the latest row was said. A moment in the future is of a clock that
    /// was wrong.
    pub(super) fn read(
        through: Option<&str>,
        settled: Option<&str>,
        recent: &[String],
        now: Timestamp,
    ) -> Self {
        let moment =
            |text: Option<&str>| -> Option<Timestamp> { text.and_then(|text| text.parse().ok()) };
        let recent: BTreeSet<Timestamp> =
            recent.iter().filter_map(|text| text.parse().ok()).collect();
        let settled = moment(settled);
        let settled = match recent.is_empty() {
            true => settled.max(moment(through)),
            false => settled,
        };
        Self {
            settled: settled.map(|settled| settled.min(now)),
            recent,
        }
    }

    /// When the latest of the rows was said.
    pub(super) fn through(&self) -> Option<Timestamp> {
        self.recent.last().copied().max(self.settled)
    }

    pub(super) fn settled(&self) -> Option<Timestamp> {
        self.settled
    }

    pub(super) fn recent(&self) -> impl Iterator<Item = &Timestamp> {
        self.recent.iter()
    }

    /// Whether the row that was said at `at` is in the diary, or must not come into it.
    pub(crate) fn covers(&self, at: Timestamp) -> bool {
        self.names(at) || self.settled.is_some_and(|settled| at <= settled)
    }

    /// Whether the row that was said at `at` was written lately. Unlike [`SavedRows::covers`] it does not depend on what the clock once said.
    pub(crate) fn names(&self, at: Timestamp) -> bool {
        self.recent.contains(&at)
    }

    /// The rows are in the diary now.
    pub(super) fn add(&mut self, rows: &[Timestamp]) {
        self.recent.extend(rows);
        while self.recent.len() > MAX_RECENT {
            let oldest = self.recent.pop_first();
            self.settled = self.settled.max(oldest);
        }
    }

    /// Nothing that was said up to `at` comes into the diary any more.
    pub(super) fn settle(&mut self, at: Timestamp) {
        self.settled = self.settled.max(Some(at));
        self.recent.retain(|row| *row > at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_row_between_saved_ones_is_not_saved() {
        let mut saved = SavedRows::default();
        assert!(!saved.covers(at(1)) && saved.through().is_none());
        saved.add(&[at(5), at(3)]);
        assert_eq!(saved.through(), Some(at(5)));
        let covered: Vec<i64> = (1..8).filter(|second| saved.covers(at(*second))).collect();
        assert_eq!(covered, [3, 5]);
        saved.settle(at(4));
        let covered: Vec<i64> = (1..8).filter(|second| saved.covers(at(*second))).collect();
        assert_eq!(covered, [1, 2, 3, 4, 5]);
        assert!(saved.names(at(5)) && !saved.names(at(3)));
    }

    #[test]
    fn the_oldest_names_become_one_moment() {
        let mut saved = SavedRows::default();
        let rows: Vec<Timestamp> = (0..300).map(|second| at(second * 2)).collect();
        saved.add(&rows);
        assert_eq!(saved.recent().count(), MAX_RECENT);
        assert_eq!(saved.settled(), Some(at(43 * 2)));
        assert!(rows.iter().all(|row| saved.covers(*row)));
        assert!(saved.covers(at(1)) && !saved.covers(at(301)));
    }

    #[test]
    fn an_earlier_file_tells_only_the_latest() {
        let read = |through: &str, settled: Option<&str>, recent: &[&str]| {
            let recent: Vec<String> = recent.iter().map(|&text| text.to_owned()).collect();
            SavedRows::read(Some(through), settled, &recent, at(100))
        };
        let nine = "1970-01-01T00:00:09Z";
        let saved = read(nine, None, &[]);
        assert!(saved.covers(at(9)) && !saved.covers(at(10)));
        let saved = read(nine, None, &[nine]);
        assert!(saved.covers(at(9)) && !saved.covers(at(8)));
        assert_eq!(read("soon", Some(""), &["x"]), SavedRows::default());
        let saved = read("2999-01-01T00:00:00Z", None, &[]);
        assert!(saved.covers(at(100)) && !saved.covers(at(101)));
    }
}
