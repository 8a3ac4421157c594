//! A server that asks for a sign-in, an authorization server and a browser, over real sockets.

use std::collections::BTreeMap;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use serde_json::{Map, Value, json};

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::formats::address::decoded;
use crate::mcp::auth::policy::{SignInConsole, SignInPolicy};
use crate::mcp::auth::signed_in::SignedIn;
use crate::mcp::client::credentials::Credentials as _;
use crate::mcp::client::questions::{Answer, Question, Questions};
use crate::mcp::config::entry::HttpReach;
use crate::net::http_server::{HttpRequest, HttpResponse};
use crate::net::oauth::pkce::challenge;
use crate::net::service::encoded;

/// A server that answers each request by a function.
struct TestServer {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TestServer {
    fn start(answer: impl Fn(&HttpRequest) -> HttpResponse + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, answer) = (Arc::clone(&is_over), Arc::new(answer));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let answer = Arc::clone(&answer);
                std::thread::spawn(move || {
                    let mut input = BufReader::new(stream);
                    if let Ok(request) = HttpRequest::read(&mut input, 1 << 20) {
                        let _ = answer(&request).send(input.get_ref(), false);
                    }
                });
            }
        });
        Self {
            address,
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// How the world is, and what has happened in it.
pub(super) struct State {
    /// `http://127.0.0.1:PORT` of both, and of a second authorization server.
    pub server: String,
    pub issuers: [String; 2],
    /// Behind the address of the issuer.
    pub issuer_path: &'static str,
    /// Paths at which metadata are, and what is changed in them.
    pub resource_at: Vec<&'static str>,
    pub resource_with: Value,
    pub metadata_at: Vec<&'static str>,
    pub metadata_with: Value,
    /// What the refusal says; `{server}` is filled in.
    pub challenge: &'static str,
    /// What a request needs, and whether that grows with each sign-in.
    pub needs: String,
    pub grows: bool,
    /// Seconds.
    pub life: Option<i64>,
    pub has_refresh: bool,
    /// What the browser brings besides code and state.
    pub brings: String,
    /// Which of the two authorization servers is named.
    pub which: usize,
    /// The status of every answer of the token endpoint, if it is broken.
    pub broken: Option<u16>,
    /// The token endpoint takes no code.
    pub is_strict: bool,
    /// What the token endpoint answers besides.
    pub token_with: Value,
    pub codes: BTreeMap<String, BTreeMap<String, String>>,
    pub access: BTreeMap<String, String>,
    pub refresh: BTreeMap<String, String>,
    pub spent: Vec<String>,
    pub count: usize,
    /// Addresses that the browser was sent to.
    pub visits: Vec<BTreeMap<String, String>>,
    /// `METHOD PATH` and body of what both servers were asked.
    pub log: Vec<(String, String)>,
    /// `Authorization` of requests to the token endpoint.
    pub token_headers: Vec<String>,
    pub clients: Vec<Value>,
    /// So many of the first of them it does not know any more.
    pub forgotten: usize,
    /// Lines that the user was shown.
    pub shown: String,
    /// The user pastes the address instead of having a browser.
    pub pastes: bool,
    pub pasted: Vec<String>,
}

#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

pub(super) struct World {
    pub state: Shared,
    pub home: tempfile::TempDir,
    _servers: Vec<TestServer>,
}

pub(super) fn form(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), decoded(value)))
        .collect()
}

/// Sets what the patch has in an object, and removes what is null there.
fn patched(mut value: Value, patch: &Value) -> Value {
    for (key, new) in patch.as_object().into_iter().flatten() {
        match new {
            Value::Null => value.as_object_mut().unwrap().remove(key),
            new => value
                .as_object_mut()
                .unwrap()
                .insert(key.clone(), new.clone()),
        };
    }
    value
}

fn json_answer(status: u16, value: &Value) -> HttpResponse {
    HttpResponse::json(status, value.to_string())
}

