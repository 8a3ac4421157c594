//! The effect of each action on the input, a running search, and the history.

use std::ops::Range;

use super::buffer::Buffer;
use super::complete::Sources;
use super::file_menu::Typing;
use super::folded::MARK;
use super::kill::Side;
use super::search::HistorySearch;
use super::undo::EditMerge;
use super::view::{self, Vertical};
use super::{Editor, Outcome, changed, layout};
use crate::ui::keys::{self, Action};

/// Width for laying out rows before the first frame.
const DEFAULT_WIDTH: usize = 80;

impl Editor {
    /// Performs the action of a key; `sources` is used only by completion.
    pub(crate) fn act(&mut self, action: Action, sources: &dyn Sources) -> Outcome {
        if keys::is_for_the_interface(action) {
            return Outcome::Pass(action);
        }
        if let Some(outcome) = self.act_in_files(action) {
            return outcome;
        }
        if action == Action::Complete
            && self.menu.is_none()
            && let Some(outcome) = self.complete_file()
        {
            return outcome;
        }
        let outcome = if self.search.is_some() {
            self.act_in_search(action, sources)
        } else if let Some(outcome) = self.act_in_menu(action, sources) {
            outcome
        } else {
            self.act_in_text(action, sources)
        };
        self.follow_files(match action {
            Action::Insert(_) | Action::EraseBack => Typing::Yes,
            _ => Typing::No,
        });
        outcome
    }

    pub(super) fn act_in_text(&mut self, action: Action, sources: &dyn Sources) -> Outcome {
        self.settle_for(action);
        let buffer = &mut self.buffer;
        match action {
            Action::Insert(c) => {
                let outcome = self.insert(c.encode_utf8(&mut [0; 4]));
                self.suggest(sources);
                outcome
            }
            Action::Send => self.send(),
            Action::Newline => changed(buffer.insert("\n", EditMerge::Whole)),
            Action::Left => changed(buffer.go(buffer.left())),
            Action::Right => changed(buffer.go(buffer.right())),
            Action::WordLeft => changed(buffer.go(buffer.word_left())),
            Action::WordRight => changed(buffer.go(buffer.word_right())),
            Action::LineStart => changed(buffer.go(buffer.line().start)),
            Action::LineEnd => changed(buffer.go(buffer.line().end)),
            Action::Up => self.vertical(Vertical::Up),
            Action::Down => self.vertical(Vertical::Down),
            Action::EraseBack => {
                let erased = buffer.replace(buffer.left()..buffer.cursor(), "", EditMerge::Erased);
                self.suggest(sources);
                changed(erased)
            }
            Action::EraseForward => {
                changed(buffer.replace(buffer.cursor()..buffer.right(), "", EditMerge::Erased))
            }
            Action::KillWordBack => self.kill(Side::Before, |b| b.word_left()..b.cursor()),
            Action::KillBlankBack => self.kill(Side::Before, |b| b.blank_left()..b.cursor()),
            Action::KillWordForward => self.kill(Side::After, |b| b.cursor()..b.word_right()),
            Action::KillLine => self.kill(Side::Before, whole_line),
            Action::KillToEnd => self.kill(Side::After, to_end),
            Action::Yank => self.yank(),
            Action::YankPop => self.yank_pop(),
            Action::UnfoldPaste => self.toggle_paste(),
            Action::Undo => changed(buffer.undo()),
            Action::Redo => changed(buffer.redo()),
            Action::Search => {
                self.search = Some(HistorySearch::default());
                Outcome::Changed
            }
            Action::Complete => self.complete(sources),
            Action::CompleteBack => Outcome::Nothing,
            other => Outcome::Pass(other),
        }
    }

    /// Ends the state of multi-key commands that this action does not continue.
    fn settle_for(&mut self, action: Action) {
        let (in_history, goal, yanked) = (self.in_history, self.goal, self.yanked.take());
        let kills = matches!(
            action,
            Action::KillWordBack
                | Action::KillBlankBack
                | Action::KillWordForward
                | Action::KillLine
                | Action::KillToEnd
        );
        if !kills {
            self.ring.seal();
        }
        let vertical = matches!(action, Action::Up | Action::Down);
        self.in_history = vertical && in_history;
        self.goal = goal.filter(|_| vertical);
        self.yanked = yanked.filter(|_| action == Action::YankPop);
    }

    /// Submits, unless the input is empty or a backslash before the cursor asks for a new line.
    fn send(&mut self) -> Outcome {
        let cursor = self.buffer.cursor();
        let line = self.buffer.slice(self.buffer.line().start..cursor);
        let escaped = line.ends_with('\\') && !line.ends_with("\\\\");
        if escaped && self.buffer.line().end == cursor {
            return changed(
                self.buffer
                    .replace(cursor - 1..cursor, "\n", EditMerge::Whole),
            );
        }
        if self.buffer.text().trim().is_empty() {
            return Outcome::Nothing;
        }
        let text = self.whole_text();
        self.buffer = Buffer::default();
        self.history.end_walk();
        self.top = 0;
        Outcome::Submit(text)
    }

