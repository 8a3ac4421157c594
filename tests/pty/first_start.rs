//! The first start: without a language model Marvin offers the ways to one, and what is chosen works at once and at the next start.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::pickers::selects;
use crate::stage::{SIZE, input, last_sent, quit, says, unasked};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::words::TextAssertions;

const TITLE: &str = "Language model: Enter chooses, typing filters, Esc goes on without";
const KEY: &str = "gsk-not-to-be-seen-4711";

/// Marvin where no server, key or CLI is found.
fn bare(home: &Home) -> Command {
    let mut command = Pty::command(env!("CARGO_BIN_EXE_marvin").as_ref(), home);
    // One request for a message, small models too.
    command.env("MARVIN_REPLY_FLOW", "off");
    for server in ["OLLAMA_URL", "LMSTUDIO_URL", "LLAMA_SERVER_URL"] {
        command.env(server, "http://127.0.0.1:9");
    }
    command
}

fn models(names: &[&str]) -> Answer {
    let names: Vec<_> = names.iter().map(|name| json!({"id": name})).collect();
    Answer::json(&json!({"data": names}))
}

/// A server with this list of models, then these answers.
fn serving(names: &[&str], answers: impl IntoIterator<Item = Answer>) -> Server {
    let list = Exchange::get("/v1/models").answer(models(names));
    let answers = answers
        .into_iter()
        .map(|answer| Exchange::post("/chat/completions").answer(answer));
    // What LM Studio says of its models, which is not of interest here.
    let facts = Exchange::get("/api/v0/models").answer(Answer::status(404));
    Server::with([list, facts.any_times()].into_iter().chain(answers))
}

/// The number of the request that carries the message.
fn message(server: &Server) -> usize {
    let requests = server.requests();
    let found = requests.iter().position(|request| request.method == "POST");
    found.expect("a message")
}

/// The files below `dir` that contain `text`, links not followed.
fn files_with(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), text));
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            if bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
            {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    found
}

#[test]
fn a_key_that_is_entered_works_at_once_and_is_seen_nowhere() {
    let home = Home::new();
    let refused = json!({"error": {"message": "Invalid API Key", "code": "invalid_api_key"}});
    let refused = Answer::json(&refused).with_status(401);
    let server = Server::with([
        Exchange::get("/models").answer(refused),
        Exchange::get("/models").answer(models(&["openai/gpt-oss-120b"])),
        Exchange::post("/chat/completions").answer(says("Hello at last.")),
        Exchange::post("/chat/completions").answer(says("Still here.")),
    ]);
    let mut command = bare(&home);
    command.env("MARVIN_URL_GROQ", server.url("/v1"));
    let mut first = command_with(&command, &home);
    first.arg("Good morning.");
    let pty = Pty::spawn(&first, (100, 24));
    pty.wait_text(TITLE);
    pty.send("\x1b[B");
    selects(&pty, &["Enter a key"]);
    pty.send("\r");
    pty.wait_text("Key for: Enter chooses");
    pty.send("groq");
    selects(&pty, &["groq", "gpt-oss"]);
    pty.send("\r");
    pty.wait_text("Key for groq: Enter, Esc goes back");
    pty.wait_text("~/.ssh/GROQ_API_KEY");
    pty.paste("gsk-wrong\n");
    pty.wait_text("› •••••••••");
    pty.send("\r");
    pty.wait_text("refused the key");
    assert!(!home.has(".ssh/GROQ_API_KEY"), "a refused key is kept");
    pty.send(KEY);
    pty.send("\r");
    // The prompt of the command line has waited for this.
    pty.wait_text("Hello at last.");
    assert_eq!(last_sent(&server, 2), "Good morning.");
    assert_eq!(
        server.request(2).header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    pty.screen().assert_lacks(&["gsk-"]);
    pty.send("\x1b[A");
    pty.wait_for("the history", |screen| {
        input(screen).contains("Good morning.")
    });
    pty.send("\x15");
    let raw = pty.raw();
    quit(pty, &home);
    assert!(
        !String::from_utf8_lossy(&raw).contains("gsk-"),
        "the terminal got it"
    );
    assert_eq!(files_with(&home.path(), "gsk-"), ["GROQ_API_KEY"]);
    let file = home.path().join(".ssh/GROQ_API_KEY");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    home.read("config/config.yaml")
        .assert_has(&["LLM_PROVIDER: groq"]);
    let pty = Pty::spawn(&command, (100, 24));
    pty.wait_text("groq (openai/gpt-oss-120b)");
    pty.enter("And now?", "Still here.");
    quit(pty, &home);
}

/// A second command with the same environment.
fn command_with(command: &Command, home: &Home) -> Command {
    let mut other = Command::new(command.get_program());
    other.current_dir(home.work());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            other.env(name, value);
        }
    }
    other
}

