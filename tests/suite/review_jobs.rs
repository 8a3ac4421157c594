//! Reviews in the background: a process of its own, its record, and what is left when it is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use super::agents::{result, results};
use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::repo::Repo;
use crate::support::server::{Answer, Request, Server};
use crate::support::wait::{found_within, until};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(90);

/// A project with a file of code and a document, everything committed.
struct Project {
    home: Home,
    repo: Repo,
}

impl Project {
    fn new() -> Self {
        let home = Home::new();
        let repo = Repo::at(&home.work());
        repo.file("src/sum.sh", "sum() {\n    echo $(($1 - $2))\n}\n")
            .file(
                "docs/sum.md",
                "# Sums\n\nsum adds. It will multiply one day.\n",
            )
            .commit("First");
        Self { home, repo }
    }

    /// Asks a model that calls `review_codebase`; returns the tool's result.
    fn start(&self, server: &Server, args: &str) -> String {
        self.home
            .ask(&server.url("/v1"), &format!("start the review {args}"))
            .arg("--working-dir")
            .arg(self.home.work())
            .run()
            .expect(0);
        result(server, "p1")
    }

    /// The worktree of the only job.
    fn worktree(&self) -> PathBuf {
        let id = self.jobs().pop().unwrap();
        let record = self.home.read(&format!("work/.marvin/jobs/{id}.json"));
        let record: Value = serde_json::from_str(&record).unwrap();
        PathBuf::from(record["worktree"].as_str().unwrap())
    }

    fn status(&self) -> String {
        let tool = self
            .home
            .marvin()
            .args(["tool", "review_status", "--working-dir"]);
        let done = tool.arg(self.home.work()).run();
        done.output()
    }

    /// The status as soon as it holds `words`.
    fn wait_status(&self, words: &str) -> String {
        let end = Instant::now() + LONG;
        found_within(LONG * 2, words, || {
            let status = self.status();
            let found = status.contains(words);
            assert!(found || Instant::now() < end, "no {words:?} in {status}");
            found.then_some(status)
        })
    }

    fn jobs(&self) -> Vec<String> {
        let folder = self.home.work().join(".marvin/jobs");
        let Ok(entries) = fs::read_dir(folder) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut ids: Vec<String> = names
            .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
            .collect();
        ids.sort();
        ids
    }

    /// The process of the only job.
    fn pid(&self) -> Pid {
        let id = self.jobs().pop().unwrap();
        let text = self.home.read(&format!("work/.marvin/jobs/{id}.lock"));
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }
}

/// Ends a job that a failing test leaves behind.
struct Ended<'a>(&'a Project);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if self.0.jobs().is_empty() || !self.0.status().contains(": running") {
            return;
        }
        let _ = kill_process(self.0.pid(), Signal::KILL);
    }
}

fn is_parent(request: &Request) -> bool {
    request.text().contains("start the review")
}

/// The parent's side: one call with the arguments that the prompt names.
fn parent(request: &Request) -> Answer {
    let text = request.text();
    let args = match text.contains("start the review of tests") {
        true => json!({"focus": "tests"}),
        false => json!({"max_rounds": 2, "context": "Mind the signs."}),
    };
    Answer::sse(match results(request).len() {
        0 => openai::call("p1", "review_codebase", args),
        _ => openai::text(&["Started."]),
    })
}

fn report(last: &str) -> Answer {
    let text = format!(
        "{}\n{last}",
        "I read src/sum.sh from its first line to its last. ".repeat(5)
    );
    says(&text)
}

