//! Repositories of GitHub: cloned and read behind a fence, and searched with the real gh.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::downloads::{files, tool};
use crate::support::home::Home;
use crate::support::run::program;
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::words::{TextAssertions, unfenced};

/// A bare repository with one commit at `base/ann/demo.git`.
fn origin(home: &Home) -> String {
    let work = home.path().join("origin-work");
    fs::create_dir_all(work.join("src")).unwrap();
    fs::write(work.join("README.md"), "# Demo\n\nfn in words\n").unwrap();
    fs::write(work.join("src/main.rs"), "fn main() {}\nfn other() {}\n").unwrap();
    fs::write(work.join("big.txt"), "0123456789\n".repeat(60_000)).unwrap();
    fs::write(work.join(".gitattributes"), "*.md filter=evil diff=evil\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", work.join("out.txt")).unwrap();
    let git = |args: &[&str], dir: &Path| {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args)
            .current_dir(dir)
            .env("HOME", home.path())
            .env_remove("GIT_DIR")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    git(&["init", "-q"], &work);
    git(&["add", "-A"], &work);
    git(&["commit", "-qm", "one"], &work);
    git(&["commit", "-q", "--allow-empty", "-m", "two"], &work);
    let base = home.path().join("hub");
    fs::create_dir_all(base.join("ann")).unwrap();
    git(
        &[
            "clone",
            "-q",
            "--bare",
            ".",
            &base.join("ann/demo.git").to_string_lossy(),
        ],
        &work,
    );
    format!("file://{}", base.display())
}

#[test]
fn a_repository_is_cloned_once_and_read_behind_a_fence() {
    let home = Home::new();
    let base = origin(&home);
    // Hooks of the user's template and their filters must not run in other people's repositories.
    let trace = home.path().join("ran");
    home.program(
        "template/hooks/post-checkout",
        format!("#!/bin/sh\ntouch {}\n", trace.display()),
    );
    home.write(
        ".gitconfig",
        format!(
            "[init]\n\ttemplateDir = {}\n",
            home.path().join("template").display()
        ),
    );
    let run = |name: &str, args: &[&str]| {
        tool(&home, name, args)
            .env("MARVIN_URL_GITHUB", &base)
            .env("GIT_DIR", "/nowhere")
    };
    run("github_read_file", &["repo=ann/demo", "path=README.md"])
        .fails(&["not cloned", "github_clone"]);
    let output = run("github_clone", &["repo=https://github.com/ann/demo.git"])
        .run()
        .expect(0);
    let dest = home.path().join("github-clones/ann/demo");
    output
        .text()
        .assert_has(&[&dest.display().to_string(), "branch main"]);
    assert!(!trace.exists(), "a hook ran");
    assert!(dest.join(".git/shallow").is_file());
    run("github_clone", &["repo=ann/demo"]).prints(&["already present"]);
    let read = |args: &[&str]| run("github_read_file", &[&["repo=ann/demo"], args].concat());
    let output = read(&["path=src/main.rs"]).run().expect(0);
    assert_eq!(
        unfenced(output.text()).trim(),
        "ann/demo: src/main.rs (27 bytes)\n\n1. fn main() {}\n2. fn other() {}"
    );
    read(&["path=src/main.rs", "start=2", "end=2"]).prints(&["\n2. fn other() {}\n"]);
    read(&["path=src"]).prints(&["main.rs"]);
    read(&["path=."]).prints(&["README.md"]);
    read(&["path=big.txt"]).fails(&["660,000 bytes", "ranges"]);
    read(&["path=big.txt", "start=59999", "end=60000"]).prints(&["60000. 0123456789"]);
    for path in [
        "out.txt",
        "../../../.gitconfig",
        "/etc/passwd",
        "../demo2/x",
    ] {
        let output = read(&[&format!("path={path}")]).fails(&[]);
        assert!(!output.errors().contains("root:x"), "{path}");
    }
    let output = run("github_grep", &["repo=ann/demo", "pattern=^fn "])
        .run()
        .expect(0);
    assert_eq!(
        unfenced(output.text()).trim(),
        "README.md:3:fn in words\nsrc/main.rs:1:fn main() {}\nsrc/main.rs:2:fn other() {}"
    );
    let output = run(
        "github_grep",
        &[
            "repo=ann/demo",
            "pattern=^fn ",
            "glob_filter=*.rs",
            "max_results=1",
        ],
    )
    .run()
    .expect(0);
    assert!(
        unfenced(output.text()).starts_with("src/main.rs:1:fn main() {}\n[More than"),
        "{}",
        output.text()
    );
    for repo in [
        "../x",
        "a/..",
        "-a/b",
        "ann",
        "https://evil.test/a/b",
        "ext::sh -c id",
    ] {
        run("github_clone", &[&format!("repo={repo}")]).fails(&["not a repository"]);
    }
    run("github_clone", &["repo=ann/nothing"]).fails(&["could not be cloned"]);
    let left: Vec<PathBuf> = fs::read_dir(dest.parent().unwrap())
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(left, [dest]);
    run("github_clone", &["repo=ann/demo", "shallow=false"])
        .env("HOME", home.work())
        .prints(&["with its history"]);
}

