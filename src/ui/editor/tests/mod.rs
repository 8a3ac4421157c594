//! The editor as the user sees it.

mod editing;
mod modes;
mod random;
mod sight;

use super::complete::Sources;
use super::*;

/// An editor with `text` and without history, the cursor at `|`.
fn at(text: &str) -> Editor {
    let cursor = text.find('|').unwrap_or(text.len());
    let mut editor = Editor::new();
    editor.buffer = Buffer::of(text.replacen('|', "", 1));
    editor.buffer.go(cursor);
    editor
}

/// The text with `|` at the cursor.
fn shown(editor: &Editor) -> String {
    let mut text = editor.text().to_owned();
    text.insert(editor.buffer.cursor(), '|');
    text
}

/// The text after `actions`, with `|` at the cursor.
fn after(text: &str, actions: &[Action]) -> String {
    let mut editor = at(text);
    for action in actions {
        editor.act(*action, &());
    }
    shown(&editor)
}

fn press(editor: &mut Editor, action: Action) -> Outcome {
    editor.act(action, &())
}

fn type_in(editor: &mut Editor, text: &str) {
    for c in text.chars() {
        editor.act(Action::Insert(c), &());
    }
}
