//! Walking in the history, searching it, and the completion menu.

use super::*;
use Action::*;

fn owned<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

fn with_history() -> Editor {
    let mut editor = Editor::new();
    editor.set_history(owned(["cargo test", "two\nlines", "make tea"]));
    editor
}

#[test]
fn up_walks_the_history_and_down_restores_the_draft() {
    let mut editor = with_history();
    type_in(&mut editor, "draft");
    for expected in ["make tea|", "two\nlines|", "cargo test|"] {
        assert_eq!(press(&mut editor, Up), Outcome::Changed);
        assert_eq!(shown(&editor), expected);
    }
    assert_eq!(press(&mut editor, Up), Outcome::Nothing);
    for expected in ["two\nlines|", "make tea|", "draft|"] {
        press(&mut editor, Down);
        assert_eq!(shown(&editor), expected);
    }
    assert_eq!(press(&mut editor, Down), Outcome::Nothing);
}

#[test]
fn in_multiline_text_up_moves_the_cursor_first() {
    let mut editor = with_history();
    editor.set_text("long line\nx\nlast line");
    // The column is kept.
    for expected in [
        "long line\nx|\nlast line",
        "long line|\nx\nlast line",
        "make tea|",
    ] {
        press(&mut editor, Up);
        assert_eq!(shown(&editor), expected);
    }
    press(&mut editor, Up);
    press(&mut editor, Left);
    press(&mut editor, Up);
    assert_eq!(shown(&editor), "two|\nlines", "after a motion rows count");
}

#[test]
fn up_moves_by_wrapped_rows() {
    let mut editor = with_history();
    editor.set_text("aaa bbb ccc");
    editor.rows(5, 10);
    press(&mut editor, Up);
    assert_eq!(shown(&editor), "aaa bbb| ccc");
    assert_eq!(editor.rows(5, 10).cursor, (3, 1));
}

#[test]
fn the_newest_entry_comes_first() {
    let mut editor = with_history();
    editor.remember("newest");
    press(&mut editor, Up);
    assert_eq!(editor.text(), "newest");
}

#[test]
fn a_search_match_is_inserted_only_on_accept() {
    let mut editor = with_history();
    type_in(&mut editor, "draft");
    press(&mut editor, Search);
    assert_eq!(editor.rows(20, 3).rows, ["draft"]);
    type_in(&mut editor, "te");
    let (query, failed) = ("te", false);
    assert_eq!(editor.searching(), Some(Searching { query, failed }));
    let view = editor.rows(20, 3);
    assert_eq!((view.rows, view.cursor), (vec!["make tea".into()], (5, 0)));
    press(&mut editor, Search);
    assert_eq!(editor.rows(20, 3).rows, ["cargo test"]);
    assert_eq!(editor.text(), "draft");
    press(&mut editor, Escape);
    let after = (shown(&editor), editor.searching());
    assert_eq!(after, ("draft|".to_owned(), None));

    press(&mut editor, Search);
    type_in(&mut editor, "CARGO");
    assert!(editor.searching().unwrap().failed, "upper case is meant");
    for _ in 0..5 {
        press(&mut editor, EraseBack);
    }
    editor.insert("cargo");
    let sent = press(&mut editor, Send);
    assert_eq!(sent, Outcome::Changed, "not sent unseen");
    assert_eq!(shown(&editor), "|cargo test");
    press(&mut editor, Undo);
    assert_eq!(editor.text(), "draft");
}

#[test]
fn an_edit_accepts_the_match_and_edits_it() {
    let mut editor = with_history();
    press(&mut editor, Search);
    assert_eq!(editor.key_context(), KeyContext::Typing);
    type_in(&mut editor, "tea");
    press(&mut editor, LineEnd);
    assert_eq!(shown(&editor), "make tea|");
    assert_eq!(editor.searching(), None);
    press(&mut editor, Search);
    assert_eq!(press(&mut editor, PageUp), Outcome::Pass(PageUp));
    assert!(editor.searching().is_some());
}

struct House;
impl Sources for House {
    fn commands(&self) -> Vec<String> {
        owned(["/tools", "/tool", "/undo", "preferences"])
    }
    fn profiles(&self) -> Vec<String> {
        owned(["work", "play"])
    }
    fn parameters(&self, tool: &str) -> Vec<String> {
        assert_eq!(tool, "tree");
        vec!["path".to_owned()]
    }
}

fn tab(text: &str, actions: &[Action]) -> (String, Editor) {
    let mut editor = at(text);
    for action in actions {
        editor.act(*action, &House);
    }
    (shown(&editor), editor)
}

/// An editor after this was typed.
fn typed(text: &str) -> Editor {
    let mut editor = Editor::new();
    for c in text.chars() {
        editor.act(Insert(c), &House);
    }
    editor
}

#[test]
fn a_single_candidate_is_completed_with_a_blank() {
    for (before, expected) in [
        ("!und|", "!undo |"),
        ("pre|", "preferences |"),
        ("!profile w|", "!profile work |"),
        ("!profile w| x", "!profile work| x"),
        ("!tool tree |", "!tool tree path=|"),
        ("nothing here|", "nothing here|"),
    ] {
        let (text, editor) = tab(before, &[Complete]);
        assert_eq!((text.as_str(), editor.menu()), (expected, None));
        let (undone, _) = tab(before, &[Complete, Undo]);
        assert_eq!(undone, before);
    }
}

