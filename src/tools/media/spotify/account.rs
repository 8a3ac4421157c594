//! The account: provides a valid token, refreshed early and by one process at a time, and exchanges codes for tokens.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::redact;
use crate::base::variables::SPOTIFY_CLIENT_SECRET;
use crate::disk::lock::Lock;
use crate::net::keys;
use crate::net::oauth::callback::redirect;
use crate::net::service::ServiceResponse;
use crate::net::services::{KEY_ADVICE, SPOTIFY_ACCOUNTS};
use crate::store::spotify_account::{AccountToken, PendingAuth, TokenStore};
use crate::tools::engine::context::ToolContext;

/// How long to wait for another process's token refresh.
const LOCK_TIMEOUT: Duration = Duration::from_secs(8);
/// Time limit of a token refresh: the call that needs it has ten seconds.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(5);
/// Lifetime of a token if Spotify gives none, and the maximum lifetime, in seconds.
const DEFAULT_TOKEN_SECONDS: i64 = 3_600;
const MAX_TOKEN_SECONDS: i64 = 86_400;

/// The application's id.
///
/// # Errors
/// It is not set.
pub(super) fn client(ctx: &ToolContext) -> Outcome<String> {
    SPOTIFY_ACCOUNTS.key_in(&ctx.session.env).ok_or_else(|| {
        Problem::config("SPOTIFY_CLIENT_ID is not set.").next(format!(
            "Make an application in Spotify's developer dashboard with the redirect address {}, and set SPOTIFY_CLIENT_ID to its client id.",
            redirect(super::consent::port(&ctx.session.env))
        ))
        .next(KEY_ADVICE)
    })
}

/// The problem that no account is connected.
pub(super) fn unconnected() -> Problem {
    Problem::new(ProblemKind::Auth, "Spotify is not connected.").next("Call spotify_auth.")
}

/// A valid access token.
///
/// # Errors
/// No account is connected, or the sign-in has expired.
pub(super) fn access(ctx: &ToolContext) -> Outcome<String> {
    let store = super::token_store(ctx)?;
    let token = store.read()?;
    if token.is_fresh(store.now()) {
        return Ok(token.access);
    }
    if !token.is_there() {
        client(ctx)?;
        return Err(unconnected());
    }
    refreshed(ctx, &token.access)
}

/// A new access token in place of `used`, which expired or was refused. If another process was faster, its token is used.
///
/// # Errors
/// The sign-in has expired; errors of Spotify.
pub(super) fn refreshed(ctx: &ToolContext, used: &str) -> Outcome<String> {
    let store = super::token_store(ctx)?;
    let id = client(ctx)?;
    let _lock = Lock::take(&store.renewal(), LOCK_TIMEOUT, &ctx.stop)?;
    let token = store.read()?;
    if token.access != used && token.is_fresh(store.now()) {
        return Ok(token.access);
    }
    if token.refresh.is_empty() {
        return Err(unconnected());
    }
    let mut ask = ctx
        .service(&SPOTIFY_ACCOUNTS)
        .path("/api/token")
        .timeout(REFRESH_TIMEOUT);
    let secret = keys::find(&ctx.session.env, SPOTIFY_CLIENT_SECRET.name).filter(|_| !token.ours);
    if let Some(secret) = &secret {
        // A token of the original program was issued with the client secret and must be refreshed with it.
        let pair = STANDARD.encode(format!("{id}:{secret}"));
        ask = ask.secret_header("authorization", secret, format!("Basic {pair}"));
    }
    let answer = ask.form(&[
        ("grant_type", "refresh_token"),
        ("refresh_token", &token.refresh),
        ("client_id", &id),
    ])?;
    let hidden = [token.access.clone(), token.refresh.clone()];
    if error(&answer).as_deref() == Some("invalid_grant") {
        store.forget(&token)?;
        return Err(Problem::new(
            ProblemKind::Auth,
            "The sign-in to Spotify has expired: it was revoked, or is older than six months.",
        )
        .next("Call spotify_auth to sign in again."));
    }
    let new = parse_token(&answer, &hidden, store.now(), &token)?;
    store.write(&new)?;
    Ok(new.access)
}

/// Exchanges the code of a sign-in for a token and stores it.
///
/// # Errors
/// Spotify does not accept the code.
pub(super) fn exchange_code(
    ctx: &ToolContext,
    store: &TokenStore,
    pending: &PendingAuth,
    code: &str,
) -> Outcome<AccountToken> {
    let answer = ctx.service(&SPOTIFY_ACCOUNTS).path("/api/token").form(&[
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &pending.redirect),
        ("client_id", &pending.client),
        ("code_verifier", &pending.verifier),
    ])?;
    if error(&answer).as_deref() == Some("invalid_grant") {
        // A code can be used only once; the next attempt needs a new one.
        store.end();
        return Err(Problem::new(
            ProblemKind::Auth,
            "Spotify does not take this code: it was used before, is too old, or belongs to another sign-in.",
        )
        .next("Call spotify_auth without auth_code to start over."));
    }
    let before = AccountToken {
        ours: true,
        scope: super::consent::SCOPES.join(" "),
        ..AccountToken::default()
    };
    let hidden = [code.to_owned(), pending.verifier.clone()];
    let token = parse_token(&answer, &hidden, store.now(), &before)?;
    store.write(&token)?;
    store.end();
    Ok(token)
}

/// The `error` of a refused token request; it is a string here, unlike in the Web API.
fn error(answer: &ServiceResponse) -> Option<String> {
    let value = answer.value().filter(|_| !answer.is_ok())?;
    value.text("error").map(str::to_owned)
}

/// The token in a response; fields that it omits are taken from `before`.
fn parse_token(
    answer: &ServiceResponse,
    hidden: &[String],
    now: i64,
    before: &AccountToken,
) -> Outcome<AccountToken> {
    if error(answer).as_deref() == Some("invalid_client") {
        return Err(
            Problem::config("Spotify does not know the application of SPOTIFY_CLIENT_ID.")
                .next("Check SPOTIFY_CLIENT_ID, and SPOTIFY_CLIENT_SECRET if it is set."),
        );
    }
    let value = answer.json(|value| {
        let words = value
            .text("error_description")
            .or_else(|| value.text("error"));
        let words = words.or_else(|| value.text("error/message"))?;
        Some(redact::secrets(words, hidden).into_owned())
    })?;
    let access = value
        .text("access_token")
        .ok_or_else(|| answer.unreadable())?;
    if !access.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(answer.unreadable());
    }
    let life = value
        .whole("expires_in")
        .unwrap_or(DEFAULT_TOKEN_SECONDS)
        .clamp(0, MAX_TOKEN_SECONDS);
    let kept = |key: &str, old: &str| value.text(key).unwrap_or(old).to_owned();
    Ok(AccountToken {
        access: access.to_owned(),
        refresh: kept("refresh_token", &before.refresh),
        expires: now.saturating_add(life),
        scope: kept("scope", &before.scope),
        ours: before.ours,
        lacks_scope: before.lacks_scope,
    })
}
