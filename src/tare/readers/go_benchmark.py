"""What ``go test -bench`` prints: a line is the mean over iterations, a process may print many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tare.errors import FailedRunError, InputError
from tare.readers import json_file, phrases
from tare.readers.format import Format, Repeat
from tare.readers.readings import counted, mean_of, per_operation, readings
from tare.readers.series import ColumnOptions, Imported, Series, Specification
from tare.readers.text_file import head_text, label, read_text, shown
from tare.registry import Description
from tare.results.message import Message, message

_RESULT = re.compile(r"Benchmark\S*[ \t]+\d+[ \t]+\S+[ \t]+\S")
#: A line of go test -json.
_EVENT = re.compile(r'^\{.*"Action":', re.MULTILINE)
#: As golang.org/x/perf/benchfmt has it: neither blanks nor capitals before the colon.
_SETTING = re.compile(r"([a-z][^\sA-Z:]*):(?:[ \t]+(.*)|$)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
#: Go prints five. What a benchmark prints itself may look like settings, whole logs of it.
_MOST_SETTINGS = 100
#: A benchmark that failed; its name may have been printed already, when it began.
_FAILED = re.compile(r"(?:Benchmark\S*)?\s*--- FAIL: (\S+)")
#: Names of failed benchmarks in a message.
_MOST_FAILED = 3
#: Go's own units by the metric that they are of.
_METRICS = {"ns/op": "time", "sec/op": "time", "B/op": "memory", "allocs/op": "allocations",
            "MB/s": "throughput", "B/s": "throughput"}  # fmt: skip


@dataclass(frozen=True)
class _Line:
    """A line of results."""

    number: int
    process: int
    name: str
    iterations: int
    values: dict[str, object]
    settings: dict[str, str]


@dataclass
class _Printed:
    """What was printed, process by process."""

    lines: list[_Line] = field(default_factory=list)
    processes: int = 1
    broken: list[int] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def recognises(head: bytes, file: Path) -> bool:
    """Whether a line of results or Go's settings are among the first, as text or as events."""
    if {"Action", "Package"} <= json_file.outline(head):
        return True
    lines = head_text(head).splitlines()
    return any(line.startswith("goos: ") or _RESULT.match(line) for line in lines)


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read one metric of each benchmark: ns/op, or the unit that ``columns.value`` names."""
    printed = _printed(_lines(file))
    units = list(dict.fromkeys(unit for line in printed.lines for unit in line.values))
    if not units:
        what = f"{file} has no line of results"
        if printed.failed:
            why = ", ".join(map(shown, printed.failed[:_MOST_FAILED]))
            raise FailedRunError(f"{what}: {why} failed", "find out why, and measure again", why)
        raise InputError(what, "let go test run with -bench .")
    unit = columns.value or ("ns/op" if "ns/op" in units else units[0])
    if unit not in units:
        raise InputError(
            f"{file} has no values in {unit}", f"name one with --value: {', '.join(units)}"
        )
    series = _all_series([line for line in printed.lines if unit in line.values], unit)
    others = [name for name in units if name != unit]
    return Imported(
        file=file,
        series=series,
        specification=Specification(
            repetitions=message(
                "{count} per {unit} in {processes}",
                count=counted((len(one.values) for one in series), "value"),
                unit="benchmark",
                processes=counted([printed.processes], "process"),
            ),
            environment=_environment(printed.lines[0].settings),
        ),
        notes=(
            *([message(phrases.OTHER_METRICS, names=others)] if others else []),
            *_notes(printed),
        ),
        subject=tuple(f"{name}: {value}" for name, value in printed.lines[0].settings.items()),
    )


def _lines(file: Path) -> Iterator[str]:
    text = read_text(file, json_file.MOST_BYTES)
    if not _EVENT.search(text):
        yield from text.split("\n")
        return
    # go test -json: what each package printed, in pieces that need not be lines.
    pieces: dict[str, list[str]] = {}
    for event in json_file.load_each(file):
        output, package = event.find("Output"), event.find("Package")
        if output and isinstance(output.value, str):
            pieces.setdefault(package.text() if package else "", []).append(output.value)
    for of_package in pieces.values():
        yield from "".join(of_package).split("\n")


def _printed(lines: Iterator[str]) -> _Printed:
    printed = _Printed()
    settings: dict[str, str] = {}
    shared: dict[str, str] | None = None  # by all lines until a setting changes
    ended = False
    for number, line in enumerate((one.rstrip("\r") for one in lines), start=1):
        if failed := _FAILED.match(line):
            printed.failed.append(failed[1])
        elif line.startswith("Benchmark"):
            if ended:
                printed.processes += 1
                ended = False
            shared = dict(settings) if shared is None else shared
            _take(line, number, shared, printed)
        elif line in ("PASS", "FAIL") or line.startswith(("goos:", "ok ", "FAIL\t")):
            ended = bool(printed.lines)
        setting = _SETTING.match(line)
        if setting and (setting[1] in settings or len(settings) < _MOST_SETTINGS):
            settings[setting[1]] = setting[2] or ""
            shared = None
    return printed


def _take(line: str, number: int, settings: dict[str, str], printed: _Printed) -> None:
    name, *rest = line.split()
    if not rest:  # go test -v says what begins
        return
    if not rest[0].isascii() or not rest[0].isdigit() or len(rest) < 3 or len(rest[0]) > 18:
        printed.broken.append(number)
        return
    found: dict[str, object] = {
        label(unit): float(value) if _NUMBER.fullmatch(value) else value
        for value, unit in zip(rest[1::2], rest[2::2], strict=False)
    }
    line_of = _Line(number, printed.processes, label(name), int(rest[0]), found, settings)
    printed.lines.append(line_of)


def _all_series(lines: Sequence[_Line], unit: str) -> tuple[Series, ...]:
    """Make series of what has the same name, and the same of those settings that differ."""
    shared = list({id(line.settings): line.settings for line in lines}.values())
    names = dict.fromkeys(name for settings in shared for name in settings)
    differ = [n for n in names if len({settings.get(n) for settings in shared}) > 1]
    grouped: dict[tuple[tuple[str, str], ...], list[_Line]] = {}
    for line in lines:
        levels = {label(n): label(line.settings.get(n, "")) for n in differ}
        key = {"benchmark": line.name.removeprefix("Benchmark"), **levels}
        grouped.setdefault(tuple(key.items()), []).append(line)
    return tuple(_series(dict(key), of, unit) for key, of in grouped.items())


def _series(key: dict[str, str], lines: Sequence[_Line], unit: str) -> Series:
    base, scale, lower = per_operation(unit)
    found = readings(
        [line.values[unit] for line in lines],
        lambda index: f"line {lines[index].number}, {unit}",
        scale,
        negative=unit not in _METRICS,
    )
    processes = np.unique([line.process for line in lines], return_inverse=True)[1]
    loops = {line.iterations for line in lines}
    return Series(
        key=key,
        values=found.values,
        metric=_METRICS.get(unit, unit),
        unit=base,
        lower_is_better=lower,
        trial=processes[found.kept].astype(np.int64) if processes.max() > 0 else None,
        defects=found.defects,
        notes=(mean_of(loops, "iteration"),) if max(loops) > 1 else (),
    )


def _notes(printed: _Printed) -> list[Message]:
    notes = []
    if printed.broken:
        count, first = len(printed.broken), printed.broken[0]
        notes.append(
            message(
                "{n | counted('incomplete line')} of results left out (line {line})",
                n=count,
                line=first,
            )
        )
    if printed.failed:
        names = [shown(name) for name in printed.failed[:5]]
        notes.append(message("benchmarks that failed: {names | join(', ')}", names=names))
    return notes


def _environment(settings: dict[str, str]) -> str | None:
    system = "/".join(filter(None, (settings.get("goos"), settings.get("goarch"))))
    return label(", ".join(filter(None, (settings.get("cpu"), system)))) or None


UNIT = Format(
    description=Description(
        name="go-benchmark",
        title="Go: what go test -bench prints, plain or with -json",
        question="What did each line of each benchmark measure?",
        source="golang.org/x/perf/benchfmt",
    ),
    recognises=recognises,
    read=read,
    options=frozenset({"value"}),
    executions=message(
        "the text holds one run of go test: all its values are of one process. Append 6 runs "
        "or more to one file, and audit that"
    ),
    repeat=Repeat("go test -bench . >run$i.txt", "run*.txt"),
)
