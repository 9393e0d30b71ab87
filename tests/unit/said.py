"""What findings say, as ids and values, for tests that prove content and not wording."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tare.results.message import Message, Said, each


def messages(said: Said | tuple[Said, ...] | None) -> Iterator[Message]:
    """Return every message of what is said, also those inside of others."""
    for one in each(said):
        assert isinstance(one, Message), one
        yield from _inside(one)


def _inside(value: Any) -> Iterator[Message]:
    if isinstance(value, Message):
        yield value
        for arg in value.args.values():
            yield from _inside(arg)
    elif isinstance(value, list):
        for one in value:
            yield from _inside(one)


def args(said: Said | tuple[Said, ...] | None, id_: str) -> dict[str, Any]:
    """Return the values of the first message of that id."""
    return next(m.args for m in messages(said) if m.id == id_)


def ids(said: Said | tuple[Said, ...] | None) -> list[str]:
    """Return the ids of all messages, also those inside of others."""
    return [m.id for m in messages(said)]


def unwritten(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Leave messages in the documents that these modules fill with their texts."""
    for module in modules:
        for writer, left in (("text", _same), ("sentence", _same), ("sentences", tuple)):
            if hasattr(module, writer):
                monkeypatch.setattr(module, writer, left)


def _same(said: Said) -> Said:
    return said
