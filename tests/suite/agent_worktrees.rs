//! Agents that a model launches in one round: they write side by side, each in a worktree, and what they did comes together in the user's branch.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::agents::{result, results, ticket};
use crate::support::engineer;
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::repo::Repo;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Request, Server};
use crate::support::wait::until;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(60);

fn project(home: &Home) -> Repo {
    let repo = Repo::at(&home.work());
    repo.file("README.md", "# Here\n")
        .file("notes.txt", "begun\n")
        .commit("First");
    ticket(home, "job-1", "open", "");
    ticket(home, "job-2", "open", "");
    repo
}

/// Which of the two agents asks: 1 or 2; `None` for whoever launches them.
fn agent(request: &Request) -> Option<usize> {
    let text = request.text();
    let is_agent = text.contains("another agent gives you the task above");
    let number = if text.contains("Write 1 down.") { 1 } else { 2 };
    is_agent.then_some(number)
}

/// Launches two agents in one round. Each creates its ticket, runs `command`, commits and reports; `held` says which answer waits for what.
fn server(
    command: impl Fn(usize) -> String + Send + Sync + 'static,
    held: impl Fn(usize, usize) -> Option<Latch> + Send + Sync + 'static,
) -> Server {
    Server::answering(move |request, _| {
        let step = results(request).len();
        let Some(number) = agent(request) else {
            return Answer::sse(match (request.text().contains("conflict markers"), step) {
                (true, 0) => {
                    let both = json!({"command": "printf 'begun\\n1\\n2\\n' > notes.txt"});
                    openai::call("m1", "run_command", both)
                }
                (true, _) => openai::text(&["Both are kept."]),
                (false, 0) => {
                    let call = |number: usize| {
                        json!({"ticket_id": format!("job-{number}"), "prompt": format!("Write {number} down.")})
                    };
                    openai::calls(&[("p1", "launch_agent", call(1)), ("p2", "launch_agent", call(2))])
                }
                (false, _) => openai::text(&["Launched."]),
            });
        };
        let answer = engineer::part(number, step, &command(number));
        match held(number, step) {
            Some(latch) => answer.head_after(&latch),
            None => answer,
        }
    })
    .lenient()
}

/// Nobody is answered before both have asked.
fn together() -> impl Fn(usize, usize) -> Option<Latch> + Send + Sync + 'static {
    let (all_here, arrived) = (Latch::new(), Arc::new(AtomicUsize::new(0)));
    move |_, step| {
        if step == 0 && arrived.fetch_add(1, Ordering::SeqCst) == 1 {
            all_here.open();
        }
        (step == 0).then(|| all_here.clone())
    }
}

fn launching(home: &Home, server: &Server) -> Marvin {
    let run = home.ask(&server.url("/v1"), "go");
    run.arg("--working-dir").arg(home.work())
}

fn worktrees(home: &Home) -> String {
    let run = home.marvin().dir(&home.work());
    let done = run.args(["pipeline", "worktrees"]).run().expect(0);
    done.text().to_owned()
}

/// The folder of the worktree of the agent for `job-NUMBER`, once there is a folder of worktrees.
fn tree(home: &Home, number: usize) -> Option<PathBuf> {
    let above = home.path().join(".local/share/marvin/worktrees");
    let repository = std::fs::read_dir(above).ok()?.next()?.ok()?;
    Some(repository.path().join(format!("agent-job-{number}/work")))
}

