//! What of the conversation is visible, and how far the user has scrolled.

use super::{Chat, Rows, ScrollAnchor, VisibleRows};
use crate::ui::tui::layout_context::LayoutContext;

impl Chat {
    /// The `height` visible rows.
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
        }
        let tail = self.tail(queue, layout_ctx);
        let last = self.last_top(height, &tail, layout_ctx);
        self.top = self.existing_top(&tail, layout_ctx);
        if self.top.is_some_and(|top| top >= last) {
            self.top = None;
        }
        let top = self.top.unwrap_or(last);
        let mut rows = Vec::with_capacity(height);
        let mut at = top.part;
        let mut skip = top.row;
        while rows.len() < height
            && let Some(part) = self.rows(at, &tail, layout_ctx)
        {
            for (row, line) in part.iter().enumerate().skip(skip).take(height - rows.len()) {
                rows.push((ScrollAnchor { part: at, row }, line.clone()));
            }
            (at, skip) = (at + 1, 0);
        }
        VisibleRows {
            rows,
            more: self.top.is_some(),
        }
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

    /// The first visible row when the last row is at the bottom.
    fn last_top(
        &mut self,
        height: usize,
        tail: &[Rows],
        layout_ctx: LayoutContext<'_>,
    ) -> ScrollAnchor {
        let end = ScrollAnchor {
            part: self.parts.len() + tail.len(),
            row: 0,
        };
        self.up(end, height, tail, layout_ctx)
    }

    /// The row `by` rows above `from`.
    fn up(
        &mut self,
        from: ScrollAnchor,
        by: usize,
        tail: &[Rows],
        layout_ctx: LayoutContext<'_>,
    ) -> ScrollAnchor {
        let mut anchor = from;
        let mut left = by;
        while left > anchor.row {
            left -= anchor.row;
            let Some(part) = anchor.part.checked_sub(1) else {
                return ScrollAnchor::default();
            };
            let rows = self
                .rows(part, tail, layout_ctx)
                .map_or(0, |rows| rows.len());
            anchor = ScrollAnchor { part, row: rows };
        }
        anchor.row -= left;
        anchor
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
        let last = self.last_top(height, &tail, layout_ctx);
        let top = self.existing_top(&tail, layout_ctx).unwrap_or(last);
        let distance = by.unsigned_abs();
        let to = if by < 0 {
            self.up(top, distance, &tail, layout_ctx)
        } else {
            self.down(top, distance, &tail, layout_ctx)
        };
        self.top = (to < last).then_some(to);
    }

    /// Scrolls to the beginning of the conversation.
    pub(in crate::ui::tui) fn go_to_top(&mut self) {
        self.top = Some(ScrollAnchor::default());
    }

    /// Scrolls to its end.
    pub(in crate::ui::tui) fn go_to_end(&mut self) {
        self.top = None;
    }
}
