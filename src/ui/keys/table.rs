//! The key table: the keys, their actions, the help text, and when they apply.

use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::{Action, Key, When};

/// One row: the keys of one action.
pub(super) struct KeyBinding {
    pub(super) keys: &'static [Key],
    pub(super) action: Action,
    pub(super) when: When,
    pub(super) group: &'static str,
    pub(super) doc: &'static str,
}

const INPUT: &str = "Input";
const MOVE: &str = "Move";
const DELETE: &str = "Delete and undo";
const CHAT: &str = "Chat";
const ANSWER: &str = "A question";
const MARVIN: &str = "Marvin";

const fn plain(code: KeyCode) -> Key {
    Key::plain(code)
}
const fn letter(c: char) -> Key {
    Key::plain(KeyCode::Char(c))
}
const fn ctrl(c: char) -> Key {
    Key::with(KeyModifiers::CONTROL, KeyCode::Char(c))
}
const fn alt(c: char) -> Key {
    Key::with(KeyModifiers::ALT, KeyCode::Char(c))
}
const fn with_ctrl(code: KeyCode) -> Key {
    Key::with(KeyModifiers::CONTROL, code)
}
const fn with_alt(code: KeyCode) -> Key {
    Key::with(KeyModifiers::ALT, code)
}
const fn with_shift(code: KeyCode) -> Key {
    Key::with(KeyModifiers::SHIFT, code)
}

const fn row(
    when: When,
    group: &'static str,
    keys: &'static [Key],
    action: Action,
    doc: &'static str,
) -> KeyBinding {
    KeyBinding {
        keys,
        action,
        when,
        group,
        doc,
    }
}

