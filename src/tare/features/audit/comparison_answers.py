"""Comparisons of an audit as a finding: ratios and spreads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.comparison_summary import spread_kind
from tare.experiment.findings.evidence import comparison_cells, comparison_columns
from tare.features.audit import messages as words
from tare.features.audit.audit import Audit
from tare.features.audit.comparison import ComparisonAudit
from tare.features.audit.naming import in_order
from tare.render.words import text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Said, message
from tare.statistics.sides import MAX_VALUES
from tare.units import chosen


def comparison_finding(audit: Audit) -> Finding:
    """Answer what differs by the columns that were named."""
    some = audit.comparisons
    because = words.shared(some, lambda c: c.matched.because, name)
    refused = words.shared(some, lambda c: (c.refusal,) if c.refusal else (), name)
    caveats: list[Said] = [r.of("comparisons", len(some)) for r in (*because, *refused)][:8]
    caveats += [*words.chance_of_family(some), *words.doubtful(some)]
    caveats.append(
        message(
            "{% if n == 1 %}the only comparison: p is not adjusted{% else %}all {n} are one "
            "family (Holm), ratios and spreads separately{% endif %}",
            n=len(some),
        )
    )
    if any(len(s.trials.values) > MAX_VALUES for c in some for s in (c.first, c.second)):
        caveats.append(
            message("of longer series, {n} evenly spaced trials are compared", n=MAX_VALUES)
        )
    return Finding(
        name="difference",
        closed=False,
        question=message(
            "What differs by {columns | listing}?", columns=audit.question.columns.compare
        ),
        answer=words.verdicts(some),
        summary=words.verdicts(some),
        verdict="none",
        caveats=tuple(caveats),
        tables=(_ratios(audit), _spreads(audit)),
    )


def name(c: ComparisonAudit) -> str:
    """Name a comparison in a table or a chart."""
    return text(words.name_of(c))


def pairs_overview(some: Sequence[ComparisonAudit]) -> Table:
    """Lay out comparisons in a terminal's columns."""
    metrics = {c.metric for c in some}
    verdict = metrics.pop() if len(metrics) == 1 else "verdict"
    return Table.of(
        message("Comparisons"),
        (
            "pair", "change", Column(key="verdict", title=verdict),
            Column(key="more", title="more trials each"), "spread",
        ),
        [
            (name(c), words.ratio(c), words.verdict(c), words.more_trials(c), c.spread_word)
            for c in some
        ],
    )  # fmt: skip


def _columns(audit: Audit, what: str) -> tuple[Column, ...]:
    where = (Column(key="where", title="where"),) if any(c.where for c in audit.comparisons) else ()
    return (
        *where,
        Column(key="metric", title="metric"),
        Column(key="b", title="what"),
        Column(key="a", title="vs."),
        *comparison_columns((), what, n="n"),
    )


def _pair(c: ComparisonAudit) -> dict[str, Any]:
    return {"where": c.where or None, "metric": c.metric, "a": c.a, "b": c.b}


def ratio_cells(c: ComparisonAudit) -> dict[str, Any]:
    """Lay out the ratio of a comparison that has one."""
    assert c.location is not None
    return comparison_cells(c.location, (c.words, chosen(c.margin)))


def _ratios(audit: Audit) -> Table:
    rows = []
    for c in in_order(audit.comparisons, lambda c: c.key):
        if c.location is None:
            rows.append({**_pair(c), "verdict": text(words.uncompared(c))})
            continue
        rows.append({**_pair(c), **ratio_cells(c), "delta": c.location.cliffs_delta})
    return Table(
        title=message("Ratios"),
        columns=(
            *_columns(audit, "ratio"),
            Column(key="delta", title="Cliff's delta", unit="1"),
        ),
        rows=tuple(rows),
        confidence=audit.question.confidence,
        note=message(
            "Hodges–Lehmann median of the log-ratios: of pairs where trials are paired, "
            "otherwise of all differences"
        ),
    )


def _spreads(audit: Audit) -> Table:
    return Table(
        title=message("Spreads"),
        columns=_columns(audit, "ratio of the p10–p90 ranges"),
        rows=tuple(
            {**_pair(c), **comparison_cells(c.spread, spread_kind(c.spread.margin))}
            for c in in_order(audit.comparisons, lambda c: c.key)
            if c.spread is not None
        ),
        confidence=audit.question.confidence,
        note=message(
            "A spread differs where it grows by more than half. Below 20 trials there is no verdict"
        ),
    )
