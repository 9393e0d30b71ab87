"""Finite values of what a file holds in place of numbers, and what was wrong with the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tare.experiment import request_quantiles
from tare.readers import phrases, units
from tare.readers.json_file import Node
from tare.readers.series import Defect, FloatArray, IntArray, Series, Specification
from tare.readers.text_file import shown
from tare.results.message import Message, Said, message

_PLACE = "{place} is {found}"
_FAULT_TEXTS = {
    "not_a_number": "not a number",
    "not_finite": "no finite number",
    "infinite": "infinite or beyond what a double holds",
    "immeasurable": "beyond 1e100 or below 1e-100, which nothing measures",
    "negative": "negative, which cannot be",
    "no_timestamp": "without a timestamp",
}

Note = TypeVar("Note", bound=Said)
T = TypeVar("T")
#: Sizes of what is measured; its squares are numbers, too.
SMALLEST, LARGEST = 1e-100, 1e100
#: Benchmarks that a message names.
_MOST_NAMES = 5


@dataclass(frozen=True, eq=False)
class Readings:
    """Numbers fit to be values.

    Attributes
    ----------
    values : array, shape (n,)
        Finite, and not negative unless that was allowed; infinite where it exceeds a limit.
    kept : int array, shape (n,)
        The place of each in the list that was read.
    defects : tuple of Defect
        What was left out, by kind of fault.
    above : array, shape (n,), or None
        Limit that each infinite value exceeds, NaN of others; None: all values are finite.
    """

    values: FloatArray
    kept: IntArray
    defects: tuple[Defect, ...]
    above: FloatArray | None = None


def immeasurable(values: FloatArray) -> NDArray[np.bool_]:
    """Mark numbers, but zero, that are larger or smaller than anything measured."""
    sizes = np.abs(values)
    return np.isfinite(values) & ((sizes > LARGEST) | ((sizes < SMALLEST) & (sizes > 0)))


def readings(
    raw: Sequence[object],
    where: str | Callable[[int], Said],
    scale: float | FloatArray = 1.0,
    negative: bool = False,
    above: FloatArray | None = None,
) -> Readings:
    """Take what are numbers from a list that should hold nothing else.

    Parameters
    ----------
    raw : sequence
        As parsed; texts, truth values and nulls are not numbers.
    where : str or callable
        The path of the list, or a function from an index to the place of that element.
    scale : float or array, shape (n,)
        What to multiply by, such as 1e-9 for nanoseconds.
    negative : bool
        Whether values below 0 can be.
    above : array, shape (n,), optional
        Limits, as the list has its numbers, that executions exceeded which were killed at them;
        NaN of others. The values of killed ones are infinite, whatever the list has.
    """
    at = where if callable(where) else (lambda index: f"{where}[{index}]")
    numbers = [number(value) for value in raw]
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array(numbers, dtype=float) * scale
        limits = np.full(len(values), np.nan) if above is None else above * scale
    killed = np.isfinite(limits) & (limits > 0)
    values[killed] = np.inf
    faults = {
        "not_a_number": np.isnan(values),
        "infinite": np.isinf(values) & ~killed,
        "immeasurable": immeasurable(values),
        "negative": (values < 0) & np.isfinite(values) & (not negative),
    }
    defects = []
    for fault, those in faults.items():
        if those.any():
            first = int(np.flatnonzero(those)[0])
            found = message(_PLACE, place=at(first), found=shown(raw[first]))
            defects.append(left_out(int(those.sum()), len(raw), fault, found))
    kept = np.flatnonzero(~np.logical_or.reduce(list(faults.values())))
    limits = np.where(killed, limits, np.nan)[kept]
    return Readings(
        values[kept], kept.astype(np.int64), tuple(defects), limits if killed.any() else None
    )


def readings_of(
    nodes: Sequence[Node],
    scale: float | FloatArray = 1.0,
    negative: bool = False,
    above: FloatArray | None = None,
) -> Readings:
    """Take what are numbers from nodes of a JSON file; as ``readings``."""
    raw = [node.value for node in nodes]
    return readings(raw, lambda index: nodes[index].path, scale, negative, above)


def left_out(n: int, total: int, fault: str, at: Message) -> Defect:
    """Make the defect of values that are none, for one kind of fault."""
    why = message(_FAULT_TEXTS[fault])
    return Defect(
        "corrupt",
        message(
            "{n} of {total | counted('value')} left out: {fault} ({at})",
            n=n,
            total=total,
            fault=why,
            at=at,
        ),
    )


def unknown_units(units: Sequence[Node], total: int) -> list[Defect]:
    """Make the defect of units that nobody knows, where there are any."""
    if not units:
        return []
    at = message(_PLACE, place=units[0].path, found=shown(units[0].value))
    unknown = message(
        "{n} of {total | counted('value')} {% if n == 1 %}is{% else %}are{% endif %} in an "
        "unknown unit ({at})",
        n=len(units),
        total=total,
        at=at,
    )
    return [Defect("mixed units", unknown)]


def counted_reasons(reasons: Counter[T], said: Callable[[T], Said]) -> tuple[tuple[Said, int], ...]:
    """Write the reasons of failures, the most frequent first."""
    return tuple((said(reason), n) for reason, n in reasons.most_common())


def number(value: object) -> float:
    """Convert a parsed number; NaN for all that is none, infinity for what is too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def stated(pairs: Mapping[str, object], scale: float = 1.0) -> dict[str, float]:
    """Keep of the statistics that a file states those that are finite numbers."""
    found = {name: number(value) * scale for name, value in pairs.items()}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def per_operation(text: str) -> tuple[str, float, bool | None]:
    """Understand a unit such as ``ns/op``, ``ops/us``, ``B/op`` or ``MB/s``.

    Returns
    -------
    unit : str
        The unit to turn values into; the one that was given where it is not known.
    scale : float
        What to multiply by.
    lower_is_better : bool or None
    """
    spelt = text.replace("/sec", "/s")
    if spelt.startswith("ops/"):
        time = units.unit(spelt.removeprefix("ops/"))
        return ("1/s", 1 / time.factor, False) if time and time.base == "s" else (text, 1.0, None)
    found = units.unit(spelt.removesuffix("/op"))
    if found is None:
        return text, 1.0, True if spelt == "allocs/op" else None
    return found.base, found.factor, not found.base.endswith("/s")


