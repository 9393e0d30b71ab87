"""Headless Chromium, driven by the DevTools protocol over a pipe: no port, no further library."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

#: A page that does not answer within this is broken.
PATIENCE_S = 90
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def binary() -> str | None:
    """Find Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One Chromium with one tab; what it requests and what its console says is kept.

    Attributes
    ----------
    requests : list of str
        Addresses requested, the page's own included.
    complaints : list of str
        Errors and warnings of console, scripts and policy.
    """

    def __init__(self) -> None:
        found = binary()
        assert found is not None
        self._home = tempfile.TemporaryDirectory(
            prefix="tare-chromium-",
            ignore_cleanup_errors=True,  # a child of the browser may still write there
        )
        near_in, self._write = os.pipe()
        self._read, near_out = os.pipe()
        # Chromium wants its ends at 3 and 4; a shell puts them there, from where none is yet.
        theirs_in, theirs_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (near_in, near_out))
        self._process = subprocess.Popen(
            [
                "bash", "-c", f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}', found,
                *_FLAGS, f"--user-data-dir={self._home.name}", "about:blank",
            ],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (near_in, near_out, theirs_in, theirs_out):
            os.close(end)
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._home.cleanup()

    def call(self, method: str, **parameters: Any) -> Any:
        """Ask, and wait for the answer; events that come before it are kept."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)
        raise TimeoutError(method)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            got = os.read(self._read, 1 << 20)
            assert got, "Chromium has ended"
            self._buffer += got
        text, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.complaints.append(str([a.get("value") for a in told["args"]]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(str(told["entry"]))

    def show(
        self, path: Path, width: int = 1200, height: int = 900, *, scheme: str = "light"
    ) -> None:
        """Open a file in a window of some size, and wait until its charts are drawn."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete'")
        self.wait("!document.querySelector('.chart:not([data-drawn])')")

    def wait(self, condition: str) -> None:
        """Wait until an expression holds in the page."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.ask(condition):
                return
            time.sleep(0.1)
        raise TimeoutError(condition)

    def ask(self, expression: str) -> Any:
        """Evaluate an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Take a screenshot: of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {**size, "scale": 1}}

    def paper(self, path: Path) -> None:
        """Print the page as PDF."""
        printed = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        path.write_bytes(base64.b64decode(printed["data"]))
