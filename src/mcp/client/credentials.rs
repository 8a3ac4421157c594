//! What a transport over HTTP asks for before a request and after a refusal.

use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

/// What lets requests in at a server.
pub(crate) trait Credentials: Send + Sync {
    /// The value of `Authorization`, if there is one; it is refreshed when it is nearly over.
    ///
    /// # Errors
    /// The server wants the user to sign in again.
    fn authorization(&self, stop: &Cancel) -> Outcome<Option<String>>;

    /// A request was refused with this status and these values of `WWW-Authenticate`: whether to send it again.
    ///
    /// # Errors
    /// Signing in is needed and did not come about; the words say what to do.
    fn refused(&self, status: u16, challenges: &[String], stop: &Cancel) -> Outcome<bool>;
}
