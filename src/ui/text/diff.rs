//! File changes as coloured rows: `- 42  text`, with line numbers if known.
//!
//! Bounded in rows and in time: omitted rows are counted, and texts too large to compare line by line are shown as removed and added.

use super::clean::clean;
use super::theme::Theme;
use super::width;
use super::wrap::{HangingIndent, hard, words};
use crate::base::text::{head, plural};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Lines, without the common prefix and suffix, beyond which two texts are not compared: the time grows with the square.
const MAX_COMPARED_LINES: usize = 6_000;
/// Rows of a frame that shows the end of a long change too.
const ROOM_FOR_BOTH_ENDS: usize = 20;
/// Maximum bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 1000;

/// A change, ready to draw.
#[derive(Clone, Debug, Default)]
pub(crate) struct DrawnDiff {
    /// Lines the whole change adds, shown or not.
    pub added: usize,
    /// Lines the whole change removes.
    pub removed: usize,
    /// The rows, at most as many as the frame has.
    pub lines: Vec<Line<'static>>,
}

/// Where and how a change is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiffFrame<'a> {
    /// Columns.
    pub width: usize,
    /// Maximum rows, including the one that counts omitted rows.
    pub rows: usize,
    /// Text after the count of omitted rows: how to see them.
    pub hint: &'a str,
    /// Colours.
    pub theme: &'a Theme,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffRowKind {
    Same,
    Added,
    Removed,
    /// The name of a file.
    File,
    /// A position, or the gap between two positions.
    Note,
}

#[derive(Clone, Copy)]
struct DiffRow<'a> {
    kind: DiffRowKind,
    number: Option<usize>,
    text: &'a str,
    /// The line it replaces or is replaced by.
    counterpart: Option<&'a str>,
}

/// The change from one text to another, with a few lines of context. The first line of the texts has the number `first`; without it no line is numbered.
pub(crate) fn between(
    old: &str,
    new: &str,
    first: Option<usize>,
    frame: DiffFrame<'_>,
) -> DrawnDiff {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let ops = compare(&old, &new);
    let (mut added, mut removed) = (0, 0);
    for op in &ops {
        if !matches!(op, DiffOp::Equal { .. }) {
            removed += op.old_range().len();
            added += op.new_range().len();
        }
    }
    let mut rows = Vec::new();
    for (number, group) in group_diff_ops(ops, CONTEXT).iter().enumerate() {
        if number > 0 {
            rows.push(note("⋮"));
        }
        for op in group {
            let (from, to) = (op.old_range(), op.new_range());
            if matches!(op, DiffOp::Equal { .. }) {
                rows.extend(numbered(DiffRowKind::Same, &new, to, None));
                continue;
            }
            let twins = from.len() == to.len();
            let out = numbered(
                DiffRowKind::Removed,
                &old,
                from.clone(),
                twins.then_some((&new, to.start)),
            );
            rows.extend(out);
            rows.extend(numbered(
                DiffRowKind::Added,
                &new,
                to,
                twins.then_some((&old, from.start)),
            ));
        }
    }
    for row in &mut rows {
        row.number = first.and_then(|first| Some(row.number? + first - 1));
    }
    DrawnDiff {
        added,
        removed,
        lines: draw(&rows, frame),
    }
}

/// A patch as written: `*** Begin Patch` with its files, a unified diff, or only `+` and `-` lines.
pub(crate) fn patch(text: &str, frame: DiffFrame<'_>) -> DrawnDiff {
    let mut rows: Vec<DiffRow<'_>> = Vec::new();
    let (mut old, mut new): (Option<usize>, Option<usize>) = (None, None);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (kind, text) = match line.as_bytes().first() {
            Some(b'*') if line.starts_with("*** ") => {
                (old, new) = (None, line.starts_with("*** Add File: ").then_some(1));
                match line.trim_end() {
                    "*** Begin Patch" | "*** End Patch" | "*** End of File" => continue,
                    _ => (DiffRowKind::File, line.get(4..).unwrap_or_default()),
                }
            }
            Some(b'-')
                if line.starts_with("--- ")
                    && lines.peek().is_some_and(|next| next.starts_with("+++ ")) =>
            {
                let to = lines
                    .next()
                    .and_then(|next| next.get(4..))
                    .unwrap_or_default();
                let from = line.get(4..).unwrap_or_default();
                (
                    DiffRowKind::File,
                    if to.trim() == "/dev/null" { from } else { to },
                )
            }
            Some(b'@') if line.starts_with("@@") => {
                (old, new) = places(line);
                (DiffRowKind::Note, line)
            }
            Some(b'+') => (DiffRowKind::Added, line.get(1..).unwrap_or_default()),
            Some(b'-') => (DiffRowKind::Removed, line.get(1..).unwrap_or_default()),
            Some(b' ') => (DiffRowKind::Same, line.get(1..).unwrap_or_default()),
            None => (DiffRowKind::Same, ""),
            Some(_) => (DiffRowKind::Note, line),
        };
        let number = match kind {
            DiffRowKind::Same => {
                step(&mut old);
                step(&mut new)
            }
            DiffRowKind::Added => step(&mut new),
            DiffRowKind::Removed => step(&mut old),
            DiffRowKind::File | DiffRowKind::Note => None,
        };
        rows.push(DiffRow {
            kind,
            number,
            text,
            counterpart: None,
        });
    }
    pair(&mut rows);
    let count = |kind| rows.iter().filter(|row| row.kind == kind).count();
    DrawnDiff {
        added: count(DiffRowKind::Added),
        removed: count(DiffRowKind::Removed),
        lines: draw(&rows, frame),
    }
}

