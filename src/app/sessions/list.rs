//! Lists of sessions: when, how long, where, and the name or the first words.

use std::fmt::Write as _;

use jiff::{Timestamp, Zoned};
use serde::Serialize;

use crate::app::choice::{ChoiceRow, has_all_words};
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::text::{clip, one_line, plural};
use crate::store::sessions::SessionSummary;

/// Characters of a folder and of a title.
const PLACE_CHARS: usize = 32;
const TITLE_CHARS: usize = 100;

/// A session as a list shows it: every text on one line, without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SessionRow {
    pub id: String,
    /// The beginning of the id, which is enough to name it.
    pub short: String,
    /// Local time, such as `2026-11-21 14:30`.
    pub when: String,
    /// `12 messages`.
    pub length: String,
    pub place: String,
    pub title: String,
}

impl SessionRow {
    /// True when every word of `filter` occurs in what is shown.
    pub(crate) fn fits(&self, filter: &str) -> bool {
        let all = format!("{} {} {} {}", self.title, self.place, self.when, self.id);
        has_all_words(&all, filter)
    }
}

impl From<SessionRow> for ChoiceRow {
    fn from(session: SessionRow) -> Self {
        Self {
            more_words: format!("{} {}", session.when, session.id),
            id: session.id,
            lead: session.when,
            detail: format!("{:>12}", session.length),
            title: session.title,
            note: session.place,
            is_current: false,
        }
    }
}

pub(crate) fn rows(sessions: &[SessionSummary], clock: &Clock, env: &Env) -> Vec<SessionRow> {
    let now = clock.now();
    let home = env.get("HOME").filter(|home| home.len() > 1);
    let row = |session: &SessionSummary| {
        let place = match home.and_then(|home| session.cwd.strip_prefix(home)) {
            Some("") => "~".to_owned(),
            Some(rest) if rest.starts_with('/') => format!("~{rest}"),
            _ => session.cwd.clone(),
        };
        SessionRow {
            id: session.id.to_string(),
            short: session.id.short().to_owned(),
            when: local_time(&session.time, &now),
            length: plural(session.messages, "message"),
            place: end_of(&one_line(&place)),
            title: title(session),
        }
    };
    sessions.iter().map(row).collect()
}

/// Its name, and what it began with: two may have the same name.
fn title(session: &SessionSummary) -> String {
    let first = one_line(&session.first);
    let title = match &session.name {
        Some(name) if first.is_empty() => one_line(name),
        Some(name) => format!("{}: {first}", one_line(name)),
        None => first,
    };
    match clip(&title, TITLE_CHARS) {
        title if title.is_empty() => "(nothing said)".to_owned(),
        title => title,
    }
}

/// Date and time in the zone of `now`; the text itself when it is not a moment.
pub(crate) fn local_time(utc: &str, now: &Zoned) -> String {
    match utc.parse::<Timestamp>() {
        Ok(at) => {
            let at = at.to_zoned(now.time_zone().clone());
            at.strftime("%Y-%m-%d %H:%M").to_string()
        }
        Err(_) => clip(&one_line(utc), 16),
    }
}

/// The end of a path tells more than its beginning.
fn end_of(place: &str) -> String {
    let count = place.chars().count();
    match count.checked_sub(PLACE_CHARS) {
        None | Some(0) => place.to_owned(),
        Some(over) => {
            let rest: String = place.chars().skip(over + 1).collect();
            format!("…{rest}")
        }
    }
}

/// A table, with a number before each row for `numbered` ones.
pub(crate) fn table(rows: &[SessionRow], numbered: bool) -> String {
    let widest = |text: fn(&SessionRow) -> &str| {
        rows.iter()
            .map(|row| text(row).chars().count())
            .max()
            .unwrap_or_default()
    };
    let (length, place) = (widest(|row| &row.length), widest(|row| &row.place));
    let mut out = String::new();
    for (n, row) in rows.iter().enumerate() {
        if numbered {
            let _ = write!(out, "{:>3}  ", n + 1);
        }
        let _ = writeln!(
            out,
            "{}  {}  {:>length$}  {:<place$}  {}",
            row.short, row.when, row.length, row.place, row.title
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(place: &str, title: &str) -> SessionRow {
        SessionRow {
            id: "3f2a91c4-0000-4000-8000-000000000000".to_owned(),
            short: "3f2a91c4".to_owned(),
            when: "2026-11-21 14:30".to_owned(),
            length: "2 messages".to_owned(),
            place: place.to_owned(),
            title: title.to_owned(),
        }
    }

    #[test]
    fn every_word_of_a_filter_must_occur() {
        let session = row("~/src/fetcher", "The retry test is flaky");
        let row = ChoiceRow::from(session.clone());
        for filter in ["", "RETRY", "fetch flaky", "11-21", "3f2a"] {
            assert!(row.fits(filter) && session.fits(filter), "{filter}");
        }
        assert!(!row.fits("retry tea") && !session.fits("retry tea"));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let rows = [row("~/a", "one"), row("~/longer", "two")];
        assert_eq!(
            table(&rows, true),
            "  1  3f2a91c4  2026-11-21 14:30  2 messages  ~/a       one\n  2  3f2a91c4  2026-11-21 14:30  2 messages  ~/longer  two\n"
        );
        assert_eq!(end_of(&"x".repeat(40)).chars().count(), PLACE_CHARS);
    }
}
