//! A loopback proxy for child programs that follow redirects themselves. It checks every host they connect to and connects to the addresses that were
//! checked. It lives as long as one call and serves only that call's child. A browser cannot be given proxy credentials on its command line; it is
//! recognised by the user it runs as.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::guard::Guard;
use crate::base::cancel::{Cancel, OnFire};
use crate::base::env::Env;
use crate::base::ids;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::address::Address;
use crate::net::peer_owner::is_own;
use crate::net::proxies::ProxyRoute;

/// Largest request head in bytes.
const HEAD: usize = 64 * 1024;
/// For the lookup and the connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Idle connections are closed after this time.
const SILENCE: Duration = Duration::from_secs(60);

/// The running proxy. It stops when it is dropped or the call is stopped.
pub(crate) struct FilteringProxy {
    shared: Arc<ProxyShared>,
    address: SocketAddr,
    _linked: OnFire,
}

struct ProxyShared {
    env: Env,
    guard: Guard,
    entry: Admission,
    stop: Cancel,
    refused: Mutex<Vec<Problem>>,
}

/// Who may use the proxy.
enum Admission {
    /// Clients with this proxy password.
    Token(String),
    /// Programs of the same user.
    User,
}

impl Admission {
    fn is_open_to(&self, client: &TcpStream, head: &Head) -> bool {
        let Self::Token(token) = self else {
            return is_own(client);
        };
        let login = format!("Basic {}", STANDARD.encode(format!("marvin:{token}")));
        head.lines.iter().any(|line| {
            line.split_once(':').is_some_and(|(name, value)| {
                name.eq_ignore_ascii_case("proxy-authorization") && value.trim() == login
            })
        })
    }
}

impl FilteringProxy {
    /// Starts a proxy for a child that reads [`FilteringProxy::variables`].
    pub(crate) fn open(env: &Env, guard: Guard, stop: &Cancel) -> Outcome<Self> {
        Self::start(env, guard, Admission::Token(ids::hex(16)), stop)
    }

    /// Starts a proxy for a child that cannot authenticate: while it lives, every program of the same user can use it.
    pub(crate) fn open_to_user(env: &Env, guard: Guard, stop: &Cancel) -> Outcome<Self> {
        Self::start(env, guard, Admission::User, stop)
    }

    fn start(env: &Env, guard: Guard, entry: Admission, stop: &Cancel) -> Outcome<Self> {
        let cannot = |error| Problem::system("Cannot open a port on this machine", error);
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let (stop, linked) = stop.child();
        let shared = Arc::new(ProxyShared {
            env: env.clone(),
            guard,
            entry,
            stop,
            refused: Mutex::default(),
        });
        let own = Arc::clone(&shared);
        thread::Builder::new()
            .name("gateway".into())
            .spawn(move || accept(&own, &listener))
            .map_err(cannot)?;
        Ok(Self {
            shared,
            address,
            _linked: linked,
        })
    }

    /// Environment variables that make a program use the proxy.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let url = match &self.shared.entry {
            Admission::Token(token) => format!("http://marvin:{token}@{}", self.address),
            Admission::User => format!("http://{}", self.address),
        };
        [
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
        ]
        .map(|name| (name.to_owned(), url.clone()))
        .to_vec()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that failed, as sentences.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.words(|_| true)
    }

    /// Hosts that the guard refused, as sentences.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.words(|problem| problem.kind == ProblemKind::Refused)
    }

    fn words(&self, which: impl Fn(&Problem) -> bool) -> Vec<String> {
        let refused = self.shared.refused.lock();
        let refused = refused.unwrap_or_else(PoisonError::into_inner);
        let chosen = refused.iter().filter(|problem| which(problem));
        chosen.map(|problem| problem.what.clone()).collect()
    }
}

impl Drop for FilteringProxy {
    fn drop(&mut self) {
        self.shared.stop.fire();
        // Wakes the accepting thread.
        drop(TcpStream::connect_timeout(
            &self.address,
            Duration::from_secs(1),
        ));
    }
}

