//! Sign-in without a client secret (PKCE, RFC 7636): the verifier, its challenge, the authorization address, and the redirect's parameters.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

use crate::base::problem::{Outcome, Problem};
use crate::formats::address::decoded;
use crate::net::service::encoded;

pub(super) const SCOPES: [&str; 2] = ["playlist-modify-private", "playlist-modify-public"];

/// 43 random characters.
///
/// # Errors
/// The system provides no random bytes; there is no weaker fallback.
pub(super) fn random_text() -> Outcome<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::internal(format!("The system gives no random numbers: {error}."))
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a verifier (S256).
pub(super) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// The address at which the user gives consent; `accounts` is the base of Spotify's accounts service.
pub(super) fn address(
    accounts: &str,
    id: &str,
    redirect: &str,
    state: &str,
    verifier: &str,
) -> String {
    let pairs = [
        ("client_id", id),
        ("response_type", "code"),
        ("redirect_uri", redirect),
        ("scope", &SCOPES.join(" ")),
        ("state", state),
        ("code_challenge_method", "S256"),
        ("code_challenge", &challenge(verifier)),
    ];
    let pairs = pairs.map(|(name, value)| format!("{name}={}", encoded(value)));
    format!("{accounts}/authorize?{}", pairs.join("&"))
}

/// The parameters of the redirect.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct AuthResponse {
    pub(super) code: Option<String>,
    pub(super) state: Option<String>,
    pub(super) error: Option<String>,
}

impl AuthResponse {
    /// Parses a query without its question mark.
    pub(super) fn read(query: &str) -> Self {
        let mut back = Self::default();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(&value.replace('+', " "));
            if value.is_empty() {
                continue;
            }
            match name {
                "code" => back.code = Some(value),
                "state" => back.state = Some(value),
                "error" => back.error = Some(value),
                _ => {}
            }
        }
        back
    }

    /// Parses what the user pasted: a whole address, its query, or only the code, which has no state.
    pub(super) fn pasted(text: &str) -> Self {
        let text = text.trim().trim_matches(['"', '\'', '<', '>']);
        let whole = text.split('#').next().unwrap_or(text);
        if let Some((_, query)) = whole.split_once('?') {
            return Self::read(query);
        }
        if whole.starts_with("code=") || whole.starts_with("error=") || whole.contains("&code=") {
            return Self::read(whole);
        }
        // An address without a query contains no code.
        let code = (!whole.is_empty() && !whole.contains("://")).then(|| whole.to_owned());
        Self {
            code,
            ..Self::default()
        }
    }

    /// True when it is only a code.
    pub(super) fn is_bare(text: &str) -> bool {
        !text.contains(['?', '=', '/', '&'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_challenge_matches_the_standard() {
        // The example of RFC 7636, appendix B.
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        let (one, two) = (random_text().unwrap(), random_text().unwrap());
        assert!(one.len() == 43 && one != two);
    }

    #[test]
    fn pasted_input_is_parsed() {
        let both = AuthResponse {
            code: Some("A b/c".into()),
            state: Some("S".into()),
            error: None,
        };
        for text in [
            "http://127.0.0.1:8888/callback?code=A%20b%2Fc&state=S",
            " \"http://127.0.0.1:8888/callback?state=S&code=A+b%2Fc#_\" ",
            "code=A%20b%2Fc&state=S",
            "?code=A%20b%2Fc&state=S",
        ] {
            assert_eq!(AuthResponse::pasted(text), both, "{text}");
        }
        assert_eq!(
            AuthResponse::pasted(" AQDx-_ ").code.as_deref(),
            Some("AQDx-_")
        );
        assert_eq!(
            AuthResponse::pasted("http://127.0.0.1:8888/callback"),
            AuthResponse::default()
        );
        let denied =
            AuthResponse::pasted("http://127.0.0.1:8888/callback?error=access_denied&state=S");
        assert_eq!(
            (denied.code, denied.error.as_deref()),
            (None, Some("access_denied"))
        );
    }

    proptest! {
        #[test]
        fn a_code_survives_its_way(code in "[ -~é]{1,40}", state in "[A-Za-z0-9_-]{1,43}") {
            let back = AuthResponse::pasted(&format!("http://127.0.0.1:1/callback?code={}&state={state}", encoded(&code)));
            prop_assert_eq!(back.code, Some(code));
            prop_assert_eq!(back.state, Some(state));
        }

        #[test]
        fn any_pasted_text_is_accepted(text in ".{0,80}") {
            let _ = AuthResponse::pasted(&text);
        }
    }
}
