"""Keyword arguments of `tare.run`, `tare.compare` and `tare.audit`, as options are typed."""

from __future__ import annotations

import difflib
import math
import re
import reprlib
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import repeat
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, TypeVar

from tare.errors import TareError, Typed, UsageError
from tare.options.option import Option, Options, named
from tare.options.parsing import pieces, read

#: A program with its arguments, or one text that is divided into words as a shell would.
Command: TypeAlias = str | Sequence[str]
#: Seconds, or a text: ``"90 s"``, ``"4 min"``.
Duration: TypeAlias = float | str
#: A share, or a text: 0.02 and ``"2%"`` are the same.
Share: TypeAlias = float | str
Texts: TypeAlias = str | Sequence[str]
StrPath: TypeAlias = str | PathLike[str]

Given = TypeVar("Given", bound=Options)


class MeasuringOptions(TypedDict, total=False):
    """Options that `tare.run` and `tare.compare` have in common; see the command line's help."""

    name: Texts
    trials: int
    budget: Duration
    timeout: Duration
    image: str
    size: str
    workers: int
    pinning: str
    network: str
    hosts: int
    serve: Texts
    as_root: bool
    out: StrPath
    resume: bool
    output: StrPath
    fingerprint: bool
    strict: bool
    warmup: int
    setup: Texts
    prepare: Texts
    conclude: Texts
    cleanup: Texts
    shell: str
    ignore_failure: bool | Sequence[int]
    input: StrPath
    steady: bool
    platform: str


class RunOptions(MeasuringOptions, total=False):
    """Options of `tare.run`."""

    application: str
    set: Mapping[str, object]
    metric: Texts
    quantile: float | str
    precision: Share


class CompareOptions(MeasuringOptions, total=False):
    """Options of `tare.compare`."""

    metric: Texts
    margin: Share
    gate: Share
    gate_on: str
    inputs: int
    min_trials: int
    directory: Texts
    seed: int


class AuditOptions(TypedDict, total=False):
    """Options of `tare.audit`."""

    finding: str
    format: str
    value: str
    group: Texts
    compare: Texts
    order: str
    trial: str
    block: str
    drop_missing: bool
    cores: str
    pinning: str
    reference: str
    host_cores: float
    precision: Share
    confidence: Share
    quantile: float | str | Sequence[float | str]
    time_unit: Duration
    seed: int
    steady: bool


def _refused(name: str, value: object, wanted: str) -> UsageError:
    return UsageError(f"{name}={reprlib.repr(value)} is not {wanted}", f"{name}=… with {wanted}")


def _decimal(name: str, value: object, wanted: str) -> str:
    """Return a number without an exponent, as tare.units reads numbers."""
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str):
        raise _refused(name, value, wanted)
    number = float(value)
    if not math.isfinite(number):
        raise _refused(name, value, wanted)
    return f"{Decimal(repr(number)):f}"


def _duration(name: str, value: object) -> str:
    wanted = 'seconds, or a text such as "90 s"'
    return value if isinstance(value, str) else f"{_decimal(name, value, wanted)} s"


