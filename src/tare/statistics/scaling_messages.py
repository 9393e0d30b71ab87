"""What is said of a sweep, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.statistic import FloatArray
from tare.statistics.steps import Steps

#: Windows at a step beyond which a quieter machine is the better advice.
_MOST_WINDOWS = 50
#: Steps that one sentence names.
_MOST_NAMED = 3


def concluded(
    verdict: str,
    segments: Sequence[Segment],
    error: float,
    ceiling: tuple[float | None, float | None, float | None],
    sees: float | None,
    *,
    curved: bool,
) -> Message:
    """Say how y follows x."""
    lines = [s for s in (segments if ceiling[0] is None else segments[:-1]) if s.start < s.end]
    ranges = [_range(s.start, s.end) for s in lines]
    if verdict == "linear":
        return message(
            "scaling.linear", span=ranges[0], error=Amount(error, "share"), seen=_share(sees)
        )
    if not lines:
        return message("scaling.flat", span=_range(segments[0].start, segments[0].end))
    flat = _ceiling(*ceiling)
    if verdict == "saturating":
        return message("scaling.saturating", span=ranges[0], ceiling=flat)
    errs = message("scaling.error", share=_share(error))
    if curved:
        return message("scaling.curved", ranges=ranges, error=errs)
    apart = [_place(s.start) for s in segments if s.start == s.end]
    return message("scaling.piecewise", ranges=ranges, ceiling=flat, apart=apart, error=errs)


def _ceiling(at: float | None, low: float | None, high: float | None) -> Message | None:
    if at is None:
        return None
    return message(
        "scaling.ceiling",
        place=_place(at),
        low=None if low is None else _place(low),
        high=None if high is None else _place(high),
    )


def _range(start: float, end: float) -> Message:
    return message("scaling.range", start=_place(start), end=_place(end))


def _place(x: float) -> Chosen:
    return Chosen(float(f"{x:.3g}"), "1")


def _share(error: float | None) -> Amount | None:
    return None if error is None or not math.isfinite(error) else Amount(error, "share")


def zero() -> Message:
    """Say that all values are zero."""
    return message("scaling.zero")


def apart(x: FloatArray, errors: FloatArray, most: float) -> Message:
    """Say that one line describes all steps but a few; ``most``: the error that it may have."""
    far = errors > most
    return message(
        "scaling.apart",
        errs=message("scaling.errs", share=_share(float(errors.max()))),
        places=[_place(float(place)) for place in x[far][:_MOST_NAMED]],
        others=max(0, int(far.sum()) - _MOST_NAMED),
        rest=Amount(float(errors[~far].max(initial=0.0)), "share"),
    )


def too_few(steps: int, fewest: int) -> Message:
    """Say that there are too few steps to conclude anything."""
    return message("scaling.few", steps=steps, fewest=fewest)


def too_noisy(at: Steps, error: float, scatter: float, sees: tuple[float, float]) -> Message:
    """Say why nothing is concluded, and what would help.

    ``scatter``: relative, of steps about the line; ``sees``: the error that would be seen, and the
    one that is to be.
    """
    errs = message("scaling.errs", share=_share(error))
    if not math.isfinite(sees[0]):
        return message("scaling.few_noisy", errs=errs, steps=len(at.x))
    return message(
        "scaling.noisy",
        errs=errs,
        steps=len(at.x),
        seen=Amount(sees[0], "share"),
        remedy=_remedy(at, scatter, sees),
    )


def _remedy(at: Steps, scatter: float, sees: tuple[float, float]) -> Message:
    windows = float(np.mean(at.counts))
    within = None if at.scatter is None else float(np.median(at.scatter / np.sqrt(at.counts)))
    if within is not None and scatter > 2 * within:
        return message("scaling.remedy.steps")
    wanted = math.ceil(windows * (sees[0] / sees[1]) ** 2)
    if wanted > _MOST_WINDOWS:
        return message("scaling.remedy.idle")
    return message("scaling.remedy.windows", wanted=wanted, windows=_place(windows))


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One straight piece: from its first to its last x."""

    start: float
    end: float
    slope: float
    intercept: float
