//! Feeds through the built binary: polite requests, and the same reading as feedparser.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use marvin::testing::address::Address;
use marvin::testing::feed::{self, Feed};
use marvin::testing::html;
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::{Marvin, program};
use crate::support::samples::{self, tool};
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::words::{TextAssertions, unfenced};
use crate::utilities::{fails, says};

fn rss(home: &Home, server: &Server, path: &str) -> Marvin {
    tool(home, &[], "", "read_rss", &json!({"url": server.url(path)}))
        .env("MARVIN_ALLOW_PRIVATE", server.address().to_string())
}

#[test]
fn a_feed_request_is_polite_and_refusals_are_reported() {
    let home = Home::new();
    let body =
        "<rss><channel><title>F</title><item><title>T</title><link>x</link></item></channel></rss>";
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(body.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![b' '; 20 << 20]).unwrap();
    let bomb = bomb.finish().unwrap();
    let server = Server::answering(move |request, _| {
        let hops: Option<usize> = request
            .path
            .strip_prefix("/hop/")
            .and_then(|n| n.parse().ok());
        match (hops, request.path.as_str()) {
            (Some(0), _) | (_, "/a/feed") => Answer::text("text/xml", body),
            (Some(n), _) => Answer::status(302).header("Location", &format!("/hop/{}", n - 1)),
            (_, "/gzip") => {
                Answer::text("text/xml", packed.clone()).header("Content-Encoding", "gzip")
            }
            (_, "/bomb") => {
                Answer::text("text/xml", bomb.clone()).header("Content-Encoding", "gzip")
            }
            (_, "/large") => Answer::text("text/xml", vec![b' '; 6_000_000]),
            (_, "/429") => Answer::status(429).header("Retry-After", "30"),
            (_, "/429-now") => Answer::status(429).header("Retry-After", "-5"),
            (_, "/empty") => Answer::text("text/xml", ""),
            (_, "/cut") => Answer::status(200)
                .send(body.replace("</item></channel></rss>", ""))
                .claim_length(9_999),
            (_, "/cut-soon") => Answer::status(200).send("<rss><chan").claim_length(9_999),
            (_, "/private") => Answer::status(302).header("Location", "http://127.0.0.2:9/"),
            (_, path) => Answer::status(path.trim_start_matches('/').parse().unwrap_or(404)),
        }
    });
    let text = says(rss(&home, &server, "/a/feed"));
    assert!(
        text.starts_with("Text of the feed at 127.0.0.1, between the two marks"),
        "{text}"
    );
    assert_eq!(
        unfenced(&text),
        format!("F\n1 entry\n\n1. T\n   {}", server.url("/a/x"))
    );
    let request = server.request(0);
    request.header("accept").unwrap().assert_has(&[
        "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.8",
    ]);
    request
        .header("user-agent")
        .unwrap()
        .assert_has(&["Marvin/", "(+tests@example.org)"]);
    says(rss(&home, &server, "/gzip")).assert_has(&["1. T"]);
    says(rss(&home, &server, "/hop/5")).assert_has(&["1. T"]);
    says(rss(&home, &server, "/cut")).assert_has(&["1 entry\nThe feed is cut off; ", "1. T"]);
    for (path, expected) in [
        ("/cut-soon", "broke off"),
        ("/empty", "answered with nothing (200)."),
        ("/429-now", "(429). Try again later."),
        ("/hop/6", "redirects more than 5 times"),
        ("/bomb", "more than 5 MB"),
        ("/large", "more than 5 MB"),
        ("/429", "(429). Try again in 30 s."),
        ("/403", "refused the request (403)"),
        ("/406", "(406)"),
        ("/410", "has been removed"),
        ("/404", "has no feed at this address"),
        ("/500", "failed (500)"),
        ("/private", "The address redirects:"),
    ] {
        fails(rss(&home, &server, path)).assert_has(&[expected]);
    }
    let private = tool(
        &home,
        &[],
        "",
        "read_rss",
        &json!({"url": server.url("/a/feed")}),
    );
    fails(private).assert_has(&["not opened"]);
}

/// What feedparser reads from files: the title, and title and link of each entry.
const ORACLE: &str = r#"
import feedparser, json, sys
out = []
for path in sys.argv[1:]:
    with open(path, 'rb') as file:
        data = file.read()
    feed = feedparser.parse(data, response_headers={'content-type': 'application/xml', 'content-location': 'https://site.test/a/feed.xml'})
    def text(of):
        detail = of.get('title_detail', {})
        return [of.get('title', ''), detail.get('type', '')]
    out.append([text(feed.feed), [text(entry) + [entry.get('link', '')] for entry in feed.entries]])
