//! Who may ask: programs of this user on this machine, and no page that a browser shows.

use ring::digest::{SHA256, digest};

use crate::net::http_server::{HttpRequest, HttpResponse};

/// The one path.
const PATH: &str = "/mcp";

pub(super) struct Gate {
    /// The names under which this server is reached; a page that has its own name lead here sends another one.
    hosts: [String; 3],
    /// SHA-256 of the token, so that a comparison tells nothing by its time.
    token: Option<Vec<u8>>,
}

impl Gate {
    pub(super) fn new(port: u16, token: Option<&str>) -> Self {
        Self {
            hosts: ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}")),
            token: token.map(sha256),
        }
    }

    fn is_own(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    /// The response to a request that may not be made.
    pub(super) fn refusal(&self, request: &HttpRequest) -> Option<HttpResponse> {
        let host = request.header("host").unwrap_or_default();
        let origin = request.header("origin");
        let is_own_origin = |origin: &str| {
            origin
                .strip_prefix("http://")
                .is_some_and(|host| self.is_own(host))
        };
        if !self.is_own(host) || !origin.is_none_or(is_own_origin) {
            return Some(not_from_here());
        }
        if request.path != PATH {
            return Some(HttpResponse::words(404, "The address is /mcp."));
        }
        let given = request.header("authorization");
        // The name of a scheme is compared without case (RFC 9110 section 11.1).
        let given = given
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| sha256(token));
        if self.token.is_some() && given != self.token {
            let response = HttpResponse::words(401, "A bearer token is needed.");
            return Some(response.with("WWW-Authenticate", "Bearer"));
        }
        None
    }
}

/// The response to whom nothing else is said.
pub(super) fn not_from_here() -> HttpResponse {
    HttpResponse::words(403, "Only programs of this machine may ask.")
}

fn sha256(token: &str) -> Vec<u8> {
    digest(&SHA256, token.as_bytes()).as_ref().to_vec()
}
