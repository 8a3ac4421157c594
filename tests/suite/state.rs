//! State on disk when the disk is full and when many write at once: the answer is never lost, and neither is what was there.

use std::path::Path;

use crate::support::home::Home;
use crate::support::run::{Done, Marvin, program};
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::wire::openai;

/// Runs a shell script with `$MARVIN`, this home and, when `apart`, mounts of its own that are gone with it.
fn script(home: &Home, apart: bool, script: &str) -> Marvin {
    let run = if apart {
        let unshare = program("unshare").expect("unshare on PATH");
        Marvin::new(&unshare).args(["--map-root-user", "--mount", "sh"])
    } else {
        Marvin::new(Path::new("/bin/sh"))
    };
    run.env("MARVIN", env!("CARGO_BIN_EXE_marvin"))
        .env("HOME", home.path())
        .env("MARVIN_CONFIG_DIR", home.config())
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .dir(&home.work())
        .args(["-c", script])
}

/// Whether mounts of one's own are allowed here.
fn can_mount(test: &str) -> bool {
    let home = Home::new();
    let able = program("unshare").is_some()
        && script(&home, true, "mount -t tmpfs tmpfs \"$HOME\"")
            .run()
            .code()
            == Some(0);
    if !able {
        skip(test, "a process may not have mounts of its own here");
    }
    able
}

fn says_ok() -> Server {
    Server::answering(|_, _| {
        let stream = openai::Stream::new().text(&["ok"]).finish("stop");
        Answer::sse(stream.usage(1_000, 100).done())
    })
}

const ASK: &str = "\"$MARVIN\" --non-interactive --provider openai-compat --model m --prompt hi";
/// A disk of 64 kB with `usage.json` on it and no space left.
const FULL: &str = "mount -t tmpfs -o size=64k tmpfs \"$MARVIN_CONFIG_DIR\" && cd \"$MARVIN_CONFIG_DIR\" || exit 99
    echo '{\"total_llm_turns\": 41}' > usage.json
    cat /dev/zero > filler 2>/dev/null
    cd -";

#[test]
fn a_full_disk_costs_no_answer_and_no_old_count() {
    if !can_mount("a_full_disk_costs_no_answer_and_no_old_count") {
        return;
    }
    let (home, server) = (Home::new(), says_ok());
    let text = format!(
        "{{ {FULL}\n}} >&2; {ASK}; status=$?; cat \"$MARVIN_CONFIG_DIR/usage.json\"; ls -A \"$MARVIN_CONFIG_DIR\"; exit $status"
    );
    let output = script(&home, true, &text)
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .run()
        .expect(0);
    let mut lines = output.text().lines();
    assert_eq!(lines.next(), Some("ok"));
    assert_eq!(lines.next(), Some("{\"total_llm_turns\": 41}"));
    let left: Vec<_> = lines.collect();
    assert!(left.iter().all(|name| !name.contains(".tmp")), "{left:?}");
    let errors = output.errors();
    for file in ["usage.json", "cost"] {
        let told = |line: &str| line.contains(file) && line.contains("no space left");
        assert!(errors.lines().any(told), "nothing of {file} in {errors}");
    }
    output.cost();
}

#[test]
fn standard_output_on_a_full_disk_is_a_failure_and_standard_error_is_not() {
    let (home, server) = (Home::new(), says_ok());
    let run = |to: &str| -> Done {
        script(&home, false, &format!("{ASK} {to}"))
            .env("OPENAI_COMPAT_URL", server.url("/v1"))
            .run()
    };
    let output = run("> /dev/full").expect(1);
    let told = "Error: Cannot write the answer to standard output: no space left on device.";
    assert!(output.errors().contains(told), "{}", output.errors());
    output.cost();
    assert_eq!(run("2> /dev/full").expect(0).text(), "ok\n");
}
