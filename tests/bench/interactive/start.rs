//! From the start of the program to its first frame, with everything that could be slow around it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::Row;
use crate::place::{FRAME_END, Home, LIMIT, marvin, median, ms};
use crate::provider::Provider;
use crate::terminal::Terminal;

const ROUNDS: usize = 41;
/// [`FRAME_END`] as text.
const FRAME_SHOWN: &str = "\x1b[?25h";
/// Questions that a terminal would answer: attributes, the cursor's place, colours, modes, names.
const QUESTIONS: [&str; 9] = [
    "\x1b[c", "\x1b[6n", ";?\x07", ";?\x1b\\", "$p", "\x1b[>c", "\x1b[>0c", "\x1b[>q", "\x1b[?u",
];

/// The rows of all programs, run in turn.
pub fn rows() -> Vec<Row> {
    let provider = Provider::start();
    let (empty, long) = (Home::new(0), Home::new(100_000));
    let mut times: [Vec<f64>; 5] = Default::default();
    let mut asks = false;
    let aichat = aichat();
    for _ in 0..ROUNDS {
        let mut cat = Command::new("/bin/echo");
        cat.arg("> ");
        times[0].push(until(&mut cat, b"> "));
        let mut version = Command::new(marvin());
        version.env_clear().arg("--version");
        times[1].push(until(&mut version, b"\n"));
        for (at, home) in [(2, &empty), (3, &long)] {
            let terminal = Terminal::start(&mut home.marvin(&provider), false);
            let framed = terminal.wait(FRAME_END, 0, LIMIT).expect("a first frame");
            times[at].push((framed - terminal.began).as_secs_f64());
            let text = terminal.text();
            assert!(
                text.contains('>'),
                "a first frame without its prompt: {text:?}"
            );
            // What is asked after the frame delays nothing.
            let frame = text.split(FRAME_SHOWN).next().unwrap_or_default();
            asks |= QUESTIONS.iter().any(|question| frame.contains(question));
        }
        if let Some(aichat) = &aichat {
            times[4].push(peer(aichat, &empty, &provider));
        }
    }
    let ratio = |at: usize| {
        let pairs = times[at].iter().zip(&times[1]);
        median(pairs.map(|(a, b)| a / b).collect())
    };
    // Other work on the machine only ever adds: the fastest run of each is the one least disturbed.
    let best = |at: usize| times[at].iter().copied().fold(f64::MAX, f64::min);
    let figures = |at: usize| {
        format!(
            "fastest {}, {:.2} x; median {}, {:.2} x",
            ms(best(at)),
            best(at) / best(1),
            ms(median(times[at].clone())),
            ratio(at)
        )
    };
    let mut rows = vec![
        Row {
            what: "start to the first line, `echo`".to_owned(),
            wanted: "",
            measured: figures(0),
            holds: None,
        },
        Row {
            what: "start to the line, `marvin --version`".to_owned(),
            wanted: "",
            measured: figures(1),
            holds: None,
        },
    ];
    for (at, what) in [
        (2, "start to first frame"),
        (3, "the same, chat log of 100,000 entries"),
    ] {
        rows.push(Row {
            what: what.to_owned(),
            wanted: "at most 3 x `--version`",
            measured: figures(at),
            holds: Some(best(at) / best(1) <= 3.0 && ratio(at) <= 3.0),
        });
    }
    if aichat.is_some() {
        rows.push(Row {
            what: "start to prompt, aichat (its questions answered at once)".to_owned(),
            wanted: "",
            measured: figures(4),
            holds: None,
        });
    }
    rows.push(Row {
        what: "questions to the terminal before the first frame".to_owned(),
        wanted: "none",
        measured: if asks { "some" } else { "none" }.to_owned(),
        holds: Some(!asks),
    });
    rows
}

fn until(command: &mut Command, what: &[u8]) -> f64 {
    let terminal = Terminal::start(command, false);
    let came = terminal.wait(what, 0, LIMIT).expect("its output");
    let took = (came - terminal.began).as_secs_f64();
    terminal.end();
    took
}

fn peer(program: &PathBuf, home: &Home, provider: &Provider) -> f64 {
    let config = home.path().join("aichat");
    fs::create_dir_all(&config).expect("a folder");
    let text = format!(
        "model: bench:bench\nsave: false\nclients:\n- type: openai-compatible\n  name: bench\n  api_base: http://127.0.0.1:{}/v1\n  api_key: x\n  models:\n  - name: bench\n",
        provider.port
    );
    fs::write(config.join("config.yaml"), text).expect("a configuration");
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", home.path())
        .env("TERM", "xterm-256color")
        .env("AICHAT_CONFIG_DIR", config);
    let terminal = Terminal::start(&mut command, true);
    // The prompt is what it writes last before it waits.
    let last = terminal.settled(0, Duration::from_millis(150), LIMIT);
    (last.expect("a prompt") - terminal.began).as_secs_f64()
}

fn aichat() -> Option<PathBuf> {
    let named = std::env::var_os("BENCH_AICHAT").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = || {
        std::env::split_paths(&path)
            .map(|dir| dir.join("aichat"))
            .find(|file| file.is_file())
    };
    named.or_else(found)
}
