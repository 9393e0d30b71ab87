"""An audit as findings: the questions of its page, each with its answer and its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.features.audit import messages as words
from tare.features.audit.audit import Audit
from tare.features.audit.naming import in_order
from tare.features.audit.series import SeriesAudit
from tare.results.finding import Column, Finding, Table
from tare.results.message import Chosen, Message, Said, message
from tare.statistics.intervals import trials_needed
from tare.units import percent, quantile_name

#: Sentences on several series at once.
_MOST_CAVEATS = 12
#: Series that are named one by one.
_MOST_NAMES = 6
#: Parts of the assumptions, and what their column is called.
PARTS = (
    ("independence", "independent"),
    ("stationarity", "stationary"),
    ("changes", "level steady"),
    ("warmup", "no warm-up"),
    ("normality", "normal"),
    ("modes", "one mode"),
    ("outliers", "no heavy outliers"),
)


def findings(audit: Audit) -> list[Finding]:
    """Answer the questions of an audit's page, in reading order."""
    from tare.features.audit.background import specification_finding, variance_finding
    from tare.features.audit.comparison_answers import comparison_findings
    from tare.features.audit.overhead_answers import cold_finding, overhead_finding

    platforms = [] if audit.overhead is None else [overhead_finding(audit, audit.overhead)]
    if audit.cold is not None and audit.cold.found:
        platforms.append(cold_finding(audit, audit.cold))
    if audit.question.finding is not None:
        return [*platforms, _trust(audit)]
    return [
        _trust(audit),
        *platforms,
        _runs(audit),
        _assumptions(audit),
        *comparison_findings(audit),
        *(variance_finding(v) for v in audit.variance),
        specification_finding(audit),
    ]


def kinds(audit: Audit) -> list[tuple[str, str | None, list[SeriesAudit]]]:
    """Part series by metric and unit: what can stand in one table, on one scale."""
    found: dict[tuple[str, str | None], list[SeriesAudit]] = {}
    for s in _arranged(audit):
        found.setdefault((s.series.metric, s.series.unit), []).append(s)
    return [(metric, unit, some) for (metric, unit), some in found.items()]


def _arranged(audit: Audit) -> list[SeriesAudit]:
    """Series in the order of their levels."""
    return in_order(audit.series, lambda s: s.key)


def _trust(audit: Audit) -> Finding:
    reasons = [(v, r.of("series", len(audit.series))) for v, r in words.reasons(audit)]
    precision = words.precision(audit)
    return Finding(
        name="trust",
        question="Can these numbers be trusted?",
        answer=(
            words.headline(audit),
            *([precision] if precision else []),
            *(reason for _, reason in reasons[:1]),
        ),
        verdict=audit.verdict,
        summary=words.headline(audit),
        tables=tuple(_series_table(audit, *kind) for kind in kinds(audit)),
        caveats=tuple(
            message("audit.trust.reason", verdict=verdict, said=reason)
            for verdict, reason in reasons[1 : 1 + _MOST_CAVEATS]
        ),
    )


def _series_table(
    audit: Audit, metric: str, unit: str | None, some: Sequence[SeriesAudit]
) -> Table:
    stored = unit or "1"
    others = [q for q, _ in some[0].quantiles[1:]]
    columns = [
        Column(key="series", title="series"),
        Column(key="n", title="n"),
        *_with_interval("median", "median", stored),
        *(c for q in others for c in _with_interval(quantile_name(q), quantile_name(q), stored)),
        *_with_interval("mean", "mean", stored),
        *_with_interval("sd", "SD", stored),
        Column(key="covered", title="simulated coverage of mean, SD"),
        Column(key="cov", title="CoV", unit="%"),
        Column(key="cov_robust", title="robust CoV", unit="%"),
        Column(key="verdict", title="verdict"),
    ]
    short = [q for q, _ in some[0].quantiles if any(dict(s.quantiles)[q].refusal for s in some)]
    needs = [
        message(
            "audit.trust.needs",
            quantile=quantile_name(q),
            trials=trials_needed(q, audit.question.confidence),
        )
        for q in short
    ]
    return Table(
        title=message("audit.trust.table", metric=metric),
        columns=tuple(columns),
        rows=tuple(_series_row(s) for s in some),
        confidence=audit.question.confidence,
        note=message("audit.trust.note", confidence=Chosen(audit.question.confidence), needs=needs),
    )


def _with_interval(key: str, title: str, unit: str) -> tuple[Column, Column, Column]:
    return (
        Column(key=key, title=title, unit=unit),
        Column(key=f"{key} low", title="from", unit=unit),
        Column(key=f"{key} high", title="to", unit=unit),
    )


