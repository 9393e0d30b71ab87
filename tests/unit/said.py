"""Messages by a few words of their templates, for tests that prove content and not wording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import msgspec
import pytest

from tare.experiment.findings.headline import summarize
from tare.experiment.results import Results
from tare.render import data
from tare.results.finding import Finding
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


class Phrase(str):
    """A template, or a part of one: equal to every text that contains it or is a part of it.

    Tests name a message by a few words that only its template has, and do not repeat the others.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str) or not self or not other:
            return False
        return str.__contains__(self, other) or str(self) in other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        """Return the same for all, as equality is not by content."""
        return 0


class ByPhrase(dict[Phrase, Message]):
    """Messages by their templates, each found by a few of its words."""

    def __init__(self, some: Iterable[Said]) -> None:
        super().__init__((template(one), one) for one in some if isinstance(one, Message))

    def __getitem__(self, phrase: str) -> Message:
        return super().__getitem__(Phrase(phrase))

    def __contains__(self, phrase: object) -> bool:
        return super().__contains__(Phrase(phrase))


def template(said: Said) -> Phrase:
    """Return the template of a message."""
    assert isinstance(said, Message), said
    return Phrase(said.template)


def args(said: Said | tuple[Said, ...] | None, phrase: str) -> dict[str, Any]:
    """Return the values of the first message whose template has these words."""
    return next(m.args for m in messages(said) if template(m) == phrase)


def templates(said: Said | tuple[Said, ...] | None) -> list[Phrase]:
    """Return the templates of all messages, also those inside of others."""
    return [template(m) for m in messages(said)]


def unwritten(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Leave messages in the documents that these modules fill with their texts."""
    for module in modules:
        for writer, left in (("text", _same), ("sentence", _same), ("sentences", tuple)):
            if hasattr(module, writer):
                monkeypatch.setattr(module, writer, left)


def _same(said: Said) -> Said:
    return said


def headline(results: Results, found: Sequence[Finding]) -> list[Said]:
    """Return all sentences that sum up an experiment, in order."""
    return [*summarize(results, found).lines]


def assert_survives_json(found: object) -> None:
    """Write what was found and read it back; messages come back as their texts."""
    written = data.builtins(found)
    read = msgspec.json.decode(msgspec.json.encode(written), type=type(found))
    assert data.builtins(read) == written