#[test]
fn a_server_that_is_found_is_the_first_choice() {
    let home = Home::new();
    let server = serving(&["text-embedding-small", "qwen3:4b"], [says("From here.")]);
    let mut command = bare(&home);
    command.env("LMSTUDIO_URL", server.url("/v1"));
    let pty = Pty::spawn(&command, SIZE);
    selects(&pty, &["LM Studio on this machine: qwen3:4b"]);
    pty.screen().assert_lacks(&["embedding"]);
    pty.send("\r");
    pty.wait_text("lmstudio answers, with qwen3:4b");
    pty.enter("hello", "From here.");
    assert_eq!(server.request(message(&server)).json()["model"], "qwen3:4b");
    quit(pty, &home);
    home.read("config/config.yaml")
        .assert_has(&["LLM_PROVIDER: lmstudio", "LMSTUDIO_MODEL: qwen3:4b"]);
}

#[test]
fn a_server_of_ones_own_is_asked_for_its_models() {
    let home = Home::new();
    let key = json!({"error": {"message": "No key", "code": "invalid_api_key"}});
    let server = Server::with([
        Exchange::get("/models").answer(Answer::json(&key).with_status(401)),
        Exchange::get("/models").answer(models(&["small", "large"])),
        Exchange::post("/chat/completions").answer(says("From afar.")),
        Exchange::post("/chat/completions").answer(says("From afar again.")),
    ]);
    let command = bare(&home);
    let pty = Pty::spawn(&command, SIZE);
    pty.wait_text(TITLE);
    pty.send("\x1b[B\x1b[B");
    selects(&pty, &["A server of your own"]);
    pty.send("\r");
    pty.wait_text("Address of an OpenAI-compatible server");
    pty.enter("here:8000", "That is not the address of a server.");
    pty.send(format!("{}\r", server.url("/v1")));
    pty.wait_text("The server wants a key.");
    pty.send(format!("{KEY}\r"));
    pty.wait_text("Models of the server: Enter chooses");
    pty.send("\x1b[B");
    selects(&pty, &["small"]);
    pty.send("\r");
    pty.wait_text("openai-compat answers, with small");
    pty.enter("hello", "From afar.");
    assert_eq!(server.request(2).json()["model"], "small");
    quit(pty, &home);
    assert_eq!(files_with(&home.path(), KEY), ["OPENAI_COMPAT_API_KEY"]);
    let pty = Pty::spawn(&command, SIZE);
    pty.wait_text("openai-compat (small)");
    pty.enter("hello", "From afar again.");
    quit(pty, &home);
}

#[test]
fn who_works_without_a_model_is_not_asked_again_until_they_ask() {
    let home = Home::new();
    home.write("work/src/lib.rs", "// here\n");
    let command = bare(&home);
    let mut first = command_with(&command, &home);
    first.arg("show the tree");
    let pty = Pty::spawn(&first, SIZE);
    pty.wait_text(TITLE);
    pty.screen().assert_lacks(&["lib.rs"]);
    pty.send("\x1b[F");
    selects(&pty, &["Work without a language model"]);
    pty.send("\r");
    pty.wait_text("lib.rs");
    quit(pty, &home);
    let pty = Pty::spawn(&command, SIZE);
    pty.wait_text("To give me something to think with: /model");
    assert!(!pty.screen().contains(TITLE), "{}", pty.screen());
    pty.enter("/model", TITLE);
    // Back from a step to the list, from the list to the conversation.
    pty.send("\x1b[B");
    selects(&pty, &["Enter a key"]);
    pty.send("\r");
    pty.wait_text("Esc goes back");
    pty.send("\x1b");
    pty.wait_text(TITLE);
    pty.send("\x1b");
    pty.wait_text("No language model answers; /model brings the choice back.");
    pty.enter("show the tree", "lib.rs");
    quit(pty, &home);
    // A key that comes later is used all the same.
    let mut later = command_with(&command, &home);
    later.env("GROQ_API_KEY", "k");
    let pty = Pty::spawn(&later, SIZE);
    pty.wait_text("groq (openai/gpt-oss-120b)");
    quit(pty, &home);
}

#[test]
fn esc_goes_on_without_and_asks_at_the_next_start() {
    let home = Home::new();
    let command = bare(&home);
    // The second start shows the answer of the first.
    for answers in 1..=2 {
        let pty = Pty::spawn(&command, SIZE);
        pty.wait_text(TITLE);
        pty.send("\x1b");
        pty.wait_text("convert 5 miles to km");
        pty.send("convert 5 mi to km\r");
        pty.wait_for("one more answer", |screen| {
            screen.contents().matches("8.04672").count() == answers
        });
        quit(pty, &home);
    }
}

