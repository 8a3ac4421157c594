//! Floor 7: the agent loop of requests and tool rounds that produces a reply.

pub(crate) mod ask;
pub(crate) mod compact;
pub(crate) mod ending;
pub(crate) mod fallback;
mod limits;
pub(crate) mod model_target;
pub(crate) mod prompts;
pub(crate) mod system;
pub(crate) mod turn;
