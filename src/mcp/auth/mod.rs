//! Signing in to servers over HTTP, by the authorization of the protocol (<https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization>):
//! OAuth 2.1 for a program without a secret.
//!
//! [`signed_in`] is what a transport sees. A refusal leads to [`sign_in`], which goes step by step: [`resource`] (for what, and who grants it), [`issuer`]
//! (where that is asked), [`client`] (as whom), [`scope`] (how much), [`browser`] (the user agrees), [`token`] (what is granted). All ask by [`requests`], as
//! their addresses come from servers. What is granted is kept by [`crate::store::mcp_tokens`]. It knows no terminal: whoever can ask the user hands in a
//! [`policy`].

mod browser;
mod client;
mod issuer;
mod oauth_entry;
pub(crate) mod policy;
mod requests;
mod resource;
mod scope;
mod sign_in;
pub(crate) mod signed_in;
mod token;

#[cfg(test)]
mod tests;