#[test]
fn several_candidates_complete_to_their_common_prefix() {
    let (text, editor) = tab("!t|", &[Complete]);
    assert_eq!(text, "!tool|");
    let menu = editor.menu().unwrap();
    assert_eq!(menu.candidates, ["!tools", "!tool"]);
    assert_eq!(menu.selected, None);
}

#[test]
fn the_menu_of_commands_opens_while_a_slash_word_is_typed() {
    for (text, candidates) in [
        ("/", &["/tools", "/tool", "/undo"][..]),
        ("/T", &["/tools", "/tool"]),
        ("/und", &["/undo"]),
    ] {
        let editor = typed(text);
        let menu = editor.menu().unwrap();
        assert_eq!(menu.candidates, candidates);
        assert_eq!(menu.selected, None);
    }
    for text in ["/x", "/undo ", "!t", "t", "a /t", "/usr/bin", "line\n/t"] {
        assert_eq!(typed(text).menu(), None, "{text:?}");
    }
    // Tab completes as without the menu.
    let mut editor = typed("/u");
    editor.act(Complete, &House);
    assert_eq!(
        (editor.menu(), shown(&editor)),
        (None, "/undo |".to_owned())
    );
    let mut editor = typed("/t");
    editor.act(Complete, &House);
    assert_eq!(shown(&editor), "/tool|");
    editor.act(Complete, &House);
    assert_eq!(shown(&editor), "/tools|");
    // Enter sends what is typed, Esc closes the menu, and erasing opens it again.
    let mut editor = typed("/t");
    editor.act(Escape, &House);
    assert_eq!((editor.menu(), shown(&editor)), (None, "/t|".to_owned()));
    editor.act(EraseBack, &House);
    assert_eq!(editor.menu().unwrap().candidates.len(), 3);
    assert_eq!(editor.act(Send, &House), Outcome::Submit("/".into()));
}

#[test]
fn after_an_exclamation_mark_the_same_names_are_completed() {
    assert_eq!(tab("!un|", &[Complete]).0, "!undo |");
    assert_eq!(tab("/un|", &[Complete]).0, "/undo |");
    assert_eq!(tab("/profile w|", &[Complete]).0, "/profile work |");
}

#[test]
fn tab_cycles_the_menu_and_esc_restores_the_word() {
    assert_eq!(tab("!profile |", &[Complete]).0, "!profile |");
    assert_eq!(tab("!profile |", &[Complete, Complete]).0, "!profile work|");
    let round = [Complete, Complete, Complete, Complete];
    assert_eq!(tab("!profile |", &round).0, "!profile work|");
    let back = [Complete, CompleteBack];
    assert_eq!(tab("!profile |", &back).0, "!profile play|");
    let (text, editor) = tab("!profile |", &[Complete, Down, Down, Escape]);
    assert_eq!((text.as_str(), editor.menu()), ("!profile |", None));
    let (text, mut editor) = tab("!profile |", &[Complete, Complete, Send]);
    assert_eq!((text.as_str(), editor.menu()), ("!profile work |", None));
    let sent = editor.act(Send, &House);
    assert_eq!(sent, Outcome::Submit("!profile work ".into()));
}

#[test]
fn the_wheel_highlights_and_leaves_the_text_until_a_key_takes_it() {
    // Of /tools, /tool and /undo.
    let mut editor = typed("/");
    for (rows, selected) in [
        (-3, None),
        (2, Some(1)),
        (3, Some(2)),
        (3, Some(2)),
        (-5, Some(0)),
        (-1, Some(0)),
        (1, Some(1)),
    ] {
        assert!(editor.turn_menu(rows));
        assert_eq!(editor.menu().unwrap().selected, selected, "{rows}");
        assert_eq!(shown(&editor), "/|");
    }
    editor.act(Complete, &House);
    assert_eq!(shown(&editor), "/tool|");
    editor.act(Complete, &House);
    assert_eq!(shown(&editor), "/undo|");
    // The wheel takes what a key wrote out of the text again.
    assert!(editor.turn_menu(-2));
    assert_eq!(shown(&editor), "/|");
    editor.act(Send, &House);
    assert_eq!((editor.menu(), editor.text().trim_end()), (None, "/tools"));

    let mut editor = typed("/");
    editor.turn_menu(1);
    editor.act(Insert('u'), &House);
    assert_eq!(shown(&editor), "/u|");
    assert_eq!(editor.menu().unwrap().candidates, ["/undo"]);
    editor.turn_menu(1);
    editor.act(Escape, &House);
    assert_eq!((editor.menu(), shown(&editor)), (None, "/u|".to_owned()));
    assert!(!editor.turn_menu(1));
}

#[test]
fn enter_without_a_selection_submits_and_typing_narrows() {
    let (_, mut editor) = tab("!profile |", &[Complete]);
    assert!(editor.menu().is_some());
    editor.act(Insert('p'), &House);
    assert_eq!(editor.menu().unwrap().candidates, ["play"]);
    let sent = editor.act(Send, &House);
    assert_eq!(sent, Outcome::Submit("!profile p".into()));
    assert_eq!(editor.menu(), None);
}

#[test]
fn the_menu_leaves_one_undo_step() {
    let (text, _) = tab("!profile |", &[Complete, Complete, Complete, Send, Undo]);
    assert_eq!(text, "!profile |");
}
