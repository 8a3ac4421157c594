//! What a sign-in of a program without a secret of its own needs (RFC 8252, OAuth 2.0 for native apps): [`pkce`] proves that the code comes back to whoever
//! asked for it, [`redirect`] reads what the browser brings, [`callback`] is the server on this machine that it brings it to. Called by the sign-ins of tools
//! and of servers; it knows no service.

pub(crate) mod callback;
pub(crate) mod pkce;
pub(crate) mod redirect;
