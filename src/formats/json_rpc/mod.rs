//! JSON-RPC 2.0 (<https://www.jsonrpc.org/specification>), one object a line: the messages of the Agent Client Protocol and of the Model Context Protocol.
//!
//! [`message`] reads a line of the other side and makes one for it; [`open_requests`] are the requests to it that have no answer yet. The lines themselves are
//! read by [`super::json_lines`]. Batches are part of neither protocol but for one revision. Both sides may ask: which methods there are is their callers'
//! business.

mod message;
pub(crate) mod open_requests;

pub(crate) use message::{Incoming, RpcError, RpcId};
