//! The completion menu over the input.

use super::complete::{self, Completeness, Menu, Sources, WordKind};
use super::undo::EditMerge;
use super::{Editor, Outcome, changed};
use crate::ui::keys::Action;

impl Editor {
    /// Completes the word at the cursor as far as it is unambiguous, and opens the menu if several candidates remain.
    pub(super) fn complete(&mut self, sources: &dyn Sources) -> Outcome {
        let Some(menu) = self.open_menu(sources) else {
            return Outcome::Nothing;
        };
        if let [only] = menu.candidates.as_slice() {
            return changed(self.finish(&menu.word, only));
        }
        if let Some(common) = menu.word.common(&menu.candidates) {
            let written = menu.word.written(&common, Completeness::No);
            let range = menu.word.start..self.buffer.cursor();
            self.buffer.replace(range, &written, EditMerge::Whole);
        }
        // The word moved; the candidates stay the same.
        self.menu = complete::word(self.buffer.text(), self.buffer.cursor())
            .map(|word| Menu { word, ..menu });
        Outcome::Changed
    }

    /// The candidates for the word at the cursor, if any.
    fn open_menu(&self, sources: &dyn Sources) -> Option<Menu> {
        let word = complete::word(self.buffer.text(), self.buffer.cursor())?;
        // Files have a menu of their own, which is open while they are typed.
        if word.kind == WordKind::Path {
            return None;
        }
        let candidates = word.candidates(sources);
        (!candidates.is_empty()).then(|| Menu {
            abouts: word.abouts(&candidates, sources),
            candidates,
            selected: None,
            is_written: false,
            word,
        })
    }

    /// Opens the menu while a word is typed that is to have one.
    pub(super) fn suggest(&mut self, sources: &dyn Sources) {
        let word = complete::word(self.buffer.text(), self.buffer.cursor());
        if word.is_some_and(|word| word.opens_menu()) {
            self.menu = self.open_menu(sources);
        }
    }

    /// What an action does while the menu is open; `None` when it is closed or the action is not for it.
    pub(super) fn act_in_menu(&mut self, action: Action, sources: &dyn Sources) -> Option<Outcome> {
        let mut menu = self.menu.take()?;
        let selects = menu.selected.is_some();
        match action {
            // The menu may be open without a Tab so far.
            Action::Complete
                if !selects
                    && (menu.candidates.len() == 1
                        || menu.word.common(&menu.candidates).is_some()) =>
            {
                Some(self.complete(sources))
            }
            Action::Complete | Action::CompleteBack | Action::Up | Action::Down => {
                self.remove_candidate(&menu);
                // Tab takes what the wheel has highlighted.
                let takes = action == Action::Complete && selects && !menu.is_written;
                if !takes {
                    menu.step(matches!(action, Action::Complete | Action::Down));
                }
                let written = menu
                    .candidate()
                    .map(|candidate| menu.word.written(candidate, Completeness::Yes))?;
                let range = menu.word.start..self.buffer.cursor();
                // A candidate equal to the typed word still needs an undo step, which Esc reverts.
                self.buffer.force(range, &written);
                menu.is_written = true;
                self.menu = Some(menu);
                Some(Outcome::Changed)
            }
            Action::Send => {
                let candidate = menu.candidate()?.to_owned();
                self.remove_candidate(&menu);
                self.finish(&menu.word, &candidate);
                Some(Outcome::Changed)
            }
            Action::Escape | Action::Cancel => {
                self.remove_candidate(&menu);
                Some(Outcome::Changed)
            }
            Action::Insert(_) | Action::EraseBack => {
                let outcome = self.act_in_text(action, sources);
                self.menu = self.open_menu(sources);
                Some(match outcome {
                    Outcome::Nothing => Outcome::Changed,
                    outcome => outcome,
                })
            }
            _ => None,
        }
    }

    /// A menu is open, of commands or of files.
    pub(crate) fn has_menu(&self) -> bool {
        self.menu.is_some() || self.files.is_some()
    }

    /// Moves the highlight of the open menu as the wheel turns; the text stays as it was typed. False when no menu is open.
    pub(crate) fn turn_menu(&mut self, rows: isize) -> bool {
        if self.turn_files(rows) {
            return true;
        }
        let Some(mut menu) = self.menu.take() else {
            return false;
        };
        self.remove_candidate(&menu);
        menu.is_written = false;
        menu.turn(rows);
        self.menu = Some(menu);
        true
    }

    /// Removes the selected candidate from the text again, if it is there.
    fn remove_candidate(&mut self, menu: &Menu) {
        if menu.is_written {
            self.buffer.revert();
        }
    }

    /// Writes a candidate in full, with a blank where the word ends.
    pub(super) fn finish(&mut self, word: &complete::CompletionWord, candidate: &str) -> bool {
        let cursor = self.buffer.cursor();
        let mut written = word.written(candidate, Completeness::Yes);
        let after = self.buffer.slice(cursor..self.buffer.text().len());
        if word.ends_with(candidate) && !after.starts_with(' ') {
            written.push(' ');
        }
        self.buffer
            .replace(word.start..cursor, &written, EditMerge::Whole)
    }
}
