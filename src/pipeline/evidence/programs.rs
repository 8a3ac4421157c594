//! Programs that start what they are given, and how they are given it. A program of the system that is not named here starts nothing of a project.

use crate::base::word_list::WordList;

/// Programs that run a file, or code on their command line: their names, the letters of options before code, and the options with which they only look at a
/// file or say something about themselves.
pub(super) const INTERPRETERS: [(WordList, &str, WordList); 8] = [
    row(SHELLS.0, "c", "-n"),
    row("python pypy", "c", "-V -h"),
    row("node nodejs", "ep", "-c -h -v"),
    row("ruby jruby perl", "eE", "-c -h -v"),
    row("php", "r", "-h -i -l -m -v"),
    row("java kotlin scala", "", "-help -version"),
    row("expect osascript tclsh wish", "ce", "-v"),
    row(
        "bc dc elixir escript guile julia lua luajit mono octave Rscript sbcl ts-node tsx",
        "e",
        "-v",
    ),
];
pub(super) const SHELLS: WordList = WordList("ash bash dash fish ksh mksh sh zsh");

const fn row(
    names: &'static str,
    code: &'static str,
    looks: &'static str,
) -> (WordList, &'static str, WordList) {
    (WordList(names), code, WordList(looks))
}

/// Programs that are given code where others have a file, and a file of code with an option; and the names of that option.
pub(super) const PROGRAMMED: WordList = WordList("awk gawk gsed jq mawk nawk sed");
pub(super) const CODE_FILES: WordList = WordList("-f --file --from-file");

/// Options of any of them with which it runs nothing.
pub(super) const ASKS: WordList = WordList(
    "--check --collect-only --dry-run --help --just-print --list --syntax-check --version -V",
);

/// Programs, and modules of Python, that start what they are given whatever it is: tests, servers, machines.
pub(super) const STARTERS: WordList = WordList(
    "bats behave cProfile caddy coverage ctest doctest electron flask godot gunicorn http hugo \
     hypercorn jekyll jest love mocha nginx nox pdb phpunit py.test pytest qemu-system-x86_64 \
     rspec runpy streamlit tox unittest uvicorn vitest wine",
);

/// Tools that run the project where one of these words says so.
pub(super) const BUILDERS: WordList = WordList(
    "bun cabal cargo crystal dart deno docker docker-compose dotnet flutter go lein mix nim npm \
     pnpm podman rails stack swift yarn",
);
pub(super) const RUNS: WordList = WordList(
    "bench dev exec miri nextest phx.server preview r restart run run-script runner s server \
     serve start t task test up watch web",
);
/// Those that know scripts of the project by their names.
pub(super) const SCRIPTED: WordList = WordList("bun deno npm pnpm yarn");
/// Tools that run what they are told by its name.
pub(super) const MAKERS: WordList =
    WordList("gmake gradle gradlew inv invoke just make meson mvn mvnw ninja rake sbt task zig");
/// What such a name means when nothing is run.
pub(super) const PREPARES: WordList = WordList(
    "all assemble build clean compile deps docs fmt format help init install lint list package \
     setup typecheck",
);
/// What a tool says that has nothing to run, and a client whom nobody answers.
pub(super) const NOT_STARTED: [&str; 5] = [
    "No rule to make target",
    "issing script",
    "could not find `Cargo.toml`",
    "Failed to connect",
    "onnection refused",
];

/// Programs that talk to one that runs, and marks of an address on this machine.
pub(super) const CLIENTS: WordList = WordList(
    "ab chromium chromium-browser curl firefox google-chrome grpcurl hey http https lynx nc ncat \
     netcat socat telnet w3m websocat wget wrk wscat xh",
);
pub(super) const OWN_ADDRESSES: WordList = WordList("localhost 127.0.0. [::1] 0.0.0.0 file://");

/// Programs that start others, besides those that permissions know.
pub(super) const WRAPPERS: WordList =
    WordList("bunx entr eval faketime gdb hyperfine lldb npx pnpx screen script tmux uvx");
/// Those that do it where packages of the project are, most of them after a word for it.
pub(super) const ENVIRONMENTS: WordList =
    WordList("bundle conda hatch mise pdm pipenv pipx pixi poetry rye uv");

/// Tools of developers, which are often outside of the system's folders.
pub(super) const TOOLS: WordList = WordList(
    "ast-grep bat biome black eslint fd flake8 gofmt golangci-lint isort mypy pip prettier pylint \
     pyright rg ruff rustc rustfmt rustup sg shellcheck shfmt stylelint tk tsc yapf",
);
/// Words of the shell itself.
pub(super) const BUILTINS: WordList = WordList(
    ". : [[ alias bg case cd continue declare exit export fg for hash jobs let local popd pushd \
     read return set shift shopt source trap type ulimit umask unset wait",
);
/// Folders of programs that come with the system.
pub(super) const SYSTEM: WordList = WordList(
    "/bin /sbin /usr/bin /usr/sbin /opt/homebrew/bin /opt/local/bin /run/current-system/sw/bin",
);

/// Parts of code that starts a program or talks to one, and words before what code loads.
pub(super) const STARTS: WordList = WordList(
    "subprocess spawn popen exec( execFile execSync execv os.system system(\" system(' localhost \
     127.0.0. [::1]",
);
pub(super) const LOADS: WordList = WordList(
    "__import__ dofile from import import_module include load loadfile require require_once \
     require_relative run_module run_path source use using",
);
/// Endings of files that hold nothing to run.
pub(super) const DATA: WordList = WordList(
    "cfg conf css csv gif html ico ini jpg json lock log md pdf png rst svg toml txt xml yaml yml",
);

/// What is said of a file that is not there, before its name and behind it.
pub(super) const MISSING_BEFORE: [&str; 6] = [
    "can't open",
    "cannot find",
    "could not find",
    "could not open",
    "no module named",
    "not found",
];
pub(super) const MISSING_BEHIND: [&str; 4] = [
    ": no such file",
    ": command not found",
    ": not found",
    ": permission denied",
];

/// How the log of calls goes on behind what a command printed: with its errors, and with how it ended.
pub(super) const ERRORS: &str = "stderr:";
pub(super) const ENDINGS: [&str; 4] = [
    "exit code: ",
    "killed by signal ",
    "timed out after ",
    "ended without a status",
];
