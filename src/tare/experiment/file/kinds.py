"""The kinds of values that an experiment file holds: times, sizes, shares, names, words."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tare import registry, units
from tare.applications import expressions
from tare.experiment.specification import Limit
from tare.registry import Parameter
from tare.workloads.specification import Enforced

#: Longest text: a command's word may be long, but a file has no room for more than this.
LONGEST = 100_000


@dataclass(frozen=True)
class Kind:
    """One kind of value.

    Attributes
    ----------
    expected : str
        What it is, with an example; completes "expected …".
    read : callable
        TOML's value to ours; raises ValueError for what is none.
    parts : mapping
        Kinds of its values, by key, where it may be a table.
    """

    expected: str
    read: Callable[[Any], Any]
    parts: Mapping[str, Kind] = field(default_factory=dict)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST:
        raise ValueError
    # A terminal would obey control characters; line breaks and tabs are people's own.
    if any(unicodedata.category(c) == "Cc" and c not in "\n\t" for c in value):
        raise ValueError
    return value


def _name(value: Any) -> str:
    if not (text := _text(value)).isprintable() or len(text) > 100:
        raise ValueError
    return text.strip()


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _words(value: Any) -> tuple[str, ...]:
    words = shlex.split(_text(value)) if isinstance(value, str) else value
    if not isinstance(words, list) or not words or not words[0]:
        raise ValueError
    if not all(isinstance(word, str) and "\0" not in word for word in words):
        raise ValueError
    return tuple(words)


def _commands(value: Any) -> tuple[tuple[str, ...], ...]:
    # A list of words is one command, as it is everywhere else.
    several = isinstance(value, list) and all(isinstance(one, list) for one in value)
    if several and not value:
        raise ValueError
    return tuple(_words(one) for one in value) if several else (_words(value),)


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError
    return tuple(_name(one) for one in value)


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    for name, text in value.items():
        if not isinstance(text, str) or "\0" in text or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError
    return dict(value)


def _levels(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ValueError
    return value


def _of_values(value: Any) -> dict[str, tuple[str, ...]]:
    return {name: tuple(_names(some)) for name, some in _levels(value).items()}


def _quantile(value: Any) -> float:
    if isinstance(value, str):
        value = units.quantile(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ValueError
    return float(value)


def _gate_on(value: Any) -> str:
    return "mean" if value == "mean" else units.quantile_name(_quantile(value))


def quantile_of(name: str) -> float | None:
    """Return the quantile that a gate judges; None for the mean."""
    return None if name == "mean" else _quantile(name)


def _exits(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, bool):
        return () if value else None
    if not isinstance(value, list) or not value:
        raise ValueError
    return tuple(whole(1, 255).read(one) for one in value)


def _metrics(value: Any) -> tuple[str, ...]:
    names = (_name(value),) if isinstance(value, str) else _names(value)
    if not names or len(set(names)) < len(names):
        raise ValueError
    return names


TEXT = Kind("a text without control characters", _text)
NAME = Kind("a text of one line, at most 100 characters", _name)
EXITS = Kind("true, or a list of exit codes, such as [1, 2]", _exits)
FLAG = Kind("true or false", _flag)
COMMAND = Kind('a list of words, such as ["./prog", "{input}"], or one text', _words)
COMMANDS = Kind(f"{COMMAND.expected}; or a list of such lists", _commands)
METRICS = Kind('a metric, or a list of metrics such as ["wall_ns", "cpu_ns"]', _metrics)
QUANTILE = Kind('a quantile, such as "p95" or 0.95, or "median"', _quantile)
GATE_ON = Kind('"median", "mean", or a quantile such as "p90"', _gate_on)
NAMES = Kind('a list of texts, such as ["PATH", "LC_*"]', _names)
TEXTS = Kind('a table of texts, such as {LANG = "C"}', _texts)
OF_VALUES = Kind('a table of parameters, such as {mode = ["fast"]}', _of_values)
LEVELS = Kind('a table of factors, such as {platform = ["bare", "docker"]}', _levels)


def whole(minimum: int, maximum: int) -> Kind:
    """Return the kind of whole numbers in an inclusive range."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError
        if not minimum <= value <= maximum:
            raise ValueError
        return value

    return Kind(f"a whole number from {minimum} to {maximum}", read)


def choice(options: Iterable[str]) -> Kind:
    """Return the kind of one of some words."""
    known = tuple(options)

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError
        return value

    return Kind("one of: " + ", ".join(f'"{option}"' for option in known), read)


