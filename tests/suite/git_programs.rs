//! No program runs and no network request is made, whoever configured it: in submodules, by filters, by the user's own settings.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::home::Home;
use crate::support::repo::{Repo, bait, call, git, ran};
use crate::support::server::{Answer, Server};
use crate::support::words::TextAssertions;

/// A repository whose settings and attributes name the trap program wherever git can be told to run one.
fn armed(path: &Path, bait: &str) -> Repo {
    let repo = Repo::at(path);
    repo.file(".gitattributes", "*.x filter=x diff=x merge=x\n")
        .file("b.x", "one\n")
        .commit("inner");
    for key in "diff.external diff.x.textconv diff.x.command filter.x.clean filter.x.smudge \
        filter.x.process merge.x.driver core.fsmonitor"
        .split_ascii_whitespace()
    {
        repo.git(&["config", key, bait]);
    }
    repo
}

#[test]
fn a_diff_of_submodules_runs_nothing_in_them() {
    for of_the_user in [false, true] {
        let home = Home::new();
        let (bait, mark) = bait(&home);
        let repo = Repo::at(&home.work().join("repo"));
        repo.file("a.txt", "one\n").commit("start");
        let inner = armed(&repo.path().join("sub"), &bait);
        repo.git(&["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
        repo.commit("with a submodule");
        // A new commit and a dirty file, so that there is something to show.
        inner.file("c.x", "new\n");
        inner.git(&[
            "-c",
            "filter.x.process=",
            "-c",
            "filter.x.clean=",
            "-c",
            "core.fsmonitor=",
            "add",
            "-A",
        ]);
        inner.git(&["-c", "core.fsmonitor=", "commit", "--quiet", "-m", "newer"]);
        inner.file("b.x", "two\n");
        let _ = fs::remove_file(&mark);
        if of_the_user {
            home.write(
                ".gitconfig",
                "[diff]\n\tsubmodule = diff\n\tignoreSubmodules = none\n",
            );
        } else {
            repo.git(&["config", "diff.submodule", "diff"]);
            repo.git(&["config", "submodule.sub.ignore", "none"]);
        }
        for (name, args) in [
            ("git_diff", json!({})),
            ("git_diff", json!({"staged": true})),
            ("git_status", json!({})),
            ("git_log", json!({"oneline": false})),
        ] {
            call(&home, &repo, name, &args)
                .env("MARVIN_READONLY", "1")
                .run()
                .expect(0);
            assert_eq!(ran(&mark), "", "{name}, of the user: {of_the_user}");
        }
        git(&home, &repo, "git_diff", json!({}))
            .expect(0)
            .stdout_has(&["+Subproject commit"]);
        git(&home, &repo, "git_commit", json!({"message": "newer"})).expect(0);
        git(&home, &repo, "git_commit", json!({"message": "nothing"})).expect(0);
        assert_eq!(ran(&mark), "", "git_commit, of the user: {of_the_user}");
    }
}

#[test]
fn a_checkout_of_a_branch_with_a_submodule_runs_nothing_in_what_lies_there() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let repo = Repo::at(&home.work().join("repo"));
    repo.file("a.txt", "one\n").commit("start");
    repo.git(&["checkout", "--quiet", "-b", "with"]);
    let inner = armed(&repo.path().join("sub"), &bait);
    repo.git(&["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    repo.git(&["commit", "--quiet", "-m", "with a submodule"]);
    repo.git(&["checkout", "--quiet", "main"]);
    assert!(inner.path().join(".git").exists(), "it was taken away");
    inner.file("b.x", "two\n");
    for target in ["with", "main", "with", "HEAD~1"] {
        let _ = fs::remove_file(&mark);
        let output = git(&home, &repo, "git_checkout", json!({"target": target})).expect(0);
        assert!(output.text().contains(target), "{}", output.text());
        if target == "HEAD~1" {
            output.stdout_has(&["HEAD is now at ", " start"]);
        }
        assert_eq!(ran(&mark), "", "{target}");
    }
    git(
        &home,
        &repo,
        "git_checkout",
        json!({"target": "new", "create_branch": true}),
    )
    .expect(0);
    assert_eq!(ran(&mark), "");
}

#[test]
fn a_folder_that_is_the_repositorys_own_is_no_project() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let repo = Repo::at(&home.work().join("repo"));
    repo.file("a.txt", "one\n").commit("start");
    let flat = home.work().join("flat");
    fs::rename(repo.path().join(".git"), &flat).unwrap();
    fs::write(flat.join("a.txt"), "one\n").unwrap();
    let config = fs::read_to_string(flat.join("config")).unwrap();
    fs::write(
        flat.join("config"),
        format!("{config}[core]\n\tworktree = .\n"),
    )
    .unwrap();
    armed(&flat.join("sub"), &bait);
    for (name, args) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_commit", json!({"message": "x"})),
        ("git_checkout", json!({"target": "main"})),
    ] {
        let output = git(&home, &flat, name, args).expect(1);
        output.errors().assert_has_for(&name, &["core.worktree"]);
    }
    assert_eq!(ran(&mark), "");
}

#[test]
fn programs_of_the_user_do_not_run_either() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    home.write(
        ".gitconfig",
        format!(
            "[user]\n\tname = Ford\n\temail = ford@example.org\n[core]\n\tfsmonitor = {bait}\n\tpager = {bait}\n\teditor = {bait}\n\thooksPath = {hooks}\n\
             [diff]\n\texternal = {bait}\n[diff \"x\"]\n\ttextconv = {bait}\n[pager]\n\tlog = {bait}\n\tstatus = {bait}\n\
             [filter \"x\"]\n\tclean = {bait}\n\tsmudge = {bait}\n\tprocess = {bait}\n\trequired = true\n\
             [commit]\n\tgpgSign = true\n\ttemplate = {bait}\n[gpg]\n\tprogram = {bait}\n[log]\n\tshowSignature = true\n[credential]\n\thelper = {bait}\n",
            hooks = home.path().display()
        ),
    );
    fs::copy(
        home.path().join("bait.sh"),
        home.path().join("post-checkout"),
    )
    .unwrap();
    let repo = Repo::at(&home.work().join("repo"));
    repo.file(".gitattributes", "*.x filter=x diff=x\n")
        .file("a.x", "one\n")
        .commit("start");
    repo.git(&["branch", "other"]);
    repo.git(&["checkout", "--quiet", "other"]);
    repo.file("a.x", "other\n").commit("on other");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["config", "--unset", "user.name"]);
    repo.git(&["config", "--unset", "user.email"]);
    repo.file("a.x", "changed\n").file("b.txt", "new\n");
    git(&home, &repo, "git_status", json!({}))
        .expect(0)
        .stdout_has(&["without their filter", "a.x"]);
    git(&home, &repo, "git_diff", json!({})).expect(0);
    git(&home, &repo, "git_log", json!({})).expect(0);
    git(&home, &repo, "git_blame", json!({"path": "a.x"})).expect(0);
    git(&home, &repo, "git_commit", json!({"message": "one file"}))
        .expect(0)
        .stdout_has(&["Not staged: a.x.", "run_command"]);
    assert_eq!(
        repo.git(&["show", "--format=%an", "--name-only"]),
        "Ford\n\nb.txt"
    );
    git(&home, &repo, "git_checkout", json!({"target": "a.x"}))
        .expect(0)
        .stdout_has(&["Left as stored"]);
    git(&home, &repo, "git_checkout", json!({"target": "other"}))
        .expect(0)
        .stdout_has(&["Left as stored in the repository: a.x"]);
    assert_eq!(repo.read("a.x"), "other\n");
    assert_eq!(ran(&mark), "");
}

