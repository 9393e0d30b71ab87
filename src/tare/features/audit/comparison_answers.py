"""Comparisons of an audit as a finding: ratios and spreads."""

from __future__ import annotations

from typing import Any

from tare.features.audit import messages as words
from tare.features.audit.audit import Audit
from tare.features.audit.comparison import MOST_COMPARED, ComparisonAudit
from tare.features.audit.naming import in_order
from tare.render.words import text
from tare.results.finding import Column, Finding, Table, interval_columns
from tare.results.message import Said, message
from tare.statistics.comparison import Comparison
from tare.statistics.spread import SpreadComparison


def ratio_columns(title: str) -> tuple[Column, ...]:
    """Make the columns of ``ratio_cells`` and of the verdict on the ratio."""
    return (
        *interval_columns("ratio", title, "1", "ratio "),
        Column(key="verdict", title="verdict"),
        Column(key="p", title="p after Holm", unit="1"),
    )


def ratio_cells(found: Comparison | SpreadComparison) -> dict[str, Any]:
    """Return a ratio as cells of a row; without an interval there is no p."""
    return {
        "ratio": found.ratio,
        "ratio low": found.low,
        "ratio high": found.high,
        "p": found.p_adjusted if found.low is not None else None,
    }


def comparison_finding(audit: Audit) -> Finding:
    """Answer what differs by the columns that were named."""
    some = audit.comparisons
    because = words.shared(some, lambda c: c.matched.because, name)
    refused = words.shared(some, lambda c: (c.refusal,) if c.refusal else (), name)
    caveats: list[Said] = [r.of("comparisons", len(some)) for r in (*because, *refused)][:8]
    caveats += [*words.chance_of_family(some), *words.doubtful(some)]
    caveats.append(message("audit.comparison.family", n=len(some)))
    if any(len(s.trials.values) > MOST_COMPARED for c in some for s in (c.first, c.second)):
        caveats.append(message("audit.comparison.thinned", n=MOST_COMPARED))
    return Finding(
        name="difference",
        closed=False,
        question=message("audit.comparison.question", columns=audit.question.columns.compare),
        answer=words.verdicts(some),
        summary=words.verdicts(some),
        verdict="none",
        caveats=tuple(caveats),
        tables=(_ratios(audit), _spreads(audit)),
    )


def name(c: ComparisonAudit) -> str:
    """Name a comparison in a table or a chart."""
    return text(words.name_of(c))


def _pair_columns(audit: Audit) -> tuple[Column, ...]:
    where = (Column(key="where", title="where"),) if any(c.where for c in audit.comparisons) else ()
    return (
        *where,
        Column(key="metric", title="metric"),
        Column(key="b", title="what"),
        Column(key="a", title="vs."),
    )


def _pair(c: ComparisonAudit) -> dict[str, Any]:
    return {"where": c.where or None, "metric": c.metric, "a": c.a, "b": c.b}


def _ratios(audit: Audit) -> Table:
    rows = []
    for c in in_order(audit.comparisons, lambda c: c.key):
        row = {**_pair(c), "verdict": c.word if c.location else text(words.uncompared(c))}
        if (found := c.location) is not None:
            row |= {
                "n": found.n,
                **ratio_cells(found),
                "delta": found.cliffs_delta,
                "detectable": None if found.detectable is None else 100 * found.detectable,
                "more": found.more_pairs if not found.verdict.conclusive else None,
            }
        rows.append(row)
    return Table(
        title="Ratios",
        columns=(
            *_pair_columns(audit),
            Column(key="n", title="n"),
            *ratio_columns("ratio"),
            Column(key="delta", title="Cliff's delta", unit="1"),
            Column(key="detectable", title="smallest detectable change", unit="%"),
            Column(key="more", title="more trials each"),
        ),
        rows=tuple(rows),
        confidence=audit.question.confidence,
        note=message("audit.comparison.note"),
    )


def _spreads(audit: Audit) -> Table:
    return Table(
        title="Spreads",
        columns=(*_pair_columns(audit), *ratio_columns("ratio of the p10–p90 ranges")),
        rows=tuple(
            {**_pair(c), **ratio_cells(c.spread), "verdict": c.spread_word or "–"}
            for c in in_order(audit.comparisons, lambda c: c.key)
            if c.spread is not None
        ),
        confidence=audit.question.confidence,
        note=message("audit.comparison.spread"),
    )
