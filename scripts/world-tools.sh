#!/bin/sh
# Puts uv, yt-dlp, gh and a Python with feedparser into a folder for the tests that run the real programs, without installing anything on the system:
#   PATH="$(scripts/world-tools.sh)/bin:$PATH" cargo test --test suite world::
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
    # Debian's package, unpacked beside: nothing is installed.
    { apt-get download gh && dpkg -x gh_*.deb gh; } >&2 || echo "gh could not be fetched; its test skips" >&2
fi
[ -x gh/usr/bin/gh ] && ln -sf "$dir/gh/usr/bin/gh" bin/
echo "$dir"
