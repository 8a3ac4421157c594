//! Frames as text, compared with snapshots at three sizes.

mod first_look;
mod frames;
mod resumed;
mod run_time_tools;
pub(super) mod stage;
