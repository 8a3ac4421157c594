//! Floor 7: how a reply comes about: the plain loop of requests and tool rounds.

pub(crate) mod ask;
pub(crate) mod compact;
pub(crate) mod ending;
pub(crate) mod instructions;
mod limits;
pub(crate) mod model_target;
pub(crate) mod prompts;
pub(crate) mod system;
pub(crate) mod turn;
