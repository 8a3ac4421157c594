//! A whole coding task: a clone of a repository, a scripted model that reads, searches, patches, runs the tests and commits.

use std::process::Command;

use serde_json::{Value, json};

use super::agents::results;
use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// A small project with a bug and a test that shows it.
fn fixture() -> Repo {
    let repo = Repo::new();
    repo.file("src/sum.sh", "# Adds two numbers.\nsum() {\n    echo $(($1 - $2))\n}\n")
        .file("README.md", "# Sums\n\nsh test.sh runs the tests.\n")
        .file(
            "test.sh",
            ". ./src/sum.sh\n[ \"$(sum 2 3)\" = 5 ] || { echo \"sum 2 3 is $(sum 2 3), not 5\"; exit 1; }\necho passed\n",
        )
        .commit("A project with a bug");
    repo
}

#[test]
fn a_bug_is_found_fixed_tested_and_committed() {
    let origin = fixture();
    let home = Home::new();
    let clone = home.work().join("sums");
    let cloned = Command::new("git")
        .args(["clone", "--quiet"])
        .args([origin.path(), &clone])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status()
        .unwrap();
    assert!(cloned.success());
    let rounds: Vec<Vec<(&str, &str, Value)>> = vec![
        vec![
            ("c1", "tree", json!({})),
            ("c2", "read_file", json!({"path": "README.md"})),
            ("c3", "code_grep", json!({"pattern": "sum\\(\\)"})),
        ],
        vec![("c4", "run_command", json!({"command": "sh test.sh"}))],
        vec![("c5", "read_file", json!({"path": "src/sum.sh"}))],
        vec![
            // A first attempt that fails must not end anything.
            (
                "c6",
                "apply_patch",
                json!({"path": "src/sum.sh", "old_str": "$1 * $2", "new_str": "$1 + $2"}),
            ),
        ],
        vec![
            (
                "c7",
                "apply_patch",
                json!({"path": "src/sum.sh", "old_str": "$1 - $2", "new_str": "$1 + $2"}),
            ),
            ("c8", "run_command", json!({"command": "sh test.sh"})),
        ],
        vec![("c9", "git_diff", json!({}))],
        vec![
            (
                "c10",
                "git_commit",
                json!({"message": "Add where it subtracted"}),
            ),
            ("c11", "git_log", json!({})),
        ],
    ];
    let count = rounds.len();
    let server =
        Server::with([Exchange::post("/chat/completions")
            .times(count + 1)
            .by(move |_, n| match rounds.get(n) {
                Some(calls) => Answer::sse(openai::calls(calls)),
                None => Answer::sse(openai::text(&["It adds ", "now."])),
            })]);
    let log = home.path().join("tools.jsonl");
    let result = home
        .ask(&server.url("/v1"), "The sum is wrong; mend it and commit.")
        .dir(&clone)
        .env("MARVIN_SUBAGENT_LOG", &log)
        .run()
        .expect(0);
    assert!(
        result.text().trim_end().ends_with("It adds now."),
        "{}",
        result.text()
    );
    result.cost();

    let last = results(&server.request(count));
    let message = |id: &str| {
        let found = last.iter().find(|(call, _)| call == id);
        found
            .map(|(_, text)| text.as_str())
            .unwrap_or_else(|| panic!("no result for {id}"))
    };
    assert_eq!(last.len(), 11);
    assert!(message("c1").contains("sum.sh") && message("c2").contains("1. # Sums"));
    message("c3").assert_has(&["src/sum.sh:2: sum() {"]);
    message("c4").assert_has(&["not 5", "exit code: 1"]);
    message("c6").assert_has(&["src/sum.sh"]);
    message("c7").assert_has(&["Patched src/sum.sh"]);
    message("c8").assert_has(&["passed", "exit code: 0"]);
    message("c9").assert_has(&["+    echo $(($1 + $2))"]);
    message("c11").assert_has(&["Add where it subtracted"]);

    let clone = std::fs::canonicalize(clone).unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .current_dir(&clone)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(
        git(&["log", "--format=%s"]),
        "Add where it subtracted\nA project with a bug"
    );
    assert_eq!(
        git(&["show", "--format=", "--name-only", "HEAD"]),
        "src/sum.sh"
    );
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(
        std::fs::read_to_string(clone.join("src/sum.sh")).unwrap(),
        "# Adds two numbers.\nsum() {\n    echo $(($1 + $2))\n}\n"
    );
    assert_eq!(origin.git(&["log", "--format=%s"]), "A project with a bug");
    let logged = std::fs::read_to_string(log).unwrap();
    let tools: Vec<String> = logged
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["tool"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(tools.len(), 11, "{logged}");
    assert_eq!(server.connections(), 1, "one connection for the whole task");
}

#[test]
fn a_read_only_process_reviews_the_same_project_without_touching_it() {
    let repo = fixture();
    let home = Home::new();
    let server = Server::with([
        Exchange::post("/chat/completions").answer(Answer::sse(openai::calls(&[
            ("c1", "read_file", json!({"path": "src/sum.sh"})),
            (
                "c2",
                "apply_patch",
                json!({"path": "src/sum.sh", "old_str": "-", "new_str": "+"}),
            ),
            ("c3", "run_command", json!({"command": "echo x > new.txt"})),
            ("c4", "git_commit", json!({"message": "no"})),
        ]))),
        Exchange::post("/chat/completions").answer(says("Seen.")),
    ]);
    home.ask(&server.url("/v1"), "Review this.")
        .dir(repo.path())
        .env("MARVIN_READONLY", "1")
        .run()
        .expect(0);
    let offered = String::from_utf8_lossy(&server.request(0).body).into_owned();
    for name in [
        "create_file",
        "append_file",
        "apply_patch",
        "git_commit",
        "git_checkout",
        "run_command",
    ] {
        assert!(
            !offered.contains(&format!("\"name\":\"{name}\"")),
            "{name} is offered"
        );
    }
    let output = results(&server.request(1));
    output[0].1.assert_has(&["sum()"]);
    for (id, text) in &output[1..] {
        assert!(text.contains("MARVIN_READONLY"), "{id}: {text}");
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}
