//! Where a conversation begins: empty in a project, with the last talk elsewhere, and what the model is told of earlier ones.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Exchange, Server};
use crate::support::stages::{StageAnswer, StageServer};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(30);
const PREFERENCES: &str = "config/profiles/main/preferences.yaml";

/// A home with two projects.
struct Places {
    home: Home,
    server: Server,
    one: PathBuf,
    other: PathBuf,
}

impl Places {
    fn new() -> Self {
        let home = Home::new();
        let [one, other] = ["one", "other"].map(|name| home.work().join(name));
        Repo::at(&one);
        Repo::at(&other);
        let server = Server::answering(|request, _| {
            let said = told(&request.json()).pop().unwrap();
            says(&format!("Answer to {said}."))
        });
        Self {
            home,
            server,
            one,
            other,
        }
    }

    fn marvin(&self, dir: &Path) -> Marvin {
        self.home.marvin().dir(dir).with_model(&self.server)
    }

    /// Says a line in a chat in `dir`, and returns what was shown and the request.
    fn say(&self, dir: &Path, line: &str, args: &[&str]) -> (Done, Value) {
        let chat = self.marvin(dir).arg("--plain").args(args);
        let output = chat.stdin(format!("{line}\n")).run().expect(0);
        (output, self.last_request())
    }

    fn last_request(&self) -> Value {
        let count = self.server.requests().len();
        self.server.request(count - 1).json()
    }
}

