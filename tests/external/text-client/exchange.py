"""The exchange as a process, and a client of it that sends what the interface text says."""

import http.client
import json
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlencode

from signing import Signer

START_S, STOP_S, REQUEST_S = 20, 10, 10


class Exchange:
    """Runs it in a folder of its own; a context manager."""

    def __init__(self, binary, template, **changes):
        self.folder = Path(tempfile.mkdtemp(prefix="cambist-text-client-"))
        # Every folder of the example is inside its own.
        text = Path(template).read_text().replace("../target/two-terminals/", "")
        changes = {"address": '"127.0.0.1:0"', **changes}
        for key, value in changes.items():
            # A key that the example only shows is named with its mark.
            line = f"{key.removeprefix('# ')} = {value}"
            text, count = re.subn(rf"(?m)^{key} = .*$", line, text, count=1)
            assert count == 1, f"the example configuration has no line with {key}"
        config = self.folder / "venue.toml"
        config.write_text(text)
        self.process = subprocess.Popen(
            [binary, "--json", "venue", "--config", config],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        watchdog = threading.Timer(START_S, self.process.kill)
        watchdog.start()
        printed = ""
        try:
            # One value on several lines; it ends with a brace at the margin.
            for line in self.process.stdout:
                printed += line
                if line.startswith("}"):
                    break
            started = json.loads(printed)
        finally:
            watchdog.cancel()
        self.url = f"http://{started['address']}"
        self.host, self.port = started["address"].rsplit(":", 1)
        self.account_id = started["account_id"]
        self.api_key = (self.folder / "keys" / "api_key").read_text().strip()
        self.signer = Signer(int((self.folder / "keys" / "eddsa_key").read_text().strip(), 16))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self):
        """Asks it to end; its exit code."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Client:
    """One connection. Every request carries X-API-KEY, as the text says."""

    def __init__(self, exchange):
        self.exchange = exchange
        self.api_key = exchange.api_key
        self.connection = http.client.HTTPConnection(exchange.host, exchange.port, timeout=REQUEST_S)

    def get(self, path, params=None, **more):
        return self.send("GET", path, params=params, **more)

    def delete(self, path, params, signature=None, **more):
        if signature is None:
            signature = self.exchange.signer.request("DELETE", self.exchange.url + path, params)
        return self.send("DELETE", path, params=params, signature=signature, **more)

    def post(self, path, body, **more):
        return self.send("POST", path, body=body, **more)

    def send(self, method, path, params=None, body=None, key=None, signature=None):
        """Status, decoded body and headers. An empty `key` or `signature` leaves the header out."""
        headers = {"X-API-KEY": self.api_key if key is None else key, "X-API-SIG": signature}
        headers = {name: value for name, value in headers.items() if value}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = body if isinstance(body, str) else json.dumps(body)
        target = path + ("?" + urlencode(params) if params else "")
        self.connection.request(method, target, body=body, headers=headers)
        response = self.connection.getresponse()
        return response.status, json.loads(response.read()), response.headers
