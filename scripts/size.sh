#!/bin/sh
# Checks that the release binary has at most 18 MB.
set -eu
binary=${CARGO_TARGET_DIR:-target}/release/marvin
bytes=$(wc -c < "$binary")
echo "$binary: $bytes bytes"
[ "$bytes" -le 18000000 ] || { echo "over the budget of 18,000,000 bytes" >&2; exit 1; }
