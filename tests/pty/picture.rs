//! The picture of the README: a conversation on the full screen, drawn from the cells of the real program.

use std::path::Path;

use serde_json::json;

use crate::confirm::LIVE;
use crate::stage::{playing, quit};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::server::Answer;
use crate::support::snapshot;
use crate::support::wire::openai::Stream;
use crate::svg;

const SIZE: (u16, u16) = (104, 43);
/// The pictures' paths in the repository, as the README names them: their colours, and what the terminal says of its background.
const PICTURES: [(&str, &svg::Scheme, &str); 2] = [
    (
        "fixtures/readme/full-screen.svg",
        &svg::DARK,
        "rgb:0d0d/1111/1717",
    ),
    (
        "fixtures/readme/full-screen-light.svg",
        &svg::LIGHT,
        "rgb:ffff/ffff/ffff",
    ),
];

const MODEL: &str = "openai/gpt-oss-120b";

const TEST_BEFORE: &str = "\
use fetcher::{Client, Server};
use std::{thread, time::Duration};

#[test]
fn a_refused_request_is_sent_again() {
    let server = Server::start().refuse(2);
    thread::sleep(Duration::from_millis(50));
    let reply = Client::new(server.address()).get(\"/\");
    assert_eq!(reply.tries, 3);
}
";
const SLEEP: &str = "    thread::sleep(Duration::from_millis(50));\n";
const WAIT: &str = "    server.wait_ready();\n";

const SERVER: &str = "\
pub fn wait_ready(&self) {
    let limit = Instant::now() + START_TIMEOUT;
    while TcpStream::connect(self.address).is_err() && Instant::now() < limit {
        thread::sleep(Duration::from_millis(1));
    }
}
";

/// The end of the model's answer, before the code.
const EXPLANATION: &str = "\
Fixed, and still fixed two hundred runs later. The test gave its server **50 ms** to come up. On a busy \
machine that is not enough: the first request found nobody listening, and `tries` counted that too.

| machine | wanted | counted |
|---|---:|---:|
| idle | 3 | 3 |
| busy | 3 | 4 |

Now it waits for the port. The function was there all along, and nobody called it. I know the feeling.

";

/// The answer of the model to one request: a text, then calls of tools.
fn answer(text: &str, calls: &[(&str, serde_json::Value)], tokens: (u64, u64)) -> Answer {
    let mut stream = Stream::new();
    if !text.is_empty() {
        stream = stream.text(&[text]);
    }
    for (at, (name, args)) in calls.iter().enumerate() {
        stream = stream.call(at, &format!("call_{at}"), name, &args.to_string());
    }
    let reason = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    Answer::sse(stream.finish(reason).usage(tokens.0, tokens.1).done())
}

#[test]
fn the_picture_of_the_readme_is_what_the_program_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, scheme, background) in PICTURES {
        let drawn = drawn(scheme, background);
        snapshot::same_file(&root.join(path), &drawn);
        assert!(drawn.len() < 60_000, "{path}: {} bytes", drawn.len());
    }
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (path, ..) = PICTURES[0];
    assert!(readme.contains(path), "the README does not show {path}");
}

/// The conversation on a terminal with this background.
fn drawn(scheme: &svg::Scheme, background: &str) -> String {
    let home = Home::new();
    home.write("work/tests/retry.rs", TEST_BEFORE);
    home.write("work/src/server.rs", SERVER);
    home.write("work/test.sh", "echo \"200 of 200 runs passed\"\n");
    let patch = json!({"path": "tests/retry.rs", "old_str": SLEEP, "new_str": WAIT});
    let explanation = format!("{EXPLANATION}```rust\n{SERVER}```\n");
    let server = playing([
        answer(
            "A flaky test. They sleep, mostly. Let me find the one that does.",
            &[
                (
                    "code_grep",
                    json!({"pattern": "sleep", "glob_filter": "*.rs"}),
                ),
                ("read_file", json!({"path": "tests/retry.rs"})),
                ("read_file", json!({"path": "src/server.rs"})),
            ],
            (8_214, 61),
        ),
        answer("", &[("apply_patch", patch)], (8_701, 87)),
        answer(
            "",
            &[(
                "run_command",
                json!({"command": "sh test.sh retry --times 200"}),
            )],
            (8_865, 34),
        ),
        answer(&explanation, &[], (24_000, 214)),
    ]);
    // Fixed prices: real ones change.
    let prices = json!({MODEL: {"input": 0.35, "output": 0.75}});
    let prices = home.write("prices.json", prices.to_string());
    let mut command = Pty::command(env!("CARGO_BIN_EXE_marvin").as_ref(), &home);
    command
        .env("GROQ_URL", server.url("/v1"))
        .env("GROQ_API_KEY", "test-key")
        .env("MARVIN_PRICES", prices)
        .env("MARVIN_NOW", "2026-11-22T09:20:00+00:00[UTC]")
        .args(["--provider", "groq", "--model", MODEL])
        .args(["--tools", "files,coding,git,shell"]);
    let pty = Pty::spawn(&command, SIZE);
    pty.wait_text(MODEL);
    // The terminal says what its background is when it is asked.
    pty.wait_raw(b"\x1b]11;?\x1b\\", 1);
    pty.send(format!("\x1b]11;{background}\x1b\\"));
    pty.enter("The retry test is flaky. Find out why, and fix it.", LIVE);
    pty.send("y");
    pty.wait_text("3 msgs");
    pty.wait_text("· work");
    let drawn = pty.with(|screen| svg::draw(screen, "marvin", scheme));
    // What differs from run to run.
    let seconds = regex::Regex::new(r">\d+\.\ds<").unwrap();
    let drawn = seconds.replace_all(&drawn, ">0.0s<").into_owned();
    quit(pty, &home);
    drawn
}
