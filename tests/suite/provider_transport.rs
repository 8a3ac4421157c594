//! The transport to a provider: TLS with a private authority, proxies, and the error message at the end.

use std::io::Write;
use std::time::{Duration, Instant};

use base64::Engine as _;
use rustix::process::Signal;

use crate::downloads::files;
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::proxy::Proxy;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::tcp::refused;
use crate::support::tls::{self, TlsFace};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(20);

fn says(expected: &'static [&'static str]) -> Server {
    Server::always(Answer::sse(openai::text(expected)))
}

/// A run that trusts the certificate authority of the TLS fronts.
fn trusting(home: &Home, base: &str) -> Marvin {
    let file = home.write("authority.pem", tls::authority());
    home.ask(base, "hi").env("SSL_CERT_FILE", file)
}

#[test]
fn an_authority_of_ones_own_is_trusted_by_its_file_alone() {
    let (home, server) = (Home::new(), says(&["Hello"]));
    let face = TlsFace::before(&server);
    let output = trusting(&home, &face.url("/v1")).run().expect(0);
    assert_eq!(output.text(), "Hello\n");

    let strange = home.write("stranger.pem", tls::stranger());
    let no_file = home.ask(&face.url("/v1"), "hi");
    let wrong_file = home
        .ask(&face.url("/v1"), "hi")
        .env("SSL_CERT_FILE", strange);
    for run in [no_file, wrong_file] {
        run.fails(&["is not trusted", "SSL_CERT_FILE"]);
    }
    assert_eq!(
        server.requests().len(),
        1,
        "no key goes to a server that is not trusted"
    );

    let empty = home.write("empty.pem", "no certificate");
    for (file, text) in [
        (home.path().join("missing.pem"), "Cannot read SSL_CERT_FILE"),
        (empty, "SSL_CERT_FILE holds no certificate"),
    ] {
        let run = home.ask(&face.url("/v1"), "hi").env("SSL_CERT_FILE", file);
        let errors = run.run().expect(1).errors();
        assert!(errors.contains(text), "{errors}");
    }
}

#[test]
fn a_plain_server_behind_https_is_not_called_untrusted() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    let plain = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        let _ = std::io::copy(&mut socket, &mut std::io::sink());
    });
    let errors = home.ask(&base, "hi").run().expect(1).errors();
    plain.join().unwrap();
    errors.assert_has(&["Error: What answers at https://"]);
    errors.assert_lacks(&["not trusted"]);
}

#[test]
fn text_comes_piece_by_piece_through_tls() {
    let (home, gate) = (Home::new(), Latch::new());
    let frames = openai::text(&["first ", "second"]);
    let (start, rest) = frames.split_at(2);
    let answer = rest
        .iter()
        .fold(Answer::sse(start.to_vec()).pause(&gate), |answer, frame| {
            answer.send(frame.as_str())
        });
    let server = Server::with([Exchange::any().answer(answer)]);
    let face = TlsFace::before(&server);
    let running = trusting(&home, &face.url("/v1")).spawn();
    // The rest of the answer is held back, so this only arrives if output is not buffered.
    running.wait_stdout("first ", LONG);
    gate.open();
    assert_eq!(running.wait().expect(0).text(), "first second\n");
}

#[test]
fn a_signal_in_mid_stream_ends_a_tls_connection_and_a_tunnel() {
    for proxied in [false, true] {
        let home = Home::new();
        let answer = Answer::sse(openai::text(&["half"])[..2].to_vec()).stall();
        let server = Server::with([Exchange::any().answer(answer)]);
        let face = TlsFace::before(&server);
        let proxy = Proxy::to(face.address());
        let running = if proxied {
            trusting(&home, "https://provider.test/v1").env("HTTPS_PROXY", proxy.url(""))
        } else {
            trusting(&home, &face.url("/v1"))
        }
        .spawn();
        running.wait_stdout("half", LONG);
        running.signal(Signal::INT);
        running.wait().expect(130).cost();
        server.wait_closed(0, LONG);
    }
}

#[test]
fn each_scheme_goes_through_its_proxy_and_the_name_is_the_proxys_to_look_up() {
    let (home, server) = (Home::new(), says(&["Hello"]));
    let face = TlsFace::before(&server);
    for (base, variables, target) in [
        (
            "http",
            ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
            "POST http://provider.test/v1/chat/completions",
        ),
        (
            "https",
            ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
            "CONNECT provider.test:443",
        ),
    ] {
        for variable in variables {
            let behind = if base == "http" {
                server.address()
            } else {
                face.address()
            };
            let proxy = Proxy::to(behind);
            let output = trusting(&home, &format!("{base}://provider.test/v1"))
                .env(variable, proxy.url(""))
                .run()
                .expect(0);
            assert_eq!(output.text(), "Hello\n");
            let seen = proxy.seen();
            assert_eq!(seen.len(), 1, "{variable}");
            assert_eq!(format!("{} {}", seen[0].method, seen[0].path), target);
            // What goes through a tunnel is not the proxy's to see.
            let key = seen[0].header("authorization").is_some();
            assert_eq!(key, base == "http");
        }
    }
}

