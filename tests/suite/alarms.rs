//! Alarms, timers and reminders: handed to cron or at, announced once, by this process or the next.

use std::fs;
use std::time::Instant;

use crate::calendar::{CALENDAR, Desk, TABLE};
use crate::support::words::TextAssertions;

#[test]
fn alarms_are_set_listed_fired_once_and_cancelled() {
    let desk = Desk::new();
    desk.home.write("table", TABLE);
    let text = "Tea \"now\" $(touch pwned) % <b>& 'x'";
    desk.says(&[
        "set_alarm",
        "time=18:00",
        &format!("message={text}"),
        "label=tea time",
    ])
    .assert_has(&["\"tea_time\"", "21 November 2026, 18:00"]);
    desk.says(&["set_alarm", "time=14:00", "message=Two", "label=tea_time"])
        .assert_has(&["\"tea_time-2\"", "22 November"]);
    let list = desk.says(&["list_alarms"]);
    assert!(list.contains(text) && list.lines().count() == 2, "{list}");
    for bad in ["label=../../x", "label=a/b", "label=tea\u{1f375}"] {
        desk.fails(&["set_alarm", "time=18:00", "message=x", bad]);
    }
    for bad in [
        "time=2026-11-21 10:00",
        "time=2027-02-29 10:00",
        "time=0m",
        "time=25:00",
    ] {
        desk.fails(&["set_alarm", bad, "message=x"]);
    }
    desk.fails(&["cancel_alarm", "label=tea_tine"])
        .assert_has(&["tea_time"]);
    desk.says(&["cancel_alarm", "label=tea_time-2"]);

    let script = desk.home.config().join("alarms/tea_time.sh");
    let run = |now: &str| {
        let id = desk.table();
        let id = id.rsplit_once(':').unwrap().1.trim().to_owned();
        desk.home
            .marvin()
            .env("PATH", &desk.path)
            .env("MARVIN_NOW", now)
            .args(["--fire-alarm", &id])
            .run()
            .expect(0)
    };
    run("2026-11-21T16:00:00+01:00[Europe/Berlin]");
    assert!(!desk.home.has("notices") && script.exists(), "rang early");
    run("2026-11-21T18:00:03+01:00[Europe/Berlin]");
    let notices = desk.home.read("notices");
    let body = "Alarm: Tea \"now\" $(touch pwned) % &lt;b&gt;&amp; 'x'|";
    notices.assert_has(&[&format!("--|Alarm|{body}")]);
    assert_eq!(desk.table(), TABLE);
    assert!(
        desk.records("alarms").is_empty(),
        "{:?}",
        desk.records("alarms")
    );
    assert!(!desk.home.has("pwned") && !desk.home.has("work/pwned"));
    let none = desk
        .home
        .marvin()
        .env("PATH", &desk.path)
        .args(["--fire-alarm", "0123456789abcdef"])
        .run();
    none.expect(0);
    assert_eq!(desk.home.read("notices"), notices);
}

#[test]
fn an_alarm_that_could_not_be_shown_waits_for_the_next_session() {
    let desk = Desk::new();
    desk.home.write("table", TABLE);
    // A desktop without a session bus, and no topic: no way to notify.
    desk.home.program(
        "bin/notify-send",
        "#!/bin/sh\necho 'Cannot autolaunch D-Bus without X11 $DISPLAY' >&2\nexit 1\n",
    );
    desk.says(&["set_alarm", "time=18:00", "message=Tea", "label=tea"]);
    let id = desk.table();
    let id = id.rsplit_once(':').unwrap().1.trim().to_owned();
    let output = desk
        .marvin()
        .env("MARVIN_NOW", "2026-11-21T18:00:03+01:00[Europe/Berlin]")
        .args(["--fire-alarm", &id])
        .run();
    // Cron mails its output.
    output.expect(1).stderr_has(&["Alarm: Tea"]);
    assert_eq!(desk.table(), TABLE);
    desk.marvin()
        .env("MARVIN_NOW", "2026-11-21T19:00:00+01:00[Europe/Berlin]")
        .args(["tool", "list_alarms"])
        .prints(&["Tea (overdue)"]);
}

#[test]
fn an_alarm_is_announced_for_the_schedulers_minute() {
    for (now, time, minute) in [
        // It waits for the second, within the announced minute.
        ("14:30:05", "30m", "15:00"),
        ("14:30:58", "2m", "14:32"),
        ("14:30:05", "18:00", "18:00"),
        // Too soon for a scheduler.
        ("14:30:05", "30s", "14:31"),
        ("14:30:58", "14:31", "14:32"),
        ("14:30:58", "1s", "14:32"),
    ] {
        let desk = Desk::new();
        let output = desk
            .marvin()
            .env("TZ", "UTC")
            .env("MARVIN_NOW", format!("2026-11-21T{now}+00:00[UTC]"))
            .args(["tool", "set_alarm", &format!("time={time}"), "message=Tea"])
            .run()
            .expect(0);
        let text = output.text();
        assert!(
            text.contains(&format!("21 November 2026, {minute} (UTC)")),
            "{now} {time}: {text}"
        );
        // The table uses the machine's zone, which a test cannot choose: only the minutes are the same nearly everywhere.
        let (_, minutes) = minute.split_once(':').unwrap();
        let table = desk.table();
        let line: u8 = table.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(line % 15, minutes.parse::<u8>().unwrap() % 15, "{table}");
    }
}

