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
        Some(unfolded)
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
        any
    }
}
