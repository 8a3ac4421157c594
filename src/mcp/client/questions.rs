//! Questions of a server to the person who uses it.

use serde_json::{Map, Value};

use crate::base::cancel::Cancel;

/// What a server wants to know.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Question<'a> {
    /// Values of a flat object.
    Form { message: &'a str, schema: &'a Value },
    /// That the person opens an address.
    Url { message: &'a str, url: &'a str },
    /// That the person signs in at an address: it is Marvin that asks.
    SignIn { url: &'a str },
}

/// What the person did.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// With the values of a form; an address has none.
    Accept(Map<String, Value>),
    Decline,
    Cancel,
}

/// Who answers the questions of servers.
pub(crate) trait Questions: Send + Sync {
    /// Whether forms can be answered.
    fn takes_forms(&self) -> bool;

    /// Whether an address can be opened.
    fn opens_addresses(&self) -> bool;

    /// Asks; the server's name stands in front.
    fn ask(&self, server: &str, question: Question<'_>, stop: &Cancel) -> Answer;
}