impl State {
    pub(super) fn issuer(&self) -> String {
        format!("{}{}", self.issuers[self.which], self.issuer_path)
    }

    fn answer_of_server(&mut self, request: &HttpRequest) -> HttpResponse {
        let path = request.path.as_str();
        if self.resource_at.contains(&path) {
            let value = json!({"resource": format!("{}/mcp", self.server), "authorization_servers": [self.issuer()]});
            return json_answer(200, &patched(value, &self.resource_with));
        }
        if path != "/mcp" {
            // In 2025-03-26 the server is the authorization server too.
            return self.answer_of_issuer(request);
        }
        let token = request.header("authorization").unwrap_or_default();
        let granted = self.access.get(token.trim_start_matches("Bearer "));
        let status = match granted {
            None => 401,
            Some(scope)
                if self
                    .needs
                    .split(' ')
                    .all(|need| need.is_empty() || scope.split(' ').any(|one| one == need)) =>
            {
                200
            }
            Some(_) => 403,
        };
        if status == 200 {
            return HttpResponse::empty(200);
        }
        let error = match status {
            403 => ", error=\"insufficient_scope\"",
            _ => "",
        };
        let challenge = self.challenge.replace("{server}", &self.server);
        let challenge = challenge.replace("{needs}", &self.needs);
        HttpResponse::empty(status).with("WWW-Authenticate", format!("{challenge}{error}"))
    }

    fn answer_of_issuer(&mut self, request: &HttpRequest) -> HttpResponse {
        let path = request.path.as_str();
        if self.metadata_at.contains(&path) {
            let base = self.issuer();
            let value = json!({"issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"), "revocation_endpoint": format!("{base}/revoke"),
                "code_challenge_methods_supported": ["S256"]});
            return json_answer(200, &patched(value, &self.metadata_with));
        }
        let body = String::from_utf8_lossy(&request.body).into_owned();
        match path.strip_prefix(self.issuer_path).unwrap_or(path) {
            "/register" => {
                let mut client: Value = serde_json::from_str(&body).unwrap();
                self.clients.push(client.clone());
                let id = format!("client-{}-{}", self.which, self.clients.len());
                client["client_id"] = id.into();
                if client["token_endpoint_auth_method"] != "none" {
                    client["client_secret"] = "client:secret".into();
                }
                json_answer(201, &client)
            }
            "/token" => {
                let header = request.header("authorization").unwrap_or_default();
                self.token_headers.push(header.to_owned());
                match self.broken {
                    Some(status) => {
                        json_answer(status, &json!({"error": "temporarily_unavailable"}))
                    }
                    None => self.grant(&form(&body)),
                }
            }
            "/revoke" => {
                let token = form(&body).remove("token").unwrap();
                self.refresh.remove(&token);
                self.access.clear();
                HttpResponse::empty(200)
            }
            _ => HttpResponse::empty(404),
        }
    }

    fn grant(&mut self, form: &BTreeMap<String, String>) -> HttpResponse {
        let refused = |error: &str| {
            json_answer(
                400,
                &json!({"error": error, "error_description": format!("no: {form:?}")}),
            )
        };
        let of = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let number = of("client_id").rsplit('-').next().unwrap_or_default();
        if number
            .parse()
            .is_ok_and(|number: usize| number <= self.forgotten)
        {
            return refused("invalid_client");
        }
        let scope = match of("grant_type") {
            "authorization_code" => {
                let Some(visit) = self.codes.remove(of("code")) else {
                    return refused("invalid_grant");
                };
                let same = |name: &str| visit.get(name) == form.get(name);
                if self.is_strict
                    || challenge(of("code_verifier")) != visit["code_challenge"]
                    || !same("redirect_uri")
                    || !same("resource")
                {
                    return refused("invalid_request");
                }
                visit.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => match self.refresh.remove(of("refresh_token")) {
                Some(scope) => scope,
                None => {
                    // A token that is used twice was stolen: its whole family ends (RFC 9700 section 4.14.2).
                    if self.spent.iter().any(|spent| spent == of("refresh_token")) {
                        self.refresh.clear();
                        self.access.clear();
                    }
                    return refused("invalid_grant");
                }
            },
            _ => return refused("unsupported_grant_type"),
        };
        self.spent.push(of("refresh_token").to_owned());
        self.count += 1;
        let (access, refresh) = (
            format!("ACCESS-{}", self.count),
            format!("REFRESH-{}", self.count),
        );
        self.access.insert(access.clone(), scope.clone());
        if self.grows {
            self.needs = format!("{} more{}", self.needs, self.count);
        }
        let mut answer = json!({"access_token": access, "token_type": "bearer", "scope": scope});
        if let Some(life) = self.life {
            answer["expires_in"] = life.into();
        }
        if self.has_refresh {
            answer["refresh_token"] = refresh.clone().into();
            self.refresh.insert(refresh, scope);
        }
        json_answer(200, &patched(answer, &self.token_with))
    }
}

