//! The user agrees in the browser: where it is sent, and what it brings back.

use std::time::{Duration, Instant};

use super::policy::{SignInConsole, SignInPolicy};
use super::requests::{TELL, shown};
use super::scope::OFFLINE;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::address::Address;
use crate::mcp::client::questions::{Answer, Question};
use crate::net::oauth::callback::{Callback, CallbackServer};
use crate::net::oauth::pkce::challenge;
use crate::net::oauth::redirect::AuthResponse;

use super::requests::form_body;

/// How long the user has.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(300);
/// How long to wait for the browser before looking for a pasted line.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// What the user is to agree to.
pub(super) struct AuthorizationRequest<'a> {
    /// The name of the server in the configuration.
    pub server: &'a str,
    pub endpoint: &'a Address,
    pub issuer: &'a str,
    /// Answers of the issuer say whose they are.
    pub names_itself: bool,
    pub client: &'a str,
    pub redirect: &'a str,
    pub scope: Option<&'a str>,
    pub resource: Option<&'a str>,
    pub state: &'a str,
    pub verifier: &'a str,
}

impl AuthorizationRequest<'_> {
    /// The address for the browser.
    fn url(&self) -> String {
        let challenge = challenge(self.verifier);
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", self.client),
            ("redirect_uri", self.redirect),
            ("state", self.state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        if let Some(scope) = self.scope {
            pairs.push(("scope", scope));
            // It is asked for explicitly (<https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess>).
            if scope.split(' ').any(|one| one == OFFLINE) {
                pairs.push(("prompt", "consent"));
            }
        }
        pairs.extend(self.resource.map(|resource| ("resource", resource)));
        let separator = match self.endpoint.target.contains('?') {
            true => '&',
            false => '?',
        };
        format!("{}{separator}{}", self.endpoint, form_body(&pairs))
    }

    /// Whether an answer is one to this request; of another one nothing is looked at.
    fn is_ours(&self, response: &AuthResponse) -> bool {
        response.state.as_deref() == Some(self.state)
            && (response.code.is_some() || response.error.is_some())
    }

    /// The code in an answer to this request. Of an answer that another issuer may have sent nothing is shown (RFC 9207 section 2.4).
    fn code(&self, response: &AuthResponse) -> Outcome<String> {
        let is_of_issuer = match &response.iss {
            Some(iss) => iss == self.issuer,
            None => !self.names_itself,
        };
        if !is_of_issuer {
            return Err(Problem::refused(format!(
                "The browser's answer does not come from {}, so it was not used.",
                shown(self.issuer)
            ))
            .next(TELL));
        }
        match (&response.error, &response.code) {
            (None, Some(code)) => Ok(code.clone()),
            (Some(error), _) if error == "access_denied" => Err(Problem::new(
                ProblemKind::Declined,
                format!(
                    "Access was denied, so Marvin is not signed in to \"{}\".",
                    self.server
                ),
            )),
            (error, _) => Err(Problem::new(
                ProblemKind::Auth,
                format!(
                    "{} did not let Marvin sign in to \"{}\": {}.",
                    shown(self.issuer),
                    self.server,
                    shown(error.as_deref().unwrap_or("no code"))
                ),
            )),
        }
    }
}

/// A code, and the browser that waits to be told how it went.
pub(super) struct Consent {
    pub code: String,
    callback: Option<Callback>,
}

impl Consent {
    /// Shows the user how it went.
    pub(super) fn answer(self, worked: bool) {
        answer(self.callback, worked);
    }
}

fn answer(callback: Option<Callback>, worked: bool) {
    if let Some(callback) = callback {
        callback.answer(match worked {
            true => "Marvin is signed in. You can close this window.",
            false => "Marvin is not signed in, and says why. You can close this window.",
        });
    }
}

