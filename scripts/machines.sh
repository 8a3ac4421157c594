#!/usr/bin/env bash
# Runs the tests in environments unlike this one. Without arguments in three that together cover everything below; with names in those:
# `scripts/machines.sh user zone`, `scripts/machines.sh all`. What follows `--` goes to the test binaries: `scripts/machines.sh user -- tickets`.
# Prints a table; logs stay in target/machines.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT

# Each environment is a function that changes what its name says and then executes the test binary.
machine_here() { exec "$@"; }
machine_zone() { TZ=Pacific/Chatham exec "$@"; }
machine_nozone() { TZ=:nonsense exec "$@"; }
machine_nolocale() { unset LANG LC_ALL; exec "$@"; }
machine_c() { LC_ALL=C exec "$@"; }
machine_turkish() { LOCPATH=$(turkish) LC_ALL=tr_TR.UTF-8 LANG=tr_TR.UTF-8 exec "$@"; }
machine_homeless() { unset HOME; exec "$@"; }
machine_readonly_home() { HOME=/proc exec "$@"; }
machine_bare() { PATH=$(path_without rg lynx cron crontab at gh bash) exec "$@"; }
machine_background() { trap '' INT; exec "$@"; }
machine_no_stdin() { exec "$@" <&-; }
machine_dumb() { TERM=dumb exec "$@"; }
machine_no_term() { unset TERM; exec "$@"; }
machine_private() { umask 077; exec "$@"; }
machine_open() { umask 000; exec "$@"; }
# Git derives a name and an address from these when none are configured.
machine_named() { of_host box.example.org example.org "$@"; }
machine_nameless() { of_host localhost "" "$@"; }
# Nothing is next to the checkout.
machine_alone() { alone "$@"; }
machine_user() { as_user "PATH=$(path_without)" "HOME=$(own_folder)" "$@"; }
# An ordinary user, in a background job, with nearly everything missing.
machine_worst() {
    trap '' INT
    umask 077
    unset LANG HOME TERM
    alone setpriv --reuid=65534 --regid=65534 --clear-groups env "TMPDIR=$(own_folder)" TZ=:nonsense "LOCPATH=$(turkish)" LC_ALL=tr_TR.UTF-8 \
        "PATH=$(path_without rg lynx cron crontab at gh bash)" "$@" <&-
}
# Root, with what the one above lacks.
machine_odd() {
    umask 000
    TERM=dumb TZ=Pacific/Chatham HOME=/proc of_host box.example.org example.org "$@"
}
# Two runs at once.
machine_twice() {
    "$@" &
    local other=$! status=0
    "$@" || status=$?
    wait "$other" || status=$?
    exit "$status"
}
few=(worst odd twice)
machines=(here zone nozone nolocale c turkish homeless readonly_home bare background no_stdin dumb no_term private open named nameless alone user
    "${few[@]}")

# Another host name and mail name; the latter only where /etc/mailname can be covered.
of_host() {
    local mailname
    mailname=$(mktemp -p "$scratch")
    printf '%s' "$2" >"$mailname"
    need_root
    exec unshare --uts --mount bash -c \
        'hostname "$0"; [ ! -e /etc/mailname ] || mount --bind "$1" /etc/mailname; shift; exec "$@"' "$1" "$mailname" "${@:3}"
}

# The parent folder contains only the checkout.
alone() {
    need_root
    mkdir -p "$scratch/checkout"
    exec unshare --mount bash -c '
        here=$PWD
        mount --rbind "$here" "$0"
        mount -t tmpfs -o mode=755 none "$(dirname "$here")"
        mkdir "$here"
        mount --rbind "$0" "$here"
        cd "$here"
        exec "$@"' "$scratch/checkout" "$@"
}

# An ordinary user who owns nothing here and has a temporary folder of their own; settings come before the program.
as_user() {
    need_root
    exec setpriv --reuid=65534 --regid=65534 --clear-groups env "TMPDIR=$(own_folder)" "$@"
}

own_folder() {
    local folder
    folder=$(mktemp -d -p "$scratch")
    chmod 1777 "$folder"
    echo "$folder"
}

# A folder with links to the system's programs except those named: other users cannot use root's PATH.
path_without() {
    local folder program name
    folder=$(mktemp -d -p "$scratch")
    chmod 755 "$folder"
    for program in /bin/* /usr/bin/* /usr/local/bin/*; do
        name=${program##*/}
        [[ " $* " == *" $name "* ]] || [ ! -x "$program" ] || ln -sf "$program" "$folder/$name"
    done
    echo "$folder"
}

# The locale in which an upper-case i keeps its dot, compiled here because few machines have it.
turkish() {
    local folder
    folder=$(mktemp -d -p "$scratch")
    localedef -i tr_TR -f UTF-8 "$folder/tr_TR.UTF-8" >/dev/null 2>&1 || true
    chmod -R a+rX "$folder"
    echo "$folder"
}

need_root() {
    [ "$(id -u)" -eq 0 ] || { echo "only root can be this machine" >&2; exit 77; }
}

chosen=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    [ "$1" != all ] || { chosen+=("${machines[@]}"); shift; continue; }
    declare -F "machine_$1" >/dev/null || { echo "No machine is called $1. There are: ${machines[*]}" >&2; exit 2; }
    chosen+=("$1")
    shift
done
[ $# -eq 0 ] || shift
[ "${#chosen[@]}" -gt 0 ] || chosen=("${few[@]}")

mapfile -t binaries < <(cargo test --no-run --lib --test suite --test pty 2>&1 | sed -n 's/.*Executable .*(\(.*\))$/\1/p')
[ "${#binaries[@]}" -eq 3 ] || { echo "The tests do not build: run cargo test --no-run" >&2; exit 1; }
logs=target/machines
mkdir -p "$logs"

failed=0
for machine in "${chosen[@]}"; do
    for binary in "${binaries[@]}"; do
        part=$(basename "$binary" | sed 's/-[0-9a-f]*$//')
        log=$logs/$machine-$part.log
        status=0
        ("machine_$machine" "$PWD/$binary" "$@") >"$log" 2>&1 || status=$?
        case $status in
            0) outcome=ok ;;
            77) outcome=skipped ;;
            *) outcome=FAILED failed=1 ;;
        esac
        summary=$(grep -h '^test result' "$log" | tail -1 | cut -d. -f2- | cut -d';' -f1-2 || true)
        printf '%-14s %-8s %-8s%s\n' "$machine" "$part" "$outcome" "$summary"
        [ "$outcome" != FAILED ] || sed -n 's/^test \(.*\) \.\.\. FAILED$/    \1/p' "$log"
    done
done
exit "$failed"