#[test]
fn a_review_finds_mends_and_ends_satisfied_on_a_branch_of_its_own() {
    let project = Project::new();
    let server = Server::answering(|request, _| {
        let text = request.text();
        if is_parent(request) {
            return parent(request);
        }
        if text.contains("Reviewers found the faults below") {
            let patch = json!({"path": "src/sum.sh", "old_str": "$1 - $2", "new_str": "$1 + $2"});
            return match results(request).len() {
                0 => Answer::sse(openai::call("f1", "apply_patch", patch)),
                _ => says("Mended."),
            };
        }
        match (
            text.contains("round 1 of 2"),
            text.contains("SPEC_CONFORMANT"),
        ) {
            (true, true) => report("SPEC_CONFORMANT"),
            (true, false) => report("1. src/sum.sh:2 subtracts.\nREVIEW_FAILED"),
            (false, _) => report("REVIEW_CLEAN"),
        }
    });
    let _ended = Ended(&project);
    project.home.write("work/draft.txt", "of the user");
    let told = project.start(&server, "");
    told.assert_has(&[
        "is running in the background",
        "1 changed file that is not committed is not in it.",
        "Files: 1",
        "Documents: 1 file",
    ]);
    let id = project.jobs().pop().unwrap();
    told.assert_has(&[&format!("Branch: review/{id}, made from main")]);
    let status = project.wait_status(": completed");
    status.assert_has(&[
        "Round 1: 1 of 4 reviewers satisfied; findings of area-1, area-2, area-3 went to the fixer",
        "Round 2: 4 of 4 reviewers satisfied",
        "Every reviewer is satisfied after 2 rounds.",
        &format!("marvin pipeline merge review/{id}"),
        "Cost: ",
    ]);
    // The files of the user, which they have gone on with, are as they were.
    let worktree = project.worktree();
    let mended = fs::read_to_string(worktree.join("src/sum.sh")).unwrap();
    mended.assert_has(&["$1 + $2"]);
    project.repo.read("src/sum.sh").assert_has(&["$1 - $2"]);
    assert_eq!(project.repo.git(&["branch", "--show-current"]), "main");
    assert_eq!(project.repo.git(&["log", "main", "--format=%s"]), "First");
    assert_eq!(project.repo.git(&["status", "--porcelain"]), "?? draft.txt");
    let there = worktree.to_str().unwrap();
    assert_eq!(
        project.repo.git(&["-C", there, "status", "--porcelain"]),
        ""
    );
    let tracked = project.repo.git(&["-C", there, "ls-files"]);
    tracked.assert_lacks(&["draft.txt"]);
    tracked.assert_has(&[".marvin/review-history-code.md"]);
    tracked.assert_lacks(&[".marvin/jobs"]);
    let record = project.home.work().join(format!(".marvin/jobs/{id}.json"));
    let mode = fs::metadata(&record).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let record: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    assert!(record["cost"].as_f64().unwrap() > 0.0, "{record}");
    let reviewer = server.requests().into_iter().find(|request| {
        !is_parent(request) && request.text().contains("Review code of this project")
    });
    let reviewer = reviewer.unwrap().text();
    reviewer.assert_has(&["ground truth", "docs/sum.md", "Mind the signs."]);
    // Three in the first round who are not satisfied, and the one who is, is not asked again.
    let asked = server.requests();
    let second = asked
        .iter()
        .filter(|request| request.text().contains("round 2 of 2"))
        .count();
    assert_eq!(second, 3);
    let merged = project
        .home
        .marvin()
        .args(["pipeline", "merge", "--working-dir"]);
    let said = merged.arg(project.home.work()).run().expect(0);
    said.stdout_has(&["is in main now, as one commit "]);
    project.repo.read("src/sum.sh").assert_has(&["$1 + $2"]);
    let message = project.repo.git(&["log", "-1", "--format=%B"]);
    message.assert_has(&[&format!("Review {id} of the code"), "Round 2: 4 of 4"]);
    assert_eq!(project.repo.git(&["status", "--porcelain"]), "?? draft.txt");
    assert!(!worktree.exists());
}

/// A server whose reviewers never answer.
fn hanging() -> Server {
    Server::answering(|request, _| match is_parent(request) {
        true => parent(request),
        false => Answer::silence(),
    })
}

