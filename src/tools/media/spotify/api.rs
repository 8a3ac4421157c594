//! Requests to Spotify's Web API on behalf of the user, and messages for its errors.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::account::{access, refreshed};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::net::service::{RequestBuilder, ServiceResponse};
use crate::net::services::SPOTIFY_API;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::name;

/// The longest requested wait that is granted.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(10);

/// The API client of one call.
pub(super) struct Api<'a> {
    ctx: &'a ToolContext,
    token: String,
    max_wait: Duration,
    end: Instant,
}

impl<'a> Api<'a> {
    /// Authorizes the call; its requests may take `time` in total.
    ///
    /// # Errors
    /// No account is connected, or the sign-in has expired.
    pub(super) fn open(ctx: &'a ToolContext, time: Duration) -> Outcome<Self> {
        let end = Instant::now() + time;
        Ok(Self {
            ctx,
            token: access(ctx)?,
            max_wait: MAX_RETRY_WAIT,
            end,
        })
    }

    /// Limits the wait before a retry: the call itself has no more time.
    #[must_use]
    pub(super) fn max_wait(mut self, time: Duration) -> Self {
        self.max_wait = time;
        self
    }

    /// Gives further requests `time` from now.
    pub(super) fn extend(&mut self, time: Duration) {
        self.end = Instant::now() + time;
    }

    /// Sends the request built by `make`, once more after a token refresh if the token is refused.
    pub(super) fn send(
        &mut self,
        make: &dyn Fn(RequestBuilder<'a>) -> Outcome<ServiceResponse>,
    ) -> Outcome<Value> {
        let mut answer = self.once(make)?;
        if answer.status == 401 {
            self.token = refreshed(self.ctx, &self.token)?;
            answer = self.once(make)?;
        }
        classify(self.ctx, &answer)
    }

    fn once(
        &self,
        make: &dyn Fn(RequestBuilder<'a>) -> Outcome<ServiceResponse>,
    ) -> Outcome<ServiceResponse> {
        let left = self.end.saturating_duration_since(Instant::now());
        let bearer = format!("Bearer {}", self.token);
        make(
            self.ctx
                .service(&SPOTIFY_API)
                .secret_header("authorization", &self.token, bearer)
                .max_retry_wait(self.max_wait)
                .timeout(left.max(Duration::from_secs(1)))
                .path("/v1"),
        )
    }
}

/// The Web API nests its error in an object; the token endpoint sends a string.
fn message(value: &Value) -> Option<String> {
    let words = value
        .text("error/message")
        .or_else(|| value.text("error_description"));
    words.or_else(|| value.text("error")).map(str::to_owned)
}

fn classify(ctx: &ToolContext, answer: &ServiceResponse) -> Outcome<Value> {
    let value = answer.value();
    let words = value
        .as_ref()
        .and_then(message)
        .map(|words| answer.quoted(&words));
    let render = words.as_deref().map_or_else(String::new, |words| {
        format!(": {}", words.trim_end_matches('.'))
    });
    match (answer.status, value) {
        (401, _) => Err(Problem::new(ProblemKind::Auth, format!("Spotify does not take the sign-in{render}."))
            .next("Call spotify_auth to sign in again.")),
        (403, _) if render.to_lowercase().contains("scope") => {
            lacks_scope(ctx);
            Err(Problem::new(ProblemKind::Auth, format!("The sign-in to Spotify does not allow this{render}."))
                .next("Call spotify_auth and agree to changing playlists."))
        }
        (403, _) => Err(Problem::refused(format!("Spotify refused the request (403){render}."))
            .next("The playlist may be another's, the user may not be on the application's list of users (five at most), or its owner may have no Premium.")),
        (404, _) => Err(Problem::missing(format!("Spotify does not have this (404){render}.")).next("Check the id.")),
        (_, Some(value)) if answer.is_ok() && value.at("error").is_none() && value.is_object() => Ok(value),
        (_, None) if answer.is_ok() && answer.bytes.trim_ascii().is_empty() => Ok(Value::Null),
        (_, Some(_)) if answer.is_ok() && words.is_some() => {
            Err(Problem::network(format!("Spotify refused{render}.")).next("Try again later."))
        }
        _ if answer.is_ok() => Err(answer.unreadable()),
        _ => Err(answer.refused(words.as_deref())),
    }
}

/// Records that the next sign-in has to ask the user for consent again.
fn lacks_scope(ctx: &ToolContext) {
    let store = super::token_store(ctx);
    let marked = store.and_then(|store| {
        let mut token = store.read()?;
        token.lacks_scope = true;
        store.write(&token)
    });
    // The user is told even if that could not be saved.
    let _ = marked;
}

/// The names of a list of artists.
pub(super) fn artists(value: &Value) -> Option<String> {
    let names: Vec<String> = value
        .list("artists")
        .iter()
        .filter_map(|artist| name(artist, "name"))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The URI of an object, even if only its id is known.
pub(super) fn uri(value: &Value, kind: &str) -> Option<String> {
    name(value, "uri").or_else(|| Some(format!("spotify:{kind}:{}", name(value, "id")?)))
}

/// The web link of an object.
pub(super) fn web(value: &Value) -> Option<String> {
    name(value, "external_urls/spotify").filter(|link| link.starts_with("https://"))
}
