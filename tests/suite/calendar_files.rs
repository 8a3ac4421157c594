//! Calendars that other programs keep: folders of single events, events without a UID, series as every program writes them.

use std::fs;
use std::process::Command;

use marvin::testing::ZoneFiles;
use marvin::testing::calendar::{Occurrence, between};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::shared::skip;
use crate::support::words::TextAssertions;

const PROFILE: &str = "config/profiles/main";

fn tool(home: &Home, text: &[&str]) -> Done {
    home.marvin()
        .env("PATH", "/nowhere")
        .env("MARVIN_NOW", "2026-11-21T14:30:05+01:00[Europe/Berlin]")
        .arg("tool")
        .args(text.iter().copied())
        .run()
}

fn says(home: &Home, text: &[&str]) -> String {
    tool(home, text).expect(0).text().to_owned()
}

fn single(uid: &str, day: u8) -> String {
    format!(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Other//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20261101T000000Z\r\n\
         DTSTART:202611{day}T090000Z\r\nDTEND:202611{day}T100000Z\r\nSUMMARY:{uid}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
}

#[test]
fn a_folder_of_single_events_is_part_of_the_calendar() {
    let home = Home::new();
    let folder = format!("{PROFILE}/calendar");
    home.write(
        &format!("{folder}/b.ics"),
        format!("\u{feff}{}", single("second", 23)),
    );
    home.write(&format!("{folder}/a.ics"), single("first", 22));
    home.write(
        &format!("{folder}/broken.ics"),
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n",
    );
    home.write(&format!("{folder}/.hidden.ics"), single("hidden", 24));
    home.write(&format!("{folder}/notes.txt"), single("text", 24));
    says(
        &home,
        &["calendar_add_event", "title=own", "start=2026-11-24T10:00"],
    );
    home.read(&format!("{PROFILE}/calendar.ics"))
        .assert_has(&["SUMMARY:own"]);
    let list = says(&home, &["calendar_list_upcoming"]);
    let titles: Vec<&str> = list
        .lines()
        .filter(|line| line.contains("Nov, "))
        .filter_map(|line| line.split("  ").nth(1))
        .collect();
    assert_eq!(titles, ["first", "second", "own"], "{list}");
    list.assert_has(&["1 file cannot be read", "broken.ics"]);

    // The event is its file; nothing else in the folder changes.
    says(&home, &["calendar_delete_event", "title=second"])
        .assert_has(&["Removed 1 event: second"]);
    let mut left: Vec<_> = fs::read_dir(home.path().join(&folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".hidden.ics", "a.ics", "broken.ics", "notes.txt"]);
}

#[test]
fn a_calendar_folder_stores_new_events_as_files() {
    let home = Home::new();
    let folder = format!("{PROFILE}/calendar.ics");
    home.write(&format!("{folder}/a.ics"), single("first", 22));
    let output = says(
        &home,
        &["calendar_add_event", "title=own", "start=2026-11-24T10:00"],
    );
    let uid = output
        .lines()
        .find_map(|line| line.strip_prefix("UID: "))
        .unwrap();
    assert!(
        home.read(&format!("{folder}/{uid}.ics"))
            .starts_with("BEGIN:VCALENDAR\r\nVERSION:2.0")
    );
    says(&home, &["calendar_list_upcoming"]).assert_has(&["  first  ", "  own  "]);
    says(&home, &["calendar_delete_event", &format!("uid={uid}")]);
    assert!(!home.has(&format!("{folder}/{uid}.ics")) && home.has(&format!("{folder}/a.ics")));
}

#[test]
fn an_event_without_a_uid_is_shown() {
    let home = Home::new();
    home.write(
        &format!("{PROFILE}/calendar.ics"),
        single("first", 22).replace("UID:first\r\n", ""),
    );
    says(&home, &["calendar_list_upcoming"]).assert_has(&["  first"]);
    tool(&home, &["calendar_delete_event", "title=first"])
        .expect(1)
        .stderr_has(&["has no UID"]);
}

#[test]
fn a_multiline_title_becomes_one_line_and_an_empty_one_is_refused() {
    let home = Home::new();
    let start = "start=2026-11-24T10:00";
    let output = says(&home, &["calendar_add_event", "title=a\nUID: b", start]);
    assert!(output.starts_with("Added: a UID: b\nWhen: "), "{output}");
    tool(&home, &["calendar_add_event", "title=\u{7}", start])
        .expect(1)
        .stderr_has(&["needs a title"]);
}

/// Series in the manner of Outlook, Exchange, Google, Apple, Evolution and Thunderbird.
const MANNERS: [&str; 7] = [
    "BEGIN:VTIMEZONE\nTZID:W. Europe Standard Time\nBEGIN:STANDARD\nDTSTART:16010101T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\n\
     RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD\nBEGIN:DAYLIGHT\nDTSTART:16010101T020000\nTZOFFSETFROM:+0100\n\
     TZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3\nEND:DAYLIGHT\nEND:VTIMEZONE\n\
     BEGIN:VEVENT\nUID:1\nSUMMARY;LANGUAGE=de-DE:Jour fixe\nDTSTART;TZID=W. Europe Standard Time:20261005T090000\nDURATION:PT1H\n\
     RRULE:FREQ=WEEKLY;UNTIL=20261214T080000Z;INTERVAL=1;BYDAY=MO;WKST=MO\n\
     EXDATE;TZID=W. Europe Standard Time:20261123T090000,20261207T090000\nEND:VEVENT\n\
     BEGIN:VEVENT\nUID:1\nSUMMARY:Moved\nRECURRENCE-ID;TZID=W. Europe Standard Time:20261130T090000\n\
     DTSTART;TZID=W. Europe Standard Time:20261201T140000\nDURATION:PT1H\nEND:VEVENT\n",
    "BEGIN:VTIMEZONE\nTZID:(UTC-05:00) Eastern Time\\, Toronto\nBEGIN:STANDARD\nDTSTART:16010101T020000\nTZOFFSETFROM:-0400\n\
     TZOFFSETTO:-0500\nRRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=11\nEND:STANDARD\nBEGIN:DAYLIGHT\nDTSTART:16010101T020000\n\
     TZOFFSETFROM:-0500\nTZOFFSETTO:-0400\nRRULE:FREQ=YEARLY;BYDAY=2SU;BYMONTH=3\nEND:DAYLIGHT\nEND:VTIMEZONE\n\
     BEGIN:VEVENT\nUID:1\nSUMMARY:Comma\nDTSTART;TZID=\"(UTC-05:00) Eastern Time, Toronto\":20261124T090000\nDURATION:PT1H\nEND:VEVENT\n",
    "X-WR-TIMEZONE:Europe/Berlin\nBEGIN:VEVENT\nDTSTART;TZID=America/New_York:20261102T090000\nDTEND;TZID=America/New_York:20261102T093000\n\
     RRULE:FREQ=WEEKLY;WKST=SU;UNTIL=20270101T045959Z;INTERVAL=2;BYDAY=MO,TH\nEXDATE;TZID=America/New_York:20261116T090000\n\
     UID:a@google.com\nSUMMARY:Bi\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:20261203T150000Z\nDTEND:20261203T160000Z\nUID:a@google.com\n\
     RECURRENCE-ID;TZID=Europe/Berlin:20261203T150000\nSUMMARY:Bi moved\nEND:VEVENT\n\
     BEGIN:VEVENT\nDTSTART;VALUE=DATE:20261130\nDTEND;VALUE=DATE:20261201\nRRULE:FREQ=DAILY;UNTIL=20261203\n\
     EXDATE;VALUE=DATE:20261202\nUID:b@google.com\nSUMMARY:Days\nEND:VEVENT\n",
    "BEGIN:VEVENT\nUID:1\nSUMMARY:Last working day\nDTSTART;TZID=Europe/Berlin:20261030T100000\nDURATION:PT1H\n\
     RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=5\nBEGIN:VALARM\nACTION:DISPLAY\n\
     TRIGGER;VALUE=DATE-TIME:19760401T005545Z\nSUMMARY:not the event\nEND:VALARM\nEND:VEVENT\n\
     BEGIN:VEVENT\nUID:2\nSUMMARY:Negative\nDTSTART;TZID=Europe/Berlin:20261031T200000\nDURATION:PT45M\n\
     RRULE:FREQ=MONTHLY;BYMONTHDAY=-1,-15\nEND:VEVENT\n",
    "BEGIN:VTODO\nUID:t\nDTSTART:20261122T100000Z\nSUMMARY:Todo\nEND:VTODO\nBEGIN:VJOURNAL\nUID:j\nDTSTART:20261122T100000Z\nEND:VJOURNAL\n\
     BEGIN:VEVENT\nUID:1\nSUMMARY:Evolution\nDTSTART;TZID=/freeassociation.sourceforge.net/Europe/Berlin:20261122T093000\n\
     DURATION:PT1H\nRRULE;X-EVOLUTION-ENDDATE=20261126T083000Z:FREQ=DAILY;COUNT=5\n\
     EXDATE;TZID=/freeassociation.sourceforge.net/Europe/Berlin:20261124T093000\nEND:VEVENT\n",
    "BEGIN:VEVENT\nUID:1\nSUMMARY:Periods\nDTSTART:20261122T090000Z\nDTEND:20261122T100000Z\n\
     RDATE;VALUE=PERIOD:20261123T120000Z/PT3H,20261124T120000Z/20261124T140000Z\nEND:VEVENT\n\
     BEGIN:VEVENT\nUID:2\nSUMMARY:More\nDTSTART;TZID=Europe/Berlin:20261122T090000\nDURATION:PT30M\nRRULE:FREQ=WEEKLY;COUNT=3\n\
     RDATE;TZID=Europe/Berlin:20261125T090000,20261126T110000\nRDATE;TZID=America/New_York:20261127T080000\n\
     EXDATE:20261129T080000Z\nEND:VEVENT\n",
    "BEGIN:VEVENT\nUID:1\nSUMMARY:Leap\nDTSTART;VALUE=DATE:19720229\nRRULE:FREQ=YEARLY\nEND:VEVENT\n\
     BEGIN:VEVENT\nUID:2\nSUMMARY:Thanks\nDTSTART;VALUE=DATE:20001123\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH\nEND:VEVENT\n\
     BEGIN:VEVENT\nUID:3\nSUMMARY:Week 49\nDTSTART;TZID=Europe/Berlin:20201130T080000\nDURATION:P1DT2H\n\
     RRULE:FREQ=YEARLY;BYWEEKNO=49;BYDAY=MO\nEND:VEVENT\n\
     BEGIN:VEVENT\nUID:4\nSUMMARY:Later\nDTSTART;TZID=Europe/Berlin:20261122T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=6\nEND:VEVENT\n\
     BEGIN:VEVENT\nUID:4\nSUMMARY:Later on\nRECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261125T090000\n\
     DTSTART;TZID=Europe/Berlin:20261125T130000\nDURATION:PT90M\nEND:VEVENT\n",
];

/// A Python script: FROM TO FILE. Prints the occurrences in Berlin time.
const READER: &str = "
import sys, datetime as dt, zoneinfo, icalendar, recurring_ical_events
here = zoneinfo.ZoneInfo('Europe/Berlin')
first, last = (dt.datetime.fromisoformat(word).replace(tzinfo=here) for word in sys.argv[1:3])
def shown(at):
    if not isinstance(at, dt.datetime): at = dt.datetime.combine(at, dt.time())
    at = at.astimezone(here) if at.tzinfo else at
    return at.strftime('%Y-%m-%dT%H:%M')
calendar = icalendar.Calendar.from_ical(open(sys.argv[3], 'rb').read())
for event in recurring_ical_events.of(calendar).between(first, last):
    print(shown(event['DTSTART'].dt), shown(event['DTEND'].dt), event['SUMMARY'])
";

#[test]
fn another_program_agrees_on_foreign_series() {
    let python = super::calendar::python().filter(|python| {
        let mut has = Command::new(python);
        has.args(["-c", "import recurring_ical_events"]);
        has.output().is_ok_and(|output| output.status.success())
    });
    let Some(python) = python else {
        return skip(
            "recurring_ical_events",
            "no Python with that package (MARVIN_TEST_PYTHON)",
        );
    };
    let (from, until) = ("2026-11-21T00:00", "2027-04-01T00:00");
    let zoned = |text: &str| format!("{text}[Europe/Berlin]").parse().unwrap();
    for manner in MANNERS {
        let text = format!("BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{manner}END:VCALENDAR\n")
            .replace('\n', "\r\n");
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &text).unwrap();
        let output = Command::new(&python)
            .args(["-c", READER, from, until])
            .arg(file.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let message = String::from_utf8(output.stdout).unwrap();
        let mut want: Vec<&str> = message.lines().collect();
        want.sort_unstable();
        let found = between(
            text.as_bytes(),
            &zoned(from),
            &zoned(until),
            &ZoneFiles::default(),
        );
        let line = |one: &Occurrence| {
            let [start, end] =
                [&one.start, &one.end].map(|at| at.strftime("%Y-%m-%dT%H:%M").to_string());
            format!("{start} {end} {}", one.title)
        };
        let mut got: Vec<String> = found.list.iter().map(line).collect();
        got.sort_unstable();
        assert_eq!(got, want, "{manner}");
        assert!(
            !got.is_empty() && found.notes.is_empty(),
            "{:?}",
            found.notes
        );
    }
}
