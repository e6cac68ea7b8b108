# A fresh Debian or Ubuntu whose PID 1 is a real systemd, in namespaces of this machine; to be sourced. The
# machine has its own loopback and no other network, and forgets everything when it is stopped.
#
# Exit 3 of a script that sources this means that such a machine cannot be had here.
# shellcheck shell=bash

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
machines=${CARGO_TARGET_DIR:-$repository/target}/external/machine
machine_root=$machines/root
machine_pid=
nspawn_pid=

say() { echo "   $*"; }
fail() { echo "FAILED: $*"; exit 1; }
impossible() { echo "$*"; exit 3; }

not() { ! "$@" > /dev/null 2>&1; }

# expect WHAT COMMAND...: the command succeeds.
expect() {
    local what=$1
    shift
    if "$@"; then say "$what"; else fail "$what"; fi
}

# within SECONDS WHAT COMMAND...: the command succeeds some time before that.
within() {
    local seconds=$1 what=$2 begun=$SECONDS
    shift 2
    until "$@"; do
        [ $((SECONDS - begun)) -lt "$seconds" ] || fail "$what: not within $seconds s"
        read -r -t 0.2 <> <(:) || true
    done
    say "$what (after $((SECONDS - begun)) s)"
}

# The file system of the machine, made once: this machine's own release, so that its programs run there.
machine_make() {
    [ "$(id -u)" = 0 ] || impossible "needs root"
    for tool in mmdebstrap systemd-nspawn nsenter; do
        command -v "$tool" > /dev/null || impossible "$tool is not installed"
    done
    [ ! -e "$machine_root/made" ] || return 0
    rm -rf "$machine_root"
    mkdir -p "$machine_root"
    local codename
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$codename" ] || impossible "this distribution has no code name"
    timeout 600 mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,ca-certificates,procps \
        "$codename" "$machine_root/tree" > "$machines/mmdebstrap.log" 2>&1 ||
        { tail -n 3 "$machines/mmdebstrap.log"; impossible "no file system could be made: $machines/mmdebstrap.log"; }
    touch "$machine_root/made"
}

# machine_boot NAME: boots; machine_in runs commands in it from then on.
machine_boot() {
    local log=$machines/$1.console
    machine_make
    # Everything written goes to memory: the file system stays as it was made.
    systemd-nspawn --quiet --register=no --keep-unit --private-network --volatile=overlay \
        --machine="cambist-$1-$$" --directory="$machine_root/tree" --boot < /dev/null > "$log" 2>&1 &
    nspawn_pid=$!
    trap machine_stop EXIT
    local begun=$SECONDS
    until machine_pid=$(pgrep --parent "$nspawn_pid" | head -n 1) && [ -n "$machine_pid" ] &&
        [ "$(cat "/proc/$machine_pid/comm" 2> /dev/null)" = systemd ]; do
        kill -0 "$nspawn_pid" 2> /dev/null || { tail -n 5 "$log"; impossible "no container could be booted: $log"; }
        [ $((SECONDS - begun)) -lt 30 ] || impossible "the container has no systemd after 30 s: $log"
        read -r -t 0.2 <> <(:) || true
    done
    within 60 "a systemd is PID 1" machine_is_up
}

machine_is_up() {
    case $(machine_in systemctl is-system-running 2> /dev/null) in running | degraded) return 0 ;; *) return 1 ;; esac
}

machine_in() { nsenter --target "$machine_pid" --all --root env --chdir=/ -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }
machine_put() { machine_in tee "$2" < "$1" > /dev/null; }
machine_stop() {
    for pid in $machine_pid $nspawn_pid; do kill -KILL "$pid" 2> /dev/null || true; done
    [ -z "$nspawn_pid" ] || wait "$nspawn_pid" 2> /dev/null || true
}

# machine_package VERSION OUT: the package around the binary under test.
machine_package() {
    local stripped=$machines/cambist
    strip -o "$stripped" "${CAMBIST_BIN:?the program under test}"
    strip -o "$stripped-signer" "$CAMBIST_BIN-signer"
    strip -o "$stripped-simulator" "$CAMBIST_BIN-simulator"
    DEB_COMPRESSION=gzip CAMBIST_VERSION=$1 SOURCE_DATE_EPOCH=$(date +%s) "$repository/packaging/deb" "$stripped" "$2"
}