#[test]
fn a_clone_that_is_interrupted_leaves_nothing() {
    let home = Home::new();
    let server = Server::always(Answer::silence()).lenient();
    let running = tool(&home, "github_clone", &["repo=ann/demo"])
        .env("MARVIN_URL_GITHUB", server.url(""))
        .spawn();
    server.wait_requests(1, Duration::from_secs(20));
    running.signal(Signal::INT);
    running.wait().stderr_has(&["Cancelled"]);
    assert_eq!(
        files(&home.path().join("github-clones")),
        [] as [PathBuf; 0]
    );
    assert!(!home.has("github-clones/ann"));
}

#[test]
fn github_is_searched_with_the_real_gh() {
    let home = Home::new();
    tool(&home, "github_search", &["query=x"])
        .env("PATH", "/nowhere")
        .fails(&["gh was not found", "Install the package gh"]);
    if program("gh").is_none() {
        return skip("world: gh", "the program is not installed");
    }
    tool(&home, "github_search", &["query=x"]).fails(&["not signed in", "gh auth login"]);
    let server = Server::answering(|request, _| {
        let path = request.path.as_str();
        let query = path
            .split("q=")
            .nth(1)
            .unwrap_or("")
            .split('&')
            .next()
            .unwrap_or("");
        match query {
            "limitme" => Answer::status(403).and_json(
                &serde_json::json!({"message": "API rate limit exceeded for 192.0.2.1."}),
            ),
            "nothing" => Answer::json(&serde_json::json!({"total_count": 0, "items": []})),
            _ if path.contains("/search/users") => Answer::json(
                &serde_json::json!({"items": [{"login": "ann", "type": "User", "html_url": "https://github.com/ann"}]}),
            ),
            _ if path.contains("/search/code") => Answer::json(
                &serde_json::json!({"items": [{"path": "src/x.rs", "html_url": "https://github.com/a/b/x", "repository": {"full_name": "a/b"}}]}),
            ),
            _ => Answer::json(
                &serde_json::json!({"total_count": 1, "items": [{"full_name": "pallets/flask", "html_url": "https://github.com/pallets/flask",
                "description": "The Python micro framework.", "language": "Python", "stargazers_count": 70000, "updated_at": "2026-08-01T00:00:00Z"}]}),
            ),
        }
    });
    let search = |args: &[&str]| {
        tool(&home, "github_search", args)
            .env("GH_HOST", "github.localhost")
            .env("GH_TOKEN", "x")
            .env("HTTP_PROXY", server.url(""))
    };
    let output = search(&["query=flask -label:x", "max_results=2"])
        .run()
        .expect(0);
    for text in [
        "pallets/flask",
        "★ 70,000",
        "Python",
        "https://github.com/pallets/flask",
    ] {
        assert!(
            output.text().contains(text),
            "no {text} in {}",
            output.text()
        );
    }
    server.request(0).path.assert_has(&["-label", "per_page=2"]);
    search(&["query=nothing"]).prints(&["Nothing found"]);
    search(&["query=limitme"]).fails(&["limit of requests"]);
    let output = search(&["query=ann & b", "search_type=users"])
        .run()
        .expect(0);
    assert_eq!(
        unfenced(output.text()).trim(),
        "ann  User  https://github.com/ann"
    );
    assert!(
        server.requests().last().unwrap().path.contains("ann+%26+b")
            || server
                .requests()
                .last()
                .unwrap()
                .path
                .contains("ann%20%26%20b")
    );
    search(&["query=x", "search_type=code"]).prints(&["a/b:src/x.rs"]);
}
