"""Distributions of bandwidth by their quantiles, as people write them down."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

from tare.errors import ExperimentError
from tare.shaping import rates

#: Pairs of probability and bits a second, both ascending.
Quantiles = tuple[tuple[float, int], ...]

_NAME = re.compile(r"(?:p([0-9]{1,2}(?:\.[0-9]{1,6})?)|([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%)|(median)")
_TIME = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*(ms|s|sec|min|h)?")
_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, None: 1.0}
#: Changing a rate takes up to some milliseconds.
_LEAST_EVERY_S, _MOST_EVERY_S = 0.1, 86_400.0


def is_quantile(name: str) -> bool:
    """Whether an option's name is that of a quantile: ``10%``, ``p10``, ``median``."""
    return _NAME.fullmatch(name) is not None


def in_order(written: Mapping[str, str], example: str) -> Quantiles:
    """Return quantiles by probability.

    Raises
    ------
    ExperimentError
        If there are fewer than two, one is there twice, or a higher one is a lower rate.
    """
    found: dict[float, int] = {}
    for name, value in written.items():
        probability = _probability(name)
        if probability in found:
            raise ExperimentError(f"the quantile {name} is there twice", "leave one of them out")
        found[probability] = rates.parse_rate(value, name)
    if len(found) < 2:
        raise ExperimentError(
            "a distribution is known by at least two of its quantiles, such as the least (0%) and "
            "the most (100%)",
            example,
        )
    ordered = tuple(sorted(found.items()))
    for (low, less), (high, more) in itertools.pairwise(ordered):
        if more < less:
            raise ExperimentError(
                f"{100 * high:g}%={rates.written(more)} is slower than "
                f"{100 * low:g}%={rates.written(less)}",
                example,
            )
    if not ordered[-1][1]:
        raise ExperimentError("with this distribution nothing would ever pass", example)
    return ordered


def seconds(text: str) -> float | None:
    """Return a time in seconds: ``5s``, ``500ms``; None: it is none."""
    found = _TIME.fullmatch(text.strip())
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


def interval_s(text: str) -> float:
    """Return how often a rate is drawn anew, in seconds.

    Raises
    ------
    ExperimentError
        If it is no time, or one that cannot be kept.
    """
    every = seconds(text)
    if every is None or not _LEAST_EVERY_S <= every <= _MOST_EVERY_S:
        raise ExperimentError(f"every={text} is no time from 0.1s to 24h", "every=5s")
    return every


def _probability(name: str) -> float:
    found = _NAME.fullmatch(name)
    assert found is not None
    percent = 50.0 if found[3] else float(found[1] or found[2])
    if percent > 100:
        raise ExperimentError(f"the quantile {name} is above 100%", "100% is the most")
    return percent / 100
