"""Ranges of CHR in which an overhead stays within the margin, by kind of load, vs. PINNING's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tare.experiment.findings.cells import Basis
from tare.experiment.findings.platform_cells import Beside, over_sizes, ratio_of
from tare.experiment.results import Results
from tare.render.words import text
from tare.results.finding import Column, Table, columns_of, interval_columns
from tare.results.message import Chosen, Message, message
from tare.statistics.platform_size import SizeRatio
from tare.workloads.application import Intensity

#: PINNING's ranges of CHR: those of "Impact of CHR on PSO", and those of its best practices, which
#: contradict them. The first has none for ultra-I/O.
IMPACT: dict[Intensity, tuple[float, float]] = {"cpu": (0.14, 0.28), "io": (0.28, 0.57)}
PRACTICES: dict[Intensity, tuple[float, float]] = {
    "cpu": (0.07, 0.14),
    "io": (0.14, 0.28),
    "ultra-io": (0.28, 0.57),
}
#: Share of its wall time, less that in which it was ready for a CPU, that a CPU-intensive command
#: is on one.
_CPU_SHARE = 0.5
#: Kinds of load that have a sentence, and cases that one sentence names.
_MOST_KINDS, _MOST_NAMED = 2, 3


class LineKey(NamedTuple):
    """What a line is about: a platform, its reference, and the levels of all other factors."""

    platform: str
    pinning: str
    reference: str
    reference_pinning: str
    levels: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ChrLine:
    """The overhead ratios of one platform over CHR, of one host or of several.

    Attributes
    ----------
    key : LineKey
    name : Message
        The platform with its pinning, its reference, and the levels that vary.
    kind : str or None
        Kind of load; None: not known.
    points : tuple of SizeRatio
        The smallest CHR first.
    """

    key: LineKey
    name: Message
    kind: Intensity | None
    points: tuple[SizeRatio, ...]

    def within(self, margin: float) -> tuple[float, float] | None:
        """Return the lowest and highest CHR of the range, up to the largest measured.

        All intervals in the range are within the margin. None if the largest CHR is not.
        """
        found = None
        for point in reversed(self.points):
            if point.ratio.high is None or point.ratio.high >= 1 + margin:
                break
            found = point.chr
        return None if found is None else (found, self.points[-1].chr)

    def above(self, margin: float) -> SizeRatio | None:
        """Return the point with the largest CHR whose overhead is above the margin for certain."""
        known = (p for p in reversed(self.points) if p.ratio.low is not None)
        return next((p for p in known if (p.ratio.low or 0) > 1 + margin), None)


def lines(results: Results, basis: Basis | Message) -> list[ChrLine]:
    """Return a line of each platform: that with a reference pinned alike, where there is one."""
    if isinstance(basis, Message) or "platform" not in results.varied:
        return []
    best: dict[object, ChrLine] = {}
    for one in over_sizes(results, basis):
        if one.platform == one.reference:
            continue
        line = ChrLine(
            LineKey(
                one.platform,
                one.pinning,
                one.reference,
                one.reference_pinning,
                tuple(one.levels.items()),
            ),
            one.versus,
            _intensity(results, one),
            tuple(sorted(one.found.sizes, key=lambda size: size.chr)),
        )
        key = one.platform, one.pinning, line.key.levels
        if key not in best or one.pinning == one.reference_pinning:
            best[key] = line
    return list(best.values())


def _intensity(results: Results, one: Beside) -> Intensity | None:
    """Return what the application declares; else what a command does on the reference.

    Time in which it could have run, but had no CPU, is that of neighbours and of the quota: it is
    left out. Of services none of these times is that of the work, so nothing is derived from them.
    """
    named = {workload.name: workload for workload in results.experiment.workloads}
    workload = named[one.levels["workload"]]
    if workload.kernel is not None:
        return "cpu"
    if workload.application is not None and workload.application.intensive is not None:
        return workload.application.intensive
    if workload.serves:
        return None
    trials = np.array(one.cells[-1][1].trials)
    ran, ready, wall = (
        results.values_of(metric, "perf_cpu", trials)
        for metric in ("on_cpu_ns", "off_cpu_preempted_ns", "wall_ns")
    )
    # Threads that are ready at the same time may wait for longer than the program takes.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = float(np.median(np.where(ready >= wall, 1.0, ran / (wall - ready))))
    return None if np.isnan(share) else "cpu" if share >= _CPU_SHARE else "io"


def advise(some: Sequence[ChrLine], margin: float) -> Iterator[Message]:
    """Yield a sentence on each of the first kinds of load of which something is conclusive."""
    kinds = dict.fromkeys(line.kind for line in some if line.kind is not None)
    for kind in [*kinds][:_MOST_KINDS]:
        own = [line for line in some if line.kind == kind and len(line.points) > 1]
        cases = [case for line in own if (case := _case(line, margin)) is not None]
        if cases:
            yield message(
                "CHR for overhead within {margin}, {kind}: {cases | join('; ')}"
                "{% if others %}; {others} more in the table{% endif %}(PINNING: "
                "{% if impact %}{impact} or {% endif %}{practices})",
                kind=_name(kind),
                margin=Chosen(margin),
                cases=cases[:_MOST_NAMED],
                others=len(own) - len(cases[:_MOST_NAMED]),
                impact=_range(IMPACT.get(kind)),
                practices=_range(PRACTICES[kind]),
            )


def _name(kind: Intensity | None) -> Message:
    return message(
        "{% if kind == 'cpu' %}CPU-intensive{% elif kind == 'io' %}I/O-intensive"
        "{% elif kind == 'ultra-io' %}ultra-I/O-intensive{% else %}kind of load unknown"
        "{% endif %}",
        kind=kind,
    )


def _case(line: ChrLine, margin: float) -> Message | None:
    """Return the CHR range of one line, in words; None: inconclusive for every CHR."""
    if (within := line.within(margin)) is not None:
        return message("{span} for {name}", name=line.name, span=_range(within))
    if (above := line.above(margin)) is not None:
        return message(
            "none measured for {name} (at CHR {chr} {ratio})",
            name=line.name,
            chr=f"{above.chr:.3g}",
            ratio=ratio_of(above.ratio),
        )
    return None


def _range(ends: tuple[float, float] | None) -> str | None:
    """Write a range of CHR: "0.25–1"; None: there is none."""
    return None if ends is None else "–".join(f"{end:.3g}" for end in dict.fromkeys(ends))


def caveat(some: Sequence[ChrLine]) -> Message | None:
    """Name the contradiction of PINNING's ranges, where they are printed."""
    if not any(line.kind for line in some):
        return None
    impact, practices = (
        [message("{span} for {kind}", kind=_name(kind), span=_range(ends)) for kind, ends in own]
        for own in (IMPACT.items(), PRACTICES.items())
    )
    return message(
        'PINNING contradicts itself: its section "Impact of CHR" has CHR '
        "{impact | listing} loads, its best practices {practices | listing} loads. Both are "
        "of one host with 112 CPUs",
        impact=impact,
        practices=practices,
    )


