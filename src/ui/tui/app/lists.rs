//! What covers the conversation and takes its keys, the help and lists to choose from, and the folding of results.

use super::{App, HostAction};
use crate::ui::keys::Action;
use crate::ui::tui::picker::PickerOutcome;

impl App {
    pub(super) fn act_in_picker(&mut self, action: Action) {
        let Some(picker) = &mut self.picker else {
            return;
        };
        match picker.act(action) {
            PickerOutcome::Open => {}
            PickerOutcome::Closed => self.close_picker(),
            PickerOutcome::Leave => self.host_actions.push_back(HostAction::Leave(0)),
            PickerOutcome::Chosen(kind, id) => {
                self.close_picker();
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
    pub(super) fn close_picker(&mut self) {
        self.picker = None;
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