/// Sends a request and reads the whole answer.
pub(super) fn exchange(address: &str, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    let text = format!("GET {path} HTTP/1.1\r\nHost: x\r\n{header}Connection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// The user's terminal and browser.
struct TestConsole(Shared);

impl SignInConsole for TestConsole {
    fn say(&self, lines: &str) {
        self.0.lock().shown.push_str(lines);
    }

    fn open(&self, url: &str) -> bool {
        let mut state = self.0.lock();
        let (page, query) = url.split_once('?').unwrap();
        assert!(page.ends_with("/authorize"), "{url}");
        let visit = form(query);
        state.visits.push(visit.clone());
        let code = format!("CODE-OF-THE-USER-{}", state.visits.len());
        state.codes.insert(code.clone(), visit.clone());
        if state.brings == "nothing" {
            return true;
        }
        let query = match state.brings.as_str() {
            "denied" => format!("error=access_denied&state={}", visit["state"]),
            more => format!("code={code}&state={}{more}", visit["state"]),
        };
        let redirect = visit["redirect_uri"].clone();
        if state.pastes {
            // The last line counts first.
            state.pasted = vec![
                format!("{redirect}?{query}"),
                format!("{redirect}?code={code}&state=other"),
                code,
            ];
            return false;
        }
        std::thread::spawn(move || {
            let address = redirect.trim_end_matches("/callback");
            exchange(address, "/callback?code=FORGED&state=guess", "");
            exchange(address, &format!("/callback?{query}"), "");
        });
        true
    }

    fn takes_lines(&self) -> bool {
        self.0.lock().pastes
    }

    fn line(&self) -> Option<String> {
        self.0.lock().pasted.pop()
    }
}

/// The user of a conversation, who opens what they agree to.
struct TestQuestions(Shared, bool);

impl Questions for TestQuestions {
    fn takes_forms(&self) -> bool {
        false
    }

    fn opens_addresses(&self) -> bool {
        true
    }

    fn ask(&self, server: &str, question: Question<'_>, _stop: &Cancel) -> Answer {
        let Question::SignIn { url } = question else {
            panic!("no form is expected");
        };
        let words = format!("{server} wants you to sign in.");
        self.0.lock().shown.push_str(&words);
        match self.1 && TestConsole(self.0.clone()).open(url) {
            true => Answer::Accept(Map::new()),
            false => Answer::Decline,
        }
    }
}

pub(super) const HEADER: &str = "Bearer resource_metadata=\"{server}/metadata\", scope=\"{needs}\"";

impl World {
    pub(super) fn new(change: impl FnOnce(&mut State)) -> Self {
        let state = Shared(Arc::new(Mutex::new(State {
            server: String::new(),
            issuers: [String::new(), String::new()],
            issuer_path: "",
            resource_at: vec!["/metadata"],
            resource_with: json!({}),
            metadata_at: vec!["/.well-known/oauth-authorization-server"],
            metadata_with: json!({}),
            challenge: HEADER,
            needs: "read".to_owned(),
            grows: false,
            life: Some(3_600),
            has_refresh: true,
            brings: String::new(),
            which: 0,
            broken: None,
            is_strict: false,
            token_with: json!({}),
            codes: BTreeMap::new(),
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            spent: Vec::new(),
            count: 0,
            visits: Vec::new(),
            log: Vec::new(),
            token_headers: Vec::new(),
            clients: Vec::new(),
            forgotten: 0,
            shown: String::new(),
            pastes: false,
            pasted: Vec::new(),
        })));
        let start = |answer: fn(&mut State, &HttpRequest) -> HttpResponse| {
            let state = state.clone();
            TestServer::start(move |request| {
                let mut state = state.lock();
                let body = String::from_utf8_lossy(&request.body).into_owned();
                state
                    .log
                    .push((format!("{} {}", request.method, request.path), body));
                answer(&mut state, request)
            })
        };
        let servers = vec![
            start(State::answer_of_server),
            start(State::answer_of_issuer),
            start(State::answer_of_issuer),
        ];
        let base = |server: &TestServer| format!("http://{}", server.address);
        {
            let mut state = state.lock();
            state.server = base(&servers[0]);
            state.issuers = [base(&servers[1]), base(&servers[2])];
            change(&mut state);
        }
        Self {
            state,
            home: tempfile::tempdir().unwrap(),
            _servers: servers,
        }
    }

    pub(super) fn console(&self) -> SignInPolicy {
        SignInPolicy::Now(Arc::new(TestConsole(self.state.clone())))
    }

    /// A conversation in which the user agrees, or does not.
    pub(super) fn questions(&self, agrees: bool) -> SignInPolicy {
        SignInPolicy::Ask(Arc::new(TestQuestions(self.state.clone(), agrees)))
    }

    /// A session of its own.
    pub(super) fn session(&self, policy: SignInPolicy, oauth: Value) -> SignedIn {
        self.session_in(policy, oauth, "127.0.0.1")
    }

    pub(super) fn session_in(&self, policy: SignInPolicy, oauth: Value, allowed: &str) -> SignedIn {
        let dir = self.home.path().to_str().unwrap();
        let env = Env::from([
            ("MARVIN_CONFIG_DIR", dir),
            ("MARVIN_ALLOW_PRIVATE", allowed),
        ]);
        let reach = HttpReach {
            url: format!("{}/mcp", self.state.lock().server),
            headers: Vec::new(),
            oauth,
        };
        SignedIn::new("tasks", &reach, &env, &Clock::default(), policy).unwrap()
    }

    /// The status of a request, sent as a transport would.
    pub(super) fn ask(&self, session: &SignedIn) -> Outcome<u16> {
        let stop = Cancel::new();
        loop {
            let token = session.authorization(&stop)?;
            let header = token.map(|token| format!("Authorization: {token}\r\n"));
            let server = self.state.lock().server.clone();
            let answer = exchange(&server, "/mcp", &header.unwrap_or_default());
            let status = answer[9..12].parse().unwrap();
            let challenges: Vec<String> = (answer.lines())
                .filter_map(|line| line.strip_prefix("WWW-Authenticate: "))
                .map(str::to_owned)
                .collect();
            if status == 200 || !session.refused(status, &challenges, &stop)? {
                return Ok(status);
            }
        }
    }

    /// How often something was asked for.
    pub(super) fn asked(&self, what: &str) -> usize {
        let state = self.state.lock();
        state.log.iter().filter(|(asked, _)| asked == what).count()
    }

    /// The file with the tokens.
    pub(super) fn file(&self) -> String {
        std::fs::read_to_string(self.home.path().join("mcp-tokens.json")).unwrap_or_default()
    }
}

/// An issuer as it stands in the answer of the browser.
pub(super) fn iss(issuer: &str) -> String {
    format!("&iss={}", encoded(issuer))
}