def share(minimum: float, maximum: float) -> Kind:
    """Return the kind of shares between two limits, both excluded; "2%" is 0.02."""

    def read(value: Any) -> float:
        if isinstance(value, str):
            return units.share(value, minimum, maximum)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not minimum < value < maximum:
            raise ValueError
        return float(value)

    expected = f'a share above {minimum:.0%} and below {maximum:.0%}, such as "5%" or 0.05'
    return Kind(expected, read)


def seconds(*, positive: bool) -> Kind:
    """Return the kind of keys that hold a duration; the parsed value is in seconds."""

    def read(value: Any) -> float:
        return units.seconds(_text(value), 1e-9 if positive else 0.0)

    above = "a time above 0" if positive else "a time"
    expected = f'{above} with its unit ({", ".join(units.TIMES)}), such as "4 min"'
    return Kind(expected, read)


def _cpus(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    # As it is told: what a program came to, 0.30000000000000004, is the level 0.3.
    if not 0 < value <= MOST_CPUS or float(f"{value:g}") == 0:
        raise ValueError
    return float(f"{value:g}")


#: More than any machine has.
MOST_CPUS = 65536
CPUS = Kind("a number of CPUs above 0, such as 0.5", _cpus)


def _size(value: Any) -> int:
    if (number := units.size(_text(value))) < 1:
        raise ValueError
    return number


#: Those that people use of files and writes.
_SIZES = ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")
SIZE = Kind(f'a size with its unit ({", ".join(_SIZES)}), such as "512 MiB"', _size)


def _limit(value: Any) -> tuple[Limit, ...]:
    if isinstance(value, str):
        try:
            return (Limit(value=_limit_value("", value)),)
        except ValueError:
            return (Limit(of="memory", value=float(_size(value))),)
    if not isinstance(value, dict) or not value or not value.keys() <= {"cpu", "wall", "memory"}:
        raise ValueError
    return tuple(Limit(of=of, value=_limit_value(of, one)) for of, one in value.items())


def _limit_value(of: str, value: Any) -> float:
    return float(_size(value)) if of == "memory" else 1e9 * units.seconds(_text(value), 1e-9)


def _enforced(value: Any) -> Enforced:
    if not isinstance(value, dict) or not value or not value.keys() <= _ENFORCED.keys():
        raise ValueError
    read = {name: (_ENFORCED[name][0], _ENFORCED[name][1].read(v)) for name, v in value.items()}
    return Enforced(**dict(read.values()))


_ENFORCED = {
    "cpu": ("cpu_s", seconds(positive=True)),
    "memory": ("memory_bytes", SIZE),
    "output": ("output_bytes", SIZE),
    "processes": ("processes", whole(1, 1 << 20)),
}
ENFORCED = Kind('a table such as {cpu = "1 s", memory = "64 MiB", output = "1 MB", processes = 8}',
                _enforced, {name: kind for name, (_, kind) in _ENFORCED.items()})  # fmt: skip
LIMIT = Kind('a time or a size, such as "1 s", or {cpu = "1 s", memory = "64 MiB"}', _limit)


def either(options: Iterable[str], other: Kind) -> Kind:
    """Return the kind of one of some words, or of what another kind takes."""
    known = choice(options)

    def read(value: Any) -> Any:
        try:
            return known.read(value)
        except ValueError:
            return other.read(value)

    return Kind(f"{known.expected}; or {other.expected}", read)


def fitting(expected: str, parse: Callable[[str], object]) -> Kind:
    """Return the kind of texts of which a parser makes something, kept as they are."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or parse(value) is None:
            raise ValueError
        return value

    return Kind(expected, read)


def of(parameter: Parameter) -> Kind:
    """Return the kind of a unit's parameter, from its description."""

    def read(value: Any) -> Any:
        if not registry.fits(parameter, value):
            raise ValueError
        return value

    return Kind(registry.expected(parameter), read)


def matching(expected: str, pattern: str) -> Kind:
    """Return the kind of texts that fit a pattern."""
    return fitting(expected, lambda text: re.fullmatch(pattern, text, re.ASCII))


def list_of(kind: Kind, what: str) -> Kind:
    """Return the kind of lists of another kind."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError
        return tuple(kind.read(one) for one in value)

    return Kind(what, read)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
        raise ValueError
    return float(value)


NUMBER = Kind("a number", _number)


def _pattern(value: Any) -> str:
    text = str(TEXT.read(value))
    expressions.groups(text)
    return text


def _number_pattern(value: Any) -> str:
    if expressions.groups(text := _pattern(value)) != 1:
        raise ValueError
    return text


PATTERN = Kind("a regular expression of RE2", _pattern)
NUMBER_PATTERN = Kind('a regular expression with one group, such as "took ([0-9.]+) s"',
                            _number_pattern)  # fmt: skip
