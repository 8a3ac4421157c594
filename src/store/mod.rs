//! Floor 4: what Marvin keeps for a user: one owner for each file.

pub mod calendar;
pub mod chat_log;
pub mod input_history;
pub mod preferences;
pub mod profiles;
pub mod subscriptions;
pub mod tickets;
pub mod usage;
