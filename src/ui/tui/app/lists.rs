//! What covers the conversation and takes its keys, the help and lists to choose from, and the folding of results.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::App;
use crate::app::choice::ChoiceList;
use crate::ui::keys::Action;
use crate::ui::tui::overlay::Overlay;
use crate::ui::tui::picker::{Picker, PickerOutcome};

/// Letters that arrive this soon after a list that nobody asked for were meant for the input.
const IN_TRANSIT: Duration = Duration::from_millis(500);

/// A list that came by itself, at the first start.
#[derive(Default)]
pub(super) struct UnaskedList {
    /// They wait until the input is empty.
    held: VecDeque<ChoiceList>,
    /// It is on the screen since then.
    shown: Option<(ChoiceList, Instant)>,
}

impl App {
    /// Shows a list that nobody asked for, once no key can be meant for anything else.
    pub(super) fn offer_list(&mut self, list: ChoiceList) {
        self.unasked_list.held.push_back(list);
        self.show_unasked_list();
    }

    /// Shows the list that waits, once nothing else is in its way.
    pub(super) fn show_unasked_list(&mut self) {
        let is_free = self.overlay.is_none() && self.editor.is_empty();
        if is_free && let Some(list) = self.unasked_list.held.pop_front() {
            self.unasked_list.shown = Some((list.clone(), Instant::now()));
            self.overlay = Some(Overlay::List(Picker::new(list)));
        }
    }

    /// True when a letter came too soon after the list to be meant for it: it belongs to the message that is being typed, and the list waits for that.
    fn takes_back_list(&mut self, action: Action) -> bool {
        let is_letter = matches!(action, Action::Insert(_));
        let shown = self.unasked_list.shown.take();
        let soon = shown.filter(|(_, at)| at.elapsed() < IN_TRANSIT);
        let Some((list, _)) = soon.filter(|_| is_letter) else {
            return false;
        };
        self.close_overlay();
        self.unasked_list.held.push_front(list);
        true
    }

    pub(super) fn act_in_overlay(&mut self, action: Action) {
        if self.takes_back_list(action) {
            return self.act(action);
        }
        let Some(overlay) = &mut self.overlay else {
            return;
        };
        let kind = overlay.kind();
        match overlay.act(action) {
            PickerOutcome::Open => {}
            PickerOutcome::Closed => {
                self.close_overlay();
                kind.into_iter()
                    .for_each(|kind| self.session.choice_closed(kind));
                self.receive();
            }
            PickerOutcome::Answered(line) => {
                self.close_overlay();
                self.session.answer_prompt(line);
                self.receive();
            }
            PickerOutcome::Leave => self.leave(0),
            PickerOutcome::Chosen(kind, id) => {
                self.close_overlay();
                self.session.choose_from_list(kind, &id);
                self.receive();
            }
            PickerOutcome::Pass => self.pass(action),
        }
    }

    /// Unfolds or folds the tool result in view; pressed again, all of them like that one, and then back and forth.
    pub(super) fn unfold_more(&mut self) {
        let Some(all) = self.unfolds_all else {
            self.unfolds_all = self.chat.unfold_in_view(&self.placed.rows);
            match self.unfolds_all {
                Some(true) => self.say("Unfolded; again: all of them."),
                Some(false) => self.say("Folded; again: all of them."),
                None => self.say("There is no tool result to unfold."),
            }
            return;
        };
        let all = match self.chat.set_all_unfolded(all) {
            true => all,
            // It was the only one that was different.
            false => !all,
        };
        self.chat.set_all_unfolded(all);
        self.unfolds_all = Some(!all);
        self.say(match all {
            true => "All results unfolded, also those to come.",
            false => "All results folded.",
        });
    }

    /// A question that came under the list must be seen before a key answers it.
    pub(super) fn close_overlay(&mut self) {
        self.overlay = None;
        self.hidden();
    }

    /// True when the help handled the key.
    pub(super) fn act_in_help(&mut self, action: Action) -> bool {
        let page = self.placed.height.max(2) - 1;
        let ten = self.ten();
        let Some(at) = &mut self.help else {
            return false;
        };
        match action {
            Action::PageDown | Action::Insert(' ') => *at += page,
            Action::PageUp => *at = at.saturating_sub(page),
            Action::TenDown => *at = at.saturating_add_signed(ten),
            Action::TenUp => *at = at.saturating_add_signed(-ten),
            Action::Down | Action::ScrollDown => *at += 1,
            Action::Up | Action::ScrollUp => *at = at.saturating_sub(1),
            Action::Top => *at = 0,
            Action::Bottom => *at = usize::MAX / 2,
            Action::Quit | Action::QuitIfEmpty | Action::Suspend | Action::Redraw => return false,
            // The first letter of what is typed next belongs to that.
            Action::Insert(_) => {
                self.help = None;
                return false;
            }
            _ => self.help = None,
        }
        true
    }
}
