"""Series of one run each, joined to one series whose trials are these runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from tare.readers.readings import counted_reasons, each_once
from tare.readers.series import FailedRuns, FloatArray, Series
from tare.results.message import Amount, Message, Value

#: Arguments of a note that say in how many of how many runs it holds.
_COUNTS = frozenset({"runs", "of"})


def identity(series: Series) -> Hashable:
    """Return what series of the same conditions and metric have in common."""
    return series.metric, series.unit, frozenset(series.key.items())


def is_single(series: Series) -> bool:
    """Whether a series is known to be one run."""
    return series.trial is not None and len(np.unique(series.trial)) <= 1


def join(series: Sequence[Series]) -> Series:
    """Return one series of runs of the same conditions, in order of time where it is known."""
    if len(series) == 1:
        return series[0]
    positions = [one.position for one in series if one.position is not None]
    values = np.concatenate([one.values for one in series])
    trial = np.repeat(np.arange(len(series)), [len(one.values) for one in series])
    above = None
    if any(one.above is not None for one in series):
        above = np.concatenate([_above(one) for one in series])
    position = None
    if len(positions) == len(series):
        position = np.concatenate(positions)
        order = np.argsort(position, kind="stable")
        values, trial, position = values[order], trial[order], position[order]
        above = None if above is None else above[order]
    return replace(
        series[0],
        values=values,
        trial=trial,
        above=above,
        block=None,
        position=position,
        reported={},
        defects=tuple(defect for one in series for defect in one.defects),
        failed=_failures(series),
        notes=_joined([one.notes for one in series]),
        timelines=(),
    )


def _above(one: Series) -> FloatArray:
    return np.full(len(one.values), np.nan) if one.above is None else one.above


def _joined(notes: Sequence[Iterable[Message]]) -> tuple[Message, ...]:
    """Return each note of the runs once, with the range of its amounts and how many runs have it.

    ``notes`` has those of each run. The range is that of arguments called least and most; a note
    with arguments called runs and of gets the number of runs.
    """
    alike: dict[Hashable, list[Message]] = {}
    for of_run in notes:
        for note in each_once(of_run):
            varying = {name for name in note.args if name.startswith(("least", "most"))}
            varying |= _COUNTS if note.args.keys() >= _COUNTS else set()
            fixed = tuple((k, repr(v)) for k, v in note.args.items() if k not in varying)
            alike.setdefault((note.wording, fixed), []).append(note)
    return tuple(_range(some, len(notes)) for some in alike.values())


def _failures(series: Sequence[Series]) -> FailedRuns | None:
    """Join the failures of several runs; None: there are none.

    A run without failures counts as many executions as the first that has some.
    """
    some = [one.failed for one in series if one.failed is not None]
    if not some:
        return None
    # Messages have no hash.
    said = {repr(reason): reason for one in some for reason, _ in one.reasons}
    reasons: Counter[str] = Counter()
    for one in some:
        for reason, n in one.reasons:
            reasons[repr(reason)] += n
    return FailedRuns(
        sum(one.n for one in some),
        sum(one.total for one in some) + (len(series) - len(some)) * some[0].total,
        some[0].what,
        counted_reasons(reasons, said.__getitem__),
        each_once(why for one in some for why in one.because),
    )


def _range(notes: Sequence[Message], runs: int) -> Message:
    args: dict[str, Value] = dict(notes[0].args)
    for name, first in notes[0].args.items():
        if isinstance(first, Amount) and name.startswith(("least", "most")):
            choose = min if name.startswith("least") else max
            args[name] = choose(
                (one.args[name] for one in notes), key=lambda amount: getattr(amount, "value", 0.0)
            )
    if args.keys() >= _COUNTS:
        args |= {"runs": len(notes), "of": runs}
    return msgspec.structs.replace(notes[0], args=args)
