//! The key table: actions, their keys, the sentence of the help, and where they hold.

use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::{Key, When};

/// The action of a key. The input editor performs the editing ones, the interface the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Put this character at the cursor; the only action that is not in the table.
    Insert(char),
    /// Submit the input (after a backslash: a new line instead).
    Send,
    /// Break the line at the cursor.
    Newline,
    /// To the character before.
    Left,
    /// To the next character.
    Right,
    /// To the beginning of the word.
    WordLeft,
    /// To the end of the word.
    WordRight,
    /// To the beginning of the line.
    LineStart,
    LineEnd,
    /// A row up; on the first row the history entry before.
    Up,
    /// A row down; on the last row the next history entry.
    Down,
    /// Delete the character before the cursor.
    EraseBack,
    /// Delete the character under the cursor.
    EraseForward,
    /// Kill back to the beginning of the word.
    KillWordBack,
    /// Kill back to the blank before.
    KillBlankBack,
    /// Kill to the end of the word.
    KillWordForward,
    KillLine,
    /// Kill to the end of the line.
    KillToEnd,
    /// Insert what was killed last.
    Yank,
    /// Replace what was just yanked by the kill before it.
    YankPop,
    /// Show a folded paste in full, or fold it again.
    UnfoldPaste,
    /// Take back the last edit.
    Undo,
    Redo,
    /// Search the input history; again: the older match.
    Search,
    /// Complete the word at the cursor; again: the next candidate.
    Complete,
    /// The candidate before.
    CompleteBack,
    /// Close what is open, cancel what runs, or clear the input; never quits.
    Escape,
    /// Cancel what runs; idle: clear the input, a second time within 2 s: leave.
    Cancel,
    Quit,
    /// Leave if the input is empty; say so if it is not.
    QuitIfEmpty,
    Suspend,
    /// Draw everything again.
    Redraw,
    PageUp,
    PageDown,
    /// Ten lines up in the chat.
    TenUp,
    /// Ten lines down in the chat.
    TenDown,
    /// A line up in the chat.
    ScrollUp,
    /// A line down in the chat.
    ScrollDown,
    /// To the beginning of the chat.
    Top,
    /// To the end of the chat.
    Bottom,
    /// Show the keys.
    Help,
    /// Copy the last reply to the clipboard.
    CopyReply,
    /// Copy the last block of code to the clipboard.
    CopyCode,
    /// Copy the last address of the last reply to the clipboard; again: the one before.
    CopyAddress,
    /// Fold or unfold the last tool result.
    Unfold,
    /// Unfold or fold the tool result in view; again: all of them.
    UnfoldAll,
    /// Show or hide what the model thinks.
    Thinking,
    /// Insert the image or the text on the desktop's clipboard.
    PasteClipboard,
    /// Edit the input in `$EDITOR`.
    OpenEditor,
    /// A question: yes, this once.
    Yes,
    /// A question: give it the keys although there is a draft, or give them back.
    ChooseQuestion,
    /// A question: yes, and not again for this exact command.
    Always,
    No,
    /// A question: no answer, which to most of them is no.
    Dismiss,
    /// A question: no, with a word to the model.
    NoBecause,
    /// A question: its text a row up.
    QuestionUp,
    /// A question: its text a row down.
    QuestionDown,
    QuestionPageUp,
    QuestionPageDown,
}

/// One row: the keys of one action.
pub(super) struct KeyBinding {
    pub(super) keys: &'static [Key],
    pub(super) action: Action,
    pub(super) when: When,
    pub(super) group: &'static str,
    pub(super) doc: &'static str,
    /// What is open in the input takes it first.
    input_first: bool,
}

impl KeyBinding {
    const fn input_first(mut self) -> Self {
        self.input_first = true;
        self
    }

    /// True when the interface performs the action, whatever is open in the input.
    pub(super) fn is_for_the_interface(&self) -> bool {
        [CHAT, ANSWER, MARVIN].contains(&self.group) && !self.input_first
    }
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
        input_first: false,
    }
}

