//! A user's notes, events and bookmarks, many of each, through whole calls of `marvin tool`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::race::{Job, Run, race};
use super::table;

/// Prints the table.
pub(crate) fn table(marvin: &str, rounds: usize) {
    println!(
        "| files | work | wanted | program | wall | x first | holds |\n|---|---|---|---|---|---|---|"
    );
    for share in [10, 1] {
        let home = tempfile::tempdir().unwrap();
        let (notes, events, bookmarks) = (10_000 / share, 50_000 / share, 100_000 / share);
        fill(home.path(), notes, events, bookmarks);
        let tool = |name: &str, words: &[&str]| {
            let all: Vec<&str> = ["tool", name]
                .into_iter()
                .chain(words.iter().copied())
                .collect();
            let shown = format!("{name} {}", words.join(" "));
            Job::new(shown.trim(), marvin, &all, home.path()).home(home.path())
        };
        let folder = home.path().join("Notes");
        let ripgrep = ["-c", "-i", "lantern", folder.to_str().unwrap()];
        let notes_jobs = vec![
            Job::new("`rg -c -i lantern`", "rg", &ripgrep, home.path()),
            tool("search_notes", &["query=lantern"]),
        ];
        let events_jobs = vec![
            tool("calendar_list_upcoming", &[]),
            tool("calendar_view", &[]),
        ];
        let bookmarks_jobs = vec![
            tool("bookmark_list", &[]),
            tool("bookmark_list", &["tag=rare"]),
            tool("bookmark_search", &["query=number 4711"]),
        ];
        let near_ripgrep: fn(&Run) -> bool = |run| run.ratio <= 1.5;
        let short: fn(&Run) -> bool = |run| run.wall <= 50.0;
        for (files, wanted, limit, mut jobs) in [
            (
                format!("{notes} notes"),
                "1.5 x rg",
                near_ripgrep,
                notes_jobs,
            ),
            (
                format!("{events} events"),
                "50 ms for 50,000",
                short,
                events_jobs,
            ),
            (
                format!("{bookmarks} bookmarks"),
                "50 ms for 100,000",
                short,
                bookmarks_jobs,
            ),
        ] {
            for run in race(&mut jobs, rounds) {
                println!(
                    "| {files} | {} | {wanted} | {} | {:.1} ms | {:.2} | {} |",
                    run.name,
                    run.program,
                    run.wall,
                    run.ratio,
                    table::holds((run.program != "rg").then(|| limit(&run)))
                );
            }
        }
    }
}

fn fill(home: &Path, notes: usize, events: usize, bookmarks: usize) {
    let folder = home.join("Notes");
    fs::create_dir_all(&folder).unwrap();
    for n in 0..notes {
        let word = if n % 100 == 3 {
            "A lantern hung there."
        } else {
            "Nothing hung there."
        };
        let text = format!(
            "# Note {n}\n\n{}{word}\n",
            "A line of a note, as one writes it.\n".repeat(5 + n % 30)
        );
        fs::write(folder.join(format!("note-{n}.md")), text).unwrap();
    }
    let profile = home.join("config/profiles/main");
    fs::create_dir_all(&profile).unwrap();
    let mut calendar = String::from("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//bench//EN\r\n");
    let today = jiff::Zoned::now();
    for n in 0..events {
        let day = today
            .checked_add(jiff::Span::new().days(i64::try_from(n).unwrap() % 3_000 - 1_500))
            .unwrap();
        let _ = write!(
            calendar,
            "BEGIN:VEVENT\r\nUID:{n:08}-bench\r\nDTSTAMP:20261101T080000Z\r\nDTSTART:{}T{:02}0000\r\nDURATION:PT1H\r\nSUMMARY:Event number {n}\r\nLOCATION:Room {}\r\nEND:VEVENT\r\n",
            day.strftime("%Y%m%d"),
            n % 24,
            n % 40
        );
    }
    calendar.push_str("END:VCALENDAR\r\n");
    fs::write(profile.join("calendar.ics"), calendar).unwrap();
    let list: Vec<Value> = (0..bookmarks)
        .map(|n| {
            let tag = if n % 5_000 == 17 { "rare" } else { "usual" };
            json!({"url": format!("https://example.org/page/{n}"), "title": format!("Page number {n}"), "tags": [tag], "notes": "", "saved_at": "2026-11-01T08:00:00Z"})
        })
        .collect();
    fs::write(
        profile.join("bookmarks.json"),
        serde_json::to_vec_pretty(&list).unwrap(),
    )
    .unwrap();
}
