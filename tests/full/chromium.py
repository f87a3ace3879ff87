"""A headless Chromium, driven over a pipe by its DevTools protocol: needs no package beside the browser."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def executable() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """One page; a context manager, at whose end the browser is gone."""

    def __init__(self, width: int = 1600, height: int = 900):
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.events: list[dict] = []  # of the domains that were enabled, since the page was opened last
        self._profile = tempfile.TemporaryDirectory()
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        options = "--headless=new --no-sandbox --disable-gpu --no-first-run --remote-debugging-pipe"
        # The browser wants these pipes as 3 and 4.
        command = f'exec "$0" {options} "$@" 3<&{to_browser} 4>&{from_browser} 2>/dev/null'
        arguments = [f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}", "about:blank"]
        self._child = subprocess.Popen(
            ["bash", "-c", command, executable(), *arguments], pass_fds=[to_browser, from_browser]
        )
        os.close(to_browser)
        os.close(from_browser)
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_) -> None:
        os.close(self._write)  # which ends the browser
        os.close(self._read)
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        shutil.rmtree(self._profile.name, ignore_errors=True)  # a helper of the browser's may still be writing there

    def open(self, address: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=address)

    def call(self, method: str, **parameters) -> dict:
        """Any method of the protocol, on this page."""
        return self._call(method, self._session, **parameters)

    def evaluate(self, script: str):
        """The value of an expression, or of what it promises."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def wait_for(self, script: str, limit_s: float = 60) -> None:
        deadline = time.monotonic() + limit_s
        while not self.evaluate(script):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {limit_s:.0f} s: {script}")
            time.sleep(0.2)

    def screenshot(self, **parameters) -> bytes:
        """As PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **parameters)["data"])

    def _call(self, method: str, session: str | None = None, **parameters) -> dict:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message(60)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def _message(self, limit_s: float) -> dict:
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], limit_s)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._read, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)
