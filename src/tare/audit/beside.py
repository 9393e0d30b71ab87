"""Comparisons of an audit as findings: ratios, spreads, and apart from them STABILITY's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.audit import Audit
from tare.audit import telling as words
from tare.audit.comparison import MOST_COMPARED, ComparisonAudit, doubtful_told
from tare.results.finding import Column, Finding, Table
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
    because = words.shared(some, lambda c: (c.matched.because,), words.told_comparison)
    refused = words.shared(some, lambda c: (c.refusal,) if c.refusal else (), words.told_comparison)
    doubtful = doubtful_told(some)
    caveats = [r.told("comparisons", len(some)) for r in (*because, *refused)][:8]
    if doubtful:
        caveats.append(doubtful)
    caveats.append(
        f"All {len(some):,} are one family: Holm holds the error of their ratios together, and "
        "apart from that of their spreads."
        if len(some) > 1
        else "It is the only comparison, so nothing is adjusted for others."
    )
    if any(len(s.trials.values) > MOST_COMPARED for c in some for s in (c.first, c.second)):
        caveats.append(
            f"Of longer series, {MOST_COMPARED:,} trials at even distances are compared."
        )
    return Finding(
        name="difference",
        closed=False,
        question=f"What differs by {' and '.join(audit.question.columns.compare)}?",
        answer=words.comparisons_told(some),
        verdict="none",
        caveats=tuple(caveats),
        tables=(_ratios(audit), _spreads(audit)),
    )


def _pair_columns(some: Sequence[ComparisonAudit]) -> tuple[Column, ...]:
    where = (Column(key="where", title="where"),) if any(c.where for c in some) else ()
    return (*where, Column(key="b", title="what"), Column(key="a", title="beside"))


def _pair(c: ComparisonAudit) -> dict[str, Any]:
    return {"where": c.where or None, "a": c.a, "b": c.b}


def _ratios(audit: Audit) -> Table:
    rows = []
    for c in audit.comparisons:
        row = {**_pair(c), "verdict": c.word if c.location else words.uncompared(c)}
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
            Column(key="detectable", title="smallest change that would show", unit="%"),
            Column(key="more", title="further trials each"),
        ),
        rows=tuple(rows),
        confidence=audit.question.confidence,
        note="Hodges–Lehmann median of the log-ratios: of pairs where trials are paired, of all "
        "differences otherwise.",
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
        for c in audit.comparisons
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
        note="A spread counts as another where it grows by more than half; below 20 trials "
        "nothing is said.",
    )


def _stability(some: Sequence[ComparisonAudit]) -> Finding:
    return Finding(
        name="as_stability_would_say",
        closed=False,
        question="What would STABILITY say?",
        answer=words.stability_told(some) or "",
        verdict="none",
        caveats=(
            "All values are pooled as if each were a trial, which makes these intervals too "
            "narrow where several come from one. “same” only means that one interval contains "
            "the other.",
        ),
        tables=(
            Table(
                title="As STABILITY would say",
                columns=(
                    *_pair_columns(some)[:-2],
                    Column(key="a", title="the first"),
                    Column(key="b", title="beside the second"),
                    Column(key="mean", title="mean of the first is"),
                    Column(key="sd", title="SD of the first is"),
                ),
                rows=tuple({**_pair(c), "mean": c.mean, "sd": c.sd} for c in some),
                note=f"Percentile bootstrap, R = {RESAMPLES}, 95 %, as published; for "
                "reproduction only.",
            ),
        ),
    )
