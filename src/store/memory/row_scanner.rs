//! Finds the rows in the bytes of a diary as they come: one of a hundred megabytes need not be in memory.
//!
//! It looks at JSON's strings, brackets and commas alone. Whoever is given a row parses it, and what remains of the file without its rows too; a file for which
//! this is not enough is read whole.

use memchr::memchr2;

/// Bytes of a diary beside its rows; with the names of the latest rows it has about ten thousand.
const MAX_HEAD_BYTES: usize = 1 << 20;
const MAX_ROW_BYTES: usize = 16 << 20;
/// The name of the list.
const ROWS: &[u8] = b"\"rows\"";

/// Where the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Before the rows, or after them.
    Head,
    /// In their list, where a row may come, must come, or not before a comma.
    FirstRow,
    NextRow,
    AfterRow,
    Row,
}

pub(super) struct RowScanner {
    place: ScanState,
    /// Brackets that are open.
    depth: usize,
    in_string: bool,
    /// The next byte belongs to a backslash.
    is_escaped: bool,
    /// Bytes of the file before what comes next.
    position: u64,
    /// The file without its rows.
    head: Vec<u8>,
    /// The last string of the outermost object, as a part of `head`.
    key: (usize, usize),
    had_rows: bool,
    row: Vec<u8>,
    row_start: u64,
}

impl Default for RowScanner {
    fn default() -> Self {
        Self {
            place: ScanState::Head,
            depth: 0,
            in_string: false,
            is_escaped: false,
            position: 0,
            head: Vec::new(),
            key: (0, 0),
            had_rows: false,
            row: Vec::new(),
            row_start: 0,
        }
    }
}

impl RowScanner {
    /// Takes more of the file, and calls `on_row` with each row that ends in it and where it begins in the file. False when this is no diary as it is
    /// expected, or `on_row` said so.
    #[must_use]
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        on_row: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> bool {
        let mut rest = bytes;
        while let Some((first, _)) = rest.split_first() {
            let (taken, goes_on) = match self.in_string {
                true => (self.in_string(rest), true),
                false => (1, self.structure(*first, on_row)),
            };
            self.position += taken as u64;
            rest = rest.get(taken..).unwrap_or_default();
            if !goes_on || self.head.len() > MAX_HEAD_BYTES || self.row.len() > MAX_ROW_BYTES {
                return false;
            }
        }
        true
    }

