//! The menu of files that is open while the user types a name after `@`. The files arrive from a search of the interface.

use super::complete::{self, CompletionWord, WordKind};
use super::{Editor, Outcome, changed};
use crate::app::session::ui_update::FoundFiles;
use crate::base::fuzzy::{FuzzyQuery, FuzzyScratch};
use crate::ui::keys::Action;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileMenu {
    word: CompletionWord,
    /// Paths that fit, the best first.
    pub(crate) paths: Vec<String>,
    /// The highlighted path.
    pub(crate) at: usize,
    /// How many fit; more than `paths` if there are very many.
    pub(crate) count: usize,
    /// The user has moved the highlight: it stays on its path when more arrive.
    moved: bool,
    /// The answer to what is typed has arrived in full.
    is_complete: bool,
    /// Tab came before the answer: it takes the first path when that arrives.
    takes_first: bool,
}

impl FileMenu {
    fn path(&self) -> Option<&str> {
        self.paths.get(self.at).map(String::as_str)
    }
}

/// Whether the menu of files stays as it is, or what was typed opens or closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    /// A character was typed or erased.
    Yes,
    /// Anything else happened.
    No,
}

impl Editor {
    /// The menu of files, if it is open and has something to show.
    pub(crate) fn file_menu(&self) -> Option<&FileMenu> {
        self.files.as_ref().filter(|menu| !menu.paths.is_empty())
    }

    /// The name whose files the menu needs.
    pub(crate) fn file_query(&self) -> Option<&str> {
        self.files.as_ref().map(|menu| menu.word.typed.as_str())
    }

    /// Takes files that were found. Those of an earlier query are shown as far as they fit, until newer ones arrive. True when the screen changes.
    pub(crate) fn set_found_files(&mut self, found: &FoundFiles) -> bool {
        let Some(menu) = &mut self.files else {
            return false;
        };
        if menu.word.typed != found.query {
            return false;
        }
        let highlighted = menu.path().filter(|_| menu.moved).map(str::to_owned);
        menu.paths.clone_from(&found.paths);
        menu.count = found.count;
        menu.is_complete = found.is_complete;
        let kept = highlighted.and_then(|path| menu.paths.iter().position(|one| *one == path));
        menu.at = kept.unwrap_or_default();
        if menu.takes_first && menu.is_complete {
            menu.takes_first = false;
            self.take_file();
        }
        true
    }

    /// Opens, updates or closes the menu after something happened in the input.
    pub(super) fn follow_files(&mut self, typing: Typing) {
        let word = self.file_word();
        let start = word.as_ref().map(|word| word.start);
        if self.no_files != start {
            self.no_files = None;
        }
        let Some(word) = word.filter(|_| typing == Typing::Yes && self.no_files.is_none()) else {
            self.files = None;
            return;
        };
        self.open_files(word);
    }

    fn open_files(&mut self, word: CompletionWord) {
        match &mut self.files {
            Some(menu) if menu.word.start == word.start => menu.narrow(word),
            _ => {
                self.files = Some(FileMenu {
                    word,
                    paths: Vec::new(),
                    at: 0,
                    count: 0,
                    moved: false,
                    is_complete: false,
                    takes_first: false,
                });
            }
        }
    }

    /// The name after `@` at the cursor. A line with `!` goes to a command or a shell, to whom `@` means something else.
    fn file_word(&self) -> Option<CompletionWord> {
        if self.search.is_some() || self.buffer.text().starts_with('!') {
            return None;
        }
        let word = complete::word(self.buffer.text(), self.buffer.cursor())?;
        (word.kind == WordKind::Path).then_some(word)
    }

    /// Tab in a name without an open menu: opens it and takes the first path.
    pub(super) fn complete_file(&mut self) -> Option<Outcome> {
        let word = self.file_word()?;
        self.no_files = None;
        self.open_files(word);
        if let Some(menu) = &mut self.files {
            menu.takes_first = true;
        }
        Some(Outcome::Changed)
    }

