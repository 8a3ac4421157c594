//! A command in the sandbox changed what git runs, and a person is asked whether to keep it: what they saw is what is kept.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;

use crate::stage::{LIMIT, calls, last_sent, plain_command, playing, says, until};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Server};
use crate::support::words::TextAssertions as _;

const HOOK: &str = ".git/hooks/pre-commit";
const KEPT: &str = "echo echo good > .git/hooks/pre-commit";

fn runs(command: &str) -> Answer {
    calls("run_command", json!({ "command": command }))
}

/// A repository, and a conversation whose model runs these commands in one turn.
struct Scene {
    home: Home,
    server: Server,
    pty: Pty,
    hook: PathBuf,
}

impl Scene {
    fn new(commands: &[&str]) -> Self {
        let runs = commands.iter().map(|command| runs(command));
        Self::playing(runs.chain([says("That was it.")]))
    }

    fn playing(answers: impl IntoIterator<Item = Answer>) -> Self {
        let home = Home::new();
        home.write("work/.git/config", "[core]\n");
        fs::create_dir(home.work().join(".git/hooks")).unwrap();
        let server = playing(answers);
        let mut command = plain_command(&home, &server);
        command
            .args(["--sandbox", "workspace-write"])
            .env("MARVIN_SANDBOX_EXCLUDE_TMP", "1");
        let pty = Pty::spawn(&command, (160, 50));
        pty.wait_text("You: ");
        pty.send("go\r");
        let hook = home.work().join(HOOK);
        Self {
            home,
            server,
            pty,
            hook,
        }
    }

    /// Waits for question `count`, of all so far.
    fn asked(&self, count: usize) {
        self.pty.wait_raw(b"Agreed? ", count);
    }

    /// Answers, and waits for the result of command `number`, counted from 1.
    fn answer(&self, answer: &str, number: usize) -> String {
        self.pty.send(answer);
        self.pty.send("\r");
        self.result(number)
    }

    fn result(&self, number: usize) -> String {
        self.server.wait_requests(number + 1, LIMIT);
        last_sent(&self.server, number)
    }

    fn leads_to(&self, target: &str) -> bool {
        fs::read_link(&self.hook).is_ok_and(|to| to.as_os_str() == target)
    }

    fn end(mut self) {
        self.pty.wait_text("That was it.");
        self.pty.send("exit\r");
        assert_eq!(self.pty.wait().code(), Some(0));
    }
}

#[test]
fn what_changes_while_the_question_is_open_is_put_back() {
    let scene = Scene::new(&[KEPT, KEPT, KEPT]);
    scene.asked(1);
    fs::write(&scene.hook, "echo evil\n").unwrap();
    let told = scene.answer("y", 1);
    told.assert_has(&["pre-commit again, after the user was asked about it: put back"]);
    assert!(!scene.hook.exists());
    // A file beside it is none that was shown.
    scene.asked(2);
    let other = scene.home.work().join(".git/hooks/post-commit");
    symlink("/bin/true", &other).unwrap();
    scene.answer("y", 2).assert_has(&["put back"]);
    assert!(!scene.hook.exists() && fs::symlink_metadata(&other).is_err());
    scene.asked(3);
    scene.answer("y", 3).assert_lacks(&["put back"]);
    assert_eq!(fs::read_to_string(&scene.hook).unwrap(), "echo good\n");
    scene.end();
}

#[test]
fn what_was_kept_is_watched_as_it_was_agreed_to() {
    let daemon = "setsid sh -c 'touch up; until test -e go; do sleep 0.02; done; echo evil > .git/hooks/pre-commit; until test -e end; do sleep 0.02; done' >/dev/null 2>&1 & until test -e up; do sleep 0.02; done";
    let latch = Latch::new();
    let scene = Scene::playing([
        runs(&format!("{daemon}; {KEPT}")),
        runs("true").head_after(&latch),
        runs("touch end"),
        says("That was it."),
    ]);
    scene.asked(1);
    scene.answer("y", 1).assert_lacks(&["put back"]);
    scene.home.write("work/go", "");
    until("the change", || {
        fs::read_to_string(&scene.hook).is_ok_and(|text| text == "evil\n")
    });
    latch.open();
    scene.asked(2);
    let told = scene.answer("n", 2);
    told.assert_has(&["A process that an earlier command left behind changed"]);
    assert_eq!(fs::read_to_string(&scene.hook).unwrap(), "echo good\n");
    scene.end();
}

#[test]
fn an_answer_for_good_is_about_what_was_shown() {
    let scene = Scene::new(&[
        "ln -s ../../ok.sh .git/hooks/pre-commit",
        "true; rm .git/hooks/pre-commit",
        "ln -s ../../ok.sh .git/hooks/pre-commit",
        "ln -sf ../../evil.sh .git/hooks/pre-commit",
        "true; rm .git/hooks/pre-commit; printf ../../ok.sh > .git/hooks/pre-commit",
    ]);
    scene.asked(1);
    let screen = scene.pty.screen();
    screen.assert_has(&["a link to ../../ok.sh", "a always exactly this"]);
    scene.answer("a", 1);
    // It is not about its removal.
    scene.asked(2);
    scene.pty.screen().assert_has(&["pre-commit: removed"]);
    scene.answer("y", 2);
    scene.result(3).assert_lacks(&["put back"]);
    // Nor about another link, nor the same text in a file.
    scene.asked(3);
    scene.pty.screen().assert_has(&["a link to ../../evil.sh"]);
    scene.answer("n", 4).assert_has(&["put back"]);
    assert!(scene.leads_to("../../ok.sh"));
    scene.asked(4);
    scene.answer("n", 5).assert_has(&["put back"]);
    assert!(scene.leads_to("../../ok.sh"));
    scene.end();
}

#[test]
fn what_is_not_read_cannot_be_kept_for_good() {
    let big = |word: &str| {
        format!("head -c 1100000 /dev/zero | tr '\\0' '#' > {HOOK}; echo {word} >> {HOOK}")
    };
    let scene = Scene::new(&[&big("good")]);
    scene.pty.wait_raw(b"Agreed? y yes, n no", 1);
    let screen = scene.pty.screen();
    screen.assert_has(&["pre-commit: 1100005 bytes, which are not shown"]);
    scene.answer("y", 1);
    let kept = fs::read_to_string(&scene.hook).unwrap();
    assert!(kept.ends_with("good\n"));
    scene.end();
}