    /// The file without its rows, at its end; `None` when it ended too early or has no list of rows.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        (self.had_rows && self.depth == 0 && !self.in_string).then_some(self.head)
    }

    fn keep(&mut self, bytes: &[u8]) {
        match self.place {
            ScanState::Row => self.row.extend_from_slice(bytes),
            ScanState::Head => self.head.extend_from_slice(bytes),
            ScanState::FirstRow | ScanState::NextRow | ScanState::AfterRow => {}
        }
    }

    /// The bytes of a string up to its end, or to the end of what has come.
    fn in_string(&mut self, rest: &[u8]) -> usize {
        if std::mem::take(&mut self.is_escaped) {
            self.keep(rest.get(..1).unwrap_or_default());
            return 1;
        }
        let end = memchr2(b'"', b'\\', rest);
        let taken = end.map_or(rest.len(), |end| end + 1);
        let text = rest.get(..taken).unwrap_or_default();
        self.keep(text);
        if end.is_some() {
            self.is_escaped = text.last() == Some(&b'\\');
            self.in_string = self.is_escaped;
            if !self.in_string && self.place == ScanState::Head && self.depth == 1 {
                self.key.1 = self.head.len();
            }
        }
        taken
    }

    /// A byte outside of strings.
    fn structure(&mut self, byte: u8, on_row: &mut dyn FnMut(u64, &[u8]) -> bool) -> bool {
        match (self.place, byte) {
            (ScanState::FirstRow | ScanState::NextRow, b'{') => {
                self.place = ScanState::Row;
                self.row.clear();
                self.row_start = self.position;
            }
            (ScanState::AfterRow, b',') => {
                self.place = ScanState::NextRow;
                return true;
            }
            (ScanState::FirstRow | ScanState::AfterRow, b']') => self.place = ScanState::Head,
            (ScanState::FirstRow | ScanState::NextRow | ScanState::AfterRow, byte) => {
                return byte.is_ascii_whitespace();
            }
            (ScanState::Head | ScanState::Row, _) => {}
        }
        self.keep(&[byte]);
        match byte {
            b'"' => {
                self.in_string = true;
                if self.place == ScanState::Head && self.depth == 1 {
                    self.key.0 = self.head.len() - 1;
                }
            }
            b'{' => self.depth += 1,
            b'[' => {
                let key = self.head.get(self.key.0..self.key.1);
                if self.place == ScanState::Head && self.depth == 1 && key == Some(ROWS) {
                    if self.had_rows {
                        return false;
                    }
                    self.had_rows = true;
                    self.place = ScanState::FirstRow;
                }
                self.depth += 1;
            }
            b'}' | b']' => {
                let Some(depth) = self.depth.checked_sub(1) else {
                    return false;
                };
                self.depth = depth;
                if self.place == ScanState::Row && depth == 2 {
                    self.place = ScanState::AfterRow;
                    return on_row(self.row_start, &self.row);
                }
            }
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The head, and the rows with where they begin; the bytes come in pieces of `size`.
    fn scan(text: &str, size: usize) -> Option<(String, Vec<(u64, String)>)> {
        let mut scanner = RowScanner::default();
        let mut rows = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            let mut on_row = |at, row: &[u8]| {
                rows.push((at, String::from_utf8(row.to_vec()).unwrap()));
                true
            };
            if !scanner.feed(piece, &mut on_row) {
                return None;
            }
        }
        Some((String::from_utf8(scanner.finish()?).unwrap(), rows))
    }

    #[test]
    fn rows_are_found_in_every_form_of_a_file() {
        for (text, head, wanted) in [
            (
                "{\"version\":1,\"saved\":[\"rows\"],\"rows\":[\n{\"a\":\"}]\"},\n{\"b\":[{}]}\n]}\n",
                "{\"version\":1,\"saved\":[\"rows\"],\"rows\":[]}\n",
                &["{\"a\":\"}]\"}", "{\"b\":[{}]}"][..],
            ),
            (
                " { \"rows\" : [ { \"a\" : \"\\\"\\\\\" } ] , \"version\" : 1 } ",
                " { \"rows\" : [] , \"version\" : 1 } ",
                &["{ \"a\" : \"\\\"\\\\\" }"][..],
            ),
            (
                "{\"x\":{\"rows\":[1]},\"rows\":[]}",
                "{\"x\":{\"rows\":[1]},\"rows\":[]}",
                &[][..],
            ),
        ] {
            for size in [1, 2, 3, 7, 1_000] {
                let (found, rows) = scan(text, size).unwrap();
                assert_eq!(found, head);
                let texts: Vec<&str> = rows.iter().map(|(_, row)| row.as_str()).collect();
                assert_eq!(texts, wanted, "{size}");
                for (at, row) in &rows {
                    assert!(text[usize::try_from(*at).unwrap()..].starts_with(row));
                }
            }
        }
    }

    #[test]
    fn what_is_no_diary_is_refused() {
        for text in [
            "",
            "{\"version\":1}",
            "{\"rows\":[{}",
            "{\"rows\":[{}{}]}",
            "{\"rows\":[{},]}",
            "{\"rows\":[,{}]}",
            "{\"rows\":[7]}",
            "{\"rows\":[{}],\"rows\":[{}]}",
            "{\"rows\":[]}}",
            "{\"rows\":[\"",
        ] {
            assert_eq!(scan(text, 4), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn valid_files_are_taken_apart_as_a_parser_does(rows in proptest::collection::vec("[a-z\\\\\"{}\\[\\],\u{e9} ]{0,12}", 0..6), size in 1_usize..9) {
            let rows: Vec<serde_json::Value> = rows.iter().map(|text| serde_json::json!({"summary": text, "topics": [text]})).collect();
            let text = serde_json::json!({"version": 1, "rows": rows}).to_string();
            let (head, found) = scan(&text, size).unwrap();
            prop_assert_eq!(head, "{\"version\":1,\"rows\":[]}");
            let found: Vec<serde_json::Value> = found.iter().map(|(_, row)| serde_json::from_str(row).unwrap()).collect();
            prop_assert_eq!(found, rows);
        }
    }
}
