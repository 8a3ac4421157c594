//! Calendars that other programs keep: folders of single events, events without a name of their own.

use std::fs;

use crate::support::home::Home;
use crate::support::run::Done;

const PROFILE: &str = "config/profiles/main";

fn tool(home: &Home, words: &[&str]) -> Done {
    home.marvin()
        .env("PATH", "/nowhere")
        .env("MARVIN_NOW", "2026-11-21T14:30:05+01:00[Europe/Berlin]")
        .arg("tool")
        .args(words.iter().copied())
        .run()
}

fn says(home: &Home, words: &[&str]) -> String {
    tool(home, words).expect(0).text().to_owned()
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
    assert!(
        home.read(&format!("{PROFILE}/calendar.ics"))
            .contains("SUMMARY:own")
    );
    let list = says(&home, &["calendar_list_upcoming"]);
    let titles: Vec<&str> = list
        .lines()
        .filter(|line| line.contains("Nov, "))
        .filter_map(|line| line.split("  ").nth(1))
        .collect();
    assert_eq!(titles, ["first", "second", "own"], "{list}");
    assert!(
        list.contains("1 file cannot be read") && list.contains("broken.ics"),
        "{list}"
    );

    // The event is its file; nothing else of the folder changes.
    let said = says(&home, &["calendar_delete_event", "title=second"]);
    assert!(said.contains("Removed 1 event: second"), "{said}");
    let mut left: Vec<_> = fs::read_dir(home.path().join(&folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".hidden.ics", "a.ics", "broken.ics", "notes.txt"]);
}

#[test]
fn a_folder_in_the_files_place_takes_new_events_as_files() {
    let home = Home::new();
    let folder = format!("{PROFILE}/calendar.ics");
    home.write(&format!("{folder}/a.ics"), single("first", 22));
    let said = says(
        &home,
        &["calendar_add_event", "title=own", "start=2026-11-24T10:00"],
    );
    let uid = said
        .lines()
        .find_map(|line| line.strip_prefix("UID: "))
        .unwrap();
    assert!(
        home.read(&format!("{folder}/{uid}.ics"))
            .starts_with("BEGIN:VCALENDAR\r\nVERSION:2.0")
    );
    let list = says(&home, &["calendar_list_upcoming"]);
    assert!(
        list.contains("  first  ") && list.contains("  own  "),
        "{list}"
    );
    says(&home, &["calendar_delete_event", &format!("uid={uid}")]);
    assert!(!home.has(&format!("{folder}/{uid}.ics")) && home.has(&format!("{folder}/a.ics")));
}

#[test]
fn an_event_without_a_uid_is_shown_and_not_denied() {
    let home = Home::new();
    home.write(
        &format!("{PROFILE}/calendar.ics"),
        single("first", 22).replace("UID:first\r\n", ""),
    );
    assert!(says(&home, &["calendar_list_upcoming"]).contains("  first"));
    let said = tool(&home, &["calendar_delete_event", "title=first"])
        .expect(1)
        .errors();
    assert!(said.contains("has no UID"), "{said}");
}
