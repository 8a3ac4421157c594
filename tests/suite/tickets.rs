//! Tickets through the real binary: the script's command line, the tools on the same files, bad files, several writers at once.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::home::Home;
use crate::support::run::{Done, Marvin};
use crate::support::words::TextAssertions;

/// A home whose working directory is a project with a folder of tickets.
pub(crate) struct Project {
    pub(crate) home: Home,
}

impl Project {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        fs::create_dir(home.work().join(".tickets")).unwrap();
        Self { home }
    }

    /// With tickets from lines `id status title | dep dep`.
    pub(crate) fn with(lines: &[&str]) -> Self {
        let project = Self::new();
        for line in lines {
            let (line, deps) = line.split_once(" | ").unwrap_or((line, ""));
            let mut words = line.splitn(3, ' ');
            let (id, status) = (words.next().unwrap(), words.next().unwrap());
            let deps: Vec<&str> = deps.split_whitespace().collect();
            project.put(
                id,
                &format!(
                    "---\nid: {id}\nstatus: {status}\ndeps: [{}]\nlinks: []\ncreated: 2024-01-01T00:00:00Z\ntype: task\npriority: 2\n---\n# {}\n\nDescription\n",
                    deps.join(", "),
                    words.next().unwrap()
                ),
            );
        }
        project
    }

    pub(crate) fn file(&self, id: &str) -> PathBuf {
        self.home.work().join(format!(".tickets/{id}.md"))
    }

    pub(crate) fn put(&self, id: &str, text: &str) {
        fs::write(self.file(id), text).unwrap();
    }

    pub(crate) fn text(&self, id: &str) -> String {
        fs::read_to_string(self.file(id)).unwrap()
    }

    pub(crate) fn run(&self, line: &str) -> Done {
        self.command(line).run()
    }

    pub(crate) fn command(&self, line: &str) -> Marvin {
        let text = shlex::split(line).unwrap();
        self.home.marvin().arg("tk").args(text)
    }

    /// What a command that works prints.
    pub(crate) fn says(&self, line: &str) -> String {
        self.run(line).expect(0).text().trim().to_owned()
    }

    /// Everything that a failing command prints.
    pub(crate) fn fails(&self, line: &str) -> String {
        let output = self.run(line).expect(1);
        output.output()
    }

    pub(crate) fn tool(&self, name: &str, args: &[&str]) -> Done {
        let dir = self.home.work();
        self.home
            .marvin()
            .args(["tool", name, "--working-dir", dir.to_str().unwrap()])
            .args(args.iter().copied())
            .run()
    }

    pub(crate) fn left_over(&self) -> Vec<String> {
        fs::read_dir(self.home.work().join(".tickets"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".md"))
            .collect()
    }
}

#[test]
fn creating_writes_every_option_in_the_scripts_form() {
    let p = Project::with(&["parent-001 open Parent"]);
    let id = p.says("create");
    assert!(p.text(&id).ends_with("priority: 2\n---\n# Untitled\n\n"));
    let (prefix, word) = id.split_once('-').unwrap();
    assert_eq!((prefix, word.len()), ("wor", 4));
    let id = p.says(
        "create First 'My ticket' -d 'What it is' --design 'Use services' --acceptance 'Passes' -p 0 -t bug -a 'John Doe' --external-ref JIRA-123 --parent 001 --tags ui,backend",
    );
    let text = p.text(&id);
    let created = text.lines().nth(5).unwrap();
    assert_eq!(
        text,
        format!(
            "---\nid: {id}\nstatus: open\ndeps: []\nlinks: []\n{created}\ntype: bug\npriority: 0\nassignee: John Doe\nexternal-ref: JIRA-123\nparent: parent-001\ntags: [ui, backend]\n---\n# My ticket\n\nWhat it is\n\n## Design\n\nUse services\n\n## Acceptance Criteria\n\nPasses\n\n"
        )
    );
    assert!(created.starts_with("created: 20") && created.len() == 29 && created.ends_with('Z'));
    p.fails("create x --parent nobody")
        .assert_has(&["Error: ticket 'nobody' not found"]);
    p.fails("create --bogus")
        .assert_has(&["Unknown option: --bogus"]);
    p.fails("create -d").assert_has(&["needs a value"]);
    p.text(&p.says("create -- '-v is broken'"))
        .assert_has(&["\n# -v is broken\n"]);
    // The name that git is configured with, as the caller's own git sees it.
    p.home.write(".gitconfig", "[user]\n\tname = Ann Ex\n");
    p.text(&p.says("create mine"))
        .assert_has(&["\nassignee: Ann Ex\n"]);
}

