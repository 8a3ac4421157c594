//! Whole runs of the pipeline: from an idea to a program whose tests pass, with the real binary, real children, real git and the languages' own tools. The
//! model is a scripted one that plays each role.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::json;

use super::agent_sdks::sdks;
use crate::support::cost::Cost;
use crate::support::engineer::{self, Asked, BASH, NODE, PYTEST, PYTHON, Project, RUST, Role};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wait::{until, until_within};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

pub(super) const TASK: &str =
    "A program that counts the words of a file.\nIt prints the number and nothing else.";

/// A run in `dir` with the model of `server`.
pub(super) fn pipeline(home: &Home, server: &Server, dir: &Path) -> Marvin {
    unprompted(home, server, dir).args(["--prompt", TASK])
}

/// The same without a prompt.
pub(super) fn unprompted(home: &Home, server: &Server, dir: &Path) -> Marvin {
    let run = home
        .marvin()
        .line("--non-interactive --design-first --provider openai-compat")
        .args(["--model", "all=test-model"])
        .arg("--working-dir")
        .arg(dir)
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .limit(Duration::from_secs(240));
    with_tool_chains(run)
}

/// A run that finds the languages' own tools.
pub(super) fn with_tool_chains(mut run: Marvin) -> Marvin {
    // The tool chains of the machine are found by these; the home of the test has none.
    for name in [
        "RUSTUP_HOME",
        "CARGO_HOME",
        "PYENV_ROOT",
        "PYENV_VERSION",
        "RUSTUP_TOOLCHAIN",
    ] {
        if let Some(value) = std::env::var_os(name) {
            run = run.env(name, value);
        }
    }
    let homes = [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")];
    for (name, folder) in homes {
        if let (None, Some(home)) = (std::env::var_os(name), std::env::var_os("HOME")) {
            let path = Path::new(&home).join(folder);
            if path.is_dir() {
                run = run.env(name, path);
            }
        }
    }
    run
}

fn git(dir: &Path, args: &[&str]) -> String {
    let done = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(args)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The tracked files of the product, without Marvin's own.
fn product(dir: &Path) -> BTreeSet<String> {
    let files = git(dir, &["ls-files"]);
    let own = |path: &&str| !path.starts_with(".marvin/") && !path.starts_with(".tickets/");
    files.lines().filter(own).map(str::to_owned).collect()
}

pub(super) fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let is_there = found.is_ok_and(|done| done.status.success());
    if !is_there {
        eprintln!("skipped: {program} is not installed");
    }
    is_there
}

/// Has a model build a project in the work folder of `home`, where the product has `others` too, and checks everything that the run leaves; what it told.
pub(super) fn builds(
    home: &Home,
    run: Marvin,
    asked: &Asked,
    project: &Project,
    others: &[&str],
) -> String {
    let dir = home.work();
    let done = run.run();
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    let summary = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(0), "{errors}\n{summary}");
    assert_eq!(home.read("work/.marvin/pipeline_state").trim(), "5");
    let others = others.iter().map(|path| (*path).to_owned());
    let expected: BTreeSet<String> = project.files().chain(others).collect();
    assert_eq!(product(&dir), expected, "{errors}");
    each_role_once(asked, project.checks_of_pages());
    // Every model call is in the parent's cost line.
    let cost = Cost::last_line(&errors);
    assert_eq!(cost.llm_turns, asked.requests() as u64);
    assert_eq!(
        cost.model_turns["test-model"].as_u64(),
        Some(cost.llm_turns)
    );
    assert_eq!(
        (cost.input, cost.output),
        (10 * cost.llm_turns, 5 * cost.llm_turns)
    );
    // Nothing is left uncommitted, and the epic is closed.
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
    let tickets = home.marvin().dir(&dir).args(["tk", "closed"]).run();
    let tickets = String::from_utf8_lossy(&tickets.stdout).into_owned();
    tickets.assert_has(&["A program that counts the words of a file."]);
    summary.assert_has(&["A program that counts the words of a file."]);
    // Each of twelve first reviews marks two, and each reviewer looks again.
    summary.assert_has(&["Findings of reviews: 13 blockers, 12 minor; none is open."]);
    summary.assert_lacks(&["MARVIN_COST"]);
    // Prompts are removed, logs stay and are not committed.
    let logs: Vec<_> = std::fs::read_dir(dir.join(".marvin/logs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        logs.iter().any(|name| name.starts_with("spec-writer-")),
        "{logs:?}"
    );
    assert!(!logs.iter().any(|name| name.contains("prompt")), "{logs:?}");
    git(&dir, &["ls-files", ".marvin"]).assert_lacks(&["logs/"]);
    // Nor does a model come upon them, as it does upon the documents beside them.
    let words = json!({"pattern": "words", "max_results": 1_000});
    let found = home.tool("code_grep", &words).dir(&dir).run().expect(0);
    found.stdout_has(&["/spec.md"]).stdout_lacks(&["logs/"]);
    let tree = home.tool("tree", &json!({"max_depth": 9})).dir(&dir).run();
    tree.expect(0).stdout_lacks(&["logs"]);
    errors
}

/// How often each role was played in a run without interruption.
fn each_role_once(asked: &Asked, pages: usize) {
    for (role, times) in [
        (Role::SpecWriter, 1),
        (Role::UxWriter, 1),
        (Role::DesignWriter, 1),
        // Four reviewers of three documents, twice.
        (Role::FirstReviewer, 12),
        (Role::LaterReviewer, 12),
        (Role::DocumentFixer, 3),
        (Role::FunctionalTests, 1),
        (Role::IntegrationTests, 1),
        (Role::Implementer, 1),
        (Role::Debugger, 1),
        (Role::CodeFixer, 0),
        (Role::SmokeTester, 1),
        (Role::PageChecker, pages),
        (Role::QualityTester, 2),
        (Role::QualityFixer, 1),
        (Role::Other, 0),
    ] {
        assert_eq!(asked.begun(role), times, "{role:?}");
    }
}

/// Builds a project with programs that may not be here.
fn builds_with(programs: &[&str], project: &'static Project, others: &[&str]) {
    if programs.iter().all(|program| is_installed(program)) {
        let home = Home::new();
        let (server, asked) = engineer::server(project);
        let run = pipeline(&home, &server, &home.work());
        builds(&home, run, &asked, project, others);
    }
}

#[test]
fn an_idea_becomes_a_node_program_with_a_page() {
    builds_with(&["node", "npm"], &NODE, &[]);
}

#[test]
fn an_idea_becomes_a_rust_program() {
    builds_with(&["cargo"], &RUST, &["Cargo.lock"]);
}

#[test]
fn an_idea_becomes_a_bash_program() {
    builds_with(&["bash", "make"], &BASH, &[]);
}

/// pytest lies beside the SDKs of `scripts/agent-sdks.sh`.
#[test]
fn an_idea_becomes_a_python_program_with_pytest() {
    let Some(sdks) = sdks("an_idea_becomes_a_python_program_with_pytest") else {
        return;
    };
    let home = Home::new();
    let (server, asked) = engineer::server(&PYTEST);
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", sdks.join("python/bin").display());
    let run = pipeline(&home, &server, &home.work()).env("PATH", path);
    let errors = builds(&home, run, &asked, &PYTEST, &[]);
    errors.assert_has(&["`pytest` executed 3 tests, and all of them passed."]);
}

/// How far a run is when a role begins; `None` for roles of several phases.
fn place(role: Role, work: &str) -> Option<usize> {
    let order = [
        Role::SpecWriter,
        Role::UxWriter,
        Role::DesignWriter,
        Role::FunctionalTests,
        Role::IntegrationTests,
        Role::Implementer,
        Role::SmokeTester,
        Role::QualityTester,
    ];
    let documents = [".marvin/spec.md", ".marvin/ux.md", ".marvin/design.md"];
    let reviewed = documents
        .iter()
        .position(|path| work.contains(&format!("Review `{path}`")));
    match (role, reviewed) {
        // Between the writer of the user experience and that of the design, or after that.
        (Role::FirstReviewer | Role::LaterReviewer, Some(at)) => Some([15, 16, 25][at]),
        _ => order.iter().position(|own| *own == role).map(|at| 10 * at),
    }
}

/// Numbers that look random and are the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What a person has done while a run was dead: a new file, and an edit of a file that the run's first commit took.
struct PersonsEdit {
    new: String,
    /// How they make room for the run: by a commit of their own, or aside.
    is_committed: bool,
}

impl PersonsEdit {
    fn make(dir: &Path, round: u64) -> Self {
        let new = format!("mine {round}.txt");
        std::fs::write(dir.join(&new), "of a person\n").unwrap();
        let line = format!("edit {round}\n");
        let mut notes = std::fs::read(dir.join(NOTES)).unwrap();
        notes.extend(line.into_bytes());
        std::fs::write(dir.join(NOTES), notes).unwrap();
        // Later than any child can have written, as if somebody had waited.
        let later = SystemTime::now() + Duration::from_secs(10);
        for name in [&new, NOTES] {
            let file = File::options().write(true).open(dir.join(name)).unwrap();
            file.set_modified(later).unwrap();
        }
        Self {
            new,
            is_committed: round.is_multiple_of(3),
        }
    }

    fn put_away(&self, dir: &Path, round: u64) {
        let person = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
        let git = |words: &[&str]| git(dir, &[&person[..], words].concat());
        match round % 3 {
            0 => {
                git(&["add", &self.new, NOTES]);
                git(&["commit", "--quiet", "-m", MINE]);
            }
            1 => {
                git(&[
                    "stash",
                    "push",
                    "--quiet",
                    "--include-untracked",
                    "--",
                    &self.new,
                    NOTES,
                ]);
            }
            _ => {
                std::fs::remove_file(dir.join(&self.new)).unwrap();
                git(&["checkout", "--quiet", "--", NOTES]);
            }
        }
    }
}

/// A file of a person's that was there before the run, and the message of their own commits.
const NOTES: &str = "notes.txt";
const MINE: &str = "of a person";

/// `PIPELINE_KILLS` sets how often it is killed. After every other kill a person has worked in the folder.
#[test]
fn a_run_that_is_killed_again_and_again_goes_on_where_it_was() {
    if !is_installed("python3") {
        return;
    }
    let home = Home::new();
    let (server, asked) = engineer::server(&PYTHON);
    let dir = home.work();
    std::fs::write(dir.join(NOTES), "notes\n").unwrap();
    let kills: u64 = std::env::var("PIPELINE_KILLS").map_or(6, |count| count.parse().unwrap());
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut committed = Vec::new();
    for round in 0..kills {
        let mut run = pipeline(&home, &server, &dir).spawn();
        if run.ends_within(Duration::from_millis(
            30 + dice.below(24_000 / kills.max(1)),
        )) {
            break;
        }
        let is_edited = round % 2 == 0;
        if is_edited {
            // Its first commit takes what is there.
            until("a document", || dir.join(".marvin/spec.md").exists());
        }
        run.kill();
        assert!(run.ends_within(Duration::from_secs(30)));
        if !is_edited {
            continue;
        }
        let edit = PersonsEdit::make(&dir, round);
        let refused = pipeline(&home, &server, &dir).run().expect(1);
        refused.stderr_has(&[&edit.new, NOTES, "Commit or stash them"]);
        edit.put_away(&dir, round);
        committed.extend(edit.is_committed.then_some(edit.new));
    }
    let done = pipeline(&home, &server, &dir).run();
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(0), "{errors}");
    let theirs = [NOTES.to_owned()].into_iter();
    let theirs = theirs.chain(committed.iter().cloned());
    assert_eq!(product(&dir), PYTHON.files().chain(theirs).collect());
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
    // Nothing of the person's is in a commit of the run's, but what was there before it.
    let theirs = git(&dir, &["log", "--format=%s", "--", NOTES, "mine *.txt"]);
    let theirs: Vec<&str> = theirs.lines().collect();
    let own = committed
        .iter()
        .map(|_| MINE)
        .chain(["Before the pipeline"]);
    assert_eq!(theirs, own.collect::<Vec<_>>());
    // No phase is begun again after a later one.
    let mut reached = 0;
    for (role, work) in asked.beginnings() {
        if let Some(place) = place(role, &work) {
            assert!(place + 4 >= reached, "{role:?} after {reached}");
            reached = reached.max(place);
        }
    }
    let repeated = asked.begun(Role::SpecWriter)
        + asked.begun(Role::UxWriter)
        + asked.begun(Role::DesignWriter);
    assert!(
        repeated as u64 <= 3 + kills,
        "{repeated} documents were begun"
    );
    // One epic, however often the run was started.
    let tickets = std::fs::read_dir(dir.join(".tickets"))
        .unwrap()
        .filter(|entry| {
            let text = std::fs::read_to_string(entry.as_ref().unwrap().path()).unwrap_or_default();
            text.contains("\ntype: epic\n")
        });
    assert_eq!(tickets.count(), 1);
}