#[test]
fn settings_of_any_name_are_overridden() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let repo = Repo::at(&home.work().join("repo"));
    repo.file(
        ".gitattributes",
        "*.x filter=a=b diff=a=b\n*.y filter=\u{e9}\n*.z filter=\u{fffd}\n",
    )
    .file("a.x", "one\n")
    .file("a.y", "one\n")
    .commit("start");
    repo.git(&["branch", "other"]);
    let config = fs::read(repo.path().join(".git/config")).unwrap();
    let odd = format!(
        "[filter \"a=b\"]\n\tclean = {bait}\n\tsmudge = {bait}\n\tprocess = {bait}\n\trequired = true\n[diff \"a=b\"]\n\ttextconv = {bait}\n\
         [filter \"\u{e9}\"]\n\tclean = {bait}\n[unheard \"of\"]\n\tprogram = {bait}\n"
    );
    let bytes = [
        &config[..],
        odd.as_bytes(),
        b"[filter \"\xff\"]\n\tclean = ",
        bait.as_bytes(),
        b"\n",
    ]
    .concat();
    fs::write(repo.path().join(".git/config"), bytes).unwrap();
    fs::write(
        repo.path().join(".git/info/attributes"),
        b"*.z filter=\xff\n",
    )
    .unwrap();
    repo.file("a.x", "two\n")
        .file("a.y", "two\n")
        .file("a.z", "two\n");
    for (name, args) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_commit", json!({"message": "x"})),
        ("git_checkout", json!({"target": "other"})),
        ("git_checkout", json!({"target": "a.x"})),
    ] {
        git(&home, &repo, name, args).expect(0);
    }
    assert_eq!(ran(&mark), "");
}

