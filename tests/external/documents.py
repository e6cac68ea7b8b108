#!/usr/bin/env python3
"""The documents: every page is within two links of the README, every link leads somewhere, every command of a shell
block is one that the program knows, and every alert and exit code has its entry in the runbook.

  CAMBIST_BIN=target/debug/cambist tests/external/documents.py

A command is checked by running it with --help: its subcommands and flags are read, and nothing is done.
"""

import glob
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Programs that operators run besides this one.
OTHERS = set(
    "apt-get bash cargo cat cd cp curl diff dpkg git install journalctl jq less mkdir openssl podman python3 rm rustup"
    " ssh ssh-keygen systemctl systemd-creds".split()
)
findings = []


def read(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


def prose(text):
    return re.sub(r"```.*?```", "", text, flags=re.S)


def links(page):
    for target in re.findall(r"\]\(([^)]*)\)", prose(read(page))):
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, anchor = target.partition("#")
        yield os.path.normpath(os.path.join(os.path.dirname(page), file)) if file else page, anchor


def anchors(page):
    for line in prose(read(page)).splitlines():
        if line.startswith("#"):
            words = line.lstrip("#").strip().lower()
            yield "".join(c for c in words if c.isalnum() or c in " -_").replace(" ", "-")


def commands(page):
    for block in re.findall(r"```sh\n(.*?)```", read(page).replace("\\\n", " "), flags=re.S):
        for line in block.splitlines():
            command = line.split(" #")[0].strip()
            if command and not command.startswith("#"):
                yield command


def check_command(page, line, program):
    """Whether the program was run; a finding if the line is not understood."""
    words = shlex.split(re.split(r"[|><&]", line)[0])
    if words[0] == "sudo":
        words = words[3:]
    if words[0].split("/")[-1] == "cambist":
        arguments = words[1:]
    elif words[0] == "cargo" and words[1] == "run" and "--" in words:
        arguments = words[words.index("--") + 1 :]
    else:
        if not (words[0] in OTHERS or "=" in words[0] or "/" in words[0] and os.path.isfile(words[0])):
            findings.append(f"{page}: {line}: unknown program")
        return False
    done = subprocess.run([program, *arguments, "--help"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        findings.append(f"{page}: {line}: {done.stderr.strip()}")
    return True


def check_runbook():
    runbook = read("docs/runbook.md")
    entries = dict(re.findall(r"^### (.*?)\n\n(.*?)(?=\n#|\Z)", runbook, flags=re.M | re.S))
    cases = read("config/monitoring/alerts_test.yml")
    rules = re.findall(r"- alert: (\w+)\n.*?severity: (\w+)", read("config/monitoring/alerts.yml"), flags=re.S)
    for name, severity in rules:
        if not entries.get(name, "").startswith(severity):
            findings.append(f"docs/runbook.md: no entry {name} that begins with {severity}")
        for case in (f"# {name} fires.", f"# {name} is silent."):
            if case not in cases:
                findings.append(f"config/monitoring/alerts_test.yml: no case {case}")
    for name in entries:
        if name.startswith("Cambist") and name not in dict(rules):
            findings.append(f"docs/runbook.md: {name} is no alert")
    table = read("docs/operation.md").split("## Exit codes")[1]
    codes = re.findall(r"^\| (\d+) \|", table, flags=re.M)
    for code in codes:
        if f"Exit {code}" not in entries:
            findings.append(f"docs/runbook.md: no entry Exit {code}")
    return len(rules), len(codes)


def main(program):
    os.chdir(ROOT)
    pages = glob.glob("docs/*.md") + ["README.md", "SECURITY.md", "ARCHITECTURE.md", "strategies/README.md"]
    reached = {"README.md"}
    for _ in range(2):
        for page in [one for one in reached if one.endswith(".md") and os.path.isfile(one)]:
            reached.update(file for file, _ in links(page))
    findings.extend(f"{page}: not within two links of README.md" for page in pages if page not in reached)
    for page in pages:
        for file, anchor in links(page):
            if not os.path.exists(file):
                findings.append(f"{page}: {file} is not there")
            elif anchor and file.endswith(".md") and anchor not in set(anchors(file)):
                findings.append(f"{page}: {file} has no #{anchor}")
    ran = sum(check_command(page, line, program) for page in pages for line in commands(page))
    alerts, codes = check_runbook()
    if not (ran >= 30 and alerts >= 20 and codes >= 8 and len(pages) >= 20):
        findings.append(f"too little was found: {ran} commands, {alerts} alerts, {codes} exit codes, {len(pages)} pages")
    print("\n".join(findings))
    print(f"{len(pages)} pages, {ran} commands, {alerts} alerts, {codes} exit codes, {len(findings)} findings")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(os.environ["CAMBIST_BIN"])))
