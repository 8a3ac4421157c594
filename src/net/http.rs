//! The HTTP client: timeouts per phase, cancellation that closes the socket, connection reuse.

use std::fmt;
use std::io::{ErrorKind, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, Body, Timeout, http};

use super::transport::{ConnectHook, DRAIN_TIMEOUT, IdleTimeout, IdleTimeoutConnector, Lookup};
use crate::base::cancel::{Cancel, OnFire};
use crate::net::error::{NetError, RequestPhase};
use crate::net::http_proxy::HttpProxyConnector;
use crate::net::proxies::{Proxy, ProxyRoute};

/// Timeouts of a request by phase. There is none for a body that keeps coming.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Name look-up, connecting and the TLS handshake.
    pub connect: Duration,
    /// From the request's last byte to the response's first.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub silence: Duration,
}

#[derive(Debug, Clone)]
pub(crate) struct ClientOptions {
    pub limits: Timeouts,
    /// The `User-Agent` header.
    pub agent: String,
    /// The proxy and certificates to use.
    pub route: ProxyRoute,
}

pub(crate) struct Client {
    setup: ClientOptions,
    silence: IdleTimeout,
    agent: Arc<AgentGuard>,
}

/// A client's agent, until the client is dropped or shut down.
#[derive(Default)]
struct AgentGuard(Mutex<Option<KeptAgent>>);

/// An agent with its idle connections.
struct KeptAgent {
    agent: Agent,
    /// It has answered a request, so there may be an idle connection.
    used: bool,
}

impl AgentGuard {
    fn lock(&self) -> MutexGuard<'_, Option<KeptAgent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A response whose body has not been read yet. Reading stops when the request's token fires.
pub struct Response {
    pub status: u16,
    headers: http::HeaderMap,
    body: ureq::BodyReader<'static>,
    silence: IdleTimeout,
    limits: Timeouts,
    stop: Cancel,
    _close: OnFire,
}

impl Client {
    /// Creates a client. Nothing is opened or read before the first request.
    pub(crate) fn new(setup: ClientOptions) -> Self {
        Self {
            silence: IdleTimeout::new(setup.limits.silence),
            setup,
            agent: Arc::default(),
        }
    }

    /// Posts `body`, as JSON unless the headers say otherwise, and returns when the response's headers have arrived.
    ///
    /// # Errors
    /// See [`NetError`]; statuses of 400 and more are responses, and redirects are not followed, so that no key goes astray.
    pub(crate) fn post(
        &self,
        url: &str,
        headers: &[(&str, String)],
        body: &[u8],
        stop: &Cancel,
    ) -> Result<Response, NetError> {
        self.post_within(url, headers, body, None, stop)
    }

    /// True when an earlier request was answered, so that the next one probably needs no new connection.
    pub(crate) fn is_connected(&self) -> bool {
        self.agent.lock().as_ref().is_some_and(|kept| kept.used)
    }

    /// [`Client::post_within`], and `hook` is called when a new connection is open.
    pub(crate) fn post_hooked(
        &self,
        url: &str,
        headers: &[(&str, String)],
        body: &[u8],
        limit: Option<Duration>,
        hook: Option<&ConnectHook>,
        stop: &Cancel,
    ) -> Result<Response, NetError> {
        if hook.is_some() {
            self.silence.set_hook(hook.cloned());
        }
        let result = self.post_within(url, headers, body, limit, stop);
        if hook.is_some() {
            self.silence.set_hook(None);
        }
        result
    }

    /// [`Client::post`] with a `limit` that replaces the timeouts of first byte and silence: for answers that come in one piece after a long time.
    pub(crate) fn post_within(
        &self,
        url: &str,
        headers: &[(&str, String)],
        body: &[u8],
        limit: Option<Duration>,
        stop: &Cancel,
    ) -> Result<Response, NetError> {
        self.send(stop, limit, |agent| {
            let mut request = agent.post(url);
            if limit.is_some() {
                let config = request.config().timeout_recv_response(limit);
                request = config.timeout_recv_body(limit).build();
            }
            if headers.iter().all(|(name, _)| *name != "content-type") {
                request = request.header("content-type", "application/json");
            }
            with_headers(request, headers).send(body)
        })
    }

    /// Requests `url` and returns when the headers have arrived.
    pub(crate) fn get(
        &self,
        url: &str,
        headers: &[(&str, String)],
        stop: &Cancel,
    ) -> Result<Response, NetError> {
        self.send(stop, None, |agent| {
            with_headers(agent.get(url), headers).call()
        })
    }

    /// Sends a DELETE request for `url` and returns when the headers have arrived.
    pub(crate) fn delete(
        &self,
        url: &str,
        headers: &[(&str, String)],
        stop: &Cancel,
    ) -> Result<Response, NetError> {
        self.send(stop, None, |agent| {
            with_headers(agent.delete(url), headers).call()
        })
    }

