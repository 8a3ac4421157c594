//! Programs that start what they are given, and how they are given it. A program of the system that is not named here does not start anything of a project.

use crate::base::word_list::WordList;

/// A program that runs a file, or code on its command line; its options as getopt reads them.
pub(super) struct Interpreter {
    pub names: WordList,
    /// Letters of options before code.
    pub code: &'static str,
    /// Letters of options with another value.
    pub values: &'static str,
    /// Letters of options with which it only looks at a file, or says something about itself.
    pub looks: &'static str,
}

pub(super) const INTERPRETERS: [Interpreter; 9] = [
    interpreter("ash bash dash fish ksh mksh sh zsh", "c", "oO", "n"),
    interpreter("python pypy", "c", "WX", "hV"),
    interpreter("node nodejs", "ep", "rC", "chv"),
    interpreter("ruby jruby", "e", "CEFIKr", "chv"),
    interpreter("perl", "eE", "DFIMm", "chv"),
    interpreter("php", "BERr", "cdSt", "hilmv"),
    interpreter("lua luajit", "e", "l", "v"),
    // Its options are words after one dash.
    interpreter("java kotlin scala", "", "", ""),
    interpreter(
        "elixir escript expect groovy guile julia mono ocaml octave osascript racket Rscript runghc \
         runhaskell sbcl swipl tclsh ts-node tsx wish",
        "ce",
        "",
        "",
    ),
];

const fn interpreter(
    names: &'static str,
    code: &'static str,
    values: &'static str,
    looks: &'static str,
) -> Interpreter {
    Interpreter {
        names: WordList(names),
        code,
        values,
        looks,
    }
}

/// Filters that run a file after this option.
pub(super) const FILTERS: WordList = WordList("awk gawk jq mawk sed");
pub(super) const FILTER_FILE: &str = "-f";

/// Modules of Python that start what they are given.
pub(super) const MODULES: WordList = WordList(
    "behave cProfile celery coverage daphne doctest flask gunicorn http hypercorn nox nose2 pdb \
     profile pytest robot runpy streamlit tox trace unittest uvicorn waitress",
);

/// Programs that know how the project is run, with the words after which they do; without any, after each that does not only prepare.
pub(super) const RUNNERS: [(WordList, WordList); 9] = [
    (
        WordList("cargo"),
        WordList("bench miri nextest r run t test"),
    ),
    (WordList("go"), WordList("run test")),
    (
        WordList("bun deno npm pnpm yarn"),
        WordList("dev e2e preview restart run run-script serve start t task test tst watch web"),
    ),
    (WordList("docker podman"), WordList("exec run start up")),
    (
        WordList("docker-compose podman-compose"),
        WordList("exec run start up"),
    ),
    (
        WordList("cabal crystal dart dotnet flutter lein mix nim rails stack swift"),
        WordList("exec phx.server r run runner s server test watch"),
    ),
    (WordList("vagrant kubectl helm"), WordList("exec run up")),
    (WordList("bazel buck"), WordList("run test")),
    (
        WordList(
            "ant gmake gradle gradlew inv invoke just mage make meson mvn mvnw ninja rake sbt task zig",
        ),
        WordList(""),
    ),
];

/// What a runner is asked for when it only makes ready.
pub(super) const PREPARES: WordList = WordList(
    "all assemble audit build clean compile deps doc docs fmt format help init install lint list \
     package setup type-check typecheck",
);
/// What a runner says when there is no such thing to run.
pub(super) const NOTHING_TO_RUN: [&str; 4] = [
    "No rule to make target",
    "issing script",
    "could not find `Cargo.toml`",
    "go.mod file not found",
];
/// Options with which a program only tells something.
pub(super) const ASKS: WordList =
    WordList("--collect-only --dry-run --help --just-print --list --recon --summary --version -V");

/// Programs that start what they are given whatever it is: tests, servers, machines.
pub(super) const STARTERS: WordList = WordList(
    "bats caddy ctest electron flask godot gunicorn hugo hypercorn jekyll jest love mocha nginx nox \
     phpunit py.test pytest qemu-system-x86_64 rspec streamlit tox uvicorn vitest wine",
);

/// Programs that talk to one that runs.
pub(super) const CLIENTS: WordList = WordList(
    "ab chromium chromium-browser curl firefox google-chrome grpcurl hey http https lynx nc ncat \
     netcat socat telnet w3m websocat wget wrk wscat xh",
);

/// Programs that start others, besides those that the shell's own commands go by.
pub(super) const WRAPPERS: WordList =
    WordList("entr eval faketime gdb hyperfine lldb screen script tmux");

/// The same in an environment that holds the project's packages, with the words after which they do; without any, always.
pub(super) const ENVIRONMENTS: [(WordList, WordList); 3] = [
    (
        WordList("bundle conda hatch mise pdm pipenv pipx pixi poetry rye uv"),
        WordList("exec run"),
    ),
    (WordList("bun npm pnpm yarn"), WordList("dlx exec x")),
    (WordList("bunx npx pnpx uvx"), WordList("")),
];

/// Tools of developers, which are often outside of the system's folders.
pub(super) const TOOLS: WordList = WordList(
    "ast-grep bat biome black clippy-driver eslint fd flake8 gofmt golangci-lint isort mypy pip \
     prettier pylint pyright rg ruff rustc rustfmt rustup sg shellcheck shfmt stylelint tk tsc yapf",
);

/// Words of the shell itself, which are no programs.
pub(super) const BUILTINS: WordList = WordList(
    ". : [[ alias bg break builtin case cd continue declare eval exit export fg for function hash in jobs let \
     local popd pushd read readonly return select set shift shopt source trap type typeset ulimit \
     umask unalias unset wait",
);

/// Folders of programs that come with the system.
pub(super) const SYSTEM: WordList = WordList(
    "/bin /sbin /usr/bin /usr/sbin /opt/homebrew/bin /opt/local/bin /run/current-system/sw/bin",
);

/// Parts of code that starts a program, or talks to one.
pub(super) const STARTS: [&str; 13] = [
    "subprocess",
    "spawn",
    "popen",
    "exec(",
    "execFile",
    "execSync",
    "execv",
    "os.system",
    "system(\"",
    "system('",
    "localhost",
    "127.0.0.",
    "[::1]",
];
/// Words of code before what it loads.
pub(super) const LOADS: WordList = WordList(
    "__import__ dofile from import import_module include load loadfile require require_once \
     require_relative run_module run_path source use using",
);

/// Marks of an address on this machine.
pub(super) const OWN_ADDRESSES: [&str; 5] =
    ["localhost", "127.0.0.", "[::1]", "0.0.0.0", "file://"];
/// What clients say when nobody answers.
pub(super) const UNANSWERED: [&str; 3] =
    ["onnection refused", "Failed to connect", "ould not connect"];

/// Endings of files that hold nothing to run.
pub(super) const DATA: WordList = WordList(
    "cfg conf css csv gif html ico ini jpg json lock log md pdf png rst svg toml txt xml yaml yml",
);

/// What is said of a file or a module that is not there, before its name and behind it.
pub(super) const MISSING_BEFORE: [&str; 6] = [
    "can't open",
    "cannot find",
    "could not find",
    "could not open",
    "no module named",
    "not found",
];
pub(super) const MISSING_BEHIND: [&str; 6] = [
    "no such file",
    "command not found",
    "not found",
    "permission denied",
    "cannot execute",
    "is a directory",
];