fn step(number: &mut Option<usize>) -> Option<usize> {
    let now = *number;
    *number = now.map(|number| number.saturating_add(1));
    now
}

/// The line numbers of `@@ -1,2 +3,4 @@`; `None` where the header has none.
fn places(line: &str) -> (Option<usize>, Option<usize>) {
    let place = |sign: char| {
        let mut words = line.split(' ');
        let word = words.find_map(|word| word.strip_prefix(sign))?;
        word.split(',').next()?.parse().ok()
    };
    match (place('-'), place('+')) {
        (Some(old), Some(new)) => (Some(old), Some(new)),
        _ => (None, None),
    }
}

/// Pairs added lines with as many that were removed just before, in order.
fn pair(rows: &mut [DiffRow<'_>]) {
    let runs: Vec<(DiffRowKind, usize)> = rows
        .chunk_by(|left, right| left.kind == right.kind)
        .filter_map(|run| Some((run.first()?.kind, run.len())))
        .collect();
    let mut at = 0;
    for (number, (kind, length)) in runs.iter().enumerate() {
        if *kind == DiffRowKind::Removed
            && runs.get(number + 1) == Some(&(DiffRowKind::Added, *length))
            && let Some(both) = rows.get_mut(at..at + 2 * length)
        {
            let (out, put) = both.split_at_mut(*length);
            for (out, put) in out.iter_mut().zip(put) {
                (out.counterpart, put.counterpart) = (Some(put.text), Some(out.text));
            }
        }
        at += length;
    }
}

fn note(text: &str) -> DiffRow<'_> {
    DiffRow {
        kind: DiffRowKind::Note,
        number: None,
        text,
        counterpart: None,
    }
}

