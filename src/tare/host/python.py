"""Commands that start Python without importing modules from the current folder."""

from __future__ import annotations

import sys

#: -P: `python -m` would otherwise search the current folder first, also where root runs it.
_ISOLATED = (sys.executable, "-P")


def module(name: str, *words: str) -> list[str]:
    """Return the command that runs a module of this environment."""
    return [*_ISOLATED, "-m", name, *words]


def tare(*words: str) -> list[str]:
    """Return the command that runs this tare."""
    return module("tare", *words)
