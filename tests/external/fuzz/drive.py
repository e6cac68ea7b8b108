"""Runs the exchange with a data folder, lets the fuzzer at its port, and audits what is left.

Usage: python drive.py BINARY EXAMPLE-CONFIGURATION both|strict SECONDS SEED
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import crowd
from exchange import Client, Exchange

HERE = Path(__file__).parent
# What an exchange with a small crowd may hold at its worst.
MEMORY_MAX_MB = 256
# Nothing here holds the owner's wallet: without it the signing key stays, and the text alone wants it for more.
REFUSED = {
    "both": {"POST /api/v3/account"},
    "strict": {"POST /api/v3/account", "POST /api/v3/transfer", "POST /api/v3/user/withdrawals"},
}


def memory_mb(process):
    """The most that it has ever held."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        return None
    return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1024


def main(binary, template, compat, seconds, seed):
    generous = {
        "endpoint_per_s": 1_000_000, "endpoint_burst": 1_000_000,
        "# address_per_s": 1_000_000, "# address_burst": 1_000_000,
        "# wrong_signatures_per_s": 1_000_000, "# wrong_signatures_burst": 1_000_000,
        # Only then has the signing key alone transfers and withdrawals taken.
        "require_wallet_for_funds": "false",
        "compat": f'"{compat}"', "# dir": '"data"', "# connections_max": 6_000, "# connections_per_address_max": 6_000,
        # Sockets that no longer answer would look like a server that does not.
        "# connection_age_max_ms": 86_400_000,
    }
    problems = []
    with Exchange(binary, template, **generous) as exchange:
        environment = {
            **os.environ, "FUZZ_URL": exchange.url, "FUZZ_ACCOUNT": str(exchange.account_id),
            "FUZZ_COMPAT": compat, "FUZZ_API_KEY": exchange.api_key, "SCHEMATHESIS_HOOKS": "hooks", "FUZZ_SEEN": str(exchange.folder / "seen.json"),
            "FUZZ_SECRET": (exchange.folder / "keys" / "eddsa_key").read_text().strip(),
        }
        fuzzer = subprocess.run(
            [Path(sys.executable).with_name("schemathesis"), "--config-file", HERE / "schemathesis.toml", "run",
             exchange.url + "/openapi.json", "--seed", seed, "--max-time", seconds, "--no-color"],
            env=environment, cwd=HERE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        print(fuzzer.stdout)
        seen = json.loads((exchange.folder / "seen.json").read_text())
        for endpoint, outcomes in sorted(seen.items()):
            if set(outcomes) == {"100001"} and sum(outcomes.values()) < 3:
                continue  # a method that the path does not have
            print(f"{endpoint:34}", *(f"{code}:{count}" for code, count in sorted(outcomes.items())))
            # A fuzzer that is always turned away at the door tests the door.
            if sum(outcomes.values()) >= 100 and "200" not in outcomes and endpoint not in REFUSED[compat]:
                problems.append(f"nothing was taken by {endpoint}")
        if fuzzer.returncode:
            problems.append(f"the fuzzer ended with {fuzzer.returncode}")
        if exchange.process.poll() is not None:
            problems.append(f"the exchange ended by itself with {exchange.process.returncode}")
        else:
            found, remark = crowd.stand(exchange)
            problems += found
            print(remark)
            held = memory_mb(exchange.process)
            if held and held > MEMORY_MAX_MB:
                problems.append(f"the exchange held {held:.0f} MB, more than {MEMORY_MAX_MB}")
            status, body, _ = Client(exchange).get("/health", key="")
            if status != 200:
                problems.append(f"/health answers {status}: {body}")
            if code := exchange.stop():
                problems.append(f"the exchange ended with {code}")
            verify = subprocess.run(
                [binary, "venue", "verify", "--data", exchange.folder / "data"],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            if verify.returncode:
                problems.append(f"the books do not verify: {verify.stdout.strip()}")
    for problem in problems:
        print(f"FOUND: {problem}")
    cases = re.search(r"([\d,]+) generated", fuzzer.stdout)
    print(f"{compat}: {cases[1] if cases else 'no'} requests, {len(problems)} problems, at most {held or 0:.0f} MB, books verified")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:6]))
