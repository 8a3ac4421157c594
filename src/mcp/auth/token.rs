//! Requests to the token endpoint (RFC 6749 sections 4.1.3 and 6) and to the one for revocation (RFC 7009).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::requests::{AuthRequests, Reply};
use crate::base::cancel::Cancel;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::redact;
use crate::base::text::{clip, one_line};
use crate::net::service::encoded;
use crate::store::mcp_tokens::{ClientAuth, ClientRecord, StoredToken};

/// The longest life of a token that is believed, in seconds.
const MAX_TOKEN_SECONDS: i64 = 10 * 365 * 86_400;

/// What the token endpoint says no to.
pub(super) enum TokenFailure {
    /// The code or the refresh token.
    InvalidGrant,
    /// The client.
    InvalidClient(Problem),
    Other(Problem),
}

impl From<Problem> for TokenFailure {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

/// A code and what proves that it is ours.
pub(super) struct CodeGrant<'a> {
    pub code: &'a str,
    pub verifier: &'a str,
    pub redirect: &'a str,
    /// What was asked for.
    pub scope: Option<&'a str>,
}

/// Exchanges a code for a token. `before` has where, for what and as whom.
pub(super) fn exchange(
    requests: &AuthRequests,
    grant: &CodeGrant<'_>,
    before: StoredToken,
    now: i64,
    stop: &Cancel,
) -> Result<StoredToken, TokenFailure> {
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", grant.code),
        ("code_verifier", grant.verifier),
        ("redirect_uri", grant.redirect),
    ];
    let hidden = [grant.code.to_owned(), grant.verifier.to_owned()];
    let before = StoredToken {
        scope: grant.scope.unwrap_or_default().to_owned(),
        ..before
    };
    ask(requests, &pairs, &hidden, before, now, stop)
}

/// Refreshes a token.
pub(super) fn refresh(
    requests: &AuthRequests,
    token: StoredToken,
    now: i64,
    stop: &Cancel,
) -> Result<StoredToken, TokenFailure> {
    let Some(refresh) = token.refresh.clone() else {
        return Err(TokenFailure::InvalidGrant);
    };
    let pairs = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
    ];
    let hidden = [refresh.clone(), token.access.clone()];
    ask(requests, &pairs, &hidden, token, now, stop)
}

/// Takes back a token, the refresh token if there is one: what was made with it ends too.
///
/// # Errors
/// The authorization server does not answer, or refuses.
pub(super) fn revoke(requests: &AuthRequests, token: &StoredToken, stop: &Cancel) -> Outcome<()> {
    let Some(endpoint) = &token.revocation_endpoint else {
        return Ok(());
    };
    let (hint, secret) = match &token.refresh {
        Some(refresh) => ("refresh_token", refresh),
        None => ("access_token", &token.access),
    };
    let pairs = [("token", secret.as_str()), ("token_type_hint", hint)];
    let address = AuthRequests::endpoint(endpoint, "revocation")?;
    let Reply { status, value } = post(requests, &address, &pairs, &token.client, stop)?;
    if (200..300).contains(&status) {
        return Ok(());
    }
    let words = error_words(status, &value.unwrap_or_default(), &secrets(token, &[]));
    Err(Problem::new(
        ProblemKind::Auth,
        format!("{} did not revoke the token{words}.", address.host),
    ))
}

fn post(
    requests: &AuthRequests,
    address: &crate::formats::address::Address,
    pairs: &[(&str, &str)],
    client: &ClientRecord,
    stop: &Cancel,
) -> Outcome<Reply> {
    let mut pairs = pairs.to_vec();
    let secret = client.secret.as_deref().unwrap_or_default();
    let header = match client.auth {
        // Both are encoded as in a form first (RFC 6749 section 2.3.1).
        ClientAuth::Basic => {
            let both = format!("{}:{}", encoded(&client.id), encoded(secret));
            Some(("authorization", format!("Basic {}", STANDARD.encode(both))))
        }
        ClientAuth::Post => {
            pairs.extend([("client_id", client.id.as_str()), ("client_secret", secret)]);
            None
        }
        ClientAuth::None => {
            pairs.push(("client_id", &client.id));
            None
        }
    };
    requests.form(address, header, &pairs, stop)
}

