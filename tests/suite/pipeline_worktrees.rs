//! Runs of the pipeline in worktrees of their own, with the real binary: the user goes on working beside them, finds them by their status, merges and removes
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::pipeline_run::{TASK, is_installed, pipeline, unprompted};
use crate::support::conversation::says;
use crate::support::cost::Cost;
use crate::support::engineer::{self, Asked, PYTHON, Role};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Server};
use crate::support::wait::until_within;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(90);
/// The name that the task of [`pipeline`] gives a worktree.
const NAME: &str = "a-program-that-counts-the-words-of-a";

/// A repository with a commit in a folder whose name is not plain, and what the user has begun in it.
fn project(home: &Home) -> Repo {
    let repo = Repo::at(&home.path().join("my wörk"));
    repo.file("notes.txt", "of the user\n")
        .file(".git/info/exclude", "__pycache__/\nnode_modules/\n")
        .commit("first");
    repo.file("notes.txt", "begun\n")
        .file("draft.txt", "draft\n")
        .file("node_modules/x/index.js", "x\n");
    repo.file("staged.txt", "staged\n")
        .git(&["add", "staged.txt"]);
    repo
}

/// `marvin pipeline …` in the repository.
fn command(home: &Home, repo: &Repo, words: &[&str]) -> Marvin {
    let run = home.marvin().dir(repo.path()).arg("pipeline");
    run.args(words.iter().copied())
}

fn said(home: &Home, repo: &Repo, words: &[&str]) -> String {
    command(home, repo, words).run().expect(0).text().to_owned()
}

