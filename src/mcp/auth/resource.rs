//! What a server says of itself as a protected resource (RFC 9728): what tokens for it are for, and who grants them.

use serde_json::Value;

use super::requests::{AuthRequests, TELL, shown};
use crate::base::cancel::Cancel;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::formats::address::Address;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The metadata.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProtectedResource {
    /// Byte for byte as the server has it: authorization servers compare it so.
    pub resource: String,
    /// The authorization servers, which are called issuers.
    pub issuers: Vec<String>,
    pub scopes: Vec<String>,
}

impl ProtectedResource {
    /// Asks the server: at the address that its challenge named, else where it is for its path, else for its origin. None if it says nothing, as before
    /// 2025-06-18.
    ///
    /// # Errors
    /// It is about something else; or nothing answers.
    pub(super) fn find(
        requests: &AuthRequests,
        server: &Address,
        named: Option<&str>,
        stop: &Cancel,
    ) -> Outcome<Option<Self>> {
        let mut addresses = Vec::new();
        if let Some(named) = named {
            addresses.push(Address::parse(named).map_err(|problem| {
                Problem::refused(format!(
                    "The server names an address for its metadata that cannot be used: {problem}"
                ))
                .next(TELL)
            })?);
        }
        let path = path(&server.target).trim_end_matches('/');
        for path in [path, ""] {
            let address = Address::parse(&format!("{}{WELL_KNOWN}{path}", server.origin()))?;
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        for address in addresses {
            if let Some(value) = requests.document(&address, stop)? {
                return Self::read(&value, server).map(Some);
            }
        }
        Ok(None)
    }

    fn read(value: &Value, server: &Address) -> Outcome<Self> {
        let resource = value.get("resource").and_then(Value::as_str);
        let resource = resource.unwrap_or_default();
        if !covers(resource, server) {
            return Err(Problem::refused(format!(
                "The server at {} asks for a token that is for \"{}\", so Marvin does not sign in.",
                server.origin(),
                shown(resource)
            ))
            .next(TELL));
        }
        let texts = |key: &str| value.texts(key).into_iter().map(str::to_owned).collect();
        Ok(Self {
            resource: resource.to_owned(),
            issuers: texts("authorization_servers"),
            scopes: texts("scopes_supported"),
        })
    }
}

/// Whether a resource is the server's address, or a prefix of it by whole segments.
fn covers(resource: &str, server: &Address) -> bool {
    let Ok(own) = Address::parse(resource) else {
        return false;
    };
    if own.origin() != server.origin() || resource.contains('#') {
        return false;
    }
    if own.target.contains('?') {
        return own.target == server.target;
    }
    let own = own.target.trim_end_matches('/');
    let rest = path(&server.target).strip_prefix(own);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_the_servers_address_or_above_it() {
        let server = Address::parse("https://mcp.example/a/b?x=1").unwrap();
        for resource in [
            "https://mcp.example",
            "https://mcp.example/",
            "https://MCP.example:443/a",
            "https://mcp.example/a/",
            "https://mcp.example/a/b",
            "https://mcp.example/a/b?x=1",
        ] {
            assert!(covers(resource, &server), "{resource}");
        }
        for resource in [
            "",
            "http://mcp.example/a/b",
            "https://mcp.example:8443/a/b",
            "https://evil.example/a/b",
            "https://mcp.example.evil.example/",
            "https://mcp.example/a/bc",
            "https://mcp.example/A/b",
            "https://mcp.example/a/b/c",
            "https://mcp.example/a/b?x=2",
            "https://mcp.example/a/b#x",
            "https://mcp.example@evil.example/",
        ] {
            assert!(!covers(resource, &server), "{resource}");
        }
    }
}
