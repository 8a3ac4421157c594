//! The state behind a session on real files: several processes at once, kill -9, full and read-only disks, the tools of module profiles through the
//! binary, and messages from a scripted server.

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use std::{env, fs};

use marvin::testing::alerts::NtfyInbox;
use marvin::testing::chat_log::{ChatLog, LogRole};
use marvin::testing::{Cancel, Clock, Env, Paths, Problem, ProblemKind};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(20);

fn log_at(path: &Path) -> ChatLog {
    ChatLog::new(path.to_owned(), &Clock::default())
}

/// Adds an entry; on a busy machine the others may hold the lock beyond the timeout.
fn add(log: &ChatLog, text: &str) {
    let once = || log.append(&[(LogRole::You, text)], &mut |_| {});
    let answers = std::iter::repeat_with(once).take(12);
    let mut other = answers.filter(|answer| {
        let is_busy = |problem: &Problem| problem.kind == ProblemKind::Limit;
        !answer.as_ref().is_err_and(is_busy)
    });
    other.next().expect("the lock within two minutes").unwrap();
}

/// The first word of each entry's text.
fn words(path: &Path) -> Vec<String> {
    let entries: Vec<Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let first = |entry: &Value| {
        let text = entry["text"].as_str().unwrap();
        text.split(' ').next().unwrap().to_owned()
    };
    entries.iter().map(first).collect()
}