#[test]
fn a_reminder_is_announced_for_the_schedulers_minute() {
    let desk = Desk::new();
    desk.says(&["calendar_add_event", "title=x", "start=2026-11-21T15:00:30"])
        .assert_has(&["Reminders: Sat 21 Nov 14:31."]);
    let desk = Desk::new();
    desk.says(&["calendar_add_event", "title=x", "start=2026-11-22T15:10:30"])
        .assert_has(&["14:10 and Sun 22 Nov 14:40."]);
    let table = desk.table();
    assert!(
        table.starts_with("10 ") && table.contains("\n40 "),
        "{table}"
    );
}

#[test]
fn an_at_job_uses_the_systems_zone_whatever_tz_is() {
    let desk = Desk::new();
    fs::remove_file(desk.home.path().join("bin/crontab")).unwrap();
    let at = "#!/bin/sh\ncat > /dev/null\necho \"$0 $* TZ=$TZ\" >> \"$HOME/at.log\"\necho 'job 7 at some day' >&2\n";
    for name in ["at", "atq", "atrm"] {
        desk.home.program(&format!("bin/{name}"), at);
    }
    for name in ["sh", "cat"] {
        std::os::unix::fs::symlink(
            format!("/bin/{name}"),
            desk.home.path().join("bin").join(name),
        )
        .unwrap();
    }
    desk.marvin()
        .env("PATH", desk.home.path().join("bin"))
        .env("TZ", "Asia/Tokyo")
        .args(["tool", "set_alarm", "time=18:00", "message=Tea"])
        .run()
        .expect(0);
    let log = desk.home.read("at.log");
    assert!(
        log.contains("at -t 20261121") && log.ends_with(" TZ=\n"),
        "{log}"
    );
}

#[test]
fn a_reminder_of_a_removed_event_stays_silent() {
    let desk = Desk::new();
    desk.says(&["calendar_add_event", "title=x", "start=2026-11-22T18:00"]);
    let id = desk
        .table()
        .trim_end()
        .rsplit_once(':')
        .unwrap()
        .1
        .to_owned();
    desk.home.write(
        CALENDAR,
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n",
    );
    let later = "2026-11-22T17:40:00+01:00[Europe/Berlin]";
    desk.home
        .marvin()
        .env("PATH", &desk.path)
        .env("MARVIN_NOW", later)
        .args(["--fire-alarm", &id])
        .run()
        .expect(0);
    assert!(!desk.home.has("notices") && !desk.table().contains(&id));
}

#[test]
fn timers_show_their_state() {
    let desk = Desk::new();
    desk.says(&["timer_start", "name=Tea", "duration=1h30m"])
        .assert_has(&["Countdown \"tea\" started: 1 h 30 min", "this process"]);
    desk.says(&["timer_start", "name=run"])
        .assert_has(&["Stopwatch \"run\""]);
    assert_eq!(desk.says(&["timer_check"]).trim(), "No timers.");
    desk.fails(&["timer_stop", "name=tea"])
        .assert_has(&["no timer"]);
    desk.fails(&["timer_start", "name= "]);
    desk.fails(&["timer_start", "name=x", "duration=18446744073709551615"]);
}

#[test]
fn an_open_session_announces_timers_and_alarms_of_all_processes() {
    use marvin::testing::Env;
    use marvin::testing::alerts::{self, Alerts, Timer};
    use marvin::testing::tools::{SessionContext, ToolPolicy};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    let desk = Desk::new();
    desk.home.write("table", TABLE);
    fs::create_dir_all(desk.home.config().join("alarms")).unwrap();
    let (home, config) = (desk.home.path(), desk.home.config());
    let env = Env::from([
        ("HOME", home.to_str().unwrap()),
        ("MARVIN_CONFIG_DIR", config.to_str().unwrap()),
        ("PATH", desk.path.as_str()),
    ]);
    let bounds = ToolPolicy::new(&env, &mut |_| {});
    let session = SessionContext::new(env, bounds);
    let (tell, told) = channel();
    session
        .alerts
        .set_announce(Box::new(move |text| drop(tell.send(text))));
    alerts::watch(&session.alerts);
    let hear = || told.recv_timeout(Duration::from_secs(20)).expect("a bell");

    let started = Instant::now();
    let timer = Timer {
        started,
        lasts: Some(Duration::from_millis(300)),
        rung: false,
    };
    session.alerts.timers().insert("tea".into(), timer);
    Alerts::wake(&session.alerts);
    assert_eq!(hear(), "Timer \"tea\" has ended.");
    assert!(started.elapsed() >= Duration::from_millis(300));

    // Set by another process, with the system's clock; this session sees the file.
    desk.marvin()
        .without("MARVIN_NOW")
        .args(["tool", "set_alarm", "time=1s", "message=Soup"])
        .prints(&["Soup"]);
    assert_eq!(hear(), "Alarm: Soup");
    let until = Instant::now() + Duration::from_secs(20);
    while !(desk.records("alarms").is_empty() && desk.table() == TABLE) {
        assert!(
            Instant::now() < until,
            "{:?} {}",
            desk.records("alarms"),
            desk.table()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let notices = desk.home.read("notices");
    notices.assert_has(&["|Timer \"tea\" has ended.|", "|Alarm: Soup|"]);
    assert_eq!(notices.lines().count(), 2, "{notices}");
    drop(session);
    assert!(
        told.recv_timeout(Duration::from_secs(20)).is_err(),
        "the thread holds the world"
    );
}
