//! A whole coding task through the real binary: read, search, patch, run the tests, commit.

use serde_json::json;

use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;

#[test]
fn a_bug_is_found_mended_tested_and_committed() {
    let home = Home::new();
    let repo = Repo::at(&home.path().join("project"));
    repo.file("add.sh", "add() {\n    echo $(($1 - $2))\n}\n")
        .file(
            "test.sh",
            ". ./add.sh\n[ \"$(add 2 3)\" = 5 ] && echo passed || { echo failed; exit 1; }\n",
        )
        .commit("Begin");
    let server = Server::answering(|_, n| match n {
        0 => Answer::sse(openai::calls(&[
            ("1", "tree", json!({})),
            ("2", "code_grep", json!({"pattern": "add\\(\\)"})),
            ("3", "run_command", json!({"command": "sh test.sh"})),
        ])),
        1 => Answer::sse(openai::call("4", "read_file", json!({"path": "add.sh"}))),
        2 => Answer::sse(openai::call(
            "5",
            "apply_patch",
            json!(
                "*** Begin Patch\n*** Update File: add.sh\n@@ add() {\n-    echo $(($1 - $2))\n+    echo $(($1 + $2))\n*** End Patch"
            ),
        )),
        3 => Answer::sse(openai::call(
            "6",
            "run_command",
            json!({"command": "sh test.sh"}),
        )),
        4 => Answer::sse(openai::call(
            "7",
            "git_commit",
            json!({"message": "Add instead of subtracting"}),
        )),
        _ => Answer::sse(openai::text(&["Mended."])),
    });
    let done = home
        .ask(&server.url("/v1"), "the sum is wrong")
        .arg("--working-dir")
        .arg(repo.path())
        .run()
        .expect(0);
    assert!(done.text().ends_with("Mended.\n"));
    let result = |request: usize, id: &str| {
        let messages = server.request(request).json()["messages"].clone();
        messages
            .as_array()
            .unwrap()
            .iter()
            .find(|m| m["tool_call_id"] == id)
            .unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(result(1, "1").contains("add.sh") && result(1, "2").contains("> add.sh:1: add() {"));
    assert!(result(1, "3").contains("failed") && result(1, "3").contains("exit code: 1"));
    assert!(result(2, "4").contains("2.     echo $(($1 - $2))"));
    assert!(result(3, "5").contains("M add.sh"));
    assert!(result(4, "6").contains("passed"));
    assert!(
        repo.git(&["log", "--format=%s"])
            .starts_with("Add instead of subtracting")
    );
    assert!(
        repo.git(&["status", "--porcelain", "--untracked-files=no"])
            .trim()
            .is_empty()
    );
}