/// Every secret of a token, which nothing that is said may repeat.
fn secrets(token: &StoredToken, more: &[String]) -> Vec<String> {
    let own = [
        Some(token.access.clone()),
        token.refresh.clone(),
        token.client.secret.clone(),
    ];
    own.into_iter()
        .flatten()
        .chain(more.iter().cloned())
        .collect()
}

fn ask(
    requests: &AuthRequests,
    pairs: &[(&str, &str)],
    hidden: &[String],
    before: StoredToken,
    now: i64,
    stop: &Cancel,
) -> Result<StoredToken, TokenFailure> {
    let address = AuthRequests::endpoint(&before.token_endpoint, "token endpoint")?;
    let mut pairs = pairs.to_vec();
    if let Some(resource) = &before.resource {
        pairs.push(("resource", resource));
    }
    let Reply { status, value } = post(requests, &address, &pairs, &before.client, stop)?;
    let value = value.unwrap_or_default();
    if (200..300).contains(&status) {
        let host = address.host.to_string();
        return read(&value, before, now)
            .map_err(|why| {
                Problem::network(format!("{host} gave no token that can be used: {why}."))
                    .next("Tell whoever runs the server.")
            })
            .map_err(TokenFailure::from);
    }
    let words = error_words(status, &value, &secrets(&before, hidden));
    let problem = Problem::new(
        ProblemKind::Auth,
        format!("{} gave no token{words}.", address.host),
    );
    Err(match value.text("error") {
        Some("invalid_grant") => TokenFailure::InvalidGrant,
        Some("invalid_client" | "unauthorized_client") => TokenFailure::InvalidClient(problem),
        _ if status >= 500 || status == 429 => {
            TokenFailure::Other(problem.next("Try again later."))
        }
        _ => TokenFailure::Other(problem),
    })
}

/// A token; what the answer leaves out is as it was.
fn read(value: &Value, before: StoredToken, now: i64) -> Result<StoredToken, &'static str> {
    let kind = value.text("token_type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err("it is of another kind than Bearer");
    }
    let access = value.text("access_token").ok_or("there is none")?;
    if !access.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it has characters that no header takes");
    }
    let life = value.whole("expires_in");
    let text = |key: &str| value.text(key).map(str::to_owned);
    Ok(StoredToken {
        access: access.to_owned(),
        refresh: text("refresh_token").or(before.refresh),
        expires: life.map(|life| now.saturating_add(life.clamp(0, MAX_TOKEN_SECONDS))),
        scope: text("scope").unwrap_or(before.scope),
        ..before
    })
}

/// ` (400: invalid_scope, the words of the server)`, without secrets.
pub(super) fn error_words(status: u16, value: &Value, hidden: &[String]) -> String {
    let said: Vec<&str> = ["error", "error_description"]
        .iter()
        .filter_map(|key| value.text(key))
        .collect();
    let said = said.join(", ");
    let said = clip(&one_line(&redact::secrets(&said, hidden)), 300);
    let said = said.trim_end_matches('.');
    match said.is_empty() {
        true => format!(" ({status})"),
        false => format!(" ({status}: {said})"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_keeps_what_it_leaves_out() {
        let before = StoredToken {
            refresh: Some("old".to_owned()),
            scope: "a b".to_owned(),
            ..StoredToken::default()
        };
        let answer = json!({"access_token": "new", "token_type": "bEARER", "expires_in": "60"});
        let token = read(&answer, before.clone(), 1_000).ok().unwrap();
        assert_eq!((&*token.access, token.expires), ("new", Some(1_060)));
        assert_eq!(
            (token.refresh.as_deref(), &*token.scope),
            (Some("old"), "a b")
        );
        for wrong in [
            json!({"access_token": "new"}),
            json!({"access_token": "new", "token_type": "DPoP"}),
            json!({"token_type": "Bearer"}),
            json!({"access_token": "a\nb", "token_type": "Bearer"}),
        ] {
            assert!(read(&wrong, before.clone(), 0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_error_repeats_no_secret() {
        let value = json!({"error": "invalid_request", "error_description": "code SECRET-CODE-1\u{1b}[2J is wrong."});
        let words = error_words(400, &value, &["SECRET-CODE-1".to_owned()]);
        assert_eq!(
            words,
            " (400: invalid_request, code [hidden]\\x1b[2J is wrong)"
        );
        assert_eq!(error_words(502, &Value::Null, &[]), " (502)");
    }
}
