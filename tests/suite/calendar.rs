//! Calendar, alarms and timers through the binary: real files, a foreign crontab, other readers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use marvin::testing::ZoneFiles;
use marvin::testing::calendar::{ContentLines, between, scan, unfold, with_event, without};

use crate::support::home::Home;
use crate::support::run::{Done, program};
use crate::support::shared::skip;
use crate::support::words::TextAssertions;

const NOW: &str = "2026-11-21T14:30:05+01:00[Europe/Berlin]";
pub(crate) const CALENDAR: &str = "config/profiles/main/calendar.ics";
pub(crate) const TABLE: &str = "# backups\nMAILTO=ann@example.org\n\n*/5 * * * * /usr/local/bin/sync.sh # keep alarm_tea notes\n@reboot true # marvin-alarm:\n0 9 * * 1 printf \"100\\%\"\n";

/// A `crontab` that keeps its table in the home and refuses what the real one refuses.
const CRONTAB: &str = r#"#!/bin/sh
table="$HOME/table"
case "$1" in
-l) [ -f "$HOME/forbidden" ] && { echo "You are not allowed to use this program (crontab)" >&2; exit 1; }
    [ -f "$table" ] || { echo "no crontab for ann" >&2; exit 1; }
    cat "$table" ;;
-r) rm -f "$table" ;;
-) [ -f /dev/stdin ] || { echo "a table from a pipe" >&2; exit 1; }
   cat > "$table.$$"
   [ -z "$(tail -c 1 "$table.$$")" ] || { echo "missing newline before EOF" >&2; exit 1; }
   mv "$table.$$" "$table" ;;
esac
"#;
const NOTIFY: &str =
    "#!/bin/sh\nprintf '%s|' \"$@\" >> \"$HOME/notices\"\necho >> \"$HOME/notices\"\n";

pub(crate) struct Desk {
    pub(crate) home: Home,
    pub(crate) path: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        // Where a test has crontab refuse, the machine's own queue of jobs is left alone.
        let at = "#!/bin/sh\nexit 1\n";
        for (name, text) in [("crontab", CRONTAB), ("notify-send", NOTIFY), ("at", at)] {
            home.program(&format!("bin/{name}"), text);
        }
        let path = format!("{}/bin:/usr/bin:/bin", home.path().display());
        Self { home, path }
    }

    pub(crate) fn marvin(&self) -> crate::support::run::Marvin {
        self.home
            .marvin()
            .env("PATH", &self.path)
            .env("MARVIN_NOW", NOW)
    }

    pub(crate) fn tool(&self, text: &[&str]) -> Done {
        self.marvin().arg("tool").args(text.iter().copied()).run()
    }

    pub(crate) fn says(&self, text: &[&str]) -> String {
        self.tool(text).expect(0).text().to_owned()
    }

    pub(crate) fn fails(&self, text: &[&str]) -> String {
        self.tool(text).expect(1).errors()
    }

    pub(crate) fn table(&self) -> String {
        fs::read_to_string(self.home.path().join("table")).unwrap_or_default()
    }

    pub(crate) fn records(&self, folder: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.home.config().join(folder)) else {
            return Vec::new();
        };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ext| ext != "lock"));
        paths.sort();
        paths
    }
}

fn uid(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("UID: "));
    line.unwrap_or_else(|| panic!("no UID in {text}"))
        .to_owned()
}

