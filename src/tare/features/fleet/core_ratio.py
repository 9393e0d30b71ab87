"""Overheads over CHR, joined from hosts with different numbers of CPUs (PINNING, Figure 7)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scipy import special

from tare.experiment.findings import chr_ranges
from tare.experiment.findings.chr_ranges import ChrLine, LineKey
from tare.experiment.findings.platform_cells import ratio_of, size_name
from tare.features.fleet.results import Fleet
from tare.render import vocabulary
from tare.render.words import text
from tare.results import phrases
from tare.results.finding import Answer, Column, Finding, Table, interval_columns
from tare.results.message import Chosen, Message, message
from tare.results.verdict import EQUIVALENT, Verdict, judge
from tare.statistics.platform_size import Factor, SizeRatio
from tare.units import chosen

#: Comparisons that have sentences of their own, and at the head; the table has every overhead.
_MOST_SAID, _MOST_AT_HEAD = 4, 2


class Point(NamedTuple):
    """The overhead of one size on one host."""

    host: str
    cpus: float
    size: SizeRatio


class Compared(NamedTuple):
    """One size on the hosts with the most and with the fewest CPUs: CHR is smallest on ``large``.

    ``change`` is the overhead on the larger host over that on the smaller one.
    """

    line: ChrLine
    large: Point
    small: Point
    change: Factor


def find(fleet: Fleet) -> Finding | None:
    """Join the overheads of hosts with different numbers of CPUs; None: there are no such."""
    own = [host for host in fleet.measured if host.chr_lines]
    if len({host.cpus for host in own}) < 2:
        return None
    basis = str(own[0].chr_basis)
    lines, points = _joined(fleet, basis)
    margin = fleet.experiment.margin
    compared = [*_compared(lines, points)]
    verdicts = _verdicts([one.change for one in compared], margin)
    said = [
        message(
            "{name}, {size}: overhead {verdict} with CHR ({change} on the larger host): "
            "{hosts | join(', ')}",
            name=one.line.name,
            size=size_name(one.large.size.cores),
            change=ratio_of(one.change),
            verdict=vocabulary.SIZES.of(verdict, chosen(2 * margin)),
            hosts=[_on(one.large), _on(one.small)],
        )
        for one, verdict in zip(compared, verdicts, strict=True)
    ]
    ranges = [*chr_ranges.advise(lines, margin)]
    others = [
        host_name
        for host_name, host in zip(fleet.hosts, fleet.measured, strict=True)
        if host.chr_lines and str(host.chr_basis) != basis
    ]
    answer = (*said[:_MOST_SAID], *ranges) or (
        message("no size was measured on hosts with different numbers of CPUs"),
    )
    return Finding(
        name="chr",
        basis=basis,
        question=message("Does the overhead of one size depend on the host's number of CPUs?"),
        verdict=_answer(verdicts),
        settle=message(phrases.SETTLE_MORE) if _answer(verdicts) == "inconclusive" else None,
        answer=answer,
        summary=(*said[:_MOST_AT_HEAD], *ranges) or answer,
        tables=tuple(filter(None, [_table(lines, points), chr_ranges.table(lines, margin)])),
        caveats=tuple(
            filter(
                None,
                [
                    message(
                        "hosts may differ in more than their number of CPUs: of different "
                        "models, what changes is not CHR alone"
                    ),
                    message(
                        "{hosts | listing} left out: other values are compared there", hosts=others
                    )
                    if others
                    else None,
                    chr_ranges.caveat(lines),
                ],
            )
        ),
    )


def _joined(fleet: Fleet, basis: str) -> tuple[list[ChrLine], dict[LineKey, list[Point]]]:
    """Join the lines of all hosts that are judged by the same values, the smallest CHR first."""
    first: dict[LineKey, ChrLine] = {}
    points: dict[LineKey, list[Point]] = {}
    for name, host in zip(fleet.hosts, fleet.measured, strict=True):
        if str(host.chr_basis) != basis or host.cpus is None:
            continue
        for line in host.chr_lines:
            first.setdefault(line.key, line)
            points.setdefault(line.key, []).extend(
                Point(name, host.cpus, size) for size in line.points
            )
    for some in points.values():
        some.sort(key=lambda point: point.size.chr)
    return [
        dataclasses.replace(line, points=tuple(point.size for point in points[key]))
        for key, line in first.items()
    ], points


def _compared(lines: Sequence[ChrLine], points: dict[LineKey, list[Point]]) -> Iterator[Compared]:
    """Compare every size that hosts with different numbers of CPUs have."""
    for line in lines:
        by_cores: dict[float, list[Point]] = {}
        for point in points[line.key]:
            by_cores.setdefault(point.size.cores, []).append(point)
        for some in by_cores.values():
            large, small = some[0], some[-1]
            if large.cpus != small.cpus:
                yield Compared(line, large, small, _change(large.size.ratio, small.size.ratio))


def _change(a: Factor, b: Factor) -> Factor:
    """Divide two independent estimates, whose intervals are combined as logarithms."""
    middle = math.log(a.value) - math.log(b.value)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Factor(math.exp(middle), None, None)
    below = math.hypot(math.log(a.value / a.low), math.log(b.high / b.value))
    over = math.hypot(math.log(a.high / a.value), math.log(b.value / b.low))
    return Factor(math.exp(middle), math.exp(middle - below), math.exp(middle + over))


def _verdicts(changes: Sequence[Factor], margin: float) -> list[Verdict]:
    """Judge each change against 2 × margin.

    The test for any difference is Bonferroni-corrected.
    """
    wider = float(special.ndtri(1 - 0.025 / max(len(changes), 1)) / special.ndtri(0.975))
    found = []
    for one in changes:
        different = False
        if one.low is not None and one.high is not None:
            below = wider * math.log(one.value / one.low)
            over = wider * math.log(one.high / one.value)
            different = math.log(one.value) > below or math.log(one.value) < -over
        found.append(judge(one.low, one.high, 2 * margin, different=different))
    return found


def _answer(verdicts: Sequence[Verdict]) -> Answer:
    if any(verdict.differs and not verdict.within_margin for verdict in verdicts):
        return "yes"
    if not verdicts:
        return "none"
    return "no" if all(v == EQUIVALENT or v.within_margin for v in verdicts) else "inconclusive"


def _on(point: Point) -> Message:
    return message(
        "{ratio} on {host} with {cpus} CPUs (CHR {chr})",
        host=point.host,
        cpus=Chosen(point.cpus, "1"),
        chr=f"{point.size.chr:.3g}",
        ratio=ratio_of(point.size.ratio),
    )


def _table(lines: Sequence[ChrLine], points: dict[LineKey, list[Point]]) -> Table:
    """Lay out the overhead of every size on every host."""
    heads: tuple[str | Column, ...] = (
        Column(key="case", title="platform"),
        "host",
        Column(key="cpus", title="host's CPUs", unit="1"),
        Column(key="cores", title="cores", unit="1"),
        Column(key="chr", title="CHR", unit="1"),
        Column(key="n", title="blocks", unit="1"),
        *interval_columns("ratio", "overhead ratio", "1"),
    )
    rows = (
        (text(line.name), point.host, point.cpus, size.cores, size.chr, size.n,
         size.ratio.value, size.ratio.low, size.ratio.high)
        for line in lines
        for point in points[line.key]
        for size in (point.size,)
    )  # fmt: skip
    title = message("Overhead over CHR (cores of the container / cores of the host)")
    return Table.of(title, heads, rows, id="chr")
