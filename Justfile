# Lists the recipes.
default:
    @just --list

# Builds the release binary.
build:
    cargo build --release

# Runs the tests.
test:
    cargo test

# Runs the tests as other users and with other time zones, locales and programs; needs root. `just machines user zone` selects some.
machines *names:
    scripts/machines.sh {{names}}

# Kills a run of the pipeline again and again, and looks at what comes out.
kills count="50":
    PIPELINE_KILLS={{count}} cargo test --test suite a_run_that_is_killed_again

# Formats the source.
fmt:
    cargo fmt

# Lints as CI does.
lint:
    cargo clippy --all-targets -- -D warnings

# What CI checks, except for the release build and its size.
check:
    cargo fmt --check
    just lint
    just test

# Measures Marvin against plain sockets, curl, ripgrep and aichat, and writes tests/bench/RESULTS.md. `just bench run reply` measures these alone.
bench *sections:
    scripts/bench.sh {{sections}}

# Asks a model the questions and conversations of fixtures/reply, prints a table, and keeps what went wrong in target/evaluate: `just evaluate gemma3:4b --limit 20`,
# `just evaluate gpt-5-mini --provider openai`, `just evaluate scripted:` for the scripted models.
evaluate model *options:
    cargo test --quiet --release --test evaluate -- --model {{model}} {{options}}

# Prints the prompts of the reply flow as a model gets them, each with its tokens.
prompts:
    cargo test --quiet --test evaluate -- --prompts

# Nanoseconds to decode one streamed piece.
bench-decode:
    cargo bench --bench decode

# Checks the size of the release binary.
size: build
    scripts/size.sh

# Lists anew what short runs enter, for the linker; needs valgrind. Worth it when much has moved: `just bench run` shows the peak.
order:
    scripts/start_order.py

# Builds the static binary.
musl:
    scripts/musl.sh

# Checks advisories, licences and sources; needs cargo-deny. The tests check the licences too.
deny:
    cargo deny --config scripts/deny.toml check

# Redraws the README's picture from the current program; a test fails when it is out of date.
picture:
    MARVIN_BLESS=1 cargo test --test pty picture

# Builds the documentation of the source.
docs:
    cargo doc --no-deps --document-private-items

# Runs a fuzz target of tests/fuzz for a while; needs cargo-fuzz and a nightly compiler. Inputs that break it end up in
# tests/fuzz/artifacts.
fuzz target seconds="480":
    cargo +nightly fuzz run --fuzz-dir tests/fuzz -s none {{target}} -- -max_len=4096 -timeout=5 -rss_limit_mb=1024 -max_total_time={{seconds}}

# Runs every fuzz target for a while, one after the other; stops at the first that finds something.
fuzz-all seconds="30":
    for target in $(cargo +nightly fuzz list --fuzz-dir tests/fuzz); do just fuzz $target {{seconds}} || exit 1; done