#[test]
fn adding_and_removing_an_event_leaves_foreign_crontab_lines() {
    let desk = Desk::new();
    desk.home.write("table", TABLE);
    let nasty = "Tea; \"$(touch pwned)\", `id` \\ % <b>\nDTSTART:19990101T000000";
    let output = desk.says(&[
        "calendar_add_event",
        &format!("title={nasty}"),
        "start=2026-11-22T18:00",
        "location=Café, Zoë's",
    ]);
    let id = uid(&output);
    output.assert_has(&["Sun 22 Nov 17:00 and Sun 22 Nov 17:30"]);
    let table = desk.table();
    assert!(table.starts_with(TABLE), "{table}");
    let ours: Vec<&str> = table[TABLE.len()..].lines().collect();
    assert_eq!(ours.len(), 2);
    assert!(
        ours.iter()
            .all(|line| line.contains("22 11 * '/") && line.contains("' # marvin-alarm:"))
    );
    assert_eq!(desk.records("calendar_reminders").len(), 4);
    for path in desk.records("calendar_reminders") {
        if path.extension().unwrap() == "sh" {
            let script = fs::read_to_string(path).unwrap();
            script.assert_has(&["in 2026 |"]);
            script.assert_lacks(&["pwned"]);
        }
    }
    let file = desk.home.read(CALENDAR);
    assert_eq!(file.matches("\r\nDTSTART").count(), 1);
    assert!(
        file.split("\r\n")
            .all(|line| line.len() <= 75 && !line.contains('\n'))
    );
    desk.says(&["calendar_list_upcoming"])
        .assert_has(&["Sun 22 Nov, 18:00-19:00  Tea; \"$(touch pwned)\""]);
    desk.says(&["calendar_view"])
        .assert_has(&["[22]", " 21*\n"]);

    let short: String = id.chars().take(8).collect();
    desk.says(&["calendar_delete_event", &format!("uid={short}")])
        .assert_has(&["Removed 1 event", "2 reminders"]);
    assert_eq!(desk.table(), TABLE);
    assert!(desk.records("calendar_reminders").is_empty());
    assert!(!desk.home.has("work/pwned") && !desk.home.has("pwned"));
}

#[test]
fn an_ambiguous_title_removes_nothing_and_a_bad_time_stores_nothing() {
    let desk = Desk::new();
    for title in ["Tea with Ann", "Tea with Bob"] {
        desk.says(&[
            "calendar_add_event",
            &format!("title={title}"),
            "start=2026-12-01",
        ]);
    }
    let before = desk.home.read(CALENDAR);
    let output = desk.fails(&["calendar_delete_event", "title=TEA"]);
    assert!(
        output.contains("2 events fit; none was removed") && output.matches("  UID ").count() == 2,
        "{output}"
    );
    for start in [
        "2026-02-30",
        "2027-01-01T25:00",
        "soon",
        "",
        "2026-12-01T10:00[Mars/X]",
    ] {
        desk.fails(&["calendar_add_event", "title=x", &format!("start={start}")]);
    }
    desk.fails(&[
        "calendar_add_event",
        "title=x",
        "start=2026-12-01T10:00",
        "end=2026-12-01T09:00",
    ]);
    desk.fails(&["calendar_add_event", "title= ", "start=2026-12-01T10:00"]);
    desk.fails(&["calendar_delete_event"]);
    desk.fails(&["calendar_delete_event", "title=coffee"]);
    assert_eq!(desk.home.read(CALENDAR), before);
}

#[test]
fn a_title_of_a_changed_occurrence_removes_no_event() {
    let desk = Desk::new();
    let file = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:series-1\nDTSTART:20261123T090000Z\nRRULE:FREQ=WEEKLY\nSUMMARY:Standup\nEND:VEVENT\n\
                BEGIN:VEVENT\nUID:series-1\nRECURRENCE-ID:20261130T090000Z\nDTSTART:20261130T100000Z\nSUMMARY:Farewell\nEND:VEVENT\n\
                BEGIN:VEVENT\nUID:alone-1\nRECURRENCE-ID:20261130T090000Z\nDTSTART:20261130T100000Z\nSUMMARY:Guest\nEND:VEVENT\nEND:VCALENDAR\n";
    desk.home.write(CALENDAR, file);
    for text in [
        vec!["title=farewell"],
        vec!["title=farewell", "uid=series-1"],
    ] {
        let mut call = vec!["calendar_delete_event"];
        call.extend(text);
        desk.fails(&call)
            .assert_has(&["changed occurrence of \"Standup\"", "UID series-1"]);
        assert_eq!(desk.home.read(CALENDAR), file);
    }
    desk.says(&["calendar_delete_event", "title=guest"])
        .assert_has(&["Removed 1 event: Guest"]);
    desk.says(&["calendar_delete_event", "uid=series-1"])
        .assert_has(&["Removed 1 event: Standup", "1 changed occurrence"]);
}