#[test]
fn settings_that_come_with_the_new_branch_run_nothing() {
    for create in [false, true] {
        let home = Home::new();
        let (bait, mark) = bait(&home);
        let repo = Repo::at(&home.work().join("repo"));
        let filter = format!("[filter \"x\"]\n\tclean = {bait}\n\tsmudge = {bait}\n");
        repo.file("a.x", "one\n")
            .file("tracked.cfg", "")
            .commit("start");
        repo.git(&["checkout", "--quiet", "-b", "evil"]);
        repo.file(".gitattributes", "*.x filter=x\n")
            .file("a.x", "two\n")
            .file("tracked.cfg", &filter)
            .commit("evil");
        repo.git(&["checkout", "--quiet", "main"]);
        let config = repo.read(".git/config");
        let target = if create { "new" } else { "evil" };
        let includes = if create {
            repo.file(".git/branch.cfg", &filter);
            repo.file(".git/info/attributes", "*.x filter=x\n");
            "[includeIf \"onbranch:new\"]\n\tpath = branch.cfg\n"
        } else {
            "[include]\n\tpath = ../tracked.cfg\n"
        };
        repo.file(".git/config", config + includes);
        // Not as it was when the index was written, so that git has to look into it.
        repo.file("a.x", if create { "six\n" } else { "one\n" });
        let args = json!({"target": target, "create_branch": create});
        let output = git(&home, &repo, "git_checkout", args).expect(0);
        assert!(output.text().contains(target), "{}", output.text());
        assert_eq!(ran(&mark), "", "{target}");
        git(&home, &repo, "git_status", json!({})).expect(0);
        assert_eq!(ran(&mark), "", "{target}");
    }
}

#[test]
fn git_lfs_contacts_no_address_and_runs_no_agent_of_the_repository() {
    let installed = std::process::Command::new("git-lfs")
        .arg("version")
        .output();
    if installed.is_err() {
        eprintln!("skipped: git-lfs is not installed");
        return;
    }
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let server = Server::always(Answer::status(500)).lenient();
    home.write(
        ".gitconfig",
        "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n",
    );
    let repo = Repo::at(&home.work().join("repo"));
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    repo.file(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    )
    .file("a.txt", "one\n")
    .commit("start");
    repo.git(&["checkout", "--quiet", "-b", "with"]);
    repo.file(
        ".lfsconfig",
        format!("[lfs]\n\turl = {}\n", server.url("/steal")),
    )
    .file("a.bin", pointer)
    .commit("a large file");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["config", "lfs.url", &server.url("/own")]);
    repo.git(&["config", "lfs.standalonetransferagent", "x"]);
    repo.git(&["config", "lfs.customtransfer.x.path", &bait]);
    repo.git(&["config", "lfs.extension.x.clean", &bait]);
    git(&home, &repo, "git_checkout", json!({"target": "with"}))
        .expect(0)
        .stdout_has(&["Left as stored in the repository: a.bin"]);
    assert_eq!(repo.read("a.bin"), pointer);
    repo.file("a.bin", "a great deal of data\n")
        .file("a.txt", "two\n");
    git(&home, &repo, "git_commit", json!({"message": "changes"}))
        .expect(0)
        .stdout_has(&["Not staged: a.bin"]);
    assert_eq!(repo.git(&["show", "HEAD:a.bin"]), pointer.trim());
    assert_eq!(server.requests().len(), 0);
    assert_eq!(ran(&mark), "");
}

