//! A large diary and its index, `diary.index`: what a reply needs of a hundred thousand rows without reading them.
//!
//! The diary is what counts; the index can be thrown away at any time. It belongs to one version of `diary.json` by its stamp (time of change, length,
//! inode), and is made again, under the lock, by whoever finds another stamp or something wrong in it. Numbers are little-endian; the parts follow one
//! another:
//!
//! | part | what it is |
//! |---|---|
//! | `marvin diary index 1`, line end | of which version it is |
//! | 8 bytes | the checksum of all that follows, but for the lists |
//! | 4 × 8 bytes | the stamp: seconds, nanoseconds, length, inode |
//! | 5 × 8 bytes | how many bytes of head, rows, terms, bytes of texts and bytes of lists there are |
//! | head | the diary without its rows, as JSON |
//! | 17 bytes a row | year (2), month, day, source (1 when spoken), weighted number of words (4), where it begins in the diary (4), its bytes (4) |
//! | 12 bytes a term | where its text ends (4), where its list ends (4), the checksum of the list (4) |
//! | texts | the terms in order, one after the other |
//! | lists | as [`super::word_index`] says |
//!
//! A search reads all but the lists, then those of the words that are looked for, then the rows that it has found.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use jiff::civil::Date;

use super::INDEX;
use super::diary::{Days, DiaryFile, DiaryHead};
use super::file::{FileStamp, MAX_FILE_BYTES, MemoryDir, too_large};
use super::row::{DiaryRow, DiarySource};
use super::row_scanner::RowScanner;
use super::saved::SavedRows;
use super::word_index::{Lists, Term, WordIndex, WordIndexBuilder, checksum};
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};

/// Bytes of a diary from which it has an index: reading a smaller one takes some milliseconds.
pub(super) const MIN_INDEXED_BYTES: u64 = 1 << 20;
const MAGIC: &[u8] = b"marvin diary index 1\n";
/// Numbers of the stamp, and of the parts.
const NUMBERS: usize = 9;
/// Bytes of a row and of a term.
const ROW_BYTES: u64 = 17;
const TERM_BYTES: u64 = 12;
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 256 << 10;

pub(super) struct IndexedDiary {
    pub stamp: FileStamp,
    /// The diary.
    file: File,
    /// The diary without its rows.
    head: Vec<u8>,
    pub saved: SavedRows,
    rows: Vec<RowPlace>,
    words: WordIndex,
}

/// Where a row is in the diary.
#[derive(Debug, Clone, Copy)]
struct RowPlace {
    date: Date,
    source: DiarySource,
    start: u32,
    bytes: u32,
}

impl RowPlace {
    fn key(&self) -> (Date, DiarySource) {
        (self.date, self.source)
    }

    fn end(&self) -> u64 {
        u64::from(self.start) + u64::from(self.bytes)
    }
}

impl IndexedDiary {
    /// The diary with the index that is on the disk; `None` without one of this stamp.
    pub(super) fn open(dir: &MemoryDir, diary: &Path, stamp: FileStamp) -> Option<Self> {
        let file = open::read(diary).ok()?;
        let is_same = FileStamp::from(&file.metadata().ok()?) == stamp;
        is_same.then(|| Self::read(dir, file, stamp))?
    }

