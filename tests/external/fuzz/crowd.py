"""Thousands of connections that send nothing, half of a head, or half of a body, while another client sends requests."""

import re
import resource
import socket
import time
from pathlib import Path

from exchange import Client

CONNECTIONS = 5_000
HANDLES = CONNECTIONS + 200
# What one of them may cost the exchange, all of its buffers included.
EACH_MAX_KB = 40
ANSWER_MAX_S = 2
SAYINGS = (b"", b"GET /api/v3/exchange/mar", b"POST /api/v3/order HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{")


def held_kb(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


def stand(exchange):
    """What is wrong, and a remark."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < HANDLES:
        return [], f"{CONNECTIONS} idle connections: skipped, only {hard} file handles are allowed"
    if soft < HANDLES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (HANDLES, hard))
    before = held_kb(exchange.process)
    crowd = []
    try:
        for number in range(CONNECTIONS):
            one = socket.create_connection((exchange.host, int(exchange.port)), timeout=10)
            one.sendall(SAYINGS[number % len(SAYINGS)])
            crowd.append(one)
        asked = time.monotonic()
        status, _, _ = Client(exchange).get("/health", key="")
        answered = time.monotonic() - asked
        each = (held_kb(exchange.process) - before) / CONNECTIONS
    finally:
        for one in crowd:
            one.close()
    problems = []
    if status != 200 or answered > ANSWER_MAX_S:
        problems.append(f"beside {CONNECTIONS} idle connections: {status} after {answered:.1f} s")
    if each > EACH_MAX_KB:
        problems.append(f"an idle connection costs {each:.1f} kB, more than {EACH_MAX_KB}")
    return problems, f"{CONNECTIONS} idle connections: {each:.1f} kB each, an answer beside them in {answered * 1e3:.0f} ms"
