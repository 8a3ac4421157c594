//! Floor 6: the state of one run: settings, profile, usage, and the modes that drive a turn.

pub mod by_hand;
pub mod chat_log;
pub mod headless;
pub mod input_history;
pub mod news;
pub mod ntfy;
pub mod profile;
pub mod session;
pub mod settings;
pub mod setup;
pub mod stream;
mod summarize;
pub mod usage_file;
pub mod variables;
pub mod watch;
