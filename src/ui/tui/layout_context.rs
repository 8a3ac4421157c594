//! The layout parameters of every row: width, colours and time; and how running times are written.

use std::time::{Duration, Instant};

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::formats::duration;
use crate::ui::text::spinner;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// How long each frame of the spinner is shown.
pub(super) const SPINNER_FRAME: Duration = spinner::FRAME;
/// Ends the row of everything that waits.
pub(super) const CANCEL_HINT: &str = "Esc to stop";

#[derive(Clone, Copy)]
pub(super) struct LayoutContext<'a> {
    pub(super) width: usize,
    pub(super) theme: &'a Theme,
    pub(super) now: Instant,
    /// The user wants to see what the model thinks.
    pub(super) shows_thinking: bool,
}

/// The spinner of something that has been running since `since`.
pub(super) fn spinner(since: Instant, now: Instant) -> &'static str {
    spinner::frame(now.saturating_duration_since(since))
}

/// The time of something that is running: whole seconds, so that it changes once a second.
pub(super) fn format_running(time: Duration) -> String {
    duration::compact(time)
}

/// `left` and, at the end of the row, `right`; the left one is cut when both do not fit.
pub(super) fn two_ends(left: (&str, Style), right: (&str, Style), width: usize) -> Line<'static> {
    let room = width.saturating_sub(width::of(right.0) + 1);
    let shown = width::clip(left.0, room);
    let empty_row = room.saturating_sub(width::of(&shown)) + 1;
    Line::from(vec![
        Span::styled(shown, left.1),
        Span::raw(" ".repeat(empty_row)),
        Span::styled(right.0.to_owned(), right.1),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_time_has_whole_seconds() {
        assert_eq!(format_running(Duration::from_millis(6900)), "6s");
    }
}
