//! Floor 2: the nouns of a conversation. Pure data; nothing here opens a file or a socket.

pub mod budget;
pub mod event;
pub mod message;
pub mod repair;
pub mod tokens;
pub mod usage;