def table(some: Sequence[ChrLine], margin: float) -> Table | None:
    """Tabulate the range of each platform next to both of PINNING's; None without a platform."""
    rows = []
    for line in some:
        above = line.above(margin)
        at: tuple[float | None, ...] = (None,) * 4
        if above is not None:
            at = (above.chr, above.ratio.value, above.ratio.low, above.ratio.high)
        within = _range(line.within(margin))
        rows.append(
            (
                *(text(_name(line.kind)), text(line.name)),
                _range((line.points[0].chr, line.points[-1].chr)),
                within or ("none" if above is line.points[-1] else "inconclusive"),
                *at,
                *(
                    _range(ends.get(line.kind)) if line.kind else None
                    for ends in (IMPACT, PRACTICES)
                ),
            )
        )
    if not rows:
        return None
    return Table.of(
        message("Range of CHR with an overhead within {margin}", margin=Chosen(margin)),
        (
            *columns_of(kind="kind of load", case="platform", measured="CHR measured"),
            Column(key="within", title="within the margin"),
            Column(key="above", title="above it up to", unit="1"),
            *interval_columns("ratio", "overhead ratio there", "1"),
            *columns_of(impact="PINNING, impact of CHR", practices="PINNING, best practices"),
        ),
        rows,
        id="chr_ranges",
        note=message(
            "CHR: assigned cores over the host's. Within: the whole interval at every CHR "
            "from there to the largest one measured. Kind of load: as the application "
            "declares it; kernels are CPU-intensive. A command is CPU-intensive where it is "
            "on a CPU in half of its wall time (reference, largest size); otherwise it is "
            "I/O-intensive. Time in which it is ready for a CPU is left out. Of services "
            "that declare nothing it is unknown"
        ),
    )
