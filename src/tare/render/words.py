"""Writes messages as text: values by their types, sentences with a capital letter and a stop."""

from __future__ import annotations

import functools
import itertools
import math
import re
import sys
from collections.abc import Iterable, Iterator
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


def text(message: Said | tuple[Said, ...]) -> str:
    """Write a message, or several as sentences.

    Raises
    ------
    jinja2.UndefinedError, TypeError
        If the template shows what the message does not have, or what is absent.
    """
    if isinstance(message, str):
        return message
    if isinstance(message, tuple):
        return paragraph(message)
    if message.text:
        return message.text
    return _compiled(message.template).render(message.args).strip()


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
def _compiled(template: str) -> Template:
    return environment().from_string(template)


@functools.cache
def environment() -> Environment:
    """Return what compiles templates: each value is written by its type."""
    # Jinja compiles a class of all letters at import, which takes as long as all else of it.
    names = ModuleType("jinja2._identifier")
    setattr(names, "pattern", re.compile(r"\w+"))  # noqa: B010
    sys.modules.setdefault(names.__name__, names)
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    made = SandboxedEnvironment(
        variable_start_string="{",
        variable_end_string="}",
        undefined=StrictUndefined,
        autoescape=False,
        finalize=shown,
    )
    # A value may have the name of one.
    made.globals.clear()
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
