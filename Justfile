# Lists the recipes.
default:
    @just --list

# Builds the release binary.
build:
    cargo build --release

# Runs the tests.
test:
    cargo test

# The tests on machines unlike this one: other users, zones, locales, programs; wants root. `just machines user zone` for some of them.
machines *names:
    scripts/machines.sh {{names}}

# Formats the source.
fmt:
    cargo fmt

# Lints as CI does.
lint:
    cargo clippy --all-targets -- -D warnings

# What CI checks, but for the release build and its size.
check:
    cargo fmt --check
    just lint
    just test

# Measures Marvin against plain sockets, curl and aichat, then the full-screen interface; prints the tables.
bench:
    cargo bench --bench run
    cargo bench --bench interactive
    cargo bench --bench files
    cargo bench --bench services

# Nanoseconds that one streamed piece costs to decode.
bench-decode:
    cargo bench --bench decode

# Size of the release binary against its budget.
size: build
    scripts/size.sh

# The static binary.
musl:
    scripts/musl.sh

# Advisories, licences and sources; wants cargo-deny. The tests check the licences too.
deny:
    cargo deny --config scripts/deny.toml check

# Redraws the README's picture, from the program as it is; the tests say when it is out of date.
picture:
    MARVIN_BLESS=1 cargo test --test pty picture

# The documentation of the source.
docs:
    cargo doc --no-deps --document-private-items

# Feeds a fuzz target of tests/fuzz for a while; wants cargo-fuzz and a nightly compiler. Inputs that break it land in
# tests/fuzz/artifacts.
fuzz target seconds="480":
    cargo +nightly fuzz run --fuzz-dir tests/fuzz -s none {{target}} -- -max_len=4096 -timeout=5 -rss_limit_mb=1024 -max_total_time={{seconds}}
