//! Pages of the web through the built binary: as lynx and as the built-in rendering show them, with the scripted server in place of the
//! WebDriver program, and through a real browser where one is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::{Marvin, program};
use crate::support::samples;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::shared::skip;
use crate::support::wire::openai;
use crate::support::words::{BEGIN_EXTRACT, END_EXTRACT, TextAssertions};

const PAGE: &str = "<!doctype html><title>Boats &amp; tides</title><body><nav><a href=/home>Home</a></nav>\
                    <h1>Boats</h1><p>The ferry leaves at <b>09:15</b> — daily.</p><ul><li>one<li>two</ul>\
                    <div id=menu>Crêpe 4,50 €<br>Cider</div><a href='more.html?x#y'>More</a>\
                    <script>document.title='never'</script></body>";

/// An empty folder for PATH: neither lynx nor a browser.
pub(crate) fn bare(home: &Home) -> PathBuf {
    let dir = home.path().join("empty-bin");
    fs::create_dir_all(&dir).unwrap();
    dir
}

pub(crate) fn run(home: &Home, name: &str, args: &Value) -> Marvin {
    samples::tool(home, &[], "", name, args).env("MARVIN_ALLOW_PRIVATE", "127.0.0.1")
}

fn browse(home: &Home, args: &Value) -> Marvin {
    run(home, "browse_web", args).env("PATH", bare(home))
}

/// The text between the marks.
pub(crate) fn fenced(text: &str) -> String {
    let (_, inner) = text.split_once(BEGIN_EXTRACT).expect("a fence");
    let (inner, _) = inner.split_once(END_EXTRACT).expect("its end");
    inner.trim().to_owned()
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
    let got = fenced(&first) + &second[second.find(BEGIN_EXTRACT).unwrap()..];
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
    assert!(output.ended - fired < Duration::from_secs(10));
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
