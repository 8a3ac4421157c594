//! Downloads and redirects over real sockets, with a local DNS server.

use super::*;
use crate::base::env::Env;
use crate::base::problem::ProblemKind;
use crate::net::guard::Guard;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Answers each connection once, depending on the first line of the request.
fn server(ip: &str, make: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((ip, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let make = Arc::new(make);
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            let make = Arc::clone(&make);
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0u8];
                while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let line = String::from_utf8_lossy(&head)
                    .lines()
                    .next()
                    .unwrap_or("")
                    .to_owned();
                let answer = make(&line);
                let _ = socket.write_all(&answer);
                if line.contains("stall") {
                    let _ = socket.read(&mut byte);
                }
            });
        }
    });
    address
}

fn ok(more: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n{body}")
        .into_bytes()
}

fn client_for(allowed: &str) -> GuardedClient {
    GuardedClient::new(&Env::from([("MARVIN_ALLOW_PRIVATE", allowed)])).unwrap()
}

/// An answer that announces `length` bytes and has this body.
fn announcing(length: u64, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn fetch(client: &GuardedClient, url: &str, folder: &Path, max: u64) -> Outcome<SavedFile> {
    let address = Address::parse(url)?;
    let target = DownloadTarget {
        folder,
        name: None,
        max_bytes: max,
    };
    download(client, &address, &target, &mut |_, _| {}, &Cancel::new())
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_saved_under_a_free_safe_name_and_never_over_another() {
    let dir = tempfile::tempdir().unwrap();
    let at = server("127.0.0.1", |line| {
        if line.contains("header") {
            ok(
                "Content-Disposition: attachment; filename=\"../../x\"\r\n",
                "from the header",
            )
        } else {
            ok("", "plain")
        }
    });
    let client = client_for("127.0.0.1");
    let get = |path: &str| fetch(&client, &format!("http://{at}{path}"), dir.path(), 1000).unwrap();
    for want in [
        "r\u{e9}sum\u{e9}.pdf",
        "r\u{e9}sum\u{e9} (2).pdf",
        "r\u{e9}sum\u{e9} (3).pdf",
    ] {
        let saved = get("/a/r%C3%A9sum%C3%A9.pdf?x=/y");
        assert_eq!(saved.path, dir.path().join(want));
        assert_eq!(saved.bytes, 5);
    }
    assert_eq!(get("/header").path, dir.path().join("x"));
    assert_eq!(get("/").path, dir.path().join("download"));
    // A dangling symlink occupies its name.
    std::os::unix::fs::symlink("/nowhere/at/all", dir.path().join("link.txt")).unwrap();
    assert_eq!(get("/link.txt").path, dir.path().join("link (2).txt"));
    assert_eq!(get("/%2e%2e%2f%2e%2e%2fy").path, dir.path().join("y"));
    assert_eq!(
        fs::read_to_string(dir.path().join("x")).unwrap(),
        "from the header"
    );
}

#[test]
fn what_goes_wrong_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("new");
    let at = server("127.0.0.1", |line| {
        match line.split('/').nth(1).unwrap_or("") {
            "huge HTTP" => announcing(99_999_999_999_999, b"abc"),
            "short HTTP" => announcing(100, b"abc"),
            "long HTTP" => [
                b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec(),
                vec![b'x'; 5000],
            ]
            .concat(),
            _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        }
    });
    for (path, max, kind) in [
        ("huge", u64::MAX, ProblemKind::Limit),
        ("huge", 1000, ProblemKind::Limit),
        ("short", 1000, ProblemKind::Network),
        ("long", 1000, ProblemKind::Limit),
        ("none", 1000, ProblemKind::Network),
    ] {
        let url = format!("http://{at}/{path}");
        let problem = fetch(&client_for("127.0.0.1"), &url, &folder, max).unwrap_err();
        assert_eq!(problem.kind, kind, "{path}: {problem}");
        assert_eq!(names(&folder), [] as [&str; 0], "{path}");
    }
}

#[test]
fn cancelling_ends_it_at_once_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let at = server("127.0.0.1", |_| announcing(1_000_000, &[b'x'; 100_000]));
    let stop = Cancel::new();
    let address = Address::parse(&format!("http://{at}/stall")).unwrap();
    let target = DownloadTarget {
        folder: dir.path(),
        name: None,
        max_bytes: 1 << 30,
    };
    let (tell, told) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            let mut started = |_: u64, _: Option<u64>| tell.send(()).unwrap();
            let client = client_for("127.0.0.1");
            download(&client, &address, &target, &mut started, &stop)
        });
        told.recv().unwrap();
        stop.fire();
        // A stall that nobody ends is an error of its own.
        assert!(running.join().unwrap().unwrap_err().is_cancelled());
    });
    assert_eq!(names(dir.path()), [] as [&str; 0]);
}

