//! File changes as coloured rows: `- 42  text`, with line numbers if known, tinted where the theme has tints, and with marks on the words that changed.
//!
//! Bounded in rows and in time: omitted rows are counted.

mod changed_words;
mod paint;
mod written;

use super::theme::Theme;
use crate::chat::change::{ChangeKind, FileChange, Hunk};
use crate::chat::display::Display;
use paint::{draw, shown_part};
use ratatui::text::Line;

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
    pub width: usize,
    /// Maximum rows, including the one that counts omitted rows.
    pub rows: usize,
    /// Text after the count of omitted rows: how to see them.
    pub hint: &'a str,
    pub theme: &'a Theme,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffRowKind {
    Same,
    Added,
    Removed,
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

/// What an edit did, however it was recorded.
pub(crate) fn of_display(display: &Display, frame: DiffFrame<'_>) -> DrawnDiff {
    match display {
        Display::Changes { files } => changes(files, frame),
        Display::Diff {
            old,
            new,
            first_line,
        } => {
            let change = FileChange::between("", Some(old), Some(new)).starting_at(*first_line);
            changes(&[change], frame)
        }
        Display::Patch { text } => {
            let mut rows = written::rows(text);
            pair_lines(&mut rows);
            let count = |kind| rows.iter().filter(|row| row.kind == kind).count();
            DrawnDiff {
                added: count(DiffRowKind::Added),
                removed: count(DiffRowKind::Removed),
                lines: draw(&rows, 0, frame),
            }
        }
        Display::Text { .. } => changes(&[], frame),
    }
}

/// The changes of files. A single one whose name the reader knows from elsewhere has no heading.
pub(crate) fn changes(files: &[FileChange], frame: DiffFrame<'_>) -> DrawnDiff {
    let headings: Vec<String> = files.iter().map(heading).collect();
    let mut rows = Vec::new();
    for (file, heading) in files.iter().zip(&headings) {
        if files.len() > 1 || file.moved_from.is_some() || file.kind == ChangeKind::Deleted {
            rows.push(DiffRow::unnumbered(DiffRowKind::File, heading));
        }
        for (at, hunk) in file.hunks.iter().enumerate() {
            if at > 0 {
                rows.push(DiffRow::unnumbered(DiffRowKind::Note, "⋮"));
            }
            rows.extend(hunk_rows(hunk));
        }
    }
    pair_lines(&mut rows);
    let sum = |count: fn(&FileChange) -> usize| {
        let counts = files.iter().map(count);
        counts.fold(0, usize::saturating_add)
    };
    DrawnDiff {
        added: sum(|file| file.added),
        removed: sum(|file| file.removed),
        lines: draw(&rows, sum(FileChange::omitted), frame),
    }
}

/// The name of a file, and what became of it.
fn heading(file: &FileChange) -> String {
    let name = match &file.moved_from {
        Some(from) => format!("{from} → {}", file.path),
        None => file.path.clone(),
    };
    match file.kind {
        ChangeKind::Added => format!("{name} (new)"),
        ChangeKind::Deleted => format!("{name} (deleted)"),
        ChangeKind::Changed => name,
    }
}

fn hunk_rows(hunk: &Hunk) -> impl Iterator<Item = DiffRow<'_>> {
    let (mut old, mut new) = hunk.start.unzip();
    hunk.lines.lines().map(move |line| {
        let (kind, text) = match line.split_at_checked(1) {
            Some(("+", text)) => (DiffRowKind::Added, text),
            Some(("-", text)) => (DiffRowKind::Removed, text),
            Some((" ", text)) => (DiffRowKind::Same, text),
            _ => (DiffRowKind::Same, line),
        };
        DiffRow::numbered(kind, text, &mut old, &mut new)
    })
}

impl<'a> DiffRow<'a> {
    fn unnumbered(kind: DiffRowKind, text: &'a str) -> Self {
        Self {
            kind,
            number: None,
            text,
            counterpart: None,
        }
    }

