"""Which series are compared with which? Those that differ in the compared columns only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tare.errors import InputError
from tare.features.audit.series import SeriesAudit


def require(series: Sequence[SeriesAudit], columns: Sequence[str]) -> None:
    """Refuse to compare by a key that no series has."""
    known = list(dict.fromkeys(key for s in series for key in s.key))
    for column in columns:
        if column not in known:
            has = f"has {', '.join(known)}" if known else "has none"
            raise InputError(
                f"no series has the key {column!r} to compare by; what was read {has}",
                f"--compare {known[0]}" if known else "audit without --compare",
            )


def require_level(series: Sequence[SeriesAudit], columns: Sequence[str], reference: str) -> None:
    """Refuse to compare with a level that no series has."""
    some = [s for s in series if all(column in s.key for column in columns)]
    levels = list(dict.fromkeys(level(s.key, columns) for s in some))
    if reference not in levels:
        raise InputError(
            f"no series is of {reference!r}; there are: {', '.join(levels)}",
            f"--reference {levels[0]!r}" if levels else "--compare names what is compared",
        )


def groups(
    series: Sequence[SeriesAudit], columns: Sequence[str], named: Sequence[str]
) -> Iterator[list[SeriesAudit]]:
    """Series that differ in the compared columns only; levels in order of first appearance."""
    some = [s for s in series if all(column in s.key for column in columns)]
    follow = _following(some, columns) - set(named)
    order: dict[str, int] = {}
    found: dict[tuple[object, ...], list[SeriesAudit]] = {}
    for s in some:
        order.setdefault(level(s.key, columns), len(order))
        others = tuple((k, v) for k, v in s.key.items() if k not in columns and k not in follow)
        found.setdefault((s.series.metric, s.series.unit, *others), []).append(s)
    for group in found.values():
        if len(group) > 1:
            yield sorted(group, key=lambda s: order[level(s.key, columns)])


def _following(some: Sequence[SeriesAudit], columns: Sequence[str]) -> set[str]:
    """Keys that vary only as the compared ones do, such as a parameter inside a command."""
    found: set[str] = set()
    for key in dict.fromkeys(k for s in some for k in s.key if k not in columns):
        by_level: dict[str, set[str | None]] = {}
        for s in some:
            by_level.setdefault(level(s.key, columns), set()).add(s.key.get(key))
        levels = set().union(*by_level.values())
        if len(levels) > 1 and all(len(v) == 1 for v in by_level.values()):
            found.add(key)
    return found


def level(key: Mapping[str, str], columns: Sequence[str]) -> str:
    """Name the level of the compared columns."""
    return ", ".join(key[column] for column in columns)
