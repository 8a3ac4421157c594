//! The tools of a reply, what a model means by the names it writes, and a call as it was written or planned.

pub(crate) mod aliases;
pub(crate) mod call;
pub(crate) mod catalogue;
pub(crate) mod session_tools;
pub(crate) mod step;
pub(crate) mod tool_set;
