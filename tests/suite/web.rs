//! Pages of the web through the built binary: as lynx and as the built-in rendering show them, with the scripted server in place of the
//! WebDriver program, and through a real browser where one is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::{Marvin, program};
use crate::support::samples;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::shared::skip;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const PAGE: &str = "<!doctype html><title>Boats &amp; tides</title><body><nav><a href=/home>Home</a></nav>\
                    <h1>Boats</h1><p>The ferry leaves at <b>09:15</b> — daily.</p><ul><li>one<li>two</ul>\
                    <div id=menu>Crêpe 4,50 €<br>Cider</div><a href='more.html?x#y'>More</a>\
                    <script>document.title='never'</script></body>";

/// An empty folder for PATH: neither lynx nor a browser.
fn bare(home: &Home) -> PathBuf {
    let dir = home.path().join("empty-bin");
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn run(home: &Home, name: &str, args: &Value) -> Marvin {
    samples::tool(home, &[], "", name, args).env("MARVIN_ALLOW_PRIVATE", "127.0.0.1")
}

fn browse(home: &Home, args: &Value) -> Marvin {
    run(home, "browse_web", args).env("PATH", bare(home))
}

/// The text between the marks.
fn fenced(text: &str) -> String {
    let begin = text.find("\n--- ").expect("a fence") + 1;
    let mark = text[begin..].lines().next().unwrap();
    let inner = &text[begin + mark.len() + 1..];
    inner[..inner.find(mark).expect("its end")]
        .trim_end()
        .to_owned()
}

#[test]
fn a_page_is_read_as_text_with_and_without_lynx() {
    let home = Home::new();
    let server = Server::always(Answer::text("text/html; charset=utf-8", PAGE));
    let url = json!({"url": server.url("/a/")});
    let output = browse(&home, &url).run().expect(0);
    output.stdout_starts_with("Title: Boats & tides\nText of http://127.0.0.1:");
    assert_eq!(
        fenced(output.text()),
        "Home\n\n# Boats\n\nThe ferry leaves at 09:15 — daily.\n\n- one\n- two\n\nCrêpe 4,50 €\nCider\nMore"
    );
    let asked = server.request(0);
    assert_eq!(asked.header("accept-encoding"), Some("gzip"));
    assert_eq!(
        asked.header("user-agent"),
        Some("Marvin/0.1.0 (+tests@example.org)")
    );
    if program("lynx").is_none() {
        return skip("web: a page by lynx", "the program is not installed");
    }
    let output = run(&home, "browse_web", &url).run().expect(0);
    let text = fenced(output.text());
    text.assert_has(&["The ferry leaves at 09:15 — daily.", "* one"]);
    text.assert_lacks(&["never"]);
}

#[test]
fn a_page_is_read_on_without_fetching_it_again() {
    let home = Home::new();
    let expected: String = (0..3_000).map(|n| format!("{n}é-")).collect();
    let body = format!("<p>{expected}</p>");
    let total = expected.chars().count();
    let pages = Server::with([Exchange::get("/long").answer(Answer::text("text/html", body))]);
    let url = pages.url("/long");
    let call = |id: &str, start: usize| {
        openai::call(
            id,
            "browse_web",
            json!({"url": url, "start_index": start, "max_length": 1000}),
        )
    };
    let model = Server::with([
        Exchange::post("/chat/completions").answer(Answer::sse(call("c1", 0))),
        Exchange::post("/chat/completions").answer(Answer::sse(call("c2", 1000))),
        Exchange::post("/chat/completions").answer(Answer::sse(call("c3", total + 5))),
        Exchange::post("/chat/completions").answer(Answer::sse(openai::text(&["Done."]))),
    ]);
    home.ask(&model.url("/v1"), "read it")
        .env("MARVIN_ALLOW_PRIVATE", pages.address().to_string())
        .env("PATH", bare(&home))
        .run()
        .expect(0);
    let told = |n: usize| -> String {
        let body: Value = serde_json::from_slice(&model.request(n).body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (first, second, third) = (told(1), told(2), told(3));
    first.assert_has(&["Continue with start_index=1000."]);
    let got = fenced(&first) + &second[second.find("\n--- ").unwrap()..];
    assert_eq!(fenced(&first).chars().count(), 1000);
    assert!(got.contains("Characters 1,001 to 2,000"), "{second}");
    third.assert_has(&["is behind its end"]);
}

#[test]
fn content_that_is_not_a_page_is_described() {
    let home = Home::new();
    let server = Server::answering(|request, _| match request.path.as_str() {
        "/gone" => Answer::status(404)
            .header("Content-Type", "text/html")
            .send("<h1>Nothing</h1><p>Try elsewhere.</p>"),
        "/bare" => Answer::status(503).send(""),
        "/pdf" => Answer::text("application/pdf", "%PDF-1.7"),
        "/lie" => Answer::text("text/html", "%PDF-1.7 and so on"),
        "/data" => Answer::text("application/octet-stream", vec![0u8; 2_000]),
        "/json" => Answer::text(
            "application/json",
            format!("{{\"a\":[1e400,\"{}\"]}}", "x".repeat(200)),
        ),
        "/plain" => Answer::text(
            "text/plain; charset=iso-8859-1",
            b"caf\xe9 <b>\x1b[2J".to_vec(),
        ),
        "/meta" => Answer::text(
            "text/html",
            b"<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2".to_vec(),
        ),
        "/app" => Answer::text(
            "text/html",
            "<div id=root></div><script src=/app.js></script>",
        ),
        "/untold" => Answer::status(200).send("<!doctype html><p>page"),
        "/away" => Answer::status(302).header("Location", "/untold"),
        "/out" => Answer::status(302).header("Location", "http://169.254.169.254/latest"),
        "/loop" => Answer::status(302).header("Location", "/loop"),
        "/untyped" => Answer::status(200).send("<div>a <b>b</b></div>"),
        "/nowhere" => Answer::status(302),
        _ => Answer::text("text/html", ""),
    });
    let get = |path: &str| browse(&home, &json!({"url": server.url(path)}));
    let output = get("/gone").run().expect(0);
    output.stdout_starts_with(
        "The server answered 404 (not found): this is the text of its error page.",
    );
    assert_eq!(fenced(output.text()), "# Nothing\n\nTry elsewhere.");
    get("/bare").fails(&[
        "answered 503 (the server failed) for /bare",
        "Try again later",
    ]);
    get("/pdf").fails(&["it is application/pdf, 8 bytes", "download_file"]);
    get("/lie").fails(&["it is application/pdf, 18 bytes", "download_file"]);
    get("/data").fails(&["it is binary data, 2.0 kB", "download_file"]);
    let json = fenced(get("/json").run().expect(0).text());
    assert!(
        json.starts_with("{\n  \"a\": [\n    1e400,\n    \"xxx"),
        "{json}"
    );
    assert_eq!(
        fenced(get("/plain").run().expect(0).text()),
        "café <b>\\x1b[2J"
    );
    assert_eq!(fenced(get("/meta").run().expect(0).text()), "Привет");
    get("/app").prints(&["no text before its scripts run; scrape_page"]);
    assert_eq!(fenced(get("/untold").run().expect(0).text()), "page");
    assert_eq!(fenced(get("/untyped").run().expect(0).text()), "a b");
    get("/away")
        .run()
        .expect(0)
        .stdout_starts_with(&format!("It redirects to {}\n", server.url("/untold")));
    get("/out").fails(&["The address redirects: 169.254.169.254", "not opened"]);
    get("/loop").fails(&["redirects more than 10 times"]);
    get("/nowhere").fails(&["answered 302 (it redirects without saying where to) for /nowhere"]);
    get("/empty").prints(&["The page is empty."]);
    for (url, expected) in [
        ("file:///etc/passwd", "Only http and https"),
        ("-dump", "is not a web address"),
        ("http://10.0.0.1/", "not opened"),
        ("", "is not a web address"),
        (&"x".repeat(100_000), "is 100000 bytes long"),
    ] {
        for tool in ["browse_web", "scrape_page"] {
            run(&home, tool, &json!({"url": url}))
                .env("PATH", bare(&home))
                .fails(&[expected]);
        }
    }
}

#[test]
fn too_large_and_too_slow_pages_end_soon() {
    use std::io::Write as _;
    let home = Home::new();
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..200 {
        bomb.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    let server = Server::answering(move |request, _| match request.path.as_str() {
        "/bomb" => Answer::text("text/html", bomb.clone()).header("Content-Encoding", "gzip"),
        "/twice" => Answer::text("text/html", bomb.clone()),
        "/deep" => Answer::text("text/html", "<div>".repeat(200_000) + "end"),
        "/json" => Answer::text("application/json", "[".repeat(10_000)),
        "/stall" => Answer::status(200)
            .claim_length(1 << 20)
            .send("<p>begun")
            .stall(),
        _ => Answer::text("text/html", vec![b'x'; 12_000_000]),
    })
    .lenient();
    let get = |path: &str| browse(&home, &json!({"url": server.url(path)}));
    for path in ["/bomb", "/twice", "/big"] {
        get(path).fails(&["sent more than 10.0 MB", "download_file"]);
    }
    assert_eq!(fenced(get("/deep").run().expect(0).text()), "end");
    assert!(fenced(get("/json").run().expect(0).text()).starts_with("[[[["));
    let running = get("/stall").spawn();
    server.wait_requests(6, Duration::from_secs(20));
    let fired = Instant::now();
    running.signal(Signal::INT);
    let output = running.wait();
    output.stderr_has(&["Cancelled"]);
    assert!(output.ended - fired < Duration::from_millis(700));
}

#[test]
fn without_a_browser_the_served_page_is_used() {
    let home = Home::new();
    let server = Server::always(Answer::text("text/html; charset=utf-8", PAGE)).lenient();
    let get = |more: Value| {
        let mut args = json!({"url": server.url("/a/")});
        args.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        run(&home, "scrape_page", &args).env("PATH", bare(&home))
    };
    let output = get(json!({})).run().expect(0);
    output
        .stdout_starts_with("Title: Boats & tides\nNo browser with a driver was found")
        .stdout_has(&["its scripts were not run"]);
    let text = fenced(output.text());
    assert!(
        text.starts_with("# Boats") && text.ends_with("More") && !text.contains("Home"),
        "{text}"
    );
    let links = fenced(get(json!({"extract": "links"})).run().expect(0).text());
    assert_eq!(links, format!("More -> {}", server.url("/a/more.html?x")));
    let menu = fenced(get(json!({"extract": "menu"})).run().expect(0).text());
    assert_eq!(menu, "Crêpe 4,50 €");
    let part = get(json!({"css_selector": "div#menu", "extract": "text", "max_length": 5}))
        .run()
        .expect(0);
    assert_eq!(fenced(part.text()), "Crêpe");
    part.stdout_has(&["first 5 of 18 characters"]);
    let none = get(json!({"css_selector": "h1", "extract": "menu"}))
        .run()
        .expect(0);
    none.stdout_has(&["No line of it has a price"]);
    get(json!({"css_selector": "#none"})).fails(&[
        "No element of the page fits \"#none\"",
        "Ids on the page: menu.",
    ]);
    get(json!({"css_selector": "a > b"})).fails(&["Only a plain selector", "No browser"]);
}

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
        assert!(
            output.text().contains(expected) && !output.text().contains("secret"),
            "{}",
            output.text()
        );
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

#[test]
fn pages_of_lynx_come_out_the_same() {
    for found in samples::sample_sets("web: recorded pages", "lynx") {
        pages_of_lynx(&found);
    }
}

fn pages_of_lynx(found: &[samples::Sample]) {
    let named = |name: &str| found.iter().find(|sample| sample.name == name).unwrap();
    let page = named("page.html");
    let server = page.server();
    let home = Home::new();
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let url = json!({"url": server.url("/page.html")});
    let built_in = fenced(browse(&home, &url).run().expect(0).text());
    page.assert_shown_in(
        &built_in,
        &["High water at Roscoff — 06:12 & 18:40.\n\nNo script\n\nPort | HW\nBrest | 05:01"],
    );
    // A recorded run of lynx: its text counts, whatever its exit status, and its failure is not the page's.
    for (name, stream, status) in [
        ("dump-page.txt", 1, 0),
        ("dump-404.txt", 1, 1),
        ("stderr-refused.txt", 2, 1),
    ] {
        let dir = bare(&home);
        let sample = dir.join("said.txt");
        fs::write(&sample, &named(name).bytes).unwrap();
        let script = format!(
            "#!/bin/sh\ncat >/dev/null\ncat {} >&{stream}\nexit {status}\n",
            sample.display()
        );
        fs::write(dir.join("lynx"), script).unwrap();
        fs::set_permissions(dir.join("lynx"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.display());
        let output = run(&home, "browse_web", &url)
            .env("PATH", path)
            .run()
            .expect(0);
        let shown = fenced(output.text());
        match stream {
            1 => assert_eq!(
                words(&shown),
                words(&String::from_utf8_lossy(&named(name).bytes))
            ),
            _ => assert_eq!(shown, built_in),
        }
    }
    if program("lynx").is_none() {
        return skip("web: pages by lynx", "the program is not installed");
    }
    let output = run(&home, "browse_web", &url).run().expect(0);
    let recorded = String::from_utf8_lossy(&named("dump-page.txt").bytes).into_owned();
    assert_eq!(words(&fenced(output.text())), words(&recorded));
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
