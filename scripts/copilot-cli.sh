#!/bin/sh
# Puts the Copilot CLI that the tests are written for into a folder, for those that use the real one. It needs npm, and no login. Nothing is installed on the system:
#   MARVIN_TEST_COPILOT_CLI="$(scripts/copilot-cli.sh)" cargo test --test suite copilot_cli::
# The program of its platform is used, without the loader around it, which needs Node. It has 200 MB, and unpacks as much again at its first start.
set -eu
version=1.0.102
dir=${1:-${TMPDIR:-/tmp}/marvin-copilot-cli}
mkdir -p "$dir"
cd "$dir"
program() { find "$dir/node_modules/@github" -maxdepth 2 -type f -name copilot -path '*copilot-*/copilot' 2>/dev/null | head -n 1; }
if [ "$(cat installed 2>/dev/null)" != "$version" ] || [ -z "$(program)" ]; then
    npm install --no-save --no-audit --no-fund --silent "@github/copilot@$version" >&2
    echo "$version" >installed
fi
found=$(program)
[ -n "$found" ] || { echo "npm brought no program for this platform" >&2; exit 1; }
echo "$found"
