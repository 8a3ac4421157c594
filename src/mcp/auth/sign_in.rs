//! The steps from a refusal to a token.

use super::browser::{AuthorizationRequest, authorize};
use super::client::{ClientPlan, plan, register};
use super::issuer::AuthorizationServer;
use super::oauth_entry::OauthEntry;
use super::policy::SignInPolicy;
use super::requests::{AuthRequests, shown};
use super::resource::ProtectedResource;
use super::scope::Scopes;
use super::token::{CodeGrant, TokenFailure, exchange};
use crate::base::cancel::Cancel;
use crate::base::ids;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::address::Address;
use crate::net::oauth::callback::{CallbackServer, redirect};
use crate::net::oauth::pkce::random_text;
use crate::store::mcp_tokens::{ClientRecord, McpTokens, ServerLink, StoredToken, TokenFile};

/// The server to sign in to, and how.
pub(super) struct SignIn<'a> {
    /// Its name in the configuration.
    pub name: &'a str,
    /// Its address, as configured and as read.
    pub url: &'a str,
    pub address: &'a Address,
    pub entry: &'a OauthEntry,
    pub requests: &'a AuthRequests,
    pub tokens: &'a McpTokens,
    pub policy: &'a SignInPolicy,
}

/// What a refusal asks for.
#[derive(Default)]
pub(super) struct Wanted {
    /// Where the server says what it is.
    pub metadata: Option<String>,
    pub scope: Option<String>,
    /// What was granted and is not enough.
    pub granted: Option<String>,
}

