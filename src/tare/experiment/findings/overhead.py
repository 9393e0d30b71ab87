"""What each platform costs: its values relative to those of bare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from tare.experiment.findings import emulated_cpu
from tare.experiment.findings.cells import Basis, Cells, cells_of, verdict_words
from tare.experiment.findings.comparison_summary import (
    Compared,
    Telling,
    blocks_said,
    by_level,
    corrected,
    distance,
    more,
    smallest_detectable,
)
from tare.experiment.findings.evidence import (
    comparison_table,
    ratio_estimate,
    without_ratio,
)
from tare.experiment.findings.finding import FindingUnit, answered, settled, uncompared
from tare.experiment.findings.level_names import key_of, where
from tare.experiment.findings.platform_cells import cost_basis
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Finding, Table
from tare.results.message import Amount, Chosen, Message, Ratio, message
from tare.results.verdict import HIGHER, LOWER
from tare.statistics.comparison import Comparison
from tare.statistics.sides import compare_all
from tare.statistics.spread import SpreadComparison
from tare.units import chosen

_DESCRIPTION = Description(
    name="overhead",
    title="Ratio of each platform's values to those of bare",
    question="What does each platform cost?",
    source="STABILITY; PINNING",
)

#: By whether more is better.
_SUMMARY_TEXTS = {
    True: "throughput vs. {reference}: {parts | join('; ')}",
    False: "overhead vs. {reference}: {parts | join('; ')}",
}
_MOST_TEXTS = {
    True: (
        "{platform} loses ≤ {bound} ({% if several %}worst cell {% endif %}{ratio}, inconclusive)"
    ),
    False: "{platform} ≤ {bound} ({% if several %}worst cell {% endif %}{ratio}, inconclusive)",
}
#: Cells that a sentence names.
_MOST_CELLS = 6


def find(results: Results) -> Finding | None:
    """Compare the trial values of every cell with those of bare, by blocks common to both."""
    if len(results.levels("platform")) < 2:
        return None
    if results.experiment.stopping.compare == "platform":
        return None  # judged look by look: see the difference
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    margin = results.experiment.margin
    compared = compare_locations(cells, "platform", margin)
    apart = emulated_cpu.note(results)
    ratioless = without_ratio(cells.pairs("platform"), cells)
    if not compared:
        why = message("nothing is compared: {why}", why=apart) if apart else ratioless
        return uncompared(_DESCRIPTION, why or message("no platform has cells that bare has too"))
    reference = compared[0][0].reference
    return answered(
        _DESCRIPTION,
        answer=(
            *levels_said(location_telling(cells, margin), compared, reference),
            blocks_said([p for p, _ in compared]),
            smallest_detectable(compared),
            apart,
        ),
        verdict=settled(c.verdict.conclusive for _, c in compared),
        summary=(
            _summary(compared, margin, rate=basis.more_is_better),
            *corrected([c for _, c in compared]),
            *([apart] if apart else []),
        ),
        settle=more([(p, c) for p, c in compared if not c.verdict.conclusive]),
        basis=str(basis),
        estimates=tuple(ratio_estimate(p, c, "cost ratio") for p, c in compared),
        tables=(_table(compared, cells, basis, margin),),
        caveats=(
            *corrected([c for _, c in compared]),
            *(_borrowed(cells), _unmatched(cells, compared), ratioless),
        ),
        charts=("overhead",),
    )


def levels_said(telling: Telling, compared: Compared, reference: str) -> list[Message]:
    """Say what each level's comparisons show."""
    return [
        message(
            "{level} vs. {reference}: {clauses | listing}",
            level=level,
            reference=reference,
            clauses=[*telling.clauses(some)],
        )
        for level, some in by_level(compared).items()
    ]


def _table(compared: Compared, cells: Cells, basis: Basis, margin: float) -> Table:
    reference = compared[0][0].reference
    return comparison_table(
        compared,
        cells,
        message("Overhead vs. {reference}, {basis}", reference=reference, basis=str(basis)),
        "ratio",
        (verdict_words(basis), chosen(margin)),
        n=cells.rows,
        note=message(
            "Hodges–Lehmann median of the ratios within common blocks. “Equivalent”: within "
            "{margin}. “Slower” and “faster”: Holm over this table",
            margin=Chosen(margin),
        ),
    )