#[test]
fn statuses_move_and_ids_may_be_parts() {
    let p = Project::with(&[
        "test-0001 open One",
        "abc open Short",
        "abc-1234 open Long",
        "abc-5678 open Other",
    ]);
    for (line, text) in [
        (
            "status test-0001 in_progress",
            "Updated test-0001 -> in_progress",
        ),
        ("close 0001", "Updated test-0001 -> closed"),
        ("reopen ' st-00 '", "Updated test-0001 -> open"),
        ("start test", "Updated test-0001 -> in_progress"),
    ] {
        assert_eq!(p.says(line), text);
        let status = text.rsplit(' ').next().unwrap();
        p.text("test-0001")
            .assert_has(&[&format!("\nstatus: {status}\n")]);
    }
    p.says("show abc").assert_has(&["# Short"]);
    p.fails("show bc-")
        .assert_has(&["Error: ambiguous ID 'bc-' matches multiple tickets"]);
    p.fails("show nonexistent")
        .assert_has(&["Error: ticket 'nonexistent' not found"]);
    p.fails("status nonexistent invalid")
        .assert_has(&["Error: invalid status 'invalid'. Must be one of: open in_progress closed"]);
    assert!(p.fails("status test-0001").starts_with("Usage: "));
    let output = p.run("frobnicate").expect(1);
    assert!(
        output.errors().starts_with("Unknown command: frobnicate\n") && output.text().is_empty()
    );
    p.says("help").assert_has(&["minimal ticket system"]);
    p.says("super ls").assert_has(&["test-0001"]);
}

#[test]
fn dependencies_links_and_trees() {
    let p = Project::with(&["t-1 open Main", "t-2 open Second", "t-3 open Third"]);
    assert_eq!(p.says("dep 1 2"), "Added dependency: t-1 -> t-2");
    assert_eq!(p.says("dep t-1 t-2"), "Dependency already exists");
    p.says("dep t-1 t-3");
    p.says("dep t-2 t-3");
    p.text("t-1").assert_has(&["\ndeps: [t-2, t-3]\n"]);
    assert_eq!(
        p.says("dep tree t-1"),
        "t-1 [open] Main\n└── t-2 [open] Second\n    └── t-3 [open] Third"
    );
    assert_eq!(p.says("dep-tree t-1"), p.says("dep tree t-1"));
    assert_eq!(
        p.says("dep tree --full t-1"),
        "t-1 [open] Main\n├── t-2 [open] Second\n│   └── t-3 [open] Third\n└── t-3 [open] Third"
    );
    assert_eq!(p.says("dep cycle"), "No dependency cycles found");
    assert_eq!(p.says("dep t-3 t-1"), "Added dependency: t-3 -> t-1");
    assert!(
        p.says("dep cycle")
            .starts_with("Cycle 1: t-1 -> t-2 -> t-3 -> t-1\n  t-1      [open] Main\n")
    );
    p.says("dep tree t-1").assert_has(&["t-3"]);
    assert_eq!(p.says("undep t-3 1"), "Removed dependency: t-3 -/-> t-1");
    assert_eq!(p.fails("undep t-3 t-1"), "Dependency not found\n");
    for line in [
        "dep t-1 nobody",
        "dep nobody t-1",
        "link t-1 nobody",
        "dep tree nobody",
    ] {
        p.fails(line)
            .assert_has_for(&line, &["Error: ticket 'nobody' not found"]);
    }
    assert!(p.fails("dep t-1").starts_with("Usage: "));
    assert_eq!(p.says("link t-1 t-2"), "Added 2 link(s) between 2 tickets");
    assert_eq!(p.says("link t-1 2"), "All links already exist");
    assert_eq!(
        p.says("link t-1 t-2 t-3"),
        "Added 4 link(s) between 3 tickets"
    );
    assert_eq!(p.says("unlink 1 2"), "Removed link: t-1 <-> t-2");
    assert_eq!(p.fails("unlink 1 2"), "Link not found\n");
    assert!(
        p.text("t-1").contains("\nlinks: [t-3]\n") && p.text("t-2").contains("\nlinks: [t-3]\n")
    );
    fs::remove_file(p.file("t-3")).unwrap();
    assert_eq!(p.says("undep t-2 t-3"), "Removed dependency: t-2 -/-> t-3");
    assert_eq!(p.says("unlink t-1 t-3"), "Removed link: t-1 <-> t-3");
}

