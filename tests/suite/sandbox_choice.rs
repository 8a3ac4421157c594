//! Whose commands are held, to what, and what is said about it: through runs as a caller makes them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde_json::{Value, json};

use super::children::is_alive;
use super::hooks::{command, user_hooks};
use crate::support::conversation::{calls, last_sent, playing, says};
use crate::support::home::{Home, copy_program};
use crate::support::latch::Latch;
use crate::support::run::{Done, Marvin, program};
use crate::support::server::Server;
use crate::support::shared::skip;
use crate::support::wait;
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
        "--add-dir DIR, --sandbox danger-full-access",
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
fn nobody_can_let_a_command_out_where_nobody_is_asked() {
    let home = Home::new();
    let out =
        json!({"command": "echo x > ../out.txt", "outside_sandbox": true, "reason": "I want to."});
    let server = playing([calls("run_command", out), says("Done.")]);
    unread(&home, &server).run().expect(0);
    let told = last_sent(&server, 1);
    told.assert_has(&[
        "Commands run in the sandbox here (workspace-write, network).",
        "The caller can allow more: --add-dir DIR, --sandbox danger-full-access.",
    ]);
    assert!(!home.has("out.txt"));
    let offered = server.request(0).json()["tools"].to_string();
    assert!(!offered.contains("outside_sandbox"), "{offered}");
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
    assert!(
        told.contains("Put the folder back") && !told.contains("danger-full-access"),
        "{told}"
    );
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
    // The same of flags and variables.
    for (mode, network) in [("danger-full-access", "off"), ("read-only", "on")] {
        let line = format!("--sandbox {mode} --sandbox-network {network}");
        refused(&|run| run.line(&line), &["--sandbox-network", mode]);
        let both = |run: Marvin| {
            run.env("MARVIN_SANDBOX", mode)
                .env("MARVIN_SANDBOX_NETWORK", network)
        };
        refused(&both, &["MARVIN_SANDBOX_NETWORK", mode]);
    }
    let file = home.write("config/config.yaml", "sandbox: {mod: read-only}\n");
    refused(&|run| run, &["sandbox has no setting \"mod\""]);
    fs::remove_file(file).unwrap();
    fs::create_dir(home.path().join("a:b")).unwrap();
    refused(&|run| run.line("--add-dir ../a:b"), &["has a colon"]);
    let wider = |run: Marvin| {
        run.env("MARVIN_DEPTH", "1")
            .env("MARVIN_SANDBOX", "workspace-write")
            .line("--add-dir ../more")
    };
    fs::create_dir(home.path().join("more")).unwrap();
    refused(&wider, &["less than the Marvin that started it"]);
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
    assert_eq!(sandbox["writable"], json!([home.work()]));
    assert!(sandbox["holds"].as_str().unwrap().contains("sockets"));
    let free = init(&run().line("--sandbox danger-full-access").run().expect(0));
    assert_eq!(free["mode"], "danger-full-access");
    home.marvin().arg("doctor").prints(&[
        "sandbox",
        "Landlock",
        "ABI ",
        "holds: ",
        "does not hold: ",
    ]);
    home.marvin()
        .env("MARVIN_SANDBOX_ACTIVE", "read-only")
        .env("MARVIN_SANDBOX_NETWORK_ACTIVE", "off")
        .arg("doctor")
        .prints(&["in a sandbox itself (read-only, no network)"]);
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

const LANDLOCK: [i64; 3] = [
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

/// Runs `work` where a filter answers these calls with these errors.
fn filtered<T: Send>(answers: &[(&[i64], i32)], work: impl FnOnce() -> T + Send) -> T {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filters = answers.iter().map(|(calls, error)| {
        let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
        let error = SeccompAction::Errno(error.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, error, arch).unwrap();
        filter.try_into().unwrap()
    });
    let filters: Vec<BpfProgram> = filters.collect();
    thread::scope(|scope| {
        let filtered = scope.spawn(|| {
            for filter in &filters {
                apply_filter(filter).unwrap();
            }
            work()
        });
        filtered.join().unwrap()
    })
}

/// As on kernels without Landlock.
fn without_landlock<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    filtered(&[(&LANDLOCK, libc::ENOSYS)], work)
}

/// What container runtimes refuse by default, as <https://docs.docker.com/engine/security/seccomp/> lists it, with the calls of io_uring, which are refused
/// since.
const REFUSED_IN_CONTAINERS: [i64; 42] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_get_mempolicy,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mbind,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_set_mempolicy,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

#[test]
fn in_a_container_commands_are_held_or_refused() {
    // Programs then start threads and processes by an older call.
    let runtime = [
        (&REFUSED_IN_CONTAINERS[..], libc::EPERM),
        (&[libc::SYS_clone3], libc::ENOSYS),
    ];
    let home = Home::new();
    let command = "echo x > a.txt; git init -q repo && git -C repo status; sh -c 'echo y > ../out.txt'; rg --version; echo ran";
    let told = filtered(&runtime, || result(&home, command, |run| run));
    told.assert_has(&["No commits yet", "out.txt: Permission denied", "ran"]);
    assert!(home.has("work/a.txt") && !home.has("out.txt"));
    // Runtimes from before Landlock answer what they do not know in one of two ways.
    for (error, name) in [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS")] {
        let older = [&runtime[..], &[(&LANDLOCK[..], error)]].concat();
        let told = filtered(&older, || result(&home, "touch refused.txt", |run| run));
        told.assert_has(&[
            &format!("This system cannot fence commands (Landlock: {name}"),
            "in a container of your own that is the usual choice",
        ]);
        assert!(!home.has("work/refused.txt"));
    }
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
    // A filter that refuses a later step, so that the version alone can be asked.
    let late = [&LANDLOCK[1..2], &LANDLOCK[2..]];
    for (calls, error) in late.into_iter().zip([libc::EPERM, libc::ENOSYS]) {
        let told = filtered(&[(calls, error)], || {
            let told = result(&home, "touch late.txt", |run| run);
            home.marvin().arg("doctor").prints(&[
                "--  sandbox",
                "cannot fence commands (Landlock: ",
                "ripgrep could not be held here",
            ]);
            told
        });
        told.assert_has(&[
            "This system cannot fence commands (Landlock: ",
            "MARVIN_SANDBOX=danger-full-access",
        ]);
        assert!(!home.has("work/late.txt"));
    }
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

#[test]
fn a_model_that_nobody_watches_works_in_no_folder_of_programs() {
    let home = Home::new();
    home.write(".local/bin/program", "");
    let server = playing([
        calls("set_working_dir", json!({"path": "~/.local/bin"})),
        calls("run_command", json!({"command": "touch evil"})),
        says("Done."),
    ]);
    unread(&home, &server).dir(&home.path()).run().expect(0);
    last_sent(&server, 1).assert_has(&["programs are run from there"]);
    assert!(!home.has(".local/bin/evil"));
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

const REBASE: &str = "git -c user.name=A -c user.email=a@b.c rebase main";
const COMMITS: &str = "git -c user.name=A -c user.email=a@b.c commit -qm one";

#[test]
fn commits_are_made_and_what_git_runs_is_put_back() {
    let home = Home::new();
    git(&home, "work", "init -q -b main");
    git(&home, "work", "config core.hooksPath .githooks");
    home.write("work/.githooks/pre-push", "");
    let evil = "echo evil | tee .git/hooks/post-commit > .githooks/pre-push; git config core.fsmonitor evil; echo x > .envrc; echo 1 > a";
    let told = result(
        &home,
        &format!("{evil}; git add a && {COMMITS} && git log --oneline"),
        |run| run,
    );
    told.assert_has(&[
        " one\n",
        ".git/config, .git/hooks/post-commit, .githooks/pre-push: put back; a command may not change what git runs.",
        "The command changed .envrc",
    ]);
    assert!(!home.has("work/.git/hooks/post-commit"));
    assert!(!home.read("work/.git/config").contains("evil"));
    assert_eq!(home.read("work/.githooks/pre-push"), "");

    // A linked worktree commits into the repository that it shares, and cannot change what that runs.
    git(&home, "work", "worktree add -q ../linked -b side");
    git(&home, "work", "commit -q --allow-empty -m two");
    let command = format!(
        "echo 2 > b; git add b && {COMMITS} && git checkout -qb more && git log --oneline | head -1; {REBASE} 2>&1; git status; git log --format=%s; echo evil > ../work/.git/hooks/post-commit; echo evil >> ../work/.git/config"
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
    told.assert_has(&[" one\n", "nothing to commit", "\none\ntwo\none\n"]);
    assert!(!told.contains("cherry-picking"), "{told}");
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

#[test]
fn in_a_linked_worktree_commits_are_picked_reverted_and_rebased_to_the_end() {
    let home = Home::new();
    git(&home, "work", "init -q -b main");
    git(&home, "work", "config user.name A");
    git(&home, "work", "config user.email a@b.c");
    for (name, text) in [("one", "1"), ("two", "2"), ("clash", "main")] {
        home.write(&format!("work/{name}"), text);
        git(&home, "work", "add .");
        git(&home, "work", &format!("commit -qm {name}"));
    }
    git(&home, "work", "worktree add -q ../linked -b side HEAD~2");
    let own = "$(git rev-parse --git-dir)";
    let server = commands(&[
        "git cherry-pick main~1 && git revert --no-edit HEAD",
        // Nothing stands in the way of a merge any more.
        "git status | grep -c 'cherry-pick\\|revert'; git merge -q main~1 && echo merged",
        // One that is not over stays, and is gone on with.
        "echo side > clash; git add .; git commit -qm own; git cherry-pick main; echo status $?",
        &format!(
            "cat {own}/CHERRY_PICK_HEAD; echo both > clash; git add .; GIT_EDITOR=true git cherry-pick --continue && echo on"
        ),
        "git tag before; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/squash/' GIT_EDITOR=true git rebase -i HEAD~2 && git status && git log --format=%s | head -2",
        "git branch gone; git branch -d gone; git tag -d before",
        "git worktree add ../further main~1",
    ]);
    unread(&home, &server)
        .dir(&home.path().join("linked"))
        .run()
        .expect(0);
    let told = |n: usize| last_sent(&server, n);
    told(1).assert_has(&["Revert \"two\"", "they are complete"]);
    told(2).assert_has(&["0\nmerged\n"]);
    told(3).assert_has(&["CONFLICT", "status 1\n"]);
    told(4).assert_has(&["on\n"]);
    told(5).assert_has(&["nothing to commit", "\nown\n"]);
    for n in [6, 7] {
        told(n).assert_has(&["Permission denied", "Do the former outside the sandbox"]);
    }
    assert!(home.has("work/.git/refs/tags/before"));
}

#[test]
fn what_a_command_makes_of_a_hooks_program_and_of_a_new_repository_runs_nothing() {
    let home = Home::new();
    let hook = "#!/bin/sh\ntouch ran\n";
    let path = home.path().join("work/check.sh");
    home.write("work/check.sh", hook);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    user_hooks(&home, &json!({"PostToolUse": command("./check.sh")}));
    let told = result(
        &home,
        "printf '#!/bin/sh\\ntouch evil\\n' > check.sh; git init -q new; git -C new config core.fsmonitor 'touch ../evil; false'",
        |run| run,
    );
    told.assert_has(&[
        "The command changed check.sh, new/.git/config: put back; a command may not change what git or a hook runs.",
    ]);
    assert_eq!(home.read("work/check.sh"), hook);
    assert!(home.has("work/ran"));
    git(&home, "work/new", "status");
    assert!(!home.has("work/evil"));
}

#[test]
fn where_not_every_folder_is_searched_that_is_told_once() {
    let home = Home::new();
    fs::create_dir_all(home.work().join("d/".repeat(60))).unwrap();
    let server = commands(&["true", "true"]);
    let done = unread(&home, &server).run().expect(0);
    let errors = done.errors();
    assert_eq!(errors.matches("Not every folder of").count(), 1, "{errors}");
}

/// What another process writes between two commands, and what is there in the end.
fn changed_between(first: &str, by_user: bool) -> (String, bool) {
    let home = Home::new();
    git(&home, "work", "init -q -b main");
    let hook = home.path().join("work/.git/hooks/post-commit");
    let latch = Latch::new();
    let server = playing([
        calls("run_command", json!({ "command": first })),
        calls("run_command", json!({"command": "echo second"})).head_after(&latch),
        says("Done."),
    ]);
    let run = unread(&home, &server).spawn();
    server.wait_requests(2, Duration::from_secs(20));
    if by_user {
        fs::write(&hook, "echo mine").unwrap();
    } else {
        home.write("work/go", "");
    }
    wait::until("the hook", || hook.exists());
    latch.open();
    run.wait().expect(0);
    if !by_user {
        // With nobody who looks, nothing stays that could change it again.
        assert!(!is_alive(home.read("work/pid").trim()));
    }
    (last_sent(&server, 2), hook.exists())
}

#[test]
fn what_a_command_left_behind_changes_is_put_back_and_what_the_user_changes_is_kept() {
    let daemon = "setsid sh -c 'echo $$ > pid; touch up; until test -e go; do sleep 0.02; done; echo evil > .git/hooks/post-commit; sleep 30' >/dev/null 2>&1 & until test -e up; do sleep 0.02; done; echo first";
    let (told, is_there) = changed_between(daemon, false);
    told.assert_has(&[
        "second",
        "A process that an earlier command left behind changed .git/hooks/post-commit: put back",
        "The other version is in ",
    ]);
    assert!(!is_there);
    let (told, is_there) = changed_between("echo first", true);
    assert!(is_there && !told.contains("put back"), "{told}");
}

#[test]
fn what_a_command_left_behind_changes_before_the_end_is_put_back_too() {
    let home = Home::new();
    git(&home, "work", "init -q -b main");
    let daemon = "setsid sh -c 'touch up; until test -e go; do sleep 0.02; done; echo evil > .git/hooks/post-commit' >/dev/null 2>&1 & until test -e up; do sleep 0.02; done; echo first";
    for end in [Leave::Run, Leave::Conversation] {
        let latch = Latch::new();
        let server = playing([
            calls("run_command", json!({"command": daemon})),
            says("Done.").head_after(&latch),
        ]);
        let run = match end {
            Leave::Run => unread(&home, &server),
            Leave::Conversation => home
                .chat(&server)
                .env("MARVIN_SANDBOX_EXCLUDE_TMP", "1")
                .line("--sandbox workspace-write")
                .stdin("Work.\n"),
        };
        let run = run.spawn();
        server.wait_requests(2, Duration::from_secs(20));
        home.write("work/go", "");
        let hook = home.path().join("work/.git/hooks/post-commit");
        wait::until("the hook", || hook.exists());
        latch.open();
        let done = run.wait().expect(0);
        assert!(!hook.exists());
        done.output().assert_has(&[
            "A process that an earlier command left behind changed .git/hooks/post-commit: put back",
        ]);
        for name in ["up", "go"] {
            fs::remove_file(home.work().join(name)).unwrap();
        }
    }
}

enum Leave {
    Run,
    Conversation,
}

#[test]
fn a_marvin_whose_file_is_replaced_goes_on_as_it_began() {
    let home = Home::new();
    let own = home.work().join("marvin");
    copy_program(env!("CARGO_BIN_EXE_marvin").as_ref(), &own);
    let replace = "printf '#!/bin/sh\\ntouch ran; exec \"$@\"\\n' > new; chmod +x new; mv new marvin; ./marvin true; rm ran && echo replaced";
    let outside = "echo \"$MARVIN_SANDBOX_ACTIVE\"; echo out > ../out.txt";
    let server = commands(&[replace, outside, "true; rm marvin", outside]);
    let done = Marvin::new(&own)
        .env("HOME", home.path())
        .env("MARVIN_CONFIG_DIR", home.config())
        .dir(&home.work())
        .with_model(&server)
        .env("MARVIN_SANDBOX_EXCLUDE_TMP", "1")
        .args(["--non-interactive", "--prompt", "Work."])
        .run()
        .expect(0);
    last_sent(&server, 1).assert_has(&["replaced"]);
    for after in [2, 4] {
        last_sent(&server, after).assert_has(&["workspace-write\n", "Permission denied"]);
    }
    assert!(
        !home.has("work/ran") && !home.has("out.txt"),
        "{}",
        done.errors()
    );
}

/// A command in a project, and what it needs to be installed.
const PROJECTS: [(&str, &str); 7] = [
    ("cargo", "cargo test -q --offline"),
    (
        "cargo",
        "cargo build -q --offline && cargo run -q --offline",
    ),
    ("npm", "npm test --silent && npm pack"),
    ("go", "cd gone && go test ./... && go build ./..."),
    ("make", "make -j2 all check"),
    ("python3", "python3 -m unittest -q test_here"),
    (
        "git",
        "git init -q -b main . && git add -A && git -c user.name=a -c user.email=a@b commit -qm one && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two && git worktree add -q ../work/wt -b side && git -c user.name=a -c user.email=a@b -C wt rebase -q main",
    ),
];

#[test]
fn projects_build_and_test_inside() {
    let home = Home::new();
    for (path, text) in [
        (
            "Cargo.toml",
            "[package]\nname = \"here\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
        ),
        (
            "src/main.rs",
            "fn main() {}\n#[test]\nfn a_file_and_a_port() {\n    std::fs::write(std::env::temp_dir().join(\"x\"), \"x\").unwrap();\n    let here = std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap();\n    std::net::TcpStream::connect(here.local_addr().unwrap()).unwrap();\n}\n",
        ),
        (
            "package.json",
            "{\"name\": \"here\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test test.js\"}}",
        ),
        (
            "test.js",
            "const { test } = require('node:test');\nconst fs = require('fs'), os = require('os'), path = require('path');\ntest('writes', () => { fs.writeFileSync(path.join(os.tmpdir(), 'y'), 'y'); });\n",
        ),
        ("gone/go.mod", "module here\n\ngo 1.20\n"),
        ("gone/a.go", "package here\n"),
        (
            "gone/a_test.go",
            "package here\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.TempDir() }\n",
        ),
        (
            "Makefile",
            "all: a.out\na.out:\n\techo built > $@\ncheck: all\n\ttest -s a.out && t=$$(mktemp) && echo x > $$t\n",
        ),
        (
            "test_here.py",
            "import multiprocessing, os, pty, socket, tempfile, unittest\n\ndef square(x):\n    return x * x\n\nclass Here(unittest.TestCase):\n    def test_pool(self):\n        with multiprocessing.Pool(2) as pool:\n            self.assertEqual(pool.map(square, [2]), [4])\n\n    def test_pty(self):\n        for end in pty.openpty():\n            os.close(end)\n\n    def test_sockets(self):\n        a, b = socket.socketpair()\n        a.sendall(b'x')\n        self.assertEqual(b.recv(1), b'x')\n        with socket.create_server(('127.0.0.1', 0)) as server:\n            socket.create_connection(server.getsockname()).close()\n\n    def test_files(self):\n        with tempfile.TemporaryDirectory() as folder:\n            open(os.path.join(folder, 'x'), 'w').close()\n",
        ),
    ] {
        home.write(&format!("work/{path}"), text);
    }
    let (there, missing): (Vec<_>, Vec<_>) = PROJECTS
        .iter()
        .partition(|(needs, _)| program(needs).is_some());
    for (needs, command) in missing {
        skip(
            "projects_build_and_test_inside",
            &format!("no {needs}: {command}"),
        );
    }
    let tries: Vec<String> = there
        .iter()
        .map(|(_, command)| format!("({command}) > log 2>&1 && echo well || cat log"))
        .collect();
    let tries: Vec<&str> = tries.iter().map(String::as_str).collect();
    let server = commands(&tries);
    // cargo itself: what stands for it on the search path may look for it in the home folder.
    let cargo = Path::new(env!("CARGO")).parent().unwrap().display();
    let path = format!("{cargo}:{}", std::env::var("PATH").unwrap());
    let run = unread(&home, &server).env("PATH", path);
    run.limit(Duration::from_secs(120)).run().expect(0);
    for (n, (_, command)) in there.iter().enumerate() {
        let told = last_sent(&server, n + 1);
        assert!(told.starts_with("well\n"), "{command}: {told}");
    }
}
