//! Files from `fixtures`: calendars, feeds and pages of other programs, and the homes of users, complete, empty and torn; what Marvin says about
//! each, and what remains of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::downloads::files;
use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::samples::tool;
use crate::support::server::{Answer, Server};

const CALENDAR: &str = "config/profiles/main/calendar.ics";

/// The folders of cases below `fixtures/NAME`, `count` of them at least; an empty and a broken file must be among them.
fn cases(name: &str, count: usize) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name);
    for case in ["empty", "nothing", "broken"] {
        assert!(folder.join(case).is_dir(), "there is no {name}/{case}");
    }
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(found.len() >= count, "only {} {name}", found.len());
    found.sort();
    found
}

/// Compares what was said with `says.txt`, or, for a refusal, with `error.txt`; `MARVIN_BLESS=1` writes them.
fn same(case: &Path, result: &Done, address: &str) -> Result<(), String> {
    let (file, output) = match result.code() {
        Some(0) => ("says.txt", result.text().to_owned()),
        _ => ("error.txt", result.errors()),
    };
    let output = output.replace(address, "http://site.test");
    kept(&case.join(file), &output)
}

fn kept(file: &Path, output: &str) -> Result<(), String> {
    if std::env::var_os("MARVIN_BLESS").is_some() {
        fs::write(file, output).unwrap();
    }
    match fs::read_to_string(file) {
        Ok(expected) if expected == output => Ok(()),
        Ok(expected) => Err(format!(
            "{}:\n{output}instead of\n{expected}",
            file.display()
        )),
        Err(reason) => Err(format!("{}: {reason}; it said\n{output}", file.display())),
    }
}

fn none_of(failures: &[String]) {
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn calendars_of_every_kind_are_listed() {
    let mut failures = Vec::new();
    for case in cases("calendars", 11) {
        let home = Home::new();
        home.write(CALENDAR, fs::read(case.join("calendar.ics")).unwrap());
        let output = home
            .marvin()
            .env("PATH", "/nowhere")
            .env("MARVIN_NOW", "2026-11-22T14:30:05+01:00[Europe/Berlin]")
            .args(["tool", "calendar_list_upcoming", "days=14"])
            .run();
        failures.extend(same(&case, &output, "http://127.0.0.1").err());
    }
    none_of(&failures);
}

/// A server of `file`, as the type that `type.txt` names.
fn serve(case: &Path, file: &str, media_type: &str) -> Server {
    let body = fs::read(case.join(file)).unwrap();
    let own = fs::read_to_string(case.join("type.txt")).unwrap_or_default();
    let media_type = match own.trim() {
        "" => media_type.to_owned(),
        own => own.to_owned(),
    };
    Server::always(Answer::text(&media_type, body.clone())).lenient()
}

fn read(name: &str, count: usize, file: &str, media_type: &str, by: &str) {
    let mut failures = Vec::new();
    for case in cases(name, count) {
        let server = serve(&case, file, media_type);
        let home = Home::new();
        let args = serde_json::json!({"url": server.url(&format!("/{file}"))});
        let output = tool(&home, &[], "", by, &args)
            // Without lynx, so that pages look the same everywhere.
            .env("PATH", "/nowhere")
            .env("MARVIN_ALLOW_PRIVATE", server.address().to_string())
            .run();
        failures.extend(same(&case, &output, &server.url("")).err());
        if name == "feeds" {
            let text = output.output();
            assert!(!text.contains('\u{fffd}'), "{}: {text}", case.display());
        }
    }
    none_of(&failures);
}

#[test]
fn feeds_of_every_kind_are_read() {
    read("feeds", 12, "feed.xml", "application/xml", "read_rss");
}

#[test]
fn pages_of_every_kind_are_read() {
    read("pages", 10, "page.html", "text/html", "browse_web");
}

/// Everything below `folder`, by its path in it.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let found = files(folder).into_iter();
    found
        .map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path.strip_prefix(folder).unwrap().to_owned(), bytes)
        })
        .collect()
}

/// What reads the files of a user, each by its tool.
const READERS: [&[&str]; 9] = [
    &["list_places"],
    &["bookmark_list"],
    &["list_alarms"],
    &["calendar_list_upcoming"],
    &["get_usage"],
    &["tk", "args=ls"],
    &["ticket_show", "id=anna-1a2b"],
    &["notes_ls"],
    &["read_note", "path=boat.md"],
];

/// A session in this home: how it starts, which part of the log the model sees, and what the preferences say.
fn converse(home: &Home, server: &Server) -> String {
    let output = home
        .chat(server)
        .env("PATH", "/nowhere")
        .env("MARVIN_NOW", "2026-11-22T14:30:05+01:00[Europe/Berlin]")
        .stdin("hi\n")
        .run();
    let asked = server
        .requests()
        .into_iter()
        .find(|asked| asked.path.ends_with("/chat/completions"));
    let asked = asked.map_or_else(String::new, |asked| asked.json()["messages"].to_string());
    let knows = |text: &str| format!("the model sees {text:?}: {}\n", asked.contains(text));
    let text = ["At 13:20.", "Grüße 🌊", "vegetarian", "Tea, not coffee."];
    let seen: String = text.iter().map(|text| knows(text)).collect();
    let warnings: String = output
        .errors()
        .lines()
        .filter(|line| !line.starts_with("MARVIN_COST"))
        .map(|line| format!("{line}\n"))
        .collect();
    format!(
        "== a session [{:?}]\n{}{warnings}{seen}",
        output.code(),
        output.text()
    )
}

#[test]
fn the_files_of_a_user_are_read_whole_empty_and_torn() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/homes");
    let mut failures = Vec::new();
    for case in ["good", "empty", "broken"] {
        let home = Home::new();
        let files = tree(&folder.join(case));
        assert!(files.len() >= 13, "{case}: {:?}", files.keys());
        for (path, bytes) in &files {
            home.write(&path.display().to_string(), bytes);
        }
        let server = Server::answering(|request, _| match request.path.ends_with("/completions") {
            true => says("Hello."),
            false => Answer::text("application/x-ndjson", ""),
        })
        .lenient();
        let run = |expected: &[&str]| {
            let output = home
                .marvin()
                .env("PATH", "/nowhere")
                .env("MARVIN_NOW", "2026-11-22T14:30:05+01:00[Europe/Berlin]")
                .env("MARVIN_URL_NTFY", server.url(""))
                .arg("tool")
                .args(expected.iter().copied())
                .run();
            let (text, errors) = (output.text(), output.errors());
            format!("== {} [{:?}]\n{text}{errors}", expected[0], output.code())
        };
        let mut message: String = READERS.iter().map(|expected| run(expected)).collect();
        // Reading changes nothing, whatever state a file is in.
        for (path, bytes) in &files {
            let now = fs::read(home.path().join(path)).unwrap_or_default();
            assert!(now == *bytes, "{case}: {} changed", path.display());
        }
        // This one notes what it has shown.
        message += &run(&["ntfy_list"]);
        message += &converse(&home, &server);
        let message = message.replace(&home.path().display().to_string(), "HOME");
        let message = message.replace(&server.address().to_string(), "site.test");
        // The id of a session is random.
        let is_fixed = |line: &&str| !line.contains("marvin --resume");
        let message: String = message.split_inclusive('\n').filter(is_fixed).collect();
        failures.extend(kept(&folder.join(format!("{case}.txt")), &message).err());
    }
    none_of(&failures);
}