def _series_row(s: SeriesAudit) -> dict[str, Any]:
    row: dict[str, Any] = {"series": s.name, "n": s.n, "verdict": s.trust.verdict}
    found = [*((quantile_name(q), i) for q, i in s.quantiles), ("mean", s.mean), ("sd", s.sd)]
    for key, interval in found:
        known = s.n > 0 and (key != "sd" or s.n > 1)
        row[key] = interval.estimate if known else None
        row[f"{key} low"], row[f"{key} high"] = interval.low, interval.high
    row["covered"] = s.coverage and ", ".join(percent(c) for c in s.coverage)
    row["cov"] = None if s.cov is None else 100 * s.cov
    row["cov_robust"] = None if s.cov_robust is None else 100 * s.cov_robust
    return row


def _runs(audit: Audit) -> Finding:
    target = Chosen(audit.question.precision)
    enough = [s for s in audit.series if s.reached and s.runs_needed is not None]
    total = len(audit.series)
    needed = [n for s in enough if (n := s.runs_needed) is not None]
    missed = words.missed(audit.series)
    if enough:
        answer = message(
            "audit.runs.enough",
            least=min(needed),
            most=max(needed),
            target=target,
            enough=len(enough),
            total=total,
        )
    else:
        answer = missed or message("audit.runs.none")
    restless = [s.name for s in audit.series if not s.repetitions.converges]
    caveats = []
    if restless:
        caveats.append(
            message(
                "audit.runs.restless",
                names=restless[:_MOST_NAMES],
                others=max(0, len(restless) - _MOST_NAMES),
            )
        )
    caveats.append(message("audit.runs.expected"))
    return Finding(
        name="repetitions",
        closed=False,
        question="How many runs are enough?",
        answer=answer,
        verdict="none",
        tables=(_runs_table(audit, target),),
        caveats=tuple(caveats),
    )


def _runs_table(audit: Audit, target: Chosen) -> Table:
    rows = tuple(
        {
            "series": s.name,
            "n": s.n,
            "needed": s.runs_needed,
            "assured": s.runs_assured,
            "reached": None if s.median.half_width is None else 100 * s.median.half_width,
            "converges": s.repetitions.converges if s.n else None,
        }
        for s in _arranged(audit)
    )
    return Table(
        title=message("audit.runs.table", target=target),
        columns=(
            Column(key="series", title="series"),
            Column(key="n", title="n"),
            Column(key="needed", title="runs expected"),
            Column(key="assured", title="runs assured (90 %)"),
            Column(key="reached", title="reached: ±", unit="%"),
            Column(key="converges", title="intervals narrow"),
        ),
        rows=rows,
        note=message("audit.runs.note"),
    )


def _assumptions(audit: Audit) -> Finding:
    total = len(audit.series)
    answer: Said
    if total == 1:
        answer, *caveats = (getattr(audit.series[0].assumptions, p).sentence for p, _ in PARTS)
    else:
        counts = _part_counts(audit)
        answer = (
            message("audit.assumptions.counts", counts=counts, total=total)
            if counts
            else message("audit.assumptions.few")
        )
        caveats = _part_sentences(audit)
    rows = tuple(
        {"series": s.name, **{p: getattr(s.assumptions, p).ok for p, _ in PARTS}}
        for s in _arranged(audit)
    )
    return Finding(
        name="assumptions",
        closed=False,
        question="Are the values independent, stationary and normal?",
        answer=answer,
        verdict="none",
        caveats=tuple(caveats),
        tables=(
            Table(
                title="Assumptions",
                columns=(
                    Column(key="series", title="series"),
                    *(Column(key=part, title=title) for part, title in PARTS),
                ),
                rows=rows,
                note=message("audit.assumptions.note"),
            ),
        ),
    )


def _part_counts(audit: Audit) -> list[Message]:
    counts = []
    for part, title in PARTS:
        oks = [getattr(s.assumptions, part).ok for s in audit.series]
        known = sum(ok is not None for ok in oks)
        if known:
            counts.append(
                message(
                    "audit.assumptions.count",
                    n=sum(ok is True for ok in oks),
                    known=known if known < len(oks) else None,
                    what=title,
                )
            )
    return counts


def _part_sentences(audit: Audit) -> list[Said]:
    found: list[Said] = []
    for part, _ in PARTS:
        parts = [(s.name, getattr(s.assumptions, part)) for s in audit.series]
        some = [(name, checked.sentence) for name, checked in parts if checked.ok is False]
        groups = words.shared(some, lambda one: one[1:], lambda one: one[0])
        found += [g.of("series", len(audit.series)) for g in groups[:2]]
    return found[:_MOST_CAVEATS]
