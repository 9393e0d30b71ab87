"""Writes messages as text, by the templates of ``words.toml`` files next to the code."""

from __future__ import annotations

import functools
import itertools
import math
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from tare import units
from tare.render.vocabulary import SDS, metric_name, source_name
from tare.results.message import (
    Amount,
    Change,
    Chosen,
    Deviation,
    Duration,
    Levels,
    Message,
    Ratio,
    Said,
    Value,
)

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_PACKAGE = Path(__file__).parents[1]
#: What these files are called, in whatever folder of the package.
FILES = "words.toml"


def text(message: Said | tuple[Said, ...]) -> str:
    """Write a message, or several as sentences.

    Raises
    ------
    KeyError
        If no template has its id.
    jinja2.UndefinedError, TypeError
        If the template shows what the message does not have, or what is absent.
    """
    if isinstance(message, str):
        return message
    if isinstance(message, tuple):
        return paragraph(message)
    return _template(message.id).render(message.args).strip()


def sentence(message: Said | tuple[Said, ...]) -> str:
    """Write each message with a full stop and a capital letter, unless a name stands first."""
    if isinstance(message, str):
        return message
    if isinstance(message, tuple):
        return paragraph(message)
    written = text(message)
    names = ("tare ", *_names(message))
    first = written[:1] if written.startswith(names) else written[:1].upper()
    return f"{first}{written[1:]}{'' if written.endswith(('.', '?', '!')) else '.'}"


def _names(value: Value) -> Iterator[str]:
    """Return the names in a message: whatever is text already."""
    match value:
        case str() if value:
            yield value
        case list() | tuple():
            yield from itertools.chain.from_iterable(map(_names, value))
        case Levels():
            yield from value.levels.values()
        case Message():
            yield from _names([*value.args.values()])  # type: ignore[list-item]


def sentences(said: Said | Iterable[Said] | None) -> list[str]:
    """Write each message as a sentence."""
    if said is None:
        return []
    return [sentence(one) for one in ((said,) if isinstance(said, str | Message) else said)]


def paragraph(said: Said | Iterable[Said] | None) -> str:
    """Write messages as sentences, one after another."""
    return " ".join(sentences(said))


def listing(items: Iterable[Any], word: str = "and") -> str:
    """Write a list: "a", "a and b", "a, b and c"."""
    *most, last = [shown(item) for item in items] or [""]
    return f"{', '.join(most)} {word} {last}" if most else last


@functools.cache
def templates() -> Mapping[str, str]:
    """Return all templates by id."""
    found: dict[str, str] = {}
    for file, text_ in _files().items():
        for id_, template in flat(tomllib.loads(text_)):
            assert id_ not in found, f"{id_} is in two files, {file} is one"
            found[id_] = template
    return found


@functools.cache
def _files() -> Mapping[str, str]:
    folders = os.walk(_PACKAGE)
    paths = sorted(f"{folder}/{n}" for folder, _, names in folders for n in names
                   if n.endswith(FILES))  # fmt: skip
    return {path: Path(path).read_text(encoding="utf-8") for path in paths}


@functools.cache
def _beginning_with(first: str) -> Mapping[str, str]:
    """Return the templates whose ids begin so: parsing all files takes 20 ms."""
    begins = re.compile(rf"^\[?{re.escape(first)}[.\]\s]", re.MULTILINE)
    some = (flat(tomllib.loads(text_)) for text_ in _files().values() if begins.search(text_))
    return {id_: template for own in some for id_, template in own}


def flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Return the templates of tables in tables, each with its id."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


@functools.cache
def _template(id_: str) -> Template:
    return environment().from_string(_beginning_with(id_.partition(".")[0])[id_])


@functools.cache
def environment() -> Environment:
    """Return what compiles templates: each value is written by its type."""
    # Jinja compiles a class of all letters at import, which takes as long as all else of it.
    names = ModuleType("jinja2._identifier")
    setattr(names, "pattern", re.compile(r"\w+"))  # noqa: B010
    sys.modules.setdefault(names.__name__, names)
    from jinja2 import Environment, StrictUndefined

    made = Environment(undefined=StrictUndefined, autoescape=False, finalize=shown)
    made.filters = {
        "listing": listing,
        "sentence": sentence,
        "about": units.about,
        "counted": units.counted,
        "r_squared": units.r_squared,
        "length": len,
        "metric": metric_name,
        "source": source_name,
        "sd": SDS.__getitem__,
        "join": lambda items, between: between.join(map(shown, items)),
    }
    return made


@functools.singledispatch
def shown(value: Any) -> str:
    """Write a value by its type; what is absent has no form: a template asks for it first."""
    raise TypeError(f"{value!r} has no form in a text")


shown.register(str, str)
shown.register(float, units.significant)
shown.register(Message, text)


@shown.register
def _(value: int) -> str:
    if isinstance(value, bool):
        raise TypeError(f"{value!r} has no form in a text")
    return f"{value:,}"


@shown.register
def _(amount: Amount) -> str:
    if not isinstance(amount.above, msgspec.UnsetType):
        value = math.inf if amount.value is None else amount.value
        high = math.inf if amount.low is not None and amount.high is None else amount.high
        return units.known(amount.unit, value, amount.low, high, amount.above)
    if amount.value is not None and amount.low is not None and amount.high is not None:
        return units.interval(amount.unit, amount.value, amount.low, amount.high)
    if amount.unit == "share" and amount.value is not None:
        return units.percent(amount.value)
    return units.quantity(amount.value, amount.unit)


@shown.register
def _(ratio: Ratio) -> str:
    return units.change_interval(*ratio.parts)


@shown.register
def _(change: Change) -> str:
    return units.change(change.value)


@shown.register
def _(chosen: Chosen) -> str:
    if chosen.unit == "growth":
        return units.factor(chosen.value)
    return units.chosen(chosen.value, chosen.unit)


@shown.register
def _(deviation: Deviation) -> str:
    if deviation.unit == "share" and deviation.half is None:
        return units.percent(deviation.value, sign=True)
    return units.off_by(deviation.value, deviation.unit, deviation.half)


@shown.register
def _(duration: Duration) -> str:
    return units.duration(duration.seconds)


@shown.register
def _(where: Levels) -> str:
    """Write "exp_float on docker with 2 workers under memcpy"."""
    rest = dict(where.levels)
    parts = [rest.pop("workload", "")]
    if "platform" in rest:
        parts.append(f"on {rest.pop('platform')}")
    if "workers" in rest:
        parts.append(f"with {units.counted(int(rest.pop('workers')), 'worker')}")
    if "load" in rest:
        parts.append(f"under {rest.pop('load')}")
    if "pinning" in rest:
        pinned = rest.pop("pinning")
        parts.append(pinned if pinned == "pinned" else f"pinned {pinned}")
    parts += [f"at {factor} {level}" for factor, level in rest.items()]
    return " ".join(part for part in parts if part)