#[test]
fn lists_show_what_the_script_shows() {
    let p = Project::with(&[
        "a-1 open First | b-2 gone",
        "b-2 closed Second | a-1",
        "c-3 in_progress Third | b-2",
        "d-4 done Fourth",
    ]);
    p.put("e-5", "---\nid: e-5\nstatus: open\npriority: 1\nassignee: Ann Ex\ntags: [ui,  web]\n---\n# Fifth\n");
    assert_eq!(
        p.says("ls"),
        "a-1      [open] - First <- [b-2, gone]\nb-2      [closed] - Second <- [a-1]\nc-3      [in_progress] - Third <- [b-2]\nd-4      [done] - Fourth\ne-5      [open] - Fifth"
    );
    assert_eq!(
        p.says("list --status=closed"),
        "b-2      [closed] - Second <- [a-1]"
    );
    for line in [
        "ls -a 'Ann Ex'",
        "ls --assignee='Ann Ex'",
        "ls -T web",
        "list --tag=ui",
    ] {
        assert_eq!(p.says(line), "e-5      [open] - Fifth", "{line}");
    }
    assert_eq!(p.says("ls -a Ann"), "");
    assert_eq!(
        p.says("ready"),
        "e-5      [P1][open] - Fifth\nc-3      [P2][in_progress] - Third"
    );
    assert_eq!(p.says("ready -T ui"), "e-5      [P1][open] - Fifth");
    assert_eq!(p.says("blocked"), "a-1      [P2][open] - First <- [gone]");
    let file = fs::File::options().write(true).open(p.file("d-4")).unwrap();
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(60))
        .unwrap();
    assert_eq!(
        p.says("closed"),
        "d-4      [done] - Fourth\nb-2      [closed] - Second"
    );
    assert_eq!(p.says("closed --limit=1"), "d-4      [done] - Fourth");
    let empty = Project::new();
    for line in ["ls", "ready", "blocked", "closed", "query"] {
        assert_eq!(empty.says(line), "", "{line}");
    }
}

#[test]
fn show_adds_the_parents_title_and_dependent_tickets() {
    let p = Project::with(&[
        "a-1 open Main | b-2 c-3",
        "b-2 closed Done",
        "c-3 open Waited",
        "d-4 open Waits | a-1",
    ]);
    p.put(
        "e-5",
        "---\nid: e-5\nstatus: open\nlinks: [d-4]\nparent: a-1\n---\n# Child\n\nparent: text\n",
    );
    assert_eq!(
        p.run("show a-1").expect(0).text(),
        format!(
            "{}\n## Blockers\n\n- c-3 [open] Waited\n\n## Blocking\n\n- d-4 [open] Waits\n\n## Children\n\n- e-5 [open] Child\n",
            p.text("a-1")
        )
    );
    let expected = p
        .text("e-5")
        .replacen("parent: a-1\n", "parent: a-1  # Main\n", 1)
        + "\n## Linked\n\n- d-4 [open] Waits\n";
    assert_eq!(p.run("show 5").expect(0).text(), expected);
}

#[test]
fn a_deleted_ticket_is_still_listed_where_it_blocks() {
    let p = Project::with(&["a-1 open Main | gone-2 b-3", "b-3 open Other"]);
    p.put(
        "c-4",
        "---\nid: c-4\nstatus: open\nlinks: [gone-2, b-3]\n---\n# C\n",
    );
    let shown = p.run("show a-1").expect(0).text().to_owned();
    assert!(
        shown.ends_with("\n## Blockers\n\n- gone-2 [] \n- b-3 [open] Other\n"),
        "{shown}"
    );
    let shown = p.run("show c-4").expect(0).text().to_owned();
    assert!(
        shown.ends_with("\n## Linked\n\n- gone-2 [] \n- b-3 [open] Other\n"),
        "{shown}"
    );
}

