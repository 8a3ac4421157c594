//! The diary of the store: rows are looked up, added and replaced, each change under the lock.
//!
//! A small diary is read whole, a large one by its index. Whatever is wrong with the index, the diary read whole has the answer.

use std::fs;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;

use super::diary::Diary;
use super::file::{FileStamp, MemoryDir, MemoryFile};
use super::indexed_diary::{IndexedDiary, MIN_INDEXED_BYTES};
use super::row::{DiaryRow, DiarySource};
use super::{DIARY, Files, INDEX, MemoryStore, SavedRows};
use crate::base::embedding::Embedding;
use crate::base::problem::Outcome;
use crate::disk::lock::Lock;

/// The diary: read whole, or a large one of which only single rows are.
pub(super) struct StoredDiary {
    pub whole: MemoryFile<Diary>,
    pub indexed: Option<IndexedDiary>,
}

impl StoredDiary {
    pub(super) fn new() -> Self {
        Self {
            whole: MemoryFile::new(DIARY),
            indexed: None,
        }
    }

    /// What `look` finds by the index of a large diary. `None` when the diary has none: then it is to be read whole. `look` returns `None` when the index turns
    /// out to be wrong; it is made again once.
    fn by_index<R>(
        &mut self,
        dir: &MemoryDir,
        lock: Option<&Lock>,
        look: impl Fn(&IndexedDiary) -> Option<R>,
    ) -> Option<R> {
        for _ in 0..2 {
            if !self.has_index(dir, lock) {
                return None;
            }
            let found = self.indexed.as_ref().and_then(&look);
            if found.is_some() {
                return found;
            }
            self.indexed = None;
            let _ = fs::remove_file(dir.path.join(INDEX));
        }
        None
    }

    /// Whether the diary is a large one with an index, which is made if it is missing. A diary that was read whole needs none.
    pub(super) fn has_index(&mut self, dir: &MemoryDir, lock: Option<&Lock>) -> bool {
        let path = self.whole.path(dir);
        let stamp = FileStamp::of(&path).filter(|stamp| stamp.bytes >= MIN_INDEXED_BYTES);
        let Some(stamp) = stamp.filter(|stamp| !self.whole.is_current(*stamp)) else {
            self.indexed = None;
            return false;
        };
        let is_current = |index: &IndexedDiary| index.stamp == stamp;
        if !self.indexed.as_ref().is_some_and(is_current) {
            self.indexed = IndexedDiary::open(dir, &path, stamp);
        }
        if self.indexed.is_none() {
            self.indexed = self.new_index(dir, lock);
        }
        self.indexed.is_some()
    }

    /// Makes the index; `None` without the lock, or when the diary cannot have one.
    fn new_index(&mut self, dir: &MemoryDir, lock: Option<&Lock>) -> Option<IndexedDiary> {
        let own = match lock {
            Some(_) => None,
            None => Some(dir.lock().ok()?),
        };
        let lock = lock.or(own.as_ref())?;
        let path = self.whole.path(dir);
        let open = || IndexedDiary::open(dir, &path, FileStamp::of(&path)?);
        // Another process may have made it while this one waited for the lock.
        if let Some(index) = open() {
            return Some(index);
        }
        let built = IndexedDiary::build(dir, &path).or_else(|| {
            // Rows that are broken, twice or out of order: written once as they are read, it can have one.
            self.whole.get(dir, Some(lock), |_| ()).ok()?;
            self.whole.write(dir, lock).ok()?;
            self.whole.invalidate();
            IndexedDiary::build(dir, &path)
        })?;
        match built.write_index(dir) {
            // From the disk it takes less memory.
            Ok(()) => open().or(Some(built)),
            Err(_) => Some(built),
        }
    }
}

