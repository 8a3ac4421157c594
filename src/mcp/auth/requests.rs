//! Requests of a sign-in. Their addresses come from servers, so each is checked: no plain HTTP but on this machine, no private network, no redirect to another
//! origin. Only the origin of the server that the user configured is taken as it is.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::formats::address::{Address, Host};
use crate::mcp::revision::MODERN;
use crate::net::guarded_client::GuardedClient;
use crate::net::http::{Response, Timeouts};
use crate::net::service::{body, encoded, time_limit};

const MAX_BODY_BYTES: usize = 1 << 20;
/// Redirects that are followed, within an origin.
const HOPS: usize = 3;
/// A whole request with its redirects.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(20),
    silence: Duration::from_secs(10),
};

/// Sends them.
pub(super) struct AuthRequests {
    client: GuardedClient,
    own: String,
}

/// An answer.
pub(super) struct Reply {
    pub status: u16,
    /// Its body, if that is a JSON object.
    pub value: Option<Value>,
}

impl AuthRequests {
    /// For the sign-in to the server with this address.
    ///
    /// # Errors
    /// The exceptions of the guard cannot be read.
    pub(super) fn new(env: &Env, server: &Address) -> Outcome<Self> {
        let own = server.origin();
        Ok(Self {
            client: GuardedClient::new(env)?
                .with_limits(LIMITS)
                .with_own(own.clone()),
            own,
        })
    }

    /// An address to which something secret goes, or the user; `what` is what it is of.
    ///
    /// # Errors
    /// It is no address, or others could listen.
    pub(super) fn endpoint(text: &str, what: &str) -> Outcome<Address> {
        let address = Address::parse(text).map_err(|problem| {
            Problem::refused(format!(
                "The address of the {what} cannot be used: {problem}"
            ))
            .next(TELL)
        })?;
        if address.secure || is_loopback(&address.host) {
            return Ok(address);
        }
        Err(Problem::refused(format!(
            "The address of the {what} is not encrypted: {}",
            shown(text)
        ))
        .next(TELL))
    }

    /// A document of metadata at an address that a server named or that follows from its own; none if there is no such document.
    ///
    /// # Errors
    /// `Refused` when the address may not be asked; `Network` when nothing answers, or with an error of its own.
    pub(super) fn document(&self, address: &Address, stop: &Cancel) -> Outcome<Option<Value>> {
        let accept = [("accept", "application/json".to_owned())];
        let host = address.host.to_string();
        time_limit::limited(stop, REQUEST_TIMEOUT, &host, |stop| {
            let mut address = address.clone();
            for _ in 0..=HOPS {
                if address.origin() != self.own {
                    Self::endpoint(&address.to_string(), "sign-in's metadata")?;
                }
                let mut response = self.client.get(&address, &accept, stop)?;
                match response.status {
                    200 => return object(&mut response, &host),
                    301 | 302 | 303 | 307 | 308 => {
                        let next = response.header_text("location").unwrap_or_default();
                        match address.join(&next) {
                            Ok(next) if next.origin() == address.origin() => address = next,
                            _ => return Ok(None),
                        }
                    }
                    status @ 500.. => {
                        return Err(Problem::network(format!(
                            "{host} answered {status} when it was asked how to sign in."
                        ))
                        .next("Try again later."));
                    }
                    _ => return Ok(None),
                }
            }
            Ok(None)
        })
    }

    /// Posts a form; the client's own header may come with it.
    ///
    /// # Errors
    /// As [`Self::document`]; a status of any kind is an answer.
    pub(super) fn form(
        &self,
        address: &Address,
        header: Option<(&'static str, String)>,
        pairs: &[(&str, &str)],
        stop: &Cancel,
    ) -> Outcome<Reply> {
        let body = form_body(pairs);
        let kind = "application/x-www-form-urlencoded";
        self.post(address, kind, header, body.as_bytes(), stop)
    }

    /// Posts a JSON value.
    ///
    /// # Errors
    /// As [`Self::form`].
    pub(super) fn json(&self, address: &Address, value: &Value, stop: &Cancel) -> Outcome<Reply> {
        let body = value.to_string();
        self.post(address, "application/json", None, body.as_bytes(), stop)
    }

    fn post(
        &self,
        address: &Address,
        kind: &str,
        header: Option<(&'static str, String)>,
        body: &[u8],
        stop: &Cancel,
    ) -> Outcome<Reply> {
        let mut headers = vec![
            ("content-type", kind.to_owned()),
            ("accept", "application/json".to_owned()),
        ];
        headers.extend(header);
        let host = address.host.to_string();
        time_limit::limited(stop, REQUEST_TIMEOUT, &host, |stop| {
            let mut response = self.client.post(address, &headers, body, stop)?;
            Ok(Reply {
                status: response.status,
                value: object(&mut response, &host)?,
            })
        })
    }

    /// How the server answers a request without a token: its status, and what it asks for.
    ///
    /// # Errors
    /// `Network` when it does not answer.
    pub(super) fn refusal(
        &self,
        server: &Address,
        headers: &[(String, String)],
        stop: &Cancel,
    ) -> Outcome<(u16, Vec<String>)> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "marvin", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let method = "server/discover";
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}});
        let mut all = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-protocol-version", MODERN.to_owned()),
            ("mcp-method", method.to_owned()),
        ];
        all.extend(
            headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        let response = self
            .client
            .post(server, &all, message.to_string().as_bytes(), stop)?;
        Ok((response.status, response.header_values("www-authenticate")))
    }

    /// Whether the user's browser may be sent there.
    ///
    /// # Errors
    /// `Refused` when it is an address of a private network.
    pub(super) fn check(&self, address: &Address, stop: &Cancel) -> Outcome<()> {
        self.client.check(address, stop)
    }
}

/// What to do about a server that is wrong.
pub(super) const TELL: &str =
    "Check the server's address in mcp.json; if it is right, tell whoever runs the server.";

/// A form as it is sent, and the parameters of an address.
pub(super) fn form_body(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = (pairs.iter())
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    pairs.join("&")
}

/// A text of a server's in an error.
pub(super) fn shown(text: &str) -> String {
    clip(&one_line(text), 200)
}

fn object(response: &mut Response, host: &str) -> Outcome<Option<Value>> {
    let bytes = body(response, MAX_BODY_BYTES).map_err(|unread| unread.problem(host))?;
    let value = serde_json::from_slice(&bytes).ok();
    Ok(value.filter(Value::is_object))
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Ip(IpAddr::V4(ip)) => ip.is_loopback(),
        Host::Ip(IpAddr::V6(ip)) => ip.is_loopback(),
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_nowhere_in_the_clear() {
        for address in [
            "https://as.example/token",
            "http://127.0.0.1:8080/token",
            "http://[::1]/token",
            "http://localhost:1/x",
        ] {
            AuthRequests::endpoint(address, "token endpoint").unwrap();
        }
        for address in [
            "http://as.example/token",
            "http://localhost.example/",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://user:pass@as.example/",
            "/token",
            "",
        ] {
            let problem = AuthRequests::endpoint(address, "token endpoint").unwrap_err();
            assert!(problem.what.contains("token endpoint"), "{problem}");
        }
    }
}