#[test]
fn writers_of_one_round_work_side_by_side_and_come_together_in_the_branch() {
    let home = Home::new();
    let repo = project(&home);
    let server = server(|number| format!("echo {number} > {number}.txt"), together());
    let done = launching(&home, &server).run().expect(0);
    for number in [1, 2] {
        assert_eq!(repo.read(&format!("{number}.txt")), format!("{number}\n"));
        result(&server, &format!("p{number}")).assert_has(&[
            &format!("Ticket: job-{number}\n"),
            &format!("{number} is written down."),
            &format!("marvin/agent-job-{number} (1 commit) is in main now"),
        ]);
        home.read(&format!("work/.tickets/job-{number}.md"))
            .assert_has(&["status: closed"]);
    }
    // Their tickets are where the user's are, and in no commit.
    let tickets = std::fs::read_dir(home.work().join(".tickets")).unwrap();
    assert_eq!(tickets.count(), 4);
    let log = repo.git(&["log", "--format=%s%n%b", "--name-only"]);
    log.assert_has(&[
        "Write 1 down.",
        "Part 1",
        "Ticket: job-1",
        "Write 2 down.",
        "Part 2",
    ]);
    log.assert_lacks(&[".tickets/", ".marvin/"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "?? .tickets/");
    worktrees(&home).assert_has(&["No run and no review has a worktree"]);
    assert_eq!(repo.git(&["branch", "--list", "marvin/*"]), "");
    assert_eq!(done.cost().llm_turns, 12);
}

#[test]
fn what_conflicts_is_settled_by_a_child() {
    let home = Home::new();
    let repo = project(&home);
    let server = server(|number| format!("echo {number} >> notes.txt"), together());
    launching(&home, &server).run().expect(0);
    assert_eq!(repo.read("notes.txt"), "begun\n1\n2\n");
    let told = format!("{}\n{}", result(&server, "p1"), result(&server, "p2"));
    told.assert_has(&["1 file had conflicts", "is in main now"]);
    for number in [1, 2] {
        home.read(&format!("work/.tickets/job-{number}.md"))
            .assert_has(&["status: closed"]);
    }
    worktrees(&home).assert_has(&["No run and no review has a worktree"]);
}

#[test]
fn what_a_killed_round_left_is_found_by_name_and_goes_on() {
    let home = Home::new();
    let repo = project(&home);
    let never = Latch::new();
    let held = never.clone();
    let stuck = server(
        |number| format!("echo {number} > {number}.txt"),
        move |_, step| (step == 3).then(|| held.clone()),
    );
    let mut run = launching(&home, &stuck).spawn();
    until("both have written", || {
        [1, 2].iter().all(|number| {
            tree(&home, *number).is_some_and(|tree| tree.join(format!("{number}.txt")).exists())
        })
    });
    worktrees(&home).assert_has(&["agent-job-1: running", "agent-job-2: running"]);
    // Nobody else works for their tickets meanwhile.
    launching(&home, &stuck).run().expect(0);
    for number in [1, 2] {
        let words = format!("An agent works for the ticket job-{number} already (process ");
        result(&stuck, &format!("p{number}")).assert_has(&[&words]);
    }
    run.signal(Signal::KILL);
    assert!(run.ends_within(LONG));
    never.open();
    until("its children have ended", || {
        worktrees(&home).contains("agent-job-1: stopped")
    });
    worktrees(&home).assert_has(&["agent-job-2: stopped", "1 file not committed"]);
    assert!(!repo.path().join("1.txt").exists());
    // Launched again for the same tickets, they go on where they were.
    let again = server(
        |number| format!("cat {number}.txt > {number}.copy"),
        together(),
    );
    launching(&home, &again).run().expect(0);
    for file in ["1.txt", "1.copy", "2.txt", "2.copy"] {
        assert_eq!(repo.read(file), format!("{}\n", &file[..1]), "{file}");
    }
    worktrees(&home).assert_has(&["No run and no review has a worktree"]);
}

#[test]
fn beside_what_is_not_committed_agents_work_one_after_the_other_in_the_folder() {
    let home = Home::new();
    let repo = project(&home);
    repo.file("notes.txt", "begun, and not committed\n");
    let at_work = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, seen) = (Arc::clone(&at_work), Arc::clone(&most));
    let server = server(
        |number| format!("echo {number} > {number}.txt"),
        move |_, step| {
            match step {
                0 => drop(seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst)),
                4 => drop(now.fetch_sub(1, Ordering::SeqCst)),
                _ => {}
            }
            None
        },
    );
    launching(&home, &server).run().expect(0);
    assert_eq!(most.load(Ordering::SeqCst), 1);
    assert_eq!(
        repo.git(&["log", "-2", "--reverse", "--format=%s"]),
        "Part 1\nPart 2"
    );
    assert!(!home.path().join(".local/share/marvin/worktrees").exists());
}
