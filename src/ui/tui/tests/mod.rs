//! Frames as text, compared with snapshots at three sizes.

mod frames;
#[path = "../../../../tests/support/snapshot.rs"]
#[allow(unreachable_pub)]
mod snapshot;
mod stage;
