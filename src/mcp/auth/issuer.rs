//! Authorization servers: where a user agrees and a token is given (RFC 8414, OpenID Connect Discovery 1.0).

use serde_json::Value;

use super::requests::{AuthRequests, TELL, shown};
use crate::base::cancel::Cancel;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::formats::address::Address;

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// An authorization server.
#[derive(Debug, Clone)]
pub(super) struct AuthorizationServer {
    /// Its name, byte for byte as it gave it.
    pub issuer: String,
    pub authorization: Address,
    pub token: Address,
    pub registration: Option<Address>,
    pub revocation: Option<Address>,
    pub scopes: Vec<String>,
    /// Ways to prove at the token endpoint who asks; none if it does not say.
    pub client_auths: Option<Vec<String>>,
    /// A client can be an address with metadata about it.
    pub takes_client_documents: bool,
    /// Its answers say whose they are (RFC 9207).
    pub names_itself: bool,
}

impl AuthorizationServer {
    /// Asks an authorization server for its metadata.
    ///
    /// # Errors
    /// It has none, or ones of another; or they cannot be used.
    pub(super) fn find(requests: &AuthRequests, issuer: &str, stop: &Cancel) -> Outcome<Self> {
        let address = AuthRequests::endpoint(issuer, "authorization server")?;
        for address in well_known(&address)? {
            if let Some(value) = requests.document(&address, stop)? {
                return Self::read(&value, &[issuer]);
            }
        }
        Err(Problem::refused(format!(
            "The authorization server {} does not say how to sign in.",
            shown(issuer)
        ))
        .next(TELL))
    }

    /// As in 2025-03-26: the server itself, at the addresses that it names or that are usual.
    ///
    /// # Errors
    /// What it names cannot be used; or nothing answers.
    pub(super) fn of_server(
        requests: &AuthRequests,
        server: &Address,
        stop: &Cancel,
    ) -> Outcome<Self> {
        let origin = server.origin();
        for address in well_known(&Address::parse(&origin)?)? {
            if let Some(value) = requests.document(&address, stop)? {
                return Self::read(&value, &[&origin, &format!("{origin}/")]);
            }
        }
        let endpoint =
            |path: &str, what: &str| AuthRequests::endpoint(&format!("{origin}{path}"), what);
        Ok(Self {
            authorization: endpoint("/authorize", "page to sign in")?,
            token: endpoint("/token", "token endpoint")?,
            registration: Some(endpoint("/register", "registration")?),
            revocation: None,
            issuer: origin,
            scopes: Vec::new(),
            client_auths: None,
            takes_client_documents: false,
            names_itself: false,
        })
    }

    /// `issuers` are the names that it may have.
    fn read(value: &Value, issuers: &[&str]) -> Outcome<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let issuer = text("issuer").unwrap_or_default();
        let wanted = issuers.first().copied().unwrap_or_default();
        if !issuers.contains(&issuer) {
            return Err(Problem::refused(format!(
                "The authorization server {} says that it is \"{}\", so Marvin does not sign in.",
                shown(wanted),
                shown(issuer)
            ))
            .next(TELL));
        }
        if !value
            .texts("code_challenge_methods_supported")
            .contains(&"S256")
        {
            return Err(Problem::refused(format!(
                "The authorization server {} does not protect the code that the browser brings (PKCE with S256), so Marvin does not sign in.",
                shown(wanted)
            ))
            .next("Tell whoever runs the server."));
        }
        let required =
            |key: &str, what: &str| AuthRequests::endpoint(text(key).unwrap_or_default(), what);
        let optional = |key: &str, what: &str| {
            text(key)
                .map(|text| AuthRequests::endpoint(text, what))
                .transpose()
        };
        let texts = |key: &str| -> Vec<String> {
            value.texts(key).into_iter().map(str::to_owned).collect()
        };
        let auths = "token_endpoint_auth_methods_supported";
        Ok(Self {
            issuer: issuer.to_owned(),
            authorization: required("authorization_endpoint", "page to sign in")?,
            token: required("token_endpoint", "token endpoint")?,
            registration: optional("registration_endpoint", "registration")?,
            revocation: optional("revocation_endpoint", "revocation")?,
            scopes: texts("scopes_supported"),
            client_auths: value.at(auths).map(|_| texts(auths)),
            takes_client_documents: value.flag("client_id_metadata_document_supported"),
            names_itself: value.flag("authorization_response_iss_parameter_supported"),
        })
    }
}

/// Where the metadata of an issuer can be, in order.
fn well_known(issuer: &Address) -> Outcome<Vec<Address>> {
    let origin = issuer.origin();
    let path = issuer.target.split('?').next().unwrap_or_default();
    let path = path.trim_end_matches('/');
    let mut addresses = vec![
        format!("{origin}{OAUTH}{path}"),
        format!("{origin}{OPENID}{path}"),
    ];
    if !path.is_empty() {
        addresses.push(format!("{origin}{path}{OPENID}"));
    }
    addresses.iter().map(|text| Address::parse(text)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn places(issuer: &str) -> Vec<String> {
        let all = well_known(&Address::parse(issuer).unwrap()).unwrap();
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_protocol() {
        let root = [
            "https://as.example/.well-known/oauth-authorization-server",
            "https://as.example/.well-known/openid-configuration",
        ];
        assert_eq!(places("https://as.example"), root);
        assert_eq!(places("https://as.example/"), root);
        assert_eq!(
            places("https://as.example/one/two"),
            [
                "https://as.example/.well-known/oauth-authorization-server/one/two",
                "https://as.example/.well-known/openid-configuration/one/two",
                "https://as.example/one/two/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn metadata_of_another_issuer_or_without_protection_is_refused() {
        let good = json!({"issuer": "https://as.example", "authorization_endpoint": "https://as.example/a", "token_endpoint": "https://as.example/t",
            "code_challenge_methods_supported": ["plain", "S256"]});
        let read = |key: &str, value: Value| {
            let mut all = good.clone();
            all[key] = value;
            AuthorizationServer::read(&all, &["https://as.example"])
        };
        assert!(read("registration_endpoint", Value::Null).is_ok());
        for (key, value, words) in [
            ("issuer", json!("https://as.example/"), "says that it is"),
            ("issuer", json!("https://AS.example"), "says that it is"),
            ("issuer", Value::Null, "says that it is"),
            ("code_challenge_methods_supported", json!(["plain"]), "PKCE"),
            ("code_challenge_methods_supported", Value::Null, "PKCE"),
            (
                "token_endpoint",
                json!("http://as.example/t"),
                "token endpoint",
            ),
            ("token_endpoint", Value::Null, "token endpoint"),
            (
                "authorization_endpoint",
                json!("javascript:x"),
                "page to sign in",
            ),
            (
                "revocation_endpoint",
                json!("http://as.example/"),
                "revocation",
            ),
        ] {
            let problem = read(key, value).unwrap_err();
            assert!(problem.what.contains(words), "{problem}");
        }
    }
}
