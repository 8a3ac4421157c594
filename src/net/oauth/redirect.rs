//! The parameters of an authorization response (RFC 6749 section 4.1.2, RFC 9207), from the redirect or from what the user pasted.

use crate::formats::address::decoded;

/// The parameters of the redirect.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct AuthResponse {
    pub(crate) code: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) error: Option<String>,
    /// Who answers; an empty one is one.
    pub(crate) iss: Option<String>,
}

impl AuthResponse {
    /// Parses a query without its question mark. One that gives a parameter twice says nothing (RFC 6749 section 3.1).
    pub(crate) fn read(query: &str) -> Self {
        let mut back = Self::default();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(&value.replace('+', " "));
            let parameter = match name {
                "code" => &mut back.code,
                "state" => &mut back.state,
                "error" => &mut back.error,
                "iss" => &mut back.iss,
                _ => continue,
            };
            if value.is_empty() && name != "iss" {
                continue;
            }
            if parameter.replace(value).is_some() {
                return Self::default();
            }
        }
        back
    }

    /// Parses what the user pasted: a whole address, its query, or only the code, which has no state.
    pub(crate) fn pasted(text: &str) -> Self {
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
    pub(crate) fn is_bare(text: &str) -> bool {
        !text.contains(['?', '=', '/', '&'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::service::encoded;
    use proptest::prelude::*;

    #[test]
    fn pasted_input_is_parsed() {
        let both = AuthResponse {
            code: Some("A b/c".into()),
            state: Some("S".into()),
            ..AuthResponse::default()
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

    #[test]
    fn a_parameter_that_is_given_twice_says_nothing() {
        for query in [
            "code=A&code=B&state=S",
            "code=A&state=S&state=S",
            "iss=&iss=x&code=A",
        ] {
            assert_eq!(
                AuthResponse::read(query),
                AuthResponse::default(),
                "{query}"
            );
        }
        let read = AuthResponse::read("code=A&state=S&iss=");
        assert_eq!(read.iss.as_deref(), Some(""));
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