impl MemoryStore {
    /// The rows, the oldest first.
    pub(crate) fn diary_all(&self) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let diary = files.diary.whole.get(&self.0.dir, None, |_| ())?;
        Ok(diary.rows().to_vec())
    }

    /// How many rows there are, and those of these numbers, the oldest being number 0.
    pub(crate) fn diary_page(
        &self,
        numbers: impl Fn(usize) -> Range<usize>,
    ) -> Outcome<(usize, Vec<DiaryRow>)> {
        let mut files = self.files();
        let dir = &self.0.dir;
        if let Some(page) = files
            .diary
            .by_index(dir, None, |index| index.page(&numbers))
        {
            return Ok(page);
        }
        let rows = files.diary.whole.get(dir, None, |_| ())?.rows();
        let page = rows.get(numbers(rows.len())).unwrap_or_default();
        Ok((rows.len(), page.to_vec()))
    }

    pub(crate) fn diary_get(&self, date: Date, source: DiarySource) -> Outcome<Option<DiaryRow>> {
        let mut files = self.files();
        if let Some(row) = files
            .diary
            .by_index(&self.0.dir, None, |index| index.get(date, source))
        {
            return Ok(row);
        }
        let diary = files.diary.whole.get(&self.0.dir, None, |_| ())?;
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
        let by_index = |index: &IndexedDiary| index.search(words, from, to, k);
        if let Some(found) = files.diary.by_index(&self.0.dir, None, by_index) {
            return Ok(found);
        }
        let diary = files.diary.whole.get(&self.0.dir, None, |_| ())?;
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
        let diary = diary.whole.get(&self.0.dir, None, |_| ())?;
        let vectors = vectors.get(&self.0.dir, None, |_| ())?;
        let cosines = vectors.cosines(model, near, diary.rows());
        Ok(diary.search(words, from, to, k, Some(&cosines)))
    }

    /// At most `max` rows that have no vector of `model` yet, the newest first.
    pub(crate) fn rows_without_vector(&self, model: &str, max: usize) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let Files { diary, vectors, .. } = &mut *files;
        let rows = diary.whole.get(&self.0.dir, None, |_| ())?.rows();
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
        let rows = diary.whole.get(dir, Some(&lock), |_| ())?.rows();
        vectors
            .get(dir, Some(&lock), |_| ())?
            .add(model, added, rows);
        vectors.write(dir, &lock)
    }

    /// Which rows of the conversation are in the diary.
    pub(crate) fn saved_rows(&self) -> Outcome<SavedRows> {
        let mut files = self.files();
        let by_index = |index: &IndexedDiary| Some(index.saved.clone());
        if let Some(saved) = files.diary.by_index(&self.0.dir, None, by_index) {
            return Ok(saved);
        }
        let diary = files.diary.whole.get(&self.0.dir, None, |_| ())?;
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
        if let Some(replaced) = self.replace_by_index(before, &row, said)? {
            return Ok(replaced);
        }
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

    /// [`MemoryStore::diary_replace`] in a diary that has an index; `None` when it has none.
    fn replace_by_index(
        &self,
        before: Option<&DiaryRow>,
        row: &DiaryRow,
        said: &[Timestamp],
    ) -> Outcome<Option<bool>> {
        let dir = &self.0.dir;
        let mut files = self.files();
        let lock = dir.lock()?;
        let by_index = |index: &IndexedDiary| index.get(row.date, row.source);
        let Some(old) = files.diary.by_index(dir, Some(&lock), by_index) else {
            return Ok(None);
        };
        let Some(index) = files.diary.indexed.take() else {
            return Ok(None);
        };
        if said.iter().any(|at| index.saved.names(*at)) || old.as_ref() != before {
            files.diary.indexed = Some(index);
            return Ok(Some(false));
        }
        let mut row = row.clone();
        row.created = old.map_or(row.created, |old| old.created);
        let mut saved = index.saved.clone();
        saved.add(said);
        index.write_row(&files.diary.whole.path(dir), &row, &saved)?;
        drop(index);
        // Now, because the next reply would have to wait for it.
        files.diary.has_index(dir, Some(&lock));
        Ok(Some(true))
    }

    /// Changes the diary under the lock; `change` also says whether there is something to write.
    fn change_diary<R>(&self, change: impl FnOnce(&mut Diary) -> Outcome<(R, bool)>) -> Outcome<R> {
        let dir = &self.0.dir;
        let mut files = self.files();
        let lock = dir.lock()?;
        let changed = change(files.diary.whole.get(dir, Some(&lock), |_| ())?);
        match changed {
            Ok((result, true)) => files.diary.whole.write(dir, &lock).map(|()| result),
            Ok((result, false)) => Ok(result),
            Err(problem) => {
                files.diary.whole.invalidate();
                Err(problem)
            }
        }
    }
}