/// Stops at the ceiling, on a branch of its own, and goes on from there.
#[test]
fn a_ceiling_stops_the_run_and_a_higher_one_continues_it() {
    let home = Home::new();
    let (server, asked) = engineer::server(&PYTHON);
    let repo = Repo::at(&home.work());
    repo.file("notes.txt", "of the user\n").commit("first");
    let fixed = |repo: &Repo| {
        let main = repo.git(&["rev-parse", "main"]);
        let config = repo.git(&["config", "--local", "--list"]);
        (main, config, repo.git(&["stash", "list"]))
    };
    let before = fixed(&repo);
    let run = |ceiling: &str| {
        let run = pipeline(&home, &server, repo.path());
        run.args(["--branch", "words", "--max-cost", ceiling]).run()
    };
    // A model without a known price is charged a guess: about 0.0000125 a call.
    let done = run("0.0002");
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    let summary = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(1), "{errors}");
    errors.assert_has(&["higher --max-cost"]);
    summary.assert_has(&["ceiling", "--max-cost"]);
    let cost = Cost::last_line(&errors);
    assert!(cost.session_cost >= 0.0002, "{cost:?}");
    // Reviewers run in parallel and share what is left, so each may make one call more than it should have.
    assert!(cost.session_cost < 0.0004, "{cost:?}");
    assert_eq!(repo.git(&["symbolic-ref", "--short", "HEAD"]), "words");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    let spent = asked.requests();
    let done = run("0.0004");
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{errors}");
    assert!(asked.requests() > spent, "{errors}");
    assert_eq!(
        asked.begun(Role::SpecWriter),
        1,
        "what is done is not done again"
    );
    assert_eq!(fixed(&repo), before, "nothing but the branch has changed");
}