#[test]
fn titles_and_tags_are_written_as_given_and_found_in_both_spellings() {
    let p = Project::new();
    let id = p.says("create '  wide  ' --tags 'good first issue, ui ,,'");
    let text = p.text(&id);
    assert!(
        text.ends_with("tags: [good first issue, ui]\n---\n#   wide  \n\n"),
        "{text}"
    );
    let line = format!("{id} [open] -   wide  \n");
    for tag in ["'good first issue'", "goodfirstissue", "ui"] {
        let listed = p.run(&format!("ls -T {tag}")).expect(0);
        assert_eq!(listed.text(), line, "{tag}");
    }
    assert_eq!(p.says("ls -T good"), "");
    p.put(
        "q-1",
        "---\nid: q-1\nstatus: open\ndeps: [\"q-2\"]\n---\n# Quoted by a formatter\n",
    );
    p.put("q-2", "---\nid: q-2\nstatus: closed\n---\n# Done\n");
    p.says("ready").assert_has(&["q-1"]);
}

#[test]
fn a_note_without_end_is_refused_and_nothing_of_it_is_kept() {
    let p = Project::with(&["n-1 open Noted"]);
    let before = p.text("n-1");
    p.command("add-note n-1")
        .stdin(vec![b'x'; (16 << 20) + 1])
        .limit(Duration::from_secs(30))
        .fails(&["larger than 16 MiB, so nothing was added"]);
    assert_eq!(p.text("n-1"), before);
}

#[test]
fn notes_go_to_the_end_and_may_come_from_standard_input() {
    let p = Project::with(&["n-1 open Noted"]);
    assert_eq!(p.says("add-note 1 This is my note"), "Note added to n-1");
    assert_eq!(
        p.command("add-note n-1")
            .stdin("piped\n")
            .run()
            .expect(0)
            .text(),
        "Note added to n-1\n"
    );
    p.says("add-note n-1 ''");
    let text = p.text("n-1");
    let stamps: Vec<&str> = text.lines().filter(|line| line.starts_with("**")).collect();
    let [one, two, three] = stamps[..] else {
        panic!("{text}")
    };
    assert!(
        text.ends_with(&format!(
            "Description\n\n## Notes\n\n{one}\n\nThis is my note\n\n{two}\n\npiped\n\n{three}\n\n\n"
        )),
        "{text}"
    );
    p.fails("add-note nobody x")
        .assert_has(&["Error: ticket 'nobody' not found"]);
}

#[test]
fn queries_are_json_lines_filtered_by_jq() {
    let p = Project::with(&["q-1 open One | q-2", "q-2 closed Two"]);
    p.put("q-3", "---\nid: q-3\nstatus: \"quoted\\\n---\n");
    let lines = p.says("query");
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["deps"], serde_json::json!(["q-2"]));
    assert_eq!(first["priority"], "2");
    assert!(
        lines
            .lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
    if crate::support::run::program("jq").is_some() {
        let open = p.says("query '.status == \"open\"'");
        assert!(open.contains("q-1") && open.lines().count() == 1, "{open}");
        assert!(!p.run("query '.status =='").status.success());
    }
    p.command("query .id")
        .env("PATH", "/nonexistent")
        .fails(&["package jq"]);
    assert!(
        p.says("edit 3").ends_with(".tickets/q-3.md")
            && p.says("edit 3").starts_with("Edit ticket file: ")
    );
}

#[test]
fn the_folder_is_found_upwards_or_named() {
    let p = Project::with(&["t-1 open Here"]);
    let deep = p.home.work().join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    let listed = |m: Marvin| m.run().expect(0).text().to_owned();
    listed(p.command("ls").dir(&deep)).assert_has(&["t-1"]);
    let other = Project::with(&["o-1 open There"]);
    let named = listed(
        p.command("ls")
            .env("TICKETS_DIR", other.home.work().join(".tickets")),
    );
    named.assert_has(&["o-1"]);
    named.assert_lacks(&["t-1"]);
    p.command("ls")
        .env("TICKETS_DIR", "nowhere")
        .fails(&["Error: tickets directory 'nowhere' does not exist"]);
    let bare = Home::new();
    let tk = |expected: &[&str]| bare.marvin().arg("tk").args(expected.iter().copied()).run();
    let text = tk(&["ready"]).expect(1).errors();
    assert_eq!(
        text,
        "Error: no .tickets directory found (searched parent directories)\nRun 'tk create' to initialize, or set TICKETS_DIR env var\n"
    );
    tk(&["help"]).expect(0);
    tk(&["create", "first"]).expect(0);
    assert!(bare.has("work/.tickets"));
}

