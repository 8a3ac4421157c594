//! A real browser, where one is installed, with short time limits.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};

use super::super::driver::Family;
use super::*;
use crate::base::env::Env;
use crate::base::testing::{assert_has, assert_lacks};

/// A server whose page waits for a script that never comes; sends a message for each request.
fn slow() -> (u16, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = unbounded();
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            let tell = tell.clone();
            thread::spawn(move || {
                let mut buffer = [0u8; 4096];
                let count = socket.read(&mut buffer).unwrap_or(0);
                if buffer[..count].starts_with(b"GET / ") {
                    let page = "<title>Slow</title><p>There already.</p><script src=/never></script><p>behind</p>";
                    let _ = write!(
                        socket,
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                        page.len()
                    );
                } else {
                    let _ = tell.send(());
                    thread::sleep(Duration::from_secs(60));
                }
            });
        }
    });
    (port, told)
}

/// Bypasses the test harness, which would capture it.
fn skip(reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED scrape: {reason}");
}

/// The installed browsers; the tests' own environment is used for nothing else.
fn pairs() -> (Vec<DriverPair>, String) {
    let path = std::env::var("PATH").unwrap_or_default();
    let env = Env::from([("PATH", path.as_str())]);
    (installed(&env), path)
}

fn context(port: u16, path: &str) -> ToolContext {
    let allowed = format!("127.0.0.1:{port}");
    let env = Env::from([("PATH", path), ("MARVIN_ALLOW_PRIVATE", allowed.as_str())]);
    ToolContext::for_tests(env)
}

/// Loads the page at `port` with short time limits.
fn load(
    ctx: &ToolContext,
    port: u16,
    pair: &DriverPair,
    timeouts: DriverTimeouts,
) -> Outcome<String> {
    let url = format!("http://127.0.0.1:{port}/");
    let args = ScrapePage {
        url: url.clone(),
        extract: Extract::Text,
        css_selector: String::new(),
        max_length: 4000,
    };
    let address = Address::parse(&url)?;
    let fetched = FetchedPage {
        address: address.clone(),
        status: 200,
        kind: ContentKind::Html,
        text: String::new(),
    };
    Browser::start(ctx, pair, timeouts)
        .and_then(|browser| load_in(ctx, &args, &address, &fetched, browser))
        .map(|taken| render(&args, &address, taken))
        .map_err(DriverError::problem)
}

/// Living processes with `folder` in their environment or arguments.
fn living_processes(marks: &[String]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            let read = |name: &str| std::fs::read(path.join(name)).unwrap_or_default();
            let line = [read("cmdline"), read("environ")].concat();
            let line = String::from_utf8_lossy(&line).into_owned();
            marks.iter().any(|mark| line.contains(mark.as_str()))
        })
        .collect()
}

#[test]
fn a_page_that_never_finishes_is_read_as_far_as_it_came() {
    let (pairs, path) = pairs();
    let Some(pair) = pairs.iter().find(|pair| pair.family == Family::Chromium) else {
        skip("a slow page: chromedriver and chromium are not installed");
        return;
    };
    let (port, _waiting) = slow();
    let ctx = context(port, &path);
    let timeouts = DriverTimeouts {
        load: Duration::from_millis(3_500),
        script: Duration::from_secs(5),
    };
    let text = load(&ctx, port, pair, timeouts).unwrap();
    assert!(text.contains("did not finish loading within 3 s"), "{text}");
    assert_has(&text, &["There already."]);
    assert_lacks(&text, &["behind"]);
}

fn until_something_runs(mark: &str) {
    let start = Instant::now();
    while living_processes(&[mark.to_owned()]).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing started");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_stopped_call_leaves_no_process_and_no_folder() {
    let (pairs, path) = pairs();
    if pairs.is_empty() {
        skip("a stopped call: no driver with a browser is installed");
        return;
    }
    let (port, waiting) = slow();
    for pair in &pairs {
        // Cancelled while the browser starts, and while the page loads.
        for loading in [false, true] {
            let ctx = context(port, &path);
            // Not below the test's own TMPDIR: a long one is not used, as the browser's sockets do not fit below it.
            let folder = tempfile::tempdir_in("/tmp").unwrap();
            let mark = folder.path().to_string_lossy().into_owned();
            let env = Env::from([
                ("PATH", path.as_str()),
                ("TMPDIR", mark.as_str()),
                ("MARVIN_ALLOW_PRIVATE", "127.0.0.1"),
            ]);
            let ctx = ToolContext {
                session: ToolContext::for_tests(env).session,
                ..ctx
            };
            let stop = ctx.stop.clone();
            let (problem, ended) = thread::scope(|scope| {
                let running = scope.spawn(|| {
                    let problem = load(&ctx, port, pair, PAGE_TIMEOUTS).unwrap_err();
                    (problem, Instant::now())
                });
                match loading {
                    true => waiting.recv_timeout(Duration::from_secs(20)).unwrap(),
                    false => until_something_runs(&mark),
                }
                assert!(!living_processes(std::slice::from_ref(&mark)).is_empty());
                let fired = Instant::now();
                stop.fire();
                let (problem, ended) = running.join().unwrap();
                (problem, ended - fired)
            });
            assert!(problem.is_cancelled(), "{problem:?}");
            assert!(ended < Duration::from_secs(10), "{ended:?}");
            let start = Instant::now();
            while !living_processes(std::slice::from_ref(&mark)).is_empty() {
                assert!(
                    start.elapsed() < Duration::from_secs(20),
                    "{:?}",
                    living_processes(&[mark])
                );
                thread::sleep(Duration::from_millis(10));
            }
            // The last files may take a moment longer.
            while std::fs::read_dir(&mark).unwrap().count() > 0 {
                assert!(start.elapsed() < Duration::from_secs(20));
                thread::sleep(Duration::from_millis(10));
            }
            eprintln!(
                "{:?} stopped (loading: {loading}) in {ended:?}",
                pair.family
            );
        }
    }
}
