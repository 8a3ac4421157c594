//! Whose commands are held, to what, and what is said about it: through runs as a caller makes them.

use std::fs;
use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde_json::{Value, json};

use crate::support::conversation::{calls, last_sent, playing, says};
use crate::support::home::Home;
use crate::support::run::{Done, Marvin};
use crate::support::server::Server;
use crate::support::words::TextAssertions as _;

fn commands(commands: &[&str]) -> Server {
    let calls = commands
        .iter()
        .map(|command| calls("run_command", json!({ "command": command })));
    playing(calls.chain([says("Done.")]))
}

/// A run that nobody reads, whose commands cannot change the shared temporary folders, where the homes of tests are.
fn unread(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .with_model(server)
        .env("MARVIN_SANDBOX_EXCLUDE_TMP", "1")
        .args(["--non-interactive", "--prompt", "Work."])
}

/// The result of the only call.
fn result(home: &Home, command: &str, with: impl FnOnce(Marvin) -> Marvin) -> String {
    let server = commands(&[command]);
    with(unread(home, &server)).run().expect(0);
    last_sent(&server, 1)
}

#[test]
fn a_run_that_nobody_reads_is_held_to_its_folder() {
    let home = Home::new();
    fs::create_dir(home.path().join("other")).unwrap();
    let told = result(
        &home,
        "echo here > a.txt; cat a.txt; echo \"$MARVIN_SANDBOX_ACTIVE $MARVIN_SANDBOX_NETWORK_ACTIVE ${SSH_AUTH_SOCK:-none}\"; echo t > $TMPDIR/t && ls -ld $TMPDIR | cut -c1-10; mkdir -p $XDG_CACHE_HOME/x && echo cached; echo out > ../out.txt",
        |run| run.env("SSH_AUTH_SOCK", "/tmp/agent"),
    );
    told.assert_has(&[
        "here\nworkspace-write on none\ndrwx------\ncached\n",
        "Permission denied",
        "Commands run in a sandbox here (workspace-write). It may be why",
        "work, ",
        "--add-dir DIR, --sandbox-network on, --sandbox danger-full-access",
    ]);
    assert!(home.has("work/a.txt") && !home.has("out.txt"));
    // A failure of its own is not explained by the sandbox.
    let told = result(&home, "echo plain; exit 3", |run| run);
    assert!(!told.contains("sandbox"), "{told}");

    let other = home.path().join("other");
    let told = result(&home, "echo x > ../other/a && echo y > ../out.txt", |run| {
        run.arg("--add-dir").arg(&other)
    });
    told.assert_has(&["out.txt", "Permission denied"]);
    assert!(home.has("other/a") && !home.has("out.txt"));
    let told = result(&home, "echo x > ../other/b", |run| {
        run.env(
            "MARVIN_SANDBOX_WRITABLE",
            format!("/nowhere:{}", other.display()),
        )
    });
    assert!(home.has("other/b"), "{told}");

    let told = result(&home, "echo z > b.txt; ls a.txt", |run| {
        run.line("--sandbox read-only")
    });
    told.assert_has(&["b.txt: Permission denied", "a.txt"]);
    assert!(!home.has("work/b.txt"));

    let told = result(
        &home,
        "echo free > ../out.txt; echo [$MARVIN_SANDBOX_ACTIVE]",
        |run| run.line("--sandbox danger-full-access"),
    );
    assert!(told.contains("[]") && home.has("out.txt"), "{told}");
}

#[test]
fn a_folder_that_a_command_replaces_by_a_link_opens_nothing() {
    let home = Home::new();
    fs::create_dir(home.path().join("open")).unwrap();
    fs::create_dir(home.path().join("open/work")).unwrap();
    let secret = home.path().join("closed");
    fs::create_dir(&secret).unwrap();
    let swap = format!("cd .. && mv work gone && ln -s {} work", secret.display());
    let server = commands(&[&swap, "echo x > new.txt; echo ran"]);
    unread(&home, &server)
        .dir(&home.path().join("open/work"))
        .env("MARVIN_SANDBOX_WRITABLE", home.path().join("open"))
        .run()
        .expect(0);
    let told = last_sent(&server, 2);
    assert!(!told.contains("ran"), "{told}");
    assert!(!secret.join("new.txt").exists());
}

