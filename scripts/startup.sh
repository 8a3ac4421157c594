#!/usr/bin/env bash
# Rewrites scripts/startup.txt: the functions that a one-shot run executes, which the linker puts together (see scripts/build.rs).
# Wants valgrind and binutils. A list that is out of date costs start-up time and nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."

# A name may stand for instances of a generic function that are not needed; so many bytes of others are taken along.
others=12000

target=target/startup
cargo build --release --target-dir "$target" --bin marvin --example bench-server --config profile.release.strip=false
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home"
marvin=$PWD/$target/release/marvin

# The benchmark's server says its port and lives until its input ends.
coproc server { "$target/release/examples/bench-server"; }
read -r port <&"${server[0]}"
# The second run finds the state that the first one left.
for run in 1 2; do
  (cd "$work/home" && env -i HOME="$work/home" PATH="$PATH" \
    OPENAI_COMPAT_API_KEY=k OPENAI_COMPAT_URL="http://127.0.0.1:$port/one/v1" \
    valgrind --tool=callgrind --demangle=no --callgrind-out-file="$work/calls.$run" \
    "$marvin" --non-interactive --provider openai-compat --prompt hi) >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
done
eval "exec ${server[1]}>&-"

sed -nE "s/^c?fn=\([0-9]+\) ([^ ']+).*/\1/p" "$work"/calls.* | sort -u >"$work/run"
nm -S -t d "$marvin" | awk 'NF == 4 && tolower($3) == "t" {print $4, $2}' | sort -u >"$work/sizes"
{
  echo "# Functions that a one-shot run executes, as patterns of their symbols; written by scripts/startup.sh."
  # Names without the hashes that compilers and versions put into them.
  awk -v others="$others" '
    NR == FNR { run[$1]; next }
    {
      name = $1
      sub(/\.llvm\.[0-9]+$/, "", name)
      sub(/17h[0-9a-f]+E$/, "17h*", name)
      if (name ~ /^_R/) gsub(/Cs[0-9A-Za-z]+_/, "Cs*_", name)
      size = $2 + 0
      if ($1 in run) used[name] += size; else rest[name] += size
    }
    END { for (name in used) if (rest[name] <= others) print name }
  ' "$work/run" "$work/sizes" | LC_ALL=C sort
} >"$work/list"
mv "$work/list" scripts/startup.txt
echo "$(wc -l <scripts/startup.txt) lines in scripts/startup.txt"