#[test]
fn an_unreadable_crontab_is_never_written() {
    let desk = Desk::new();
    desk.home.write("table", TABLE);
    desk.home.write("forbidden", "");
    // Without `at`, so that no other scheduler is used.
    let path = format!("{}/bin", desk.home.path().display());
    let bare = |text: &[&str]| {
        desk.marvin()
            .env("PATH", format!("{path}:/bin-without-at"))
            .arg("tool")
            .args(text.iter().copied())
            .run()
    };
    let Some(_) = program("sh") else {
        return skip("crontab", "no sh");
    };
    bare(&["set_alarm", "time=18:00", "message=Tea"])
        .expect(0)
        .stdout_has(&["not allowed", "only ring while Marvin is open"]);
    assert_eq!(desk.table(), TABLE);
    bare(&["calendar_add_event", "title=x", "start=2026-12-01T10:00"])
        .expect(0)
        .stdout_has(&["UID: ", "not scheduled"]);
    assert_eq!(desk.table(), TABLE);
}

#[test]
fn time_zones_are_those_of_the_machine() {
    // Seven hours ahead all year, which no zone in the database is (RFC 9636, version 2).
    let block = |version: u8| {
        let mut out = [b"TZif".as_slice(), &[version], &[0; 15]].concat();
        for count in [0u32, 0, 0, 0, 1, 4] {
            out.extend(count.to_be_bytes());
        }
        out.extend((7 * 3_600i32).to_be_bytes());
        [out, b"\0\0NEW\0".to_vec()].concat()
    };
    let zone = [block(b'2'), block(b'2'), b"\nNEW-7\n".to_vec()].concat();
    let desk = Desk::new();
    desk.home.write("zones/Africa/Casablanca", zone);
    let event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Call\nDTSTART;TZID=Africa/Casablanca:20261123T120000\nEND:VEVENT\nEND:VCALENDAR\n";
    desk.home.write(CALENDAR, event);
    let run = |now: &str, expected: &[&str]| {
        let run = desk.marvin().env("TZDIR", desk.home.path().join("zones"));
        let run = run.env("TZ", "Africa/Casablanca").env("MARVIN_NOW", now);
        let run = run.env("https_proxy", "http://127.0.0.1:9");
        let run = run.env("HTTP_PROXY", "http://ann:secret@127.0.0.1:9");
        let output = run
            .arg("tool")
            .args(expected.iter().copied())
            .run()
            .expect(0);
        output.text().to_owned()
    };
    let here = "2026-11-22T12:00:00+07:00[Africa/Casablanca]";
    run(here, &["calendar_list_upcoming"]).assert_has(&["Mon 23 Nov, 12:00  Call"]);
    let utc = "2026-11-22T12:00:00+00:00[UTC]";
    run(utc, &["calendar_list_upcoming"]).assert_has(&["Mon 23 Nov, 05:00  Call"]);
    run(
        utc,
        &[
            "calendar_add_event",
            "title=x",
            "start=2026-11-23T20:00[Africa/Casablanca]",
        ],
    )
    .assert_has(&["Mon 23 Nov 2026, 13:00-14:00"]);
    run(here, &["set_alarm", "time=18:00", "message=x"]).assert_has(&["18:00 (NEW)"]);
    run(here, &["list_alarms"]).assert_has(&["Sun 22 Nov 2026 18:00"]);
    let script = fs::read_to_string(&desk.records("alarms")[1]).unwrap();
    script.assert_has(&["export TZDIR=", "export https_proxy="]);
    script.assert_lacks(&["secret"]);
}

