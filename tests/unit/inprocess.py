"""Runs a command in this process, and returns what it wrote and how it ended."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass

import typed

from tare import wiring
from tare.cli import app
from tare.errors import TareError
from tare.options.command import Group


@dataclass
class Result:
    """How a command ended.

    Attributes
    ----------
    exit_code : int
    stdout, stderr : str
    exception : BaseException or None
        What it raised.
    """

    exit_code: int
    stdout: str
    stderr: str
    exception: BaseException | None

    @property
    def output(self) -> str:
        """Both streams."""
        return self.stdout + self.stderr


def invoke(*words: str, catch: bool = True, root: Group = wiring.ROOT) -> Result:
    """Run ``tare WORDS``; other errors than those of tare are raised, and with ``catch`` false all.

    What it is told of the command line that was typed, in `sys.argv`, stays as it is.
    """
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    before = sys.stdout, sys.stderr
    code, error = 0, None
    sys.stdout, sys.stderr = streams
    try:
        code = app.run(root, wiring.SUPPLIES, words)
    except TareError as caught:
        if not catch:
            raise
        code, error = caught.exit_code, caught
        typed.check_hint(caught.hint or "")
    finally:
        sys.stdout, sys.stderr = before
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Result(code, texts[0], texts[1], error)
