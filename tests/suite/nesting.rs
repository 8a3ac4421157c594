//! A hundred thousand of each bracket before every parser: an answer or an error in time, and never an abort.

use std::time::{Duration, Instant};

use marvin::testing::markdown::lay_out_all;
use marvin::testing::text::{ColorMode, Theme};
use marvin::testing::yaml;
use serde_json::json;

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::server::{Answer, Server};
use crate::support::wait::side_by_side;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// Bytes of brackets: enough that a parser that calls itself for each has no stack left.
const LENGTH: usize = 100_000;
/// Far longer than any of this takes on a busy machine.
const SOON: Duration = Duration::from_secs(55);

fn repeated(unit: &str) -> String {
    unit.repeat(LENGTH / unit.len())
}

/// What nests in some language.
const BRACKETS: [&str; 5] = ["[", "(", "{\"a\":", "<", "- "];

/// Fails where Marvin was ended by a signal, panicked or took long.
#[track_caller]
fn sane(output: &Done, start: Instant, about: &str) {
    let errors = output.errors();
    assert_eq!(output.signal(), None, "{about}: {errors}");
    assert!(start.elapsed() < SOON, "{about}: {:?}", start.elapsed());
    errors.assert_lacks_for(&about, &["crashed", "panicked"]);
}

/// What a run says to an answer, which it asks for once.
fn asked(server: &Server) -> Done {
    let home = Home::new();
    let run = home.ask(&server.url("/v1"), "hi");
    run.env("MARVIN_RETRIES", "0").run()
}

#[test]
fn replies_and_arguments_of_brackets_end() {
    let frame = |json: &str| format!("data: {json}\n\n");
    for bracket in BRACKETS {
        let many = repeated(bracket);
        let text = json!({"choices": [{"delta": {"content": many}}]}).to_string();
        let server = Server::answering(move |_, n| match n {
            0 => Answer::sse(
                openai::Stream::new()
                    .call(0, "a", "get_working_dir", &many)
                    .done(),
            ),
            _ => Answer::sse([frame(&text), "data: [DONE]\n\n".to_owned()]),
        });
        let start = Instant::now();
        let output = asked(&server);
        sane(&output, start, bracket);
        output.stderr_has(&["MARVIN_COST"]);
        for (body, status) in [
            (format!("data: {}\n\n", repeated(bracket)), 200),
            (
                format!(
                    "data: {{\"choices\":[{{\"delta\":{{\"content\":{}\n\n",
                    repeated(bracket)
                ),
                200,
            ),
            (repeated(bracket), 200),
            (format!("{{\"error\":{}", repeated(bracket)), 400),
        ] {
            let kind = if status == 200 {
                "text/event-stream"
            } else {
                "application/json"
            };
            let server = Server::always(Answer::text(kind, body.clone()).with_status(status));
            let start = Instant::now();
            let output = asked(&server);
            sane(&output, start, bracket);
        }
    }
}

#[test]
fn files_of_brackets_end() {
    let server = Server::always(says("ok"));
    for bracket in BRACKETS {
        let many = repeated(bracket);
        let home = Home::new();
        let profile = "config/profiles/main";
        for file in [
            "bookmarks.json",
            "chat_log.json",
            "saved_places.json",
            "tokens.json",
            "preferences.yaml",
            "calendar.ics",
            "cost-log.jsonl",
        ] {
            home.write(&format!("{profile}/{file}"), &many);
        }
        home.write("config/usage.json", &many);
        home.write(
            "work/.tickets/a-1.md",
            format!("---\nid: a-1\ndeps: {many}\n---\n# A\n"),
        );
        home.write("Notes/n.md", format!("---\ntags: {many}\n---\n{many}"));
        let start = Instant::now();
        sane(&home.ask(&server.url("/v1"), "hi").run(), start, bracket);
        for call in [
            &["bookmark_list"][..],
            &["bookmark_save", "url=https://a.test", "title=A"],
            &["ticket_list"],
            &["calendar_list_upcoming"],
            &["search_notes", "query=a"],
            &["search_history_backups", "query=a"],
            &["list_places"],
            &["update_preferences", "key=a", "value=b"],
            &["get_usage"],
        ] {
            let start = Instant::now();
            let output = home.marvin().arg("tool").args(call.iter().copied()).run();
            sane(&output, start, &format!("{call:?} {bracket}"));
        }
        home.write("config/config.yaml", &many);
        let start = Instant::now();
        sane(&home.ask(&server.url("/v1"), "hi").run(), start, bracket);
    }
}

#[test]
fn calendars_of_beginnings_end() {
    for unit in [
        "BEGIN:VEVENT\r\n",
        "BEGIN:VCALENDAR\r\n",
        "A;B=",
        "RRULE:FREQ=SECONDLY\r\n",
        " \r\n",
    ] {
        let home = Home::new();
        let text = format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{}", repeated(unit));
        home.write("config/profiles/main/calendar.ics", text);
        let start = Instant::now();
        let output = home.marvin().args(["tool", "calendar_list_upcoming"]).run();
        sane(&output, start, unit);
    }
}

