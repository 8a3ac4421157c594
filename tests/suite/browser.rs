//! Pages in a browser that a driver controls: a scripted one, recorded sessions, and real ones where they are installed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::{Marvin, program};
use crate::support::samples;
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::words::TextAssertions;
use crate::web::{bare, fenced, run};

/// A folder with a driver program that only says where the scripted server listens.
fn driver(home: &Home, name: &str, says: &str) -> PathBuf {
    let dir = bare(home);
    let put = |name: &str, text: String| {
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let browser = if name == "chromedriver" {
        "chromium"
    } else {
        "firefox"
    };
    put(name, format!("#!/bin/sh\necho '{says}'\nexec sleep 60\n"));
    put(browser, "#!/bin/sh\nexit 1\n".to_owned());
    PathBuf::from(format!("{}:/usr/bin:/bin", dir.display()))
}

/// One answer of a driver: its status and its body.
#[derive(Clone)]
struct Reply(u16, Vec<u8>);

impl Reply {
    fn answer(&self) -> Answer {
        Answer::status(self.0)
            .header("Content-Type", "application/json")
            .send(self.1.clone())
    }
}

fn value(value: Value) -> Reply {
    Reply(200, json!({"value": value}).to_string().into_bytes())
}

/// What a driver answers; the rest is as it should be.
#[derive(Clone)]
struct Played {
    session: Reply,
    navigation: Reply,
    place: &'static str,
    script: Option<Value>,
    source: Reply,
}

impl Played {
    fn new() -> Self {
        Self {
            session: value(json!({"sessionId": "abc-123", "capabilities": {}})),
            navigation: value(Value::Null),
            place: "/page",
            script: Some(
                json!({"title": "After", "text": "\n\nRun: 42\n\n\n\nend\n", "links": []}),
            ),
            source: value(json!("<title>Source</title><p>From the source.")),
        }
    }

    /// A page at `/page`, and the driver behind everything else.
    fn server(self) -> Server {
        Server::answering(move |request, _| {
            let host = request.header("host").unwrap().to_owned();
            let place = match self.place.strip_prefix('/') {
                Some(path) => format!("http://{host}/{path}"),
                None => self.place.to_owned(),
            };
            let path = request.path.as_str();
            match (request.method.as_str(), path.rsplit('/').next().unwrap()) {
                ("GET", "status") => value(json!({"ready": true, "message": ""})).answer(),
                ("POST", "session") => self.session.answer(),
                ("DELETE", _) => value(Value::Null).answer(),
                ("POST", "url") => self.navigation.answer(),
                ("GET", "url") => value(json!(place)).answer(),
                ("GET", "source") => self.source.answer(),
                ("POST", "sync") => match &self.script {
                    Some(_) if request.text().contains("\"args\":[]") => value(json!(false)).answer(),
                    Some(taken) => {
                        let mut taken = taken.clone();
                        taken["href"] = json!(place);
                        value(taken).answer()
                    }
                    None => Answer::status(500).and_json(
                        &json!({"value": {"error": "javascript error", "message": "javascript error: x"}}),
                    ),
                },
                _ => Answer::text("text/html", "<title>Plain</title><p>As it came.</p>"),
            }
        })
        .lenient()
    }
}

/// Scrapes the page of `server`, which is its driver too.
fn by_driver(home: &Home, server: &Server, family: &str) -> Marvin {
    let port = server.address().port();
    let says = match family {
        "chromedriver" => format!("ChromeDriver was started successfully on port {port}."),
        _ => format!("1\tgeckodriver\tINFO\tListening on 127.0.0.1:{port}"),
    };
    let path = driver(home, family, &says);
    run(home, "scrape_page", &json!({"url": server.url("/page")})).env("PATH", path)
}

fn asked(server: &Server) -> Vec<String> {
    let requests = server.requests();
    requests
        .iter()
        .map(|request| format!("{} {}", request.method, request.path))
        .collect()
}

#[test]
fn a_session_is_opened_used_and_deleted() {
    for family in ["chromedriver", "geckodriver"] {
        let home = Home::new();
        let server = Played::new().server();
        let output = by_driver(&home, &server, family).run().expect(0);
        output.stdout_starts_with("Title: After\nText of");
        assert_eq!(fenced(output.text()), "Run: 42\n\nend");
        assert_eq!(
            asked(&server),
            [
                "GET /page",
                "GET /status",
                "POST /session",
                "POST /session/abc-123/url",
                "POST /session/abc-123/execute/sync",
                "POST /session/abc-123/execute/sync",
                "DELETE /session/abc-123",
            ]
        );
        let body: Value = serde_json::from_slice(&server.request(2).body).unwrap();
        let expected = &body["capabilities"]["alwaysMatch"];
        assert_eq!(expected["timeouts"]["pageLoad"], 30_000);
        let options = expected.to_string();
        let proxied = match family {
            "chromedriver" => "--proxy-server=http://127.0.0.1:",
            _ => "\"sslProxy\":\"127.0.0.1:",
        };
        assert!(options.contains(proxied), "{options}");
    }
}

#[test]
fn driver_failures_are_reported() {
    let home = Home::new();
    let get = |played: Played| {
        let server = played.server();
        let output = by_driver(&home, &server, "chromedriver").run();
        let asked = asked(&server);
        let opened = asked.iter().filter(|line| *line == "POST /session").count();
        let deleted = asked
            .iter()
            .filter(|line| line.starts_with("DELETE"))
            .count();
        (output, opened, deleted)
    };
    let text = |error: &str, message: &str| {
        let body = json!({"value": {"error": error, "message": message, "stacktrace": "secret"}});
        Reply(500, body.to_string().into_bytes())
    };
    // A page whose scripts spoil everything.
    let (output, ..) = get(Played {
        script: None,
        ..Played::new()
    });
    let output = output.expect(0);
    output.stdout_starts_with("Title: Source\nText of");
    assert_eq!(fenced(output.text()), "From the source.");
    // Late, failed, dead, not opened, and no driver at all.
    let (output, opened, deleted) = get(Played {
        navigation: text("timeout", "timeout: x"),
        ..Played::new()
    });
    output.stdout_has(&["did not finish loading within 30 s"]);
    assert_eq!((opened, deleted), (1, 1));
    for (navigation, expected, sessions) in [
        (
            text("unknown error", "unknown error: net::ERR_X\n  (Session)"),
            "The browser says: unknown error: net::ERR_X. So its scripts were not run.",
            1,
        ),
        (
            text("invalid session id", "invalid session id"),
            "The browser says: invalid session id.",
            2,
        ),
        (
            Reply(405, b"nonsense".to_vec()),
            "answered 405 with something that is not JSON: nonsense",
            1,
        ),
    ] {
        let (output, opened, deleted) = get(Played {
            navigation,
            ..Played::new()
        });
        let output = output.expect(0);
        output.text().assert_has(&[expected]);
        output.text().assert_lacks(&["secret"]);
        assert_eq!(fenced(output.text()), "As it came.");
        assert_eq!((opened, deleted), (sessions, sessions));
    }
    for session in [
        text("session not created", "no browser"),
        value(json!({"sessionId": "../../x"})),
        value(Value::Null),
    ] {
        let (output, opened, deleted) = get(Played {
            session,
            ..Played::new()
        });
        assert_eq!(fenced(output.expect(0).text()), "As it came.");
        assert_eq!((opened, deleted), (1, 0));
    }
    // Led to the browser's internal pages, and to forbidden addresses.
    let (output, ..) = get(Played {
        place: "chrome-error://chromewebdata/",
        ..Played::new()
    });
    output
        .expect(0)
        .stdout_has(&["it shows chrome-error://chromewebdata/. So its"]);
    let (output, _, deleted) = get(Played {
        place: "http://10.0.0.1/",
        ..Played::new()
    });
    output
        .expect(1)
        .stderr_has(&["The page leads elsewhere: 10.0.0.1"]);
    assert_eq!(deleted, 1);
    // A driver that only fails.
    let path = driver(&home, "chromedriver", "");
    fs::write(
        home.path().join("empty-bin/chromedriver"),
        "#!/bin/sh\necho no library >&2\nexit 7\n",
    )
    .unwrap();
    let server = Played::new().server();
    run(&home, "scrape_page", &json!({"url": server.url("/page")}))
        .env("PATH", path)
        .prints(&["does not start: exit code: 7 no library"]);
}

#[test]
fn recorded_driver_sessions_are_parsed() {
    let played = |sample: &samples::Sample| {
        let home = Home::new();
        let mut played = Played::new();
        let family = if sample.name.starts_with("chrome") {
            "chromedriver"
        } else {
            "geckodriver"
        };
        match sample.request.rsplit('/').next().unwrap() {
            "session" => played.session = Reply(sample.status, sample.bytes.clone()),
            "url" => played.navigation = Reply(sample.status, sample.bytes.clone()),
            _ => {
                played.script = None;
                played.source = Reply(sample.status, sample.bytes.clone());
            }
        }
        let server = played.server();
        let output = by_driver(&home, &server, family).run().expect(0);
        output.stdout_lacks(&["chrome://remote"]);
        (output.text().to_owned(), asked(&server))
    };
    let begun = |sample: &samples::Sample| {
        let (text, asked) = played(sample);
        assert_eq!(fenced(&text), "Run: 42\n\nend");
        let body: Value = serde_json::from_slice(&sample.bytes).unwrap();
        let id = body["value"]["sessionId"].as_str().unwrap();
        assert_eq!(asked.last().unwrap(), &format!("DELETE /session/{id}"));
    };
    let rendered = |sample: &samples::Sample| {
        let text = fenced(&played(sample).0);
        sample.assert_shown_in(&text, &["Rendered by script: 42", "Brest | 05:01"]);
    };
    let says = |expected: &'static str| {
        move |sample: &samples::Sample| {
            let (text, asked) = played(sample);
            sample.assert_shown_in(&text, &[expected]);
            assert!(asked.last().unwrap().starts_with("DELETE"));
        }
    };
    samples::each(
        "web: recorded drivers",
        "webdriver",
        &[
            ("chrome-new-session.json", &begun),
            ("firefox-new-session.json", &begun),
            ("chrome-source.json", &rendered),
            ("firefox-source.json", &rendered),
            (
                "chrome-error-timeout.json",
                &says("did not finish loading within 30 s"),
            ),
            (
                "firefox-error-timeout.json",
                &says("did not finish loading within 30 s"),
            ),
            (
                "chrome-error-navigation.json",
                &says("unknown error: net::ERR_NAME_NOT_RESOLVED. So its scripts were not run"),
            ),
            (
                "firefox-error-navigation.json",
                &says("Reached error page: about:neterror?e=dnsNotFound"),
            ),
            (
                "chrome-error-invalid-session.json",
                &says("invalid session id"),
            ),
            (
                "firefox-error-invalid-session.json",
                &says("invalid session id"),
            ),
        ],
    );
}

