//! The table is consistent, and events are mapped by it.

use std::collections::HashSet;

use super::table::BINDINGS;
use super::*;

fn press(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
    KeyEvent::new(code, modifiers)
}

fn typing(code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
    action(&press(code, modifiers), KeyContext::Typing)
}

#[test]
fn no_key_is_bound_twice_in_one_context() {
    for places in [
        &[When::Input, When::Always][..],
        &[When::Empty][..],
        &[When::Question][..],
    ] {
        let mut seen = HashSet::new();
        for row in BINDINGS.iter().filter(|row| places.contains(&row.when)) {
            for key in row.keys {
                assert!(seen.insert(key), "{key} is bound twice in {places:?}");
            }
        }
    }
}

#[test]
fn every_key_of_the_table_is_found_in_its_context() {
    for row in BINDINGS {
        let context = match row.when {
            When::Always | When::Input => KeyContext::Typing,
            When::Empty => KeyContext::Empty,
            When::Question => KeyContext::Question,
        };
        for key in row.keys {
            assert_eq!(
                action(&press(key.code, key.modifiers), context),
                Some(row.action),
                "{key}"
            );
        }
    }
}

#[test]
fn the_help_shows_every_row() {
    let groups = help();
    let lines: Vec<_> = groups.iter().flat_map(|group| &group.lines).collect();
    assert_eq!(lines.len(), BINDINGS.len());
    for row in BINDINGS {
        assert!(!row.doc.is_empty() && !row.keys.is_empty());
        assert!(
            lines.iter().any(|(keys, doc)| *doc == row.doc
                && row
                    .keys
                    .iter()
                    .all(|key| keys.split(", ").any(|k| k == key.to_string()))),
            "{} is missing",
            row.doc
        );
    }
    let titles: HashSet<_> = groups.iter().map(|group| group.title).collect();
    assert_eq!(titles.len(), groups.len());
    assert_eq!(name(Action::Search).as_deref(), Some("Ctrl-R"));
    assert_eq!(name(Action::PageUp).as_deref(), Some("Shift-PgUp"));
    assert_eq!(name(Action::TenUp).as_deref(), Some("PgUp"));
}

#[test]
fn a_released_key_does_nothing() {
    let mut event = press(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(action(&event, KeyContext::Typing), Some(Action::Send));
    event.kind = KeyEventKind::Release;
    assert_eq!(action(&event, KeyContext::Typing), None);
    event.kind = KeyEventKind::Repeat;
    assert_eq!(action(&event, KeyContext::Typing), Some(Action::Send));
}

#[test]
fn shift_is_part_of_the_character_and_the_key_name() {
    let shift = KeyModifiers::SHIFT;
    for (code, modifiers, expected) in [
        (KeyCode::Char('A'), shift, Action::Insert('A')),
        (
            KeyCode::Char('R'),
            KeyModifiers::CONTROL | shift,
            Action::Search,
        ),
        (KeyCode::BackTab, shift, Action::CompleteBack),
        (KeyCode::Tab, shift, Action::CompleteBack),
        (KeyCode::Enter, shift, Action::Newline),
    ] {
        assert_eq!(typing(code, modifiers), Some(expected), "{code:?}");
    }
}

#[test]
fn an_empty_input_and_a_question_change_keys() {
    use KeyContext::{Empty, Question, Typing};
    let plain = |code| press(code, KeyModifiers::NONE);
    let control = |letter| press(KeyCode::Char(letter), KeyModifiers::CONTROL);
    for (key, context, expected) in [
        (control('d'), Empty, Some(Action::QuitIfEmpty)),
        (control('d'), Typing, Some(Action::QuitIfEmpty)),
        (control('d'), Question, None),
        (plain(KeyCode::PageDown), Empty, Some(Action::TenDown)),
        (
            plain(KeyCode::PageDown),
            Question,
            Some(Action::QuestionPageDown),
        ),
        (plain(KeyCode::Char('?')), Empty, Some(Action::Help)),
        (plain(KeyCode::Char('?')), Typing, Some(Action::Insert('?'))),
        (plain(KeyCode::Tab), Empty, Some(Action::Unfold)),
        (plain(KeyCode::Tab), Typing, Some(Action::Complete)),
        (plain(KeyCode::Char('y')), Question, Some(Action::Yes)),
        (plain(KeyCode::Char('x')), Question, None),
        (control('c'), Question, Some(Action::Dismiss)),
        (control('q'), Question, Some(Action::Quit)),
    ] {
        assert_eq!(action(&key, context), expected, "{key:?}");
    }
}

#[test]
fn unbound_chords_are_not_text() {
    assert_eq!(typing(KeyCode::Char('x'), KeyModifiers::ALT), None);
    assert_eq!(
        typing(
            KeyCode::Char('q'),
            KeyModifiers::ALT | KeyModifiers::CONTROL
        ),
        None
    );
}

#[test]
fn the_input_takes_first_what_edits_it_and_what_closes_something_in_it() {
    use Action::{
        Always, Cancel, Complete, CopyCode, Escape, Help, No, OpenEditor, PageUp, QuestionUp, Quit,
        QuitIfEmpty, Redraw, Search, Send, Suspend, TenDown, Unfold, Up, Yank,
    };
    for action in [Send, Up, Yank, Search, Complete, OpenEditor, Escape, Cancel] {
        assert!(!is_for_the_interface(action), "{action:?}");
    }
    for action in [
        Always,
        CopyCode,
        Help,
        No,
        PageUp,
        QuestionUp,
        Quit,
        QuitIfEmpty,
        Redraw,
        Suspend,
        TenDown,
        Unfold,
    ] {
        assert!(is_for_the_interface(action), "{action:?}");
    }
}