#[test]
fn a_second_review_is_refused_while_the_first_runs() {
    let project = Project::new();
    let server = hanging();
    let _ended = Ended(&project);
    project.start(&server, "");
    let id = project.jobs().pop().unwrap();
    project
        .wait_status("round 1 of 2")
        .assert_has(&[&format!("Review {id}: running")]);
    let second = project.start(&hanging(), "once more");
    let words = format!("A review is running here already: {id}");
    assert!(second.contains(&words), "{second}");
    assert_eq!(project.jobs().len(), 1);
}

#[test]
fn of_two_reviews_started_at_the_same_moment_one_is_refused() {
    let project = Project::new();
    let _ended = Ended(&project);
    let (both, arrived) = (Latch::new(), Arc::new(AtomicUsize::new(0)));
    // Neither model calls the tool before both have been asked.
    let together = || {
        let (both, arrived) = (both.clone(), Arc::clone(&arrived));
        Server::answering(move |request, _| {
            if !is_parent(request) {
                return Answer::silence();
            }
            if !results(request).is_empty() {
                return parent(request);
            }
            if arrived.fetch_add(1, Ordering::SeqCst) == 1 {
                both.open();
            }
            parent(request).head_after(&both)
        })
    };
    let servers = [together(), together()];
    let mut told = thread::scope(|scope| {
        let started = servers
            .each_ref()
            .map(|server| scope.spawn(|| project.start(server, "")));
        started.map(|start| start.join().unwrap())
    });
    told.sort();
    let [refused, running] = &told;
    refused.assert_has_for(&told, &["A review is running here already: "]);
    assert!(running.contains("is running in the background"), "{told:?}");
    assert_eq!(project.jobs().len(), 1);
    let branches = project.repo.git(&["branch", "--list", "review/*"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
}

#[test]
fn a_job_that_is_killed_is_dead_and_holds_nobody_up() {
    let project = Project::new();
    let server = hanging();
    let _ended = Ended(&project);
    project.start(&server, "");
    let id = project.jobs().pop().unwrap();
    project.wait_status("round 1 of 2");
    kill_process(project.pid(), Signal::KILL).unwrap();
    project
        .wait_status(": dead")
        .assert_has(&["its process is gone"]);
    let server = hanging();
    project
        .start(&server, "once more")
        .assert_has(&["is running in the background"]);
    let other = project.jobs().into_iter().find(|other| *other != id);
    let named = |id: &str| {
        let args = ["tool", "review_status", "--working-dir"];
        let tool = project.home.marvin().args(args).arg(project.home.work());
        let done = tool.arg(format!("job_id={id}")).run().expect(0);
        done.text().to_owned()
    };
    assert!(named(&id).contains(": dead") && named(&other.unwrap()).contains(": running"));
}

#[test]
fn a_chat_knows_of_a_review_in_the_background_and_tells_when_it_ends() {
    let project = Project::new();
    let id = "20260101-120000";
    let record = json!({
        "id": id, "status": "running", "phase": "round 1 of 4", "started": "2026-01-01T12:00:00.000Z",
        "branch": format!("review/{id}"), "base": "main", "focus": "all",
    });
    let jobs = "work/.marvin/jobs";
    project
        .home
        .write(&format!("{jobs}/{id}.json"), record.to_string());
    let lock = project.home.write(&format!("{jobs}/{id}.lock"), "1\n");
    let held = fs::File::open(lock).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let server = Server::answering(|_, n| says(&format!("Answer {n}.")));
    let mut chat = project.home.chat(&server).stdin_open().spawn();
    chat.write(b"first\n");
    chat.wait_stdout("Answer 0.", LONG);
    let text = server.request(0).text();
    let is_told = text.contains("Background jobs") && text.contains(&format!("review {id}"));
    assert!(is_told, "{text}");
    // A child that another test is starting may share the file for a moment, so closing it would not do.
    rustix::fs::flock(&held, rustix::fs::FlockOperation::Unlock).unwrap();
    chat.write(b"second\n");
    chat.wait_stdout("Answer 1.", LONG);
    let news = format!("Review {id}: dead. It is not running any more");
    assert!(server.request(1).text().contains(&news));
    // Through a pipe a notice is shown with the next answer.
    let notice = format!("Review {id}: dead.");
    let mut answers = 2;
    while !chat.sees_stdout(&notice, Duration::from_secs(1)) {
        assert!(answers < 90, "no {notice:?} in {}", chat.stdout());
        chat.write(b"more\n");
        chat.wait_stdout(&format!("Answer {answers}."), LONG);
        answers += 1;
    }
    chat.wait().expect(0);
}

#[test]
fn a_review_that_ended_while_no_chat_was_open_is_told_at_the_next_start_once() {
    let project = Project::new();
    for (id, text) in [
        (
            "20260101-120000",
            "Every reviewer is satisfied after 2 rounds.\nMore.",
        ),
        (
            "20260102-120000",
            "After 4 rounds there are still findings.",
        ),
    ] {
        let record = json!({
            "id": id, "status": "completed", "phase": "ended", "started": "2026-01-01T12:00:00.000Z",
            "ended": "2026-01-01T13:00:00.000Z", "branch": format!("review/{id}"), "base": "main",
            "focus": "all", "text": text,
        });
        let path = format!("work/.marvin/jobs/{id}.json");
        project.home.write(&path, record.to_string());
    }
    let told = [
        "Review 20260101-120000: completed. Every reviewer is satisfied after 2 rounds.",
        "Review 20260102-120000: completed. After 4 rounds there are still findings.",
    ];
    for is_first in [true, false] {
        let server = Server::answering(|_, n| says(&format!("Answer {n}.")));
        let mut chat = project.home.chat(&server).stdin_open().spawn();
        let mut answers = 0;
        // Through a pipe a notice is shown with the next answer; the one of the last review comes last.
        while answers < 2 || is_first && !chat.sees_stdout(told[1], Duration::from_secs(1)) {
            assert!(answers < 90, "no notice in {}", chat.stdout());
            chat.write(b"more\n");
            chat.wait_stdout(&format!("Answer {answers}."), LONG);
            answers += 1;
        }
        for words in told {
            assert_eq!(chat.stdout().contains(words), is_first, "{}", chat.stdout());
            let system = server.request(0).text();
            assert_eq!(system.contains(words), is_first, "{system}");
        }
        chat.wait().expect(0);
    }
}

#[test]
fn a_job_stops_cleanly_on_a_signal() {
    let project = Project::new();
    let server = hanging();
    let _ended = Ended(&project);
    project.start(&server, "");
    project.wait_status("round 1 of 2");
    // Reviewers are at work.
    server.wait_requests(3, LONG);
    let pid = project.pid();
    kill_process(pid, Signal::TERM).unwrap();
    project
        .wait_status(": failed")
        .assert_has(&["stopped from outside"]);
    until("the process ends", || test_kill_process(pid).is_err());
}

#[test]
fn a_review_needs_a_commit_and_something_to_review() {
    let refused = |project: &Project, args: &str, words: &str| {
        let text = project.start(&hanging(), args);
        assert!(text.contains(words), "{words}: {text}");
        assert_eq!(project.jobs(), [] as [&str; 0]);
    };
    let project = Project::new();
    refused(
        &project,
        "of tests",
        "No file that git tracks here is a test",
    );
    assert_eq!(project.repo.git(&["branch", "--show-current"]), "main");
    // Nothing but the branch that was there.
    assert_eq!(
        project.repo.git(&["branch", "--format=%(refname:short)"]),
        "main"
    );
    let home = Home::new();
    let bare = Project {
        repo: Repo::at(&home.work()),
        home,
    };
    refused(&bare, "", "no commit yet");
    fs::remove_dir_all(bare.home.work().join(".git")).unwrap();
    refused(&bare, "", "is not in a git repository");
    bare.status().assert_has(&["No review was started here"]);
}
