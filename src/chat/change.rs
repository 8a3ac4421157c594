//! What an edit did to a file, line by line: made once from the text before and the text after, so that nobody who shows it needs to know how a tool was
//! asked for it.
//!
//! Bounded in time and size: texts that differ too much to be compared line by line count as replaced, and what is beyond [`MAX_TEXT_BYTES`] is only counted.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use crate::base::text::head;

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;
/// Lines, without the common prefix and suffix, beyond which two texts are not compared: the time grows with the square.
const MAX_COMPARED_LINES: usize = 6_000;
/// Maximum bytes of a line in a hunk; a longer one ends in "…".
const MAX_LINE_BYTES: usize = 4_000;
/// Maximum bytes of the hunks of a file.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// Maximum bytes of each of the two texts that are kept whole.
const MAX_WHOLE_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file, as the tool names it; after the change if it was moved.
    pub path: String,
    /// Its name before, if it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    pub kind: ChangeKind,
    /// Lines that were added, whether or not the hunks have them.
    pub added: usize,
    /// Lines that were removed.
    pub removed: usize,
    /// The places of change, in the order of the file.
    pub hunks: Vec<Hunk>,
    /// Both texts, while they are at hand and somebody wants to see them.
    #[serde(skip)]
    pub whole: Option<Arc<WholeTexts>>,
}

/// The texts of a file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeTexts {
    pub old: String,
    pub new: String,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    #[default]
    Changed,
    Added,
    Deleted,
}

/// One place of change with a few unchanged lines around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// The numbers of its first line in the file before and after, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<(usize, usize)>,
    /// Its lines, each after its mark: a blank for an unchanged one, `-` for one that was removed, `+` for one that was added.
    pub lines: String,
}

impl FileChange {
    /// The change of a file from one text to another; no text is no file.
    pub(crate) fn between(path: &str, old: Option<&str>, new: Option<&str>) -> Self {
        let kind = match (old, new) {
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
            _ => ChangeKind::Changed,
        };
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let is_kept = old.len().max(new.len()) <= MAX_WHOLE_BYTES;
        let mut change = Self {
            path: path.to_owned(),
            kind,
            whole: is_kept.then(|| {
                Arc::new(WholeTexts {
                    old: old.to_owned(),
                    new: new.to_owned(),
                })
            }),
            ..Self::default()
        };
        let old: Vec<&str> = old.lines().collect();
        let new: Vec<&str> = new.lines().collect();
        let ops = compare(&old, &new);
        for op in &ops {
            if !matches!(op, DiffOp::Equal { .. }) {
                change.removed += op.old_range().len();
                change.added += op.new_range().len();
            }
        }
        let mut room = MAX_TEXT_BYTES;
        for group in group_diff_ops(ops, CONTEXT_LINES) {
            let Some(first) = group.first() else { continue };
            let start = (first.old_range().start + 1, first.new_range().start + 1);
            let mut lines = String::new();
            let is_whole = write_hunk(&mut lines, &group, (&old, &new), room);
            room = room.saturating_sub(lines.len());
            change.hunks.push(Hunk {
                start: Some(start),
                lines,
            });
            if !is_whole {
                break;
            }
        }
        change
    }

    /// The same change of a file that was called otherwise before.
    #[must_use]
    pub(crate) fn moved_from(self, path: &str) -> Self {
        Self {
            moved_from: Some(path.to_owned()),
            ..self
        }
    }

    /// The same change at a place whose first line has the number `first`, or at an unknown one.
    #[must_use]
    pub(crate) fn starting_at(mut self, first: Option<usize>) -> Self {
        self.whole = None;
        for hunk in &mut self.hunks {
            hunk.start = hunk.start.zip(first).map(|((old, new), first)| {
                let before = first.saturating_sub(1);
                (old.saturating_add(before), new.saturating_add(before))
            });
        }
        self
    }

    /// The length of its texts.
    pub(crate) fn bytes(&self) -> usize {
        let hunks: usize = self.hunks.iter().map(|hunk| hunk.lines.len()).sum();
        let moved_from = self.moved_from.as_ref().map_or(0, String::len);
        self.path.len() + moved_from + hunks
    }

