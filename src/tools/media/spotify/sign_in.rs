//! `spotify_auth`: starts a sign-in and waits for the callback, or takes the address that the user pasted.

use std::time::Duration;

use super::SpotifyAuth;
use super::account::{access, client, exchange_code};
use super::consent::{SCOPES, address, port};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, escape_controls};
use crate::chat::event::{Event, Level};
use crate::net::oauth::callback::{Callback, CallbackServer, redirect};
use crate::net::oauth::pkce::random_text;
use crate::net::oauth::redirect::AuthResponse;
use crate::net::services::SPOTIFY_ACCOUNTS;
use crate::proc::browser;
use crate::store::spotify_account::{AccountToken, PendingAuth, TokenStore};
use crate::tools::engine::context::ToolContext;

/// How long to wait for the browser.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(120);

/// Signs in.
///
/// # Errors
/// No application is configured; the user refused or did not respond; Spotify does not accept the code.
pub(super) fn sign_in(ctx: &ToolContext, args: SpotifyAuth) -> Outcome<String> {
    let store = super::token_store(ctx)?;
    let given = args.auth_code.trim();
    if !given.is_empty() {
        return pasted(ctx, &store, given);
    }
    if let Some(words) = connected(ctx, &store)? {
        return Ok(words);
    }
    let id = client(ctx)?;
    // Without a user present, no callback can come within the call.
    let attended = ctx.approval.is_attended();
    let wanted = port(&ctx.session.env);
    if !attended {
        let pending = begin(&store, &id, wanted)?;
        return Ok(paste_instructions(
            "",
            &url(ctx, &pending),
            &pending.redirect,
        ));
    }
    let mut server = match CallbackServer::open(wanted) {
        Ok(server) => server,
        Err(reason) => {
            let pending = begin(&store, &id, wanted)?;
            let reason = format!(
                "Port {wanted} of this machine cannot be used ({}), so the browser's answer cannot be callback here.\n",
                crate::base::problem::io_words(&reason)
            );
            return Ok(paste_instructions(
                &reason,
                &url(ctx, &pending),
                &pending.redirect,
            ));
        }
    };
    let pending = begin(&store, &id, server.port())?;
    let url = url(ctx, &pending);
    let opened = browser::open(&ctx.session.env, &url);
    ctx.listener.emit(Event::Notice(
        Level::Info,
        if opened {
            format!("Opening the browser to sign in to Spotify. If nothing opens, go to:\n{url}")
        } else {
            format!("To sign in to Spotify, open this address in a browser:\n{url}")
        },
    ));
    ctx.progress(format!(
        "waiting up to {} s for the browser",
        BROWSER_TIMEOUT.as_secs()
    ));
    // Forging a refusal gains nothing, and a user who refused should see the result at once.
    let is_ours = |response: &AuthResponse| {
        response.error.is_some()
            || (response.code.is_some() && response.state.as_ref() == Some(&pending.state))
    };
    match server.wait(&is_ours, BROWSER_TIMEOUT, &ctx.stop)? {
        Some(callback) => finish(ctx, &store, &pending, callback),
        None => Err(Problem::limit(format!("Spotify did not redirect the browser back within {} s.", BROWSER_TIMEOUT.as_secs()))
            .next(format!("Open {url} and agree; then call spotify_auth with the address that the browser ends at as auth_code."))),
    }
}

