//! Floor 6: the state of one run: settings, profile, usage, and the modes that drive a turn.

pub mod direct_call;
pub mod headless;
pub mod profile;
pub mod run_notice;
pub mod session;
pub mod settings;
pub mod setup;
pub mod stream;
mod summarize;
pub mod variables;
pub mod watch;
