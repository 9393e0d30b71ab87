"""Predictions that a user makes of figures: a TOML file of ``figure = "value unit"``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from tare import files, units
from tare.decoding import DecodeError, toml
from tare.errors import InputError, Typed
from tare.experiment.fingerprints.machine.document import Figure, Problem
from tare.features.machine.fingerprint import derived
from tare.features.machine.fingerprint.expectation import FREQUENCY
from tare.registry import Probe
from tare.render.words import text
from tare.results.message import Amount, message

_MAX_BYTES = 1 << 20
#: Value to type, by unit of the figure.
_EXAMPLES = {"ns": "120 ns", "bytes": "32 KiB", "B/s": "15 GB/s", "Hz": "3.5 GHz", "1": "1.5"}
_CYCLES = re.compile(r"(.*\S)\s*cycles?")
#: Bounds of a sane value, in the figure's unit.
_LEAST, _MOST = 1e-6, 1e30
#: Characters of a name or value that an error shows.
_SHOWN = 60
#: Figures that a note about unmeasured ones names.
_MAX_NAMED = 4


@dataclass(frozen=True)
class UserPrediction:
    """What a user expects of a figure."""

    #: Predicted value, in the figure's unit or in clock cycles.
    value: float
    in_cycles: bool
    #: Name of the file.
    source: str


def read(path: Path, probes: Mapping[str, Probe]) -> dict[str, UserPrediction]:
    """Read a file of predictions.

    Parameters
    ----------
    path : Path
    probes : mapping
        Probe by name: what can be predicted.

    Returns
    -------
    dict
        Prediction by figure.

    Raises
    ------
    InputError
        If the file cannot be read, or a line of it is wrong; names the line and what to type.
    """
    written = _text(path)
    try:
        entries = toml(written)
    except DecodeError as error:
        raise InputError(f"{path}: {error}", 'syscall.getpid = "120 ns"') from error
    lines = _Lines(path, written)
    curves, figures = _known(probes.values())
    found = {}
    for name, value in _flat(entries):
        unit = _unit(name, figures)
        if unit is None:
            _refuse_name(name, curves, figures, lines)
        found[name] = _prediction(name, value, unit, lines)
    if not found:
        raise InputError(f"{path} has no predictions", 'syscall.getpid = "120 ns"')
    return found


def apply(
    metrics: Mapping[str, Figure], predictions: Mapping[str, UserPrediction]
) -> tuple[dict[str, Figure], list[Problem]]:
    """Put a user's predictions in place of tare's own, whose value and reasons stay in ``why``.

    Returns
    -------
    dict
        Figures, by name.
    list of Problem
        Predictions that cannot be judged, and why.
    """
    found, problems = dict(metrics), []
    frequency = metrics.get(FREQUENCY)
    absent = [name for name in predictions if name not in metrics]
    for name, one in predictions.items():
        if name in absent:
            continue
        if one.in_cycles and frequency is None:
            why = message(
                "its prediction is in cycles, and the frequency of a core was not measured: "
                "tare fingerprint loop {metric}",
                metric=name,
            )
            problems.append(Problem(probe=name, why=text(why)))
            continue
        value = one.value / frequency.value * 1e9 if one.in_cycles and frequency else one.value
        found[name] = _judged(metrics[name], value, one.source)
    if absent:
        why = message(
            "predicted, but not measured: {names | join(', ')}{% if more %} and {more} more"
            "{% endif %} (name them, or --full)",
            names=absent[:_MAX_NAMED],
            more=max(0, len(absent) - _MAX_NAMED),
        )
        problems.append(Problem(probe="--predictions", why=text(why)))
    return found, problems


def _judged(figure: Figure, value: float, source: str) -> Figure:
    own = None if figure.predicted is None else Amount(figure.predicted, figure.unit)
    why = message(
        "your prediction ({source}){% if own %}; tare predicts {own}{% endif %}{% if why %}"
        '{": " if own else "; "}{why}{% endif %}',
        source=source,
        own=own,
        why=figure.why,
    )
    return msgspec.structs.replace(figure, predicted=value, why=text(why))


def _text(path: Path) -> str:
    hint = "choose another file"
    data = files.read_input(path, _MAX_BYTES, hint)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line} is not UTF-8", hint) from error


class _Lines:
    """Finds the line of a name, for errors."""

    def __init__(self, path: Path, written: str) -> None:
        self.name = path.name
        self._path = path
        self._of: dict[str, int] = {}
        table = ""
        for number, line in enumerate(written.splitlines(), 1):
            if header := re.fullmatch(r"\s*\[([^\[\]]*)\]\s*(?:#.*)?", line):
                table = _bare(header[1]) + "."
            elif "=" in line:
                self._of.setdefault(table + _bare(line.partition("=")[0]), number)

    def refuse(self, name: str, why: str, hint: str) -> NoReturn:
        """Raise an InputError that names the line."""
        number = next((self._of[key] for key in _beginnings(name) if key in self._of), None)
        where = f"{self._path}" if number is None else f"{self._path}, line {number}"
        raise InputError(f"{where}: {why}", hint)


def _bare(key: str) -> str:
    return re.sub(r"[\s\"']", "", key)


def _beginnings(name: str) -> Iterator[str]:
    """Yield a name, then each shorter beginning of it: an inline table has one line."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _flat(entries: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in entries.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _known(probes: Iterable[Probe]) -> tuple[set[str], dict[str, tuple[str, bool]]]:
    """Return the names of curves, and of figures with their unit and whether a number follows."""
    curves: set[str] = set()
    figures: dict[str, tuple[str, bool]] = {}
    for probe in probes:
        for metric in probe.metrics:
            if metric.axes and not metric.listed:
                curves.add(metric.name)
            else:
                figures[metric.name] = metric.unit, metric.listed
        for name in derived.names(probe.name):
            figures[name] = derived.unit(name), False
    return curves - figures.keys(), figures