#[test]
fn concurrent_processes_lose_no_event_and_no_alarm() {
    let desk = Desk::new();
    desk.home.write("table", TABLE);
    let running: Vec<_> = (0..6)
        .map(|n| {
            let event = [format!("title=E{n}"), "start=2026-12-01T10:00".to_owned()];
            let alarm = [format!("message=A{n}"), "time=18:00".to_owned()];
            [("calendar_add_event", event), ("set_alarm", alarm)]
                .map(|(tool, text)| desk.marvin().args(["tool", tool]).args(text).spawn())
        })
        .collect();
    for one in running.into_iter().flatten() {
        one.wait().expect(0);
    }
    let file = desk.home.read(CALENDAR);
    assert!((0..6).all(|n| file.contains(&format!("SUMMARY:E{n}\r\n"))));
    assert!(scan(file.as_bytes()).fault.is_none());
    let list = desk.says(&["list_alarms"]);
    assert!((0..6).all(|n| list.contains(&format!("A{n}"))), "{list}");
    let table = desk.table();
    assert!(table.starts_with(TABLE));
    assert_eq!(table.matches(" # marvin-alarm:").count(), 1 + 6 + 12);
}

#[test]
fn a_damaged_calendar_is_shown_in_part_and_never_written() {
    let desk = Desk::new();
    let file = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:whole\nDTSTART:20261122T100000\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:lost\n";
    desk.home.write(CALENDAR, file);
    desk.says(&["calendar_list_upcoming"])
        .assert_has(&["whole", "damaged: VEVENT is never ended (line 7)"]);
    desk.fails(&["calendar_add_event", "title=x", "start=2026-12-01"])
        .assert_has(&["Nothing was written"]);
    desk.fails(&["calendar_delete_event", "uid=1"]);
    assert_eq!(desk.home.read(CALENDAR), file);
}

#[test]
fn the_fixtures_keep_every_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/calendars");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|case| case.unwrap().path().join("calendar.ics"));
    keep_every_byte(files, 11);
}

fn keep_every_byte(files: impl Iterator<Item = PathBuf>, count: usize) {
    let event = "BEGIN:VEVENT\r\nUID:ours\r\nEND:VEVENT\r\n";
    let mut seen = 0;
    for file in files {
        let bytes = fs::read(file).unwrap();
        seen += 1;
        // A file of nothing becomes a calendar.
        if let Ok(more) = with_event(&bytes, event, "x")
            && !bytes.is_empty()
        {
            assert_eq!(without(&more, "ours").unwrap(), (bytes.clone(), 1));
        }
        let from = "1999-01-01T00:00:00+01:00[Europe/Berlin]".parse().unwrap();
        let until = "2027-01-01T00:00:00+01:00[Europe/Berlin]".parse().unwrap();
        let found = between(&bytes, &from, &until, &ZoneFiles::default());
        assert!(found.list.iter().all(|event| !event.title.contains("\\,")));
        let lines = ContentLines::new(&bytes, 0..bytes.len());
        assert!(lines.map(|line| unfold(&bytes, &line).len()).sum::<usize>() <= bytes.len());
    }
    assert!(seen >= count, "{seen}");
}

/// A Python with the package `icalendar`: `MARVIN_TEST_PYTHON`, else python3.
pub(super) fn python() -> Option<PathBuf> {
    let python = std::env::var_os("MARVIN_TEST_PYTHON")
        .map(PathBuf::from)
        .or_else(|| program("python3"))?;
    let has = Command::new(&python)
        .args(["-c", "import icalendar, dateutil"])
        .output();
    has.is_ok_and(|output| output.status.success())
        .then_some(python)
}

