#!/bin/sh
# Puts uv, yt-dlp, gh and a Python with feedparser into a folder for the tests that run the real programs. As root it also installs
# lynx, and Chromium with its driver, which do not work from a folder; nothing else is installed on the system:
#   PATH="$(scripts/world-tools.sh)/bin:$PATH" cargo test --test suite downloads::
# The tests of pages (cargo test web) find theirs on the usual PATH.
set -eu
dir=${1:-${TMPDIR:-/tmp}/marvin-world-tools}
mkdir -p "$dir/bin"
cd "$dir"
[ -x venv/bin/uv ] || { python3 -m venv venv && venv/bin/pip -q install uv yt-dlp; } >&2
for name in uv yt-dlp; do ln -sf "$dir/venv/bin/$name" bin/; done
venv/bin/python3 -c 'import feedparser' 2>/dev/null || venv/bin/pip -q install feedparser >&2 || echo "feedparser could not be fetched; its test skips" >&2
printf '#!/bin/sh\nexec "%s/venv/bin/python3" "$@"\n' "$PWD" >bin/feedparser-python
chmod +x bin/feedparser-python
if [ ! -x gh/usr/bin/gh ] && command -v apt-get >/dev/null; then
    # Debian's package, only unpacked: nothing is installed.
    { apt-get download gh && dpkg -x gh_*.deb gh; } >&2 || echo "gh could not be fetched; its test skips" >&2
fi
[ -x gh/usr/bin/gh ] && ln -sf "$dir/gh/usr/bin/gh" bin/
packages=
command -v lynx >/dev/null || packages="$packages lynx"
command -v chromedriver >/dev/null || command -v geckodriver >/dev/null || packages="$packages chromium chromium-driver"
if [ -n "$packages" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        # shellcheck disable=SC2086
        apt-get install -y -qq --no-install-recommends $packages >&2 || echo "could not install:$packages; their tests skip" >&2
    else
        echo "not installed:$packages; their tests skip" >&2
    fi
fi
echo "$dir"
