"""What ``tare run --json`` and ``tare compare --json`` write: every trial a value of its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.experiment import metrics
from tare.readers import json_file, phrases, units
from tare.readers.format import Format
from tare.readers.json_file import Node
from tare.readers.readings import (
    counted,
    few_requests,
    number,
    readings_of,
    told_apart,
)
from tare.readers.series import ColumnOptions, FailedRuns, Imported, Series, Specification
from tare.readers.text_file import label
from tare.registry import Description
from tare.results.message import message

#: What trials are told apart by, where there are several commands or platforms.
_KEYS = ("workload", "platform")


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins with trials as tare writes them, or with comparisons that a gate judges."""
    found = json_file.outline(head)
    trials = {"trials[].wall_s", "trials[].sources"}
    return trials <= found or {"comparisons[].gate_on", "comparisons[].ratio_ci"} <= found


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the good trials; ``columns.value`` names another metric than the one asked for."""
    root = json_file.load(file)
    failed = None
    trials = list(root.at("trials").each()) if root.find("trials") else None
    if trials is None:
        series = told_apart(_compared(root, columns.value))
        if not series:
            raise root.at("comparisons").wrong("nothing was compared")
    else:
        asked = _asked(root)
        metric = columns.value or asked
        good = [one for one in trials if _has_value(one, metric == asked)]
        if not good:
            raise root.wrong("no trial ended well")
        series = told_apart(_tried(file, trials, good, metric))
        bad = len(trials) - len(good)
        if bad:
            failed = FailedRuns(bad, len(trials), "trial")
    found = root.find("facts")
    facts = len(dict(found.pairs())) if found else 0
    return Imported(
        file=file,
        series=series,
        specification=Specification(
            repetitions=counted((len(one.values) for one in series), "trial"),
            statistic=message("the value of every trial"),
            spread=message(phrases.STATISTIC_EACH, what="trial"),
            environment=counted([facts], "fact") if facts else None,
        ),
        failed=failed,
    )


def _asked(root: Node) -> str:
    """Return the metric that the command was asked for."""
    summary = root.find("summary")
    some = summary.find("asked") if summary else root.find("comparisons")
    first = next(some.each(), None) if some else None
    return first.at("metric").text() if first else "wall_ns"


def _has_value(trial: Node, is_asked: bool) -> bool:
    """Whether a trial has a value of a metric, if only one above a stated limit."""
    return trial.at("status").value == "ok" or (is_asked and _above_s(trial) is not None)


def _key(trial: Node) -> dict[str, str]:
    return {k: v.text() for k in _KEYS if (v := trial.find(k)) and v.value}


def _tried(
    file: Path, everything: Sequence[Node], trials: Sequence[Node], metric: str
) -> Iterator[Series]:
    """Make a series of each command and platform, on the best source that all trials have.

    ``trials``: those with values; the others of ``everything`` are counted as failed.
    """
    found = [one.at("sources").find(metric) for one in trials]
    above = [_above_s(one) for one in trials]
    ended = [one for one, limit in zip(found, above, strict=True) if limit is None]
    common = set.intersection(*(set(dict(one.pairs())) if one else set() for one in ended or found))
    source = next(iter(metrics.ranked(metric, common)), None)
    if source is None and ended:
        have = sorted({name for one in trials for name, _ in one.at("sources").pairs()})
        raise InputError(
            f"{file} has no {label(metric)} that all its good trials have from one source",
            f"name another metric with --value: {', '.join(map(label, have))}",
        )
    keys = [_key(one) for one in trials]
    totals = Counter(tuple(_key(one).items()) for one in everything)
    values = [
        one.at("status") if limit is not None or of is None or source is None else of.at(source)
        for one, of, limit in zip(trials, found, above, strict=True)
    ]
    numbers = [one.at("trial") for one in trials]
    if not all(isinstance(one.value, int) and abs(one.value) < 1 << 53 for one in numbers):
        raise numbers[0].wrong("a trial has no number")
    requests = [one.at("sources").find("requests") for one in trials]
    counts = [one and one.find(metrics.DRIVER) for one in requests]
    for key in {tuple(key.items()): key for key in keys}.values():
        own = [i for i, other in enumerate(keys) if other == key]
        made = _series(
            key,
            metric,
            [values[i] for i in own],
            np.array([numbers[i].value for i in own]),
            above_s=[above[i] for i in own],
        )
        few = few_requests(metric, readings_of([n for i in own if (n := counts[i])]).values)
        total = totals[tuple(key.items())]
        bad = FailedRuns(total - len(own), total, "trial") if total > len(own) else None
        yield replace(made, defects=(*made.defects, *few), failed=bad)


def _above_s(trial: Node) -> float | None:
    """Return what the time of a killed trial exceeds, of the metric that was asked for."""
    above = trial.find("above_s") if trial.at("status").value == "killed" else None
    return None if above is None else number(above.value)


def _compared(root: Node, metric: str | None) -> Iterator[Series]:
    """Make a series of each command that was compared; without a baseline those of pairs."""
    seen = set()
    for one in root.at("comparisons").each():
        measured = one.at("metric").text()
        if metric not in (None, measured):
            raise one.wrong(f"is of {measured}, not of {metric!r}", "leave --value out")
        sides = list(one.at("values").each())
        if len(sides) != 2:
            raise one.at("values").wrong("expected the values of a and of b")
        counts = [*found.each()] if (found := one.find("trials")) else [None, None]
        looks = one.find("looks")
        # Pairs are looked at while they are measured; a baseline is not.
        is_paired = one.find("spread") is not None or (looks and next(looks.each(), None))
        paired = bool(is_paired) and len({len(s.elements()) for s in sides}) == 1
        for name, side, count in zip(("a", "b"), sides, counts, strict=True):
            command = one.at(name).text()
            # The reference stands in every comparison.
            if command not in seen:
                seen.add(command)
                values = list(side.each())
                limit = count and count.find("above_s")
                above = None if not limit or limit.value is None else number(limit.value)
                above_s = [above if value.value is None else None for value in values]
                yield _series({"workload": command}, measured, values, None, paired, above_s)


def _series(
    key: dict[str, str],
    metric: str,
    values: Sequence[Node],
    trial: np.ndarray[tuple[int], np.dtype[np.int64]] | None,
    paired: bool = False,
    above_s: Sequence[float | None] = (),
) -> Series:
    name, unit = units.of_column(label(metric))
    in_seconds = unit is not None and unit.base == "s"
    scale = unit.factor if unit is not None and in_seconds else 1.0
    limits = np.array([math.nan if one is None else one / scale for one in above_s])
    above = limits if len(limits) else None
    found = readings_of(values, scale, units.may_be_negative(name, unit), above)
    stored = None if unit is None else "s" if in_seconds else unit.name
    return Series(
        key=key,
        values=found.values,
        metric=name,
        unit=stored,
        above=found.above,
        lower_is_better=units.lower_is_better(name, unit),
        trial=found.kept if trial is None else trial[found.kept],
        block=found.kept if paired else None,
        position=None if trial is None else trial[found.kept].astype(float),
        defects=found.defects,
        noun="trial",
    )


UNIT = Format(
    description=Description(
        name="tare-json",
        title="tare: what tare run --json and tare compare --json write",
        question="What is the value of each trial?",
    ),
    recognises=recognises,
    read=read,
    options=frozenset({"value"}),
)