    /// Changed lines that the hunks do not have.
    pub(crate) fn omitted(&self) -> usize {
        let lines = self.hunks.iter().flat_map(|hunk| hunk.lines.lines());
        let shown = lines.filter(|line| !line.starts_with(' ')).count();
        self.added
            .saturating_add(self.removed)
            .saturating_sub(shown)
    }
}

/// As a unified diff.
impl fmt::Display for FileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.moved_from.as_ref().unwrap_or(&self.path);
        match self.kind {
            ChangeKind::Added => writeln!(f, "--- /dev/null")?,
            ChangeKind::Changed | ChangeKind::Deleted => {
                writeln!(f, "--- a/{}", before.trim_start_matches('/'))?;
            }
        }
        match self.kind {
            ChangeKind::Deleted => writeln!(f, "+++ /dev/null")?,
            ChangeKind::Changed | ChangeKind::Added => {
                writeln!(f, "+++ b/{}", self.path.trim_start_matches('/'))?;
            }
        }
        for hunk in &self.hunks {
            if let Some((old, new)) = hunk.start {
                let count = |other: char| {
                    let lines = hunk.lines.lines();
                    lines.filter(|line| !line.starts_with(other)).count()
                };
                // A side without lines is at the line before, as in diff.
                let side = |start: usize, count: usize| match count {
                    0 => format!("{},0", start.saturating_sub(1)),
                    _ => format!("{start},{count}"),
                };
                let (old, new) = (side(old, count('+')), side(new, count('-')));
                writeln!(f, "@@ -{old} +{new} @@")?;
            }
            f.write_str(&hunk.lines)?;
        }
        match self.omitted() {
            0 => Ok(()),
            more => writeln!(f, "… {more} more changed lines"),
        }
    }
}

/// Writes the lines of a group of differences; false when there was no room for all.
fn write_hunk(
    out: &mut String,
    group: &[DiffOp],
    (old, new): (&[&str], &[&str]),
    room: usize,
) -> bool {
    let mut write = |mark: char, lines: &[&str], range: Range<usize>| {
        for line in lines.get(range).unwrap_or_default() {
            let kept = head(line, MAX_LINE_BYTES);
            let end = if kept.len() < line.len() {
                "…\n"
            } else {
                "\n"
            };
            if out.len() + 1 + kept.len() + end.len() > room {
                return false;
            }
            out.push(mark);
            out.push_str(kept);
            out.push_str(end);
        }
        true
    };
    group.iter().all(|op| match op {
        DiffOp::Equal { .. } => write(' ', new, op.new_range()),
        _ => write('-', old, op.old_range()) && write('+', new, op.new_range()),
    })
}

/// The differing ranges; common prefix and suffix are removed first, as they are most of a file.
fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let same = |(left, right): &(&&str, &&str)| left == right;
    let front = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (
        old.get(front..).unwrap_or_default(),
        new.get(front..).unwrap_or_default(),
    );
    let back = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(same)
        .count();
    let (old_len, new_len) = (old_rest.len() - back, new_rest.len() - back);
    let old_part = old_rest.get(..old_len).unwrap_or_default();
    let new_part = new_rest.get(..new_len).unwrap_or_default();
    let mut ops = vec![equal(0, 0, front)];
    if old_len + new_len > MAX_COMPARED_LINES {
        ops.push(DiffOp::Replace {
            old_index: front,
            old_len,
            new_index: front,
            new_len,
        });
    } else {
        let found = capture_diff_slices(Algorithm::Myers, old_part, new_part);
        ops.extend(found.into_iter().map(|op| moved(op, front)));
    }
    ops.push(equal(front + old_len, front + new_len, back));
    ops.retain(|op| op.old_range().len() + op.new_range().len() > 0);
    ops
}

fn equal(old_index: usize, new_index: usize, len: usize) -> DiffOp {
    DiffOp::Equal {
        old_index,
        new_index,
        len,
    }
}

