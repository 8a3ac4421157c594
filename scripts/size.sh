#!/bin/sh
# Checks that the release binary stays within its budget.
set -eu
binary=${CARGO_TARGET_DIR:-target}/release/marvin
bytes=$(wc -c < "$binary")
echo "$binary: $bytes bytes"
[ "$bytes" -le 18000000 ] || { echo "over 18,000,000 bytes" >&2; exit 1; }
