#!/usr/bin/env bash
# A release, built twice in different folders and compared byte by byte; its signature; its bill of materials; and
# its binary in a container without a shell, read-only and without rights.
#
#   CAMBIST_RELEASE=1 tests/external/release.sh     takes two optimised builds
#
# Exit 3: it cannot run here, or was not asked for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ -n "${CAMBIST_RELEASE:-}" ] || { echo "takes two builds; CAMBIST_RELEASE=1 runs it"; exit 3; }
rustup target list --installed 2> /dev/null | grep -e '-musl$' > /dev/null ||
    timeout 300 rustup target add "$(uname -m)-unknown-linux-musl" || { echo "no musl target"; exit 3; }
command -v musl-gcc > /dev/null || { echo "musl-tools is not installed"; exit 3; }
[ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "the sources differ from the commit"; exit 3; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
packaging/release --profile release --sign "$work/key" "$work/release" > /dev/null
packaging/reproduce --against "$work/release" --profile release
cargo install --path . --locked --quiet --root "$work/installed"
cargo install --path crates/simulator --locked --quiet --root "$work/installed"
"$work/installed/bin/cambist" --version
"$work/installed/bin/cambist" sim --seeds 1 --hours 0.02
cd "$work/release"
sha256sum --check --quiet SHA256SUMS
ssh-keygen -Y check-novalidate -n cambist-release -s SHA256SUMS.sig < SHA256SUMS
tar -xzf cambist-*.tar.gz
binary=$(echo "$work"/release/cambist-*/cambist)
if readelf -d "$binary" | grep NEEDED; then echo "the binary needs shared libraries"; exit 1; fi
python3 - cambist.cdx.json "$OLDPWD/Cargo.lock" <<'PYTHON'
import json, sys, tomllib
bill = json.load(open(sys.argv[1]))
locked = {(one["name"], one["version"]): one.get("checksum") for one in tomllib.load(open(sys.argv[2], "rb"))["package"]}
names = [(one["name"], one["version"]) for one in bill["components"]]
assert len(names) == len(set(names)) > 100, len(names)
for one in bill["components"]:
    expected = locked[one["name"], one["version"]]
    assert one.get("hashes", [{"content": None}])[0]["content"] == expected, one
    assert one["licenses"], one
print(len(names), "crates in the bill of materials")
PYTHON
if ! command -v podman > /dev/null; then
    echo "equal in two folders; podman is not installed, so the container was not run"
    exit 0
fi
cd "$OLDPWD"
own=(podman --cgroup-manager=cgroupfs --storage-driver=vfs --root "$work/storage" --runroot "$work/run")
# runc also runs where cgroups are of both versions.
! command -v runc > /dev/null || own+=(--runtime=runc)
PODMAN="${own[*]}" packaging/container "$binary" localhost/cambist:test > "$work/container.log" 2>&1 ||
    { cat "$work/container.log"; exit 1; }
safe=(--rm --network=none --ulimit=nofile=1024:1024 --ulimit=nproc=1024:1024 --read-only --cap-drop=all --security-opt=no-new-privileges)
"${own[@]}" run "${safe[@]}" localhost/cambist:test strategy list | grep ladder
"${own[@]}" run "${safe[@]}" localhost/cambist:test sim --seeds 1 --hours 0.02 | grep violations
"${own[@]}" run "${safe[@]}" --entrypoint /bin/sh localhost/cambist:test -c true 2>&1 | tee "$work/shell.log" || true
grep -i 'no such file\|not found' "$work/shell.log" > /dev/null || { echo "there is a shell"; exit 1; }
[ "$("${own[@]}" image inspect --format '{{.Config.User}}' localhost/cambist:test)" = 65532:65532 ]
echo "equal in two folders; the container runs read-only, as 65532, without a shell"
