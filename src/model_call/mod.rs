//! Floor 7: one call of the model within a turn: which model, what it may cost, what it is told about the user, waiting and retrying, and the model that
//! takes over. The plain loop and the reply flow both call models through it, and neither is known here.

pub(crate) mod ask;
pub(crate) mod compaction;
pub(crate) mod fallback;
pub(crate) mod limits;
pub(crate) mod model_target;
pub(crate) mod user_facts;
mod written_calls;
