//! Floor 8: the plain loop of requests and tool rounds that produces a reply.

pub(crate) mod ending;
mod more_rounds;
mod overhead;
pub(crate) mod prompts;
pub(crate) mod system;
pub(crate) mod turn;
mod window;
