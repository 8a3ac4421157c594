#!/bin/sh
# Marvin at work without a model: reads, searches and edits a fresh git repository. Leaves nothing behind.
set -eu
marvin=$(cd "$(dirname "$0")/.." && pwd)/${CARGO_TARGET_DIR:-target}/release/marvin
case ${CARGO_TARGET_DIR:-} in /*) marvin=$CARGO_TARGET_DIR/release/marvin ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/project/src"
cd "$work/project"
git init -q
printf 'fn greet() -> &str {\n    // TODO: say it better\n    "hello wrold"\n}\n' > src/greet.rs
printf '# A small project\n\nIt greets.\n' > README.md
ask() {
    printf '\n$ marvin --non-interactive --prompt "%s"\n' "$1"
    HOME="$work" MARVIN_CONFIG_DIR="$work/config" "$marvin" --non-interactive --provider offline --prompt "$1"
}
ask "show the tree"
ask "commit Begin"
ask "find wrold"
ask "replace wrold with world in src/greet.rs"
ask "git diff"
ask "commit Fix the greeting"
ask "git log"
printf '\nThat was Marvin without a model. Set a key and ask it anything: see README.md.\n'