#[test]
fn pages_and_answers_of_brackets_end() {
    let home = Home::new();
    let fetched = |tool: &str, kind: &'static str, body: String| {
        let about = format!("{tool} {}", &body[..20]);
        let server = Server::always(Answer::text(kind, body.clone()));
        let start = Instant::now();
        let output = home
            .marvin()
            .args(["tool", tool])
            .arg(format!("url={}", server.url("/x")))
            .env("MARVIN_ALLOW_PRIVATE", "127.0.0.0/8")
            .run();
        sane(&output, start, &about);
    };
    for unit in [
        "<",
        "<div>",
        "<!--",
        "&amp;",
        "<table><tr><td>",
        "</p>",
        "<p title='",
    ] {
        fetched("browse_web", "text/html", repeated(unit));
    }
    let entity = "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY a \"";
    for (head, unit) in [
        ("<rss><channel><item><title>", "<"),
        ("<rss><channel><item><title>", "<b>"),
        ("<rss><channel>", "<item><title>"),
        ("<rss><channel><item><title>", "<![CDATA["),
        (entity, "[<"),
    ] {
        fetched(
            "read_rss",
            "application/rss+xml",
            format!("{head}{}", repeated(unit)),
        );
    }
    // Some ask again after a pause.
    side_by_side(["[", "{\"a\":", "<div class=result>"], |bracket| {
        let body = repeated(bracket);
        let server = Server::always(Answer::text("application/json", body.clone()));
        let start = Instant::now();
        let searches = [
            ("search_movies", "OMDB"),
            ("search_arxiv", "ARXIV"),
            ("web_search", "DUCKDUCKGO"),
        ];
        side_by_side(searches, |(tool, service)| {
            let run = home
                .marvin()
                .args(["tool", tool, "query=a"])
                .env(&format!("MARVIN_URL_{service}"), server.url(""))
                .env("MARVIN_URL_DUCKDUCKGO_LITE", server.url(""))
                .env("OMDB_API_KEY", "k");
            sane(&run.run(), start, &format!("{tool} {bracket}"));
        });
    });
}

#[test]
fn words_of_brackets_end() {
    let home = Home::new();
    for bracket in BRACKETS {
        // A word of a command line has at most 128 KiB.
        let many = repeated(bracket);
        for call in [
            vec![
                "tool".to_owned(),
                "convert_units".to_owned(),
                format!("value={many}"),
                "from_unit=m".to_owned(),
                "to_unit=km".to_owned(),
            ],
            vec![
                "tool".to_owned(),
                "convert_units".to_owned(),
                "value=5".to_owned(),
                format!("from_unit={many}"),
                "to_unit=km".to_owned(),
            ],
            vec![
                "tool".to_owned(),
                "tree".to_owned(),
                "--json".to_owned(),
                many.clone(),
            ],
        ] {
            let start = Instant::now();
            let output = home.marvin().args(call).run();
            sane(&output, start, bracket);
        }
        let run = home
            .marvin()
            .args(["--non-interactive", "--provider", "offline"]);
        let start = Instant::now();
        sane(&run.stdin(repeated(bracket)).run(), start, bracket);
    }
}

#[test]
fn yaml_of_brackets_and_of_aliases_ends() {
    let laughs: String = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        format!("{text}a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)
    });
    let chain: String = (1..20_000).fold("a0: &a0 x\n".to_owned(), |text, n| {
        text + &format!("a{n}: &a{n} *a{}\n", n - 1)
    });
    let texts = BRACKETS
        .into_iter()
        .chain(["a: ", "? ", "!", "&a ", "- - ", "[a: ", "{a: "])
        .map(repeated);
    for text in texts.chain([laughs, chain, "*a".to_owned(), "a: &a [*a]".to_owned()]) {
        let started = Instant::now();
        let _ = yaml::parse(&text, "x.yaml");
        let start: String = text.chars().take(10).collect();
        assert!(
            started.elapsed() < SOON,
            "{start:?}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn markdown_of_brackets_is_laid_out() {
    let theme = Theme::new(ColorMode::Ansi16);
    for unit in BRACKETS.into_iter().chain([
        "![", "`", "~~", "**a", "| a ", "1. ", "# ", "[a](", "<a ", "&", "$", "[^a]: ", "  - a\n",
        "> - ", "\\", "_a", "](",
    ]) {
        let start = Instant::now();
        let _ = lay_out_all(&unit.repeat(50_000 / unit.len()), 80, &theme);
        let lines: String = (0..80).map(|n| unit.repeat(n) + "x\n").collect();
        let _ = lay_out_all(&lines, 80, &theme);
        assert!(start.elapsed() < SOON, "{unit:?}: {:?}", start.elapsed());
    }
}