print(json.dumps(out))
"#;

/// Feeds in every format, with titles and links that are hard to read.
fn generated() -> Vec<String> {
    let titles = [
        "Plain",
        "A &amp; B",
        "x &lt; y",
        "<![CDATA[Fish & chips]]>",
        "caf&#233; \u{2014} na\u{ef}ve",
        " two\n lines ",
        "&quot;q&quot; &apos;a&apos;",
    ];
    let links = [
        "https://x.test/1?a=1&amp;b=2",
        "https://x.test/p%C3%A9",
        "https://x.test/q#f",
    ];
    let mut out = Vec::new();
    for shift in 0..titles.len() {
        let rows: Vec<(&str, &str)> = (0..4)
            .map(|n| {
                (
                    titles[(n + shift) % titles.len()],
                    links[(n + shift) % links.len()],
                )
            })
            .collect();
        let (mut rss, mut rdf, mut atom) = (String::new(), String::new(), String::new());
        for (title, link) in &rows {
            let _ = write!(
                rss,
                "<item><media:title>no</media:title><title>{title}</title><guid isPermaLink='false'>g</guid><link>{link}</link></item>"
            );
            let _ = write!(
                rdf,
                "<item rdf:about='{link}'><title>{title}</title><link>{link}</link></item>"
            );
            let _ = write!(
                atom,
                "<entry><id>i</id><link rel='replies' href='/r'/><link href='{link}'/><title>{title}</title></entry>"
            );
        }
        out.push(format!("<?xml version='1.0'?><rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><title>R</title><link>https://x.test/</link><image><title>I</title></image>{rss}</channel></rss>"));
        out.push(format!("<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'><channel><title>D</title><link>https://x.test/</link></channel>{rdf}</rdf:RDF>"));
        out.push(format!("<feed xmlns='http://www.w3.org/2005/Atom' xml:base='https://b.test/c/'><title type='html'>&lt;b&gt;A&lt;/b&gt;</title>{atom}<entry><title>Rel</title><link href='../d'/></entry></feed>"));
        let half = rss.len() / 2;
        let cut = rss.get(..rss.floor_char_boundary(half)).unwrap_or_default();
        let end = cut.rfind("</item>").map_or(0, |at| at + "</item>".len());
        out.push(format!("<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><title>C</title>{}", &cut[..end]));
    }
    out
}

#[test]
fn feedparser_reads_the_same() {
    const NAME: &str = "feedparser_reads_the_same";
    let Some(python) = program("feedparser-python").or_else(|| program("python3")) else {
        return skip(
            NAME,
            "there is no python3 (scripts/world-tools.sh puts it into a folder)",
        );
    };
    let known = Command::new(&python)
        .args(["-c", "import feedparser"])
        .output();
    if known.is_ok_and(|output| !output.status.success()) {
        return skip(
            NAME,
            "python3 has no feedparser (scripts/world-tools.sh installs it)",
        );
    }
    let home = Home::new();
    let mut files = Vec::new();
    for (n, text) in generated().into_iter().enumerate() {
        files.push(home.write(&format!("feeds/{n}.xml"), text));
    }
    for sample in samples::samples(NAME, "rss").unwrap_or_default() {
        if sample.name != "not-a-feed.html" && sample.name != "truncated.xml" {
            files.push(home.write(&format!("feeds/{}", sample.name), &sample.bytes));
        }
    }
    let output = Command::new(&python)
        .args(["-c", ORACLE])
        .args(&files)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
    let address = Address::parse("https://site.test/a/feed.xml").unwrap();
    let words = |pair: &Value| {
        let text = pair[0].as_str().unwrap();
        match pair[1] == "text/html" {
            true => html::line(text),
            false => text.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    };
    for (file, theirs) in files.iter().zip(theirs.as_array().unwrap()) {
        let bytes = fs::read(file).unwrap();
        let ours: Feed = feed::read(&bytes, "application/xml", &address, 100).unwrap();
        assert_eq!(ours.title, words(&theirs[0]), "{}", file.display());
        let ours: Vec<_> = ours
            .entries
            .into_iter()
            .map(|entry| (entry.title, entry.link.unwrap_or_default()))
            .collect();
        let theirs: Vec<_> = theirs[1]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (words(entry), entry[2].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(ours, theirs, "{}", file.display());
    }
    eprintln!("feedparser agrees on {} feeds", files.len());
}
