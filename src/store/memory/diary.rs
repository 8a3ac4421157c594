//! The diary: what happened on which day, and the search in it.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::file::Content;
use super::ranking::best_rows;
use super::row::{DiaryRow, DiarySource};
use super::salvage::{Damage, salvage};
use super::saved::SavedRows;
use super::word_index::WordIndex;
use super::{VERSION, lines_of};
use crate::base::clock::Clock;
use crate::base::problem::Outcome;
use crate::base::shared_sort::SharedSort as _;

/// The rows of `diary.json`, by date and source.
#[derive(Debug, Default)]
pub(super) struct Diary {
    /// The rows of the conversation that are in it.
    pub saved: SavedRows,
    rows: Vec<DiaryRow>,
    /// Made at the first search, and dropped by a change.
    index: Option<WordIndex>,
}

/// The file as it is parsed.
#[derive(Deserialize)]
pub(super) struct DiaryFile {
    version: u64,
    #[serde(default)]
    saved_through: Option<String>,
    #[serde(default)]
    settled: Option<String>,
    #[serde(default)]
    saved: Vec<String>,
    #[serde(default)]
    rows: Vec<DiaryRow>,
}

impl DiaryFile {
    /// The file without its rows; `None` when it is of another version, or none.
    pub(super) fn of_head(head: &[u8]) -> Option<Self> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let file: Self = serde_json::from_slice(head).ok()?;
        (file.version == VERSION).then_some(file)
    }

    pub(super) fn saved_rows(&self, clock: &Clock) -> SavedRows {
        let (through, settled) = (self.saved_through.as_deref(), self.settled.as_deref());
        SavedRows::read(through, settled, &self.saved, clock.now().timestamp())
    }
}

/// The file's fields beside the rows.
#[derive(Serialize)]
pub(super) struct DiaryHead {
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved_through: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    saved: Vec<String>,
}

impl DiaryHead {
    pub(super) fn new(saved: &SavedRows) -> Self {
        let text = |moment: Timestamp| moment.to_string();
        Self {
            version: VERSION,
            saved_through: saved.through().map(text),
            settled: saved.settled().map(text),
            saved: saved.recent().map(Timestamp::to_string).collect(),
        }
    }
}

impl Content for Diary {
    fn parse(bytes: &[u8], clock: &Clock) -> (Self, Option<Damage>) {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return (Self::default(), None);
        }
        let why = match serde_json::from_slice::<DiaryFile>(bytes) {
            Ok(file) if file.version == VERSION => {
                return (Self::of(file.saved_rows(clock), file.rows), None);
            }
            Ok(file) => super::unknown(file.version),
            Err(problem) => problem.to_string(),
        };
        let salvaged = salvage::<DiaryRow>(bytes, "rows", &why);
        let salvaged = salvaged.and_then(|parts| Some((DiaryFile::of_head(&parts.head)?, parts)));
        match salvaged {
            Some((head, parts)) => (
                Self::of(head.saved_rows(clock), parts.records),
                Some(parts.damage),
            ),
            None => (Self::default(), Some(Damage::Whole(why))),
        }
    }

    fn bytes(&self) -> Outcome<Vec<u8>> {
        lines_of(&DiaryHead::new(&self.saved), "rows", &self.rows)
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
        rows.shared_sort_by_key(|row| (row.date, row.source));
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
    pub(super) fn index(&mut self) -> &WordIndex {
        let rows = &self.rows;
        self.index.get_or_insert_with(|| WordIndex::new(rows))
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
        // In memory nothing can be wrong with the lists.
        let mut scores = self.index().scores(words).unwrap_or_default();
        if let Some(cosines) = cosines {
            mix(&mut scores, cosines);
        }
        let found = Days { from, to }.best(&self.rows, |row| row.date, &scores, k);
        let rows = found.iter().filter_map(|at| self.rows.get(*at));
        rows.cloned().collect()
    }
}

/// The days that are looked at: from the first to the last, both included.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Days {
    pub from: Option<Date>,
    pub to: Option<Date>,
}

impl Days {
    /// The numbers of the `k` rows of these days that have the best scores, the newest first; without any score the newest of the days, if there are such.
    /// `rows` are in the order of their dates.
    pub(super) fn best<R>(
        self,
        rows: &[R],
        date: impl Fn(&R) -> Date,
        scores: &[f64],
        k: usize,
    ) -> Vec<usize> {
        let first = self
            .from
            .map_or(0, |from| rows.partition_point(|row| date(row) < from));
        let end = self
            .to
            .map_or(rows.len(), |to| rows.partition_point(|row| date(row) <= to));
        let mut hits = best_rows(scores, first..end, k);
        if hits.is_empty() && (self.from.is_some() || self.to.is_some()) {
            hits = (first..end).rev().take(k).map(|at| (at, 0.0)).collect();
        }
        // Rows of one day can differ in source only.
        hits.shared_sort_by(|(a, one), (b, other)| {
            let date = |at: &usize| rows.get(*at).map(&date);
            date(b).cmp(&date(a)).then(other.total_cmp(one))
        });
        hits.into_iter().map(|(at, _)| at).collect()
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
