//! The keys: one table, from which both the mapping and the help overlay are generated.
//!
//! `table` has a row for each binding. Called by the full screen and the editor, which do what an [`Action`] says; nothing here does.

mod table;
#[cfg(test)]
mod tests;

use std::fmt;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::app::help::DescribedTerms;
pub(crate) use table::Action;

/// The state in which a key is pressed; some keys depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyContext {
    /// The input has text.
    Typing,
    /// The input has none.
    Empty,
    /// A question is waiting for an answer.
    Question,
}

/// When a row of the table applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    /// Everywhere.
    Always,
    /// In the input, with or without text.
    Input,
    /// Only in an empty input, before the rows of the input.
    Empty,
    /// While a question is open, before all others.
    Question,
}

/// A key with its modifiers, as the table writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl Key {
    const fn plain(code: KeyCode) -> Self {
        Self {
            code,
            modifiers: KeyModifiers::NONE,
        }
    }

    const fn with(modifiers: KeyModifiers, code: KeyCode) -> Self {
        Self { code, modifiers }
    }

    /// The key of an event, in any terminal encoding; `None` for a key release.
    fn of(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let mut modifiers =
            event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let code = match event.code {
            // Shift is already part of the character and of the key's name.
            KeyCode::Char(c) => {
                modifiers.remove(KeyModifiers::SHIFT);
                KeyCode::Char(if modifiers.is_empty() {
                    c
                } else {
                    c.to_ascii_lowercase()
                })
            }
            KeyCode::BackTab => {
                modifiers.remove(KeyModifiers::SHIFT);
                KeyCode::BackTab
            }
            KeyCode::Tab if modifiers.contains(KeyModifiers::SHIFT) => {
                modifiers.remove(KeyModifiers::SHIFT);
                KeyCode::BackTab
            }
            code => code,
        };
        Some(Self { code, modifiers })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in [
            (KeyModifiers::CONTROL, "Ctrl-"),
            (KeyModifiers::ALT, "Alt-"),
            (KeyModifiers::SHIFT, "Shift-"),
        ] {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("Space"),
            KeyCode::Char(c) if self.modifiers.is_empty() => write!(f, "{c}"),
            KeyCode::Char(c) => write!(f, "{}", c.to_ascii_uppercase()),
            KeyCode::F(n) => write!(f, "F{n}"),
            KeyCode::BackTab => f.write_str("Shift-Tab"),
            KeyCode::PageUp => f.write_str("PgUp"),
            KeyCode::PageDown => f.write_str("PgDn"),
            code => write!(f, "{code:?}"),
        }
    }
}

/// Whether a question takes this key although there is a draft: what scrolls it, what declines it other than as a letter, and what gives it the other keys.
pub(crate) fn answers_beside_a_draft(event: &KeyEvent) -> bool {
    let is_letter = matches!(event.code, KeyCode::Char(_))
        && !(event.modifiers).intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let answer = action(event, KeyContext::Question);
    let takes = matches!(
        answer,
        Some(
            Action::No
                | Action::Dismiss
                | Action::QuestionPageUp
                | Action::QuestionPageDown
                | Action::ChooseQuestion
        )
    );
    takes && !is_letter
}

/// The action of `event` in this context; `None` for an unbound key.
///
/// A character without Ctrl and Alt is text unless a row of the table binds it; it is never text in answer to a question.
pub(crate) fn action(event: &KeyEvent, context: KeyContext) -> Option<Action> {
    let key = Key::of(event)?;
    let rows: &[When] = match context {
        KeyContext::Typing => &[When::Input, When::Always],
        KeyContext::Empty => &[When::Empty, When::Input, When::Always],
        KeyContext::Question => &[When::Question, When::Always],
    };
    let bound = rows.iter().find_map(|when| {
        table::BINDINGS
            .iter()
            .find(|row| row.when == *when && row.keys.contains(&key))
            .map(|row| row.action)
    });
    bound.or(match key.code {
        KeyCode::Char(c) if key.modifiers.is_empty() && context != KeyContext::Question => {
            Some(Action::Insert(c))
        }
        _ => None,
    })
}

/// True when the interface performs `action`, whatever is open in the input.
pub(crate) fn is_for_the_interface(action: Action) -> bool {
    let mut rows = table::BINDINGS.iter();
    rows.any(|row| row.action == action && row.is_for_the_interface())
}

/// The keys of one subject, for the help overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub title: &'static str,
    /// Keys (`Ctrl-A, Home`) and what they do.
    pub lines: Vec<(String, &'static str)>,
}

/// The whole table as help, in table order.
pub(crate) fn help() -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row in table::BINDINGS {
        let keys: Vec<String> = row.keys.iter().map(Key::to_string).collect();
        let line = (keys.join(", "), row.doc);
        match groups.iter_mut().find(|group| group.title == row.group) {
            Some(group) => group.lines.push(line),
            None => groups.push(Group {
                title: row.group,
                lines: vec![line],
            }),
        }
    }
    groups
}

/// The same without names of its own, for the help of the command line.
pub(crate) fn groups() -> Vec<(&'static str, DescribedTerms)> {
    let groups = help().into_iter();
    groups.map(|group| (group.title, group.lines)).collect()
}

/// The first key of an action as written in the help (`Ctrl-R`), for hints in the interface; `None` for plain text.
pub(crate) fn name(action: Action) -> Option<String> {
    table::BINDINGS
        .iter()
        .find(|row| row.action == action)
        .and_then(|row| row.keys.first())
        .map(Key::to_string)
}