#[test]
fn what_is_typed_before_the_list_comes_is_a_message() {
    let home = Home::new();
    let latch = Latch::new();
    let server = Server::with([
        Exchange::get("/v1/models").answer(models(&["qwen3:4b"]).head_after(&latch)),
        Exchange::get("/api/v0/models")
            .answer(Answer::status(404))
            .any_times(),
        Exchange::post("/chat/completions").answer(says("Heard.")),
    ]);
    let mut command = bare(&home);
    command.env("LMSTUDIO_URL", server.url("/v1"));
    let pty = Pty::spawn(&command, SIZE);
    server.wait_requests(1, crate::stage::LIMIT);
    pty.send("hello the");
    pty.wait_for("the draft", |screen| input(screen).contains("hello the"));
    latch.open();
    // The list waits for the rest of the line.
    pty.send("re");
    pty.wait_for("the draft", |screen| input(screen).contains("hello there"));
    pty.send("\r");
    selects(&pty, &["LM Studio on this machine: qwen3:4b"]);
    assert_eq!(server.requests().len(), 1);
    pty.send("\r");
    pty.wait_text("Heard.");
    assert_eq!(last_sent(&server, message(&server)), "hello there");
    quit(pty, &home);
}

#[test]
fn a_check_that_hangs_ends_with_esc() {
    let home = Home::new();
    let latch = Latch::new();
    let list = models(&["m"]).head_after(&latch);
    let server = Server::with([Exchange::get("/models").answer(list)]).lenient();
    let mut command = bare(&home);
    command.env("MARVIN_URL_GROQ", server.url("/v1"));
    let pty = Pty::spawn(&command, SIZE);
    pty.wait_text(TITLE);
    pty.send("\x1b[B");
    selects(&pty, &["Enter a key"]);
    pty.send("\r");
    pty.wait_text("Key for: Enter chooses");
    pty.enter("groq", "Key for groq: Enter");
    pty.send(format!("{KEY}\r"));
    pty.wait_text("check the key with groq");
    pty.send("\x1b");
    pty.wait_text(TITLE);
    latch.open();
    pty.send("\x1b");
    pty.wait_text("something to think with: /model");
    quit(pty, &home);
    assert_eq!(files_with(&home.path(), KEY), [] as [&str; 0]);
}

#[test]
fn the_sign_in_of_copilot_has_the_terminal_and_gives_it_back() {
    let home = Home::new();
    // Nobody is signed in: the CLI of this test does not speak the protocol.
    let script = "#!/bin/sh\n[ \"$1\" = login ] || exit 3\necho \"Enter the code ABCD-1234 at github.com\"\nread answer\necho \"got $answer\" > \"$HOME/signed\"\n";
    let cli = home.program("copilot", script);
    let mut command = bare(&home);
    command.env("MARVIN_COPILOT_CLI", &cli);
    let pty = Pty::spawn(&command, SIZE);
    selects(
        &pty,
        &["Sign in to GitHub Copilot", "here in this terminal"],
    );
    pty.send("\r");
    pty.wait_text("ABCD-1234");
    assert!(!pty.screen().contains(TITLE), "{}", pty.screen());
    pty.send("done\r");
    // It did not help, so the list is there again.
    pty.wait_text(TITLE);
    assert_eq!(home.read("signed"), "got done\n");
    pty.send("\x1b");
    pty.wait_text("something to think with: /model");
    quit(pty, &home);
}

#[test]
fn plain_lines_have_a_numbered_choice() {
    let home = Home::new();
    let server = Server::with([
        Exchange::get("/models").answer(models(&["openai/gpt-oss-120b"])),
        Exchange::post("/chat/completions").answer(says("Hello.")),
    ]);
    let mut command = bare(&home);
    command
        .env("MARVIN_URL_GROQ", server.url("/v1"))
        .args(["--plain", "Good morning."]);
    let mut pty = Pty::spawn(&command, (100, 40));
    pty.wait_text("No language model is set up. What should answer?");
    pty.wait_text("2  Enter a key");
    pty.wait_text("Its number, or Enter to go on without: ");
    pty.enter("2", "A key for which provider?");
    pty.wait_text("4  groq");
    pty.wait_text("Its number, or Enter to go back: ");
    pty.enter("4", "Key for groq, or Enter to go back: ");
    pty.send(format!("{KEY}\r"));
    pty.wait_text("Hello.");
    assert!(
        !String::from_utf8_lossy(&pty.raw()).contains("gsk-"),
        "{}",
        pty.screen()
    );
    assert_eq!(last_sent(&server, 1), "Good morning.");
    pty.wait_text("You: ");
    pty.control('d');
    assert_eq!(pty.wait().code(), Some(0));
    assert_eq!(files_with(&home.path(), "gsk-"), ["GROQ_API_KEY"]);
}

#[test]
fn a_pipe_gets_words_and_no_question() {
    let home = Home::new();
    let server = unasked();
    let run = home
        .marvin()
        .env("OLLAMA_URL", "http://127.0.0.1:9")
        .env("MARVIN_URL_OPENAI", server.url("/v1"))
        .arg("--plain")
        .stdin("convert 5 mi to km\n")
        .run();
    let done = run.expect(0);
    let text = done.text();
    text.assert_has(&["8.04672", "export OPENAI_API_KEY=…"]);
    text.assert_lacks(&["Its number"]);
    let run = home
        .marvin()
        .env("OLLAMA_URL", "http://127.0.0.1:9")
        .args(["--non-interactive", "--prompt", "What is rain?"])
        .run();
    run.expect(1).stdout_lacks(&["Its number"]);
}
