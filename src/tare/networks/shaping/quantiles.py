"""Distributions of bandwidth by their quantiles, as people write them down."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from tare import units
from tare.errors import ExperimentError
from tare.networks.shaping import rates
from tare.units import typed_bits

#: Pairs of probability and bits a second, both ascending.
Quantiles = tuple[tuple[float, int], ...]

#: Changing a rate takes up to some milliseconds.
_LEAST_EVERY_S, _MOST_EVERY_S = 0.1, 86_400.0


def is_quantile(name: str) -> bool:
    """Whether an option's name is that of a quantile: ``10%``, ``p10``, ``median``."""
    return name == "median" or name.removeprefix("p")[:1].isdigit()


def in_order(written: Mapping[str, str], example: str) -> Quantiles:
    """Return quantiles by probability.

    Raises
    ------
    ExperimentError
        If there are fewer than two, one is there twice, or a higher one is a lower rate.
    """
    found: dict[float, int] = {}
    for name, value in written.items():
        try:
            probability = units.quantile(name)
        except units.QuantityError as error:
            raise ExperimentError(f"the quantile {name} {error.why}", example) from None
        if probability in found:
            raise ExperimentError(f"the quantile {name} is there twice", "leave one of them out")
        found[probability] = rates.read(units.rate, name, value)
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
                f"{100 * high:g}%={typed_bits(more)} is slower than "
                f"{100 * low:g}%={typed_bits(less)}",
                example,
            )
    if not ordered[-1][1]:
        raise ExperimentError("with this distribution nothing would ever pass", example)
    return ordered


def interval_s(text: str) -> float:
    """Return how often a rate is drawn anew, in seconds.

    Raises
    ------
    ExperimentError
        If it is no time, or one that cannot be kept.
    """
    try:
        return units.seconds(text, _LEAST_EVERY_S, _MOST_EVERY_S)
    except units.QuantityError as error:
        raise ExperimentError(f"every={text} {error.why}", "every=5s") from None
