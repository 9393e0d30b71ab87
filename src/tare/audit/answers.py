"""An audit as findings: the questions of its page, each with its answer and its evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tare.audit import Audit
from tare.audit import telling as words
from tare.audit.series import SeriesAudit
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.statistics.intervals import trials_needed
from tare.units import percent, quantile_name

#: What follows from several series at once is told for so many sentences.
_MOST_CAVEATS = 12
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
    from tare.audit.background import specification_finding, variance_finding
    from tare.audit.beside import comparison_findings
    from tare.audit.overhead_answers import cold_finding, overhead_finding

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
    for s in audit.series:
        found.setdefault((s.series.metric, s.series.unit), []).append(s)
    return [(metric, unit, some) for (metric, unit), some in found.items()]


def _trust(audit: Audit) -> Finding:
    told = words.reasons(audit)
    first = f" {told[0][1].told('series', len(audit.series))}" if told else ""
    return Finding(
        name="trust",
        question="Can these numbers be trusted?",
        answer=f"{words.headline(audit)}{first}",
        verdict=audit.verdict,
        summary=words.headline(audit),
        tables=tuple(_series_table(audit, *kind) for kind in kinds(audit)),
        caveats=tuple(
            f"{verdict}: {reason.told('series', len(audit.series))}"
            for verdict, reason in told[1 : 1 + _MOST_CAVEATS]
        ),
    )


def _series_table(
    audit: Audit, metric: str, unit: str | None, some: Sequence[SeriesAudit]
) -> Table:
    stored = unit or "1"
    beside = [q for q, _ in some[0].quantiles[1:]]
    columns = [
        Column(key="series", title="series"),
        Column(key="n", title="n"),
        *_with_interval("median", "median", stored),
        *(c for q in beside for c in _with_interval(quantile_name(q), quantile_name(q), stored)),
        *_with_interval("mean", "mean", stored),
        *_with_interval("sd", "SD", stored),
        Column(key="covered", title="simulated coverage of mean, SD"),
        Column(key="cov", title="CoV", unit="%"),
        Column(key="cov_robust", title="robust CoV", unit="%"),
        Column(key="verdict", title="verdict"),
    ]
    short = [q for q, _ in some[0].quantiles if any(dict(s.quantiles)[q].refusal for s in some)]
    needs = [f"{quantile_name(q)} ≥ {trials_needed(q, audit.question.confidence):,}" for q in short]
    refused = (
        f" Where there is no interval, n is too small: {listing(needs)} independent trials."
        if needs
        else ""
    )
    level = percent(audit.question.confidence)
    return Table(
        title=f"Every series: {metric}",
        columns=tuple(columns),
        rows=tuple(_series_row(s) for s in some),
        confidence=audit.question.confidence,
        note=f"{level} intervals: exact order statistics for quantiles, widened where trials "
        "remember those before them; percentile bootstrap for mean and SD, beside it how often "
        f"that covers for values like these, simulated.{refused}",
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
    target = words.told_precision(audit.question.precision)
    enough = [s for s in audit.series if s.reached]
    total = len(audit.series)
    needed = [n for s in enough if (n := s.runs_needed) is not None]
    missed = words.missed_told(audit.series)
    if not enough:
        answer = "No series has an interval of its median." if missed is None else (
            f"{missed[0].upper()}{missed[1:]}."
        )  # fmt: skip
    else:
        span = f"{min(needed):,}" if min(needed) == max(needed) else (
            f"{min(needed):,} to {max(needed):,}"
        )  # fmt: skip
        some = "All" if len(enough) == total else f"{len(enough)} of {total}"
        which = "It has" if total == 1 else f"{some} series have"
        answer = f"{which} as many as {target} takes: {span}."
    restless = [s.name for s in audit.series if not s.repetitions.converges]
    caveats = []
    if restless:
        who = listing(restless[:6]) + (
            f" and {len(restless) - 6} more" if len(restless) > 6 else ""
        )
        caveats.append(
            f"The intervals of {who} do not narrow as they should when runs are added in their "
            "order: what holds back is not chance, and more of such runs do not help."
        )
    caveats.append(
        "With as many runs as expected well under half of samples are within the target by "
        "themselves; with as many as assured, 90 % are. It tells what would have been enough, "
        "and is no rule for when to stop."
    )
    return Finding(
        name="repetitions",
        closed=False,
        question="How many runs are enough?",
        answer=answer,
        verdict="none",
        tables=(_runs_table(audit, target),),
        caveats=tuple(caveats),
    )


def _runs_table(audit: Audit, target: str) -> Table:
    rows = tuple(
        {
            "series": s.name,
            "n": s.n,
            "needed": s.runs_needed,
            "assured": s.repetitions.n_assured if s.reached else None,
            "reached": None if s.median.half_width is None else 100 * s.median.half_width,
            "converges": s.repetitions.converges if s.n else None,
        }
        for s in audit.series
    )
    return Table(
        title=f"Runs for {target} of the median",
        columns=(
            Column(key="series", title="series"),
            Column(key="n", title="n"),
            Column(key="needed", title="runs expected to be enough"),
            Column(key="assured", title="runs with which 90 % of samples are"),
            Column(key="reached", title="reached: ±", unit="%"),
            Column(key="converges", title="intervals narrow as they should"),
        ),
        rows=rows,
        note="CONFIRM in closed form: the interval expected of every number of these runs. Where "
        "the precision was missed, as if widths fell as the root of the number of runs, to two "
        "digits. –: too far beyond them to say.",
    )


def _assumptions(audit: Audit) -> Finding:
    total = len(audit.series)
    if total == 1:
        told = [getattr(audit.series[0].assumptions, part).sentence for part, _ in PARTS]
        answer, caveats = told[0], tuple(told[1:])
    else:
        counts = _part_counts(audit)
        answer = f"Of {total:,} series: {listing(counts)}." if counts else "Too few values to say."
        caveats = tuple(_part_sentences(audit))
    rows = tuple(
        {"series": s.name, **{p: getattr(s.assumptions, p).ok for p, _ in PARTS}}
        for s in audit.series
    )
    return Finding(
        name="assumptions",
        closed=False,
        question="What do the values look like, and in which order did they come?",
        answer=answer,
        verdict="none",
        caveats=caveats,
        tables=(
            Table(
                title="What conclusions take for granted",
                columns=(
                    Column(key="series", title="series"),
                    *(Column(key=part, title=title) for part, title in PARTS),
                ),
                rows=rows,
                note="Each errs in about 5 % of series in which it holds, so that one often says "
                "no by chance. Shape, modes and outliers never lower a verdict. –: too few "
                "values to say.",
            ),
        ),
    )


def _part_counts(audit: Audit) -> list[str]:
    told = []
    for part, title in PARTS:
        oks = [getattr(s.assumptions, part).ok for s in audit.series]
        known = sum(ok is not None for ok in oks)
        if known:
            some = f"{sum(ok is True for ok in oks):,}"
            told.append(f"{some} {title}" if known == len(oks) else f"{some} of {known:,} {title}")
    return told


def _part_sentences(audit: Audit) -> list[str]:
    told = []
    for part, _ in PARTS:
        some = [s for s in audit.series if getattr(s.assumptions, part).ok is False]
        told_of = {id(s): (getattr(s.assumptions, part).sentence,) for s in some}
        groups = words.shared(some, _lookup(told_of), lambda s: s.name)
        told += [g.told("series", len(audit.series)) for g in groups[:2]]
    return told[:_MOST_CAVEATS]


def _lookup(told: Mapping[int, Sequence[str]]) -> Callable[[SeriesAudit], Sequence[str]]:
    return lambda s: told[id(s)]
