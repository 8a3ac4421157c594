//! Occurrences of calendars within a period.

use super::*;

fn zoned(text: &str) -> Zoned {
    text.parse().unwrap()
}

fn shown(events: &str, from: &str, until: &str) -> (Vec<String>, Vec<String>) {
    let file = format!(
        "BEGIN:VCALENDAR\r\n{}END:VCALENDAR\r\n",
        events.replace('\n', "\r\n")
    );
    let found = between(
        file.as_bytes(),
        &zoned(from),
        &zoned(until),
        &ZoneFiles::default(),
    );
    let list = found
        .list
        .iter()
        .map(|o| format!("{} {}", o.start.strftime("%m-%dT%H:%M"), o.title));
    (list.collect(), found.notes)
}

const FROM: &str = "2026-11-01T00:00:00+01:00[Europe/Berlin]";
const UNTIL: &str = "2026-12-01T00:00:00+01:00[Europe/Berlin]";

#[test]
fn exceptions_overrides_and_cancellations_are_kept_out() {
    let (list, notes) = shown(
        "BEGIN:VEVENT\nUID:w\nDTSTART:20261102T090000Z\nDTEND:20261102T093000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=10\nEXDATE:20261116T090000Z\nSUMMARY:Standup\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:w\nRECURRENCE-ID:20261109T090000Z\nDTSTART:20261110T100000Z\nSUMMARY:Moved\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:w\nRECURRENCE-ID:20261123T090000Z\nDTSTART:20261123T090000Z\nSTATUS:CANCELLED\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:c\nDTSTART:20261111T100000Z\nSTATUS:cancelled\nEND:VEVENT\n",
        FROM,
        UNTIL,
    );
    assert_eq!(
        list,
        [
            "11-02T10:00 Standup",
            "11-10T11:00 Moved",
            "11-30T10:00 Standup"
        ]
    );
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn long_files_take_time_by_their_length_alone() {
    let minutes = "DTSTART:20261101T000000Z\nRRULE:FREQ=MINUTELY\n";
    let except = "EXDATE:20261102T000000Z\n".repeat(20_000);
    let title = "a ".repeat(100_000);
    let change = |minute: u32| {
        let at = format!("20261102T{:02}{:02}00Z", minute / 60, minute % 60);
        format!(
            "BEGIN:VEVENT\nUID:a\nRECURRENCE-ID;RANGE=THISANDFUTURE:{at}\nDTSTART:{at}\nEND:VEVENT\n"
        )
    };
    let changes: String = (0..1_440).map(change).collect();
    let events = [
        format!("BEGIN:VEVENT\nUID:b\n{minutes}{except}END:VEVENT\n"),
        format!("BEGIN:VEVENT\nUID:c\n{minutes}SUMMARY:{title}\nEND:VEVENT\n"),
        format!("{changes}BEGIN:VEVENT\nUID:a\n{minutes}END:VEVENT\n"),
    ];
    for (events, count) in events.iter().zip([1_439, 1_440, 1_440]) {
        let start = crate::base::cpu_time::CpuTime::now();
        let (list, notes) = shown(
            events,
            "2026-11-02T00:00:00Z[UTC]",
            "2026-11-03T00:00:00Z[UTC]",
        );
        assert_eq!((list.len(), notes.len()), (count, 0));
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }
    // A very long title is truncated, and so is a listing of seconds.
    let seconds = format!(
        "BEGIN:VEVENT\nUID:s\nDTSTART:20261101T000000Z\nRRULE:FREQ=SECONDLY\nSUMMARY:{title}\nEND:VEVENT\n"
    );
    let (list, notes) = shown(
        &seconds,
        "2026-11-02T00:00:00Z[UTC]",
        "2026-12-03T00:00:00Z[UTC]",
    );
    assert!(list.len() < 200_000 && list.iter().all(|line| line.len() < 240));
    assert!(notes.iter().any(|note| note.contains("recur so often")));
}

#[test]
fn a_change_from_one_occurrence_on_holds_for_the_later_ones() {
    let (list, notes) = shown(
        "BEGIN:VEVENT\nUID:w\nDTSTART:20261102T090000Z\nDURATION:PT30M\nRRULE:FREQ=WEEKLY;COUNT=9\nSUMMARY:Standup\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:w\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261109T090000Z\nDTSTART:20261110T103000Z\nDURATION:PT2H\nSUMMARY:Later\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:w\nRECURRENCE-ID;RANGE=ThisAndFuture:20261123T090000Z\nDTSTART:20261123T090000Z\nSTATUS:CANCELLED\nEND:VEVENT\n",
        FROM,
        UNTIL,
    );
    assert_eq!(
        list,
        [
            "11-02T10:00 Standup",
            "11-10T11:30 Later",
            "11-17T11:30 Later"
        ]
    );
    assert!(notes.is_empty(), "{notes:?}");
    let (list, _) = shown(
        "BEGIN:VEVENT\nUID:d\nDTSTART;VALUE=DATE:20261001\nRRULE:FREQ=DAILY;COUNT=3\nSUMMARY:Early\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:d\nRECURRENCE-ID;VALUE=DATE;RANGE=THISANDFUTURE:20261002\nDTSTART;VALUE=DATE:20261105\nEND:VEVENT\n",
        FROM,
        UNTIL,
    );
    assert_eq!(list, ["11-05T00:00 ", "11-06T00:00 Early"]);
}

#[test]
fn events_under_way_whole_days_and_odd_ones() {
    let (list, notes) = shown(
        "BEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20261024\nDTEND;VALUE=DATE:20261102\nSUMMARY:Holiday\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:2\nDTSTART;VALUE=DATE:20261030\nDURATION:P2D\nSUMMARY:Over\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:3\nDTSTART;TZID=Mars/Olympus:20261130T235900\nSUMMARY:Zone\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:4\nDTSTART:20261131\nSUMMARY:Never\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:5\nDTSTART:20261105T120000\nRRULE:FREQ=DAILY;INTERVAL=0\nSUMMARY:Odd\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:6\nDTSTART;TZID=Asia/Tokyo:20261201T070000\nSUMMARY:Tokyo\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:8\nDTSTART:20261031T150000Z\nDURATION:PT20H\nSUMMARY:Night\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:9\nDTSTART:20261015T150000Z\nDURATION:P20D\nSUMMARY:Long\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:7\nDTSTART:20261106T120000\nRDATE:20261107T120000,20261108T120000\nSUMMARY:Thrice\nEND:VEVENT\n",
        FROM,
        UNTIL,
    );
    assert_eq!(
        list,
        [
            "10-15T17:00 Long",
            "10-24T00:00 Holiday",
            "10-31T16:00 Night",
            "11-05T12:00 Odd",
            "11-06T12:00 Thrice",
            "11-07T12:00 Thrice",
            "11-08T12:00 Thrice",
            "11-30T23:00 Tokyo",
            "11-30T23:59 Zone"
        ]
    );
    assert_eq!(notes.len(), 3, "{notes:?}");
}

#[test]
fn of_several_versions_the_newest_counts_and_an_override_is_one_occurrence() {
    let (list, notes) = shown(
        "BEGIN:VEVENT\nUID:v\nSEQUENCE:2\nDTSTART:20261103T090000Z\nRRULE:FREQ=WEEKLY;COUNT=-1;UNTIL=20261117T090000Z\nSUMMARY:New\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:v\nSEQUENCE:1\nDTSTART:20261104T090000Z\nSUMMARY:Old\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:v\nSEQUENCE:1\nRECURRENCE-ID:20261110T090000Z\nDTSTART:20261111T090000Z\nRRULE:FREQ=WEEKLY;COUNT=9\nSUMMARY:Moved\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:v\nRECURRENCE-ID:20261110T090000Z\nDTSTART:20261112T090000Z\nSUMMARY:Moved before\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:t\nDTSTART:20261120T090000Z\nSUMMARY:Twice\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:t\nDTSTART:20261120T090000Z\nSUMMARY:Twice\nEND:VEVENT\n",
        FROM,
        UNTIL,
    );
    assert_eq!(
        list,
        [
            "11-03T10:00 New",
            "11-11T10:00 Moved",
            "11-17T10:00 New",
            "11-20T10:00 Twice"
        ]
    );
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn an_occurrence_that_was_changed_and_then_deleted_is_gone() {
    let both = |version: u8| {
        shown(
            &format!("BEGIN:VEVENT\nUID:v\nSEQUENCE:{version}\nDTSTART:20261103T090000Z\nRRULE:FREQ=WEEKLY;COUNT=3\nEXDATE:20261110T090000Z\nSUMMARY:Week\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:v\nSEQUENCE:1\nRECURRENCE-ID:20261110T090000Z\nDTSTART:20261111T090000Z\nSUMMARY:Moved\nEND:VEVENT\n"),
            FROM,
            UNTIL,
        )
        .0
    };
    assert_eq!(both(2), ["11-03T10:00 Week", "11-17T10:00 Week"]);
    // Seen from one version, it is only where it was moved to.
    assert_eq!(both(1).len(), 3);
}

#[test]
fn an_override_may_name_its_occurrence_as_a_day_or_a_moment() {
    let (list, _) = shown(
        "BEGIN:VEVENT\nUID:d\nDTSTART;VALUE=DATE:20261102\nRRULE:FREQ=DAILY;COUNT=2\nSUMMARY:Days\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:d\nRECURRENCE-ID:20261103T000000Z\nDTSTART;VALUE=DATE:20261103\nSUMMARY:Changed\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:h\nDTSTART;TZID=America/New_York:20261104T200000\nRRULE:FREQ=DAILY;COUNT=2\nSUMMARY:Evening\nEND:VEVENT\n\
         BEGIN:VEVENT\nUID:h\nRECURRENCE-ID;VALUE=DATE:20261105\nDTSTART;TZID=America/New_York:20261105T210000\nSUMMARY:Late\nEND:VEVENT\n",
        FROM,
        UNTIL,
    );
    assert_eq!(
        list,
        [
            "11-02T00:00 Days",
            "11-03T00:00 Changed",
            "11-05T02:00 Evening",
            "11-06T03:00 Late"
        ]
    );
}

#[test]
fn periods_have_lengths_of_their_own_and_what_is_no_calendar_is_told() {
    let file = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:p\nDTSTART:20261102T090000Z\nDURATION:PT1H\n\
         RDATE;VALUE=PERIOD:20261103T090000Z/PT3H,20261104T090000Z/20261104T110000Z\nSUMMARY:P\nEND:VEVENT\nEND:VCALENDAR\n";
    let found = between(
        file.as_bytes(),
        &zoned(FROM),
        &zoned(UNTIL),
        &ZoneFiles::default(),
    );
    let ends: Vec<String> = found
        .list
        .iter()
        .map(|one| one.end.strftime("%d %H:%M").to_string())
        .collect();
    assert_eq!(ends, ["02 11:00", "03 13:00", "04 12:00"]);
    let none = between(
        b"<html>Sign in</html>",
        &zoned(FROM),
        &zoned(UNTIL),
        &ZoneFiles::default(),
    );
    assert!(none.notes[0].contains("no VCALENDAR"), "{:?}", none.notes);
    let empty = between(b"\r\n", &zoned(FROM), &zoned(UNTIL), &ZoneFiles::default());
    assert!(empty.notes.is_empty());
}

#[test]
fn until_and_daylight_saving_follow_the_events_own_clock() {
    let (list, _) = shown(
        "BEGIN:VEVENT\nUID:1\nDTSTART;TZID=America/New_York:20261030T090000\nRRULE:FREQ=DAILY;UNTIL=20261102T140000Z\nSUMMARY:Call\nEND:VEVENT\n",
        "2026-10-30T00:00:00+01:00[Europe/Berlin]",
        UNTIL,
    );
    assert_eq!(
        list,
        [
            "10-30T14:00 Call",
            "10-31T14:00 Call",
            "11-01T15:00 Call",
            "11-02T15:00 Call"
        ]
    );
}

#[test]
fn a_change_from_one_occurrence_on_moves_the_later_ones_in_the_events_own_zone() {
    // New York goes back on 1 November, Berlin on 25 October.
    let rule = "DTSTART;TZID=America/New_York:20261019T200000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=4\nSUMMARY:Call\n";
    for (id, start) in [
        (
            ";TZID=America/New_York:20261026T200000",
            ";TZID=America/New_York:20261027T213000",
        ),
        (
            ":20261027T000000Z",
            ";TZID=America/New_York:20261027T213000",
        ),
        (
            ";VALUE=DATE:20261026",
            ";TZID=America/New_York:20261027T213000",
        ),
        (":20261027T000000Z", ";TZID=Europe/Berlin:20261028T023000"),
    ] {
        let (list, notes) = shown(
            &format!(
                "BEGIN:VEVENT\nUID:w\n{rule}END:VEVENT\n\
                 BEGIN:VEVENT\nUID:w\nRECURRENCE-ID;RANGE=THISANDFUTURE{id}\nDTSTART{start}\nEND:VEVENT\n"
            ),
            "2026-10-18T00:00:00+02:00[Europe/Berlin]",
            UNTIL,
        );
        assert_eq!(
            list,
            [
                "10-20T02:00 Call",
                "10-28T02:30 ",
                "11-04T03:30 Call",
                "11-11T03:30 Call"
            ],
            "{id} {start}"
        );
        assert!(notes.is_empty(), "{notes:?}");
    }
}

#[test]
fn a_change_to_whole_days_or_back_holds_for_the_later_occurrences() {
    let days = |start: &str, change: &str| {
        let file = format!(
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\n{start}\nRRULE:FREQ=DAILY;COUNT=3\nSUMMARY:S\nEND:VEVENT\n\
             BEGIN:VEVENT\nUID:a\n{change}\nEND:VEVENT\nEND:VCALENDAR\n"
        );
        let zones = ZoneFiles::default();
        let found = between(file.as_bytes(), &zoned(FROM), &zoned(UNTIL), &zones);
        let shown = found.list.iter().map(|one| {
            let [start, end] = [&one.start, &one.end].map(|at| at.strftime("%d %H:%M").to_string());
            format!("{start} - {end} {}", one.all_day)
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(
        days(
            "DTSTART;TZID=America/New_York:20261109T200000\nDURATION:PT1H",
            "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=America/New_York:20261110T200000\nDTSTART;VALUE=DATE:20261111"
        ),
        [
            "10 02:00 - 10 03:00 false",
            "11 00:00 - 12 00:00 true",
            "12 00:00 - 13 00:00 true"
        ]
    );
    assert_eq!(
        days(
            "DTSTART;VALUE=DATE:20261109",
            "RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20261110\nDTSTART:20261110T100000Z\nDURATION:PT1H"
        ),
        [
            "09 00:00 - 10 00:00 true",
            "10 11:00 - 10 12:00 false",
            "11 11:00 - 11 12:00 false"
        ]
    );
}

#[test]
fn a_change_behind_the_end_of_a_shortened_event_is_gone() {
    let changed = "BEGIN:VEVENT\nUID:w\nSEQUENCE:3\nRECURRENCE-ID:20261116T090000Z\nDTSTART:20261117T100000Z\nSUMMARY:Moved\nEND:VEVENT\n";
    let list = |rule: &str| {
        let event = format!(
            "BEGIN:VEVENT\nUID:w\nDTSTART;TZID=Europe/Berlin:20261102T100000\n{rule}\nSUMMARY:Week\nEND:VEVENT\n"
        );
        [
            shown(&format!("{event}{changed}"), FROM, UNTIL).0,
            shown(&format!("{changed}{event}"), FROM, UNTIL).0,
        ]
    };
    let gone = ["11-02T10:00 Week", "11-09T10:00 Week"];
    for rule in [
        "RRULE:FREQ=WEEKLY;UNTIL=20261109T090000Z",
        "RRULE:FREQ=WEEKLY;UNTIL=20261116T085959Z",
        "RRULE:FREQ=WEEKLY;UNTIL=20261115",
        "RRULE:FREQ=WEEKLY;COUNT=2",
        "RDATE:20261109T090000Z",
    ] {
        assert_eq!(list(rule), [gone, gone], "{rule}");
    }
    for rule in [
        "RRULE:FREQ=WEEKLY;UNTIL=20261116T090000Z",
        "RRULE:FREQ=WEEKLY;UNTIL=20261116",
        "RRULE:FREQ=WEEKLY;COUNT=3",
        "RRULE:FREQ=WEEKLY;COUNT=2\nRDATE:20261116T090000Z",
    ] {
        let kept = ["11-02T10:00 Week", "11-09T10:00 Week", "11-17T11:00 Moved"];
        assert_eq!(list(rule), [kept, kept], "{rule}");
    }
    let [endless, _] = list("RRULE:FREQ=WEEKLY");
    assert_eq!(endless.len(), 5);
    // A rule too long to expand does not use up the budget of the next one.
    let endless = "BEGIN:VEVENT\nUID:e\nDTSTART:20261101T000000Z\nRRULE:FREQ=SECONDLY;COUNT=90000000\nEND:VEVENT\n\
                   BEGIN:VEVENT\nUID:e\nRECURRENCE-ID:20261101T000007Z\nDTSTART:20261101T000008Z\nEND:VEVENT\n";
    let shortened = "BEGIN:VEVENT\nUID:w\nDTSTART:20261102T090000Z\nRRULE:FREQ=WEEKLY;UNTIL=20261109T090000Z\nEND:VEVENT\n";
    let (many, _) = shown(&format!("{endless}{shortened}{changed}"), FROM, UNTIL);
    assert!(many.iter().all(|line| !line.ends_with("Moved")));
    let [cancelled, after] = list("RRULE:FREQ=WEEKLY\nSTATUS:CANCELLED");
    assert!(cancelled.is_empty() && after.is_empty(), "{cancelled:?}");
}