fn numbered<'a>(
    kind: DiffRowKind,
    lines: &'a [&'a str],
    range: Range<usize>,
    twins: Option<(&'a Vec<&'a str>, usize)>,
) -> impl Iterator<Item = DiffRow<'a>> {
    let from = range.start;
    let lines = lines.get(range).unwrap_or_default();
    lines.iter().enumerate().map(move |(index, text)| DiffRow {
        kind,
        number: Some(from + index + 1),
        text,
        counterpart: twins.and_then(|(other, start)| other.get(start + index).copied()),
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

fn draw(rows: &[DiffRow<'_>], frame: DiffFrame<'_>) -> Vec<Line<'static>> {
    // What is removed comes before what takes its place: the end of a long change is as telling as its beginning.
    let back = match frame.rows {
        ROOM_FOR_BOTH_ENDS.. => frame.rows / 4,
        _ => 0,
    };
    let near_start = rows.iter().take(frame.rows);
    let highest = near_start.chain(rows.iter().rev().take(back));
    let highest = highest.filter_map(|row| row.number).max();
    let digits = highest.map_or(0, |number| number.to_string().len());
    if rows.len() > frame.rows {
        return draw_ends(rows, digits, back, frame);
    }
    let mut out: Vec<Line<'static>> = Vec::new();
    for row in rows {
        out.extend(row.draw(digits, frame));
        if out.len() > frame.rows {
            return draw_ends(rows, digits, back, frame);
        }
    }
    out
}

/// The beginning, a count of what is left out, and the end in at most `back` rows.
fn draw_ends(
    rows: &[DiffRow<'_>],
    digits: usize,
    back: usize,
    frame: DiffFrame<'_>,
) -> Vec<Line<'static>> {
    let mut end: Vec<Vec<Line<'static>>> = Vec::new();
    let mut room = back;
    for row in rows.iter().rev() {
        let lines = row.draw(digits, frame);
        let Some(left) = room.checked_sub(lines.len()) else {
            break;
        };
        room = left;
        end.push(lines);
    }
    let mut out: Vec<Line<'static>> = Vec::new();
    let mut room = frame.rows.saturating_sub(1 + back - room);
    let mut whole = 0;
    for row in rows {
        let lines = row.draw(digits, frame);
        let left = room.checked_sub(lines.len());
        out.extend(lines.into_iter().take(room));
        let Some(left) = left else { break };
        room = left;
        whole += 1;
    }
    let left = plural(rows.len().saturating_sub(whole + end.len()), "more line");
    let left = width::clip(&format!("… {left}{}", frame.hint), frame.width);
    out.push(Line::from(Span::styled(left, frame.theme.dim)));
    out.extend(end.into_iter().rev().flatten());
    out.truncate(frame.rows);
    out
}

impl DiffRow<'_> {
    fn draw(&self, digits: usize, frame: DiffFrame<'_>) -> Vec<Line<'static>> {
        let theme = frame.theme;
        let text = shown(self.text);
        let (sign, style, part) = match self.kind {
            DiffRowKind::File => {
                let style = theme.text.add_modifier(Modifier::BOLD);
                return words(
                    &[Span::styled(text, style)],
                    frame.width,
                    &HangingIndent::default(),
                );
            }
            DiffRowKind::Note => {
                return words(
                    &[Span::styled(text, theme.dim)],
                    frame.width,
                    &HangingIndent::default(),
                );
            }
            DiffRowKind::Same => (' ', theme.text, theme.text),
            DiffRowKind::Added => ('+', theme.added, theme.added_part),
            DiffRowKind::Removed => ('-', theme.removed, theme.removed_part),
        };
        let number = match (digits, self.number) {
            (0, _) => String::new(),
            (_, Some(number)) => format!("{number:>digits$}  "),
            (_, None) => " ".repeat(digits + 2),
        };
        let gutter = if sign == ' ' { theme.dim } else { style };
        let hang = HangingIndent {
            first: vec![Span::styled(format!("{sign} {number}"), gutter)],
            rest: vec![Span::raw(" ".repeat(2 + number.len()))],
        };
        let mut spans = emphasized(&text, self.counterpart, style, part);
        if width::of_spans(&hang.first) + 2 > frame.width {
            spans.insert(0, Span::styled(sign.to_string(), gutter));
        }
        hard(&spans, frame.width, &hang)
    }
}

/// The line with the part that differs from its twin emphasized, if enough of both is the same.
fn emphasized<'a>(
    text: &'a str,
    counterpart: Option<&str>,
    style: Style,
    part: Style,
) -> Vec<Span<'a>> {
    let Some(differs) =
        counterpart.and_then(|counterpart| differing_range(text, &shown(counterpart)))
    else {
        return vec![Span::styled(text, style)];
    };
    let piece = |range: Range<usize>, style| {
        let text = text.get(range).unwrap_or_default();
        Span::styled(text, style)
    };
    vec![
        piece(0..differs.start, style),
        piece(differs.clone(), part),
        piece(differs.end..text.len(), style),
    ]
}

/// The range in which `text` differs from `other`: between the common prefix and the common suffix.
fn differing_range(text: &str, other: &str) -> Option<Range<usize>> {
    let common = |(left, right): &(&str, &str)| left == right;
    let bytes = |pairs: Vec<(&str, &str)>| pairs.iter().map(|(left, _)| left.len()).sum::<usize>();
    let pairs = text.graphemes(true).zip(other.graphemes(true));
    let front = bytes(pairs.take_while(common).collect());
    let (left, right) = (text.get(front..)?, other.get(front..)?);
    let pairs = left.graphemes(true).rev().zip(right.graphemes(true).rev());
    let back = bytes(pairs.take_while(common).collect());
    let same = front + back;
    (3 * same >= text.len().max(other.len())).then(|| front..text.len() - back)
}

