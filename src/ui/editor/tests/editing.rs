//! Editing: motions, deletions, the kill ring, undo, sending and pasting.

use super::*;
use Action::*;

#[test]
fn motions_go_by_grapheme_clusters() {
    for (before, action, expected) in [
        (
            "a👩\u{200d}👩\u{200d}👧|b",
            Left,
            "a|👩\u{200d}👩\u{200d}👧b",
        ),
        ("|e\u{301}x", Right, "e\u{301}|x"),
        ("🇩🇪🇫🇷|", Left, "🇩🇪|🇫🇷"),
        ("שלום|", Left, "שלו|ם"),
        ("a\n|b", Left, "a|\nb"),
        ("a|\nb", Right, "a\n|b"),
        ("one two| three", WordLeft, "one |two three"),
        ("one| two, three", WordRight, "one two|, three"),
        ("cafe\u{301} noir|", WordLeft, "cafe\u{301} |noir"),
        ("|cafe\u{301} noir", WordRight, "cafe\u{301}| noir"),
        ("👩\u{200d}👧abc|", WordLeft, "👩\u{200d}👧|abc"),
        ("a\nbc d|e\nf", LineStart, "a\n|bc de\nf"),
        ("a\nbc d|e\nf", LineEnd, "a\nbc de|\nf"),
    ] {
        assert_eq!(after(before, &[action]), expected, "{action:?} in {before}");
    }
}

#[test]
fn deletions_remove_the_expected_text() {
    for (before, action, expected) in [
        ("a👩\u{200d}👧|b", EraseBack, "a|b"),
        ("a|👩\u{200d}👧b", EraseForward, "a|b"),
        ("a\n|b", EraseBack, "a|b"),
        ("|", EraseBack, "|"),
        ("one two-three|", KillWordBack, "one two-|"),
        ("one two-three |", KillBlankBack, "one |"),
        ("one| two-three", KillWordForward, "one|-three"),
        ("a\nb|c\nd", KillLine, "a\n|\nd"),
        ("a\n|\nd", KillLine, "a|\nd"),
        ("a\nb|c\nd", KillToEnd, "a\nb|\nd"),
        ("a\nb|\nd", KillToEnd, "a\nb|d"),
    ] {
        assert_eq!(after(before, &[action]), expected, "{action:?} in {before}");
    }
}

#[test]
fn a_combining_mark_joins_the_previous_letter() {
    let mut editor = at("|\u{301}x");
    type_in(&mut editor, "e");
    assert_eq!(shown(&editor), "e\u{301}|x");
    assert_eq!(after("e\n|\u{301}x", &[EraseBack]), "e\u{301}|x");
}

#[test]
fn consecutive_kills_are_yanked_as_one() {
    for (before, actions, expected) in [
        (
            "one two three|",
            &[KillBlankBack, KillBlankBack, LineStart, Yank][..],
            "two three|one ",
        ),
        (
            "a b|",
            &[KillBlankBack, Left, KillLine, Yank, YankPop],
            "b|",
        ),
        // Nothing was yanked, or something came between.
        ("a b|", &[YankPop], "a b|"),
        ("ab|", &[KillLine, Yank, Left, YankPop], "a|b"),
    ] {
        assert_eq!(after(before, actions), expected, "{actions:?}");
    }
}

#[test]
fn undo_removes_words_and_pastes_one_at_a_time() {
    let mut editor = at("");
    type_in(&mut editor, "one two");
    editor.paste("three\nfour");
    for expected in ["one two|", "one |", "|", "|"] {
        press(&mut editor, Undo);
        assert_eq!(shown(&editor), expected);
    }
    for expected in ["one |", "one two|", "one twothree\nfour|"] {
        press(&mut editor, Redo);
        assert_eq!(shown(&editor), expected);
    }
    assert_eq!(press(&mut editor, Redo), Outcome::Nothing);
    press(&mut editor, Undo);
    type_in(&mut editor, "!");
    let redone = press(&mut editor, Redo);
    assert_eq!(redone, Outcome::Nothing, "what was typed instead stays");
}

#[test]
fn deleting_character_by_character_is_one_step_and_a_motion_ends_a_step() {
    for (before, actions, expected) in [
        ("one|", &[EraseBack, EraseBack, EraseBack, Undo][..], "one|"),
        ("|one", &[EraseForward, EraseForward, Undo], "|one"),
        ("|", &[Insert('a'), Left, Right, Insert('b'), Undo], "a|"),
    ] {
        assert_eq!(after(before, actions), expected, "{actions:?}");
    }
}

#[test]
fn enter_submits_and_clears_the_input() {
    let mut editor = at("hello\nworld");
    let sent = press(&mut editor, Send);
    assert_eq!(sent, Outcome::Submit("hello\nworld".into()));
    assert!(editor.is_empty());
    assert_eq!(press(&mut editor, Undo), Outcome::Nothing);
    assert_eq!(editor.key_context(), KeyContext::Empty);
}

#[test]
fn blank_input_is_not_submitted() {
    let mut editor = at(" \n\t");
    assert_eq!(press(&mut editor, Send), Outcome::Nothing);
    assert_eq!(editor.text(), " \n\t");
}

#[test]
fn a_backslash_before_enter_breaks_the_line_and_two_are_text() {
    assert_eq!(after("one\\|", &[Send]), "one\n|");
    assert_eq!(after("one\\|\ntwo", &[Send]), "one\n|\ntwo");
    let mut editor = at("one\\\\");
    assert_eq!(press(&mut editor, Send), Outcome::Submit("one\\\\".into()));
    let mut editor = at("a\\|b");
    assert_eq!(press(&mut editor, Send), Outcome::Submit("a\\b".into()));
}

#[test]
fn a_paste_keeps_lines_and_loses_control_characters() {
    let mut editor = at("<|>");
    editor.paste("a\r\nb\rc\x1b[31m\t\u{202e}d\x07");
    assert_eq!(shown(&editor), "<a\nb\nc\td|>");
    press(&mut editor, Undo);
    assert_eq!(shown(&editor), "<|>");
}

#[test]
fn set_text_can_be_undone() {
    let mut editor = at("draft");
    editor.set_text("from the editor\r\n");
    assert_eq!(editor.text(), "from the editor\n");
    press(&mut editor, Undo);
    assert_eq!(editor.text(), "draft");
    editor.clear();
    assert!(editor.is_empty());
    press(&mut editor, Undo);
    assert_eq!(editor.text(), "draft");
}

#[test]
fn other_actions_are_passed_on() {
    let mut editor = at("text");
    for action in [Escape, Cancel, Quit, PageUp, Help, OpenEditor, Yes] {
        assert_eq!(press(&mut editor, action), Outcome::Pass(action));
    }
    assert_eq!(shown(&editor), "text|");
}