/// The key table. Terminals send Ctrl-_ and Ctrl-/ as Ctrl-7, and distinguish Shift-Enter only with keyboard extensions.
#[rustfmt::skip]
pub(super) const BINDINGS: &[KeyBinding] = &[
    row(When::Input, INPUT, &[plain(KeyCode::Enter)], Action::Send, "send"),
    row(When::Input, INPUT, &[with_alt(KeyCode::Enter), with_shift(KeyCode::Enter), ctrl('j')], Action::Newline, "new line (also \\ before Enter)"),
    row(When::Input, INPUT, &[plain(KeyCode::Tab)], Action::Complete, "complete !commands, @files, names; again: next candidate"),
    row(When::Input, INPUT, &[plain(KeyCode::BackTab)], Action::CompleteBack, "complete: previous candidate"),
    row(When::Input, INPUT, &[plain(KeyCode::Up), ctrl('p')], Action::Up, "a row up; from the first row: history"),
    row(When::Input, INPUT, &[plain(KeyCode::Down), ctrl('n')], Action::Down, "a row down; from the last row: history"),
    row(When::Input, INPUT, &[ctrl('r')], Action::Search, "search the history; again: older"),
    row(When::Input, INPUT, &[alt('e')], Action::OpenEditor, "edit in your editor"),

    row(When::Input, MOVE, &[plain(KeyCode::Left), ctrl('b')], Action::Left, "a character left"),
    row(When::Input, MOVE, &[plain(KeyCode::Right), ctrl('f')], Action::Right, "a character right"),
    row(When::Input, MOVE, &[with_ctrl(KeyCode::Left), with_alt(KeyCode::Left), alt('b')], Action::WordLeft, "a word left"),
    row(When::Input, MOVE, &[with_ctrl(KeyCode::Right), with_alt(KeyCode::Right), alt('f')], Action::WordRight, "a word right"),
    row(When::Input, MOVE, &[plain(KeyCode::Home), ctrl('a')], Action::LineStart, "beginning of the line"),
    row(When::Input, MOVE, &[plain(KeyCode::End), ctrl('e')], Action::LineEnd, "end of the line"),

    row(When::Input, DELETE, &[plain(KeyCode::Backspace), with_shift(KeyCode::Backspace), ctrl('h')], Action::EraseBack, "the character before"),
    row(When::Input, DELETE, &[plain(KeyCode::Delete)], Action::EraseForward, "the character under the cursor"),
    row(When::Input, DELETE, &[ctrl('w')], Action::KillBlankBack, "back to the previous blank"),
    row(When::Input, DELETE, &[with_alt(KeyCode::Backspace), with_ctrl(KeyCode::Backspace)], Action::KillWordBack, "the word before"),
    row(When::Input, DELETE, &[alt('d'), with_ctrl(KeyCode::Delete)], Action::KillWordForward, "the word after"),
    row(When::Input, DELETE, &[ctrl('u')], Action::KillLine, "the whole line"),
    row(When::Input, DELETE, &[ctrl('k')], Action::KillToEnd, "to the end of the line"),
    row(When::Input, DELETE, &[ctrl('y')], Action::Yank, "paste the deleted text"),
    row(When::Input, DELETE, &[alt('y')], Action::YankPop, "after that: the text deleted before it"),
    row(When::Input, DELETE, &[ctrl('_'), ctrl('7'), ctrl('/'), alt('u')], Action::Undo, "undo"),
    row(When::Input, DELETE, &[alt('r')], Action::Redo, "redo"),

    row(When::Always, CHAT, &[plain(KeyCode::PageUp)], Action::TenUp, "10 lines up"),
    row(When::Always, CHAT, &[plain(KeyCode::PageDown)], Action::TenDown, "10 lines down"),
    row(When::Always, CHAT, &[with_shift(KeyCode::PageUp)], Action::PageUp, "a page up"),
    row(When::Always, CHAT, &[with_shift(KeyCode::PageDown)], Action::PageDown, "a page down"),
    row(When::Always, CHAT, &[with_shift(KeyCode::Up)], Action::ScrollUp, "a line up"),
    row(When::Always, CHAT, &[with_shift(KeyCode::Down)], Action::ScrollDown, "a line down"),
    row(When::Always, CHAT, &[with_ctrl(KeyCode::Home)], Action::Top, "beginning of the chat"),
    row(When::Always, CHAT, &[with_ctrl(KeyCode::End)], Action::Bottom, "end of the chat"),
    row(When::Empty, CHAT, &[plain(KeyCode::Tab)], Action::Unfold, "unfold the last tool result (empty input)"),
    row(When::Always, CHAT, &[ctrl('o')], Action::UnfoldAll, "fold and unfold all tool results"),
    row(When::Always, CHAT, &[alt('c')], Action::CopyReply, "copy the last reply"),
    row(When::Always, CHAT, &[alt('k')], Action::CopyCode, "copy the last block of code"),

    row(When::Question, ANSWER, &[letter('y'), letter('Y'), plain(KeyCode::Enter)], Action::Yes, "yes, this once"),
    row(When::Question, ANSWER, &[letter('a'), letter('A')], Action::Always, "always, for exactly this command"),
    row(When::Question, ANSWER, &[letter('n'), letter('N'), plain(KeyCode::Esc), ctrl('c')], Action::No, "no"),
    row(When::Question, ANSWER, &[letter('e'), letter('E')], Action::NoBecause, "no, and tell Marvin why"),
    row(When::Question, ANSWER, &[letter(' '), plain(KeyCode::PageDown), with_shift(KeyCode::PageDown)], Action::QuestionPageDown, "scroll down in a long question"),
    row(When::Question, ANSWER, &[plain(KeyCode::PageUp), with_shift(KeyCode::PageUp)], Action::QuestionPageUp, "scroll up in it"),
    row(When::Question, ANSWER, &[plain(KeyCode::Down)], Action::QuestionDown, "a row down in it"),
    row(When::Question, ANSWER, &[plain(KeyCode::Up)], Action::QuestionUp, "a row up in it"),

    row(When::Input, MARVIN, &[plain(KeyCode::Esc)], Action::Escape, "stop the answer, or clear the input"),
    row(When::Input, MARVIN, &[ctrl('c')], Action::Cancel, "stop the answer, or clear the input; twice: quit"),
    row(When::Input, MARVIN, &[ctrl('d')], Action::QuitIfEmpty, "quit (empty input)"),
    row(When::Always, MARVIN, &[ctrl('q')], Action::Quit, "quit"),
    row(When::Always, MARVIN, &[ctrl('z')], Action::Suspend, "suspend to the shell"),
    row(When::Always, MARVIN, &[ctrl('l')], Action::Redraw, "redraw the screen"),
    row(When::Always, MARVIN, &[plain(KeyCode::F(1))], Action::Help, "this help"),
    row(When::Empty, MARVIN, &[letter('?')], Action::Help, "this help (empty input)"),
];
