"""PINNING's best practices beside what this machine showed: agrees, disagrees, or not tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tare.findings.cells import Basis, Pair, cells_of
from tare.findings.overhead import compare_locations
from tare.findings.phrasing import at_levels
from tare.findings.platform_cells import FREE, Beside, over_sizes, size_name
from tare.findings.platform_kinds import CPU_BOUND, ULTRA, Intensity, intensities, kind_of
from tare.findings.platform_size import where
from tare.frames import Results
from tare.metrics import RATES
from tare.render.words import listing
from tare.results.finding import Column, Table
from tare.results.verdict import HIGHER, LOWER
from tare.statistics.comparison import Comparison
from tare.units import change_interval, chosen

#: A cost below this is small: what is left of it does not decide which size to take.
SMALL = 0.1
#: What is said of a practice.
AGREES, DISAGREES, OPEN = "agrees", "disagrees", "inconclusive"
UNTESTED = "not tested here"


@dataclass(frozen=True)
class Practice:
    """One of PINNING's practices, with what this machine says of it."""

    number: int
    advice: str
    here: str
    evidence: str


@dataclass(frozen=True)
class Evidence:
    """What practices are held against."""

    results: Results
    besides: tuple[Beside, ...]
    #: Every pinned cell beside the same one that is not: below 1 it helps.
    pinned: Sequence[tuple[Pair, Comparison]]
    kinds: dict[str, tuple[Intensity, float]]

    def is_for(self, workload: str, *wanted: Intensity) -> bool:
        """Whether a workload is known to be of some kind."""
        return workload in self.kinds and self.kinds[workload][0] in wanted


def evidence(results: Results, basis: Basis) -> Evidence:
    """Collect what practices are held against: real platforms only."""
    cells = cells_of(results, basis)
    pairs = [
        (p, c)
        for p, c in compare_locations(cells, "pinning", results.experiment.margin)
        if isinstance(c, Comparison)
        and p.levels["platform"] not in results.emulated
        and p.reference == FREE
    ]
    if basis.metric in RATES:
        pairs = []
    return Evidence(results, over_sizes(results, basis), pairs, intensities(results))


def practices(known: Evidence) -> list[Practice]:
    """Hold each of the seven practices against the evidence."""
    said: list[tuple[str, Callable[[], tuple[str, str]]]] = [
        ("Avoid small vanilla containers", lambda: _small(known)),
        (
            "Use pinning for CPU-bound containers",
            lambda: _pinning(known, ("CN", "VMCN"), ("CPU",), helps=True),
        ),
        (
            "Not worthwhile to use pinning for CPU-bound VMs",
            lambda: _pinning(known, ("VM",), ("CPU",), helps=False),
        ),
        (
            "Use pinning for I/O-intensive workloads",
            lambda: _pinning(known, ("CN", "VM", "VMCN"), ("I/O", "ultra I/O"), helps=True),
        ),
        ("CPU-intensive: 0.07 < CHR < 0.14", lambda: _range(known, "CPU", 0.07, 0.14)),
        ("I/O-intensive: 0.14 < CHR < 0.28", lambda: _range(known, "I/O", 0.14, 0.28)),
        ("Ultra I/O-intensive: 0.28 < CHR < 0.57", lambda: _range(known, "ultra I/O", 0.28, 0.57)),
    ]
    return [Practice(i, advice, *held()) for i, (advice, held) in enumerate(said, 1)]


def _containers(known: Evidence) -> list[Beside]:
    """Vanilla containers over sizes, beside bare under the same limits where that is there."""
    some = [b for b in known.besides if b.pinning == FREE and kind_of(b.platform) == "CN"]
    same = [b for b in some if b.reference_pinning == b.pinning]
    return [*(b for b in some if len(b.found.sizes) > 1 and b not in same), *same]


def _small(known: Evidence) -> tuple[str, str]:
    some = [b for b in _containers(known) if len(b.found.sizes) > 1]
    if not some:
        return UNTESTED, "no vanilla container was measured at several sizes"
    told, words = [], set()
    for one in some:
        small, large = one.found.sizes[0], one.found.sizes[-1]
        costs = (
            small.ratio.low is not None and small.ratio.low > 1 + known.results.experiment.margin
        )
        falls = one.found.verdict == HIGHER or (
            one.found.refusal is not None
            and small.ratio.low is not None
            and large.ratio.high is not None
            and small.ratio.low > large.ratio.high
        )
        cheap = small.ratio.high is not None and small.ratio.high < 1 + SMALL
        words.add(AGREES if costs and falls else DISAGREES if cheap else OPEN)
        told.append(
            f"{where(one, known.results)} beside {one.beside}: {_ratio(small.ratio)} at "
            f"{size_name(small.cores)}, {_ratio(large.ratio)} at {size_name(large.cores)}"
        )
    return _of(words), "; ".join(told)


