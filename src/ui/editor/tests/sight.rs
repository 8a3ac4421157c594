//! The visible part: rows, cursor, scrolling, and the cost of a large text.

use super::*;
use Action::*;
use ratatui::layout::Rect;
use ratatui::style::Style;

fn rows(text: &str, width: usize) -> (Vec<String>, (usize, usize)) {
    let view = at(text).rows(width, 50);
    (view.rows, view.cursor)
}

fn looks(text: &str, width: usize, expected: &[&str], cursor: (usize, usize)) {
    let (rows, found) = rows(text, width);
    assert_eq!(
        (rows.join("/"), found),
        (expected.join("/"), cursor),
        "{text:?}"
    );
}

#[test]
fn rows_break_between_words_and_reserve_a_cursor_column() {
    looks("", 10, &[""], (0, 0));
    looks("hello world", 12, &["hello world"], (11, 0));
    looks("hello world|x", 12, &["hello ", "worldx"], (5, 1));
    looks("hello |world", 8, &["hello ", "world"], (0, 1));
    looks("hello| world", 6, &["hello", "world"], (5, 0));
    looks("hello |", 6, &["hello", ""], (0, 1));
    looks("abcdefgh|", 5, &["abcd", "efgh"], (4, 1));
    looks("abcd|efgh", 5, &["abcd", "efgh"], (0, 1));
    looks("a\n\nb|", 5, &["a", "", "b"], (1, 2));
    looks("a\n|", 5, &["a", ""], (0, 1));
    looks("ab cdefghij|", 5, &["ab ", "cdef", "ghij"], (4, 2));
}

#[test]
fn wide_and_combining_characters_have_the_right_width() {
    looks("日本語|", 6, &["日本", "語"], (2, 1));
    looks("日|本語", 7, &["日本語"], (2, 0));
    looks(
        "👩\u{200d}👩\u{200d}👧|x",
        9,
        &["👩\u{200d}👩\u{200d}👧x"],
        (2, 0),
    );
    looks("e\u{301}|a", 9, &["e\u{301}a"], (1, 0));
    looks("\u{301}|a", 9, &["\u{25cc}\u{301}a"], (1, 0));
    looks("🇩🇪|x", 9, &["🇩🇪x"], (2, 0));
    looks("של|ום", 9, &["שלום"], (2, 0));
    looks("日|", 2, &["?"], (1, 0));
}

#[test]
fn tabs_and_control_characters_are_drawn() {
    looks("a\tb|", 20, &["a   b"], (5, 0));
    looks(
        "\x1b|[\u{7f}\u{200b}\u{202e}",
        40,
        &["^[[^?<200b><202e>"],
        (2, 0),
    );
    looks("abc\t|d", 5, &["abc ", "d"], (0, 1));
}

#[test]
fn the_view_scrolls_only_as_far_as_needed() {
    let mut editor = at("1\n2\n3\n4\n5\n6");
    let view = editor.rows(10, 3);
    assert_eq!((view.rows.join(""), view.cursor), ("456".into(), (1, 2)));
    assert_eq!((view.above, view.below), (3, 0));
    for (action, rows, y) in [
        (Up, "456", 1),
        (Up, "456", 0),
        (Up, "345", 0),
        (Down, "345", 1),
        (Down, "345", 2),
        (Down, "456", 2),
    ] {
        press(&mut editor, action);
        let view = editor.rows(10, 3);
        assert_eq!((view.rows.join("").as_str(), view.cursor.1), (rows, y));
    }
    press(&mut editor, KillLine);
    press(&mut editor, KillLine);
    let view = editor.rows(10, 3);
    assert_eq!(view.rows.join(""), "345", "no gap below");
    assert_eq!(editor.rows(10, 50).above, 0);
    assert_eq!(editor.rows(0, 3), View::default());
    assert_eq!(editor.rows(3, 0), View::default());
}

#[test]
fn hidden_rows_are_counted_up_to_a_limit() {
    let mut editor = at(&"x\n".repeat(1000));
    let view = editor.rows(10, 3);
    assert_eq!((view.above, view.below), (view::COUNTED, 0));
}

/// The screen agrees: the character under the cursor is the one after it in the text.
#[test]
fn the_screen_buffer_agrees_with_the_cursor() {
    let text = "a日👩\u{200d}👧e\u{301}ｶﾞ🇩🇪של\u{200b}ום ❤\u{fe0f}x นำ้ क्षि لا z";
    let places: Vec<(usize, &str)> =
        unicode_segmentation::UnicodeSegmentation::grapheme_indices(text, true).collect();
    for width in [80, 20, 9] {
        for (place, grapheme) in &places {
            let mut editor = at(text);
            editor.buffer.go(*place);
            let view = editor.rows(width, 50);
            let area = Rect::new(0, 0, width as u16, view.rows.len() as u16);
            let mut screen = ratatui::buffer::Buffer::empty(area);
            for (y, row) in view.rows.iter().enumerate() {
                screen.set_string(0, y as u16, row, Style::default());
            }
            let cell = &screen[(view.cursor.0 as u16, view.cursor.1 as u16)];
            let expected = if *grapheme == "\u{200b}" {
                "<"
            } else {
                grapheme
            };
            assert_eq!(cell.symbol(), expected, "at {place}, width {width}");
        }
    }
}

#[test]
fn megabytes_are_pasted_and_edited_quickly() {
    let long_line = "word 日本 ".repeat(50_000);
    let no_blanks = "x".repeat(500_000);
    let many_lines = "some line of text\n".repeat(30_000);
    let marks = format!("a{}", "\u{301}".repeat(150_000));
    for text in [long_line, no_blanks, many_lines, marks] {
        let mut editor = Editor::new();
        editor.paste(&text);
        assert_eq!(editor.text().len(), text.len());
        for _ in 0..2 {
            editor.rows(80, 10);
            // If every key laid out the whole text, these would take minutes.
            for _ in 0..10 {
                press(&mut editor, Insert('x'));
                let drawn = editor.rows(80, 10);
                assert!(drawn.rows.len() <= 10);
                press(&mut editor, Left);
                press(&mut editor, Up);
                press(&mut editor, EraseBack);
                editor.rows(80, 10);
            }
            let middle = editor.text().len() / 2;
            editor.buffer.go(middle);
        }
    }
}
