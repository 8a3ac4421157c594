//! Failures below HTTP, and the one place that describes them.

use std::time::Duration;

use super::proxies::Proxy;
use crate::base::problem::{Problem, ProblemKind};

#[derive(Debug)]
pub(crate) enum NetError {
    Cancelled,
    /// A timeout, with its phase and length.
    TimedOut(RequestPhase, Duration),
    /// The connection was closed or reset.
    Broken {
        /// Before the first byte of the response.
        early: bool,
        /// The system's error text.
        reason: String,
    },
    /// No connection could be made.
    Unreachable(String),
    /// The proxy refused the connection, with its status if it sent one.
    ProxyRefused(Option<u16>),
    /// The server's certificate is not trusted.
    Untrusted(String),
    /// The body cannot be decompressed.
    Garbled(String),
    NotHttp(String),
}

/// Phases with a timeout of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestPhase {
    Connect,
    FirstByte,
    /// No data within the body.
    Silence,
}

/// The other side of a request, as messages call it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer<'a> {
    name: &'a str,
    address: Option<&'a str>,
    proxy: Option<&'a Proxy>,
}

impl<'a> From<&'a str> for Peer<'a> {
    fn from(name: &'a str) -> Self {
        Self {
            name,
            address: None,
            proxy: None,
        }
    }
}

impl<'a> From<&'a String> for Peer<'a> {
    fn from(name: &'a String) -> Self {
        Self::from(name.as_str())
    }
}

impl<'a> Peer<'a> {
    /// Adds the address, for names that do not tell it.
    #[must_use]
    pub(crate) fn at(self, address: &'a str) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }

    /// Adds the proxy, if there is one.
    #[must_use]
    pub(crate) fn through(self, proxy: Option<&'a Proxy>) -> Self {
        Self { proxy, ..self }
    }

    /// ` at ADDRESS through the proxy HOST:PORT (VARIABLE)`, as far as known.
    fn route(&self) -> String {
        let at = self
            .address
            .map_or_else(String::new, |address| format!(" at {address}"));
        let through = self.proxy.map_or_else(String::new, |proxy| {
            format!(
                " through the proxy {} ({})",
                proxy.host_port, proxy.variable
            )
        });
        at + &through
    }
}

impl NetError {
    /// What happened, as a sentence.
    pub(crate) fn what(&self, peer: Peer<'_>) -> String {
        let (name, way) = (peer.name, peer.route());
        match self {
            Self::Cancelled => Problem::cancelled().what,
            Self::TimedOut(phase, limit) => {
                let limit = limit.as_secs();
                match phase {
                    RequestPhase::Connect => {
                        format!("{name} could not be reached{way} within {limit} s.")
                    }
                    RequestPhase::FirstByte => format!("{name} sent nothing for {limit} s."),
                    RequestPhase::Silence => {
                        format!("{name} fell silent in mid-reply for {limit} s.")
                    }
                }
            }
            Self::Broken {
                early: true,
                reason: cause,
            } => {
                format!("{name} closed the connection without an answer: {cause}.")
            }
            Self::Broken {
                early: false,
                reason: cause,
            } => {
                format!("The reply of {name} broke off: {cause}.")
            }
            Self::Unreachable(cause) => format!("{name} cannot be reached{way}: {cause}."),
            Self::ProxyRefused(status) => {
                let cause = match status {
                    Some(407) => {
                        "the proxy asks for a name and a password, or refuses those it got (407)"
                            .to_owned()
                    }
                    Some(status) => format!("the proxy answered {status}"),
                    None => "the proxy did not answer".to_owned(),
                };
                format!("{name} cannot be reached{way}: {cause}.")
            }
            Self::Untrusted(cause) => {
                format!("The certificate of {name}{way} is not trusted: {cause}.")
            }
            Self::Garbled(cause) => format!("The reply of {name} cannot be decompressed: {cause}."),
            Self::NotHttp(cause) => match peer.address {
                Some(address) => format!(
                    "What answers at {address} does not speak HTTP as {name} should: {cause}."
                ),
                None => format!("{name} does not speak HTTP there: {cause}."),
            },
        }
    }

    /// What the user can do about it.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::ProxyRefused(Some(407)) => {
                "Put them in the variable, as http://USER:PASSWORD@HOST:PORT; other than letters and digits as %XX."
            }
            Self::ProxyRefused(_) => {
                "Check the proxy's variable and its rules; NO_PROXY names hosts that are reached without it."
            }
            Self::Untrusted(_) => {
                "If a proxy or server of your own signs with its own authority, put that authority's certificate (PEM) in a file and set SSL_CERT_FILE to its path."
            }
            Self::Garbled(_) => {
                "Try again; if it stays so, the server or a proxy on the way is broken."
            }
            _ => "Check the address and the network connection, or try again later.",
        }
    }

    /// The problem, with the caller's own advice.
    pub(crate) fn problem_with<'a>(&self, peer: impl Into<Peer<'a>>, advice: String) -> Problem {
        let kind = match self {
            Self::Cancelled => return Problem::cancelled(),
            Self::ProxyRefused(Some(407)) => ProblemKind::Auth,
            _ => ProblemKind::Network,
        };
        Problem::new(kind, self.what(peer.into())).next(advice)
    }

    /// The problem of a failed request to `peer`.
    pub(crate) fn problem<'a>(&self, peer: impl Into<Peer<'a>>) -> Problem {
        self.problem_with(peer, self.advice().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::net::proxies::ProxyRoute;

    #[test]
    fn a_message_says_who_where_and_through_which_proxy() {
        let env = Env::from([("HTTPS_PROXY", "http://ann:secret@proxy.lan:3128")]);
        let route = ProxyRoute::for_url(&env, "https://api.example.org").unwrap();
        let peer = Peer::from("groq")
            .at("https://api.example.org")
            .through(route.proxy.as_ref());
        let way = "at https://api.example.org through the proxy proxy.lan:3128 (HTTPS_PROXY)";
        let refused = NetError::Unreachable("connection refused".to_owned());
        assert_eq!(
            refused.problem(peer).what,
            format!("groq cannot be reached {way}: connection refused.")
        );
        let barred = NetError::ProxyRefused(Some(407)).problem(peer);
        assert_eq!(barred.kind, ProblemKind::Auth);
        assert!(barred.what.contains(way) && barred.what.ends_with("(407)."));
        let late = NetError::TimedOut(RequestPhase::Connect, Duration::from_secs(10));
        assert_eq!(
            late.problem("OMDb").what,
            "OMDb could not be reached within 10 s."
        );
        assert!(NetError::Cancelled.problem("OMDb").is_cancelled());
    }
}