/// Every file of the user, and what git says of them.
fn whole(repo: &Repo) -> (BTreeMap<PathBuf, Vec<u8>>, Vec<String>) {
    fn read(dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with(".git") {
                read(&path, files);
            } else if path.is_file() {
                files.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    read(repo.path(), &mut files);
    let git = [
        &["status", "--porcelain", "--ignored"][..],
        &["rev-parse", "HEAD"],
        &["symbolic-ref", "HEAD"],
        &["ls-files", "--stage"],
    ];
    (files, git.map(|words| repo.git(words)).to_vec())
}

/// The worktree `name` of the only repository.
fn worktree(home: &Home, name: &str) -> PathBuf {
    let above = home.path().join(".local/share/marvin/worktrees");
    let repository = fs::read_dir(above).unwrap().next().unwrap().unwrap();
    only(&repository.path().join(name))
}

fn only(dir: &Path) -> PathBuf {
    let entries = fs::read_dir(dir).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(paths.len(), 1, "{paths:?}");
    paths.pop().unwrap()
}

/// Starts a run and kills it as soon as it has come to `role`.
fn killed_at(run: Marvin, asked: &Asked, role: Role) {
    let mut run = run.spawn();
    until_within(LONG, &format!("{role:?} begins"), || asked.begun(role) > 0);
    run.signal(Signal::KILL);
    assert!(run.ends_within(LONG));
}

fn status(home: &Home, repo: &Repo) -> Value {
    serde_json::from_str(&said(home, repo, &["status", "--json"])).unwrap()
}

fn ended(done: &Done, code: i32) -> (String, String) {
    let (errors, summary) = (done.errors(), done.text().to_owned());
    assert_eq!(done.code(), Some(code), "{errors}\n{summary}");
    (errors, summary)
}

/// A model that builds the program, and the whole prompts of the writers of specifications.
fn model() -> (Server, Arc<Asked>, Arc<Mutex<Vec<String>>>) {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&prompts);
    let (server, asked) = engineer::server_with(&PYTHON, move |request, role, step| {
        if role == Role::SpecWriter && step == 0 {
            seen.lock().unwrap().push(request.json().to_string());
        }
        None
    });
    (server, asked, prompts)
}

#[test]
fn a_killed_feature_goes_on_in_its_worktree_by_its_name_until_it_is_merged() {
    if !is_installed("python3") {
        return;
    }
    let home = Home::new();
    let (server, asked, prompts) = model();
    let repo = project(&home);
    let before = whole(&repo);
    let feature = |run: Marvin| run.args(["--feature", "count"]);
    let begin = || feature(pipeline(&home, &server, repo.path()));
    // By its name alone it goes on, with the task that it was begun with.
    let go_on = || feature(unprompted(&home, &server, repo.path()));
    killed_at(begin(), &asked, Role::DesignWriter);
    let tree = worktree(&home, "001-count");
    assert_eq!(tree.file_name(), repo.path().file_name());
    said(&home, &repo, &["worktrees"]).assert_has(&[
        "001-count: stopped\n  branch marvin/001-count, ",
        " not merged",
        tree.to_str().unwrap(),
    ]);
    let stopped = command(&home, &repo, &["merge", "count"]).run();
    ended(&stopped, 1).0.assert_has(&["is not done", "--force"]);
    said(&home, &repo, &["status"]).assert_has(&[
        "Dead: its process is gone",
        &format!("Folder: {}\nBranch: marvin/001-count\n", tree.display()),
    ]);
    said(&home, &repo, &["status", "--feature", "count"])
        .assert_has(&["Dead: its process is gone", "Feature: 001-count\n"]);
    let plan = ["plan", "--feature", "count", "--provider", "ollama"];
    said(&home, &repo, &plan).assert_has(&[
        "Task: A program that counts the words of a file.",
        "specification and user experience: done\n  1a_review  review of both: done\n",
    ]);
    said(&home, &repo, &["log"]).assert_has(&["==> design-writer"]);
    // Another task under its name would mix two programs, and in the folder itself it would begin again.
    let elsewhere = [
        "The feature 001-count was begun in a worktree",
        "The same command without --in-place and --branch goes on there.",
    ];
    let another = [
        "The feature 001-count is for another task",
        "--feature NAME",
    ];
    for (flags, words) in [
        (&["--prompt", "Something else"][..], another),
        (&["--in-place"], elsewhere),
        (&["--branch", "own"], elsewhere),
    ] {
        let refused = go_on().args(flags.iter().copied()).run();
        ended(&refused, 1).0.assert_has(&words);
    }
    // The user goes on, and commits.
    repo.file("more.txt", "more\n");
    repo.git(&["add", "more.txt"]);
    repo.git(&["commit", "--quiet", "-m", "of the user", "more.txt"]);
    killed_at(begin(), &asked, Role::Implementer);
    repo.file("wordcount.py", "# of the user\n");
    killed_at(go_on(), &asked, Role::SmokeTester);
    fs::remove_file(repo.path().join("wordcount.py")).unwrap();
    let between = whole(&repo);
    let (errors, summary) = ended(&go_on().run(), 0);
    assert_eq!(
        asked.begun(Role::SpecWriter),
        1,
        "what is done is not done again"
    );
    errors.assert_has(&[&format!("Goes on in {}", tree.display())]);
    // Once more it has nothing to do, and knows how its tests ended.
    let again = ended(&go_on().run(), 0).1;
    again.assert_has(&["The pipeline is done", "Tests: passed."]);
    let known = status(&home, &repo);
    assert!(known["tests"]["passed"].as_bool().unwrap(), "{known}");
    let merge = "marvin pipeline merge 001-count";
    let there = format!("--working-dir '{}'", repo.path().display());
    summary.assert_has(&[
        &format!("Branch: marvin/001-count\nWorktree: {}\n", tree.display()),
        &format!("Next: Merge it as one commit: {merge} {there}\n"),
        &format!("Next: Or with all of its commits: {merge} --all {there}\n"),
        "specs/001-count/spec.md",
    ]);
    let state = fs::read_to_string(tree.join("specs/001-count/pipeline_state")).unwrap();
    assert_eq!(state, "5");
    for file in ["spec.md", "pipeline_state"] {
        assert!(!tree.join(".marvin").join(file).exists(), "{file}");
    }
    let report = ["report", "--feature", "count", "--json"];
    let report: Value = serde_json::from_str(&said(&home, &repo, &report)).unwrap();
    assert!(report["done"].as_bool().unwrap(), "{report}");
    assert!(
        !report["findings"].as_array().unwrap().is_empty(),
        "{report}"
    );
    assert_eq!(whole(&repo), between);
    assert_eq!(before.1[2], between.1[2]);
    let made = repo.git(&["log", "--name-only", "--format=", "main..marvin/001-count"]);
    made.assert_lacks(&[
        "draft.txt",
        "staged.txt",
        "node_modules",
        "notes.txt",
        "logs/",
    ]);
    // git's own error is no mistake in the words.
    let lock = repo.path().join(".git/refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let refused = ended(&command(&home, &repo, &["merge", "count"]).run(), 1).0;
    refused.assert_has(&["main.lock"]);
    refused.assert_lacks(&["If it is a prompt"]);
    fs::remove_file(lock).unwrap();
    said(&home, &repo, &["merge", "count", "--squash"]).assert_has(&[
        "is in main now, as one commit ",
        "is kept with the single steps",
    ]);
    let message = repo.git(&["log", "-1", "--format=%B"]);
    message.assert_has(&[
        "A program that counts the words of a file.\n\n",
        "It prints the number and nothing else.",
        "Phases done: 1a, ",
        "Tests: passed.",
        "Cost: ",
        "Ticket: ",
        "Steps: ",
    ]);
    assert_eq!(
        repo.git(&["log", "--format=%s", "-n2", "--skip=1"]),
        "of the user\nfirst"
    );
    assert_eq!(
        repo.git(&["status", "--porcelain"]),
        "M notes.txt\nA  staged.txt\n?? draft.txt"
    );
    assert!(repo.read("wordcount.py").contains("def count"));
    let tests = repo.read("specs/001-count/tests.md");
    tests.assert_has(&["- `test_program.py`\n", "- `test_wordcount.py`\n"]);
    tests.assert_lacks(&["spec.md", "wordcount.py`\n- `wordcount"]);
    assert!(!tree.exists());
    said(&home, &repo, &["worktrees"]).assert_has(&["No run and no review"]);
    // It is known here from now on, and the same command finds nothing left to do.
    said(&home, &repo, &["status"]).assert_has(&["Done.", "Feature: 001-count\n"]);
    let requests = asked.requests();
    let again = ended(&go_on().run(), 0).1;
    again.assert_has(&["The pipeline is done"]);
    assert_eq!(asked.requests(), requests);
    // The next one reads what it has written.
    let next = unprompted(&home, &server, repo.path())
        .args(["--feature", "lines", "--prompt", "Count lines, too."])
        .args(["--until", "1a"]);
    let (_, summary) = ended(&next.run(), 0);
    // The user reads in their own folder, where the document is not.
    let document = worktree(&home, "002-lines").join("specs/002-lines/spec.md");
    summary.assert_has(&[&format!("Read: {}", document.display()), "--feature lines"]);
    let prompts = prompts.lock().unwrap();
    assert_eq!(prompts.len(), 2);
    prompts[0].assert_lacks(&["Upstream documents"]);
    prompts[1].assert_has(&[
        "## Upstream documents",
        "specs/001-count/spec.md\\nspecs/001-count/ux.md\\nspecs/001-count/design.md\\nspecs/001-count/tests.md",
        "specification of the task to `specs/002-lines/spec.md`",
    ]);
}

/// A server whose specification is never finished.
fn hanging() -> Server {
    Server::answering(|_, _| Answer::silence()).lenient()
}

#[test]
fn a_run_that_works_is_found_and_neither_merged_nor_removed() {
    let home = Home::new();
    let server = hanging();
    let repo = project(&home);
    let before = whole(&repo);
    let mut run = pipeline(&home, &server, repo.path()).spawn();
    server.wait_requests(1, LONG);
    let found = status(&home, &repo);
    assert_eq!(found["state"], "running");
    assert_eq!(found["folder"], worktree(&home, NAME).to_str().unwrap());
    for words in [
        &["merge", "--force"][..],
        &["worktrees", "--remove", NAME, "--force"],
    ] {
        let done = command(&home, &repo, words).run();
        ended(&done, 1)
            .0
            .assert_has(&[&format!("{NAME} is at work (process {})", run.pid())]);
    }
    // The same command does not begin a second one, and another task has its own place.
    let second = pipeline(&home, &server, repo.path()).run();
    ended(&second, 1)
        .0
        .assert_has(&["A pipeline is running in this directory already"]);
    let mut other = home
        .marvin()
        .line("--design-first --provider openai-compat --model all=m --prompt Other --working-dir")
        .arg(repo.path())
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "k")
        .spawn();
    server.wait_requests(2, LONG);
    let both = status(&home, &repo);
    assert_eq!(both["others"][0]["state"], "running");
    assert_eq!(both["others"].as_array().unwrap().len(), 1);
    let text = said(&home, &repo, &["status"]);
    text.assert_has(&[
        "Branch: marvin/other\n",
        &format!("Branch: marvin/{NAME}\n"),
    ]);
    for run in [&mut run, &mut other] {
        run.signal(Signal::TERM);
        assert!(run.ends_within(LONG));
    }
    assert_eq!(whole(&repo), before);
    // A plan for a task is that of its run, wherever that works.
    let tree = worktree(&home, NAME);
    for name in ["spec.md", "ux.md"] {
        fs::write(
            tree.join(".marvin").join(name),
            "A line of it.\n".repeat(100),
        )
        .unwrap();
    }
    fs::write(tree.join(".marvin/pipeline_state"), "1a").unwrap();
    let plan = || command(&home, &repo, &["plan", "--provider", "ollama"]);
    let begun = plan().args(["--prompt", TASK]).run().expect(0);
    begun.stdout_has(&["experience: done\n", "  1a_review  review of both: to do"]);
    assert_eq!(
        plan().stdin(format!("{TASK}\r\n")).run().expect(0).text(),
        begun.text()
    );
    let other = plan().args(["--prompt", "Other"]).run().expect(0);
    other.stdout_has(&["Task: Other", "experience: to do"]);
    let kept = command(&home, &repo, &["worktrees", "--remove", "other"]).run();
    ended(&kept, 1).0.assert_has(&["would be lost"]);
    said(&home, &repo, &["worktrees", "--remove", "other", "--force"]);
    said(&home, &repo, &["worktrees"]).assert_lacks(&["other"]);
    fs::remove_dir_all(&tree).unwrap();
    let gone = plan().args(["--prompt", TASK]).run().expect(0);
    gone.stdout_has(&[&format!("goes on from its branch marvin/{NAME}")]);
}

#[test]
fn what_a_first_start_has_done_outlives_its_folder_and_its_records() {
    for lost in ["", ".marvin/logs"] {
        let home = Home::new();
        let (server, asked) = engineer::server_with(&PYTHON, |_, role, _| {
            (role == Role::FirstReviewer).then(Answer::silence)
        });
        let repo = project(&home);
        let run = pipeline(&home, &server, repo.path()).spawn();
        until_within(LONG, "the first phase is done", || {
            asked.begun(Role::FirstReviewer) > 0
        });
        let tree = worktree(&home, NAME);
        fs::write(tree.join("own.txt"), "of the user\n").unwrap();
        // Its children may be writing there.
        until_within(LONG, "it is removed", || {
            fs::remove_dir_all(tree.join(lost)).is_ok()
        });
        run.signal(Signal::TERM);
        run.wait().errors().assert_lacks(&["Removed the worktree"]);
        let made = repo.git(&["log", "--format=%s", &format!("main..marvin/{NAME}")]);
        made.assert_has(&["1a: specification"]);
        assert_eq!(tree.join("own.txt").exists(), !lost.is_empty());
        let _ = fs::remove_file(tree.join("own.txt"));
        let again = pipeline(&home, &server, repo.path()).args(["--until", "1a"]);
        ended(&again.run(), 0);
        assert_eq!(asked.begun(Role::SpecWriter), 1, "{lost:?}");
    }
}

#[test]
fn a_child_resolves_a_conflict_in_the_worktree_and_the_merge_goes_on() {
    let home = Home::new();
    let mergers = Arc::new(AtomicUsize::new(0));
    let begun = Arc::clone(&mergers);
    let (server, asked) = engineer::server_with(&PYTHON, move |request, _, step| {
        let is_merger = request.text().contains("have conflict markers");
        let resolve = "grep -q '<<<<<<<' .marvin/spec.md && printf 'Both.\\n' > .marvin/spec.md";
        is_merger.then(|| match step {
            // The first two are stopped at their work.
            0 if begun.fetch_add(1, Ordering::SeqCst) < 2 => Answer::silence(),
            0 => Answer::sse(openai::call("", "run_command", json!({"command": resolve}))),
            _ => says("I kept both."),
        })
    });
    let repo = Repo::at(&home.path().join("in"));
    repo.file("notes.txt", "x\n").commit("first");
    // It stops in the middle, with everything committed.
    let run = pipeline(&home, &server, repo.path()).args(["--max-cost", "0.0002"]);
    ended(&run.run(), 1).0.assert_has(&["higher --max-cost"]);
    assert_eq!(asked.begun(Role::SpecWriter), 1);
    repo.file(".marvin/spec.md", "Of the user.\n")
        .commit("theirs");
    let before = whole(&repo);
    let refused = command(&home, &repo, &["merge", "--force"]).run();
    ended(&refused, 1).0.assert_has(&[
        "1 file. Nothing was merged",
        ".marvin/spec.md",
        "--resolve",
    ]);
    let with_model = || {
        let line =
            "pipeline merge --force --resolve --provider openai-compat --model all=test-model";
        let command = home.marvin().dir(repo.path()).line(line);
        command
            .env("OPENAI_COMPAT_URL", server.url("/v1"))
            .env("OPENAI_COMPAT_API_KEY", "test-key")
    };
    let tree = worktree(&home, NAME);
    let is_begun = || {
        let head = Command::new("git")
            .args(["rev-parse", "--quiet", "--verify", "MERGE_HEAD"])
            .current_dir(&tree)
            .output();
        head.unwrap().status.success()
    };
    for (signal, status) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let before = mergers.load(Ordering::SeqCst);
        let resolving = with_model().spawn();
        until_within(LONG, "a child resolves", || {
            mergers.load(Ordering::SeqCst) > before
        });
        assert!(is_begun());
        resolving.signal(signal);
        let done = resolving.wait();
        assert_eq!(done.code(), status, "{}", done.errors());
        assert_eq!(is_begun(), status.is_none(), "{signal:?}");
        // It says what it cost, however it ends.
        let last = done.errors().lines().last().unwrap_or_default().to_owned();
        assert_eq!(last.starts_with("MARVIN_COST:"), status.is_some(), "{last}");
    }
    // Nobody is told to commit the marks of the conflict.
    let left = ended(&command(&home, &repo, &["merge", "--force"]).run(), 1).0;
    left.assert_has(&["A merge is begun in ", "and not finished.", "merge --abort"]);
    left.assert_lacks(&["Commit them there"]);
    let give_up = left
        .lines()
        .find_map(|line| line.split_once("give it up: "));
    let git = Command::new("sh").args(["-c", give_up.unwrap().1]).status();
    assert!(git.unwrap().success());
    let logs = tree.join(".marvin/logs");
    let account = || -> f64 {
        let lines = fs::read_to_string(logs.join("pipeline-cost")).unwrap();
        lines.lines().last().unwrap().parse().unwrap()
    };
    let spent = account();
    let said_of = ended(&with_model().run(), 0);
    let cost = Cost::last_line(&said_of.0).session_cost;
    assert!(cost > 0.0, "{}", said_of.0);
    assert!((account() - spent - cost).abs() < 0.000_01);
    let events = fs::read_to_string(logs.join("pipeline-events.jsonl")).unwrap();
    events.assert_has(&["\"label\":\"merger\""]);
    said_of.1.assert_has(&[
        &format!("main is merged into marvin/{NAME}; 1 file had conflicts.\nTests: "),
        "marvin pipeline merge",
    ]);
    assert_eq!(whole(&repo), before);
    said(&home, &repo, &["merge", "--all", "--force"]);
    assert_eq!(repo.read(".marvin/spec.md"), "Both.\n");
    let subjects = repo.git(&["log", "--format=%s"]);
    subjects.assert_has(&[&format!("Merge marvin/{NAME}\n"), "theirs", "first"]);
    assert_eq!(repo.git(&["branch", "--list", "marvin/*"]), "");
}

