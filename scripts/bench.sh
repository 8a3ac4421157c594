#!/usr/bin/env bash
# Measures an installed copy of the release binary and writes tests/bench/RESULTS.md: one commit on one machine. Earlier tables are in the
# history of that file. Wants a quiet machine; `rg` and `curl` on PATH, and aichat (or BENCH_AICHAT), join the comparison. Words name the
# sections to measure (run, interactive, reply, choosing, files, services); without any it is all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
results=tests/bench/RESULTS.md

load() { cut -d' ' -f1 /proc/loadavg; }

cargo build --release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp target/release/marvin "$work/marvin"
export BENCH_MARVIN="$work/marvin"
before=$(load)

wanted="$*"

section() { # NAME TITLE WHAT
    case " ${wanted:-$1} " in *" $1 "*) ;; *) return 0 ;; esac
    printf '\n## %s\n\n%s\n\n' "$2" "$3"
    cargo bench --quiet --bench "$1"
}

{
    section run "Whole processes" "Against a server of the benchmark's own on loopback, in turn with plain sockets (\`floor\`) and the peers that are installed. Medians of paired runs."
    section interactive "The full screen" "The release binary on a terminal of its own."
    section reply "The reply flow" "Its own time for a reply, without the model's."
    section choosing "Choosing tools" "Whether a right tool is among those that a small model is shown, for 300 questions in eight languages; tokens of the list of tools."
    section files "Files of a user" "Whole calls of \`marvin tool\` and \`marvin tk\`."
    section services "Tools that use a service" "From the last byte of the service's reply to the text of the result, on the largest sample beside the checkout."
} >"$work/tables"

{
    printf '# Results\n\n'
    printf 'Written by `just bench`: commit %s, %s, load %s at the start%s.\n' "$(git describe --always --dirty)" "$(date -u +%F)" "$before" "${wanted:+; only $wanted}"
    printf '\n## Limits that do not hold\n\n'
    grep -F '**no**' "$work/tables" || printf 'All hold.\n'
    cat "$work/tables"
} >"$work/results"
mv "$work/results" "$results"
grep -F -A20 'Limits that do not hold' "$results" | sed '/^## Whole/,$d'
