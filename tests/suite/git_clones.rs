//! Clones for reading: several at once, empty ones, and what a refusal inside one is about.

use std::fs;
use std::process::Command;

use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::Marvin;
use crate::support::words::TextAssertions;

/// A home with a hub of repositories: `ann/demo` with a file, `ann/empty` without a commit.
fn hub() -> (Home, String) {
    let home = Home::new();
    let demo = Repo::at(&home.path().join("hub/ann/demo.git"));
    demo.file("a.txt", "one\n")
        .file("b.bin", b"\0\0")
        .commit("start");
    let empty = home.path().join("hub/ann/empty.git");
    fs::create_dir_all(&empty).unwrap();
    let made = Command::new("git")
        .args(["init", "--quiet", "--bare", "--initial-branch=main"])
        .arg(&empty)
        .output()
        .unwrap();
    assert!(made.status.success());
    let base = format!("file://{}", home.path().join("hub").display());
    (home, base)
}

fn tool(home: &Home, base: &str, args: &[&str]) -> Marvin {
    home.marvin()
        .env("MARVIN_URL_GITHUB", base)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args([&["tool"], args].concat())
}

#[test]
fn of_concurrent_clones_one_wins_and_the_others_report_it() {
    let (home, base) = hub();
    for _ in 0..3 {
        let runs: Vec<_> = (0..4)
            .map(|_| tool(&home, &base, &["github_clone", "repo=ann/demo"]).spawn())
            .collect();
        let output: Vec<String> = runs
            .into_iter()
            .map(|run| run.wait().expect(0).text().to_owned())
            .collect();
        let won = output
            .iter()
            .filter(|output| output.starts_with("Cloned ann/demo to"))
            .count();
        let there = output
            .iter()
            .filter(|output| output.contains("already present"))
            .count();
        assert_eq!((won, there), (1, 3), "{output:#?}");
        let names: Vec<_> = fs::read_dir(home.path().join("github-clones/ann"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["demo"]);
        assert_eq!(home.read("github-clones/ann/demo/a.txt"), "one\n");
        fs::remove_dir_all(home.path().join("github-clones")).unwrap();
    }
}

#[test]
fn a_clone_of_an_empty_repository_says_that_it_is_empty() {
    let (home, base) = hub();
    for text in ["no commits yet", "empty repository"] {
        let output = tool(&home, &base, &["github_clone", "repo=ann/empty"])
            .run()
            .expect(0);
        assert!(output.text().contains(text), "{}", output.text());
    }
    // However the user keeps references, the branch has its name.
    home.write(".gitconfig", "[init]\n\tdefaultRefFormat = reftable\n");
    tool(&home, &base, &["github_clone", "repo=ann/demo"]).prints(&["branch main"]);
}

#[test]
fn a_refusal_inside_a_clone_names_the_clone() {
    let (home, base) = hub();
    tool(&home, &base, &["github_clone", "repo=ann/demo"])
        .run()
        .expect(0);
    for path in ["../x", "/etc/passwd", "nowhere.txt", "a.txt/x", "b.bin"] {
        let path = format!("path={path}");
        let output = tool(&home, &base, &["github_read_file", "repo=ann/demo", &path])
            .run()
            .expect(1);
        let text = output.errors();
        text.assert_has_for(&path, &["ann/demo"]);
        text.assert_lacks_for(&path, &["working directory"]);
    }
    let args = [
        "github_read_file",
        "repo=ann/demo",
        "path=a.txt",
        "start=9",
        "end=2",
    ];
    tool(&home, &base, &args).fails(&["ann/demo"]);
}
