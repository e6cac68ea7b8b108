#!/usr/bin/env python3
"""cambist demo --venue evm on the real node with the published contracts.

    demo.py CAMBIST NODE_MODULES WORK SEED

A whole demo with its kill, an interrupt, a demo that is killed, and a node that dies. One line for each; exit code 1 if
one failed.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

program, modules, work, seed = sys.argv[1:5]
work = Path(work)
SOON = 120


def children(of):
    """Ids and command lines of all processes below one."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, IndexError):
            continue
        if parent == of:
            found[int(folder.name)] = line
    return found


def gone(ids):
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        left = [one for one in ids if Path(f"/proc/{one}").exists()]
        if not left:
            return True
        time.sleep(0.1)
    return False


class Demo:
    def __init__(self, name, *options):
        self.folder = work / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.log = self.folder / "log"
        command = [program, "demo", "--venue", "evm", "--node-modules", modules, "--seed", seed, *options]
        with open(self.folder / "out", "w") as out, open(self.log, "w") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, env={**os.environ, "TMPDIR": str(self.folder)}
            )

    def until(self, text):
        """Waits for a text in the log; the children then."""
        end = time.monotonic() + SOON
        while time.monotonic() < end:
            if text in self.log.read_text():
                found = children(self.process.pid)
                assert len(found) == 2, f"a node and a daemon: {found}"
                return found
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(f"not in time: {text}")

    def end(self):
        code = self.process.wait(SOON)
        out, log = (self.folder / "out").read_text(), self.log.read_text()
        secrets = re.findall(r"0x[0-9a-fA-F]{64}", out + log)
        assert not secrets, f"as long as a key: {secrets}"
        return code, out, log

    def left(self):
        """Folders that remain."""
        return list(self.folder.glob("cambist-demo-*"))


def whole():
    demo = Demo("whole", "--duration", "45s", "--json")
    ids = demo.until("daemon trades")
    code, out, log = demo.end()
    assert code == 0, f"exit code {code}\n{log}"
    assert gone(ids) and not demo.left(), "something outlived the demo"
    shown = json.loads(out)
    residual = shown["residual_units"]
    assert sorted(residual) == ["ETH", "LP-WETH-TOKEN", "TOKEN", "WETH"], residual
    assert set(residual.values()) == {"0"}, residual
    for key, wanted in [("resting_after", 0), ("replay_equal", True), ("faults", []), ("scenario", None)]:
        assert shown[key] == wanted, (key, shown[key])
    (pool,) = shown["pools"]
    assert pool["joins"] >= 3 and pool["exits"] >= 1, pool
    crash = shown["crash"]
    assert crash["mid_submit"] and (crash["doubled"], crash["forgotten"]) == (0, 0), crash
    assert crash["recovery_s"] <= crash["recovery_max_s"], crash
    assert crash["unknown"] and all(one["side"] == "join" and one["evidence"] for one in crash["unknown"]), crash
    chain = shown["chain"]
    counts, nonces = chain["transactions"], chain["nonces"]
    spent = sum(counts[kind] for kind in ["joins", "exits", "approvals", "burns", "others"])
    assert (nonces["spent"], nonces["waiting"], counts["others"]) == (spent, 0, 0), chain
    assert counts["joins"] >= pool["joins"] and counts["exits"] >= pool["exits"], chain
    assert int(chain["gas_units"]) > 0 and chain["trader"]["swaps"] >= 10, chain
    assert sorted(chain["allowance_units"]) == ["LP-WETH-TOKEN", "TOKEN", "WETH"], chain
    assert chain["allowance_units"]["LP-WETH-TOKEN"] == "0", "an exit takes exactly what it was allowed"
    return f"{pool['joins']} joins, {pool['exits']} exits, back after {crash['recovery_s']:.1f} s, {spent} nonces"


def faults():
    demo = Demo("faults", "--forever", "--json")
    demo.until(" 4 s | ")
    page = re.search(r"page (http://[0-9.:]+)/", demo.log.read_text())[1]
    with urllib.request.urlopen(f"{page}/", timeout=10) as shown:
        token = re.search(r'data-token="([0-9a-f]+)"', shown.read().decode())[1]

    def press(name):
        request = urllib.request.Request(f"{page}/faults/{name}", method="POST", headers={"X-Cambist-Token": token})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    names = [button["name"] for button in press("lose-answers")["buttons"]]
    assert names == ["lose-answers", "crash", "kill"], names
    try:
        press("freeze-book")
        raise AssertionError("a chain has no order book")
    except urllib.error.HTTPError as refused:
        assert refused.code == 404, refused
    demo.until("fault ends: Lose 30 % of answers")
    end = time.monotonic() + SOON
    while True:
        try:
            press("kill")
            break
        except urllib.error.HTTPError as busy:
            # Until everything is known again.
            assert busy.code == 409 and time.monotonic() < end, busy
            time.sleep(0.5)
    demo.until("daemon is back")
    demo.process.send_signal(signal.SIGINT)
    code, out, log = demo.end()
    assert code == 0, f"exit code {code}\n{out}\n{log}"
    lost, kill = json.loads(out)["faults"]
    assert (lost["name"], lost["ended_by"]) == ("lose-answers", "time"), lost
    assert kill["name"] == "kill" and kill["crash"]["forgotten"] == 0, kill
    return f"a kill after lost answers, back after {kill['quotes_back_after_s']:.1f} s"


def interrupted():
    demo = Demo("interrupted", "--forever")
    ids = demo.until(" 8 s | ")
    demo.process.send_signal(signal.SIGINT)
    code, out, log = demo.end()
    assert code == 0 and "every nonce is spent once" in out, f"exit code {code}\n{out}\n{log}"
    assert gone(ids) and not demo.left(), "something outlived the demo"
    return "proven after an interrupt"


def killed():
    demo = Demo("killed", "--forever")
    ids = demo.until(" 2 s | ")
    demo.process.kill()
    demo.process.wait()
    assert gone(ids), f"they outlived the demo: {ids}"
    return "nothing outlived a demo that was killed"


def node_dies():
    demo = Demo("node-dies", "--forever", "--json")
    ids = demo.until(" 3 s | ")
    (node,) = [one for one, line in ids.items() if "anvil" in line]
    os.kill(node, signal.SIGKILL)
    code, out, log = demo.end()
    shown = json.loads(out)
    assert (code, shown["exit"]) == (1, 1), f"exit code {code}\n{out}\n{log}"
    assert "the node ended by signal 9" in shown["error"], shown
    assert gone(ids) and demo.left(), "the folder explains it"
    return "exit code 1, and the node is named"


failed = 0
for step in [whole, faults, interrupted, killed, node_dies]:
    try:
        print(f"ok      demo, {step.__name__.replace('_', ' ')}: {step()}", flush=True)
    except Exception as why:  # noqa: BLE001, every failure is a line
        failed += 1
        print(f"FAILED  demo, {step.__name__.replace('_', ' ')}: {why!r}", flush=True)
sys.exit(failed > 0)
