"""Kinds of values, as options and experiment files have them: times, shares, counts, paths."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tare import units
from tare.streams import NULL, PIPE

#: Longest text: a command's word may be long, but a file has no room for more than this.
LONGEST = 100_000


def _nothing() -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Kind:
    """One kind of value.

    Attributes
    ----------
    expected : str
        What it is, with an example; completes "expected …".
    read : callable
        Returns the value of what a file in TOML holds; raises ValueError if it is not of this kind.
    parts : mapping
        Kinds of its values, by key, where it may be a table.
    parse : callable or None
        Returns the value of what was typed; None: as ``read``.
    typing : str
        What is expected of a command line, where that is written otherwise than in a file.
    example : str
        A value as it is typed.
    metavar : str
        Placeholder of a value in the help.
    schema : mapping
        What a file may hold, as JSON Schema.
    values : callable
        Returns values that completion offers.
    is_path : bool
        Whether completion offers names of files.
    """

    expected: str
    read: Callable[[Any], Any]
    parts: Mapping[str, Kind] = field(default_factory=dict)
    parse: Callable[[str], Any] | None = None
    typing: str = ""
    example: str = ""
    metavar: str = "TEXT"
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    values: Callable[[], Iterable[str]] = _nothing
    is_path: bool = False

    def typed(self, text: str) -> Any:
        """Return the value of a text that was typed; raises ValueError if it is none."""
        return (self.parse or self.read)(text)

    def offering(self, values: Callable[[], Iterable[str]], metavar: str | None = None) -> Kind:
        """Return this kind with values that completion offers."""
        return replace(self, values=values, metavar=metavar or self.metavar)


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


def words(value: Any) -> tuple[str, ...]:
    """Return the words of a command: a list of them, or a text that is divided as by a shell."""
    found = shlex.split(_text(value)) if isinstance(value, str) else value
    if not isinstance(found, list) or not found or not found[0]:
        raise ValueError
    if not all(isinstance(word, str) and "\0" not in word for word in found):
        raise ValueError
    return tuple(found)


def _commands(value: Any) -> tuple[tuple[str, ...], ...]:
    # A list of words is one command, as it is everywhere else.
    several = isinstance(value, list) and all(isinstance(one, list) for one in value)
    if several and not value:
        raise ValueError
    return tuple(words(one) for one in value) if several else (words(value),)


def names(value: Any) -> tuple[str, ...]:
    """Return a list of texts of one line."""
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
    return {name: tuple(names(some)) for name, some in _levels(value).items()}


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


def _typed_exits(text: str) -> tuple[int, ...]:
    if text in ("all", "all-non-zero"):
        return ()
    return tuple(whole(1, 255).typed(code) for code in text.split(","))


def _metrics(value: Any) -> tuple[str, ...]:
    found = (_name(value),) if isinstance(value, str) else names(value)
    if not found or len(set(found)) < len(found):
        raise ValueError
    return found


_ONE_OR_SEVERAL = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_STRINGS = {"type": "array", "items": {"type": "string"}}
_TABLE = {"type": "object"}
_NUMBER_OR_TEXT = {"type": ["number", "string"]}

#: Any text; the command checks its value.
WORD = Kind("a text", str)
TEXT = Kind("a text without control characters", _text)
NAME = Kind("a text of one line, at most 100 characters", _name, metavar="NAME")
EXITS = Kind("true, or a list of exit codes, such as [1, 2]", _exits, parse=_typed_exits,
             typing="exit codes, such as 1,2; or all", example="1,2",
             metavar="[=CODES]", schema={"type": ["boolean", "array"]})  # fmt: skip
FLAG = Kind("true or false", _flag, schema={"type": "boolean"})
COMMAND = Kind('a list of words, such as ["./prog", "{input}"], or one text', words,
               metavar="COMMAND", schema=_ONE_OR_SEVERAL)  # fmt: skip
COMMANDS = Kind(f"{COMMAND.expected}; or a list of such lists", _commands,
                schema={"type": ["string", "array"]})  # fmt: skip
METRICS = Kind('a metric, or a list of metrics such as ["wall_ns", "cpu_ns"]', _metrics,
               schema=_ONE_OR_SEVERAL)  # fmt: skip
QUANTILE = Kind('a quantile, such as "p95" or 0.95, or "median"', _quantile,
                metavar="QUANTILE", example="p95",
                schema=_NUMBER_OR_TEXT, values=lambda: ("median", "p90", "p95", "p99"))  # fmt: skip
GATE_ON = Kind('"median", "mean", or a quantile such as "p90"', _gate_on,
               metavar="STATISTIC", example="p90",
               schema=_NUMBER_OR_TEXT, values=lambda: ("median", "mean", "p90"))  # fmt: skip
NAMES = Kind('a list of texts, such as ["PATH", "LC_*"]', names, schema=_STRINGS)
TEXTS = Kind('a table of texts, such as {LANG = "C"}', _texts, schema=_TABLE)
OF_VALUES = Kind('a table of parameters, such as {mode = ["fast"]}', _of_values, schema=_TABLE)
LEVELS = Kind('a table of factors, such as {platform = ["bare", "docker"]}', _levels,
              schema=_TABLE)  # fmt: skip
#: Words that other tools have for the terminal, which would not be taken for files.
_TERMINAL = ("-", "inherit")


def _output(value: Any) -> str:
    if (text := _text(value)) in _TERMINAL:
        raise units.QuantityError("is not possible: tare writes to the terminal itself", "out.txt")
    if "\n" in text or Path(text).name in ("", ".."):
        raise ValueError
    return NULL if text == os.devnull else text


def _output_of_file(value: Any) -> str:
    """Read the value of a file: tare writes where its owner may, so it stays in the results."""
    output = _output(value)
    if Path(output).is_absolute() or ".." in Path(output).parts:
        raise ValueError
    return output


def _typed_output(text: str) -> str:
    if (output := _output(text)) in (NULL, PIPE):
        return output
    # The folder may be a link, the file may not.
    return str(Path(text).parent.resolve() / Path(text).name)


OUTPUT = Kind('"null", "pipe", or a file in the folder of results, such as "{trial}.out"',
              _output_of_file, parse=_typed_output,
              typing="null, pipe, or a file", example="pipe", metavar="WHERE",
              values=lambda: (NULL, PIPE), is_path=True)  # fmt: skip
#: Of the command line alone.
PATH = Kind("a path", str, parse=Path, metavar="FILE", is_path=True)
FOLDER = replace(PATH, metavar="DIR")
#: A path, or - for a standard stream.
STREAM = replace(PATH, parse=str, metavar="FILE|-", example="-")


def whole(
    minimum: int, maximum: int = 10**18, metavar: str = "N", *, example: int | None = None
) -> Kind:
    """Return the kind of whole numbers in an inclusive range; ``example`` is a usual one."""
    usual = str(max(minimum, 1) if example is None else example)

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError
        if not minimum <= value <= maximum:
            raise ValueError
        return value

    def parse(text: str) -> int:
        try:
            return read(units.count(text, minimum))
        except units.QuantityError as error:
            raise units.QuantityError(error.why, usual) from None

    above = f"from {minimum} to {maximum}" if maximum < 10**18 else f"from {minimum} on"
    return Kind(
        f"a whole number {above}", read, metavar=metavar, example=usual,
        parse=parse,
        schema={"type": "integer", "minimum": minimum, "maximum": maximum},
    )  # fmt: skip


def choice(options: Iterable[str], metavar: str | None = None) -> Kind:
    """Return the kind of one of some words."""
    known = tuple(options)

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError
        return value

    return Kind(
        "one of: " + ", ".join(f'"{option}"' for option in known), read,
        metavar=metavar or "|".join(known), example=known[0] if known else "",
        schema={"enum": list(known)}, values=lambda: known,
    )  # fmt: skip


def share(minimum: float, maximum: float, example: str = "5%") -> Kind:
    """Return the kind of shares between two limits, both excluded; "2%" is 0.02."""

    def read(value: Any) -> float:
        if isinstance(value, str):
            return units.share(value, minimum, maximum, example)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not minimum < value < maximum:
            raise ValueError
        return float(value)

    expected = f'a share above {minimum:.0%} and below {maximum:.0%}, such as "5%" or 0.05'
    return Kind(expected, read, metavar="PERCENT", example=example, schema=_NUMBER_OR_TEXT)


def seconds(*, positive: bool) -> Kind:
    """Return the kind of durations; the value is in seconds."""

    def read(value: Any) -> float:
        return units.seconds(_text(value), 1e-9 if positive else 0.0)

    above = "a time above 0" if positive else "a time"
    expected = f'{above} with its unit ({", ".join(units.TIMES)}), such as "4 min"'
    return Kind(expected, read, metavar="TIME", example="90s")


#: Durations above 0, in seconds.
DURATION = seconds(positive=True)


def _cpus(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    # A computed 0.30000000000000004 is named like the level 0.3.
    if not 0 < value <= MOST_CPUS or float(f"{value:g}") == 0:
        raise ValueError
    return float(f"{value:g}")


#: More than any machine has.
MOST_CPUS = 65536
CPUS = Kind(f"a number of CPUs above 0, such as 0.5, and at most {MOST_CPUS}", _cpus,
            parse=lambda text: _cpus(_ascii(text)), example="0.5",
            metavar="N", schema={"type": "number", "exclusiveMinimum": 0})  # fmt: skip


def _size(value: Any) -> int:
    if (number := units.size(_text(value))) < 1:
        raise ValueError
    return number


#: Those that people use of files and writes.
_SIZES = ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")
SIZE = Kind(f'a size with its unit ({", ".join(_SIZES)}), such as "512 MiB"', _size,
            metavar="SIZE")  # fmt: skip


def _data(value: Any) -> int:
    if (number := units.bits(_text(value))) < 1:
        raise units.QuantityError("is not above 0", "10Gbit")
    return number


#: Data that a network carries, in bits.
DATA = Kind('data with its unit, such as "10Gbit" or "500 GB"', _data, metavar="SIZE")


def quantity(parse: Callable[[str], Any], expected: str, metavar: str) -> Kind:
    """Return the kind of what one of the parsers of `tare.units` takes."""
    return Kind(expected, lambda value: parse(_text(value)), metavar=metavar)


def either(options: Iterable[str], other: Kind) -> Kind:
    """Return the kind of one of some words, or of what another kind takes."""
    known = choice(options)

    def read(value: Any) -> Any:
        try:
            return known.read(value)
        except ValueError:
            return other.read(value)

    return Kind(f"{known.expected}; or {other.expected}", read, metavar=other.metavar,
                values=known.values)  # fmt: skip


def fitting(expected: str, parse: Callable[[str], object]) -> Kind:
    """Return the kind of texts of which a parser makes something, kept as they are."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or parse(value) is None:
            raise ValueError
        return value

    return Kind(expected, read)


def matching(expected: str, pattern: str) -> Kind:
    """Return the kind of texts that fit a pattern."""
    return fitting(expected, lambda text: re.fullmatch(pattern, text, re.ASCII))


def list_of(kind: Kind, what: str) -> Kind:
    """Return the kind of lists of another kind."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError
        return tuple(kind.read(one) for one in value)

    return Kind(what, read, schema={"type": "array", "items": dict(kind.schema)})


def by_commas(kind: Kind, expected: str, metavar: str) -> Kind:
    """Return the kind of several values of another kind, with commas between them."""

    def read(value: Any) -> tuple[Any, ...]:
        return tuple(kind.typed(word.strip()) for word in _text(value).split(","))

    return Kind(expected, read, metavar=metavar, example=kind.example)


def _ascii(text: str) -> float:
    """Return a number that is typed in digits of ASCII alone, as everywhere else."""
    if not text.isascii() or "_" in text:
        raise ValueError
    return float(text)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
        raise ValueError
    return float(value)


NUMBER = Kind("a number", _number, parse=lambda text: _number(_ascii(text)), metavar="N",
              example="1.5",
              schema={"type": "number"})  # fmt: skip