def each_once(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Leave out notes that repeat an earlier one."""
    found: list[Note] = []
    for note in notes:
        if note not in found:
            found.append(note)
    return tuple(found)


def told_apart(series: Iterable[Series]) -> tuple[Series, ...]:
    """Add an occurrence to the keys of series that nothing else tells apart."""
    seen: Counter[tuple[object, ...]] = Counter()
    apart = []
    for one in series:
        name = (one.metric, *sorted(one.key.items()))
        seen[name] += 1
        again = {"occurrence": str(seen[name])} if seen[name] > 1 else {}
        apart.append(replace(one, key={**one.key, **again}))
    return tuple(apart)


def each_of(numbers: Iterable[int], noun: str, unit: str) -> Specification:
    """Say what a file states that has every value by itself: so many a series, and what each is.

    Parameters
    ----------
    numbers : iterable of int
        Of values, a series.
    noun : str
        What a value is of: ``run``.
    unit : str
        What a series is of: ``task``.
    """
    return Specification(
        repetitions=message(phrases.REPETITIONS_PER, count=counted(numbers, noun), unit=unit),
        statistic=message(phrases.STATISTIC_EACH, what=noun),
        spread=message(phrases.STATISTIC_EACH, what=noun),
    )


def summarised(series: Sequence[Series], what: str) -> Specification:
    """Say what a file states of its values besides: mean and median, and the SD of ``what``."""
    means = any("mean" in one.reported for one in series)
    sds = any("sd" in one.reported for one in series)
    return Specification(
        statistic=message(phrases.STATISTIC_MEAN_AND_MEDIAN) if means else None,
        spread=message(phrases.SPREAD_SD, what=what) if sds else None,
    )


def counted(numbers: Iterable[int], noun: str) -> Message:
    """Say how many, where it may differ: ``10 runs``, ``10 to 25 runs``."""
    found = [*numbers] or [0]
    return message(
        "{% if low < high %}{low} to {% endif %}{high | counted(noun)}",
        low=min(found),
        high=max(found),
        noun=noun,
    )


def in_one_process(
    numbers: Iterable[int], noun: str, sampling: str | None = None
) -> Message | None:
    """Say that all values come from one process; None where it is not known how many."""
    known = [*numbers]
    if not known:
        return None
    return message(
        "{count} in one process{% if sampling %}, {sampling} sampling{% endif %}",
        count=counted(known, noun),
        sampling=sampling,
    )


def mean_of(numbers: Iterable[int], noun: str) -> Message:
    """Say that values are means: of ``200 loops``, of ``10 to 25 iterations``."""
    return message("each value is the mean of {count}", count=counted(numbers, noun))


def without_metric(names: Sequence[str]) -> tuple[Message, ...]:
    """Name the benchmarks that are left out since they lack the metric that was asked for."""
    if not names:
        return ()
    first = list(names[:_MOST_NAMES])
    return (
        message(
            "left out, since they have no such metric: {names | join(', ')}{% if more %} and "
            "{more} more{% endif %}",
            names=first,
            more=len(names) - len(first),
        ),
    )


def failed_benchmarks(names: Sequence[str]) -> tuple[Message, ...]:
    """Name the benchmarks that are left out since none of their repetitions succeeded."""
    each = list(dict.fromkeys(names))
    if not each:
        return ()
    first = each[:_MOST_NAMES]
    return (
        message(
            "left out, since they failed: {names | join(', ')}{% if more %} and {more} more"
            "{% endif %}",
            names=first,
            more=len(each) - len(first),
        ),
    )


def few_requests(metric: str, requests: FloatArray) -> tuple[Defect, ...]:
    """Refuse values that are quantiles of too few requests; ``requests``: of each trial."""
    few = request_quantiles.few_of(metric, requests)
    return () if few is None else (Defect("few requests", few),)
