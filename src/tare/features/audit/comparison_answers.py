"""Comparisons of an audit as findings: ratios, spreads, and STABILITY's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.features.audit import messages as words
from tare.features.audit.audit import Audit
from tare.features.audit.comparison import MOST_COMPARED, ComparisonAudit
from tare.features.audit.naming import in_order
from tare.render.words import text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Said, message
from tare.statistics.stability_words import RESAMPLES


def comparison_findings(audit: Audit) -> list[Finding]:
    """Answer what differs; nothing where no column was named to compare by."""
    if not audit.comparisons:
        return []
    found = [_difference(audit)]
    if any(c.mean for c in audit.comparisons):
        found.append(_stability(audit.comparisons))
    return found


def _difference(audit: Audit) -> Finding:
    some = audit.comparisons
    because = words.shared(some, lambda c: c.matched.because, name)
    refused = words.shared(some, lambda c: (c.refusal,) if c.refusal else (), name)
    doubtful = words.doubtful(some)
    caveats: list[Said] = [r.of("comparisons", len(some)) for r in (*because, *refused)][:8]
    if doubtful:
        caveats.append(doubtful)
    caveats.append(
        message("audit.comparison.family", n=len(some))
        if len(some) > 1
        else message("audit.comparison.only")
    )
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


def _pair_columns(some: Sequence[ComparisonAudit]) -> tuple[Column, ...]:
    where = (Column(key="where", title="where"),) if any(c.where for c in some) else ()
    return (*where, Column(key="b", title="what"), Column(key="a", title="vs."))


def _pair(c: ComparisonAudit) -> dict[str, Any]:
    return {"where": c.where or None, "a": c.a, "b": c.b}


def _ratios(audit: Audit) -> Table:
    rows = []
    for c in in_order(audit.comparisons, lambda c: c.key):
        row = {**_pair(c), "verdict": c.word if c.location else text(words.uncompared(c))}
        if (found := c.location) is not None:
            row |= {
                "n": found.n,
                "ratio": found.ratio,
                "ratio low": found.low,
                "ratio high": found.high,
                "p": found.p_adjusted if found.low is not None else None,
                "delta": found.cliffs_delta,
                "detectable": None if found.detectable is None else 100 * found.detectable,
                "more": found.more_pairs if not found.verdict.conclusive else None,
            }
        rows.append(row)
    return Table(
        title="Ratios",
        columns=(
            *_pair_columns(audit.comparisons),
            Column(key="n", title="n"),
            Column(key="ratio", title="ratio", unit="1"),
            Column(key="ratio low", title="from", unit="1"),
            Column(key="ratio high", title="to", unit="1"),
            Column(key="verdict", title="verdict"),
            Column(key="p", title="p after Holm", unit="1"),
            Column(key="delta", title="Cliff's delta", unit="1"),
            Column(key="detectable", title="smallest detectable change", unit="%"),
            Column(key="more", title="more trials each"),
        ),
        rows=tuple(rows),
        confidence=audit.question.confidence,
        note=message("audit.comparison.note"),
    )


def _spreads(audit: Audit) -> Table:
    rows = tuple(
        {
            **_pair(c),
            "ratio": c.spread.ratio,
            "ratio low": c.spread.low,
            "ratio high": c.spread.high,
            "verdict": c.spread_word or "–",
            "p": c.spread.p_adjusted if c.spread.low is not None else None,
        }
        for c in in_order(audit.comparisons, lambda c: c.key)
        if c.spread is not None
    )
    return Table(
        title="Spreads",
        columns=(
            *_pair_columns(audit.comparisons),
            Column(key="ratio", title="ratio of the p10–p90 ranges", unit="1"),
            Column(key="ratio low", title="from", unit="1"),
            Column(key="ratio high", title="to", unit="1"),
            Column(key="verdict", title="verdict"),
            Column(key="p", title="p after Holm", unit="1"),
        ),
        rows=rows,
        confidence=audit.question.confidence,
        note=message("audit.comparison.spread"),
    )


def _stability(some: Sequence[ComparisonAudit]) -> Finding:
    return Finding(
        name="as_stability_would_say",
        closed=False,
        question="What would STABILITY say?",
        answer=words.stability(some) or (),
        verdict="none",
        caveats=(message("audit.stability.pooled"),),
        tables=(
            Table(
                title="In the words of STABILITY",
                columns=(
                    *_pair_columns(some)[:-2],
                    Column(key="a", title="the first"),
                    Column(key="b", title="vs. the second"),
                    Column(key="mean", title="mean of the first is"),
                    Column(key="sd", title="SD of the first is"),
                ),
                rows=tuple({**_pair(c), "mean": c.mean, "sd": c.sd} for c in some),
                note=message("audit.stability.note", resamples=RESAMPLES),
            ),
        ),
    )