fn with_browser(test: &str) -> bool {
    let driver = program("chromedriver").is_some() && program("chromium").is_some()
        || program("geckodriver").is_some() && program("firefox-esr").is_some();
    if !driver {
        skip(
            test,
            "no driver with a browser is installed (scripts/world-tools.sh)",
        );
    }
    driver
}

/// Folders of browsers and programs that have not ended.
fn left_in(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

#[test]
fn a_real_browser_runs_scripts_and_gets_nowhere_private() {
    if !with_browser("web: a real browser") {
        return;
    }
    let home = Home::new();
    let temporary = home.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let secret = Server::always(Answer::text("text/html", "<p>Secret.")).lenient();
    let private = format!("http://127.0.0.2:{}/", secret.address().port());
    let server = {
        let private = private.clone();
        Server::answering(move |request, _| match request.path.as_str() {
            "/late" => Answer::text(
                "text/html",
                format!(
                    "<title>Late</title><p id=x>Before.</p><script>setTimeout(() => {{ x.textContent = 'Written by script: 42'; \
                     fetch('{private}').catch(() => {{}}); }}, 200)</script>"
                ),
            ),
            "/away" => Answer::text("text/html", format!("<title>a</title><script>location.href = '{private}'</script>")),
            _ => Answer::status(404).send(""),
        })
        .lenient()
    };
    let get = |path: &str| {
        run(&home, "scrape_page", &json!({"url": server.url(path)}))
            .env("MARVIN_ALLOW_PRIVATE", server.address().to_string())
            .env("TMPDIR", &temporary)
    };
    let output = get("/late").run().expect(0);
    assert_eq!(fenced(output.text()), "Written by script: 42");
    output.stdout_has(&["1 request of the page could not be made: 127.0.0.2"]);
    get("/away").fails(&["leads elsewhere: 127.0.0.2", "not opened"]);
    assert_eq!(secret.requests().len(), 0);
    let start = Instant::now();
    while left_in(&temporary) > 0 && start.elapsed() < Duration::from_secs(3) {
        std::thread::yield_now();
    }
    assert_eq!(left_in(&temporary), 0);
}

#[test]
fn a_real_browser_starts_whatever_the_folder_for_temporary_files_is_called() {
    if !with_browser("web: a real browser and a long TMPDIR") {
        return;
    }
    let home = Home::new();
    let long = home.path().join("t".repeat(60));
    fs::create_dir(&long).unwrap();
    let page = "<p id=x>Before.</p><script>x.textContent = 'Written by script: 42'</script>";
    let server = Server::always(Answer::text("text/html", page)).lenient();
    let output = run(&home, "scrape_page", &json!({"url": server.url("/")}))
        .env("MARVIN_ALLOW_PRIVATE", server.address().to_string())
        .env("TMPDIR", &long)
        .run()
        .expect(0);
    assert_eq!(fenced(output.text()), "Written by script: 42");
    assert_eq!(left_in(&long), 0);
}
