"""Opens the page of a daemon or of an exchange in headless Chromium, checks what it shows, and takes pictures.

    drive.py BROWSER daemon|demo|exchange URL FOLDER

Speaks the browser's debugging protocol over a pair of pipes. Exit 1 if a part of the page is missing.
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 30

DAEMON = [
    ("the state is shown", r'id="state"[^>]*>(active|not_quoting|paused)<'),
    ("a side and its quote or reason", r"(quoted at [0-9.]+|no quotes: [a-z_]+)"),
    ("the book with its mid", r'colspan="3">mid [0-9.]+'),
    ("own orders with their ids", r"c[0-9a-f]{8}-[0-9]+-[0-9]+"),
    ("inventory", r"<td[^>]*>ETH</td>"),
    ("the course of equity", r'<path d="M'),
    ("limits used", r'aria-label="loss_'),
    ("the budget of requests", r"[0-9]+ sent of [0-9]+ allowed"),
    ("marks of the timeline", r'<ol id="marks"[^>]*><li[^>]*><button type="button"><time>[0-9:]{8}</time>'),
    ("both sides over time", r'class="lane buy".*class="lane sell"'),
    ("no warning of an old page", r'id="connection"[^>]*hidden'),
    ("no warning of a venue that does not answer", r'id="outage"[^>]*hidden'),
    ("the age of the book", r'id="book-age"[^>]*>[0-9]+ s old<'),
]

# The demo's page is the daemon's with buttons.
DEMO = [
    *DAEMON,
    ("a button of each fault", r'id="fault-buttons">(<button type="button" title="[^"]+" aria-pressed="false"><b>[^<]+</b><span>[^<]+</span></button>){7}<'),
]

EXCHANGE = [
    ("the state is shown", r'id="state"[^>]*>open<'),
    ("the market", r'<button type="button" aria-pressed="true">ETH-USDC<'),
    ("both sides of the book and their spread", r'<td class="sell">[0-9.]+<.*spread [0-9.]+ bps.*<td class="buy">[0-9.]+<'),
    ("a trade with its time", r"<td[^>]*>[0-9]{2}:[0-9]{2}:[0-9]{2}</td><td class=\"(buy|sell)\">"),
    ("the last price", r'id="price-now">[0-9.]+ USDC<'),
    ("the day's volume", r"<dt>volume</dt><dd>[0-9.]+ ETH / [0-9.]+ USDC</dd>"),
    ("a pool with its reserves", r"<dt>pool</dt><dd>AMM-ETH-USDC</dd><dt>ETH</dt><dd>[0-9.]+</dd>"),
    ("how to connect", r"<dt>base URL</dt><dd>http://[0-9.:]+</dd>"),
    ("a command to try", r"curl -N '?http://[0-9.:]+/api/ext/v1/stream\?market=ETH-USDC"),
    ("the course of the price", r'<path d="M'),
    ("how to open an account", r"cambist account open --venue http://[0-9.:]+ --owner-key"),
    ("no warning of an old page", r'id="connection"[^>]*hidden'),
]

# What must be on a page, and what its next event changes.
PAGES = {
    "daemon": (DAEMON, "document.getElementById('summary').textContent"),
    "demo": (DEMO, "document.getElementById('summary').textContent"),
    "exchange": (EXCHANGE, "document.querySelector('#book tbody').textContent"),
}


def until(browser, script):
    """Whether a script becomes true in time."""
    end = time.monotonic() + PATIENCE_S
    while not (value := browser.value(script)) and time.monotonic() < end:
        time.sleep(0.1)
    return bool(value)


def key(browser, name, code):
    for kind in ("keyDown", "keyUp"):
        text = {"text": "\r"} if name == "Enter" and kind == "keyDown" else {}
        browser.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **text)


# The newest fill of the list.
FILL = "document.querySelector('#marks li:not([hidden]) .kind-fills')?.parentElement"


def open_why(browser, told):
    """Opens the why of a fill with the keyboard, and closes it."""
    told(until(browser, f"Boolean({FILL})"), "a fill on the timeline")
    browser.value(f"window.pressed = {FILL}; window.pressed.focus()")
    key(browser, "Enter", 13)
    told(until(browser, "/wanted.*request.*answer/.test(document.getElementById('why-facts').textContent)"), "a fill opens its why")
    told(until(browser, "document.querySelectorAll('#why-steps tbody tr').length >= 4"), "with every step")
    told(browser.value("document.activeElement.id === 'why'"), "the focus is in it")
    yield
    key(browser, "Escape", 27)
    told(browser.value("document.getElementById('why').hidden && document.activeElement === window.pressed"), "Escape closes it, and the focus returns")
    key(browser, "ArrowDown", 40)
    told(browser.value("document.activeElement !== window.pressed && Boolean(document.activeElement.closest('#marks'))"), "arrow keys move in the list")


# The state of the button that is pressed: freeze the account.
BUTTON = "document.querySelectorAll('#fault-buttons button')[4]"


def press(browser, told):
    """Presses a button of the demo's page with the keyboard, twice."""
    browser.value(BUTTON + ".focus()")
    told(until(browser, "document.getElementById('fault-note').textContent !== ''"), "a focused button says what it does")
    key(browser, "Enter", 13)
    told(until(browser, BUTTON + ".getAttribute('aria-pressed') === 'true'"), "a pressed button is in effect")
    told(until(browser, "/no quotes: /.test(document.getElementById('sides').textContent)"), "quotes go, with the reason")
    yield
    told(browser.value("document.activeElement === " + BUTTON), "the focus stays")
    key(browser, "Enter", 13)
    told(until(browser, BUTTON + ".getAttribute('aria-pressed') === 'false'"), "pressed again, it ends")
    told(until(browser, "!/no quotes: /.test(document.getElementById('sides').textContent)"), "quotes return")


