#!/bin/sh
# Builds the static binary for x86_64 musl and checks that it is one: it has no dynamic loader and runs in an empty root.
#
# Uses the toolchain's own musl standard library when it is installed. Otherwise it compiles the standard library from the
# distribution's packaged Rust sources, with zig (a Python package) as C compiler and linker; nothing is installed system-wide.
set -eu
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-musl
out=${CARGO_TARGET_DIR:-target}
if [ -z "${MARVIN_MUSL_KIT:-}" ] && ls "$(rustc --print sysroot)/lib/rustlib/$target/lib"/libstd-*.rlib >/dev/null 2>&1; then
    # Only ring needs a C compiler, and the default one is enough for it.
    command -v musl-gcc >/dev/null || export CC_x86_64_unknown_linux_musl=gcc
    cargo build --release --target $target
    binary=$out/$target/release/marvin
else
    kit=${MARVIN_MUSL_KIT:-$out/musl-kit}
    mkdir -p "$kit"
    kit=$(cd "$kit" && pwd)
    if [ ! -x "$kit/venv/bin/cargo-zigbuild" ]; then
        (cd "$kit" && apt-get -qq download rustc-web libstd-rust-web-1.96 libstd-rust-web-dev rust-web-src libllvm22)
        for package in "$kit"/*.deb; do dpkg-deb -x "$package" "$kit/root"; done
        python3 -m venv "$kit/venv"
        "$kit/venv/bin/pip" -q install 'ziglang==0.17.*' 'cargo-zigbuild==0.24.*'
    fi
    (
        export PATH="$kit/venv/bin:$PATH" RUSTC="$kit/root/usr/bin/rustc" RUSTC_BOOTSTRAP=1
        # Only for the packaged compiler: no other program may run under this path.
        export LD_LIBRARY_PATH="$kit/root/usr/lib/x86_64-linux-gnu:$kit/root/usr/lib"
        export RUSTFLAGS="-C link-self-contained=no" CARGO_TARGET_DIR="$out/musl"
        cargo zigbuild --release --target $target -Z build-std=std,panic_abort
    )
    binary=$out/musl/$target/release/marvin
fi
file "$binary"
if ldd "$binary" 2>&1 | grep -qv -e 'not a dynamic executable' -e 'statically linked'; then
    echo "$binary is not static" >&2
    exit 1
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$binary" "$root/marvin"
if chroot "$root" /marvin --version; then
    echo "static, and runs in an empty root: $binary"
else
    echo "could not be run in an empty root (chroot wants root rights)" >&2
    exit 1
fi