#[test]
fn in_place_it_works_as_it_always_did() {
    let home = Home::new();
    let server = Server::always(says("I cannot.")).lenient();
    let repo = Repo::at(&home.path().join("in"));
    repo.file("notes.txt", "x\n").commit("first");
    for flags in [
        &["--in-place"][..],
        &["--allow-dirty"],
        &["--branch", "words"],
    ] {
        let done = pipeline(&home, &server, repo.path())
            .args(flags.iter().copied())
            .run();
        ended(&done, 1).1.assert_lacks(&["Worktree:"]);
    }
    assert!(!home.has(".local/share/marvin/worktrees"));
    assert_eq!(repo.git(&["branch", "--show-current"]), "words");
    // A run that was begun here goes on here.
    ended(&pipeline(&home, &server, repo.path()).run(), 1);
    assert!(!home.has(".local/share/marvin/worktrees"));
}

#[test]
fn words_that_make_no_sense_are_told() {
    let home = Home::new();
    let repo = Repo::at(&home.path().join("in"));
    repo.file("notes.txt", "x\n").commit("first");
    for (words, expected) in [
        (
            &["merge", "--remove"][..],
            "There is no flag \"--remove\" here",
        ),
        (&["merge", "a", "b"], "\"b\" is one word too many"),
        (&["worktrees", "x"], "\"x\" is one word too many"),
        (&["worktrees", "--remove"], "--remove needs a value"),
        (
            &["worktrees", "--remove", "x"],
            "No run of the pipeline has a worktree",
        ),
        (&["merge"], "No run of the pipeline has a worktree"),
        (&["mrege"], "Did you mean \"merge\"?"),
    ] {
        let done = command(&home, &repo, words).run();
        ended(&done, 1).0.assert_has(&[expected]);
    }
    let outside = home.marvin().args(["pipeline", "worktrees"]).run();
    ended(&outside, 1)
        .0
        .assert_has(&["is not in a git repository"]);
}