fn accept(shared: &Arc<ProxyShared>, listener: &TcpListener) {
    while let Ok((client, _)) = listener.accept() {
        if shared.stop.is_fired() {
            return;
        }
        let shared = Arc::clone(shared);
        let _ = thread::Builder::new()
            .name("gateway".into())
            .spawn(move || {
                let Ok(closing) = client.try_clone() else {
                    return;
                };
                let _close = shared
                    .stop
                    .on_fire(move || drop(closing.shutdown(Shutdown::Both)));
                let _ = serve(&shared, &client);
                let _ = client.shutdown(Shutdown::Both);
            });
    }
}

/// The head of a request, and the bytes received after it.
struct Head {
    method: String,
    target: String,
    version: String,
    lines: Vec<String>,
    rest: Vec<u8>,
}

fn serve(shared: &ProxyShared, mut client: &TcpStream) -> io::Result<()> {
    client.set_read_timeout(Some(SILENCE))?;
    let Some(head) = read_head(client)? else {
        return answer(client, "400 Bad Request", "");
    };
    if !shared.entry.is_open_to(client, &head) {
        let more = "Proxy-Authenticate: Basic realm=\"marvin\"\r\n";
        return answer(client, "407 Proxy Authentication Required", more);
    }
    let tunnel = head.method == "CONNECT";
    let url = if tunnel {
        format!("https://{}/", head.target)
    } else {
        head.target.clone()
    };
    let (server, before) = match connect(shared, &url, &head, tunnel) {
        Ok(connected) => connected,
        Err(problem) => {
            let mut refused = shared
                .refused
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            refused.push(problem);
            drop(refused);
            return answer(client, "403 Forbidden", "");
        }
    };
    server.set_read_timeout(Some(SILENCE))?;
    let closing = server.try_clone()?;
    let _close = shared
        .stop
        .on_fire(move || drop(closing.shutdown(Shutdown::Both)));
    match before {
        Some(bytes) => (&server).write_all(&bytes)?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
    }
    (&server).write_all(&head.rest)?;
    thread::scope(|scope| {
        scope.spawn(|| pass(client, &server));
        pass(&server, client);
    });
    Ok(())
}

/// Connects to the host of `url`. Also returns what has to be sent first; `None` for a tunnel.
fn connect(
    shared: &ProxyShared,
    url: &str,
    head: &Head,
    tunnel: bool,
) -> Outcome<(TcpStream, Option<Vec<u8>>)> {
    let address = Address::parse(url)?;
    if tunnel && address.target != "/" {
        return Err(Problem::input("Invalid host for a tunnel."));
    }
    let route = ProxyRoute::for_url(&shared.env, &address.to_string())?;
    let judged =
        shared
            .guard
            .resolve_allowed(&address, route.proxy.is_some(), CONNECT, &shared.stop)?;
    let unreachable =
        |error: io::Error| Problem::system(format!("{} cannot be reached", address.host), error);
    let Some(proxy) = route.proxy else {
        let server = first(&judged).map_err(unreachable)?;
        let head_bytes = (!tunnel).then(|| rewritten(head, &address, &address.target, ""));
        return Ok((server, head_bytes));
    };
    let plain = proxy.inner.uri().scheme_str() == Some("http");
    if !plain {
        return Err(Problem::config(format!(
            "{} names a proxy that programs started by Marvin cannot be led through.",
            proxy.variable
        )));
    }
    use std::net::ToSocketAddrs as _;
    let found: Vec<SocketAddr> = (proxy.inner.host(), proxy.inner.port())
        .to_socket_addrs()
        .map_err(unreachable)?
        .collect();
    let server = first(&found).map_err(unreachable)?;
    let login = proxy.login();
    let head_bytes = if tunnel {
        let place = format!("{}:{}", address.host, address.port);
        format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{login}\r\n").into_bytes()
    } else {
        rewritten(head, &address, &address.to_string(), &login)
    };
    Ok((server, Some(head_bytes)))
}

fn first(places: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for place in places {
        match TcpStream::connect_timeout(place, CONNECT) {
            Ok(server) => return Ok(server),
            Err(reason) => last = reason,
        }
    }
    Err(last)
}

