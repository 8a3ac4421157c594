//! The spinner before something that is running.

use std::time::Duration;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long each frame is shown.
pub(crate) const FRAME: Duration = Duration::from_millis(125);

/// The frame of something that has been running for `time`.
pub(crate) fn frame(time: Duration) -> &'static str {
    let count = usize::try_from(time.as_millis() / FRAME.as_millis()).unwrap_or_default();
    FRAMES.get(count % FRAMES.len()).copied().unwrap_or("·")
}
