"""Chromium without a window, driven through a pipe; tests are skipped where there is none."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--mute-audio",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",  # so that it draws in space
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# Chromium reads its orders from the file 3 and writes what happens to the file 4.
LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4);"
    " os.execv(sys.argv[3], sys.argv[3:])"
)
PATIENCE = 60.0  # seconds for an answer


def chromium() -> str:
    """The program; the test is skipped where there is none."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip(f"there is no browser ({', '.join(NAMES)}); apt-get install chromium")


class Tab:
    """One page of a browser."""

    def __init__(self, send: int, receive: int) -> None:
        self.send, self.receive, self.rest = send, receive, b""
        self.number, self.session = 0, ""
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """The answer to an order; what happens meanwhile is looked at for errors."""
        self.number += 1
        order: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.send, json.dumps(order).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            self.look_at(message)

    def message(self) -> Any:
        while b"\0" not in self.rest:
            more = os.read(self.receive, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        first, _, self.rest = self.rest.partition(b"\0")
        return json.loads(first)

    def look_at(self, message: Any) -> None:
        """Keep errors of the console, of scripts and of the policy of the page."""
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.errors.append(json.dumps(params["args"])[:500])
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(params["entry"]["text"])
            case _:
                pass

    def open(self, url: str, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Go to a page, as on a screen of this size."""
        self.errors.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript, of a promise what it promises."""
        found = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait for an expression to be true."""
        end = time.monotonic() + PATIENCE
        while True:
            found = self.run(script)
            if found:
                return found
            assert time.monotonic() < end, script
            time.sleep(0.05)

    def picture(self, path: str | Path, whole: bool = False) -> None:
        """Write what is seen."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browser() -> Iterator[Tab]:
    """A tab of a browser of its own."""
    program = chromium()
    (read, send), (receive, write) = os.pipe(), os.pipe()
    theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (read, write)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        launch = [sys.executable, "-c", LAUNCH, *map(str, theirs), program]
        process = subprocess.Popen(
            [*launch, *FLAGS, f"--user-data-dir={folder}"],
            pass_fds=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for fd in (read, write, *theirs):
            os.close(fd)
        try:
            yield Tab(send, receive)
        finally:
            os.close(send)  # at the end of its orders it ends
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(receive)
