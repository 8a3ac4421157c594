//! The credentials of a server: a stored token, refreshed in time and by one process at a time, and a sign-in when the server asks for one.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::oauth_entry::OauthEntry;
use super::policy::SignInPolicy;
use super::requests::AuthRequests;
use super::scope::covers;
use super::sign_in::{SignIn, Wanted};
use super::token::{TokenFailure, refresh, revoke};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, one_line};
use crate::disk::lock::Lock;
use crate::disk::paths::Paths;
use crate::formats::address::Address;
use crate::formats::www_authenticate::Challenge;
use crate::mcp::client::credentials::Credentials;
use crate::mcp::config::entry::{HttpReach, Reach, ServerEntry};
use crate::store::mcp_tokens::{FileStamp, McpTokens, StoredToken};

/// Sign-ins to a server within a session: one that asks for another scope each time is not followed for ever.
const MAX_SIGN_INS: usize = 3;
/// Times that a request may be sent again.
const MAX_REPEATS: usize = 6;
/// How long to wait for another process that refreshes the token.
const LOCK_TIMEOUT: Duration = Duration::from_secs(45);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Requests that are remembered until their threads begin others.
const MAX_REQUESTS: usize = 256;

/// What a session knows of the sign-in to a server.
pub(crate) struct SignedIn {
    name: String,
    url: String,
    address: Address,
    entry: OauthEntry,
    headers: Vec<(String, String)>,
    /// One of these says already who asks.
    has_header: bool,
    requests: AuthRequests,
    tokens: McpTokens,
    policy: SignInPolicy,
    state: Mutex<State>,
    /// Held while signing in.
    signing: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// The file's content as far as it is about this server.
    read: Option<(FileStamp, Option<StoredToken>)>,
    sign_ins: usize,
    /// The last request of each thread: it is sent again by the thread that was refused.
    requests: Vec<(ThreadId, RequestState)>,
}

/// How far a request has come.
#[derive(Clone, Default)]
struct RequestState {
    /// The token that it had.
    used: Option<String>,
    /// It is about to be sent again.
    is_repeated: bool,
    repeats: usize,
    is_refreshed: bool,
    is_signed_in: bool,
}

impl SignedIn {
    /// Reads nothing yet.
    ///
    /// # Errors
    /// The entry, or a variable of the environment, cannot be used.
    pub(crate) fn new(
        name: &str,
        reach: &HttpReach,
        env: &Env,
        clock: &Clock,
        policy: SignInPolicy,
    ) -> Outcome<Self> {
        let address = Address::parse(&reach.url)?;
        Ok(Self {
            name: name.to_owned(),
            url: reach.url.clone(),
            entry: OauthEntry::read(&reach.oauth)?,
            has_header: (reach.headers.iter())
                .any(|(name, _)| name.eq_ignore_ascii_case("authorization")),
            headers: reach.headers.clone(),
            requests: AuthRequests::new(env, &address)?,
            address,
            tokens: McpTokens::of(&Paths::new(env), clock)?,
            policy,
            state: Mutex::default(),
            signing: Mutex::default(),
        })
    }

