//! An obstacle in a file's place (a FIFO, a device, a folder, gigabytes): reported in time, and nothing hangs or fills up.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;

/// Longer than any of these may take, far shorter than for ever.
const SOON: Duration = Duration::from_secs(20);

/// Obstacles in a file's place.
const OBSTACLES: [&str; 4] = ["fifo", "folder", "zero", "huge"];

fn put(obstacle: &str, at: &Path) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    let _ = fs::remove_file(at);
    match obstacle {
        "fifo" => assert!(Command::new("mkfifo").arg(at).status().unwrap().success()),
        "folder" => fs::create_dir_all(at).unwrap(),
        "zero" => symlink("/dev/zero", at).unwrap(),
        _ => File::create(at).unwrap().set_len(3 << 30).unwrap(),
    }
}

/// Files that a run reads or adds to, from the home folder on.
const STATE_FILES: &str = "config/config.yaml config/usage.json config/.usage.json.spare config/usage.json.lock \
    config/bookmarks.json config/profiles/main/preferences.yaml \
    config/profiles/main/prefs.yaml config/profiles/main/cost-log.jsonl \
    config/profiles/main/bookmarks.json config/profiles/main/bookmarks.json.lock \
    config/profiles/main/chat_log.json config/profiles/main/tokens.json \
    config/profiles/main/tool-calls.jsonl work/AGENTS.md work/.marvin/spec.md \
    work/.marvin/instructions.md";

#[test]
fn a_run_ends_whatever_replaces_a_state_file() {
    let server = Server::answering(|request, _| {
        let messages = request.json()["messages"].clone();
        let answered = messages.as_array().unwrap().last().unwrap()["role"] == "tool";
        Answer::sse(match answered {
            false => openai::call(
                "a",
                "bookmark_save",
                json!({"url": "https://a.test/", "title": "A"}),
            ),
            true => openai::text(&["Here I am."]),
        })
    });
    for file in STATE_FILES.split_ascii_whitespace() {
        for obstacle in OBSTACLES {
            let home = Home::new();
            put(obstacle, &home.path().join(file));
            let start = Instant::now();
            let output = home.ask(&server.url("/v1"), "hi").run();
            assert!(start.elapsed() < SOON, "{file} as {obstacle}");
            let errors = output.errors();
            let last = errors.lines().last().unwrap_or_default();
            assert!(
                last.starts_with("MARVIN_COST:"),
                "{file} as {obstacle}: {errors}"
            );
        }
    }
}

#[test]
fn files_of_the_environment_do_not_hang_a_run() {
    let server = Server::always(says("ok"));
    for variable in ["MARVIN_PRICES", "MARVIN_MODELS", "MARVIN_SUBAGENT_LOG"] {
        for obstacle in OBSTACLES {
            let home = Home::new();
            let at = home.path().join("odd");
            put(obstacle, &at);
            let start = Instant::now();
            home.ask(&server.url("/v1"), "hi").env(variable, &at).run();
            assert!(start.elapsed() < SOON, "{variable} as {obstacle}");
        }
    }
}

#[test]
fn a_key_file_that_is_a_fifo_is_ignored() {
    let home = Home::new();
    put("fifo", &home.path().join(".ssh/GEMINI_API_KEY"));
    let run = home
        .marvin()
        .line("--non-interactive --provider gemini --prompt hi");
    run.fails(&["GEMINI_API_KEY"]);
}