#[test]
fn every_hop_of_a_redirect_is_judged() {
    let dir = tempfile::tempdir().unwrap();
    let hits = Arc::new(AtomicUsize::new(0));
    let inner = {
        let hits = Arc::clone(&hits);
        server("127.0.0.2", move |_| {
            hits.fetch_add(1, Ordering::SeqCst);
            ok("", "secret")
        })
    };
    let port = inner.port();
    let outer = server("127.0.0.1", move |line| {
        let to = match line.split(['/', ' ']).nth(2).unwrap_or("") {
            "plain" => format!("http://127.0.0.2:{port}/"),
            "number" => format!("http://2130706434:{port}/"),
            "mapped" => format!("http://[::ffff:127.0.0.2]:{port}/"),
            "relative" => format!("//127.0.0.2:{port}/x"),
            "file" => "file:///etc/passwd".to_owned(),
            "round" => "/round".to_owned(),
            _ => "/end".to_owned(),
        };
        if line.contains("/end") {
            return ok("", "end");
        }
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .into_bytes()
    });
    let guarded = client_for(&outer.to_string());
    let get = |client: &GuardedClient, path: &str| {
        fetch(client, &format!("http://{outer}/{path}"), dir.path(), 1000)
    };
    for path in ["plain", "number", "mapped", "relative", "file"] {
        let problem = get(&guarded, path).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Refused, "{path}: {problem}");
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    let problem = get(&guarded, "round").unwrap_err();
    assert!(problem.what.contains("more than 10 times"), "{problem}");
    assert_eq!(get(&guarded, "go").unwrap().address.target, "/end");
    // The same address works where the user allows it, so it was the guard that refused.
    assert!(get(&client_for("127.0.0.0/8"), "plain").is_ok());
    assert_eq!(hits.load(Ordering::SeqCst), 1);
}

/// A name that resolves to an allowed address when it is checked, and to another one right after.
#[test]
fn a_name_that_changes_its_meaning_is_asked_where_it_was_judged() {
    let dir = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |who: &'static str| {
        let seen = Arc::clone(&seen);
        move |_: &str| {
            seen.lock().unwrap().push(who);
            ok("", who)
        }
    };
    let good = server("127.0.0.1", note("good"));
    // The trap listens on the same port of another address.
    let listener = TcpListener::bind(("127.0.0.3", good.port()));
    let lookups = Arc::new(AtomicUsize::new(0));
    let names = {
        let lookups = Arc::clone(&lookups);
        Arc::new(move |_: &str, port: u16| {
            let first = lookups.fetch_add(1, Ordering::SeqCst) == 0;
            let last = if first { 1 } else { 3 };
            Ok(vec![SocketAddr::from(([127, 0, 0, last], port))])
        })
    };
    let env = Env::from([("MARVIN_ALLOW_PRIVATE", "127.0.0.1")]);
    let guard = Guard::new(&env).unwrap().with_resolver(names);
    let client = GuardedClient::new(&env).unwrap().with_guard(guard);
    let url = format!("http://rebind.test:{}/", good.port());
    let saved = fetch(&client, &url, dir.path(), 1000).unwrap();
    assert_eq!(fs::read_to_string(saved.path).unwrap(), "good");
    let count = lookups.load(Ordering::SeqCst);
    assert_eq!(count, 1, "looked up again for the connection");
    // The next request looks up again and is refused.
    let problem = fetch(&client, &url, dir.path(), 1000).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Refused);
    assert_eq!(*seen.lock().unwrap(), ["good"]);
    if let Ok(listener) = listener {
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "the trap was asked");
    }
    drop(TcpStream::connect(good));
}

#[test]
fn sizes_read_well() {
    assert_eq!(
        [size(0), size(1), size(999), size(1_500), size(12_345_678)],
        ["0 bytes", "1 byte", "999 bytes", "1.5 kB", "12.3 MB"]
    );
}

#[test]
fn what_a_killed_download_left_goes_after_an_hour() {
    let dir = tempfile::tempdir().unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(7_200);
    let make = |name: &str| {
        let path = dir.path().join(name);
        fs::write(&path, "x").unwrap();
        fs::File::open(&path).unwrap().set_modified(old).unwrap();
    };
    make(".marvin-abcdef.part");
    make(".marvin-instructions");
    make("mine.part");
    fs::write(dir.path().join(".marvin-running.part"), "x").unwrap();
    let folder = dir.path().join(".marvin-video.part");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("piece"), "x").unwrap();
    fs::File::open(&folder).unwrap().set_modified(old).unwrap();
    sweep(dir.path());
    assert_eq!(
        names(dir.path()),
        [".marvin-instructions", ".marvin-running.part", "mine.part"]
    );
}
