//! The diary: what happened on which day, and the search in it.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::file::Content;
use super::ranking::{DiaryIndex, best_rows};
use super::row::{DiaryRow, DiarySource};
use super::saved::SavedRows;
use super::{VERSION, lines_of};
use crate::base::clock::Clock;
use crate::base::problem::Outcome;

/// The rows of `diary.json`, by date and source.
#[derive(Debug, Default)]
pub(super) struct Diary {
    /// The rows of the conversation that are in it.
    pub saved: SavedRows,
    rows: Vec<DiaryRow>,
    /// Made at the first search, and dropped by a change.
    index: Option<DiaryIndex>,
}

#[derive(Deserialize)]
struct DiaryFile<R> {
    version: u64,
    #[serde(default)]
    saved_through: Option<String>,
    #[serde(default)]
    settled: Option<String>,
    #[serde(default)]
    saved: Vec<String>,
    #[serde(default = "Vec::new")]
    rows: Vec<R>,
}

impl<R> DiaryFile<R> {
    fn saved_rows(&self, clock: &Clock) -> SavedRows {
        let (through, settled) = (self.saved_through.as_deref(), self.settled.as_deref());
        SavedRows::read(through, settled, &self.saved, clock.now().timestamp())
    }
}

impl Content for Diary {
    fn parse(bytes: &[u8], clock: &Clock) -> (Self, Option<String>) {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return (Self::default(), None);
        }
        let problem = match serde_json::from_slice::<DiaryFile<DiaryRow>>(bytes) {
            Ok(file) if file.version == VERSION => {
                return (Self::of(file.saved_rows(clock), file.rows), None);
            }
            Ok(file) => return (Self::default(), Some(super::unknown(file.version))),
            Err(problem) => problem.to_string(),
        };
        // A row that somebody broke in an editor does not cost the others.
        let rest = serde_json::from_slice::<DiaryFile<Box<RawValue>>>(bytes)
            .ok()
            .filter(|file| file.version == VERSION)
            .map(|file| {
                let rows = file.rows.iter();
                let rows = rows.filter_map(|raw| serde_json::from_str(raw.get()).ok());
                Self::of(file.saved_rows(clock), rows.collect())
            });
        (rest.unwrap_or_default(), Some(problem))
    }

    fn bytes(&self) -> Outcome<Vec<u8>> {
        #[derive(Serialize)]
        struct DiaryHead {
            version: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            saved_through: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            settled: Option<String>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            saved: Vec<String>,
        }
        let text = |moment: Timestamp| moment.to_string();
        let head = DiaryHead {
            version: VERSION,
            saved_through: self.saved.through().map(text),
            settled: self.saved.settled().map(text),
            saved: self.saved.recent().map(Timestamp::to_string).collect(),
        };
        lines_of(&head, "rows", &self.rows)
    }
}

impl Diary {
    fn of(saved: SavedRows, rows: Vec<DiaryRow>) -> Self {
        let mut diary = Self {
            saved,
            ..Self::default()
        };
        diary.set_rows(rows);
        diary
    }

    /// Replaces the rows. Rows of the same day and source become one.
    pub(super) fn set_rows(&mut self, mut rows: Vec<DiaryRow>) {
        rows.sort_by_key(|row| (row.date, row.source));
        rows.dedup_by(|later, first| {
            let same = (later.date, later.source) == (first.date, first.source);
            if same {
                first.combine(later);
            }
            same
        });
        self.rows = rows;
        self.index = None;
    }

    /// The rows, the oldest first.
    pub(super) fn rows(&self) -> &[DiaryRow] {
        &self.rows
    }

    pub(super) fn get(&self, date: Date, source: DiarySource) -> Option<&DiaryRow> {
        let at = self.place(date, source).ok()?;
        self.rows.get(at)
    }

    /// Adds the row, or replaces the one of its day and source, whose time of creation stays.
    pub(super) fn put(&mut self, mut row: DiaryRow) {
        self.index = None;
        match self.place(row.date, row.source) {
            Ok(at) => {
                if let Some(old) = self.rows.get_mut(at) {
                    row.created = old.created;
                    *old = row;
                }
            }
            Err(at) => self.rows.insert(at, row),
        }
    }

    fn place(&self, date: Date, source: DiarySource) -> Result<usize, usize> {
        self.rows
            .binary_search_by_key(&(date, source), |row| (row.date, row.source))
    }

    /// What is searched; made when it is wanted first.
    pub(super) fn index(&mut self) -> &DiaryIndex {
        let rows = &self.rows;
        self.index.get_or_insert_with(|| DiaryIndex::new(rows))
    }

    /// The `k` rows between two days (inclusive) that fit the words best, the newest first. Words that are found nowhere leave the days themselves.
    /// `cosines` say how near each row is to what is looked for, as far as that is known.
    pub(super) fn search(
        &mut self,
        words: &[String],
        from: Option<Date>,
        to: Option<Date>,
        k: usize,
        cosines: Option<&[Option<f64>]>,
    ) -> Vec<DiaryRow> {
        let first = from.map_or(0, |from| self.rows.partition_point(|row| row.date < from));
        let end = to.map_or(self.rows.len(), |to| {
            self.rows.partition_point(|row| row.date <= to)
        });
        let mut scores = self.index().scores(words);
        if let Some(cosines) = cosines {
            mix(&mut scores, cosines);
        }
        let mut hits = best_rows(&scores, first..end, k);
        if hits.is_empty() && (from.is_some() || to.is_some()) {
            hits = (first..end).rev().take(k).map(|at| (at, 0.0)).collect();
        }
        // Rows of one day can differ in source only.
        hits.sort_by(|(a, one), (b, other)| {
            let date = |at: &usize| self.rows.get(*at).map(|row| row.date);
            date(b).cmp(&date(a)).then(other.total_cmp(one))
        });
        hits.iter()
            .filter_map(|(at, _)| self.rows.get(*at).cloned())
            .collect()
    }
}

/// How much meaning counts, and how much words.
const MEANING: f64 = 0.6;
const WORDS: f64 = 0.4;

/// Mixes scores of words with the nearness of what the rows are about.
fn mix(scores: &mut [f64], cosines: &[Option<f64>]) {
    let most = scores.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for (score, cosine) in scores.iter_mut().zip(cosines) {
        let meaning = cosine.map_or(0.0, |cosine| f64::midpoint(1.0, cosine));
        *score = MEANING * meaning + WORDS * *score / most;
    }
}
