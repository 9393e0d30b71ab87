"""What each platform costs: its values beside those of bare."""

from __future__ import annotations

import msgspec

from tare.findings import emulation
from tare.findings.cells import Basis, Cells, cells_of, verdict_words
from tare.findings.evidence import comparison_columns, comparison_row, ratio_estimate, without_ratio
from tare.findings.finding import Finding, FindingUnit, Table, settled, uncompared
from tare.findings.phrasing import at_levels
from tare.findings.platform_cells import cost_basis
from tare.findings.telling import Compared, Telling, per_level, smallest_detectable
from tare.frames import Results
from tare.metrics import RATES
from tare.registry import Description
from tare.render.words import listing
from tare.results.verdict import EQUIVALENT, HIGHER, HIGHER_WITHIN, LOWER, LOWER_WITHIN
from tare.statistics.comparison import compare_family
from tare.units import change_interval, chosen

_DESCRIPTION = Description(
    name="overhead",
    title="Ratio of each platform's values to those of bare",
    question="What does each platform cost?",
    source="STABILITY; PINNING",
)


def find(results: Results) -> Finding | None:
    """Compare the trial values of every cell with those of bare, by blocks common to both."""
    if results.trial_table["platform"].nunique() < 2:
        return None
    if results.experiment.stopping.compare == "platform":
        return None  # judged look by look: see the difference
    basis = cost_basis(results)
    if isinstance(basis, str):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    margin = results.experiment.margin
    compared = compare_locations(cells, "platform", margin)
    apart, emulated = emulation.note(results), emulation.table(cells)
    ratioless = without_ratio(cells.pairs("platform"), cells)
    if not compared:
        why = apart or ratioless or "No platform has cells that bare has too."
        finding = uncompared(_DESCRIPTION, f"Nothing is compared: {why}" if apart else why)
        return msgspec.structs.replace(finding, tables=(emulated,) if emulated else ())
    telling = location_telling(cells, margin)
    reference = compared[0][0].reference
    answer = per_level(
        compared, lambda name, some: f"{name}, beside {reference}, is {telling.clauses(some)}."
    )
    said = [f"{answer} n ≥ {min(c.n for _, c in compared)}.", smallest_detectable(compared), apart]
    summary = [_summary(compared, margin, rate=basis.metric in RATES), apart]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=" ".join(filter(None, said)),
        verdict=settled(c.verdict.conclusive for _, c in compared),
        summary=" ".join(filter(None, summary)),
        basis=str(basis),
        estimates=tuple(ratio_estimate(p, c, "cost ratio") for p, c in compared),
        tables=(_table(compared, cells, basis, margin), *filter(None, [emulated])),
        caveats=tuple(filter(None, [_unmatched(cells, compared), ratioless])),
        charts=("overhead",),
    )


def _table(compared: Compared, cells: Cells, basis: Basis, margin: float) -> Table:
    return Table(
        title=f"Cost beside {compared[0][0].reference}, {basis}",
        columns=comparison_columns(cells.varied, "ratio"),
        rows=tuple(
            comparison_row(p, c, cells.varied, (verdict_words(basis), chosen(margin)))
            for p, c in compared
        ),
        note=f"Hodges–Lehmann median of the ratios within common blocks; “equivalent”: within "
        f"{chosen(margin)}; “slower” and “faster” after Holm over this table.",
    )


def _unmatched(cells: Cells, compared: Compared) -> str | None:
    """Name the cells of other platforms that the reference has none for; None: it has all."""
    reference = compared[0][0].reference
    met = {(p.level, tuple(sorted(p.levels.items()))) for p, _ in compared}
    alone = [
        at_levels(cell.levels, cells.varied)
        for others, by_level in cells.groups("platform")
        for level, cell in by_level.items()
        if level != reference
        and level not in cells.results.emulated
        and (level, tuple(sorted(others.items()))) not in met
    ]
    if not alone:
        return None
    more = f" and {len(alone) - 6} more" if alone[6:] else ""
    return f"Not compared, since {reference} has no such cell: {listing(alone[:6])}{more}."


def compare_locations(cells: Cells, factor: str, margin: float) -> Compared:
    """Compare trial values with those at the factor's reference; Holm over all comparisons."""
    pairs = cells.ratios(factor)
    found = compare_family([p.trial_values for p in pairs], margin, tick=cells.basis.tick)
    return list(zip(pairs, found, strict=True))


def location_telling(cells: Cells, margin: float) -> Telling:
    """Tell verdicts of location."""
    words, x = verdict_words(cells.basis), chosen(margin)
    return Telling(
        words={v: words.of(v, x) for v in (HIGHER, LOWER, HIGHER_WITHIN, LOWER_WITHIN, EQUIVALENT)},
        quantity="ratio",
        limit=x,
        varied=cells.varied,
    )


def _summary(compared: Compared, margin: float, *, rate: bool) -> str:
    """Say the worst of each platform: the largest ratio, of rates the least."""
    worst = -1 if rate else 1
    of_rates = " of throughput" if rate else ""

    def one(name: str, some: Compared) -> str:
        shown = [c for _, c in some if c.verdict in (HIGHER, LOWER)]
        if shown:
            c = max(shown, key=lambda c: abs((c.ratio or 1) - 1))
            change = change_interval(c.ratio or 1, c.low, c.high)
            return f"{name} {change}{of_rates} where it {'differs' if rate else 'costs'} most"
        if any(not c.verdict.conclusive for _, c in some):
            known = [c for _, c in some if c.high is not None]
            if not known:
                return f"{name} inconclusive"
            most = max(known, key=lambda c: worst * ((c.low if rate else c.high) or 0))
            where = " where it may cost most" if len(some) > 1 else ""
            ratio = change_interval(most.ratio or 1, most.low, most.high)
            return f"{name} {ratio}{of_rates}{where} (inconclusive)"
        return f"{name} less than {chosen(margin)}"

    levels = dict.fromkeys(p.level for p, _ in compared)
    told = [one(x, [pc for pc in compared if pc[0].level == x]) for x in levels]
    return f"Cost beside {compared[0][0].reference}: {listing(told)}."


UNIT = FindingUnit(description=_DESCRIPTION, order=30, find=find, of_rates=True, over_sessions=True)
