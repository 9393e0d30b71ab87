"""What a series is called: its levels, without those that all have."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tare.readers import Series

T = TypeVar("T")


def varied(keys: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the keys that tell series apart, each beyond what those before it tell."""
    keys = list(keys)
    kept: list[str] = []
    groups = 1
    for name in dict.fromkeys(name for key in keys for name in key):
        now = len({tuple(key.get(k) for k in (*kept, name)) for key in keys})
        if now > groups:
            kept.append(name)
            groups = now
    return kept


def named(key: Mapping[str, str], shown: Collection[str]) -> str:
    """Write levels: "docker · workers 2". What looks like a number has its key before it."""
    return " · ".join(
        f"{name} {level}" if level[:1].isdigit() or not level else level
        for name, level in key.items()
        if name in shown
    )


def in_order(some: Sequence[T], key: Callable[[T], Mapping[str, str]]) -> list[T]:
    """Put rows in the order of their levels: numbers by size, others as they first appear.

    Without a level that is a number, the order stays.
    """
    keys = [key(one) for one in some]
    ranks: dict[str, dict[str, float]] = {}
    are_numbers = False
    for name in dict.fromkeys(name for one in keys for name in one):
        levels = list(dict.fromkeys(one[name] for one in keys if name in one))
        numbers = [_number(level) for level in levels]
        known = [number for number in numbers if number is not None]
        is_number = len(known) == len(levels)
        are_numbers |= is_number
        ranks[name] = dict(zip(levels, known if is_number else range(len(levels)), strict=True))
    if not are_numbers:
        return list(some)
    places = [[ranks[name].get(one.get(name, ""), -1) for name in ranks] for one in keys]
    return [some[i] for i in sorted(range(len(some)), key=places.__getitem__)]


def _number(level: str) -> float | None:
    try:
        found = float(level)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


class _Measured(Protocol):
    """What has values of a metric."""

    @property
    def series(self) -> Series:
        """The values, with their metric and unit."""


M = TypeVar("M", bound=_Measured)


def by_kind(some: Iterable[M]) -> dict[str, list[M]]:
    """Part series by metric and unit: each by its metric, and its unit where metrics are alike."""
    found: dict[tuple[str, str | None], list[M]] = {}
    for one in some:
        found.setdefault((one.series.metric, one.series.unit), []).append(one)
    metrics = [metric for metric, _ in found]
    return {
        metric if metrics.count(metric) == 1 else f"{metric} ({unit or 'no unit'})": of_kind
        for (metric, unit), of_kind in found.items()
    }
