//! Floor 5: how a reply comes about: the plain loop of requests and tool rounds.

pub mod ask;
pub mod compact;
mod ending;
pub mod instructions;
pub mod prompts;
pub mod system;
pub mod turn;