def _unit(name: str, figures: Mapping[str, tuple[str, bool]]) -> str | None:
    if name in figures and not figures[name][1]:
        return figures[name][0]
    stem, _, last = name.rpartition(".")
    if last.isdecimal() and figures.get(stem, ("", False))[1]:
        return figures[stem][0]
    return None


def _refuse_name(
    name: str, curves: set[str], figures: Mapping[str, tuple[str, bool]], lines: _Lines
) -> NoReturn:
    shown = ascii(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")
    if name in curves:
        lines.refuse(
            name, f"{shown} is a curve; only figures are predicted", Typed("tare describe probes")
        )
    if name in figures:
        unit = figures[name][0]
        lines.refuse(name, f"{shown} needs a number", f'{name}.1 = "{_EXAMPLES[unit]}"')
    near = difflib.get_close_matches(name[:_SHOWN], figures, n=1)
    hint = (
        f'{near[0]} = "{_EXAMPLES[figures[near[0]][0]]}"' if near else Typed("tare describe probes")
    )
    lines.refuse(name, f"there is no figure {shown}", hint)


def _prediction(name: str, value: Any, unit: str, lines: _Lines) -> UserPrediction:
    hint = f'{name} = "{_EXAMPLES[unit]}"'
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        lines.refuse(name, f"the prediction of {name} is not a number with a unit", hint)
    typed = format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value)
    cycles = _CYCLES.fullmatch(typed) if unit == "ns" else None
    try:
        amount = units.number(cycles[1]) if cycles else _PARSERS[unit](typed)
    except units.QuantityError as error:
        shown = ascii(typed if len(typed) <= _SHOWN else f"{typed[:_SHOWN]}…")
        lines.refuse(name, f"{shown} {error.why}", hint)
    if not _LEAST <= amount <= _MOST:
        lines.refuse(name, f"{typed[:_SHOWN]!a} is not above 0, or too large", hint)
    return UserPrediction(amount, cycles is not None, lines.name)


_PARSERS: dict[str, Callable[[str], float]] = {
    "ns": lambda typed: units.seconds(typed) * 1e9,
    "bytes": units.size,
    "B/s": lambda typed: units.rate(typed) / 8,
    "Hz": units.frequency,
    "1": units.number,
}
