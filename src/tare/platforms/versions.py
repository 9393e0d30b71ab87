"""Versions of the programs that make layers, as they themselves tell them."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from tare.errors import PlatformError
from tare.host import programs
from tare.platforms.layer import Told

_VERSION = re.compile(r"\bv?(\d[\w.+~:-]*)")


def said(program: str) -> str:
    """Return what a program says to ``--version``; nothing where it is not here."""
    try:
        return _said(programs.find(program))
    except PlatformError:
        return ""


@cache
def _said(path: Path) -> str:
    # By path, not by name: another PATH finds another program of that name.
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def told(fact: str, program: str) -> tuple[Told, ...]:
    """Return the version of a program of this machine as a fact."""
    found = _VERSION.search(said(program))
    return () if found is None else ((fact, found.group(1), None, program),)