    /// What an action does while the menu is open; `None` when it is closed or the action is not for it.
    pub(super) fn act_in_files(&mut self, action: Action) -> Option<Outcome> {
        let menu = self.files.as_mut()?;
        let last = menu.paths.len().checked_sub(1);
        menu.takes_first = false;
        match (action, last) {
            (Action::Up | Action::CompleteBack, Some(last)) => {
                menu.at = menu.at.checked_sub(1).unwrap_or(last);
                menu.moved = true;
            }
            (Action::Down, Some(last)) => {
                menu.at = if menu.at < last { menu.at + 1 } else { 0 };
                menu.moved = true;
            }
            (Action::Complete, Some(_)) => return Some(changed(self.take_file())),
            (Action::Complete, None) => {
                // Nothing is there yet, or nothing fits; then the text stays.
                menu.takes_first = !menu.is_complete;
                return Some(Outcome::Nothing);
            }
            // A name that is complete is sent at once.
            (Action::Send, Some(_)) if menu.path() != Some(menu.word.typed.as_str()) => {
                return Some(changed(self.take_file()));
            }
            (Action::Escape, Some(_)) => {
                self.no_files = Some(menu.word.start);
                self.files = None;
            }
            _ => return None,
        }
        Some(Outcome::Changed)
    }

    /// Moves the highlight as the wheel turns, no further than to an end. False when the menu is closed or empty.
    pub(super) fn turn_files(&mut self, rows: isize) -> bool {
        let Some(menu) = self.files.as_mut() else {
            return false;
        };
        let Some(last) = menu.paths.len().checked_sub(1) else {
            return false;
        };
        menu.takes_first = false;
        menu.at = menu.at.saturating_add_signed(rows).min(last);
        menu.moved = true;
        true
    }

    /// Writes the highlighted path. After a folder the menu stays open for what is in it.
    fn take_file(&mut self) -> bool {
        let Some(menu) = self.files.take() else {
            return false;
        };
        let Some(path) = menu.path() else {
            return false;
        };
        self.finish(&menu.word, path);
        self.follow_files(Typing::Yes);
        true
    }
}

impl FileMenu {
    /// Keeps the paths that fit the longer or shorter name until the search has answered.
    fn narrow(&mut self, word: CompletionWord) {
        if self.word == word {
            return;
        }
        let (fuzzy, mut scratch) = (FuzzyQuery::new(&word.typed), FuzzyScratch::default());
        let highlighted = self.path().filter(|_| self.moved).map(str::to_owned);
        self.paths
            .retain(|path| fuzzy.fit(path, &mut scratch).is_some());
        let kept = highlighted.and_then(|path| self.paths.iter().position(|one| *one == path));
        self.at = kept.unwrap_or_default();
        self.moved = kept.is_some();
        self.count = self.paths.len();
        self.is_complete = false;
        self.word = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut Editor, action: Action) -> Outcome {
        editor.act(action, &())
    }

    fn type_in(editor: &mut Editor, text: &str) {
        for c in text.chars() {
            press(editor, Action::Insert(c));
        }
    }

    fn found(query: &str, paths: &[&str]) -> FoundFiles {
        FoundFiles {
            query: query.to_owned(),
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            count: paths.len(),
            is_complete: true,
        }
    }

    /// An editor with `text` typed, and `paths` found for the name at its end.
    fn with(text: &str, paths: &[&str]) -> Editor {
        let mut editor = Editor::new();
        type_in(&mut editor, text);
        let query = editor.file_query().unwrap_or_default().to_owned();
        editor.set_found_files(&found(&query, paths));
        editor
    }

    #[test]
    fn a_name_is_searched_as_soon_as_it_begins() {
        for (text, query) in [
            ("@", Some("")),
            ("see @sr", Some("sr")),
            ("see @\"my no", Some("my no")),
            ("a\n@b", Some("b")),
            ("me@home", None),
            ("see @a ", None),
            ("!npm add @types", None),
            ("", None),
        ] {
            assert_eq!(with(text, &[]).file_query(), query, "{text:?}");
        }
    }

    #[test]
    fn tab_and_enter_take_the_highlighted_path() {
        for key in [Action::Complete, Action::Send] {
            let mut editor = with("see @mai", &["src/main.rs", "mail.txt"]);
            assert_eq!(press(&mut editor, key), Outcome::Changed);
            assert_eq!(editor.text(), "see @src/main.rs ");
            assert_eq!(editor.file_query(), None);
            let mut editor = with("see @mai", &["src/main.rs", "my mail.txt"]);
            press(&mut editor, Action::Down);
            press(&mut editor, key);
            assert_eq!(editor.text(), "see @\"my mail.txt\" ");
            press(&mut editor, Action::Undo);
            assert_eq!(editor.text(), "see @mai");
        }
    }

