"""Tables of memory latency by order and stride, each with one column per level of the memory."""

from __future__ import annotations

from collections.abc import Mapping

from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.features.machine.fingerprint.page_groups import caches_found
from tare.render.charts.lines import place
from tare.results.finding import Column, Table

_CURVES = {"sequential": "memory.stride.sequential", "random": "memory.stride.random"}
#: Largest part of a cache that a size may take to be counted as in it.
_WITHIN = 0.75
#: Multiple of the last cache beyond which a size is in memory.
_BEYOND = 2


def tables(fingerprint: Fingerprint) -> list[Table]:
    """Lay out the latency of one size in each cache and in memory, by order and stride.

    Parameters
    ----------
    fingerprint : Fingerprint

    Returns
    -------
    list of Table
        One in nanoseconds and, where the frequency of a core is known, one in clock cycles. Empty
        where strides were not measured. Levels without a measured size have no column.
    """
    points = {
        (order, point.at[0], point.at[1]): point
        for order, name in _CURVES.items()
        if name in fingerprint.curves
        for point in fingerprint.curves[name].points
    }
    values = {key: point.value for key, point in points.items()}
    cycles = {key: point.cycles for key, point in points.items() if point.cycles is not None}
    title = "Latency of memory by stride"
    found = [_table(title, "ns", values, fingerprint)]
    if cycles:
        found.append(_table(f"{title}, in clock cycles", "1", cycles, fingerprint))
    return [table for table in found if table is not None]


def _table(
    title: str,
    unit: str,
    values: Mapping[tuple[str, int, int], float],
    fingerprint: Fingerprint,
) -> Table | None:
    sizes = sorted({size for _, size, _ in values})
    columns = _columns(sizes, _caches(fingerprint))
    if not columns:
        return None
    rows = [
        (order, place(stride, "bytes"), *(values.get((order, size, stride)) for size in columns))
        for order in _CURVES
        for stride in sorted({stride for of, _, stride in values if of == order})
    ]
    heads = (Column(key=str(size), title=name, unit=unit) for size, name in columns.items())
    return Table.of(title, ("order", "stride", *heads), rows)


def _caches(fingerprint: Fingerprint) -> dict[str, float]:
    """Return the sizes of the caches as found from the latency curve, or as the kernel says."""
    reported = {
        f"l{level}": float(size)
        for level in range(1, 5)
        if isinstance(size := fingerprint.facts.get(f"l{level}_bytes"), int | float)
    }
    return caches_found(fingerprint.metrics) or reported


def _columns(sizes: list[int], caches: dict[str, float]) -> dict[int, str]:
    """Choose the largest measured size within each cache, and one beyond the last; all by size."""
    if not sizes:
        return {}
    chosen, smallest = {}, 0.0
    for name, cache in sorted(caches.items(), key=lambda item: item[1]):
        within = [size for size in sizes if smallest < size <= _WITHIN * cache]
        if within:
            chosen[within[-1]] = name.upper()
        smallest = cache
    if caches and sizes[-1] >= _BEYOND * smallest:
        chosen[sizes[-1]] = "memory"
    # Without known caches the extremes are still of interest.
    chosen = chosen or dict.fromkeys([sizes[0], sizes[-1]], "")
    return {size: f"{name} ({place(size, 'bytes')})".strip() for size, name in chosen.items()}