#[test]
fn what_would_hold_nothing_is_refused_before_anything_runs() {
    let home = Home::new();
    let refused = |with: &dyn Fn(Marvin) -> Marvin, words: &[&str]| {
        let server = playing([]);
        let done = with(unread(&home, &server)).run().expect(1);
        done.stderr_has(words);
    };
    for dir in [
        home.path(),
        home.config(),
        "/".into(),
        home.path().parent().unwrap().into(),
    ] {
        refused(
            &|run| run.arg("--add-dir").arg(&dir),
            &["cannot be allowed to change"],
        );
        refused(
            &|run| run.env("MARVIN_SANDBOX_WRITABLE", &dir),
            &[
                "cannot be allowed to change",
                "--sandbox danger-full-access",
            ],
        );
    }
    refused(
        &|run| run.line("--sandbox none"),
        &["no mode of the sandbox", "workspace-write"],
    );
    refused(
        &|run| run.env("MARVIN_SANDBOX", "off"),
        &["It is in MARVIN_SANDBOX"],
    );
    refused(&|run| run.line("--sandbox-network maybe"), &["on or off"]);
    let child = |run: Marvin| {
        run.env("MARVIN_DEPTH", "1")
            .env("MARVIN_SANDBOX", "read-only")
    };
    refused(
        &|run| child(run).line("--sandbox workspace-write"),
        &["less than the Marvin that started it"],
    );
    let told = result(&home, "touch a", |run| {
        run.dir(&home.path()).arg("--working-dir").arg(home.path())
    });
    told.assert_has(&["holds your home folder"]);
    assert!(!home.has("a"));
}

#[test]
fn a_child_is_held_as_its_parent_is() {
    let home = Home::new();
    let told = result(&home, "echo x > b.txt", |run| {
        run.env("MARVIN_DEPTH", "1")
            .env("MARVIN_SANDBOX", "read-only")
    });
    told.assert_has(&["Permission denied"]);
    // Inside a sandbox a Marvin reports what holds it, whatever it is told.
    let server = playing([says("Done.")]);
    let done = unread(&home, &server)
        .env("MARVIN_SANDBOX_ACTIVE", "read-only")
        .env("MARVIN_SANDBOX_NETWORK_ACTIVE", "off")
        .line("--sandbox danger-full-access --output-format stream-json --verbose")
        .run()
        .expect(0);
    let sandbox = init(&done);
    assert_eq!(
        (&sandbox["mode"], &sandbox["network"]),
        (&json!("read-only"), &json!(false))
    );
}

fn init(done: &Done) -> Value {
    let line = done.text().lines().next().unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    line["sandbox"].clone()
}

#[test]
fn the_first_line_and_the_doctor_say_what_is_held() {
    let home = Home::new();
    let server = playing([says("Done."), says("Done.")]);
    let run = || unread(&home, &server).line("--output-format stream-json --verbose");
    let sandbox = init(&run().line("--sandbox-network off").run().expect(0));
    assert_eq!(
        (&sandbox["mode"], &sandbox["network"]),
        (&json!("workspace-write"), &json!(false))
    );
    assert!(sandbox["abi"].as_u64().unwrap() > 0, "{sandbox}");
    let free = init(&run().line("--sandbox danger-full-access").run().expect(0));
    assert_eq!(free["mode"], "danger-full-access");
    home.marvin().arg("doctor").prints(&[
        "sandbox",
        "Landlock",
        "ABI ",
        "holds: ",
        "does not hold: ",
    ]);
    home.tool(
        "run_command",
        &json!({"command": "echo $MARVIN_SANDBOX_ACTIVE."}),
    )
    .prints(&[".\n"]);
    home.marvin()
        .line("--sandbox read-only tool run_command")
        .arg("command=echo $MARVIN_SANDBOX_ACTIVE; touch a")
        .run()
        .stdout_has(&["read-only\n", "Permission denied"]);
}

