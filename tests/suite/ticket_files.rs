//! Files of tickets under bad conditions: edited into nonsense, several writers, kills, a filter without end.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::wait::{found, until};
use crate::support::words::TextAssertions;
use crate::tickets::Project;

#[test]
fn files_edited_into_nonsense_are_kept_and_do_not_stop_the_others() {
    let p = Project::with(&["good-1 open Good"]);
    p.put("bare-2", "# No front matter\n");
    p.put("open-3", "---\nid: open-3\nstatus: open\nno end");
    p.put("dos-4", "---\r\nid: dos-4\r\nstatus: open\r\nmine:   kept\r\n---\r\n# Dos\r\n\r\nstatus: text\r\n---\r\n");
    fs::write(
        p.file("raw-5"),
        b"---\nid: raw-5\nstatus: \xff\xfe\ndeps: good-1\n---\n# R\xff\n",
    )
    .unwrap();
    p.put(
        "twice-6",
        "---\nid: twice-6\nstatus: open\nstatus: closed\n---\n# T\n",
    );
    p.put(
        "huge-7",
        &format!(
            "---\nid: huge-7\nstatus: open\n---\n# Huge\n\n{}",
            "x".repeat(20 << 20)
        ),
    );
    symlink("/etc/hostname", p.file("link-8")).unwrap();
    fs::create_dir(p.file("dir-9")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        p.file("fifo-10"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    fs::write(
        p.home.work().join(".tickets/\u{1f600}-11.md"),
        "---\nid: \u{1f600}-11\nstatus: open\n---\n",
    )
    .unwrap();
    let ids: Vec<String> = p
        .says("ls")
        .lines()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        ids,
        [
            "dos-4",
            "good-1",
            "huge-7",
            "open-3",
            "raw-5",
            "twice-6",
            "\u{1f600}-11"
        ]
    );
    p.fails("close bare-2")
        .assert_has(&["bare-2.md has no front matter, so nothing was changed"]);
    assert_eq!(p.text("bare-2"), "# No front matter\n");
    let before = p.text("dos-4");
    p.says("close dos-4");
    assert_eq!(
        p.text("dos-4"),
        before.replacen("status: open", "status: closed", 1)
    );
    p.says("close raw-5");
    assert_eq!(
        fs::read(p.file("raw-5")).unwrap(),
        b"---\nid: raw-5\nstatus: closed\ndeps: good-1\n---\n# R\xff\n"
    );
    p.says("start huge-7");
    assert_eq!(
        p.text("huge-7").len(),
        "in_progress".len() - "open".len()
            + 20 * 1024 * 1024
            + "---\nid: huge-7\nstatus: open\n---\n# Huge\n\n".len()
    );
    p.says("close \u{1f600}");
    for bad in [
        "../good-1",
        "/etc/passwd",
        "*",
        "good-1/..",
        &"y".repeat(300),
        "link-8",
        "''",
    ] {
        p.fails(&format!("show {bad}"))
            .assert_has_for(&bad, &["not found"]);
    }
    p.tool(
        "ticket_show",
        &["--json", "{\"ticket_id\":\"good-1\\u0000\"}"],
    )
    .expect(1)
    .stderr_has(&["not found"]);
    assert_eq!(p.left_over(), [] as [&str; 0]);
}

#[test]
fn several_writers_lose_nothing() {
    let p = Project::with(&["w-1 open Shared", "w-2 open Other"]);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let p = &p;
            scope.spawn(move || {
                for n in 0..6 {
                    p.says(&format!("add-note w-1 writer-{writer}-{n}."));
                    p.says(&format!(
                        "link w-1 {}",
                        p.says(&format!("create t-{writer}-{n}"))
                    ));
                }
            });
        }
    });
    let text = p.text("w-1");
    for writer in 0..4 {
        for n in 0..6 {
            assert!(
                text.contains(&format!("writer-{writer}-{n}.")),
                "{writer} {n}"
            );
        }
    }
    assert_eq!(text.matches("## Notes").count(), 1);
    assert_eq!(p.says("ls").lines().count(), 26);
    let linked = p.says("show w-1");
    let linked = linked.split("## Linked").nth(1).unwrap();
    assert_eq!(
        linked.lines().filter(|line| line.starts_with("- ")).count(),
        24
    );
}

#[test]
fn killed_at_any_moment_a_file_is_the_old_or_the_new_one() {
    let p = Project::with(&["k-1 open Killed"]);
    p.put("k-1", &(p.text("k-1") + &"long text\n".repeat(100_000)));
    let (mut notes, mut killed) = (0, 0);
    for n in 0..40 {
        let before = p.text("k-1");
        let running = p.command(&format!("add-note k-1 note-{n}.")).spawn();
        std::thread::sleep(Duration::from_micros(400 * n));
        running.kill();
        let output = running.wait();
        killed += usize::from(output.signal().is_some());
        let after = p.text("k-1");
        let added = after.strip_prefix(&before).expect("nothing is taken away");
        assert!(
            added.is_empty() || added.ends_with(&format!("note-{n}.\n")),
            "{added:?}"
        );
        notes += usize::from(!added.is_empty());
    }
    assert!(
        killed > 0 && notes <= 40,
        "{killed} killed, {notes} written"
    );
    // The lock of a killed process is free, and its temporary file is not a ticket.
    assert_eq!(p.says("close k-1"), "Updated k-1 -> closed");
    assert_eq!(p.says("ls").lines().count(), 1);
}

/// The process `name` that `parent` started, when it runs.
fn child_of(parent: i32, name: &str) -> Option<i32> {
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let is = |line: String| status.lines().any(|own| own == line);
        (is(format!("PPid:\t{parent}")) && is(format!("Name:\t{name}"))).then_some(pid)
    })
}

#[test]
fn a_filter_that_never_ends_does_not_outlive_its_caller() {
    if crate::support::run::program("jq").is_none() {
        eprintln!("skipped: no jq");
        return;
    }
    for signal in [Signal::HUP, Signal::TERM] {
        let project = Project::with(&["a-1 open A"]);
        let running = project.command("query 'last(repeat(1))'").spawn();
        let marvin = running.pid().as_raw_nonzero().get();
        let jq = found("jq starts", || child_of(marvin, "jq"));
        // What ends it when Marvin is killed and can no longer act.
        until("a limit of its time", || {
            let limits = fs::read_to_string(format!("/proc/{jq}/limits")).unwrap_or_default();
            limits
                .lines()
                .any(|line| line.starts_with("Max cpu time") && !line.contains("unlimited"))
        });
        running.signal(signal);
        running.wait();
        until("the end of jq", || {
            !std::path::Path::new(&format!("/proc/{jq}")).exists()
        });
    }
}