#[test]
fn tools_use_the_project_or_the_persons_own_folder() {
    let p = Project::with(&["t-1 open One", "t-2 open Two | t-1"]);
    let output = |done: Done| done.expect(0).text().to_owned();
    output(p.tool("ticket_list", &["status=open"])).assert_has(&["t-1      [open] - One\n"]);
    assert_eq!(
        output(p.tool("ticket_start", &["ticket_id=2"])),
        "Updated t-2 -> in_progress\n"
    );
    assert_eq!(
        output(p.tool("ticket_close", &["ticket_id=t-1"])),
        "Updated t-1 -> closed\n"
    );
    assert_eq!(
        output(p.tool("ticket_add_note", &["ticket_id=t-1", "note=done so"])),
        "Note added to t-1\n"
    );
    output(p.tool("ticket_show", &["ticket_id=t-1"])).assert_has(&["done so"]);
    assert_eq!(
        output(p.tool("ticket_dep_tree", &["ticket_id=t-2"])),
        "t-2 [in_progress] Two\n└── t-1 [closed] One\n"
    );
    let refused = |args: &[&str]| p.tool("ticket_add_dep", args).expect(1).errors();
    refused(&["ticket_id=t-1", "depends_on=t-1"]).assert_has(&["itself"]);
    refused(&["ticket_id=t-1", "depends_on=t-2"]).assert_has(&["circle"]);
    p.text("t-1").assert_has(&["\ndeps: []\n"]);
    let made = output(p.tool(
        "create_ticket",
        &[
            "title=New",
            "ticket_type=bug",
            "priority=0",
            "tags=a, b",
            "parent=t-2",
        ],
    ));
    assert!(
        made.starts_with("Created ticket wor-")
            && made.contains("tags: [a, b]")
            && made.contains("parent: t-2  # Two"),
        "{made}"
    );
    // Split like a shell, and not refused: each direct call is a process of its own.
    let id = output(p.tool("tk", &["args=create \"two words\" -t epic -d \"a; b\""]));
    p.text(id.trim()).assert_has(&["# two words\n\na; b\n"]);
    p.tool("tk", &["args=create \"open"])
        .expect(1)
        .stderr_has(&["quotation mark"]);
    p.tool("tk", &["args=show nobody"])
        .expect(1)
        .errors()
        .assert_has(&["Error: ticket 'nobody' not found"]);
    // Without a working directory they are the user's own.
    let own = |text: &[&str]| p.home.marvin().arg("tool").args(text.iter().copied()).run();
    assert_eq!(output(own(&["ticket_list"])), "No tickets.\n");
    own(&["ticket_show", "ticket_id=t-1"])
        .expect(1)
        .stderr_has(&["no .tickets directory"]);
    output(own(&["create_ticket", "title=mine"]));
    output(own(&["ticket_list"])).assert_has(&["- mine"]);
    assert!(p.home.has("config/profiles/main/.tickets"));
}

#[test]
fn the_first_ticket_of_a_child_is_sent_back() {
    let p = Project::with(&["top-1 open Top", "other-2 open Other"]);
    let child = |m: Marvin| m.env("MARVIN_TICKET", "top-1").run();
    child(p.command("create x"))
        .expect(1)
        .stderr_has(&["acceptance criteria"]);
    let dir = p.home.work();
    let create = |args: &[&str]| {
        child(
            p.home
                .marvin()
                .args([
                    "tool",
                    "create_ticket",
                    "--working-dir",
                    dir.to_str().unwrap(),
                ])
                .args(args.iter().copied()),
        )
    };
    // By whatever tool it is created.
    create(&["title=a"])
        .expect(1)
        .stderr_has(&["acceptance criteria"]);
    assert_eq!(p.says("ls").lines().count(), 2);
}