    /// A row up or down, or an entry of the history at the first or last row.
    fn vertical(&mut self, direction: Vertical) -> Outcome {
        let width = if self.width == 0 {
            DEFAULT_WIDTH
        } else {
            self.width
        };
        if !self.in_history {
            let (text, cursor) = (self.buffer.text(), self.buffer.cursor());
            if let Some((to, goal)) = view::vertical(text, cursor, width, self.goal, direction) {
                self.goal = Some(goal);
                return changed(self.buffer.go(to));
            }
        }
        let entry = match direction {
            Vertical::Up => self.history.older(&self.whole_text()),
            Vertical::Down => self.history.newer(&self.whole_text()),
        };
        let Some(entry) = entry else {
            return Outcome::Nothing;
        };
        let entry = super::paste::clean(&entry);
        self.buffer = Buffer::of(self.folded.refold(&entry).into_owned());
        self.in_history = true;
        self.top = 0;
        Outcome::Changed
    }

    /// Folds the paste that the cursor is in, if it is shown in full. Else puts a folded one in full into the text: the one before the cursor, else the one
    /// after it, else the last; without any, folds the last.
    fn toggle_paste(&mut self) -> Outcome {
        let buffer = &self.buffer;
        let shown = self.folded.shown_in_full(buffer.text(), buffer.cursor());
        let is_at_cursor =
            |range: &Range<usize>| (range.start..=range.end).contains(&buffer.cursor());
        if let Some(range) = shown.clone().filter(is_at_cursor) {
            return self.fold_paste(range);
        }
        let is_paste = |range: &Range<usize>| buffer.slice(range.clone()).starts_with(MARK);
        let last = || {
            let at = buffer.text().rfind(MARK)?;
            Some(at..layout::next(buffer.text(), at))
        };
        let near = [
            buffer.left()..buffer.cursor(),
            buffer.cursor()..buffer.right(),
        ];
        let Some(range) = near.into_iter().find(is_paste).or_else(last) else {
            return shown.map_or(Outcome::Nothing, |range| self.fold_paste(range));
        };
        let whole = self.folded.unfold(buffer.slice(range.clone())).into_owned();
        changed(self.buffer.replace(range, &whole, EditMerge::Whole))
    }

    fn fold_paste(&mut self, range: Range<usize>) -> Outcome {
        let Some(cluster) = self.folded.fold(self.buffer.slice(range.clone())) else {
            return Outcome::Nothing;
        };
        changed(self.buffer.replace(range, &cluster, EditMerge::Whole))
    }

    fn kill(&mut self, side: Side, what: fn(&Buffer) -> Range<usize>) -> Outcome {
        let range = what(&self.buffer);
        self.ring.kill(self.buffer.slice(range.clone()), side);
        changed(self.buffer.replace(range, "", EditMerge::Whole))
    }

    fn yank(&mut self) -> Outcome {
        let start = self.buffer.cursor();
        let Some(text) = self.ring.last() else {
            return Outcome::Nothing;
        };
        self.yanked = Some(start..start + text.len());
        changed(self.buffer.insert(text, EditMerge::Whole))
    }

    fn yank_pop(&mut self) -> Outcome {
        let Some(range) = self.yanked.take() else {
            return Outcome::Nothing;
        };
        let Some(text) = self.ring.rotate() else {
            return Outcome::Nothing;
        };
        self.yanked = Some(range.start..range.start + text.len());
        changed(self.buffer.replace(range, text, EditMerge::Whole))
    }

    /// Enter, Tab and motions move the match into the input, where it can be checked and sent; Esc and Ctrl-C leave the input unchanged.
    fn act_in_search(&mut self, action: Action, sources: &dyn Sources) -> Outcome {
        let Some(search) = &mut self.search else {
            return Outcome::Nothing;
        };
        let entries = self.history.entries();
        match action {
            Action::Insert(c) => search.push(c.encode_utf8(&mut [0; 4]), entries),
            Action::EraseBack => search.pop(entries),
            Action::Search | Action::Up => search.older(entries),
            Action::Down => search.newer(entries),
            Action::Escape | Action::Cancel => self.search = None,
            Action::Send | Action::Complete | Action::Left | Action::Right => self.accept_found(),
            other => {
                self.accept_found();
                // The match is in the input now, whatever the action does next.
                return match self.act_in_text(other, sources) {
                    Outcome::Nothing => Outcome::Changed,
                    outcome => outcome,
                };
            }
        }
        Outcome::Changed
    }

    fn accept_found(&mut self) {
        let Some(search) = self.search.take() else {
            return;
        };
        if let Some((text, at)) = search.found() {
            let all = 0..self.buffer.text().len();
            self.buffer.replace(all, text, EditMerge::Whole);
            self.buffer.go(at);
        }
    }
}

/// The line of the cursor; if it is empty, the newline before it.
fn whole_line(buffer: &Buffer) -> Range<usize> {
    let line = buffer.line();
    if line.is_empty() {
        line.start.saturating_sub(1)..line.end
    } else {
        line
    }
}

/// The rest of the line; at its end the newline.
fn to_end(buffer: &Buffer) -> Range<usize> {
    let (cursor, end) = (buffer.cursor(), buffer.line().end);
    cursor..if cursor == end { buffer.right() } else { end }
}
