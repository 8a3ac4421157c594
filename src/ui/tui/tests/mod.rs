//! Frames as text, compared with snapshots at three sizes.

mod frames;
mod run_time_tools;
#[path = "../../../../tests/support/snapshot.rs"]
#[allow(unreachable_pub)]
mod snapshot;
mod stage;