/// The texts of a request behind the system prompt.
fn told(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter().skip(1);
    messages
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

#[test]
fn in_a_project_a_conversation_begins_empty_and_offers_the_last_one() {
    let places = Places::new();
    let (first, request) = places.say(&places.one, "the heron is blue", &[]);
    assert_eq!(told(&request), ["the heron is blue"]);
    first.stdout_lacks(&["marvin -c"]);
    let (again, request) = places.say(&places.one, "which colour?", &[]);
    assert_eq!(told(&request), ["which colour?"]);
    // The model knows of what was said here before, in short.
    system(&request).assert_has_for(&request, &["you: the heron is blue"]);
    system(&request).assert_lacks_for(&request, &["you: which colour?"]);
    again
        .output()
        .assert_has(&["marvin -c", "the heron is blue"]);
    let (_, request) = places.say(&places.one, "and now?", &["-c"]);
    let before = ["which colour?", "Answer to which colour?.", "and now?"];
    assert_eq!(told(&request), before);
}

#[test]
fn what_was_said_in_one_project_reaches_the_model_nowhere_else() {
    let places = Places::new();
    let outside = &places.home.work();
    places.say(outside, "outside I said plover", &[]);
    places.say(&places.one, "in here it is a heron", &[]);
    let (shown, request) = places.say(&places.other, "hello", &[]);
    for word in ["heron", "plover"] {
        assert!(!request.to_string().contains(word), "{request}");
        assert!(!shown.text().contains(word), "{}", shown.text());
    }
    // A folder that is given is a project too.
    let given = places.home.work().join("given");
    std::fs::create_dir(&given).unwrap();
    let folder = given.to_str().unwrap();
    let (_, request) = places.say(
        outside,
        "in the folder it is a stork",
        &["--working-dir", folder],
    );
    assert_eq!(told(&request).len(), 1, "{request}");
    // Outside the last talk held outside goes on.
    let (_, request) = places.say(outside, "go on", &[]);
    let before = [
        "outside I said plover",
        "Answer to outside I said plover.",
        "go on",
    ];
    assert_eq!(told(&request), before);
    assert!(system(&request).contains("plover"), "{request}");
    for word in ["heron", "stork", "hello"] {
        assert!(!request.to_string().contains(word), "{request}");
    }
    // And so does what was added to it.
    let (_, request) = places.say(outside, "once more", &[]);
    assert_eq!(told(&request).len(), 5, "{request}");
    // A run without a user knows as much.
    let ask = |dir: &Path| {
        let run = places
            .marvin(dir)
            .args(["--non-interactive", "--prompt", "what do you know?"]);
        run.run().expect(0);
        places.last_request().to_string()
    };
    assert!(ask(&places.one).contains("heron") && !ask(&places.other).contains("heron"));
    ask(outside).assert_has(&["plover"]);
    ask(outside).assert_lacks(&["heron"]);
}

#[test]
fn a_conversation_that_moves_into_a_project_is_not_gone_on_with_outside() {
    let places = Places::new();
    let outside = &places.home.work();
    let move_in = format!("/tool set_working_dir path={}", places.one.display());
    places.say(
        outside,
        &format!("before it is a plover\n{move_in}\nnow it is a heron"),
        &[],
    );
    for dir in [outside, &places.other, &places.one] {
        let (_, request) = places.say(dir, "hello", &[]);
        request.to_string().assert_lacks(&["heron", "plover"]);
    }
}

#[test]
fn the_preferences_widen_what_is_known_or_end_it() {
    let places = Places::new();
    let outside = &places.home.work();
    places.say(outside, "outside I said plover", &[]);
    places.say(&places.one, "in here it is a heron", &[]);
    places.home.write(PREFERENCES, "history: all\n");
    let (_, request) = places.say(&places.other, "what did I say?", &[]);
    assert_eq!(told(&request).len(), 5, "{request}");
    assert!(system(&request).contains("heron"), "{request}");
    assert!(!system(&request).contains("history: all"), "{request}");
    places.home.write(PREFERENCES, "history: none\n");
    for dir in [outside, &places.one] {
        let (_, request) = places.say(dir, "what do you know?", &[]);
        assert_eq!(told(&request), ["what do you know?"]);
        system(&request).assert_lacks_for(&request, &["Recent conversation"]);
    }
    places.home.write(PREFERENCES, "history: some\n");
    let (shown, request) = places.say(&places.one, "hello", &[]);
    assert_eq!(told(&request), ["hello"]);
    shown
        .output()
        .assert_has(&["is all, folder or none, not \"some\""]);
}

#[test]
fn another_profile_begins_as_its_own_talks_ended() {
    let places = Places::new();
    let outside = &places.home.work();
    places.say(
        outside,
        "/profile winter\noutside it is a plover\n/profile main",
        &[],
    );
    places.say(
        &places.one,
        "/profile winter\nhere it is a heron\n/profile main",
        &[],
    );
    let (_, request) = places.say(outside, "/profile winter\nhello", &[]);
    assert_eq!(told(&request).len(), 3, "{request}");
    assert!(!request.to_string().contains("heron"), "{request}");
}

#[test]
fn the_log_that_a_model_compacts_or_searches_holds_nothing_from_elsewhere() {
    let places = Places::new();
    let secret = format!("the heron {}", "word ".repeat(100));
    for _ in 0..21 {
        places.say(&places.one, &secret, &[]);
    }
    let server = Server::with(
        [
            Answer::sse(openai::call(
                "c1",
                "compact_history",
                json!({"target_tokens": 1000}),
            )),
            Answer::sse(openai::call(
                "c2",
                "search_history_backups",
                json!({"query": "heron"}),
            )),
            says("Done."),
        ]
        .map(|answer| Exchange::post("/chat/completions").answer(answer)),
    );
    let chat = places.marvin(&places.other).arg("--plain");
    let chat = chat.env("OPENAI_COMPAT_URL", server.url("/v1"));
    chat.stdin("compact the history and look for it\n")
        .run()
        .expect(0);
    for n in 0..3 {
        server
            .request(n)
            .json()
            .to_string()
            .assert_lacks(&["the heron"]);
    }
    server
        .request(2)
        .json()
        .to_string()
        .assert_has(&["not summarised by the model", "Not searched"]);
}

#[test]
fn the_flow_sends_nothing_that_was_just_said_in_another_project() {
    let places = Places::new();
    let reply = |text: &str| {
        [("router", "none"), ("planner", "Reply."), ("chat", text)]
            .map(|(stage, text)| StageAnswer::text(stage, text))
    };
    let server = StageServer::start([reply("Noted."), reply("Who knows.")].concat());
    for (dir, line, answer) in [
        (&places.one, "my heron is called Ada", "Noted."),
        (&places.other, "what is its name", "Who knows."),
    ] {
        let marvin = places.home.marvin().dir(dir);
        let marvin = marvin
            .env("LLM_PROVIDER", "ollama")
            .env("OLLAMA_URL", server.url(""));
        let mut running = marvin
            .env("OLLAMA_MODEL", "gpt-oss:20b")
            .arg("--plain")
            .stdin_open()
            .spawn();
        running.write(format!("{line}\n").as_bytes());
        running.wait_stdout(answer, LIMIT);
        // Killed, so that it does not become memory, which is the profile's.
        running.kill();
    }
    let chats = server
        .calls()
        .into_iter()
        .filter(|call| call.stage == "chat");
    let chats: Vec<String> = chats.map(|call| call.body.to_string()).collect();
    assert!(
        chats[0].contains("Ada") && !chats[1].contains("Ada"),
        "{}",
        chats[1]
    );
}
