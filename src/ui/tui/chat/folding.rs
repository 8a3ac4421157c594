//! Tool results in full, one or all of them.

use super::{Chat, ChatPart, ScrollAnchor};

impl Chat {
    /// Expands or collapses the last tool result; false when there is none.
    pub(in crate::ui::tui) fn unfold(&mut self) -> bool {
        self.unfold_in_view(&[]).is_some()
    }

    /// Expands or collapses the last tool result of these rows, else the last of all; whether it is expanded now. `None` when there is none.
    pub(in crate::ui::tui) fn unfold_in_view(&mut self, rows: &[ScrollAnchor]) -> Option<bool> {
        let is_result = |part: Option<&ChatPart>| matches!(part, Some(ChatPart::Tool(_)));
        let mut seen = rows.iter().rev().map(|row| row.part);
        let seen = seen.find(|at| is_result(self.parts.get(*at)));
        let last = || self.parts.iter().rposition(|part| is_result(Some(part)));
        let at = seen.or_else(last)?;
        let Some(ChatPart::Tool(call)) = self.parts.get_mut(at) else {
            return None;
        };
        call.unfolded = !call.unfolded;
        let unfolded = call.unfolded;
        self.cached.remove(&at);
        self.realign();
        if !unfolded {
            self.show_beginning_of(at);
        } else if self.top.is_none() {
            // What grows below must not push out of sight where it begins.
            self.top = rows.first().copied();
        }
        Some(unfolded)
    }

    /// Scrolls to the beginning of a part that the first visible row is in: what is folded away cannot stay there.
    fn show_beginning_of(&mut self, part: usize) {
        if let Some(top) = self.top.as_mut().filter(|top| top.part == part) {
            top.row = 0;
        }
    }

    /// Expands all tool results, also those to come, or collapses them. False when they were so already.
    pub(in crate::ui::tui) fn set_all_unfolded(&mut self, unfolded: bool) -> bool {
        self.unfold_all = unfolded;
        let mut any = false;
        for part in &mut self.parts {
            if let ChatPart::Tool(call) = part {
                any |= call.unfolded != unfolded;
                call.unfolded = unfolded;
            }
        }
        self.cached.clear();
        self.realign();
        let top = self.top.map(|top| top.part);
        let folded =
            top.filter(|at| !unfolded && matches!(self.parts.get(*at), Some(ChatPart::Tool(_))));
        folded.into_iter().for_each(|at| self.show_beginning_of(at));
        any
    }
}
