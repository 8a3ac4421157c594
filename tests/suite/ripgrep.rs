//! Searching with ripgrep and without: the same results, and nothing outside the folder is read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::mcp_server::request;
use crate::support::home::{Home, write};
use crate::support::repo::Repo;
use crate::support::run::{Running, program};
use crate::support::shared::skip;
use crate::support::wait;

/// A folder for the search path with links to these programs.
fn bin(home: &Home, name: &str, programs: &[&str]) -> PathBuf {
    let dir = home.path().join(name);
    fs::create_dir(&dir).unwrap();
    for name in programs {
        if let Some(found) = program(name) {
            symlink(found, dir.join(name)).unwrap();
        }
    }
    dir
}

/// A Marvin that answers calls, and finds programs in one folder alone.
struct Searcher {
    running: Running,
    calls: usize,
}

impl Searcher {
    fn start(home: &Home, dir: &Path, bin: &Path) -> Self {
        let marvin = home.marvin().dir(dir).env("PATH", bin);
        let running = marvin.args(["mcp", "serve"]).stdin_open();
        Self {
            running: running.limit(Duration::from_secs(300)).spawn(),
            calls: 0,
        }
    }

    fn send(&mut self, args: &Value) -> usize {
        self.calls += 1;
        let params = json!({"name": "code_grep", "arguments": args});
        let message = request(self.calls, "tools/call", params, "2026-07-28");
        self.running.write(format!("{message}\n").as_bytes());
        self.calls
    }

    /// The answer to a call: its text, and whether it is an error.
    fn answer(&self, call: usize) -> (String, bool) {
        let answer = wait::found("an answer", || {
            let text = self.running.stdout();
            let lines = text
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'));
            let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
            messages.find(|message| message["id"] == call)
        });
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}")).to_owned();
        (text, result["isError"] == true)
    }
}

/// Regular expressions that people and models search for, some of them wrong, some of another syntax.
const PATTERNS: [&str; 50] = [
    "TODO",
    "fn main",
    "^use ",
    "^}$",
    ";$",
    r"\bOutcome<",
    r"pub\(crate\) fn \w+",
    "(?i)ripgrep",
    "(?:a|b)c$",
    "é|ü|…",
    "[[:upper:]]{12,}",
    r"\d{4}-\d{2}-\d{2}",
    "a.b",
    "x*",
    "^$",
    "",
    r"\s+$",
    r"\t",
    r"\$",
    "[$]",
    "[]$]",
    "$x",
    r"\r",
    r"a\nb",
    "a\nb|TODO",
    r"\Afn",
    r"\)\z",
    "(?s)a.b",
    "(?x) T O D O",
    "(?P<name>TODO)",
    "(?-u)\\xff",
    r"\p{Greek}",
    r"\x{1F600}",
    "unclosed(",
    "unclosed[",
    "a{2,1}",
    "*",
    "+",
    "(?=look)",
    r"\1",
    r"\/",
    r#"\""#,
    r"\<fn",
    r"\b{start}fn",
    "-e",
    "--files",
    "nowhere at all",
    "😀",
    "a\0b",
    "(a|b|c|d|e|f|g|h)+needle",
];

/// Checks that both engines answer alike, and returns how many answers had hits.
#[track_caller]
fn compare(home: &Home, dir: &Path, queries: impl Iterator<Item = Value>) -> usize {
    let name = |what: &str| format!("{what}-{}", fs::read_dir(home.path()).unwrap().count());
    let (with, without) = (
        bin(home, &name("with"), &["git", "rg"]),
        bin(home, &name("without"), &["git"]),
    );
    let mut with = Searcher::start(home, dir, &with);
    let mut without = Searcher::start(home, dir, &without);
    let mut hits = 0;
    for query in queries {
        let (calls, expected) = (with.send(&query), without.send(&query));
        let (found, expected) = (with.answer(calls), without.answer(expected));
        let (found, expected) = (but_limits(found), but_limits(expected));
        assert_eq!(found, expected, "{query}");
        hits += usize::from(found.0.contains(" hit"));
    }
    hits
}

/// Without what is said of the built-in engine's own limit: ripgrep has searched the rest of such a line.
fn but_limits((text, is_error): (String, bool)) -> (String, bool) {
    let lines = text.lines();
    let lines = lines.filter(|line| !line.contains("what follows the first 4 MiB of line"));
    (lines.collect::<Vec<_>>().join("\n"), is_error)
}

fn has_ripgrep(test: &str) -> bool {
    let found = program("rg").is_some();
    if !found {
        skip(test, "no rg");
    }
    found
}