    fn read(dir: &MemoryDir, diary: File, stamp: FileStamp) -> Option<Self> {
        let mut index = open::read(&dir.path.join(INDEX)).ok()?;
        let length = index.metadata().ok()?.len();
        let mut start = vec![0; MAGIC.len() + 8 + 8 * NUMBERS];
        index.read_exact(&mut start).ok()?;
        let rest = start.strip_prefix(MAGIC)?;
        let (wanted, numbers) = rest.split_first_chunk::<8>()?;
        let mut bytes = numbers;
        let mut next = || take(&mut bytes).map(u64::from_le_bytes);
        let found = FileStamp {
            seconds: next()?.cast_signed(),
            nanoseconds: next()?.cast_signed(),
            bytes: next()?,
            inode: next()?,
        };
        let (head_bytes, rows, terms, text_bytes, list_bytes) =
            (next()?, next()?, next()?, next()?, next()?);
        let tables = rows.checked_mul(ROW_BYTES)?;
        let tables = tables.checked_add(terms.checked_mul(TERM_BYTES)?)?;
        let tables = tables.checked_add(head_bytes)?.checked_add(text_bytes)?;
        let lists_start = tables.checked_add(start.len() as u64)?;
        if found != stamp
            || lists_start.checked_add(list_bytes)? != length
            || length > MAX_FILE_BYTES
        {
            return None;
        }
        let mut all = numbers.to_vec();
        all.resize(numbers.len() + usize::try_from(tables).ok()?, 0);
        let (_, tables) = all.split_at_mut(numbers.len());
        index.read_exact(tables).ok()?;
        if checksum(&all) != u64::from_le_bytes(*wanted) {
            return None;
        }
        let mut bytes = all.get(numbers.len()..)?;
        let head = split(&mut bytes, head_bytes)?.to_vec();
        let saved = DiaryFile::of_head(&head)?.saved_rows(&dir.clock);
        let (mut places, mut lengths) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let (place, length) = row_of(&mut bytes)?;
            places.push(place);
            lengths.push(length);
        }
        let mut all_terms = Vec::new();
        for _ in 0..terms {
            all_terms.push(Term {
                text_end: u32::from_le_bytes(take(&mut bytes)?),
                list_end: u32::from_le_bytes(take(&mut bytes)?),
                checksum: u32::from_le_bytes(take(&mut bytes)?),
            });
        }
        let texts = String::from_utf8(bytes.to_vec()).ok()?;
        let lists = Lists::File(index, lists_start);
        Some(Self {
            stamp,
            file: diary,
            head,
            saved,
            rows: places,
            words: WordIndex::of_parts(lengths, all_terms, texts, lists)?,
        })
    }

    /// The diary with an index that is made now, row by row. `None` when it needs to be read whole: it is broken, or its rows are not in order.
    pub(super) fn build(dir: &MemoryDir, diary: &Path) -> Option<Self> {
        let mut file = open::read(diary).ok()?;
        let stamp = FileStamp::from(&file.metadata().ok()?);
        if stamp.bytes > MAX_FILE_BYTES {
            return None;
        }
        let (mut scanner, mut words) = (RowScanner::default(), WordIndexBuilder::default());
        let mut rows: Vec<RowPlace> = Vec::new();
        let mut on_row = |start: u64, bytes: &[u8]| {
            let Ok(row) = serde_json::from_slice::<DiaryRow>(bytes) else {
                return false;
            };
            let (Ok(start), Ok(length)) = (u32::try_from(start), u32::try_from(bytes.len())) else {
                return false;
            };
            let place = RowPlace {
                date: row.date,
                source: row.source,
                start,
                bytes: length,
            };
            let is_next = rows.last().is_none_or(|last| last.key() < place.key());
            words.add(&row);
            rows.push(place);
            is_next
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) if scanner.feed(chunk.get(..read)?, &mut on_row) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return None,
            }
        }
        let head = scanner.finish()?;
        let saved = DiaryFile::of_head(&head)?.saved_rows(&dir.clock);
        // An editor does not know of the lock.
        let is_same = FileStamp::from(&file.metadata().ok()?) == stamp;
        is_same.then(|| Self {
            stamp,
            file,
            head,
            saved,
            rows,
            words: words.finish(),
        })
    }

    /// Writes an index that was made now, for the next process.
    ///
    /// # Errors
    /// The disk is full or not writable.
    pub(super) fn write_index(&self, dir: &MemoryDir) -> Outcome<()> {
        let Some(lists) = self.words.lists() else {
            return Ok(());
        };
        let stamp = self.stamp;
        let numbers = [
            stamp.seconds.cast_unsigned(),
            stamp.nanoseconds.cast_unsigned(),
            stamp.bytes,
            stamp.inode,
            self.head.len() as u64,
            self.rows.len() as u64,
            self.words.terms.len() as u64,
            self.words.texts.len() as u64,
            lists.len() as u64,
        ];
        let mut tables: Vec<u8> = numbers.map(u64::to_le_bytes).concat();
        tables.extend_from_slice(&self.head);
        for (place, words) in self.rows.iter().zip(&self.words.lengths) {
            push_row(&mut tables, place, *words);
        }
        for term in &self.words.terms {
            for number in [term.text_end, term.list_end, term.checksum] {
                tables.extend_from_slice(&number.to_le_bytes());
            }
        }
        tables.extend_from_slice(self.words.texts.as_bytes());
        let sum = checksum(&tables).to_le_bytes();
        atomic::write_with(&dir.path.join(INDEX), Access::Private, |file| {
            for part in [MAGIC, &sum, &tables, lists] {
                file.write_all(part)?;
            }
            Ok(())
        })
    }

    /// As [`super::diary::Diary::search`]; `None` when the index or the diary is not what it was.
    pub(super) fn search(
        &self,
        words: &[String],
        from: Option<Date>,
        to: Option<Date>,
        k: usize,
    ) -> Option<Vec<DiaryRow>> {
        let scores = self.words.scores(words)?;
        let found = Days { from, to }.best(&self.rows, |row| row.date, &scores, k);
        found.into_iter().map(|at| self.row(at)).collect()
    }

    /// The row of a day and source, if there is one; `None` when the diary is not what it was.
    pub(super) fn get(&self, date: Date, source: DiarySource) -> Option<Option<DiaryRow>> {
        match self.place(date, source) {
            Ok(at) => self.row(at).map(Some),
            Err(_) => Some(None),
        }
    }

    /// How many rows there are, and those of `numbers`; `None` when the diary is not what it was.
    pub(super) fn page(
        &self,
        numbers: impl Fn(usize) -> std::ops::Range<usize>,
    ) -> Option<(usize, Vec<DiaryRow>)> {
        let rows: Option<Vec<DiaryRow>> = numbers(self.rows.len()).map(|at| self.row(at)).collect();
        Some((self.rows.len(), rows?))
    }

    /// Writes the diary with this row, in the place of the one of its day and source if there is one. The other rows are copied as they are.
    ///
    /// # Errors
    /// It would become too large; the disk is full or not writable. The file is then as it was.
    pub(super) fn write_row(&self, path: &Path, row: &DiaryRow, saved: &SavedRows) -> Outcome<()> {
        let fail = |error| Problem::internal("The memory is not JSON.").because(error);
        let mut head = serde_json::to_vec(&DiaryHead::new(saved)).map_err(fail)?;
        head.pop();
        head.extend_from_slice(b",\"rows\":[\n");
        let new = serde_json::to_vec(row).map_err(fail)?;
        if self.stamp.bytes + new.len() as u64 > MAX_FILE_BYTES {
            return Err(too_large(path));
        }
        let (before, after) = match self.place(row.date, row.source) {
            Ok(at) => (at, at + 1),
            Err(at) => (at, at),
        };
        // What is between the rows is a comma and white space, so it is copied with them.
        let before = self.rows.get(..before).unwrap_or_default();
        let after = self.rows.get(after..).unwrap_or_default();
        atomic::write_with(path, Access::Private, |file| {
            let mut out = BufWriter::new(file);
            out.write_all(&head)?;
            if !before.is_empty() {
                self.copy(before, &mut out)?;
                out.write_all(b",\n")?;
            }
            out.write_all(&new)?;
            if !after.is_empty() {
                out.write_all(b",\n")?;
                self.copy(after, &mut out)?;
            }
            out.write_all(b"\n]}\n")?;
            out.flush()
        })
    }

    /// Copies neighbouring rows.
    fn copy(&self, rows: &[RowPlace], out: &mut impl io::Write) -> io::Result<()> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Ok(());
        };
        let (mut at, end) = (u64::from(first.start), last.end());
        let mut chunk = vec![0; CHUNK_BYTES];
        while at < end {
            let wanted = usize::try_from(end - at).unwrap_or(usize::MAX);
            let wanted = wanted.min(chunk.len());
            let part = chunk.get_mut(..wanted).unwrap_or_default();
            self.file.read_exact_at(part, at)?;
            let is_row = at != u64::from(first.start) || part.first() == Some(&b'{');
            at += wanted as u64;
            if !is_row || at == end && part.last() != Some(&b'}') {
                return Err(io::Error::other("the diary was changed meanwhile"));
            }
            out.write_all(part)?;
        }
        Ok(())
    }

    fn place(&self, date: Date, source: DiarySource) -> Result<usize, usize> {
        self.rows
            .binary_search_by_key(&(date, source), RowPlace::key)
    }

    fn row(&self, at: usize) -> Option<DiaryRow> {
        let place = self.rows.get(at)?;
        let mut bytes = vec![0; place.bytes as usize];
        let start = u64::from(place.start);
        self.file.read_exact_at(&mut bytes, start).ok()?;
        let row: DiaryRow = serde_json::from_slice(&bytes).ok()?;
        ((row.date, row.source) == place.key()).then_some(row)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

fn split<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(first)
}

fn push_row(bytes: &mut Vec<u8>, place: &RowPlace, words: u32) {
    let RowPlace { date, source, .. } = place;
    bytes.extend_from_slice(&date.year().to_le_bytes());
    bytes.push(date.month().cast_unsigned());
    bytes.push(date.day().cast_unsigned());
    bytes.push(u8::from(*source == DiarySource::Voice));
    for number in [words, place.start, place.bytes] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

/// A row, and its number of words.
fn row_of(bytes: &mut &[u8]) -> Option<(RowPlace, u32)> {
    let year = i16::from_le_bytes(take(bytes)?);
    let [month, day, source] = take(bytes)?;
    let words = u32::from_le_bytes(take(bytes)?);
    let place = RowPlace {
        date: Date::new(year, month.cast_signed(), day.cast_signed()).ok()?,
        source: match source {
            0 => DiarySource::Text,
            _ => DiarySource::Voice,
        },
        start: u32::from_le_bytes(take(bytes)?),
        bytes: u32::from_le_bytes(take(bytes)?),
    };
    Some((place, words))
}