/// Sends the user to the browser and waits for what comes back.
///
/// # Errors
/// The user declines or does nothing, or the answer is none to this request.
pub(super) fn authorize(
    request: &AuthorizationRequest<'_>,
    callbacks: &mut CallbackServer,
    policy: &SignInPolicy,
    stop: &Cancel,
) -> Outcome<Consent> {
    let url = request.url();
    let console = match policy {
        SignInPolicy::Never => return Err(Problem::internal("Nobody can sign in here.")),
        SignInPolicy::Ask(questions) => {
            let question = Question::SignIn { url: &url };
            match questions.ask(request.server, question, stop) {
                Answer::Accept(_) => None,
                Answer::Decline | Answer::Cancel => {
                    return Err(Problem::new(
                        ProblemKind::Declined,
                        format!("You did not sign in to \"{}\".", request.server),
                    ));
                }
            }
        }
        SignInPolicy::Now(console) => {
            show(request, &url, console.as_ref());
            Some(console.as_ref())
        }
    };
    let end = Instant::now() + BROWSER_TIMEOUT;
    while Instant::now() < end {
        let is_ours = |response: &AuthResponse| request.is_ours(response);
        if let Some(callback) = callbacks.wait(&is_ours, LOOK_INTERVAL, stop)? {
            return match request.code(&callback.response) {
                Ok(code) => Ok(Consent {
                    code,
                    callback: Some(callback),
                }),
                Err(problem) => {
                    answer(Some(callback), false);
                    Err(problem)
                }
            };
        }
        let Some((console, line)) = console.and_then(|console| Some((console, console.line()?)))
        else {
            continue;
        };
        let response = AuthResponse::pasted(&line);
        if request.is_ours(&response) {
            let code = request.code(&response)?;
            return Ok(Consent {
                code,
                callback: None,
            });
        }
        if !line.trim().is_empty() {
            console.say("This is not the address at which the browser ends after this sign-in. Paste that one whole, with everything after its question mark.\n");
        }
    }
    Err(Problem::timeout(format!(
        "The browser did not come back from signing in to \"{}\" within {} s.",
        request.server,
        BROWSER_TIMEOUT.as_secs()
    ))
    .next("Sign in again. If the page said that it does not know Marvin or its address, sign out first (marvin mcp logout), so that Marvin is registered anew."))
}

fn show(request: &AuthorizationRequest<'_>, url: &str, console: &dyn SignInConsole) {
    let name = request.server;
    let mut lines = match console.open(url) {
        true => {
            format!("Opening the browser to sign in to {name}. If nothing opens, go to:\n{url}\n")
        }
        false => format!("To sign in to {name}, open this address in a browser:\n{url}\n"),
    };
    if console.takes_lines() {
        lines.push_str(
            "If the browser ends at a page that does not load, paste its address here.\n",
        );
    }
    console.say(&lines);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_request(names_itself: bool, test: impl FnOnce(&AuthorizationRequest<'_>)) {
        let endpoint = Address::parse("https://as.example/authorize?tenant=1").unwrap();
        test(&AuthorizationRequest {
            server: "tasks",
            endpoint: &endpoint,
            issuer: "https://as.example",
            names_itself,
            client: "client 1",
            redirect: "http://127.0.0.1:4711/callback",
            scope: Some("a offline_access"),
            resource: Some("https://mcp.example"),
            state: "STATE",
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        });
    }

    #[test]
    fn the_address_has_everything_that_the_answer_is_compared_with() {
        with_request(false, |request| {
            assert_eq!(
                request.url(),
                "https://as.example/authorize?tenant=1&response_type=code&client_id=client%201\
                 &redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&state=STATE\
                 &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256\
                 &scope=a%20offline_access&prompt=consent&resource=https%3A%2F%2Fmcp.example"
            );
        });
    }

    #[test]
    fn of_an_answer_that_another_issuer_may_have_sent_nothing_is_shown() {
        let read = |query: &str| AuthResponse::read(query);
        for (names_itself, query, is_taken) in [
            (false, "code=C&state=STATE", true),
            (
                false,
                "code=C&state=STATE&iss=https%3A%2F%2Fas.example",
                true,
            ),
            (
                true,
                "code=C&state=STATE&iss=https%3A%2F%2Fas.example",
                true,
            ),
            (true, "code=C&state=STATE", false),
            (true, "code=C&state=STATE&iss=", false),
            (false, "code=C&state=STATE&iss=", false),
            (
                false,
                "code=C&state=STATE&iss=https%3A%2F%2Fas.example%2F",
                false,
            ),
            (
                false,
                "error=EVIL&state=STATE&iss=https%3A%2F%2Fevil.example",
                false,
            ),
        ] {
            with_request(names_itself, |request| {
                let code = request.code(&read(query));
                assert_eq!(code.is_ok(), is_taken, "{query}");
                let shown = code.err().map(|problem| problem.one_line());
                assert!(!shown.unwrap_or_default().to_lowercase().contains("evil"));
            });
        }
        with_request(false, |request| {
            assert!(!request.is_ours(&read("code=C&state=state")));
            assert!(!request.is_ours(&read("error=access_denied")));
            assert!(!request.is_ours(&read("state=STATE")));
            let denied = request.code(&read("error=access_denied&state=STATE"));
            assert_eq!(denied.unwrap_err().kind, ProblemKind::Declined);
        });
    }
}