impl SignIn<'_> {
    /// Whether the server says how to sign in to it.
    ///
    /// # Errors
    /// It says so of something else; or nothing answers.
    pub(super) fn is_described(&self, stop: &Cancel) -> Outcome<bool> {
        let found = ProtectedResource::find(self.requests, self.address, None, stop)?;
        Ok(found.is_some())
    }

    /// Signs in and keeps the token.
    ///
    /// # Errors
    /// A step failed; what was kept before stays.
    pub(super) fn run(&self, wanted: &Wanted, stop: &Cancel) -> Outcome<()> {
        // A file that cannot be read is set aside when it is written.
        let file = self.tokens.read().unwrap_or_default();
        let link = file.link(self.url);
        let metadata = wanted.metadata.as_deref();
        let resource = ProtectedResource::find(self.requests, self.address, metadata, stop)?;
        let server = self.server(resource.as_ref(), link.as_ref(), stop)?;
        let plan = plan(self.entry, &server, link.as_ref())?;
        for address in [&server.authorization, &server.token] {
            self.requests.check(address, stop)?;
        }

        let mut callbacks = self.callbacks(&plan, &server, &file)?;
        let redirect = redirect(callbacks.port());
        let client = self.client(plan, &server, &file, callbacks.port(), &redirect, stop)?;
        let own_client =
            (self.entry.client_id.as_ref() == Some(&client.id)).then(|| client.id.clone());
        let next = ServerLink {
            issuer: server.issuer.clone(),
            resource: match &resource {
                Some(resource) => resource.resource.clone(),
                None => self.url.to_owned(),
            },
            client: own_client,
            sign_in: Some(ids::hex(8)),
        };
        if link.is_none() && next.client.is_some() {
            // From now on it belongs to this issuer.
            self.tokens.change(|file| file.set_link(self.url, &next))?;
        }

        let of_resource = resource.as_ref().map_or(&[][..], |own| &own.scopes);
        let scopes = Scopes {
            challenge: wanted.scope.as_deref(),
            configured: &self.entry.scopes,
            resource: of_resource,
            granted: wanted.granted.as_deref(),
            known: &server.scopes,
        };
        let (scope, state, verifier) = (scopes.request(), random_text()?, random_text()?);
        let resource = resource.map(|own| own.resource);
        let request = AuthorizationRequest {
            server: self.name,
            endpoint: &server.authorization,
            issuer: &server.issuer,
            names_itself: server.names_itself,
            client: &client.id,
            redirect: &redirect,
            scope: scope.as_deref(),
            resource: resource.as_deref(),
            state: &state,
            verifier: &verifier,
        };
        let consent = authorize(&request, &mut callbacks, self.policy, stop)?;
        let grant = CodeGrant {
            code: &consent.code,
            verifier: &verifier,
            redirect: &redirect,
            scope: scope.as_deref(),
        };
        let asked = StoredToken {
            token_endpoint: server.token.to_string(),
            revocation_endpoint: server.revocation.as_ref().map(ToString::to_string),
            resource: resource.clone(),
            client,
            ..StoredToken::default()
        };
        let token = exchange(self.requests, &grant, asked, self.tokens.now(), stop);
        let outcome = token
            .map_err(|failure| self.refused(failure, &server))
            .and_then(|token| {
                self.tokens.change(|file| {
                    file.set_link(self.url, &next);
                    file.set_token(&next, Some(&token));
                })
            });
        consent.answer(outcome.is_ok());
        outcome
    }

    /// Who grants access: an issuer that the server names, if possible the one that did before.
    fn server(
        &self,
        resource: Option<&ProtectedResource>,
        link: Option<&ServerLink>,
        stop: &Cancel,
    ) -> Outcome<AuthorizationServer> {
        let issuers = resource.map_or(&[][..], |own| &own.issuers);
        let before = link.filter(|link| issuers.contains(&link.issuer));
        match before.map(|link| &link.issuer).or(issuers.first()) {
            Some(issuer) => AuthorizationServer::find(self.requests, issuer, stop),
            None => AuthorizationServer::of_server(self.requests, self.address, stop),
        }
    }

    /// Listens for the browser: on the configured port, or the one that is registered, or a free one.
    fn callbacks(
        &self,
        plan: &ClientPlan,
        server: &AuthorizationServer,
        file: &TokenFile,
    ) -> Outcome<CallbackServer> {
        let port = self.entry.port;
        let registered = match plan {
            ClientPlan::Register(_) if port == 0 => file.registration(&server.issuer),
            _ => None,
        };
        // Not every authorization server takes another port than that which was registered, as RFC 8252 section 7.3 has it.
        let again = registered.and_then(|own| CallbackServer::open(own.port).ok());
        match again {
            Some(callbacks) => Ok(callbacks),
            None => CallbackServer::open(port).map_err(|error| {
                let what = match port {
                    0 => "No port of this machine is free for the browser's answer".to_owned(),
                    _ => format!("Port {port} of this machine cannot be used for the browser's answer"),
                };
                Problem::system(what, error)
                    .next("End the program that uses it, or change \"callbackPort\" of the server in mcp.json.")
            }),
        }
    }

    /// The client, registered anew unless that was done for this issuer and port.
    fn client(
        &self,
        plan: ClientPlan,
        server: &AuthorizationServer,
        file: &TokenFile,
        port: u16,
        redirect: &str,
        stop: &Cancel,
    ) -> Outcome<ClientRecord> {
        let address = match plan {
            ClientPlan::Known(client) => return Ok(client),
            ClientPlan::Register(address) => address,
        };
        let now = self.tokens.now();
        let known = file
            .registration(&server.issuer)
            .filter(|own| own.port == port && own.expires.is_none_or(|end| end > now));
        if let Some(known) = known {
            return Ok(known.client);
        }
        let new = register(self.requests, server, &address, port, redirect, stop)?;
        self.tokens
            .change(|file| file.set_registration(&server.issuer, Some(&new)))?;
        Ok(new.client)
    }

    /// Why there is no token for the code.
    fn refused(&self, failure: TokenFailure, server: &AuthorizationServer) -> Problem {
        match failure {
            TokenFailure::Other(problem) => problem,
            TokenFailure::InvalidGrant => Problem::new(
                ProblemKind::Auth,
                format!(
                    "{} does not take the code that the browser brought: it is too old, or was used before.",
                    shown(&server.issuer)
                ),
            )
            .next("Sign in again."),
            TokenFailure::InvalidClient(problem) if self.entry.client_id.is_some() => {
                problem.next("Check \"clientId\" and \"clientSecret\" of the server in mcp.json.")
            }
            TokenFailure::InvalidClient(problem) => {
                // The next sign-in registers anew. If that cannot be written, it is said then.
                let _ = self
                    .tokens
                    .change(|file| file.set_registration(&server.issuer, None));
                problem.next("Sign in again: Marvin is then registered anew.")
            }
        }
    }
}
