//! What of the conversation is visible, and how far the user has scrolled.
//!
//! The end of the conversation is at the bottom, next to the input, also where there are fewer rows than the screen has. Rows go up when something is added
//! and never come down by themselves: where the end becomes shorter (a wait is over, a draft is replaced), empty rows stay until something fills them.

use std::cmp::Reverse;

use super::{Chat, Rows, ScrollAnchor, VisibleRows};
use crate::ui::tui::layout_context::LayoutContext;

/// The beginning of a frame: so many empty rows, then this row of the conversation. The greater of two is further down in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FrameTop {
    anchor: ScrollAnchor,
    blank: Reverse<usize>,
}

impl From<ScrollAnchor> for FrameTop {
    fn from(anchor: ScrollAnchor) -> Self {
        Self {
            anchor,
            blank: Reverse(0),
        }
    }
}

impl Chat {
    pub(in crate::ui::tui) fn visible_rows(
        &mut self,
        height: usize,
        queue: &[String],
        layout_ctx: LayoutContext<'_>,
    ) -> VisibleRows {
        let layout_ctx = self.with_choices(layout_ctx);
        let layout = Some((layout_ctx.width, *layout_ctx.theme));
        if std::mem::replace(&mut self.layout, layout) != layout {
            self.cached.clear();
            self.realign();
        }
        let tail = self.tail(queue, layout_ctx);
        let last = self.last_top(height, &tail, layout_ctx);
        self.top = self.existing_top(&tail, layout_ctx);
        if self.top.is_some_and(|top| top >= last.anchor) {
            self.top = None;
        }
        let at_end = self.drawn_top.filter(|drawn| {
            self.top.is_none()
                && *drawn > last
                && self.fills_half(*drawn, height, &tail, layout_ctx)
        });
        let top = self.top.map_or(at_end.unwrap_or(last), FrameTop::from);
        self.drawn_top = Some(top);
        let blank = top.blank.0.min(height);
        let height = height - blank;
        let mut rows = Vec::with_capacity(height);
        let mut at = top.anchor.part;
        let mut skip = top.anchor.row;
        while rows.len() < height
            && let Some(part) = self.rows(at, &tail, layout_ctx)
        {
            for (row, line) in part.iter().enumerate().skip(skip).take(height - rows.len()) {
                rows.push((ScrollAnchor { part: at, row }, line.clone()));
            }
            (at, skip) = (at + 1, 0);
        }
        VisibleRows {
            blank,
            rows,
            more: self.top.is_some(),
        }
    }

    /// Whether a frame that begins here has rows in more than half of it. Else too much has gone for empty rows to be calm.
    fn fills_half(
        &mut self,
        from: FrameTop,
        height: usize,
        tail: &[Rows],
        layout_ctx: LayoutContext<'_>,
    ) -> bool {
        let mut shown = from.blank.0;
        let mut at = from.anchor;
        while shown <= height / 2 {
            let Some(rows) = self.rows(at.part, tail, layout_ctx) else {
                return false;
            };
            shown += rows.len().saturating_sub(at.row);
            at = ScrollAnchor {
                part: at.part + 1,
                row: 0,
            };
        }
        true
    }

    /// The next frame has the end of the conversation at the bottom, wherever the last one had it.
    pub(in crate::ui::tui) fn realign(&mut self) {
        self.drawn_top = None;
    }

    /// The first visible row, as far as the user has scrolled up. Its part may have fewer rows by now: it was folded, or the screen became wider.
    fn existing_top(
        &mut self,
        tail: &[Rows],
        layout_ctx: LayoutContext<'_>,
    ) -> Option<ScrollAnchor> {
        let top = self.top?;
        let rows = self.rows(top.part, tail, layout_ctx);
        let last_row = rows.map_or(0, |rows| rows.len().saturating_sub(1));
        Some(ScrollAnchor {
            row: top.row.min(last_row),
            ..top
        })
    }

    /// How the frame begins when the last row is at the bottom.
    fn last_top(
        &mut self,
        height: usize,
        tail: &[Rows],
        layout_ctx: LayoutContext<'_>,
    ) -> FrameTop {
        let end = ScrollAnchor {
            part: self.parts.len() + tail.len(),
            row: 0,
        };
        self.up(end, height, tail, layout_ctx)
    }

    /// The row `by` rows above `from`, with empty ones above the first.
    fn up(
        &mut self,
        from: ScrollAnchor,
        by: usize,
        tail: &[Rows],
        layout_ctx: LayoutContext<'_>,
    ) -> FrameTop {
        let mut anchor = from;
        let mut left = by;
        while left > anchor.row {
            left -= anchor.row;
            let Some(part) = anchor.part.checked_sub(1) else {
                return FrameTop {
                    anchor: ScrollAnchor::default(),
                    blank: Reverse(left),
                };
            };
            let rows = self
                .rows(part, tail, layout_ctx)
                .map_or(0, |rows| rows.len());
            anchor = ScrollAnchor { part, row: rows };
        }
        anchor.row -= left;
        anchor.into()
    }

    /// The row `by` rows below `from`, or beyond the end.
    fn down(
        &mut self,
        from: ScrollAnchor,
        by: usize,
        tail: &[Rows],
        layout_ctx: LayoutContext<'_>,
    ) -> ScrollAnchor {
        let mut anchor = from;
        let mut left = by;
        while let Some(rows) = self.rows(anchor.part, tail, layout_ctx) {
            let here = rows.len().saturating_sub(anchor.row);
            if left < here {
                anchor.row += left;
                return anchor;
            }
            left -= here;
            anchor = ScrollAnchor {
                part: anchor.part + 1,
                row: 0,
            };
        }
        anchor
    }

    /// Scrolls by rows, up when negative; `height` rows are visible.
    pub(in crate::ui::tui) fn scroll(
        &mut self,
        by: isize,
        height: usize,
        queue: &[String],
        layout_ctx: LayoutContext<'_>,
    ) {
        let layout_ctx = self.with_choices(layout_ctx);
        let tail = self.tail(queue, layout_ctx);
        let last = self.last_top(height, &tail, layout_ctx).anchor;
        let top = self.existing_top(&tail, layout_ctx).unwrap_or(last);
        let distance = by.unsigned_abs();
        let to = if by < 0 {
            self.up(top, distance, &tail, layout_ctx).anchor
        } else {
            self.down(top, distance, &tail, layout_ctx)
        };
        self.top = (to < last).then_some(to);
        self.realign();
    }

    /// Scrolls to the beginning of the conversation.
    pub(in crate::ui::tui) fn go_to_top(&mut self) {
        self.top = Some(ScrollAnchor::default());
    }

    pub(in crate::ui::tui) fn go_to_end(&mut self) {
        self.top = None;
        self.realign();
    }
}
