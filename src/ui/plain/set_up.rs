//! Setting up a language model line by line: numbered lists, and lines of which a secret one is not shown.

use rustix::stdio;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::PlainUi;
use crate::app::choice::{ChoiceKind, ChoiceList, LinePrompt, TypedLine};

/// Keeps the terminal from showing what is typed, while it lives.
struct NoEcho {
    before: Termios,
}

impl NoEcho {
    fn start() -> Option<Self> {
        let before = tcgetattr(stdio::stdin()).ok()?;
        let mut now = before.clone();
        now.local_modes -= LocalModes::ECHO;
        // The line break at its end is shown.
        now.local_modes |= LocalModes::ECHONL;
        tcsetattr(stdio::stdin(), OptionalActions::Now, &now).ok()?;
        Some(Self { before })
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        let _gone = tcsetattr(stdio::stdin(), OptionalActions::Now, &self.before);
    }
}

impl PlainUi {
    /// Lets the user choose from a numbered list; Enter alone closes it.
    pub(super) fn choose_step(&mut self, list: &ChoiceList) {
        if !self.settle() {
            return self.session.choice_closed(list.kind);
        }
        let title = match list.kind {
            ChoiceKind::KeyProviders => "A key for which provider?",
            ChoiceKind::ServerModels => "Which model?",
            ChoiceKind::Trust => "May this project act by itself?",
            _ => "No language model is set up. What should answer?",
        };
        let end = match list.kind {
            ChoiceKind::SetUp => "to go on without",
            ChoiceKind::Trust => "for not in this session",
            _ => "to go back",
        };
        self.printer
            .system(&format!("{title}\n{}", list.listing.trim_end()));
        // Others only show something.
        let answers: Vec<_> = list.rows.iter().filter(|row| !row.id.is_empty()).collect();
        loop {
            let words = format!("Its number, or Enter {end}: ");
            let answer = self.answer(&words).unwrap_or_default();
            let number = answer.trim();
            if number.is_empty() {
                return self.session.choice_closed(list.kind);
            }
            let at = number.parse::<usize>().ok();
            let row = at.and_then(|at| answers.get(at.checked_sub(1)?));
            match row {
                Some(row) => return self.session.choose_from_list(list.kind, &row.id),
                None => {
                    let count = answers.len();
                    self.printer.system(&format!("Please answer 1 to {count}."));
                }
            }
        }
    }

    /// What was typed before the question was seen is no answer to it. False after a signal.
    fn settle(&mut self) -> bool {
        self.keys = None;
        while !self.ahead.settle(&self.watch.woken) {
            if self.signalled() {
                return false;
            }
        }
        true
    }

    /// Asks for a line; an empty one closes the question.
    pub(super) fn ask_line(&mut self, prompt: &LinePrompt) {
        if !self.settle() {
            return self.session.answer_prompt(None);
        }
        self.printer.system(&prompt.hint);
        let silent = prompt.is_secret.then(NoEcho::start);
        // Where the terminal cannot be kept from showing it, a secret is not asked for.
        let answer = match &silent {
            Some(None) => None,
            _ => self.answer(&format!("{}, or Enter to go back: ", prompt.title)),
        };
        drop(silent);
        let line = answer.filter(|line| !line.trim().is_empty());
        self.session.answer_prompt(line.map(TypedLine::new));
    }
}
