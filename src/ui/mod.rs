//! Floor 7: what a person sees and types into: one session, shown by one of two faces.

pub mod editor;
pub mod keys;
pub mod markdown;
mod plain;
pub mod term;
pub mod text;

use crate::app::settings::Low;
use crate::app::setup::Start;

/// Talks with a person until he leaves; returns the exit status.
pub fn run(low: Low, start: Start) -> u8 {
    plain::run(low, start)
}
