"""Does pinning help? Mean and spread with and without, over all groups."""

from __future__ import annotations

from tare.experiment.findings import emulated_cpu
from tare.experiment.findings.cells import (
    basis_of,
    cells_of,
    compared_spreads,
    verdict_words,
)
from tare.experiment.findings.comparison_summary import (
    Compared,
    Telling,
    blocks_said,
    by_level,
    corrected,
    more,
    smallest_detectable,
    spread_kind,
)
from tare.experiment.findings.evidence import (
    comparison_table,
    ratio_estimate,
)
from tare.experiment.findings.finding import FindingUnit, answered, first_of, judged, uncompared
from tare.experiment.findings.overhead import compare_locations, location_telling
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.vocabulary import SPREADS
from tare.results.finding import Finding
from tare.results.message import Chosen, Message, message
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
    Verdict,
)
from tare.units import chosen, factor

_PINNING_TEXTS = {
    "none": "no cell has good trials both pinned and not pinned",
    "spread": "{level} vs. not pinned, spread: {clauses | listing}",
    "values": "{level} vs. not pinned, times: {clauses | listing}",
}

_DESCRIPTION = Description(
    name="pinning",
    title="Location and spread, pinned vs. not pinned, over all groups",
    question="Does pinning make times more stable?",
    source="STABILITY; PINNING",
)


def find(results: Results) -> Finding | None:
    """Compare every pinned cell with the one that is not pinned, by common blocks."""
    if len(results.levels("pinning")) < 2:
        return None
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    margin = results.experiment.parallel_growth
    locations = compare_locations(cells, "pinning", results.experiment.margin)
    # What is true of a CPU that is emulated says nothing of one that is not.
    locations = [pc for pc in locations if pc[0].levels["platform"] not in results.emulated]
    pairs = [p for p, _ in locations]
    spreads: Compared = compared_spreads(pairs, margin, results.experiment.seed)
    if not pairs:
        return uncompared(
            _DESCRIPTION, message("no cell has good trials both pinned and not pinned")
        )
    return answered(
        _DESCRIPTION,
        answer=(
            *_said(
                "spread", Telling(SPREADS, factor(margin), "p10–p90 range", cells.varied), spreads
            ),
            *_said("values", location_telling(cells, results.experiment.margin), locations),
            blocks_said(pairs),
            smallest_detectable(spreads),
        ),
        **judged(_verdict(spreads), SPREADS, Chosen(margin, "growth")),
        settle=more([(p, c) for p, c in spreads if not c.verdict.conclusive]),
        basis=str(basis),
        estimates=tuple(
            ratio_estimate(p, c, name)
            for name, some in (("spread ratio", spreads), ("ratio", locations))
            for p, c in some
        ),
        tables=(
            comparison_table(
                spreads,
                cells,
                message("Spread, pinned vs. not pinned, {basis}", basis=str(basis)),
                "ratio of p10–p90 ranges",
                spread_kind(margin),
                n=cells.rows,
                id="spreads",
            ),
            comparison_table(
                locations,
                cells,
                message("Values, pinned vs. not pinned, {basis}", basis=str(basis)),
                "ratio of values",
                (verdict_words(basis), chosen(results.experiment.margin)),
                n=cells.rows,
                id="values",
            ),
        ),
        caveats=(
            *corrected([c for _, c in spreads]),
            *corrected([c for _, c in locations]),
            emulated_cpu.note(results),
        ),
        charts=("platform_pinning", "pinning_scatter"),
    )


def _said(name: str, telling: Telling, compared: Compared) -> list[Message]:
    """Say what each level of pinning shows."""
    return [
        message(
            _PINNING_TEXTS[name],
            level=message("pinned{% if level != 'pinned' %} {level}{% endif %}", level=level),
            clauses=[*telling.clauses(some)],
        )
        for level, some in by_level(compared).items()
    ]


def _verdict(spreads: Compared) -> Verdict:
    """Return "more stable" if pinning makes any cell more stable and none less stable."""
    order = (HIGHER, HIGHER_WITHIN, LOWER, LOWER_WITHIN, INCONCLUSIVE, EQUIVALENT)
    return first_of(order, (c.verdict for _, c in spreads))


UNIT = FindingUnit(
    description=_DESCRIPTION, order=50, find=find, killed="refused", over_sessions=True
)
