//! The thinking of a model: kept beside the answer, and shown dimmed when the user asks for it.

use ratatui::text::Line;

use super::layout_context::LayoutContext;
use crate::ui::markdown::split::{BYTES, LINES};
use crate::ui::text::clean::Cleaner;
use crate::ui::text::wrap;

/// Thinking that is arriving. What is complete leaves in parts of bounded size, so that a frame costs the same however long the model thinks.
#[derive(Debug, Default)]
pub(super) struct OpenThinking {
    cleaner: Cleaner,
    /// The part that is still growing, cleaned.
    open: String,
    /// Parts of it have left.
    is_continued: bool,
}

/// A part of what a model thought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThinkingPart {
    /// Cleaned.
    text: String,
    /// It continues the part before it.
    is_continued: bool,
}

impl OpenThinking {
    /// Adds a piece; returns the parts that are complete now.
    pub(super) fn push(&mut self, piece: &str) -> Vec<ThinkingPart> {
        self.cleaner.push(piece, &mut self.open);
        let mut parts = Vec::new();
        while let Some(end) = self.part_end() {
            let rest = self.open.split_off(end);
            let text = std::mem::replace(&mut self.open, rest);
            parts.extend(self.part(text));
        }
        parts
    }

    /// Ends it; returns the last part, if there is one.
    pub(super) fn finish(&mut self) -> Option<ThinkingPart> {
        let text = std::mem::take(&mut self.open);
        let part = self.part(text);
        *self = Self::default();
        part
    }

    pub(super) fn growing(&self) -> Option<ThinkingPart> {
        (!self.open.trim().is_empty()).then(|| ThinkingPart {
            text: self.open.clone(),
            is_continued: self.is_continued,
        })
    }

    fn part(&mut self, text: String) -> Option<ThinkingPart> {
        if text.trim().is_empty() {
            return None;
        }
        let is_continued = std::mem::replace(&mut self.is_continued, true);
        Some(ThinkingPart { text, is_continued })
    }

    /// Where the part ends when it is large enough: after a line, else at its limit.
    fn part_end(&self) -> Option<usize> {
        let lines = self.open.match_indices('\n').nth(LINES - 1);
        if let Some((at, _)) = lines.filter(|(at, _)| *at < BYTES) {
            return Some(at + 1);
        }
        if self.open.len() <= BYTES {
            return None;
        }
        let head = crate::base::text::head(&self.open, BYTES);
        Some(head.rfind('\n').map_or(head.len(), |at| at + 1))
    }
}

impl ThinkingPart {
    /// Its rows, indented; the first part has a heading.
    pub(super) fn rows(&self, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
        let dim = layout_ctx.theme.dim;
        let mut rows = Vec::new();
        if !self.is_continued {
            rows.extend([Line::default(), Line::styled("thinking", dim)]);
        }
        for line in self.text.trim_end_matches('\n').split('\n') {
            rows.extend(wrap::text(line, dim, layout_ctx.width, 2));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_bounded_and_nothing_is_lost(
            pieces in proptest::collection::vec("([a-zé]{0,9}\n?){0,40}|[a-z]{600}", 0..60),
        ) {
            let mut open = OpenThinking::default();
            let mut parts = Vec::new();
            for piece in &pieces {
                parts.extend(open.push(piece));
                prop_assert!(open.open.len() <= BYTES);
            }
            parts.extend(open.finish());
            let text: String = parts.iter().map(|part| part.text.as_str()).collect();
            let bare = |text: &str| text.replace('\n', "");
            prop_assert_eq!(bare(&text), bare(&pieces.concat()));
            for (index, part) in parts.iter().enumerate() {
                prop_assert!(part.text.len() <= BYTES && part.text.lines().count() <= LINES);
                prop_assert_eq!(part.is_continued, index > 0);
            }
        }
    }
}
