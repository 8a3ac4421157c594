//! Writes that are killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::index::rows;
use super::*;
use crate::store::memory::file::{Content, FileStamp};

/// The folder in which the child writes.
const CHILD_HOME: &str = "MEMORY_CHILD_HOME";
/// The last day that is written.
const CHILD_DAY: &str = "MEMORY_CHILD_DAY";

/// Writes day after day until it is killed, and says when each is written. Does nothing in an ordinary run.
#[test]
fn writing_child() {
    let Ok(home) = std::env::var(CHILD_HOME) else {
        return;
    };
    let memory = store(Path::new(&home));
    let mut day: Date = std::env::var(CHILD_DAY).unwrap().parse().unwrap();
    loop {
        day = day.tomorrow().unwrap();
        let said = day.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
        let new = row(day, &format!("A day of the child, {day}."), &[]);
        if memory.diary_replace(None, new, &[said]).unwrap() {
            eprintln!("\nwritten {day}");
        }
    }
}

/// Kills `kills` processes that write into a diary of `count` rows, each a while later than the one before. No row may be lost, nothing half written may stay.
fn kill_writers(count: u32, kills: u32, longest: Duration) {
    let home = tempfile::tempdir().unwrap();
    let mut diary = Diary::default();
    diary.set_rows(rows(count));
    let wanted = diary.rows().len();
    let bytes = String::from_utf8(diary.bytes().unwrap()).unwrap();
    write(home.path(), DIARY, &bytes);
    let (mut told, mut half_written, mut stale) = (Vec::new(), 0, 0);
    let mut last = date(2200, 1, 1);
    for number in 0..kills {
        // With an index the child begins to write at once.
        store(home.path()).saved_rows().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "store::memory::tests::kill::writing_child",
                "--nocapture",
            ])
            .env(CHILD_HOME, home.path())
            .env(CHILD_DAY, last.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(longest * number / kills);
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            if let Some(day) = line.strip_prefix("written ") {
                told.push(day.parse::<Date>().unwrap());
            }
        }
        let left = names(&file(home.path(), ""));
        half_written += usize::from(left.iter().any(|name| name.ends_with(".tmp")));
        let (now, damage) = Diary::parse(&fs::read(file(home.path(), DIARY)).unwrap(), &clock());
        assert_eq!(damage, None);
        last = last.max(now.rows()[now.rows().len() - 1].date);
        // One may have been written and not told.
        let more = now.rows().len() - wanted;
        assert!(more >= told.len(), "{more} rows, {told:?}");
        assert!(
            told.iter()
                .all(|day| now.get(*day, DiarySource::Text).is_some())
        );
        let path = file(home.path(), DIARY);
        let stamp = FileStamp::of(&path).unwrap();
        let open = IndexedDiary::open(&store(home.path()).0.dir, &path, stamp);
        stale += usize::from(open.is_none());
    }
    let memory = store(home.path());
    let day = date(2199, 1, 1);
    assert!(
        memory
            .diary_replace(None, row(day, "Zebra.", &[]), &[])
            .unwrap()
    );
    let found = memory
        .diary_search(&texts(&["zebra"]), None, None, 3)
        .unwrap();
    assert_eq!(found.len(), 1);
    assert!(memory.take_warnings().is_empty());
    assert_eq!(names(&file(home.path(), "")), [INDEX, DIARY, "lock"]);
    eprintln!(
        "{count} rows, {kills} kills: {} days written, {half_written} files half written, {stale} times without an index",
        memory.diary_all().unwrap().len() - wanted - 1
    );
}

#[test]
fn kills_while_a_large_diary_is_written_cost_no_row() {
    kill_writers(2_600, 4, Duration::from_millis(600));
}

/// `cargo test --lib -- --ignored --nocapture a_hundred_thousand_rows`
#[test]
#[ignore = "takes minutes"]
fn a_hundred_thousand_rows_outlive_fifty_kills() {
    kill_writers(100_000, 50, Duration::from_secs(10));
}
