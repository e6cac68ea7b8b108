# What the packaging scripts share; to be sourced. Everything that goes into a package is derived from the
# commit: its version, its time, its files.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() { echo "error: $*" >&2; exit 1; }
need() { command -v "$1" > /dev/null || die "$1 is not installed (Debian: apt-get install $2)"; }

# CAMBIST_VERSION is for tests of upgrades.
version() {
    [ -z "${CAMBIST_VERSION:-}" ] || { echo "$CAMBIST_VERSION"; return; }
    sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml"
}

# The commit, from the repository or from what `git archive` wrote.
revision() {
    if [ -e "$root/.git" ]; then
        git -C "$root" rev-parse HEAD
    else
        local archived
        archived=$(cat "$root/.revision")
        [[ $archived =~ ^[0-9a-f]{40,}$ ]] || die "the sources name no commit; set CAMBIST_REVISION"
        echo "$archived"
    fi
}

# Seconds of the commit: the time of every file in every package. Without a repository, SOURCE_DATE_EPOCH.
commit_epoch() {
    if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
        echo "$SOURCE_DATE_EPOCH"
    elif [ -e "$root/.git" ]; then
        git -C "$root" log -1 --format=%ct
    else
        die "sources without a repository: set SOURCE_DATE_EPOCH to the time of the commit"
    fi
}
