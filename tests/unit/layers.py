"""Layers on which a test is always run; those on which it is repeated in `make nightly` alone.

What differs between them are processes and namespaces that tare makes itself, and an engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

ALWAYS = ("bare", "runc", "docker")


def each(platforms: Iterable[str], always: Collection[str] = ALWAYS) -> list[Any]:
    """Return the parameters of a test that is repeated on each of some platforms."""
    repeated = pytest.mark.layers
    return [one if one in always else pytest.param(one, marks=repeated) for one in platforms]