/// The message if the account is already connected.
fn connected(ctx: &ToolContext, store: &TokenStore) -> Outcome<Option<String>> {
    // An unreadable file is rewritten by the sign-in.
    let Ok(token) = store.read() else {
        return Ok(None);
    };
    let parse_token: Vec<&str> = token.scope.split_whitespace().collect();
    let enough = parse_token.is_empty() || SCOPES.iter().all(|scope| parse_token.contains(scope));
    if !token.is_there() || token.lacks_scope || !enough {
        return Ok(None);
    }
    match access(ctx) {
        Ok(_) => Ok(Some(format!(
            "Spotify is connected already. {}",
            state(&store.read()?)
        ))),
        Err(problem) if problem.kind == ProblemKind::Auth => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The token's expiry and scopes, as text.
fn state(token: &AccountToken) -> String {
    let until = jiff::Timestamp::from_second(token.expires).map_or_else(
        |_| String::new(),
        |time| {
            format!(
                "The token is valid until {} UTC and is refreshed automatically.",
                time.strftime("%Y-%m-%d %H:%M")
            )
        },
    );
    if token.scope.is_empty() {
        until
    } else {
        format!(
            "{until} Scopes: {}.",
            clip(&escape_controls(&token.scope), 200)
        )
    }
}

/// A new sign-in, or the pending one if it is recent.
fn begin(store: &TokenStore, id: &str, port: u16) -> Outcome<PendingAuth> {
    let redirect = redirect(port);
    if let Some(pending) = store.reusable(id, &redirect)? {
        return Ok(pending);
    }
    let pending = PendingAuth {
        state: random_text()?,
        verifier: random_text()?,
        redirect,
        client: id.to_owned(),
    };
    store.begin(&pending)?;
    Ok(pending)
}

fn url(ctx: &ToolContext, pending: &PendingAuth) -> String {
    let accounts = SPOTIFY_ACCOUNTS.base_in(&ctx.session.env);
    address(
        accounts,
        &pending.client,
        &pending.redirect,
        &pending.state,
        &pending.verifier,
    )
}

/// How to sign in when no browser can be redirected here.
fn paste_instructions(reason: &str, url: &str, redirect: &str) -> String {
    format!(
        "{reason}Open this address in a browser and give consent:\n{url}\n\
         The browser ends at an address that begins with {redirect} (the page itself may not load). \
         Within an hour call spotify_auth with that whole address as auth_code."
    )
}

/// Completes the sign-in with the browser's callback.
fn finish(
    ctx: &ToolContext,
    store: &TokenStore,
    pending: &PendingAuth,
    callback: Callback,
) -> Outcome<String> {
    let outcome = taken(ctx, store, pending, &callback.response);
    callback.answer(match &outcome {
        Ok(_) => "Spotify is connected. You can close this window.",
        Err(_) => "Spotify is not connected. Marvin says why; you can close this window.",
    });
    outcome
}

fn taken(
    ctx: &ToolContext,
    store: &TokenStore,
    pending: &PendingAuth,
    back: &AuthResponse,
) -> Outcome<String> {
    if let Some(error) = &back.error {
        store.end();
        let what = if error == "access_denied" {
            "Spotify was not connected: access denied.".to_owned()
        } else {
            format!(
                "Spotify was not connected: {}.",
                clip(&escape_controls(error), 100)
            )
        };
        return Err(Problem::refused(what).next("Call spotify_auth again to be asked again."));
    }
    let code = back.code.as_deref().ok_or_else(|| {
        Problem::input("The address contains no code.")
            .next("Paste the whole address that the browser ended at, with everything after its question mark.")
    })?;
    let token = exchange_code(ctx, store, pending, code)?;
    Ok(format!("Spotify is connected. {}", state(&token)))
}

/// Handles a code or an address that the user pasted.
fn pasted(ctx: &ToolContext, store: &TokenStore, given: &str) -> Outcome<String> {
    let pending = store.pending()?.ok_or_else(|| {
        Problem::input("No sign-in to Spotify was started within the last hour.")
            .next("Call spotify_auth without auth_code first, and open the address that it gives.")
    })?;
    let back = AuthResponse::pasted(given);
    if back.error.is_none()
        && back.code.is_some()
        && !AuthResponse::is_bare(given)
        && back.state.as_deref() != Some(&pending.state)
    {
        return Err(Problem::refused(
            "The address does not belong to the pending sign-in (wrong state). It was not used.",
        )
        .next("Call spotify_auth without auth_code, open the address that it gives, and paste where that ends."));
    }
    taken(ctx, store, &pending, &back)
}
