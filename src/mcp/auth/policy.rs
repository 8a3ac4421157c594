//! Who lets Marvin sign in, and how the user is reached.

use std::sync::Arc;

use crate::mcp::client::questions::Questions;

/// Whether signing in may begin when a server wants it.
#[derive(Clone)]
pub(crate) enum SignInPolicy {
    /// Nobody is there: the refusal says what to do.
    Never,
    /// The user asked for it: the address is shown and opened at once.
    Now(Arc<dyn SignInConsole>),
    /// The user is asked first, and opens the address by agreeing.
    #[allow(dead_code, reason = "its caller is still being written")]
    Ask(Arc<dyn Questions>),
}

/// Where the user sees the address, and may paste the one at which the browser ended.
pub(crate) trait SignInConsole: Send + Sync {
    /// Shows lines.
    fn say(&self, lines: &str);

    /// Opens an address in the user's browser; false when there is none to open.
    fn open(&self, url: &str) -> bool;

    /// Whether the user can paste.
    fn takes_lines(&self) -> bool;

    /// A line that the user entered, if there is one already.
    fn line(&self) -> Option<String>;
}