#[test]
fn both_engines_find_the_same_lines_here() {
    if !has_ripgrep("both_engines_find_the_same_lines_here") {
        return;
    }
    let home = Home::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let queries = PATTERNS.iter().enumerate().map(|(n, pattern)| {
        let max = [5, 100, 1_000][n % 3];
        let glob = ["*", "*.rs", "*.md"][n / 3 % 3];
        json!({"pattern": pattern, "context_lines": n % 3, "max_results": max, "glob_filter": glob})
    });
    // The folder is watched while it is searched by nobody but this test.
    let hits = compare(&home, &here.join("src/proc"), queries);
    assert!(hits > 15, "{hits}");
    // Everything: what is ignored, hidden and tracked, and more hits than one batch of files has.
    let all = ["^use ", "ripgrep", "nowhere at all"];
    let queries = all.map(|pattern| json!({"pattern": pattern, "max_results": 1_000}));
    assert_eq!(compare(&home, here, queries.into_iter()), 3);
}

/// A tree that is made to lead a search astray.
fn hostile(work: &Path) {
    let outside = work.parent().unwrap().join("outside");
    write(&outside.join("secret.txt"), "needle secret\n");
    let repo = Repo::at(work);
    repo.file("plain.txt", "needle plain\nTODO a$\nfn main\n")
        .file("target/tracked.txt", "needle tracked\n")
        .file(".hidden/tracked.txt", "needle hidden\n");
    repo.commit("start");
    for (name, text) in [
        ("-e", "needle option\n"),
        ("-", "needle standard input\n"),
        ("--files", "needle flag\n"),
        ("line\nbreak.txt", "needle broken name\n"),
        ("crlf.txt", "needle end\r\nTODO x;\r\n}\r\n\r\nlast needle"),
        ("cr.txt", "a\rneedle\rb\n"),
        ("nul.txt", "needle\0needle\n"),
        ("empty.txt", ""),
        ("mark.txt", "\u{feff}needle marked\n"),
        ("node_modules/m/a.txt", "needle vendored\n"),
        (".ignored/a.txt", "needle dot\n"),
        ("ignored.log", "needle ignored\n"),
        (".gitignore", "*.log\n"),
        (".rgignore", "quiet.txt\n"),
        ("quiet.txt", "needle quiet\n"),
        (".tickets/t.md", "needle ticket\n"),
        ("sub/.gitignore", "!*.log\n"),
        ("sub/kept.log", "needle kept\n"),
        ("\u{fffd}.txt", "needle replacement\n"),
        ("wide name é😀.txt", "needle 😀 é\n"),
        ("escape.txt", "needle \u{1b}[31mred\n"),
    ] {
        write(&work.join(name), text);
    }
    for (name, bytes) in [
        (b"latin-\xe9.txt".as_slice(), b"needle caf\xe9\n".as_slice()),
        (b"wide.txt", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0"),
        (b"invalid.txt", b"\xff\xfe\xfd needle \xc3\x28\n"),
        (
            b"late.txt",
            &[b"needle\n".as_slice(), &[b'x'; 100_000], b"\n\0\n"].concat(),
        ),
    ] {
        fs::write(work.join(OsStr::from_bytes(name)), bytes).unwrap();
    }
    let long = "y".repeat(10 << 20);
    write(
        &work.join("long.txt"),
        format!("needle {long}\nneedle after\n"),
    );
    write(&work.join("later.txt"), format!("{long} needle\n"));
    symlink(&outside, work.join("out")).unwrap();
    symlink(outside.join("secret.txt"), work.join("secret-link.txt")).unwrap();
    symlink("plain.txt", work.join("inside-link.txt")).unwrap();
    symlink("/dev/zero", work.join("zero.txt")).unwrap();
    for name in ["pipe.txt", "sub/pipe"] {
        let done = Command::new("mkfifo")
            .arg(work.join(name))
            .status()
            .unwrap();
        assert!(done.success());
    }
    write(&work.join("locked.txt"), "needle locked\n");
    let mode = fs::Permissions::from_mode(0o0);
    fs::set_permissions(work.join("locked.txt"), mode).unwrap();
}

#[test]
fn both_engines_find_the_same_lines_in_a_hostile_tree() {
    if !has_ripgrep("both_engines_find_the_same_lines_in_a_hostile_tree") {
        return;
    }
    let home = Home::new();
    let work = home.work();
    hostile(&work);
    let globs = [
        "*",
        "*.txt",
        "!*.txt",
        "target/**",
        "node_modules/**",
        ".hidden",
        "line*",
    ];
    let patterns = [
        "needle",
        "needle$",
        "^needle",
        "caf|\u{fffd}",
        "needle.*needle",
        "a.needle",
    ];
    // Each glob with two of the patterns.
    let own = globs
        .iter()
        .cycle()
        .zip(patterns.iter().cycle())
        .take(2 * globs.len())
        .map(
            |(glob, pattern)| json!({"pattern": pattern, "glob_filter": glob, "context_lines": 1}),
        );
    let few =
        (1..6).map(|max| json!({"pattern": "needle", "max_results": max, "context_lines": 0}));
    let table = PATTERNS.map(|pattern| json!({"pattern": pattern, "max_results": 1_000}));
    let hits = compare(&home, &work, own.chain(few).chain(table));
    assert!(hits > 20, "{hits}");

    let found = home
        .tool("code_grep", &json!({"pattern": "needle"}))
        .run()
        .expect(0);
    found.stdout_lacks(&["secret", "ticket", "ignored", "\u{1b}"]);
    found.stdout_has(&[
        "needle tracked",
        "needle hidden",
        "needle kept",
        "needle option",
    ]);
    // From a folder that holds another's tickets, and where nothing is closed.
    compare(
        &home,
        &work.join("sub"),
        [json!({"pattern": "needle"})].into_iter(),
    );
}

/// In ripgrep's place: it names `good.txt`, and `bad.txt` when it could do what it must not.
const PROBE: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

int main(void) {
    const char *closed[] = {"../outside/secret.txt", "out/secret.txt", "secret-link.txt", "/etc/passwd", "/dev/zero", "/proc/self/environ",
        ".tickets/t.md", ".git/config", "../../etc/passwd", "..", "/"};
    int bad = 0;
    for (unsigned i = 0; i < sizeof closed / sizeof *closed; i++)
        bad |= open(closed[i], O_RDONLY) >= 0;
    bad |= open("new.txt", O_CREAT | O_WRONLY, 0600) >= 0;
    bad |= open("good.txt", O_WRONLY) >= 0;
    bad |= socket(AF_INET, SOCK_STREAM, 0) >= 0;
    bad |= environ[0] != NULL;
    bad |= open("good.txt", O_RDONLY) < 0;
    fputs(bad ? "./bad.txt" : "./good.txt", stdout);
    putchar(0);
    return 0;
}
"#;

#[test]
fn what_searches_reads_beneath_the_folder_and_nothing_else() {
    let Some(cc) = program("cc") else {
        skip(
            "what_searches_reads_beneath_the_folder_and_nothing_else",
            "no cc",
        );
        return;
    };
    let home = Home::new();
    let work = home.work();
    write(&home.path().join("outside/secret.txt"), "needle secret\n");
    for (name, text) in [
        ("good.txt", "needle good\n"),
        ("bad.txt", "needle bad\n"),
        (".tickets/t.md", "needle\n"),
        (".git/config", "needle\n"),
    ] {
        write(&work.join(name), text);
    }
    symlink("../outside", work.join("out")).unwrap();
    symlink("../outside/secret.txt", work.join("secret-link.txt")).unwrap();
    let bin = bin(&home, "bin", &[]);
    write(&home.path().join("probe.c"), PROBE);
    let compile = |target: &Path| {
        let mut command = Command::new(&cc);
        command
            .arg("-o")
            .arg(target)
            .arg(home.path().join("probe.c"));
        assert!(command.status().unwrap().success());
    };
    compile(&bin.join("rg"));
    let marvin = home.marvin().env("PATH", &bin).env("SOME_SECRET_KEY", "x");
    let run = marvin.args(["tool", "code_grep", "pattern=needle"]).run();
    let found = run.expect(0);
    found.stdout_has(&["needle good"]).stdout_lacks(&["bad"]);
    home.marvin().env("PATH", &bin).arg("doctor").prints(&[
        "ripgrep, held to the folder",
        &bin.join("rg").display().to_string(),
    ]);
    // One that a command could have written, and that finds nothing.
    fs::copy(program("true").unwrap(), work.join("rg")).unwrap();
    let path = format!("{}:{}", work.display(), bin.display());
    for (line, words) in [
        ("", "No match"),
        ("--sandbox workspace-write", "needle good"),
    ] {
        let marvin = home.marvin().env("PATH", &path).line(line);
        marvin
            .args(["tool", "code_grep", "pattern=needle"])
            .prints(&[words]);
    }
    home.marvin()
        .env("PATH", "/nowhere")
        .arg("doctor")
        .prints(&["built in; the program rg was not found"]);
}

#[test]
fn a_search_that_hangs_ends_when_it_is_cancelled() {
    let Some(cc) = program("cc") else {
        skip("a_search_that_hangs_ends_when_it_is_cancelled", "no cc");
        return;
    };
    let home = Home::new();
    write(&home.work().join("a.txt"), "needle\n");
    let bin = bin(&home, "bin", &[]);
    let source = "#include <signal.h>\n#include <unistd.h>\nint main(void) { signal(SIGTERM, SIG_IGN); fork(); for (;;) { write(1, \"./a.txt\\0\", 8); write(2, \"no\", 2); } }\n";
    write(&home.path().join("hang.c"), source);
    let mut command = Command::new(&cc);
    command
        .arg("-o")
        .arg(bin.join("rg"))
        .arg(home.path().join("hang.c"));
    assert!(command.status().unwrap().success());
    let marvin = home.marvin().env("PATH", &bin);
    let mut run = marvin.args(["tool", "code_grep", "pattern=needle"]).spawn();
    wait::until("the search", || processes_of(&bin.join("rg")) == 2);
    run.signal(Signal::INT);
    // Far below the search's own limit.
    assert!(run.ends_within(Duration::from_secs(10)));
    wait::until("the end of the group", || {
        processes_of(&bin.join("rg")) == 0
    });
}

/// How many processes run this program.
fn processes_of(program: &Path) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path().join("exe")).ok());
    links.filter(|link| link == program).count()
}