/// The request head for the server: one request per connection, with the host that was checked.
fn rewritten(head: &Head, address: &Address, target: &str, login: &str) -> Vec<u8> {
    let origin = address.origin();
    let host = origin.split("://").nth(1).unwrap_or_default();
    let mut out = format!(
        "{} {target} {}\r\nHost: {host}\r\n{login}",
        head.method, head.version
    );
    for line in &head.lines {
        let name = line
            .split(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        if !matches!(name.as_str(), "host" | "connection" | "keep-alive")
            && !name.starts_with("proxy-")
        {
            out.push_str(line);
            out.push_str("\r\n");
        }
    }
    out.push_str("Connection: close\r\n\r\n");
    out.into_bytes()
}

fn read_head(mut client: &TcpStream) -> io::Result<Option<Head>> {
    let mut bytes = Vec::new();
    let mut buffer = [0u8; 8 * 1024];
    let end = loop {
        if let Some(index) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break index;
        }
        let count = client.read(&mut buffer)?;
        if count == 0 || bytes.len() > HEAD {
            return Ok(None);
        }
        bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
    };
    let rest = bytes.split_off(end + 4);
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(None);
    };
    let mut lines = text.trim_end().split("\r\n").map(str::to_owned);
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Ok(None);
    };
    let lines: Vec<String> = lines.collect();
    // Some servers treat a lone CR or LF as the end of a line.
    if lines
        .iter()
        .chain([&first])
        .any(|line| line.contains(['\r', '\n']))
    {
        return Ok(None);
    }
    Ok(Some(Head {
        method,
        target,
        version,
        lines,
        rest,
    }))
}

fn answer(mut client: &TcpStream, status: &str, more: &str) -> io::Result<()> {
    write!(
        client,
        "HTTP/1.1 {status}\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

fn pass(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(gateway: &FilteringProxy, line: &str, login: &str) -> String {
        let mut socket = TcpStream::connect(gateway.address).unwrap();
        write!(
            socket,
            "{line} HTTP/1.1\r\nHost: wrong\r\nProxy-Authorization: {login}\r\nX: y\r\n\r\n"
        )
        .unwrap();
        let mut out = String::new();
        let _ = socket.read_to_string(&mut out);
        out
    }

    #[test]
    fn only_its_own_child_gets_through_and_only_to_what_is_judged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            while let Ok((mut socket, _)) = listener.accept() {
                let mut buffer = [0u8; 4096];
                let count = socket.read(&mut buffer).unwrap();
                let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                let _ = socket.write_all(&buffer[..count]);
            }
        });
        let env = Env::from([("MARVIN_ALLOW_PRIVATE", format!("127.0.0.1:{port}").as_str())]);
        let gateway =
            FilteringProxy::open(&env, Guard::new(&env).unwrap(), &Cancel::new()).unwrap();
        let Admission::Token(token) = &gateway.shared.entry else {
            panic!("a token is wanted");
        };
        let login = format!("Basic {}", STANDARD.encode(format!("marvin:{token}")));
        let get = format!("GET http://0x7f.1:{port}/a?b");
        assert!(say(&gateway, &get, "Basic eDp5").starts_with("HTTP/1.1 407"));
        let head_bytes = say(&gateway, &get, &login);
        let want = format!(
            "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: y\r\nConnection: close\r\n\r\n"
        );
        assert!(head_bytes.ends_with(&want), "{head_bytes}");
        for line in [
            "GET http://127.0.0.1:1/".to_owned(),
            format!("GET http://127.0.0.2:{port}/"),
            "CONNECT 169.254.169.254:443".to_owned(),
            "CONNECT localhost:22".to_owned(),
            "GET file:///etc/passwd".to_owned(),
            "CONNECT a@b:1".to_owned(),
        ] {
            assert!(
                say(&gateway, &line, &login).starts_with("HTTP/1.1 403"),
                "{line}"
            );
        }
        assert_eq!(gateway.failures().len(), 6);
        assert_eq!(gateway.refusals().len(), 6);
        assert!(say(&gateway, "nonsense", &login).starts_with("HTTP/1.1 4"));
        // A program of the same user needs no credentials, but its hosts are still checked.
        let open =
            FilteringProxy::open_to_user(&env, Guard::new(&env).unwrap(), &Cancel::new()).unwrap();
        assert!(say(&open, &get, "").starts_with("HTTP/1.1 200"));
        assert!(say(&open, "GET http://127.0.0.1:1/", "").starts_with("HTTP/1.1 403"));
        drop(open);
        let address = gateway.address;
        drop(gateway);
        let left = TcpStream::connect(address).and_then(|mut s| s.read(&mut [0u8]));
        assert!(matches!(left, Err(_) | Ok(0)));
    }
}