def _share(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    _decimal(name, value, wanted := 'a share such as 0.02, or a text such as "2%"')
    if float(value) >= 1:  # type: ignore[arg-type]
        # It may be a percentage, or as many times as much.
        raise _refused(name, value, f'a share below 1, or a text such as "{value}%"')
    return f"{_decimal(name, 100 * Decimal(repr(float(value))), wanted)}%"  # type: ignore[arg-type]


def _quantile(name: str, value: object) -> str:
    wanted = 'a quantile such as 0.99 or "p99"'
    return value if isinstance(value, str) else _decimal(name, value, wanted)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _refused(name, value, "a text")
    return value


def _each(
    convert: Callable[[str, object], str | None], name: str, value: object
) -> list[str | None]:
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        return [convert(name, one) for one in value]
    return [convert(name, value)]


def _settings(name: str, value: object) -> list[str]:
    if not isinstance(value, Mapping):
        raise _refused(name, value, "a mapping of parameters to values")
    return [
        f"{parameter}={str(setting).lower() if isinstance(setting, bool) else setting}"
        for parameter, setting in value.items()
    ]


def path(name: str, value: object) -> Path:
    """Return a path.

    Raises
    ------
    UsageError
        If it is none.
    """
    if not isinstance(value, (str, PathLike)) or not isinstance(fspath(value), str):
        if hasattr(value, "__len__"):
            raise UsageError(
                f"{name}={reprlib.repr(value)} is not a path",
                "tare.statistics.trust.trust(values) takes arrays and lists",
            )
        raise _refused(name, value, "a path")
    return Path(value)


def _path(name: str, value: object) -> str:
    return str(path(name, value))


def _file(name: str, value: object) -> str:
    return str(path(name, value).absolute())


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _refused(name, value, "True or False")
    return value


def _whole(least: int) -> Callable[[str, object], str]:
    def whole(name: str, value: object) -> str:
        found = value.__index__() if hasattr(value, "__index__") else None
        if isinstance(value, bool) or found is None or found < least:
            raise _refused(name, value, f"a whole number from {least} on")
        return str(int(found))

    return whole


def _codes(name: str, value: object) -> str | None:
    if isinstance(value, bool):
        return "all" if value else None
    code = _whole(0)
    wanted = "True, or exit codes such as [1, 2]"
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _refused(name, value, wanted)
    codes = [code(name, one) for one in value]
    if not codes:
        raise _refused(name, value, wanted)
    return ",".join(codes)


def _number(name: str, value: object) -> str:
    return _decimal(name, value, "a number")


#: How the value of a keyword argument becomes what is typed, by the placeholder of its kind.
_CONVERT: Mapping[str, Callable[[str, object], str | None]] = {
    "TIME": _duration,
    "PERCENT": _share,
    "QUANTILE": _quantile,
    "[=CODES]": _codes,
    "FILE": _path,
    "DIR": _path,
    "WHERE": _path,
    "FILE|-": _file,
}


def parsed(
    function: str, given: Mapping[str, object], known: Iterable[str], options: type[Given]
) -> Given:
    """Return keyword arguments as the values of a command's options.

    Parameters
    ----------
    function : str
        ``run``, ``compare`` or ``audit``, for errors.
    given : mapping
        Keyword arguments; None is the same as leaving it out.
    known : iterable of str
        Names that the function has.
    options : type
        Options of the command.

    Raises
    ------
    UsageError
        If there is no such option, or a value is of another type.
    """
    names = sorted(known)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in names:
            meant = difflib.get_close_matches(name, names, n=1)
            raise UsageError(
                f"tare.{function} has no option {name!r}",
                f"{meant[0]}=…" if meant else f"one of: {', '.join(names)}",
            )
        if value is not None:
            record = options.records[name if name in options.records else f"{name}_"]
            values[record.name] = _value(record, name, value)
    return options(**values)


def _value(record: Option, name: str, value: object) -> Any:
    """Return the value of an option from that of a keyword argument."""
    if record.is_flag:
        return _flag(name, value)
    if record.name == "set_":
        return _settings(name, value)
    if record.name == "platform":
        # A list of platforms makes a comparison, which is not a single result.
        return [_text(name, value)] if record.repeatable else _text(name, value)
    convert = _CONVERT.get(record.kind.metavar, _text)
    if record.kind.schema.get("type") == "integer":
        convert = _whole(record.kind.schema["minimum"])
    elif record.kind.schema.get("type") == "number":
        convert = _number
    if record.repeatable:
        return [read(record, str(text)) for text in _each(convert, name, value)]
    text = convert(name, value)
    return None if text is None else read(record, text)


def line(command: object) -> str:
    """Return a command as one text.

    Raises
    ------
    UsageError
        If it is neither a text nor a list of texts, or is empty.
    """
    if isinstance(command, str):
        return command
    if not isinstance(command, Iterable) or isinstance(command, (bytes, Mapping)):
        raise UsageError(
            f"{reprlib.repr(command)} is not a command",
            'a list such as ["sleep", "0.1"], or a text',
        )
    words = [fspath(word) if isinstance(word, PathLike) else word for word in command]
    if not words:
        raise UsageError("a command is empty", 'name a program: ["sleep", "0.1"]')
    for word in words:
        if not isinstance(word, str):
            raise UsageError(f"{reprlib.repr(word)} in a command is not a text", '"…"')
    return shlex.join(words)


#: A value after an option in a hint: a placeholder, or what ends a phrase.
_VALUE = r"(?:[ =]((?!-)(?:[A-Z]+\b|[^\s,;:()|]+(?=$|[,;)]|   ))))?"


def in_keywords(error: TareError, known: Iterable[str], options: type[Options]) -> TareError:
    """Name keyword arguments where a message of the command line names options.

    A whole command line stays as it is.
    """
    names = {name.replace("_", "-"): name for name in known}
    option = rf"--({'|'.join(sorted(names, key=len, reverse=True))})(?![\w-])"
    error.message = re.sub(option, lambda found: names[found[1]], error.message)
    error.args = (error.message,)
    hint = error.hint
    if isinstance(hint, Typed) and hint.command == "sudo":
        error.hint = f"run it as root{hint[len(hint.command) :].replace('   ', ' ', 1)}"
    elif isinstance(hint, Typed):
        error.hint = _as_keywords(hint, names.values(), options)
    elif hint:
        error.hint = re.sub(option + _VALUE, lambda f: _keyword(names[f[1]], f[2], options), hint)
    return error


def _as_keywords(hint: Typed, known: Collection[str], options: type[Options]) -> Typed:
    """Return options as keyword arguments; of a command line, or others, as they are."""
    found = [*pieces(shlex.split(hint.command), named(options))] if hint.startswith("-") else []
    names = [piece.option.name.rstrip("_") if piece.option else "" for piece in found]
    if not found or not all(name in known for name in names):
        return hint
    values = (" ".join(piece.values or ()) or None for piece in found)
    return hint.replaced(", ".join(map(_keyword, names, values, repeat(options))))


def _keyword(name: str, value: str | None, options: type[Options]) -> str:
    record = options.records.get(name)
    if record is not None and record.is_flag:
        return f"{name}=True" + (f" {value}" if value else "")
    if value is None:
        return name
    return f"{name}={value}" if value.isdigit() else f'{name}="{value}"'
