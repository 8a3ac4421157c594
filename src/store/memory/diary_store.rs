//! The diary of the store: rows are looked up, added and replaced, each change under the lock.

use jiff::Timestamp;
use jiff::civil::Date;

use super::diary::Diary;
use super::row::{DiaryRow, DiarySource};
use super::{Files, MemoryStore, SavedRows};
use crate::base::embedding::Embedding;
use crate::base::problem::Outcome;

impl MemoryStore {
    /// The rows, the oldest first.
    pub(crate) fn diary_all(&self) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let diary = files.diary.get(&self.0.dir, None, |_| ())?;
        Ok(diary.rows().to_vec())
    }

    /// The row of a day and source.
    pub(crate) fn diary_get(&self, date: Date, source: DiarySource) -> Outcome<Option<DiaryRow>> {
        let mut files = self.files();
        let diary = files.diary.get(&self.0.dir, None, |_| ())?;
        Ok(diary.get(date, source).cloned())
    }

    /// The `k` rows from `from` to `to` (both days included) that fit the words best, the newest first. If there are days but no hits, the newest rows of
    /// those days.
    pub(crate) fn diary_search(
        &self,
        words: &[String],
        from: Option<Date>,
        to: Option<Date>,
        k: usize,
    ) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let diary = files.diary.get(&self.0.dir, None, |_| ())?;
        Ok(diary.search(words, from, to, k, None))
    }

    /// [`MemoryStore::diary_search`] by meaning too: `near` is what is looked for, as a vector of `model`.
    pub(crate) fn diary_search_near(
        &self,
        words: &[String],
        (model, near): (&str, &Embedding),
        from: Option<Date>,
        to: Option<Date>,
        k: usize,
    ) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let Files { diary, vectors, .. } = &mut *files;
        let diary = diary.get(&self.0.dir, None, |_| ())?;
        let vectors = vectors.get(&self.0.dir, None, |_| ())?;
        let cosines = vectors.cosines(model, near, diary.rows());
        Ok(diary.search(words, from, to, k, Some(&cosines)))
    }

    /// At most `max` rows that have no vector of `model` yet, the newest first.
    pub(crate) fn rows_without_vector(&self, model: &str, max: usize) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let Files { diary, vectors, .. } = &mut *files;
        let rows = diary.get(&self.0.dir, None, |_| ())?.rows();
        let vectors = vectors.get(&self.0.dir, None, |_| ())?;
        Ok(vectors.missing(model, rows, max))
    }

    /// Keeps vectors of rows, by `model`.
    ///
    /// # Errors
    /// The lock or the disk; the file is then as it was.
    pub(crate) fn add_row_vectors(
        &self,
        model: &str,
        added: &[(DiaryRow, Embedding)],
    ) -> Outcome<()> {
        let dir = &self.0.dir;
        let mut files = self.files();
        let lock = dir.lock()?;
        let Files { diary, vectors, .. } = &mut *files;
        let rows = diary.get(dir, Some(&lock), |_| ())?.rows();
        vectors
            .get(dir, Some(&lock), |_| ())?
            .add(model, added, rows);
        vectors.write(dir, &lock)
    }

    /// Which rows of the conversation are in the diary.
    pub(crate) fn saved_rows(&self) -> Outcome<SavedRows> {
        let mut files = self.files();
        let diary = files.diary.get(&self.0.dir, None, |_| ())?;
        Ok(diary.saved.clone())
    }

    /// Adds the row, or replaces the one of its day and source; the time of creation stays.
    ///
    /// # Errors
    /// The lock or the disk; the file is then as it was.
    #[cfg(test)]
    pub(crate) fn diary_put(&self, row: DiaryRow) -> Outcome<()> {
        self.change_diary(|diary| {
            diary.put(row);
            Ok(((), true))
        })
    }

    /// [`MemoryStore::diary_put`], if the row of the day still is `before` and none of the rows of the conversation that it tells, which were said at
    /// `said`, is in the diary; false when another process was quicker, and nothing is written then.
    ///
    /// # Errors
    /// The lock or the disk; the file is then as it was.
    pub(crate) fn diary_replace(
        &self,
        before: Option<&DiaryRow>,
        row: DiaryRow,
        said: &[Timestamp],
    ) -> Outcome<bool> {
        self.change_diary(|diary| {
            let is_told = said.iter().any(|at| diary.saved.names(*at));
            if is_told || diary.get(row.date, row.source) != before {
                return Ok((false, false));
            }
            diary.put(row);
            diary.saved.add(said);
            Ok((true, true))
        })
    }

    /// Changes the diary under the lock; `change` also says whether there is something to write.
    fn change_diary<R>(&self, change: impl FnOnce(&mut Diary) -> Outcome<(R, bool)>) -> Outcome<R> {
        let dir = &self.0.dir;
        let mut files = self.files();
        let lock = dir.lock()?;
        let changed = change(files.diary.get(dir, Some(&lock), |_| ())?);
        match changed {
            Ok((result, true)) => files.diary.write(dir, &lock).map(|()| result),
            Ok((result, false)) => Ok(result),
            Err(problem) => {
                files.diary.invalidate();
                Err(problem)
            }
        }
    }
}