/// Processes whose environment has this home.
fn processes_of(home: &Home) -> Vec<String> {
    let mark = format!("HOME={}", home.path().display());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let found = all.filter_map(|entry| {
        let environ = std::fs::read(entry.path().join("environ")).ok()?;
        let is_ours = environ
            .split(|byte| *byte == 0)
            .any(|var| var == mark.as_bytes());
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        is_ours.then(|| String::from_utf8_lossy(&command).replace('\0', " "))
    });
    found.filter(|command| !command.is_empty()).collect()
}

/// Waits until no process of this home is left.
fn all_end(home: &Home, limit: Duration) {
    until_within(limit, "the end of every process", || {
        processes_of(home).is_empty()
    });
}

#[test]
fn nothing_outlives_a_run_that_is_ended_or_killed() {
    let home = Home::new();
    // A model that answers each child once, and then never again.
    let server =
        Server::answering(
            |request, _| match request.text().contains("\"role\":\"tool\"") {
                true => Answer::silence(),
                false => Answer::sse(openai::call("", "list_directory", json!({"path": "."}))),
            },
        )
        .lenient();
    for signal in [Signal::TERM, Signal::QUIT, Signal::KILL] {
        let mut run = pipeline(&home, &server, &home.work()).spawn();
        let before = server.requests().len();
        server.wait_requests(before + 2, Duration::from_secs(60));
        assert!(processes_of(&home).len() >= 2, "the run and a child");
        run.signal(signal);
        assert!(run.ends_within(Duration::from_secs(10)));
        all_end(&home, Duration::from_secs(3));
    }
}