def _borrowed(cells: Cells) -> Message | None:
    """Say that pinned platforms are compared with an unpinned reference; None: none is."""
    pairs = cells.unpinned_references()
    if not pairs:
        return None
    return message(
        "{reference} was not measured pinned: pinned platforms are compared with it unpinned",
        reference=pairs[0].reference,
    )


def _unmatched(cells: Cells, compared: Compared) -> Message | None:
    """Name the cells of other platforms that the reference has none for; None: it has all."""
    reference = compared[0][0].reference
    met = {key_of(p.compared_levels) for p, _ in compared}
    grouped = [cell for _, by_level in cells.groups("platform") for cell in by_level.values()]
    alone = [
        where(cell.levels, cells.varied)
        for cell in grouped
        if cell.levels["platform"] not in {reference, *cells.results.emulated}
        and key_of(cell.levels) not in met
    ]
    if not alone:
        return None
    return message(
        "not compared, because {reference} has no such cell: {cells | listing}"
        "{% if others %} and {others} more{% endif %}",
        reference=reference,
        cells=[*alone[:_MOST_CELLS]],
        others=len(alone[_MOST_CELLS:]),
    )


@lru_cache(maxsize=8)
def compare_locations(
    cells: Cells, factor: str, margin: float, reference: str | None = None
) -> Compared:
    """Compare trial values with those at the factor's reference; Holm over all comparisons."""
    pairs = cells.ratios(factor, reference)
    if factor == "platform":
        pairs += cells.unpinned_references()
    return list(zip(pairs, compare_all([p.sides for p in pairs], margin), strict=True))


def location_telling(cells: Cells, margin: float) -> Telling:
    """Return how verdicts of location are summed up."""
    return Telling(verdict_words(cells.basis), chosen(margin), "ratio", cells.varied)


def _summary(compared: Compared, margin: float, *, rate: bool) -> Message:
    """Give each platform's largest overhead; where all differences are gains, the largest gain."""
    return message(
        _SUMMARY_TEXTS[rate],
        reference=compared[0][0].reference,
        parts=[_worst(*of, margin, rate=rate) for of in by_level(compared).items()],
    )


def _worst(platform: str, some: Compared, margin: float, *, rate: bool) -> Message:
    several = len(some) > 1
    shown = [c for _, c in some if c.verdict in (HIGHER, LOWER)]
    if shown and (rate or not _exceeds(some, shown)):
        slower = [c for c in shown if c.verdict == (LOWER if rate else HIGHER)]
        c = max(slower or shown, key=distance)
        return message(
            "{platform} {ratio}{% if several %} ({% if slower %}worst{% else %}best"
            "{% endif %} cell){% endif %}",
            platform=platform,
            ratio=Ratio.of(c.ratio or 1, c.low, c.high),
            several=several,
            slower=bool(slower),
        )
    if all(c.verdict.conclusive for _, c in some):
        return message("{platform} < {margin}", platform=platform, margin=Chosen(margin))
    known = [c for _, c in some if c.low is not None and c.high is not None]
    if not known:
        return message("{platform} inconclusive (too few trials)", platform=platform)
    if any(c.low == 0 if rate else c.high == math.inf for c in known):
        return message("{platform} not known (runs exceeded the time limit)", platform=platform)

    def most(c: Comparison | SpreadComparison) -> float:
        return 1 - (c.low or 0) if rate else (c.high or 0) - 1

    c = max(known, key=most)
    return message(
        _MOST_TEXTS[rate],
        platform=platform,
        bound=Amount(max(most(c), 0), "share"),
        ratio=Ratio.of(c.ratio or 1, c.low, c.high),
        several=several,
    )


def _exceeds(some: Compared, shown: Sequence[Comparison | SpreadComparison]) -> bool:
    """Whether an inconclusive interval lies above all that are shown, as in a large family."""
    most = max(c.high or math.inf for c in shown)
    return any(c.low is not None and c.low > most for _, c in some if not c.verdict.conclusive)


UNIT = FindingUnit(
    description=_DESCRIPTION, order=30, find=find, of_rates=True, over_sessions=True, killed="used"
)