class Browser:
    """A browser and one page of it."""

    def __init__(self, program, profile):
        read_theirs, self.write = os.pipe()
        self.read, write_theirs = os.pipe()

        def at_their_places():
            # Moved out of the way first, in case one of them is at the other's place.
            there, here = os.dup(read_theirs), os.dup(write_theirs)
            os.dup2(there, 3)
            os.dup2(here, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=at_their_places, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(read_theirs)
        os.close(write_theirs)
        self.number, self.buffer, self.session = 0, b"", None
        self.errors = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Runtime.enable")
        self.ask("Log.enable")

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                part = os.read(self.read, 1 << 20)
                if not part:
                    sys.exit("the browser ended")
                self.buffer += part
            text, self.buffer = self.buffer.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(json.dumps(answer["params"])[:300])
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, script):
        return self.ask("Runtime.evaluate", expression=script)["result"].get("value")

    def picture(self, file, width, height, scheme):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        wide = self.value("document.documentElement.scrollWidth")
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(data))
        return wide <= width


def main():
    program, kind, url, folder = sys.argv[1:]
    parts, live_part = PAGES[kind]
    failed = 0

    def told(good, what):
        nonlocal failed
        failed += not good
        print(("ok      " if good else "FAILED  ") + what)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        browser.ask("Page.navigate", url=url)
        until, missing = time.monotonic() + PATIENCE_S, parts
        while missing and time.monotonic() < until:
            page = browser.value("document.documentElement.outerHTML") or ""
            missing = [(what, part) for what, part in parts if not re.search(part, page, re.DOTALL)]
        for what, part in parts:
            told((what, part) not in missing, what)
        # The next event changes what is shown.
        before = browser.value(live_part)
        until = time.monotonic() + PATIENCE_S
        while (live := browser.value(live_part) != before) is False:
            if time.monotonic() > until:
                break
        told(live, "it is live")
        # Two dialogues, each in two halves: the pictures show what the first halves open.
        halves = {"daemon": [open_why], "demo": [open_why, press]}.get(kind, [])
        dialogues = [half(browser, told) for half in halves]
        for dialogue in dialogues:
            next(dialogue, None)
        for name, width, height, scheme in [
            ("wide", 1280, 1100, "light"), ("dark", 1280, 1100, "dark"), ("phone", 375, 2400, "light")]:
            fits = browser.picture(os.path.join(folder, f"{kind}-{name}.png"), width, height, scheme)
            told(fits, f"{width} pixels are wide enough ({scheme})")
        for dialogue in dialogues[::-1]:
            next(dialogue, None)
        paint = browser.value("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        told(paint is not None, f"first paint after {paint and round(paint)} ms")
        told(not browser.errors, "no error in the console" + "".join("\n        " + e for e in browser.errors[:5]))
        browser.process.kill()
        browser.process.wait()
    print(f"{failed} failed, pictures in {folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