#[test]
fn the_other_schemes_proxy_loopback_and_spared_hosts_are_left_alone() {
    let (home, server) = (Home::new(), says(&["Hello"]));
    let wrong = Proxy::refusing("500 Not me");
    let (right, all) = (Proxy::to(server.address()), wrong.url(""));
    home.ask("http://provider.test/v1", "hi")
        .env("HTTPS_PROXY", &all)
        .env("ALL_PROXY", &all)
        .env("HTTP_PROXY", right.url(""))
        .run()
        .expect(0);
    home.ask(&server.url("/v1"), "hi")
        .env("ALL_PROXY", &all)
        .env("HTTP_PROXY", &all)
        .run()
        .expect(0);
    for variable in ["NO_PROXY", "no_proxy"] {
        // The name is looked up here instead, where it does not exist.
        home.ask("http://provider.test/v1", "hi")
            .env("HTTP_PROXY", &all)
            .env(variable, "example.org,.test")
            .env("MARVIN_RETRIES", "0")
            .fails(&["cannot be reached"]);
    }
    assert!(wrong.seen().is_empty());
}

#[test]
fn config_yaml_names_a_proxy_too() {
    let (home, server) = (Home::new(), says(&["Hello"]));
    let proxy = Proxy::to(server.address());
    home.write(
        "config/config.yaml",
        format!("HTTP_PROXY: {}\n", proxy.url("")),
    );
    home.ask("http://provider.test/v1", "hi").run().expect(0);
    assert_eq!(proxy.seen().len(), 1);
}

#[test]
fn a_proxys_password_reaches_the_proxy_and_nothing_else() {
    let (home, server) = (Home::new(), says(&["Hello"]));
    let secret = "hunter2-4711";
    let who = format!("arthur:{secret}");
    let basic = base64::engine::general_purpose::STANDARD.encode(&who);
    let open = Proxy::to(server.address());
    let shut = Proxy::refusing("407 Proxy Authentication Required\r\nProxy-Authenticate: Basic");
    let gone = Proxy::refusing("502 Bad Gateway");
    let nobody = format!("http://{who}@{}", refused());
    let socks = format!("socks5://{who}@{}", refused());
    let broken = format!("http://{who}@");
    for (value, status, expected) in [
        (open.url(&who), 0, ""),
        (shut.url(&who), 1, "(407)"),
        (gone.url(&who), 1, "failed (502)"),
        (nobody, 1, "through the proxy 127.0.0.1:"),
        (socks, 1, "HTTP_PROXY is not an address of a proxy"),
        (broken, 1, "HTTP_PROXY is not an address of a proxy"),
    ] {
        let output = home
            .ask("http://provider.test/v1", "hi")
            .arg("--verbose")
            .env("HTTP_PROXY", &value)
            .env("MARVIN_RETRIES", "0")
            .run()
            .expect(status);
        output.errors().assert_has_for(&value, &[expected]);
        let message = output.output();
        message.assert_lacks(&[secret, &basic]);
    }
    for (proxy, expected) in [(&shut, "(407)"), (&gone, "the proxy answered 502")] {
        let output = home
            .ask("https://provider.test/v1", "hi")
            .env("HTTPS_PROXY", proxy.url(&who))
            .env("MARVIN_RETRIES", "0")
            .run()
            .expect(1);
        assert!(output.errors().contains(expected), "{}", output.errors());
        assert!(!output.errors().contains(secret) && !output.errors().contains(&basic));
    }
    let sent = open.seen()[0]
        .header("proxy-authorization")
        .map(str::to_owned);
    assert_eq!(sent, Some(format!("Basic {basic}")));
    let request = server.request(0);
    assert_eq!(request.header("proxy-authorization"), None);
    let doctor = home
        .marvin()
        .arg("doctor")
        .env("HTTP_PROXY", open.url(&who))
        .run();
    assert!(!doctor.text().contains(secret) && !doctor.errors().contains(secret));
    for file in files(&home.config()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(secret), "{}", file.display());
    }
}

/// A run that notifies a test server when it ends.
fn telling(home: &Home, base: &str, ntfy: &str) -> Marvin {
    home.ask(base, "a secret plan").env("MARVIN_URL_NTFY", ntfy)
}

