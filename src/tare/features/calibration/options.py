"""Options of ``tare calibrate`` and of the commands below it."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tare.options import kinds, measuring, shared
from tare.options.measuring import SessionOptions
from tare.options.option import (
    COLUMNS,
    HOW_MANY,
    OUTPUT,
    WHAT,
    WHERE,
    Options,
    argument,
    flag,
    like,
    option,
)

#: A number from which on it is taken for a typing error.
_TOO_LARGE = 1e12
#: The same of CPUs, or MB, that are asked for.
_MOST_PLACE = 1e6


_CPUS = re.compile(r"\d{1,6}(\.\d{1,9})?|\.\d{1,9}|\d{1,6}/\d{1,6}", re.ASCII)


def _cpus(value: Any) -> Fraction:
    # Exact, so that the third step of 0.1 is 0.3; of a large exponent it would not end.
    if not _CPUS.fullmatch(value.strip()):
        raise ValueError
    try:
        found = Fraction(value.strip())
    except ZeroDivisionError:
        raise ValueError from None
    if not 0 < found <= kinds.MOST_CPUS:
        raise ValueError
    return found


def _quotas(value: Any) -> tuple[Fraction, ...]:
    words = [word for word in value.split(",") if word.strip()]
    if not words:
        raise ValueError
    return tuple(map(_cpus, words))


def _number(expected: str, fits: Callable[[float], bool]) -> kinds.Kind:
    """Return the kind of those numbers that fit."""

    def parse(text: str) -> float:
        found: float = kinds.NUMBER.typed(text)
        if not fits(found):
            raise ValueError
        return found

    return kinds.Kind(expected, float, parse=parse, metavar="N")


def _ends(value: Any) -> tuple[float, float]:
    start, end = (kinds.NUMBER.typed(word) for word in value.split(","))
    if not 0 < start < end < _TOO_LARGE:
        raise ValueError
    return start, end


_PLACE = _number("a number above 0", lambda place: 0 < place < _MOST_PLACE)
_ANY = _number("a number within ±1e12", lambda number: abs(number) < _TOO_LARGE)


class SweepOptions(Options):
    """Options of ``tare calibrate``."""

    command: list[str] = argument(
        kinds.WORD, "[-- COMMAND…]", "Command whose executions are counted, instead of LINPACK's.",
        repeatable=True,
    )  # fmt: skip
    by: str = option(
        kinds.choice(("quota", "cpuset", "vcpus", "memory"), "WHAT"),
        "quota, cpuset, vcpus, or memory.", group=WHAT, default="quota",
    )  # fmt: skip
    kernel: list[str] = option(
        kinds.WORD, "Kernel, such as linpack:size=2000; several are interleaved.", group=WHAT,
        metavar="NAME[:P=N,…]", shown="linpack", repeatable=True,
    )  # fmt: skip
    settings: list[str] = option(
        kinds.WORD, "Sweep under each value: turbo=on,off.", group=WHAT, metavar="NAME=VALUE…",
        repeatable=True, more=r"[a-z_]+=\S+",
    )  # fmt: skip
    budget: float | None = option(
        kinds.DURATION, "Instead of --windows: as many as fit.", group=HOW_MANY
    )
    step: Fraction | None = option(
        kinds.Kind("a number of CPUs above 0, such as 0.5", _cpus, metavar="CPUS", example="0.5"),
        "Step between quotas.", group=HOW_MANY, shown="0.1",
    )  # fmt: skip
    quotas: tuple[Fraction, ...] | None = option(
        kinds.Kind(
            "numbers of CPUs above 0, such as 0.1,0.5,1", _quotas, metavar="CPUS,…",
            example="0.1,0.5,1",
        ),
        "Quotas instead of --step, such as 0.1,0.5,1.", group=HOW_MANY,
    )  # fmt: skip
    threads: int | None = option(
        kinds.whole(1), "Concurrent executions.", group=HOW_MANY, shown="one per CPU"
    )
    period: tuple[float, ...] | None = option(
        kinds.by_commas(kinds.DURATION, "times, such as 50ms,100ms", "TIME,…"),
        "Periods of the quota, interleaved.", group=HOW_MANY, shown="100 ms",
    )  # fmt: skip
    windows: int | None = option(kinds.whole(1), "Windows at each step.", group=HOW_MANY, shown="7")
    periods: int | None = option(kinds.whole(1), "Periods in a window.", rare=True, shown="20")
    seed: int | None = shared.SEED
    platform: str | None = option(
        measuring.STACK, "Stack of layers.", group=WHERE, short="-p", shown="bare"
    )
    image: str | None = like(SessionOptions.records["image"])
    as_root: bool = shared.AS_ROOT
    strict: bool = shared.STRICT
    out: Path | None = like(shared.OUT, help="Folder for the results.", shown="calibration")
    resume: bool = shared.RESUME
    fingerprint: bool = flag("Probe the machine before and after (5 s each).", group=OUTPUT)
    json: str | None = shared.JSON
    quiet: bool = shared.QUIET


class CompareOptions(Options):
    """Options of ``tare calibrate compare``."""

    first: Path = argument(kinds.PATH, "A", "File of --json, or folder of --out.", is_required=True)
    second: Path = argument(kinds.PATH, "B", "The same of another machine.", is_required=True)
    cpus: tuple[float, ...] | None = option(
        kinds.by_commas(_PLACE, "CPUs on the first machine, such as 0.7,1", "CPUS,…"),
        "CPUs on A, such as 0.7,1.", group=WHAT, shown="A's steps",
    )  # fmt: skip
    memory: tuple[float, ...] | None = option(
        kinds.by_commas(_PLACE, "MB on the first machine, such as 512,1769", "MB,…"),
        "Instead, where A was measured by memory: 512,1769.", group=WHAT,
    )  # fmt: skip
    report: Path | None = shared.REPORT
    json: str | None = shared.JSON


class ForgetOptions(Options):
    """Options of ``tare calibrate forget``."""

    json: str | None = shared.JSON


class FitOptions(Options):
    """Options of ``tare calibrate fit``."""

    file: Path | None = argument(kinds.PATH, "[FILE.csv]", "Table with columns quota and gflops.")
    workload: str | None = option(
        kinds.WORD, 'What was measured, such as "Intel\'s LINPACK".', group=WHAT, metavar="NAME"
    )
    slope: float | None = option(
        _number(
            "a slope above 0 and below 1e12, such as 0.0197",
            lambda slope: 0 < slope < _TOO_LARGE,
        ),
        "Published line instead of a table: per CPU, or per MB.", group=WHAT,
    )  # fmt: skip
    intercept: float | None = option(_ANY, "Intercept of the published line.", group=WHAT)
    range: tuple[float, float] | None = option(
        kinds.Kind("two numbers above 0, the smaller first, such as 128,10000", _ends,
                   metavar="FROM,TO"),
        "CPUs or MB that the published line covers.", group=WHAT,
    )  # fmt: skip
    r_squared: float | None = option(
        _number("a number between 0 and 1, such as 0.9973", lambda r2: 0 <= r2 <= 1),
        "R² of the published line.", group=WHAT,
    )  # fmt: skip
    maximum: float | None = option(_ANY, "Maximum that was published with it.", group=WHAT)
    value: str = option(
        kinds.WORD, "Column of the speed.", group=COLUMNS, metavar="C", default="gflops"
    )
    quota: str = option(
        kinds.WORD, "Column of the quota: CPUs; …_mb is memory in MB.", group=COLUMNS,
        metavar="C", default="quota",
    )  # fmt: skip
    report: Path | None = shared.REPORT
    json: str | None = shared.JSON
