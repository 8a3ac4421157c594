//! The guard with a resolver of its own: disguised addresses, exceptions, proxies, cancellation.

use super::*;
use crate::base::problem::ProblemKind;
use std::sync::atomic::{AtomicUsize, Ordering};

const LIMIT: Duration = Duration::from_secs(5);

fn guard(allowed: &str, names: &'static [(&'static str, &'static str)]) -> Guard {
    let env = Env::from([("MARVIN_ALLOW_PRIVATE", allowed)]);
    Guard::new(&env)
        .unwrap()
        .with_resolver(Arc::new(move |name, port| {
            let found: Vec<SocketAddr> = names
                .iter()
                .filter(|(own, _)| *own == name)
                .map(|(_, ip)| (ip.parse::<IpAddr>().unwrap(), port).into())
                .collect();
            if found.is_empty() {
                return Err(io::Error::other("no such name"));
            }
            Ok(found)
        }))
}

const NAMES: &[(&str, &str)] = &[
    ("good.test", "93.184.216.34"),
    ("good.test", "2606:4700::1"),
    ("bad.test", "10.0.0.1"),
    ("mixed.test", "93.184.216.34"),
    ("mixed.test", "::ffff:127.0.0.1"),
    ("localhost", "127.0.0.1"),
    ("router", "93.184.216.34"),
    ("metadata.google.internal", "93.184.216.34"),
];

fn kind(guard: &Guard, url: &str, proxied: bool) -> Result<usize, ProblemKind> {
    let address = Address::parse(url).unwrap();
    let judged = guard.resolve_allowed(&address, proxied, LIMIT, &Cancel::new());
    judged
        .map(|found| found.len())
        .map_err(|problem| problem.kind)
}

#[test]
fn private_addresses_are_refused_under_every_name() {
    let guard = guard("", NAMES);
    assert_eq!(kind(&guard, "http://good.test/", false), Ok(2));
    for url in "http://bad.test/ http://mixed.test/ http://localhost/ http://LOCALHOST./ \
        http://x.localhost/ http://printer.local/ http://router/ \
        http://metadata.google.internal/ http://2130706433/ http://0x7f.1/ http://0177.0.0.1/ \
        http://[::1]/ http://[::ffff:10.0.0.1]/ http://[64:ff9b::a9fe:a9fe]/ \
        http://169.254.169.254/latest/meta-data/ http://0/"
        .split_ascii_whitespace()
    {
        for proxied in [false, true] {
            assert_eq!(
                kind(&guard, url, proxied),
                Err(ProblemKind::Refused),
                "{url}"
            );
        }
    }
    assert_eq!(
        kind(&guard, "http://none.test/", false),
        Err(ProblemKind::Network)
    );
    // A proxy may know names that this machine does not.
    assert_eq!(kind(&guard, "http://none.test/", true), Ok(0));
}

#[test]
fn what_the_person_lets_through_passes_and_nothing_more() {
    let guard = guard("127.0.0.1:8080,bad.test:81", NAMES);
    assert_eq!(kind(&guard, "http://127.0.0.1:8080/", false), Ok(1));
    assert_eq!(kind(&guard, "http://0x7f000001:8080/", false), Ok(1));
    assert_eq!(kind(&guard, "http://localhost:8080/", false), Ok(1));
    assert_eq!(kind(&guard, "http://bad.test:81/", false), Ok(1));
    for url in [
        "http://127.0.0.1:8081/",
        "http://127.0.0.2:8080/",
        "http://localhost/",
        "http://bad.test/",
        "http://router:8080/",
    ] {
        assert_eq!(kind(&guard, url, false), Err(ProblemKind::Refused), "{url}");
    }
}

#[test]
fn a_name_is_looked_up_once_for_each_judgement() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let guard = guard("", NAMES).with_resolver(Arc::new(|_, port| {
        ASKED.fetch_add(1, Ordering::SeqCst);
        Ok(vec![([93, 184, 216, 34], port).into()])
    }));
    assert_eq!(kind(&guard, "https://good.test/", false), Ok(1));
    assert_eq!(ASKED.load(Ordering::SeqCst), 1);
}

#[test]
fn a_look_up_that_hangs_is_left_when_cancelled() {
    let guard = guard("", NAMES).with_resolver(Arc::new(|_, _| {
        thread::sleep(Duration::from_secs(30));
        Ok(Vec::new())
    }));
    let stop = Cancel::new();
    let address = Address::parse("http://slow.test/").unwrap();
    let start = std::time::Instant::now();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| guard.resolve_allowed(&address, false, LIMIT, &stop));
        stop.fire();
        assert!(waiting.join().unwrap().unwrap_err().is_cancelled());
    });
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// An attacker's DNS server: the first answer is public, every later one private.
#[test]
fn a_name_that_changes_its_mind_leads_nowhere_private() {
    use crate::net::guarded_client::GuardedClient;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The same port of another private address, which must not be reached.
    let inside = TcpListener::bind(("127.0.0.2", port)).unwrap();
    inside.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            let mut buffer = [0u8; 4096];
            let count = socket.read(&mut buffer).unwrap_or(0);
            let again = buffer[..count].starts_with(b"GET /again");
            let head = match again {
                true => "HTTP/1.1 302 Found\r\nLocation: http://rebind.test:PORT/inside",
                false => "HTTP/1.1 200 OK",
            };
            let head = head.replace("PORT", &port.to_string());
            let _ = write!(
                socket,
                "{head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
    });
    // 127.0.0.1 stands for the public address, by an exception for it alone.
    let allowed = format!("127.0.0.1:{port}");
    let fetched = |path: &str| {
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        let env = Env::from([("MARVIN_ALLOW_PRIVATE", allowed.as_str())]);
        let guard = Guard::new(&env)
            .unwrap()
            .with_resolver(Arc::new(move |_, port| {
                let first = count.fetch_add(1, Ordering::SeqCst) == 0;
                Ok(vec![([127, 0, 0, if first { 1 } else { 2 }], port).into()])
            }));
        let address = Address::parse(&format!("http://rebind.test:{port}{path}")).unwrap();
        let client = GuardedClient::new(&env).unwrap().with_guard(guard);
        let result = client.open(&address, &[], &Cancel::new());
        (
            result.map(|fetched| fetched.response.status),
            requests.load(Ordering::SeqCst),
        )
    };
    // One lookup, checked and connected to.
    let (status, lookups) = fetched("/");
    assert_eq!((status.unwrap(), lookups), (200, 1));
    // The second request resolves the name again, and the new answer is checked before anything is sent.
    let (status, lookups) = fetched("/again");
    let problem = status.unwrap_err();
    assert_eq!((problem.kind, lookups), (ProblemKind::Refused, 2));
    assert!(problem.what.contains("rebind.test"), "{}", problem.what);
    assert!(inside.accept().is_err(), "somebody came inside");
}
