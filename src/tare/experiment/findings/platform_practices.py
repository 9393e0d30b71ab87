"""Whether this machine agrees with PINNING's best practices, disagrees, or did not test them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tare.experiment.findings.cells import Basis, Pair, cells_of
from tare.experiment.findings.level_names import where
from tare.experiment.findings.overhead import compare_locations
from tare.experiment.findings.platform_cells import FREE, Beside, over_sizes, ratio_of, size_name
from tare.experiment.findings.platform_kinds import (
    CPU_BOUND,
    ULTRA,
    Intensity,
    intensities,
    kind_of,
)
from tare.experiment.metrics import RATES
from tare.experiment.results import Results
from tare.render.words import text
from tare.results.finding import Column, Table
from tare.results.message import Amount, Chosen, Message, Ratio, message
from tare.results.verdict import HIGHER, LOWER
from tare.statistics.comparison import Comparison

#: A cost below this is small: what is left of it does not decide which size to take.
SMALL = 0.1
#: Whether this machine agrees with a practice.
AGREES, DISAGREES, OPEN = "agrees", "disagrees", "inconclusive"
UNTESTED = "not tested here"


@dataclass(frozen=True)
class Practice:
    """One of PINNING's practices, and whether this machine agrees."""

    number: int
    advice: str
    here: str
    evidence: Message


@dataclass(frozen=True)
class Evidence:
    """What practices are held against."""

    results: Results
    besides: tuple[Beside, ...]
    #: Every pinned cell vs. the same one that is not: below 1 it helps.
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
    held: list[tuple[str, Callable[[], tuple[str, Message]]]] = [
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
    return [Practice(i, advice, *hold()) for i, (advice, hold) in enumerate(held, 1)]


def _containers(known: Evidence) -> list[Beside]:
    """Unpinned containers over sizes, vs. bare under the same limits where that is there."""
    some = [b for b in known.besides if b.pinning == FREE and kind_of(b.platform) == "CN"]
    same = [b for b in some if b.reference_pinning == b.pinning]
    return [*(b for b in some if len(b.found.sizes) > 1 and b not in same), *same]


def _small(known: Evidence) -> tuple[str, Message]:
    some = [b for b in _containers(known) if len(b.found.sizes) > 1]
    if not some:
        return UNTESTED, message("platform_practices.no_sizes")
    cases, words = [], set()
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
        cases.append(
            message(
                "platform_practices.ends",
                case=one.versus,
                small=size_name(small.cores),
                small_ratio=ratio_of(small.ratio),
                large=size_name(large.cores),
                large_ratio=ratio_of(large.ratio),
            )
        )
    return _of(words), message("platform_practices.cases", cases=cases)


def _of(words: set[str]) -> str:
    """One that agrees is enough for a warning; else what all say."""
    return AGREES if AGREES in words else OPEN if OPEN in words else DISAGREES


def _pinning(
    known: Evidence, kinds: tuple[str, ...], wanted: tuple[Intensity, ...], *, helps: bool
) -> tuple[str, Message]:
    some = [
        (p, c)
        for p, c in known.pinned
        if kind_of(p.levels["platform"]) in kinds and known.is_for(p.levels["workload"], *wanted)
    ]
    if not some:
        what = "VM" if kinds == ("VM",) else "container" if "VM" not in kinds else "platform"
        return UNTESTED, message(
            "platform_practices.no_pinned",
            what=what,
            cpu="CPU" in wanted,
            emulated=bool(known.results.emulated),
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
    return here, message(
        "platform_practices.pinned",
        ratio=Ratio(c.ratio, c.low, c.high),
        where=where(pair.levels, known.results.varied),
        faster=len(faster),
        of=len(some),
    )


def _range(known: Evidence, wanted: Intensity, low: float, high: float) -> tuple[str, Message]:
    """Judge what an unpinned container costs at the sizes whose CHR is in a range."""
    some = [b for b in _containers(known) if known.is_for(b.levels["workload"], wanted)]
    if not some:
        return UNTESTED, message("platform_practices.no_workload", kind=wanted)
    inside = [(b, s) for b in some for s in b.found.sizes if low < s.chr < high]
    if not inside:
        chrs = sorted({s.chr for b in some for s in b.found.sizes})
        return UNTESTED, message("platform_practices.no_chr", chrs=chrs)
    cheap = [s.ratio.high is not None and s.ratio.high < 1 + SMALL for _, s in inside]
    dear = [s.ratio.low is not None and s.ratio.low > 1 + SMALL for _, s in inside]
    here = AGREES if all(cheap) else DISAGREES if any(dear) else OPEN
    cases = [
        message(
            "platform_practices.at_size",
            case=b.versus,
            size=size_name(s.cores),
            chr=s.chr,
            ratio=ratio_of(s.ratio),
        )
        for b, s in inside
    ]
    return here, message("platform_practices.cases", cases=cases)


def practice_table(known: Evidence, found: Sequence[Practice]) -> Table:
    """Lay out the practices and what was measured here."""
    kinds = [
        message(
            "platform_practices.kind", workload=name, share=Amount(computes, "share"), kind=kind
        )
        for name, (kind, computes) in known.kinds.items()
    ]
    return Table(
        title="PINNING's best practices, and this machine",
        columns=(
            Column(key="number", title="no."),
            Column(key="advice", title="PINNING says"),
            Column(key="here", title="here"),
            Column(key="evidence", title="measured here"),
        ),
        rows=tuple(
            {"number": p.number, "advice": p.advice, "here": p.here, "evidence": text(p.evidence)}
            for p in found
        ),
        note=message(
            "platform_practices.note",
            limit=Chosen(SMALL),
            kinds=kinds,
            cpu_bound=Chosen(CPU_BOUND),
            ultra=Chosen(ULTRA),
        ),
    )
