"""Writes messages as text, by the templates of ``words.toml`` files next to the code."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tare
from tare import units
from tare.results.message import Amount, Chosen, Deviation, Duration, Message, Ratio

if TYPE_CHECKING:
    from jinja2 import Environment, Template

#: What these files are called, in whatever folder of the package.
FILE = "words.toml"


def text(message: Message) -> str:
    """Write a message.

    Raises
    ------
    KeyError
        If no template has its id.
    jinja2.UndefinedError, TypeError
        If the template shows what the message does not have, or what is absent.
    """
    return _template(message.id).render(message.args).strip()


def sentence(message: Message) -> str:
    """Write a message with a capital letter and a full stop."""
    written = text(message)
    return f"{written[:1].upper()}{written[1:]}{'' if written.endswith(('.', '?', '!')) else '.'}"


def listing(items: Iterable[Any], word: str = "and") -> str:
    """Write a list: "a", "a and b", "a, b and c"."""
    *most, last = [_shown(item) for item in items] or [""]
    return f"{', '.join(most)} {word} {last}" if most else last


def templates() -> Mapping[str, str]:
    """Return all templates by id."""
    return _templates()


@functools.cache
def _templates() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted(Path(tare.__file__).parent.rglob(FILE)):
        for id_, template in _flat(tomllib.loads(file.read_text(encoding="utf-8"))):
            assert id_ not in found, f"{id_} is in two files, {file} is one"
            found[id_] = template
    return found


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


@functools.cache
def _template(id_: str) -> Template:
    return environment().from_string(_templates()[id_])


@functools.cache
def environment() -> Environment:
    """Return what compiles templates: each value is written by its type."""
    from jinja2 import Environment, StrictUndefined

    made = Environment(undefined=StrictUndefined, autoescape=False, finalize=_shown)
    made.filters = {
        "listing": listing,
        "counted": units.counted,
        "length": len,
        "join": lambda items, between: between.join(map(_shown, items)),
    }
    return made


@functools.singledispatch
def _shown(value: Any) -> str:
    """Write a value by its type; what is absent has no form: a template asks for it first."""
    raise TypeError(f"{value!r} has no form in a text")


_shown.register(str, str)
_shown.register(float, units.significant)
_shown.register(Message, text)


@_shown.register
def _(value: int) -> str:
    if isinstance(value, bool):
        raise TypeError(f"{value!r} has no form in a text")
    return f"{value:,}"


@_shown.register
def _(amount: Amount) -> str:
    if amount.value is not None and amount.low is not None and amount.high is not None:
        return units.interval(amount.unit, amount.value, amount.low, amount.high)
    if amount.unit == "share" and amount.value is not None:
        return units.percent(amount.value)
    return units.quantity(amount.value, amount.unit)


@_shown.register
def _(ratio: Ratio) -> str:
    return units.change_interval(ratio.value, ratio.low, ratio.high)


@_shown.register
def _(chosen: Chosen) -> str:
    return units.chosen(chosen.value, chosen.unit)


@_shown.register
def _(deviation: Deviation) -> str:
    return units.off_by(deviation.value, deviation.unit, deviation.half)


@_shown.register
def _(duration: Duration) -> str:
    return units.duration(duration.seconds)
