//! Floor 8: the Model Context Protocol (<https://modelcontextprotocol.io/specification>), which programs use to offer each other tools.
//!
//! [`revision`] tells its revisions apart, [`server`] offers Marvin's tools to other programs. It knows neither a conversation nor a terminal.

mod revision;
pub(crate) mod server;
