//! The layout parameters of every row: width, colours and time; and how durations are written.

use std::time::{Duration, Instant};

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// Frames of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long each frame is shown.
pub(super) const SPINNER_FRAME: Duration = Duration::from_millis(125);
/// After this long a wait names the key that ends it.
pub(super) const CANCEL_HINT_AFTER: Duration = Duration::from_secs(10);

/// What layout depends on.
#[derive(Clone, Copy)]
pub(super) struct LayoutContext<'a> {
    pub(super) width: usize,
    pub(super) theme: &'a Theme,
    pub(super) now: Instant,
}

/// The spinner of something that has been running since `since`.
pub(super) fn spinner(since: Instant, now: Instant) -> &'static str {
    let frame = now.saturating_duration_since(since).as_millis() / SPINNER_FRAME.as_millis();
    let at = usize::try_from(frame).unwrap_or_default() % SPINNER.len();
    SPINNER.get(at).copied().unwrap_or("·")
}

/// A duration as people read it: `0.4s`, `12s`, `3m 05s`.
pub(super) fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// The same for something that is running: whole seconds, so that it changes once a second.
pub(super) fn format_running(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        _ => format_duration(time),
    }
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
    fn durations_read_well() {
        assert_eq!(format_duration(Duration::from_millis(412)), "0.4s");
        assert_eq!(format_duration(Duration::from_secs(185)), "3m 05s");
        assert_eq!(format_running(Duration::from_millis(6900)), "6s");
    }
}
