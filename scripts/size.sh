#!/bin/sh
# The release binary must stay at or below 14 MB.
set -eu
binary=${CARGO_TARGET_DIR:-target}/release/marvin
bytes=$(wc -c < "$binary")
echo "$binary: $bytes bytes"
[ "$bytes" -le 14000000 ] || { echo "over the budget of 14,000,000 bytes" >&2; exit 1; }