/// The beginning of a line, safe to show.
fn shown(line: &str) -> String {
    let kept = head(line, MAX_LINE_BYTES);
    let more = if kept.len() < line.len() { "…" } else { "" };
    format!("{}{more}", clean(kept).replace('\n', "\u{2424}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::ColorMode;
    use proptest::prelude::*;

    fn theme() -> Theme {
        Theme::new(ColorMode::Ansi16)
    }

    fn rows(drawn: &DrawnDiff) -> Vec<String> {
        drawn.lines.iter().map(ToString::to_string).collect()
    }

    fn frame(theme: &Theme, width: usize, rows: usize) -> DiffFrame<'_> {
        DiffFrame {
            width,
            rows,
            hint: "",
            theme,
        }
    }

    #[test]
    fn a_change_shows_line_numbers() {
        let old: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let new = old
            .replace("line 9\n", "line nine\n")
            .replace("line 25\n", "");
        let theme = theme();
        let drawn = between(&old, &new, Some(1), frame(&theme, 40, 100));
        assert_eq!((drawn.added, drawn.removed), (1, 2));
        assert_eq!(
            rows(&drawn),
            [
                "   6  line 6",
                "   7  line 7",
                "   8  line 8",
                "-  9  line 9",
                "+  9  line nine",
                "  10  line 10",
                "  11  line 11",
                "  12  line 12",
                "⋮",
                "  22  line 22",
                "  23  line 23",
                "  24  line 24",
                "- 25  line 25",
                "  25  line 26",
                "  26  line 27",
                "  27  line 28",
            ]
        );
        let changed = &drawn.lines[4].spans;
        assert_eq!(
            (changed[1].content.as_ref(), changed[1].style),
            ("line ", theme.added)
        );
        assert_eq!(
            (changed[2].content.as_ref(), changed[2].style),
            ("nine", theme.added_part)
        );
    }

    #[test]
    fn a_long_change_shows_its_beginning_and_its_end() {
        let text =
            |word: &str| -> String { (1..=100).map(|line| format!("{word} {line}\n")).collect() };
        let theme = theme();
        let drawn = between(&text("old"), &text("new"), Some(1), frame(&theme, 40, 20));
        let rows = rows(&drawn);
        assert_eq!(rows.len(), 20);
        assert_eq!(rows[0], "-   1  old 1");
        assert_eq!(rows[13], "-  14  old 14");
        assert_eq!(rows[14], "… 181 more lines");
        assert_eq!(rows[15], "+  96  new 96");
        assert_eq!(rows[19], "+ 100  new 100");
    }

    #[test]
    fn omitted_rows_are_counted() {
        let new: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let theme = theme();
        let drawn = between("", &new, Some(1), frame(&theme, 40, 4));
        assert_eq!(
            rows(&drawn),
            [
                "+ 1  line 1",
                "+ 2  line 2",
                "+ 3  line 3",
                "… 27 more lines"
            ]
        );
        assert_eq!((drawn.added, drawn.removed), (30, 0));
        let exact = between("", "a\nb\n", Some(1), frame(&theme, 40, 2));
        assert_eq!(rows(&exact), ["+ 1  a", "+ 2  b"]);
        assert_eq!(
            rows(&between("same", "same", Some(1), frame(&theme, 40, 4))),
            [] as [&str; 0]
        );
        assert_eq!(
            rows(&between(
                "",
                "abcdefgh\u{1b}[2J",
                Some(1),
                frame(&theme, 9, 4)
            )),
            ["+ 1  abcd", "     efgh"]
        );
    }

    #[test]
    fn every_patch_form_is_drawn() {
        let theme = theme();
        let codex = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn a\n same\n-old\n+new\n*** Add File: b\n+x\n+y\n*** End Patch\n";
        let drawn = patch(codex, frame(&theme, 40, 100));
        assert_eq!((drawn.added, drawn.removed), (3, 1));
        assert_eq!(
            rows(&drawn),
            [
                "Update File: src/a.rs",
                "@@ fn a",
                "     same",
                "-    old",
                "+    new",
                "Add File: b",
                "+ 1  x",
                "+ 2  y",
            ]
        );
        let unified = "--- a/x\n+++ b/x\n@@ -9,2 +9,2 @@ fn\n a\n-b\n+c\n";
        assert_eq!(
            rows(&patch(unified, frame(&theme, 40, 100))),
            ["b/x", "@@ -9,2 +9,2 @@ fn", "   9  a", "- 10  b", "+ 10  c",]
        );
        assert_eq!(
            rows(&patch("+a\n-b\n", frame(&theme, 40, 100))),
            ["+ a", "- b"]
        );
    }

    #[test]
    fn ten_megabytes_stay_bounded() {
        let theme = theme();
        let old: String = (0..700_000)
            .map(|line| format!("{line} old text\n"))
            .collect();
        let new = old.replace("old", "new");
        let drawn = between(&old, &new, Some(1), frame(&theme, 80, 20));
        assert_eq!(
            (drawn.added, drawn.removed, drawn.lines.len()),
            (700_000, 700_000, 20)
        );
        let drawn = between(
            &"x".repeat(10 << 20),
            &"y".repeat(10 << 20),
            Some(1),
            frame(&theme, 80, 20),
        );
        assert_eq!(drawn.lines.len(), 20);
        assert_eq!(
            patch(&"+a\n".repeat(3 << 20), frame(&theme, 80, 20))
                .lines
                .len(),
            20
        );
    }

    proptest! {
        #[test]
        fn rows_fit_the_width(old in "([ab日]{0,5}\n|\\PC){0,12}", new in "([ab日]{0,5}\n|\\PC){0,12}", wide in 2usize..30, high in 0usize..20) {
            let theme = theme();
            for drawn in [between(&old, &new, Some(1), frame(&theme, wide, high)), patch(&new, frame(&theme, wide, high))] {
                prop_assert!(drawn.lines.len() <= high);
                for line in &drawn.lines {
                    prop_assert!(width::of_spans(&line.spans) <= wide, "{line:?}");
                }
            }
        }
    }
}