#[test]
fn another_program_reads_what_marvin_writes() {
    let Some(python) = python() else {
        return skip(
            "icalendar",
            "no Python with the package icalendar (MARVIN_TEST_PYTHON)",
        );
    };
    let desk = Desk::new();
    let title = format!("Überlänge {}; \\n \"q\", end", "äöü ".repeat(60));
    desk.says(&[
        "calendar_add_event",
        &format!("title={title}"),
        "start=2026-11-22T18:00",
        "description=one\ntwo;three",
    ]);
    desk.says(&[
        "calendar_add_event",
        "title=Days",
        "start=2026-12-24",
        "end=2026-12-26",
    ]);
    let script = "import sys, icalendar\ncal = icalendar.Calendar.from_ical(open(sys.argv[1],'rb').read())\nassert cal['VERSION'] == '2.0' and 'PRODID' in cal\nfor e in cal.walk('VEVENT'):\n    a = [str(x.get('TRIGGER').to_ical(), 'ascii') for x in e.walk('VALARM')]\n    assert not e.errors and 'DTSTAMP' in e\n    print(e.decoded('DTSTART'), e.decoded('DTEND'), a, repr(str(e['SUMMARY'])), repr(str(e.get('DESCRIPTION', ''))))\n";
    let output = Command::new(python)
        .args(["-c", script])
        .arg(desk.home.path().join(CALENDAR))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text} {errors}");
    assert!(
        lines[0].starts_with("2026-11-22 18:00:00 2026-11-22 19:00:00 ['-PT1H', '-PT30M']"),
        "{text}"
    );
    assert!(lines[0].contains("'one\\ntwo;three'"), "{text}");
    assert!(lines[0].contains(&title.replace('\\', "\\\\")), "{text}");
    assert!(lines[1].starts_with("2026-12-24 2026-12-27 "), "{text}");
}

#[test]
fn another_program_agrees_on_recurrence() {
    use marvin::testing::calendar::{ExpansionBudget, RecurrenceRule, occurrences};
    let Some(python) = python() else {
        return skip(
            "dateutil",
            "no Python with the package icalendar (MARVIN_TEST_PYTHON)",
        );
    };
    let mut rules = Vec::new();
    for freq in ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY"] {
        for interval in [1, 2, 5] {
            for part in [
                "",
                ";BYMONTH=1,3,12",
                ";BYMONTHDAY=1,15,-1",
                ";BYDAY=MO,WE,SU",
                ";BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1",
                ";BYYEARDAY=1,100,-1",
                ";BYMONTH=2;BYMONTHDAY=29",
                ";BYHOUR=7,19;BYMINUTE=0,30",
                ";BYDAY=SU;WKST=SU",
                ";BYMONTHDAY=13;BYDAY=FR",
                ";COUNT=7",
                ";BYMONTH=11;BYDAY=TU;COUNT=5",
            ] {
                // dateutil starts the first week at the start of the event, not on the first day of the week.
                if freq == "WEEKLY" && part.contains("BYSETPOS") {
                    continue;
                }
                rules.push(format!("FREQ={freq};INTERVAL={interval}{part}"));
            }
        }
    }
    for part in [
        "YEARLY;BYDAY=20MO",
        "YEARLY;BYMONTH=3;BYDAY=-1SU,1MO",
        "MONTHLY;BYDAY=2TU,-1FR",
        "YEARLY;BYWEEKNO=1,20,53;BYDAY=MO",
        "YEARLY;BYWEEKNO=-1;WKST=SU",
    ] {
        rules.push(format!("FREQ={part}"));
    }
    let script = "import sys\nfrom datetime import datetime\nfrom dateutil.rrule import rrulestr\nstart = datetime(2023,1,31,7,15)\nfor line in sys.stdin:\n    r = rrulestr(line.strip(), dtstart=start)\n    print(' '.join(d.isoformat() for d in r.between(start, datetime(2026,1,1), inc=True)[:40]))\n";
    let input = tempfile::NamedTempFile::new().unwrap();
    fs::write(input.path(), rules.join("\n")).unwrap();
    let output = Command::new(python)
        .args(["-c", script])
        .stdin(fs::File::open(input.path()).unwrap())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let start = "2023-01-31T07:15:00".parse().unwrap();
    let until = "2026-01-01T00:00:00".parse().unwrap();
    assert_eq!(text.lines().count(), rules.len());
    for (rule, want) in rules.iter().zip(text.lines()) {
        let mut out = Vec::new();
        let read = RecurrenceRule::read(rule).unwrap();
        occurrences(
            &read,
            start,
            start,
            until,
            &mut ExpansionBudget::new(10_000_000),
            &mut |at| out.push(at.to_string()),
        );
        out.truncate(40);
        assert_eq!(out.join(" "), want, "{rule}");
    }
}