    #[test]
    fn a_folder_is_entered() {
        let mut editor = with("@no", &["my notes/"]);
        press(&mut editor, Action::Complete);
        assert_eq!(editor.text(), "@\"my notes/");
        assert_eq!(editor.file_query(), Some("my notes/"));
    }

    #[test]
    fn a_complete_name_is_sent_at_once() {
        let mut editor = with("see @a.rs", &["a.rs", "src/a.rs"]);
        let sent = press(&mut editor, Action::Send);
        assert_eq!(sent, Outcome::Submit("see @a.rs".to_owned()));
    }

    #[test]
    fn escape_closes_the_menu_until_tab_or_another_name() {
        let mut editor = with("@a", &["a.rs"]);
        assert_eq!(press(&mut editor, Action::Escape), Outcome::Changed);
        assert_eq!(editor.file_query(), None);
        type_in(&mut editor, "b");
        assert_eq!((editor.text(), editor.file_query()), ("@ab", None));
        let escaped = press(&mut editor, Action::Escape);
        assert_eq!(escaped, Outcome::Pass(Action::Escape));
        press(&mut editor, Action::Complete);
        assert_eq!(editor.file_query(), Some("ab"));
        let mut editor = with("@a", &["a.rs"]);
        press(&mut editor, Action::Escape);
        type_in(&mut editor, " @c");
        assert_eq!(editor.file_query(), Some("c"));
    }

    #[test]
    fn what_is_typed_stays_when_nothing_fits() {
        let mut editor = with("hi @nobody", &[]);
        assert!(editor.file_menu().is_none());
        press(&mut editor, Action::Complete);
        assert_eq!(editor.text(), "hi @nobody");
        let sent = press(&mut editor, Action::Send);
        assert_eq!(sent, Outcome::Submit("hi @nobody".to_owned()));
    }

    #[test]
    fn older_matches_are_shown_as_far_as_they_fit() {
        let mut editor = with("@m", &["main.rs", "mod.rs"]);
        type_in(&mut editor, "a");
        assert_eq!(editor.file_menu().unwrap().paths, ["main.rs"]);
        // What comes late for the shorter name is not shown any more.
        assert!(!editor.set_found_files(&found("m", &["mod.rs"])));
        type_in(&mut editor, "zz");
        assert!(editor.file_menu().is_none());
    }

    #[test]
    fn tab_before_the_answer_takes_its_first_path() {
        let mut editor = Editor::new();
        type_in(&mut editor, "@ma");
        press(&mut editor, Action::Complete);
        assert_eq!(editor.text(), "@ma");
        editor.set_found_files(&found("ma", &["main.rs"]));
        assert_eq!(editor.text(), "@main.rs ");
        let mut editor = Editor::new();
        type_in(&mut editor, "@ma");
        press(&mut editor, Action::Complete);
        type_in(&mut editor, "p");
        editor.set_found_files(&found("map", &["map.rs"]));
        assert_eq!(editor.text(), "@map", "another key followed");
    }

    #[test]
    fn a_highlight_that_was_moved_stays_on_its_path() {
        let mut editor = with("@m", &["a/m", "b/m"]);
        press(&mut editor, Action::Down);
        editor.set_found_files(&found("m", &["m", "a/m", "b/m"]));
        assert_eq!(editor.file_menu().unwrap().at, 2);
        press(&mut editor, Action::Down);
        assert_eq!(editor.file_menu().unwrap().at, 0, "around the end");
        press(&mut editor, Action::Up);
        assert_eq!(editor.file_menu().unwrap().at, 2);
    }

    #[test]
    fn the_wheel_stops_at_both_ends() {
        let mut editor = with("@m", &["a/m", "b/m", "c/m"]);
        for (rows, at) in [(-3, 0), (1, 1), (5, 2), (3, 2), (-1, 1)] {
            assert!(editor.turn_menu(rows));
            assert_eq!(editor.file_menu().unwrap().at, at, "{rows}");
            assert_eq!(editor.text(), "@m");
        }
        let mut editor = with("@m", &[]);
        assert!(!editor.turn_menu(1), "there is nothing to turn");
    }

    #[test]
    fn moving_about_and_recalling_open_no_menu() {
        let mut editor = with("see @a", &["a.rs"]);
        press(&mut editor, Action::Left);
        assert_eq!(editor.file_query(), None);
        editor.set_text("see @a");
        assert_eq!(editor.file_query(), None);
        editor.paste(" and @b");
        assert_eq!(editor.file_query(), None);
    }
}