/// The same difference, `by` lines further down.
fn moved(op: DiffOp, by: usize) -> DiffOp {
    let (old, new) = (op.old_range(), op.new_range());
    let (old_index, new_index) = (old.start + by, new.start + by);
    match op {
        DiffOp::Equal { len, .. } => equal(old_index, new_index, len),
        DiffOp::Delete { old_len, .. } => DiffOp::Delete {
            old_index,
            old_len,
            new_index,
        },
        DiffOp::Insert { new_len, .. } => DiffOp::Insert {
            old_index,
            new_index,
            new_len,
        },
        DiffOp::Replace {
            old_len, new_len, ..
        } => DiffOp::Replace {
            old_index,
            old_len,
            new_index,
            new_len,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(old: &str, new: &str) -> FileChange {
        FileChange::between("a.txt", Some(old), Some(new))
    }

    #[test]
    fn a_change_has_the_numbers_of_the_file() {
        let old: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let new = old
            .replace("line 9\n", "line nine\n")
            .replace("line 25\n", "");
        let change = change(&old, &new);
        assert_eq!((change.added, change.removed), (1, 2));
        assert_eq!(
            change.to_string(),
            "--- a/a.txt\n+++ b/a.txt\n@@ -6,7 +6,7 @@\n line 6\n line 7\n line 8\n-line 9\n+line nine\n line 10\n line 11\n line 12\n\
             @@ -22,7 +22,6 @@\n line 22\n line 23\n line 24\n-line 25\n line 26\n line 27\n line 28\n"
        );
    }

    #[test]
    fn files_come_go_and_move() {
        let added = FileChange::between("b", None, Some("x\ny\n"));
        assert_eq!((added.kind, added.added), (ChangeKind::Added, 2));
        assert_eq!(
            added.to_string(),
            "--- /dev/null\n+++ b/b\n@@ -0,0 +1,2 @@\n+x\n+y\n"
        );
        let deleted = FileChange::between("b", Some("x\n"), None);
        assert_eq!((deleted.kind, deleted.removed), (ChangeKind::Deleted, 1));
        assert_eq!(
            deleted.to_string(),
            "--- a/b\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"
        );
        let moved = change("x\n", "x\n").moved_from("old.txt");
        assert_eq!(moved.to_string(), "--- a/old.txt\n+++ b/a.txt\n");
    }

    #[test]
    fn an_excerpt_counts_from_its_first_line_or_has_no_numbers() {
        let excerpt = change("a\nb\n", "a\nc\n");
        let at = |first| excerpt.clone().starting_at(first).hunks[0].start;
        assert_eq!(at(Some(7)), Some((7, 7)));
        assert_eq!(at(None), None);
        assert!(!excerpt.starting_at(None).to_string().contains("@@"));
    }

    #[test]
    fn ten_megabytes_stay_bounded_and_nothing_is_lost_from_the_count() {
        let old: String = (0..700_000)
            .map(|line| format!("{line} old text\n"))
            .collect();
        let change = change(&old, &old.replace("old", "new"));
        assert_eq!((change.added, change.removed), (700_000, 700_000));
        assert!(change.bytes() <= MAX_TEXT_BYTES + 100);
        let shown: usize = change
            .hunks
            .iter()
            .map(|hunk| hunk.lines.lines().count())
            .sum();
        assert_eq!(shown + change.omitted(), 1_400_000);
    }

    proptest! {
        #[test]
        fn the_hunks_turn_one_text_into_the_other(old in "([ab+-]{0,3}\n){0,30}", new in "([ab+-]{0,3}\n){0,30}") {
            let change = change(&old, &new);
            prop_assert_eq!(change.omitted(), 0);
            let old_lines: Vec<&str> = old.lines().collect();
            let (mut made, mut at) = (String::new(), 0);
            for hunk in &change.hunks {
                let (from, to) = hunk.start.unwrap();
                while at + 1 < from {
                    made.push_str(&format!("{}\n", old_lines[at]));
                    at += 1;
                }
                prop_assert_eq!(made.lines().count() + 1, to);
                for line in hunk.lines.lines() {
                    let (mark, text) = line.split_at(1);
                    if mark != "+" {
                        prop_assert_eq!(old_lines[at], text);
                        at += 1;
                    }
                    if mark != "-" {
                        made.push_str(&format!("{text}\n"));
                    }
                }
            }
            for line in &old_lines[at..] {
                made.push_str(&format!("{line}\n"));
            }
            prop_assert_eq!(made, new);
        }
    }
}