    /// Sends a request. It is sent a second time when an idle connection turns out to be dead: the server may have closed it in the meantime, and no
    /// part of a response was received.
    fn send(
        &self,
        stop: &Cancel,
        limit: Option<Duration>,
        request: impl Fn(&Agent) -> Result<http::Response<Body>, ureq::Error>,
    ) -> Result<Response, NetError> {
        let (agent, used) = self.agent()?;
        match self.send_by(agent, stop, limit, &request) {
            Err(NetError::Broken { early: true, .. }) if used => {
                *self.agent.lock() = None;
                self.send_by(self.agent()?.0, stop, limit, &request)
            }
            result => result,
        }
    }

    fn send_by(
        &self,
        agent: Agent,
        stop: &Cancel,
        limit: Option<Duration>,
        request: impl Fn(&Agent) -> Result<http::Response<Body>, ureq::Error>,
    ) -> Result<Response, NetError> {
        if stop.is_fired() {
            return Err(NetError::Cancelled);
        }
        let (closing, kept) = (agent.clone(), Arc::clone(&self.agent));
        let close = stop.on_fire(move || {
            // An agent that was shut down cannot open connections any more; the next request creates a new one.
            *kept.lock() = None;
            closing.shutdown();
        });
        let limits = limit.map_or(self.setup.limits, |limit| Timeouts {
            first_byte: limit,
            silence: limit,
            ..self.setup.limits
        });
        let result = request(&agent);
        if stop.is_fired() {
            return Err(NetError::Cancelled);
        }
        let response = result.map_err(|error| explain(error, true, limits))?;
        if let Some(kept) = self.agent.lock().as_mut() {
            kept.used = true;
        }
        let (parts, body): (_, Body) = response.into_parts();
        if parts.status == 407 && self.proxy().is_some_and(|proxy| proxy.forwards) {
            return Err(NetError::ProxyRefused(Some(407)));
        }
        Ok(Response {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body.into_with_config().limit(u64::MAX).reader(),
            silence: self.silence.clone(),
            limits,
            stop: stop.clone(),
            _close: close,
        })
    }

    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.setup.route.proxy.as_ref()
    }

    /// The agent, and whether it has answered a request before.
    fn agent(&self) -> Result<(Agent, bool), NetError> {
        let mut kept = self.agent.lock();
        if let Some(kept) = kept.as_ref() {
            return Ok((kept.agent.clone(), kept.used));
        }
        let agent = self.build()?;
        *kept = Some(KeptAgent {
            agent: agent.clone(),
            used: false,
        });
        Ok((agent, false))
    }

    fn build(&self) -> Result<Agent, NetError> {
        let ClientOptions {
            limits,
            agent,
            route,
        } = &self.setup;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(agent.as_str())
            .accept_encoding("identity")
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .timeout_recv_response(Some(limits.first_byte))
            .input_buffer_size(32 * 1024)
            // Smaller than the buffer: headers that fill the buffer would look like a closed connection.
            .max_response_header_size(24 * 1024)
            .output_buffer_size(16 * 1024);
        // Always set, or ureq would read the environment itself and use any proxy for any scheme.
        let (forwarding, tunnelling) = match &route.proxy {
            Some(proxy) if proxy.forwards => (Some(proxy), None),
            other => (None, other.as_ref()),
        };
        config = config.proxy(tunnelling.map(|proxy| proxy.inner.clone()));
        if let Some(pem) = &route.roots {
            let certificates: Vec<_> = ureq::tls::parse_pem(pem)
                .filter_map(|item| match item {
                    Ok(ureq::tls::PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                })
                .collect();
            if certificates.is_empty() {
                return Err(NetError::Untrusted(
                    "SSL_CERT_FILE holds no certificate".to_owned(),
                ));
            }
            let tls = ureq::tls::TlsConfig::builder()
                .root_certs(ureq::tls::RootCerts::new_with_certs(&certificates))
                .build();
            config = config.tls_config(tls);
        }
        let chain = DefaultConnector::new()
            .chain(IdleTimeoutConnector(self.silence.clone()))
            .chain(HttpProxyConnector(forwarding.cloned()));
        let lookup = match &route.pinned {
            Some(addresses) if route.proxy.is_none() => Lookup::pinned(addresses.clone()),
            _ => Lookup::through(forwarding.map(|proxy| proxy.inner.uri().clone())),
        };
        Ok(Agent::with_parts(config.build(), chain, lookup))
    }
}

fn with_headers<T>(
    mut request: ureq::RequestBuilder<T>,
    headers: &[(&str, String)],
) -> ureq::RequestBuilder<T> {
    for (name, value) in headers {
        request = request.header(*name, value.as_str());
    }
    request
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("setup", &self.setup)
            .finish_non_exhaustive()
    }
}

