//! Properties that hold for every text and every sequence of keys.

use proptest::prelude::*;
use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a",
        "b",
        " ",
        "\n",
        "\t",
        "word",
        "日本",
        "👩\u{200d}👩\u{200d}👧",
        "e\u{301}",
        "\u{301}",
        "🇩🇪",
        "🇩",
        "שלום",
        "नमस्ते",
        "\u{200b}",
        "\u{200d}",
        "\x1b[31m",
        "\r\n",
        "\u{202e}",
        "ﾞ",
        "❤\u{fe0f}",
        "\u{600}",
        "각",
        "\u{1160}",
        "@src/",
        "!tool ",
        "\\",
    ]);
    prop::collection::vec(pieces, 0..30).prop_map(|pieces| pieces.concat())
}

fn actions() -> impl Strategy<Value = Action> {
    use Action::*;
    prop_oneof![
        prop::sample::select(vec![
            Newline,
            Left,
            Right,
            WordLeft,
            WordRight,
            LineStart,
            LineEnd,
            EraseBack,
            EraseForward,
            KillWordBack,
            KillBlankBack,
            KillWordForward,
            KillLine,
            KillToEnd,
            Yank,
            YankPop,
            Undo,
            Redo,
            Complete,
            CompleteBack,
            Escape,
            Cancel,
        ]),
        prop::sample::select(vec![
            'a', ' ', '!', '@', '\u{301}', '日', '👧', '\u{200d}', '🇪', '\n'
        ])
        .prop_map(Insert),
    ]
}

fn all_actions() -> impl Strategy<Value = Action> {
    use Action::*;
    prop_oneof![
        4 => actions(),
        1 => prop::sample::select(vec![Send, Up, Down, Search, PageUp, OpenEditor]),
    ]
}

struct Few;
impl Sources for Few {
    fn commands(&self) -> Vec<String> {
        ["!aa", "!ab", "aaa"].map(str::to_owned).to_vec()
    }
    fn paths(&self, _typed: &str) -> Vec<String> {
        ["src/a b", "src/c", "日本/"].map(str::to_owned).to_vec()
    }
}

fn is_sound(editor: &mut Editor, width: usize, rows: usize) -> Result<(), TestCaseError> {
    let (text, cursor) = (editor.text().to_owned(), editor.buffer.cursor());
    prop_assert!(
        cursor == text.len() || text.grapheme_indices(true).any(|(at, _)| at == cursor),
        "{cursor} cuts a character of {text:?}"
    );
    prop_assert!(
        !text
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t')
    );
    let view = editor.rows(width, rows);
    prop_assert!(!view.rows.is_empty() && view.rows.len() <= rows);
    prop_assert!(
        view.cursor.0 < width && view.cursor.1 < view.rows.len(),
        "{view:?}"
    );
    for row in &view.rows {
        prop_assert!(!row.chars().any(char::is_control));
        let drawn: usize = row
            .graphemes(true)
            .map(|g| usize::from(g.cell_width()))
            .sum();
        prop_assert!(drawn <= width, "{row:?} is {drawn} wide, not {width}");
    }
    Ok(())
}

/// The nominal end of the first block falls into the last cluster of the text.
#[test]
fn a_cluster_at_the_end_of_the_text_is_not_cut() {
    let text = format!("{}本\u{301}", "x".repeat(4095));
    let mut editor = at(&text);
    editor.buffer.go(text.len());
    editor.act(Action::Left, &());
    assert_eq!(editor.buffer.cursor(), 4095);
}

proptest! {
    #[test]
    fn the_cursor_is_always_visible_and_between_clusters(
        start in texts(),
        pasted in texts(),
        actions in prop::collection::vec(all_actions(), 0..60),
        width in 1usize..30,
        rows in 1usize..6,
    ) {
        let mut editor = Editor::new();
        editor.set_history(vec![start.clone(), "aa\nab".into(), pasted.clone()]);
        editor.paste(&start);
        is_sound(&mut editor, width, rows)?;
        for (number, action) in actions.into_iter().enumerate() {
            editor.act(action, &Few);
            if number % 20 == 10 {
                editor.paste(&pasted);
            }
            is_sound(&mut editor, width, rows)?;
        }
    }

    #[test]
    fn undo_all_restores_the_text_and_redo_all_the_result(
        start in texts(),
        actions in prop::collection::vec(actions(), 0..60),
    ) {
        let mut editor = Editor::new();
        editor.paste(&start);
        let text = editor.buffer.text().to_owned();
        editor.buffer = Buffer::of(text.clone());
        for action in actions {
            editor.act(action, &Few);
        }
        editor.menu = None;
        while editor.act(Action::Redo, &Few) == Outcome::Changed {}
        let furthest = editor.text().to_owned();
        while editor.act(Action::Undo, &Few) == Outcome::Changed {}
        prop_assert_eq!(editor.text(), text.as_str());
        while editor.act(Action::Redo, &Few) == Outcome::Changed {}
        prop_assert_eq!(editor.text(), furthest.as_str());
    }

    #[test]
    fn rows_show_the_whole_text_in_order(text in "[a-z \u{65e5}]{0,200}", width in 3usize..20) {
        let mut editor = at(&text);
        let rows = editor.rows(width, 1000).rows;
        // A blank that ends a full row is not drawn.
        let without = |text: &str| text.replace(' ', "");
        prop_assert_eq!(without(&rows.concat()), without(&text));
    }

    #[test]
    fn motions_visit_every_cluster_once_in_both_directions(text in texts(), repeat in 1usize..20) {
        let text = paste::clean(&text).repeat(repeat);
        // Unrealistically long clusters are cut at block boundaries.
        prop_assume!(text.graphemes(true).all(|grapheme| grapheme.len() < 200));
        let mut editor = Editor::new();
        editor.paste(&text);
        let places: Vec<usize> = text
            .split_inclusive('\n')
            .scan(0, |at, line| {
                let start = *at;
                *at += line.len();
                Some(line.grapheme_indices(true).map(move |(place, _)| start + place).collect::<Vec<_>>())
            })
            .flatten()
            .collect();
        let near: Vec<usize> = places.iter().rev().take(60).copied().collect();
        for place in near {
            editor.act(Action::Left, &());
            prop_assert_eq!(editor.buffer.cursor(), place);
        }
        editor.buffer.go(0);
        for place in places.iter().skip(1).take(60) {
            editor.act(Action::Right, &());
            prop_assert_eq!(editor.buffer.cursor(), *place);
        }
    }
}