    /// The credentials of a configured server; none for one that is a program.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn of(
        entry: &ServerEntry,
        env: &Env,
        clock: &Clock,
        policy: SignInPolicy,
    ) -> Outcome<Option<Self>> {
        match &entry.reach {
            Reach::Stdio { .. } => Ok(None),
            Reach::Http(reach) | Reach::Sse(reach) => {
                Self::new(&entry.name, reach, env, clock, policy).map(Some)
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What tells the account from others that is signed in; `None` where nobody is.
    pub(crate) fn account(&self) -> Option<String> {
        self.tokens.account(&self.url).filter(|_| !self.has_header)
    }

    /// Signs in without waiting for a request to be refused; false when the server asks for no sign-in.
    ///
    /// # Errors
    /// A step of it failed.
    pub(crate) fn sign_in_now(&self, stop: &Cancel) -> Outcome<bool> {
        if self.has_header {
            return Err(self.header_is_set(
                "has a header Authorization in its configuration, so there is nothing to sign in to",
            ));
        }
        let sign_in = || {
            let (status, challenges) = self.requests.refusal(&self.address, &self.headers, stop)?;
            let bearer = bearer(&challenges);
            if status != 401 && bearer.is_none() && !self.steps().is_described(stop)? {
                return Ok(false);
            }
            self.steps().run(&wanted(bearer.as_ref()), stop)?;
            Ok(true)
        };
        sign_in().map_err(|problem| self.named(problem))
    }

    /// A failure with the server's name: the steps know only whom they ask.
    fn named(&self, problem: Problem) -> Problem {
        if problem.is_cancelled() || problem.what.contains(&format!("\"{}\"", self.name)) {
            return problem;
        }
        let name = clip(&one_line(&self.name), 64);
        Problem {
            what: format!("Signing in to {name} failed: {}", problem.what),
            ..problem
        }
    }

    /// Revokes the token where that is possible and forgets it; what did not work is told. False when there was none.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn sign_out(&self, stop: &Cancel) -> Outcome<(bool, Option<Problem>)> {
        let file = self.tokens.read()?;
        let Some(link) = file.link(&self.url) else {
            return Ok((false, None));
        };
        let revoked = match file.token(&link) {
            Some(token) => revoke(&self.requests, &token, stop),
            None => Ok(()),
        };
        self.tokens.change(|file| file.forget(&self.url))?;
        Ok((true, revoked.err()))
    }

    fn steps(&self) -> SignIn<'_> {
        SignIn {
            name: &self.name,
            url: &self.url,
            address: &self.address,
            entry: &self.entry,
            requests: &self.requests,
            tokens: &self.tokens,
            policy: &self.policy,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token in the file, which is read when it has changed: another process may have signed in, out, or refreshed.
    fn current(&self) -> Outcome<Option<StoredToken>> {
        let stamp = self.tokens.stamp();
        if let Some((read, token)) = &self.state().read
            && *read == stamp
        {
            return Ok(token.clone());
        }
        let file = self.tokens.read()?;
        let token = file.link(&self.url).and_then(|link| file.token(&link));
        self.state().read = Some((stamp, token.clone()));
        Ok(token)
    }

    /// What takes the place of a token: the one of another process that was faster, or a new one; none if the sign-in has ended.
    fn refreshed(&self, old: &StoredToken, stop: &Cancel) -> Outcome<Option<StoredToken>> {
        let Some(link) = self.tokens.read()?.link(&self.url) else {
            return Ok(None);
        };
        let _lock = Lock::take(&self.tokens.refresh_lock(&link), LOCK_TIMEOUT, stop)?;
        let Some(token) = self.tokens.read()?.token(&link) else {
            return Ok(None);
        };
        if token.access != old.access {
            return Ok(Some(token));
        }
        let kept = token.clone();
        let is_registered = self.entry.client_id.is_none()
            && self.entry.metadata_url.as_ref() != Some(&token.client.id);
        let mut is_forgotten = false;
        let new = match refresh(&self.requests, token, self.tokens.now(), stop) {
            Ok(new) => Some(new),
            Err(TokenFailure::InvalidGrant) => None,
            // The server has forgotten that Marvin registered: the next sign-in does it anew.
            Err(TokenFailure::InvalidClient(_)) if is_registered => {
                is_forgotten = true;
                None
            }
            Err(TokenFailure::InvalidClient(problem)) => return Err(problem.next(self.advice())),
            Err(TokenFailure::Other(problem)) => return Err(problem),
        };
        self.tokens.change(|file| {
            let registered = file.registration(&link.issuer);
            if is_forgotten && registered.is_some_and(|own| own.client.id == kept.client.id) {
                file.set_registration(&link.issuer, None);
            }
            // A sign-in takes no lock of a refresh, and its token is the better one.
            if file.token(&link).is_some_and(|now| now == kept) {
                file.set_token(&link, new.as_ref());
            }
        })?;
        Ok(new)
    }

    /// The state of this thread's request.
    fn request(&self) -> RequestState {
        let this = thread::current().id();
        let state = self.state();
        let found = state.requests.iter().find(|(thread, _)| *thread == this);
        found
            .map(|(_, request)| request.clone())
            .unwrap_or_default()
    }

    fn set_request(&self, request: RequestState) {
        let this = thread::current().id();
        let mut state = self.state();
        state.requests.retain(|(thread, _)| *thread != this);
        if state.requests.len() >= MAX_REQUESTS {
            state.requests.remove(0);
        }
        state.requests.push((this, request));
    }

    /// Has the request of this thread sent again.
    fn again(&self, mut request: RequestState) -> bool {
        request.is_repeated = true;
        request.repeats += 1;
        self.set_request(request);
        true
    }

    fn advice(&self) -> String {
        let name = shlex::try_quote(&self.name).unwrap_or_default();
        format!("Sign in again: marvin mcp login {name}")
    }

    fn must_sign_in(&self) -> Problem {
        let what = format!("The server \"{}\" wants you to sign in.", self.name);
        let name = shlex::try_quote(&self.name).unwrap_or_default();
        Problem::new(ProblemKind::Auth, what).next(format!("Sign in: marvin mcp login {name}"))
    }

    fn header_is_set(&self, what: &str) -> Problem {
        let what = format!("The server \"{}\" {what}.", self.name);
        Problem::new(ProblemKind::Auth, what)
            .next("Correct the header in mcp.json, or remove it and sign in.")
    }

    /// Whether the user can be asked.
    fn can_sign_in(&self) -> bool {
        match &self.policy {
            SignInPolicy::Never => false,
            SignInPolicy::Now(_) => true,
            SignInPolicy::Ask(questions) => questions.opens_addresses(),
        }
    }

    /// Waits until no other thread signs in.
    fn signing(&self, stop: &Cancel) -> Outcome<MutexGuard<'_, ()>> {
        loop {
            match self.signing.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(guard)) => return Ok(guard.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            if !stop.sleep(POLL_INTERVAL) {
                return Err(Problem::cancelled());
            }
        }
    }

    /// Signs in because a request was refused.
    fn sign_in(&self, mut request: RequestState, wanted: &Wanted, stop: &Cancel) -> Outcome<bool> {
        if request.is_signed_in {
            return Err(Problem::new(
                ProblemKind::Auth,
                format!(
                    "The server \"{}\" refuses the sign-in that it has just asked for.",
                    self.name
                ),
            )
            .next("Check with the server's provider that your account may use it."));
        }
        if !self.can_sign_in() {
            return Err(self.must_sign_in());
        }
        let _signing = self.signing(stop)?;
        let token = self.current().unwrap_or_default();
        if token.is_some_and(|token| Some(&token.access) != request.used.as_ref()) {
            return Ok(self.again(request));
        }
        if self.state().sign_ins >= MAX_SIGN_INS {
            return Err(Problem::new(
                ProblemKind::Auth,
                format!(
                    "The server \"{}\" asked for {MAX_SIGN_INS} sign-ins in this session and is not content.",
                    self.name
                ),
            )
            .next("Check with the server's provider what access your account has."));
        }
        self.state().sign_ins += 1;
        request.is_signed_in = true;
        let signed_in = self.steps().run(wanted, stop);
        signed_in.map_err(|problem| self.named(problem))?;
        Ok(self.again(request))
    }
}

impl Credentials for SignedIn {
    fn authorization(&self, stop: &Cancel) -> Outcome<Option<String>> {
        if self.has_header {
            return Ok(None);
        }
        // A file that cannot be read is no reason to ask servers nothing that want no sign-in.
        let mut token = self.current().unwrap_or_default();
        let now = self.tokens.now();
        let nearly_over =
            (token.clone()).filter(|token| token.refresh.is_some() && token.is_nearly_over(now));
        if let Some(old) = nearly_over {
            match self.refreshed(&old, stop) {
                Ok(None) if !self.can_sign_in() => return Err(self.must_sign_in()),
                Ok(new) => token = new,
                Err(problem) if problem.is_cancelled() => return Err(problem),
                // The clocks may differ: whether the old one is over, the server knows.
                Err(_) => {}
            }
        }
        let last = self.request();
        let mut request = match last.is_repeated {
            true => last,
            false => RequestState::default(),
        };
        request.is_repeated = false;
        request.used = token.map(|token| token.access);
        let value = request
            .used
            .as_ref()
            .map(|access| format!("Bearer {access}"));
        self.set_request(request);
        Ok(value)
    }

    fn refused(&self, status: u16, challenges: &[String], stop: &Cancel) -> Outcome<bool> {
        let bearer = bearer(challenges);
        let wants_more = status == 403 && bearer.as_ref().is_some_and(wants_scope);
        if status != 401 && !wants_more {
            return Ok(false);
        }
        if self.has_header {
            return Err(self.header_is_set("refuses the header Authorization of its configuration"));
        }
        let mut request = self.request();
        if request.repeats >= MAX_REPEATS {
            return Ok(false);
        }
        let token = match self.current() {
            Err(problem) if !self.can_sign_in() => return Err(problem),
            token => token.unwrap_or_default(),
        };
        let mut wanted = wanted(bearer.as_ref());
        if let Some(token) = token {
            if Some(&token.access) != request.used.as_ref() {
                return Ok(self.again(request));
            }
            if wants_more {
                let scope = wanted.scope.as_deref();
                if scope.is_some_and(|scope| covers(&token.scope, scope)) {
                    return Ok(false);
                }
                wanted.granted = Some(token.scope.clone());
            } else if token.refresh.is_some() && !request.is_refreshed {
                request.is_refreshed = true;
                if self.refreshed(&token, stop)?.is_some() {
                    return Ok(self.again(request));
                }
            }
        }
        self.sign_in(request, &wanted, stop)
    }
}

/// The challenge that can be met.
fn bearer(challenges: &[String]) -> Option<Challenge> {
    let all = Challenge::read_all(challenges.iter().map(String::as_str));
    all.into_iter().find(|challenge| challenge.is("bearer"))
}

/// Whether a challenge of status 403 is about the scope (RFC 6750 section 3.1).
fn wants_scope(challenge: &Challenge) -> bool {
    match challenge.parameter("error") {
        Some(error) => error == "insufficient_scope",
        None => challenge.parameter("scope").is_some(),
    }
}

fn wanted(challenge: Option<&Challenge>) -> Wanted {
    let text = |name: &str| challenge?.parameter(name).map(str::to_owned);
    Wanted {
        metadata: text("resource_metadata"),
        scope: text("scope"),
        granted: None,
    }
}