#[test]
fn the_end_is_told_to_the_topic_and_never_what_was_said() {
    let (home, server) = (Home::new(), says(&["a secret answer"]));
    let ntfy = Server::always(Answer::status(200));
    telling(&home, &server.url("/v1"), &ntfy.url(""))
        .args(["--ntfy", "my-topic"])
        .env("NTFY_TOKEN", "tk_sesame")
        .run()
        .expect(0);
    telling(&home, &format!("http://{}/v1", refused()), &ntfy.url(""))
        .arg("--ntfy=my-topic")
        .env("MARVIN_RETRIES", "0")
        .run()
        .expect(1);
    let (output, failed) = (ntfy.request(0), ntfy.request(1));
    assert_eq!(
        (output.method.as_str(), output.path.as_str()),
        ("POST", "/my-topic")
    );
    let (said, failure) = (output.text(), failed.text());
    assert!(said.starts_with("Marvin is done after "), "{said}");
    said.assert_has(&[" s, <$0.01"]);
    assert!(failure.starts_with("Marvin failed after "), "{failure}");
    assert_eq!(output.header("authorization"), Some("Bearer tk_sesame"));
    assert_eq!(failed.header("authorization"), None);
    for request in [output, failed] {
        request.text().assert_lacks(&["secret"]);
        let types = request
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let types: Vec<_> = types.map(|(_, value)| value.as_str()).collect();
        assert_eq!(types, ["text/plain"]);
    }
}

#[test]
fn a_topic_that_was_not_given_is_made_up_and_told() {
    let (home, server) = (Home::new(), says(&["ok"]));
    let ntfy = Server::always(Answer::status(200));
    let topics: Vec<_> = (0..2)
        .map(|_| {
            let run = telling(&home, &server.url("/v1"), &ntfy.url("")).arg("--ntfy");
            let errors = run.run().expect(0).errors();
            let topic = errors
                .lines()
                .find_map(|line| line.strip_prefix("ntfy topic: "));
            topic
                .unwrap_or_else(|| panic!("no topic in {errors}"))
                .to_owned()
        })
        .collect();
    assert_ne!(topics[0], topics[1]);
    assert!(topics[0].len() >= 20);
    for (n, topic) in topics.iter().enumerate() {
        assert_eq!(ntfy.request(n).path, format!("/{topic}"));
    }
}

#[test]
fn a_message_that_cannot_be_sent_changes_nothing() {
    let (home, server) = (Home::new(), says(&["ok"]));
    let angry = Server::always(Answer::text("text/plain", "no").with_status(403));
    for ntfy in [
        format!("http://{}", refused()),
        angry.url(""),
        "not an address".to_owned(),
    ] {
        let output = telling(&home, &server.url("/v1"), &ntfy)
            .args(["--ntfy", "t"])
            .run()
            .expect(0);
        assert_eq!(output.text(), "ok\n");
        assert_eq!(output.errors().lines().count(), 1, "{}", output.errors());
        output.cost();
    }
}

#[test]
fn a_signal_waits_for_no_silent_service() {
    let home = Home::new();
    let (server, ntfy) = (
        Server::with([Exchange::any().answer(Answer::silence())]),
        Server::with([Exchange::any().answer(Answer::silence())]),
    );
    let run = telling(&home, &server.url("/v1"), &ntfy.url(""))
        .args(["--ntfy", "t"])
        .spawn();
    server.wait_requests(1, Duration::from_secs(10));
    run.signal(Signal::TERM);
    let sent = Instant::now();
    let output = run.wait().expect(143);
    assert!(
        sent.elapsed() < Duration::from_secs(15),
        "{:?}",
        sent.elapsed()
    );
    output.cost();
}

#[test]
fn the_message_takes_the_same_roads() {
    let (home, server) = (Home::new(), says(&["ok"]));
    let ntfy = Server::always(Answer::status(200));
    let face = TlsFace::before(&ntfy);
    let proxy = Proxy::to(face.address());
    let file = home.write("authority.pem", tls::authority());
    for base in [face.url(""), "https://provider.test".to_owned()] {
        telling(&home, &server.url("/v1"), &base)
            .args(["--ntfy", "t"])
            .env("SSL_CERT_FILE", &file)
            .env("HTTPS_PROXY", proxy.url(""))
            .run()
            .expect(0);
    }
    assert_eq!(ntfy.requests().len(), 2);
    assert_eq!(proxy.seen().len(), 1, "loopback goes through no proxy");
}

#[test]
fn a_forwarding_proxy_gets_whole_addresses_on_a_kept_connection_too() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        Answer::sse(if n == 0 {
            openai::call("a", "get_working_dir", serde_json::json!({}))
        } else {
            openai::text(&["There."])
        })
    });
    let proxy = Proxy::to(server.address());
    let long = "word ".repeat(20_000);
    home.ask("http://provider.test/v1", &long)
        .env("HTTP_PROXY", proxy.url(""))
        .run()
        .expect(0);
    assert_eq!(server.connections(), 1);
    // The proxy reads only the first request and passes the second on unchanged.
    let paths = [0, 1].map(|n| server.request(n).path);
    let path = "/v1/chat/completions";
    assert_eq!(
        paths,
        [path.to_owned(), format!("http://provider.test{path}")]
    );
    let sent = server.request(0).json()["messages"].to_string();
    assert!(sent.contains(long.trim_end()), "the long body came whole");
}