/// Not a test: the child processes of the tests below run this, with a role from their environment.
#[test]
#[ignore = "a child of other tests"]
fn appending_child() {
    let Some(path) = env::var_os("TEST_CHAT_LOG") else {
        return;
    };
    let name = env::var("TEST_NAME").unwrap();
    let count: usize = env::var("TEST_COUNT").unwrap().parse().unwrap();
    let log = log_at(&PathBuf::from(path));
    for n in 0..count {
        let length = if n % 3 == 0 { 300_000 } else { 20 };
        add(&log, &format!("{name}:{n} {}", "},{}]".repeat(length / 5)));
        // In one write, so that a kill leaves the whole line or none of it.
        let line = format!("saved {name}:{n}\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

fn child(path: &Path, name: &str, count: usize) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "session_state::appending_child",
            "--ignored",
            "--nocapture",
        ])
        .env("TEST_CHAT_LOG", path)
        .env("TEST_NAME", name)
        .env("TEST_COUNT", count.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chat_log.json");
    let children: Vec<Child> = ["a", "b", "c"].map(|name| child(&path, name, 30)).into();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let words = words(&path);
    assert_eq!(words.len(), 90);
    for name in ["a", "b", "c"] {
        let mine: Vec<&String> = words.iter().filter(|w| w.starts_with(name)).collect();
        let expected: Vec<String> = (0..30).map(|n| format!("{name}:{n}")).collect();
        assert_eq!(mine, expected.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_killed_process_loses_at_most_the_entry_it_was_writing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chat_log.json");
    let log = log_at(&path);
    let mut expected: Vec<String> = Vec::new();
    let mut mended = 0;
    for round in 0..24usize {
        let mut child = child(&path, &format!("r{round}"), usize::MAX);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut saved = Vec::new();
        while saved.len() <= round % 4 {
            let line = lines.next().expect("a living child").unwrap();
            saved.extend(line.strip_prefix("saved ").map(str::to_owned));
        }
        std::thread::sleep(Duration::from_micros(317 * (round as u64 % 7)));
        child.kill().unwrap();
        child.wait().unwrap();
        saved.extend(
            lines
                .map_while(Result::ok)
                .filter_map(|line| line.strip_prefix("saved ").map(str::to_owned)),
        );
        // The next opening repairs it.
        log.seed(1, &mut |_| mended += 1);
        let now = words(&path);
        expected.extend(saved);
        assert!(
            now.starts_with(&expected),
            "round {round}: {now:?} lacks of {expected:?}"
        );
        assert!(now.len() <= expected.len() + 1, "round {round}: {now:?}");
        // An entry may be whole although its writer could not say so any more.
        expected = now;
    }
    add(&log, "end");
    assert_eq!(words(&path).len(), expected.len() + 1);
    eprintln!("{mended} torn ends mended");
}

#[test]
fn a_huge_entry_is_an_entry() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chat_log.json");
    let log = log_at(&path);
    let huge = "long \"line\"\n".repeat(200_000);
    add(&log, "before");
    add(&log, &huge);
    add(&log, "after");
    let texts: Vec<String> = log
        .seed(2, &mut |_| {})
        .into_iter()
        .map(|e| e.text)
        .collect();
    assert!(texts[0] == huge && texts[1] == "after");
    log.undo_last_exchange(Some("after"), &mut |_| {}).unwrap();
    log.undo_last_exchange(Some(&huge), &mut |_| {}).unwrap();
    assert_eq!(words(&path), ["before"]);
}

#[test]
fn a_full_or_read_only_disk_is_a_problem_and_the_log_stays_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mount = |options: &str| {
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(dir.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if !mount("size=128k") {
        eprintln!("skipped: no right to mount a small file system");
        return;
    }
    let path = dir.path().join("chat_log.json");
    let log = log_at(&path);
    add(&log, "small");
    let before = fs::read(&path).unwrap();
    let full = log.append(&[(LogRole::You, &"x".repeat(1 << 20))], &mut |_| {});
    let after = fs::read(&path).unwrap();
    let remounted = mount("remount,ro");
    let read_only = log.append(&[(LogRole::You, "y")], &mut |_| {});
    let seen = log.seed(3, &mut |_| {}).len();
    let unmounted = Command::new("umount")
        .arg("-l")
        .arg(dir.path())
        .status()
        .unwrap();
    assert!(unmounted.success());
    full.unwrap_err().what.assert_has(&["chat_log.json"]);
    assert_eq!(after, before);
    if remounted {
        read_only.unwrap_err().what.assert_has(&["read-only"]);
    }
    assert_eq!(seen, 1 + usize::from(!remounted));
}

/// Runs a tool in this home and returns its output.
fn tool(home: &Home, args: &[&str], code: i32) -> String {
    let output = home
        .marvin()
        .arg("tool")
        .args(args.to_vec())
        .run()
        .expect(code);
    output.output()
}

#[test]
fn a_profile_is_made_switched_to_and_remembered() {
    let home = Home::new();
    tool(&home, &["switch_profile", "profile_name=Ann Lee"], 0)
        .assert_has(&["\"ann_lee\" was created", "Profiles: ann_lee\n"]);
    assert_eq!(home.read("config/last_profile"), "ann_lee\n");
    tool(&home, &["update_preferences", "key=notes", "value=tea"], 0);
    home.read("config/profiles/ann_lee/preferences.yaml")
        .assert_has(&["notes: tea\n"]);
    tool(
        &home,
        &["switch_profile", "--json", r#"{"name": "main"}"#],
        0,
    )
    .assert_has(&["Profiles: ann_lee, main\n"]);
    let output = tool(&home, &["switch_profile", "profile_name=ann_lee"], 0);
    assert!(
        output.starts_with("Switched from profile \"main\" to \"ann_lee\"."),
        "{output}"
    );
    for bad in ["../x", "", "a/b", "..", "-x"] {
        tool(
            &home,
            &["switch_profile", &format!("profile_name={bad}")],
            1,
        )
        .assert_has(&["cannot be used as profile name"]);
    }
    assert_eq!(home.read("config/last_profile"), "ann_lee\n");
}

/// A home with subscriptions, and a session's news in it.
struct Newsroom {
    home: Home,
    env: Env,
    news: NtfyInbox,
    stop: Cancel,
}

const FILE: &str = "config/profiles/main/ntfy_subscriptions.json";

impl Newsroom {
    fn new(server: &Server, file: &str) -> Self {
        Self::at(&server.url(""), file)
    }

    fn at(url: &str, file: &str) -> Self {
        let home = Home::new();
        home.write(FILE, file);
        let env = Env::from([
            ("MARVIN_CONFIG_DIR", home.config().to_str().unwrap()),
            ("MARVIN_URL_NTFY", url),
            ("NTFY_TOKEN", "tk_1"),
        ]);
        Self {
            home,
            env,
            news: NtfyInbox::default(),
            stop: Cancel::new(),
        }
    }

    fn started(&self, deliver: impl FnOnce(Vec<String>) + Send + 'static) -> bool {
        let profile = Paths::new(&self.env).profile("main").unwrap();
        let clock = Clock::new(&self.env);
        self.news
            .poll(&self.env, &profile, &clock, &self.stop, deliver)
    }

    /// The notices of a poll; empty when it ends without one.
    fn poll(&self) -> Vec<String> {
        let (tell, told) = channel();
        assert!(self.started(move |notices| tell.send(notices).unwrap()));
        // The sender is dropped at the end of a poll that has no news.
        told.recv_timeout(LIMIT).unwrap_or_default()
    }

    fn file(&self) -> Value {
        serde_json::from_str(&self.home.read(FILE)).unwrap()
    }
}

fn message(id: &str, time: i64, text: &str) -> Value {
    json!({"id": id, "time": time, "event": "message", "topic": "t", "message": text})
}

fn lines(messages: &[Value]) -> Answer {
    Answer::ndjson(messages.iter().map(|m| format!("{m}\n")))
}

#[test]
fn new_messages_are_delivered_once_and_the_position_is_saved() {
    let first = lines(&[message("m1", 100, "one"), message("m2", 200, "two")]);
    let server = Server::with([
        Exchange::get("/alpha/json").answer(first),
        Exchange::get("/beta/json").answer(Answer::json(&json!({"code": 40301})).with_status(403)),
        Exchange::get("/alpha/json").answer(lines(&[message("m3", 300, "three")])),
        Exchange::get("/beta/json").answer(lines(&[])),
    ]);
    let room = Newsroom::new(
        &server,
        r#"[{"topic": "alpha", "label": "Door", "own": 1}, {"topic": "beta"}]"#,
    );
    assert_eq!(room.poll(), ["🔔 Door: one", "🔔 Door: two"]);
    let asked = |n: usize, path: &str| {
        let mut found = server
            .requests()
            .into_iter()
            .filter(|r| r.path.starts_with(path));
        found.nth(n).unwrap()
    };
    let request = asked(0, "/alpha");
    assert_eq!(
        (request.query("poll"), request.query("since")),
        (Some("1"), Some("12h"))
    );
    assert_eq!(request.header("authorization"), Some("Bearer tk_1"));
    let file = room.file();
    assert_eq!(
        (&file[0]["lastMessageId"], &file[0]["own"]),
        (&json!("m2"), &json!(1))
    );
    assert_eq!(
        file[1],
        json!({"topic": "beta"}),
        "a failed poll leaves no trace"
    );
    // A subscription removed meanwhile does not return; a file that lost the id does not bring old messages.
    room.home.write(
        FILE,
        r#"[{"topic": "alpha", "label": "Door"}, {"topic": "beta"}]"#,
    );
    assert_eq!(room.poll(), ["🔔 Door: three"]);
    assert_eq!(asked(1, "/alpha").query("since"), Some("m2"));
    assert!(room.file()[1]["lastChecked"].is_string());
}

#[test]
fn without_subscriptions_nothing_is_started() {
    let server = Server::start();
    let room = Newsroom::new(&server, "[]\n");
    assert!(!room.started(|_| panic!("news of nothing")));
    fs::remove_file(room.home.path().join(FILE)).unwrap();
    assert!(!room.started(|_| panic!("news of nothing")));
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_silent_server_does_not_delay_the_others() {
    let gate = Latch::new();
    let held = gate.clone();
    let server = Server::with([Exchange::any().times(2).by(move |request, _| {
        if request.path.starts_with("/slow/") {
            lines(&[message("s", 1, "late")]).head_after(&held)
        } else {
            lines(&[message("f", 1, "quick")])
        }
    })]);
    let room = Newsroom::new(&server, r#"[{"topic": "slow"}, {"topic": "fast"}]"#);
    let (tell, told) = channel();
    assert!(room.started(move |notices| tell.send(notices).unwrap()));
    server.wait_requests(2, LIMIT);
    assert!(!room.started(|_| panic!("two polls at once")));
    let notices = told.recv_timeout(LIMIT).unwrap();
    assert_eq!(notices, ["🔔 fast: quick"]);
    gate.open();
}

#[test]
fn an_endless_response_is_cut_off() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let start = Instant::now();
        let mut output = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
        while output.is_ok() && start.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(50));
            output = socket.write_all(b"\n");
        }
        start.elapsed()
    });
    let room = Newsroom::at(&url, r#"[{"topic": "slow"}]"#);
    assert_eq!(room.poll(), [] as [&str; 0]);
    let took = server.join().unwrap();
    assert!(took < LIMIT / 2, "{took:?}");
}