    /// A row with the next number of the text before or after, as far as they are known.
    fn numbered(
        kind: DiffRowKind,
        text: &'a str,
        old: &mut Option<usize>,
        new: &mut Option<usize>,
    ) -> Self {
        let step = |number: &mut Option<usize>| {
            let now = *number;
            *number = now.map(|number| number.saturating_add(1));
            now
        };
        let number = match kind {
            DiffRowKind::Same => {
                step(old);
                step(new)
            }
            DiffRowKind::Added => step(new),
            DiffRowKind::Removed => step(old),
            DiffRowKind::File | DiffRowKind::Note => None,
        };
        Self {
            number,
            ..Self::unnumbered(kind, text)
        }
    }
}

fn texts<'a>(rows: &[DiffRow<'a>]) -> Vec<&'a str> {
    rows.iter().map(|row| shown_part(row.text)).collect()
}

/// Tells removed lines and those that were added in their place of each other.
fn pair_lines(rows: &mut [DiffRow<'_>]) {
    let runs: Vec<(DiffRowKind, usize)> = rows
        .chunk_by(|left, right| left.kind == right.kind)
        .filter_map(|run| Some((run.first()?.kind, run.len())))
        .collect();
    let mut at = 0;
    for (number, (kind, length)) in runs.iter().enumerate() {
        if *kind == DiffRowKind::Removed
            && let Some((DiffRowKind::Added, added)) = runs.get(number + 1)
            && let Some(both) = rows.get_mut(at..at + length + added)
        {
            let (removed, added) = both.split_at_mut(*length);
            for (from, to) in changed_words::pairs(&texts(removed), &texts(added)) {
                if let (Some(old), Some(new)) = (removed.get_mut(from), added.get_mut(to)) {
                    (old.counterpart, new.counterpart) = (Some(new.text), Some(old.text));
                }
            }
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::ColorMode;
    use crate::ui::text::width;
    use proptest::prelude::*;
    use ratatui::style::Style;
    use std::slice::from_ref;

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

    fn between(old: &str, new: &str, first_line: Option<usize>, frame: DiffFrame<'_>) -> DrawnDiff {
        let display = Display::Diff {
            old: old.to_owned(),
            new: new.to_owned(),
            first_line,
        };
        of_display(&display, frame)
    }

    fn patch(text: &str, frame: DiffFrame<'_>) -> DrawnDiff {
        let text = text.to_owned();
        of_display(&Display::Patch { text }, frame)
    }

    #[test]
    fn several_files_have_headings_and_a_single_one_has_none() {
        let theme = theme();
        let changed = FileChange::between("src/a.rs", Some("x\n"), Some("y\n"));
        let added = FileChange::between("b", None, Some("x\n"));
        let deleted = FileChange::between("c", Some("x\n"), None);
        let moved = changed.clone().moved_from("src/old\u{1b}.rs");
        let drawn = |files: &[FileChange]| rows(&changes(files, frame(&theme, 40, 100)));
        assert_eq!(drawn(from_ref(&changed)), ["- 1  x", "+ 1  y"]);
        assert_eq!(drawn(from_ref(&added)), ["+ 1  x"]);
        assert_eq!(drawn(from_ref(&deleted)), ["c (deleted)", "- 1  x"]);
        let all = drawn(&[changed, added, deleted, moved]);
        assert_eq!(all[0], "src/a.rs");
        assert_eq!(all[3], "b (new)");
        assert_eq!(all[5], "c (deleted)");
        assert!(
            all[7].ends_with(" → src/a.rs") && !all[7].contains('\u{1b}'),
            "{all:?}"
        );
    }

    #[test]
    fn changed_rows_are_tinted_and_words_marked_where_the_theme_has_colours_for_it() {
        use crate::app::theme_choice::ThemeChoice;
        let change = FileChange::between(
            "a",
            Some("one\nlimit: 3 tries\n"),
            Some("one\nlimit: 5 tries\n"),
        );
        for (mode, choice, is_tinted) in [
            (ColorMode::True, ThemeChoice::Dark, true),
            (ColorMode::True, ThemeChoice::Light, true),
            (ColorMode::Ansi256, ThemeChoice::Dark, true),
            (ColorMode::Ansi16, ThemeChoice::Dark, false),
            (ColorMode::None, ThemeChoice::Dark, false),
        ] {
            let theme = Theme::choose(mode, choice, None);
            let drawn = changes(from_ref(&change), frame(&theme, 40, 9));
            let [same, removed, added] = drawn.lines.as_slice() else {
                panic!("{drawn:?}")
            };
            assert_eq!(same.style, Style::new());
            assert_eq!(added.style.bg.is_some(), is_tinted, "{mode:?}");
            assert_eq!(removed.style.bg.is_some(), is_tinted, "{mode:?}");
            assert!(mode != ColorMode::True || added.style != removed.style);
            let part = |line: &Line<'_>, style| {
                let part = line.spans.iter().find(|span| span.style == style);
                part.map(|span| span.content.to_string())
            };
            assert_eq!(part(removed, theme.removed_part).as_deref(), Some("3"));
            assert_eq!(part(added, theme.added_part).as_deref(), Some("5"));
        }
    }

    #[test]
    fn what_the_change_itself_left_out_is_counted() {
        let theme = theme();
        let mut change = FileChange::between("a", None, Some("x\ny\n"));
        change.added = 12;
        let drawn = changes(&[change], frame(&theme, 40, 40));
        assert_eq!(rows(&drawn), ["+ 1  x", "+ 2  y", "… 10 more lines"]);
        assert_eq!(drawn.added, 12);
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
        let changed = [1, 2].map(|at| (changed[at].content.as_ref(), changed[at].style));
        assert_eq!(
            changed,
            [("line ", theme.added), ("nine", theme.added_part)]
        );
        assert!(drawn.lines.iter().all(|line| line.style.bg.is_none()));
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
        let first = [
            "+ 1  line 1",
            "+ 2  line 2",
            "+ 3  line 3",
            "… 27 more lines",
        ];
        assert_eq!(rows(&drawn), first);
        assert_eq!((drawn.added, drawn.removed), (30, 0));
        let exact = between("", "a\nb\n", Some(1), frame(&theme, 40, 2));
        assert_eq!(rows(&exact), ["+ 1  a", "+ 2  b"]);
        let same = between("same", "same", Some(1), frame(&theme, 40, 4));
        assert_eq!(rows(&same), [] as [&str; 0]);
        let long = between("", "abcdefgh\u{1b}[2J", Some(1), frame(&theme, 9, 4));
        assert_eq!(rows(&long), ["+ 1  abcd", "     efgh"]);
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
        let unified = rows(&patch(unified, frame(&theme, 40, 100)));
        assert_eq!(
            unified,
            ["b/x", "@@ -9,2 +9,2 @@ fn", "   9  a", "- 10  b", "+ 10  c"]
        );
        let bare = rows(&patch("+a\n-b\n", frame(&theme, 40, 100)));
        assert_eq!(bare, ["+ a", "- b"]);
    }

    #[test]
    fn megabytes_stay_bounded() {
        let theme = theme();
        let old: String = (0..70_000)
            .map(|line| format!("{line} old text\n"))
            .collect();
        let new = old.replace("old", "new");
        let drawn = between(&old, &new, Some(1), frame(&theme, 80, 20));
        assert_eq!(
            (drawn.added, drawn.removed, drawn.lines.len()),
            (70_000, 70_000, 20)
        );
        let [old, new] = ["x", "y"].map(|letter| letter.repeat(1 << 20));
        let drawn = between(&old, &new, Some(1), frame(&theme, 80, 40));
        assert_eq!((drawn.lines.len(), drawn.added, drawn.removed), (28, 1, 1));
        let drawn = patch(&"+a\n".repeat(1 << 20), frame(&theme, 80, 20));
        assert_eq!(drawn.lines.len(), 20);
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