/// The key table. Terminals send Ctrl-_ and Ctrl-/ as Ctrl-7, and distinguish Shift-Enter only with keyboard extensions.
#[rustfmt::skip]
pub(super) const BINDINGS: &[KeyBinding] = &[
    row(When::Input, INPUT, &[plain(KeyCode::Enter)], Action::Send, "send"),
    row(When::Input, INPUT, &[with_alt(KeyCode::Enter), with_shift(KeyCode::Enter), ctrl('j')], Action::Newline, "new line (also \\ before Enter)"),
    row(When::Input, INPUT, &[plain(KeyCode::Tab)], Action::Complete, "complete /commands, @files, names; again: next candidate"),
    row(When::Input, INPUT, &[plain(KeyCode::BackTab)], Action::CompleteBack, "complete: previous candidate"),
    row(When::Input, INPUT, &[plain(KeyCode::Up), ctrl('p')], Action::Up, "a row up; from the first row: history"),
    row(When::Input, INPUT, &[plain(KeyCode::Down), ctrl('n')], Action::Down, "a row down; from the last row: history"),
    row(When::Input, INPUT, &[ctrl('r')], Action::Search, "search the history; again: older"),
    row(When::Input, INPUT, &[alt('v')], Action::UnfoldPaste, "show a folded paste in full, and fold it again"),
    row(When::Input, INPUT, &[ctrl('v')], Action::PasteClipboard, "paste an image, or text, from the clipboard"),
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
    row(When::Always, CHAT, &[ctrl('o')], Action::UnfoldAll, "unfold and fold the tool result in view; again: all"),
    row(When::Always, CHAT, &[alt('t')], Action::Thinking, "show and hide what the model thinks"),
    row(When::Always, CHAT, &[alt('c')], Action::CopyReply, "copy the last reply"),
    row(When::Always, CHAT, &[alt('k')], Action::CopyCode, "copy the last block of code"),
    row(When::Always, CHAT, &[alt('a')], Action::CopyAddress, "copy the last address of the reply; again: the one before"),

    row(When::Question, ANSWER, &[letter('y'), letter('Y'), plain(KeyCode::Enter)], Action::Yes, "yes, this once"),
    row(When::Question, ANSWER, &[letter('a'), letter('A')], Action::Always, "always, for what the question says"),
    row(When::Question, ANSWER, &[letter('n'), letter('N')], Action::No, "no"),
    row(When::Question, ANSWER, &[plain(KeyCode::Esc), ctrl('c')], Action::Dismiss, "no, or no answer"),
    row(When::Question, ANSWER, &[letter('e'), letter('E')], Action::NoBecause, "no, and tell Marvin why"),
    row(When::Question, ANSWER, &[letter(' '), plain(KeyCode::PageDown), with_shift(KeyCode::PageDown)], Action::QuestionPageDown, "scroll down in a long question"),
    row(When::Question, ANSWER, &[plain(KeyCode::PageUp), with_shift(KeyCode::PageUp)], Action::QuestionPageUp, "scroll up in it"),
    row(When::Question, ANSWER, &[plain(KeyCode::Down)], Action::QuestionDown, "a row down in it"),
    row(When::Question, ANSWER, &[plain(KeyCode::Up)], Action::QuestionUp, "a row up in it"),
    row(When::Question, ANSWER, &[plain(KeyCode::Tab)], Action::ChooseQuestion, "answer although there is text in the input, or go on writing"),

    row(When::Input, MARVIN, &[plain(KeyCode::Esc)], Action::Escape, "stop the answer, or clear the input").input_first(),
    row(When::Input, MARVIN, &[ctrl('c')], Action::Cancel, "stop the answer, or clear the input; twice: quit").input_first(),
    row(When::Input, MARVIN, &[ctrl('d')], Action::QuitIfEmpty, "quit (empty input)"),
    row(When::Always, MARVIN, &[ctrl('q')], Action::Quit, "quit"),
    row(When::Always, MARVIN, &[ctrl('z')], Action::Suspend, "suspend to the shell"),
    row(When::Always, MARVIN, &[ctrl('l')], Action::Redraw, "redraw the screen"),
    row(When::Always, MARVIN, &[plain(KeyCode::F(1))], Action::Help, "this help"),
    row(When::Empty, MARVIN, &[letter('?')], Action::Help, "this help (empty input)"),
];
