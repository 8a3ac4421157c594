//! As whom Marvin asks an authorization server: as the configured client, as one that a document describes, or as one that it registers there (RFC 7591).

use serde_json::json;

use super::issuer::AuthorizationServer;
use super::oauth_entry::OauthEntry;
use super::requests::{AuthRequests, Reply, shown};
use super::token::error_words;
use crate::base::cancel::Cancel;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::address::Address;
use crate::store::mcp_tokens::{ClientAuth, ClientRecord, Registration, ServerLink};

/// How to come by a client.
pub(super) enum ClientPlan {
    /// It is known.
    Known(ClientRecord),
    /// It is registered at this address.
    Register(Address),
}

/// The first way that applies.
///
/// # Errors
/// There is none, or the configured client belongs to another issuer.
pub(super) fn plan(
    entry: &OauthEntry,
    server: &AuthorizationServer,
    link: Option<&ServerLink>,
) -> Outcome<ClientPlan> {
    if let Some(id) = &entry.client_id {
        let bound = link.filter(|link| link.client.as_ref() == Some(id));
        if let Some(link) = bound.filter(|link| link.issuer != server.issuer) {
            return Err(Problem::refused(format!(
                "The configured client id was used with {} and is not given to {}, to which the server leads now.",
                shown(&link.issuer),
                shown(&server.issuer)
            ))
            .next("If the change is right, sign out with \"marvin mcp logout NAME\" and set \"clientId\" in mcp.json anew."));
        }
        let secret = entry.client_secret.clone();
        return Ok(ClientPlan::Known(ClientRecord {
            id: id.clone(),
            auth: match secret {
                Some(_) => secret_auth(server)?,
                None => ClientAuth::None,
            },
            secret,
        }));
    }
    if let Some(url) = &entry.metadata_url
        && server.takes_client_documents
    {
        return Ok(ClientPlan::Known(ClientRecord {
            id: url.clone(),
            ..ClientRecord::default()
        }));
    }
    match &server.registration {
        Some(address) => Ok(ClientPlan::Register(address.clone())),
        None => Err(Problem::config(format!(
            "The authorization server {} registers no clients itself.",
            shown(&server.issuer)
        ))
        .next("Register a client there and set \"oauth\": {\"clientId\": \"…\", \"clientSecret\": \"…\"} of the server in mcp.json; the secret only if there is one.")),
    }
}

fn lists(server: &AuthorizationServer, auth: ClientAuth) -> bool {
    let listed = server.client_auths.as_ref();
    listed.is_some_and(|all| all.iter().any(|name| name == auth.name()))
}

/// How a client with a secret proves that it has it; `client_secret_basic` where nothing is said (RFC 8414 section 2).
fn secret_auth(server: &AuthorizationServer) -> Outcome<ClientAuth> {
    match &server.client_auths {
        None => Ok(ClientAuth::Basic),
        Some(all) => [ClientAuth::Basic, ClientAuth::Post]
            .into_iter()
            .find(|auth| lists(server, *auth))
            .ok_or_else(|| unknown_ways(server, all)),
    }
}

/// What a new client asks for.
fn new_auth(server: &AuthorizationServer) -> Outcome<ClientAuth> {
    match &server.client_auths {
        None => Ok(ClientAuth::None),
        Some(_) if lists(server, ClientAuth::None) => Ok(ClientAuth::None),
        Some(_) => secret_auth(server),
    }
}

fn unknown_ways(server: &AuthorizationServer, all: &[String]) -> Problem {
    Problem::refused(format!(
        "The authorization server {} takes clients only by {}, which Marvin does not know.",
        shown(&server.issuer),
        shown(&all.join(", "))
    ))
}

/// Registers Marvin with a redirect to this port.
///
/// # Errors
/// The authorization server refuses.
pub(super) fn register(
    requests: &AuthRequests,
    server: &AuthorizationServer,
    address: &Address,
    port: u16,
    redirect: &str,
    stop: &Cancel,
) -> Outcome<Registration> {
    let auth = new_auth(server)?;
    let wanted = json!({
        "client_name": "Marvin",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": auth.name(),
    });
    let Reply { status, value } = requests.json(address, &wanted, stop)?;
    let value = value.unwrap_or_default();
    let id = value
        .text("client_id")
        .filter(|_| (200..300).contains(&status));
    let Some(id) = id else {
        return Err(Problem::new(
            ProblemKind::Auth,
            format!(
                "The authorization server {} did not register Marvin{}.",
                shown(&server.issuer),
                error_words(status, &value, &[])
            ),
        )
        .next("Register a client there yourself and set \"oauth\": {\"clientId\": \"…\"} of the server in mcp.json."));
    };
    let secret = value.text("client_secret").map(str::to_owned);
    let given = match value.text("token_endpoint_auth_method") {
        Some(name) => {
            ClientAuth::of(name).ok_or_else(|| unknown_ways(server, &[name.to_owned()]))?
        }
        None => auth,
    };
    Ok(Registration {
        client: ClientRecord {
            id: id.to_owned(),
            auth: match secret {
                Some(_) => given,
                None => ClientAuth::None,
            },
            secret,
        },
        port,
        expires: (value.whole("client_secret_expires_at")).filter(|end| *end > 0),
    })
}