/// Runs `work` where a filter answers ENOSYS to Landlock's calls, as kernels without it do.
fn without_landlock<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    let rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, arch).unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    thread::scope(|scope| {
        let filtered = scope.spawn(|| {
            apply_filter(&filter).unwrap();
            work()
        });
        filtered.join().unwrap()
    })
}

#[test]
fn where_nothing_can_hold_them_commands_are_refused() {
    let home = Home::new();
    let told = without_landlock(|| result(&home, "touch ran.txt", |run| run));
    told.assert_has(&[
        "This system cannot fence commands (Landlock: ENOSYS",
        "Commands are refused.",
        "MARVIN_SANDBOX=danger-full-access",
    ]);
    assert!(!home.has("work/ran.txt"));
    let free = |run: Marvin| run.env("MARVIN_SANDBOX", "danger-full-access");
    without_landlock(|| result(&home, "touch ran.txt", free));
    assert!(home.has("work/ran.txt"));
    without_landlock(|| {
        home.marvin()
            .arg("doctor")
            .prints(&["--  sandbox", "cannot fence commands"]);
    });
}

#[test]
fn packages_are_not_asked_for_without_a_network() {
    let home = Home::new();
    home.write("work/package.json", "{}");
    home.program("bin/npm", "#!/bin/sh\ntouch ran\n");
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let server = playing([
        calls("install_packages", json!({"packages": ["left-pad"]})),
        says("Done."),
    ]);
    unread(&home, &server)
        .env("PATH", path)
        .line("--sandbox-network off")
        .run()
        .expect(0);
    last_sent(&server, 1).assert_has(&["--sandbox-network on"]);
    assert!(!home.has("work/ran"));
}

fn git(home: &Home, dir: &str, words: &str) {
    let mut command = std::process::Command::new("git");
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path());
    for name in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{name}_NAME"), "A")
            .env(format!("GIT_{name}_EMAIL"), "a@b.c");
    }
    command
        .args(shlex::split(words).unwrap())
        .current_dir(home.path().join(dir));
    let done = command.output().unwrap();
    assert!(done.status.success(), "{words}: {done:?}");
}

const COMMITS: &str = "git -c user.name=A -c user.email=a@b.c commit -qm one";

#[test]
fn commits_are_made_and_what_git_runs_is_put_back() {
    let home = Home::new();
    git(&home, "work", "init -q -b main");
    let evil = "echo evil > .git/hooks/post-commit; git config core.fsmonitor evil; echo x > .envrc; echo 1 > a";
    let told = result(
        &home,
        &format!("{evil}; git add a && {COMMITS} && git log --oneline"),
        |run| run,
    );
    told.assert_has(&[
        " one\n",
        ".git/config, .git/hooks/post-commit: put back; a command may not change what git runs.",
        "The command changed .envrc",
    ]);
    assert!(!home.has("work/.git/hooks/post-commit"));
    assert!(!home.read("work/.git/config").contains("evil"));

    // A linked worktree commits into the repository that it shares, and cannot change what that runs.
    git(&home, "work", "worktree add -q ../linked -b side");
    let command = format!(
        "echo 2 > b; git add b && {COMMITS} && git checkout -qb more && git log --oneline | head -1; echo evil > ../work/.git/hooks/post-commit; echo evil >> ../work/.git/config"
    );
    let server = commands(&[&command]);
    unread(&home, &server)
        .dir(&home.path().join("linked"))
        .run()
        .expect(0);
    let told = last_sent(&server, 1);
    told.assert_has(&[
        "hooks/post-commit: Permission denied",
        ".git/config: Permission denied",
    ]);
    told.assert_has(&[" one\n"]);
    // A repository that does not name the folder opens nothing.
    git(&home, "linked", "rev-parse HEAD");
    home.write(
        "work/stranger/.git",
        format!(
            "gitdir: {}/work/.git/worktrees/linked",
            home.path().display()
        ),
    );
    let server = commands(&["touch ../.git/objects/x"]);
    unread(&home, &server)
        .dir(&home.path().join("work/stranger"))
        .run()
        .expect(0);
    last_sent(&server, 1).assert_has(&["Permission denied"]);
}