def _of(words: set[str]) -> str:
    """One that agrees is enough for a warning; else what all say."""
    return AGREES if AGREES in words else OPEN if OPEN in words else DISAGREES


def _ratio(factor: object) -> str:
    value, low, high = (getattr(factor, name) for name in ("value", "low", "high"))
    return change_interval(value, low, high)


def _pinning(
    known: Evidence, kinds: tuple[str, ...], wanted: tuple[Intensity, ...], *, helps: bool
) -> tuple[str, str]:
    some = [
        (p, c)
        for p, c in known.pinned
        if kind_of(p.levels["platform"]) in kinds and known.is_for(p.levels["workload"], *wanted)
    ]
    if not some:
        what = "VM" if kinds == ("VM",) else "container" if "VM" not in kinds else "platform"
        load = "CPU-bound" if "CPU" in wanted else "I/O-intensive"
        emulated = " (an emulated one says nothing)" if known.results.emulated else ""
        return UNTESTED, (
            f"no real {what}{emulated} was measured both pinned and not, on a {load} workload"
        )
    faster = [(p, c) for p, c in some if c.verdict == LOWER]
    idle = [(p, c) for p, c in some if c.verdict.conclusive and c.verdict != LOWER]
    if faster:
        here = AGREES if helps else DISAGREES
    elif len(idle) == len(some):
        here = DISAGREES if helps else AGREES
    else:
        here = OPEN
    shown = faster or some
    pair, c = min(shown, key=lambda pc: pc[1].ratio)
    at = at_levels(pair.levels, known.results.varied)
    ratio = change_interval(c.ratio, c.low, c.high)
    return here, (
        f"pinned beside vanilla: {ratio} for {at}, the most in {len(some)} "
        f"{'case' if len(some) == 1 else 'cases'}; faster for certain in {len(faster)}"
    )


def _range(known: Evidence, wanted: Intensity, low: float, high: float) -> tuple[str, str]:
    """Look what a vanilla container costs at the sizes whose CHR is in a range."""
    some = [b for b in _containers(known) if known.is_for(b.levels["workload"], wanted)]
    if not some:
        return UNTESTED, f"no vanilla container over sizes with {_a(wanted)} workload"
    inside = [(b, s) for b in some for s in b.found.sizes if low < s.chr < high]
    if not inside:
        chrs = listing(f"{x:.2g}" for x in sorted({s.chr for b in some for s in b.found.sizes}))
        return UNTESTED, f"no size has a CHR in that range; there are {chrs}"
    cheap = [s.ratio.high is not None and s.ratio.high < 1 + SMALL for _, s in inside]
    dear = [s.ratio.low is not None and s.ratio.low > 1 + SMALL for _, s in inside]
    here = AGREES if all(cheap) else DISAGREES if any(dear) else OPEN
    told = "; ".join(
        f"{where(b, known.results)} beside {b.beside} at {size_name(s.cores)} "
        f"(CHR {s.chr:.2g}): {_ratio(s.ratio)}"
        for b, s in inside
    )
    return here, told


def _a(wanted: Intensity) -> str:
    return {"CPU": "a CPU-bound", "I/O": "an I/O-intensive"}.get(wanted, "an ultra I/O-intensive")


def practice_table(known: Evidence, found: Sequence[Practice]) -> Table:
    """Lay the practices out beside what was seen."""
    kinds = listing(f"{w} {cpu:.2f} ({kind})" for w, (kind, cpu) in known.kinds.items())
    return Table(
        title="PINNING's best practices, and this machine",
        columns=(
            Column(key="number", title="no."),
            Column(key="advice", title="PINNING says"),
            Column(key="here", title="here"),
            Column(key="evidence", title="what was seen here"),
        ),
        rows=tuple(
            {"number": p.number, "advice": p.advice, "here": p.here, "evidence": p.evidence}
            for p in found
        ),
        note="A size of a range agrees where what a vanilla container costs there is surely below "
        f"{chosen(SMALL)}. Share of the time that a workload computes or waits for a CPU, on the "
        f"reference at its largest size: {kinds or 'not known'}; CPU-bound from {CPU_BOUND}, "
        f"ultra I/O-intensive below {ULTRA}. PINNING's host had 112 CPUs; its ranges are "
        "of that machine.",
    )