#[test]
fn a_clone_runs_no_filter_of_the_user() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let source = Repo::at(&home.path().join("hub/ann/demo.git"));
    source
        .file(".gitattributes", "*.x filter=x\n")
        .file("a.x", "one\n")
        .commit("start");
    home.write(
        ".gitconfig",
        format!("[filter \"x\"]\n\tclean = {bait}\n\tsmudge = {bait}\n\trequired = true\n[color]\n\tui = always\n"),
    );
    home.marvin()
        .env(
            "MARVIN_URL_GITHUB",
            format!("file://{}", home.path().join("hub").display()),
        )
        .args(["tool", "github_clone", "repo=ann/demo"])
        .run()
        .expect(0);
    assert_eq!(home.read("github-clones/ann/demo/a.x"), "one\n");
    assert_eq!(ran(&mark), "");
}

#[test]
fn colours_and_columns_of_the_settings_never_reach_a_result() {
    let home = Home::new();
    let repo = Repo::at(&home.work().join("repo"));
    repo.file("a.txt", "one\n").commit("start");
    repo.git(&["branch", "other"]);
    let all: String = [
        "ui",
        "status",
        "branch",
        "diff",
        "advice",
        "interactive",
        "remote",
    ]
    .map(|what| format!("\t{what} = always\n"))
    .concat();
    let settings = format!(
        "[color]\n{all}[column]\n\tui = always\n\tbranch = always\n[blame]\n\tcoloring = repeatedLines\n[diff]\n\tcolorMoved = zebra\n\twsErrorHighlight = all\n"
    );
    home.write(".gitconfig", &settings);
    let config = repo.read(".git/config");
    repo.file(".git/config", config + &settings)
        .file("a.txt", "one\ntwo \n")
        .file("b.txt", "x\n");
    for (name, args, ends) in [
        ("git_status", json!({}), 0),
        ("git_diff", json!({}), 0),
        ("git_log", json!({"oneline": false}), 0),
        ("git_blame", json!({"path": "a.txt"}), 0),
        ("git_branch", json!({}), 0),
        ("git_checkout", json!({"target": "nowhere"}), 1),
        ("git_commit", json!({"message": "x"}), 0),
        ("git_commit", json!({"message": "x"}), 0),
        ("git_checkout", json!({"target": "other"}), 0),
    ] {
        let result = git(&home, &repo, name, args).expect(ends);
        let output = result.output();
        assert!(
            !output.contains('\u{1b}') && !output.contains("\\x1b"),
            "{name}: {output:?}"
        );
        if name == "git_branch" {
            assert_eq!(output.lines().count(), 2, "{output}");
        }
    }
}

#[test]
fn the_note_about_an_identity_is_one_line_and_names_who_committed() {
    let home = Home::new();
    let repo = Repo::at(&home.work().join("repo"));
    repo.git(&["config", "--unset", "user.name"]);
    repo.git(&["config", "--unset", "user.email"]);
    let config = repo.read(".git/config");
    let commit = |text: &str, vars: &[(&str, &str)]| {
        repo.file("a.txt", text);
        let mut run = call(&home, &repo, "git_commit", &json!({"message": text}));
        for (name, value) in vars {
            run = run.env(name, value);
        }
        let output = run.run().expect(0).text().to_owned();
        let notes: Vec<String> = output
            .lines()
            .filter(|line| line.to_lowercase().contains("identity") || line.contains("configured"))
            .map(str::to_owned)
            .collect();
        assert!(notes.len() <= 1, "{output}");
        let author = repo.git(&["log", "-1", "--format=%an <%ae>"]);
        assert_eq!(author, repo.git(&["log", "-1", "--format=%cn <%ce>"]));
        if let Some(note) = notes.first() {
            assert!(note.contains(&author), "{note} is not of {author}");
        }
        (author, notes.len())
    };
    assert_eq!(commit("one", &[]), ("Marvin <marvin@localhost>".into(), 1));
    let name = ("GIT_AUTHOR_NAME", "Trillian");
    assert_eq!(
        commit("two", &[name]),
        ("Trillian <marvin@localhost>".into(), 1)
    );
    home.write(".gitconfig", "[user]\n\temail = t@example.org\n");
    assert_eq!(commit("three", &[]), ("Marvin <t@example.org>".into(), 1));
    assert_eq!(
        commit("four", &[name]),
        ("Trillian <t@example.org>".into(), 0)
    );
    let email = ("GIT_AUTHOR_EMAIL", "trillian@example.org");
    let given = "Trillian <trillian@example.org>";
    assert_eq!(commit("five", &[name, email]), (given.into(), 0));
    let now = repo.read(".git/config");
    assert_eq!(now, config, "the configuration changed");
}