impl Response {
    /// A header's value, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A header's value, with bytes that are not UTF-8 replaced.
    pub fn header_text(&self, name: &str) -> Option<String> {
        let value = self.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// All values of a header, with bytes that are not UTF-8 replaced.
    pub fn header_values(&self, name: &str) -> Vec<String> {
        let values = self.headers.get_all(name).iter();
        let text =
            |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        values.map(text).collect()
    }

    /// The headers, once the body has been read.
    pub fn into_headers(self) -> http::HeaderMap {
        self.headers
    }

    /// Reads the next piece of the body; 0 at its end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, NetError> {
        let result = self.body.read(buffer);
        if self.stop.is_fired() {
            return Err(NetError::Cancelled);
        }
        result.map_err(|error| match ureq::Error::from(error) {
            ureq::Error::Io(inner) => match inner.downcast::<ureq::Error>() {
                Ok(inner) => explain(inner, false, self.limits),
                Err(inner) => explain(ureq::Error::Io(inner), false, self.limits),
            },
            error => explain(error, false, self.limits),
        })
    }

    /// Reads at most `max` bytes of the body and stops at the first error.
    pub fn read_some(&mut self, max: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut buffer = [0u8; 8192];
        while out.len() < max {
            match self.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(count) => out.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            }
        }
        out.truncate(max);
        out
    }

    /// Reads the end of a body whose content is complete, so that the connection can be reused.
    ///
    /// The end has arrived or is about to; this does not wait for a server that keeps the body open.
    pub fn finish(mut self) {
        self.silence.set(DRAIN_TIMEOUT);
        let mut rest = [0u8; 512];
        for _ in 0..4 {
            match self.body.read(&mut rest) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        self.silence.reset();
    }
}

fn explain(error: ureq::Error, early: bool, limits: Timeouts) -> NetError {
    match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            NetError::TimedOut(RequestPhase::Connect, limits.connect)
        }
        ureq::Error::Timeout(_) if early => {
            NetError::TimedOut(RequestPhase::FirstByte, limits.first_byte)
        }
        ureq::Error::Timeout(_) => NetError::TimedOut(RequestPhase::Silence, limits.silence),
        ureq::Error::HostNotFound => {
            NetError::Unreachable("the host's name does not resolve".to_owned())
        }
        ureq::Error::ConnectionFailed => {
            NetError::Unreachable("no connection could be made".to_owned())
        }
        ureq::Error::ConnectProxyFailed(cause) => NetError::ProxyRefused(
            cause
                .split(|c: char| !c.is_ascii_digit())
                .find_map(|digits| digits.parse().ok()),
        ),
        ureq::Error::Decompress(_, cause) => {
            NetError::Garbled(crate::base::problem::io_words(&cause))
        }
        ureq::Error::Rustls(error) => refused(&error.to_string()),
        // The TLS library reports refused connections as invalid data.
        ureq::Error::Io(error) if early && error.kind() == ErrorKind::InvalidData => {
            refused(&crate::base::problem::io_words(&error))
        }
        ureq::Error::Io(error) => {
            let cause = crate::base::problem::io_words(&error);
            match error.kind() {
                ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof => NetError::Broken {
                    early,
                    reason: cause,
                },
                _ if early => NetError::Unreachable(cause),
                _ => NetError::Broken {
                    early,
                    reason: cause,
                },
            }
        }
        ureq::Error::BodyStalled => NetError::Broken {
            early,
            reason: "the body ended early".to_owned(),
        },
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            NetError::Unreachable(format!("the address is not usable ({error})"))
        }
        other => NetError::NotHttp(other.to_string()),
    }
}

fn refused(text: &str) -> NetError {
    match text.strip_prefix("invalid peer certificate: ") {
        Some(reason) => NetError::Untrusted(reason.to_owned()),
        None => NetError::NotHttp(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    fn client() -> Client {
        let limit = Duration::from_secs(10);
        Client::new(ClientOptions {
            limits: Timeouts {
                connect: limit,
                first_byte: limit,
                silence: limit,
            },
            agent: "test".to_owned(),
            route: ProxyRoute::default(),
        })
    }

    /// Reads one request without a body; false at the end of the connection.
    fn request(stream: &mut TcpStream) -> bool {
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => seen.extend(byte),
                _ => return false,
            }
        }
        true
    }

    /// Serves connections: each answers as often as listed and then closes instead of answering.
    fn serving(answers: &'static [usize]) -> (String, std::thread::JoinHandle<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serve = move || {
            let mut requests = 0;
            for count in answers {
                let (mut stream, _) = listener.accept().unwrap();
                for number in 0..=*count {
                    if !request(&mut stream) {
                        break;
                    }
                    requests += 1;
                    if number < *count {
                        stream.write_all(ANSWER).unwrap();
                    }
                }
            }
            requests
        };
        (url, std::thread::spawn(serve))
    }

    #[test]
    fn a_kept_connection_that_died_is_replaced_once() {
        let (url, server) = serving(&[1, 1]);
        let (client, stop) = (client(), Cancel::new());
        for _ in 0..2 {
            let mut response = client.get(&url, &[], &stop).unwrap();
            assert_eq!(response.read_some(10), b"ok");
        }
        drop(client);
        assert_eq!(server.join().unwrap(), 3);
    }

    #[test]
    fn a_new_connection_that_is_closed_is_an_error() {
        let (url, server) = serving(&[0]);
        let refused = client().get(&url, &[], &Cancel::new());
        assert!(matches!(refused, Err(NetError::Broken { early: true, .. })));
        assert_eq!(server.join().unwrap(), 1);
    }
}
