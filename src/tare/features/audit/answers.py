"""An audit as findings: the questions of its page, each with its answer and its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tare.experiment.findings import assumptions, time_of_day, variance
from tare.experiment.findings.assumptions import PARTS
from tare.experiment.findings.variance import Explained
from tare.features.audit import messages as words
from tare.features.audit import phrases
from tare.features.audit.audit import CRITERIA, Audit
from tare.features.audit.cold import ColdStart, begins, item_name
from tare.features.audit.comparison_answers import comparison_finding
from tare.features.audit.naming import by_kind, in_order
from tare.features.audit.series import SeriesAudit
from tare.readers.readings import number
from tare.render.words import shown, text
from tare.results.finding import Column, Finding, Table, interval_columns
from tare.results.message import Chosen, Message, Said, message
from tare.statistics.intervals import trials_needed
from tare.units import percent, quantile_name

_SPECIFICATION_TEXTS = {
    "repetitions": (
        "repetitions: state how often each was measured. Otherwise, chance cannot be "
        "separated from an effect"
    ),
    "statistic": (
        "statistic: state whether numbers are means, medians or others. Otherwise, they "
        "cannot be compared"
    ),
    "spread": (
        "spread: keep all values, or state SD or intervals. Otherwise, no difference can be judged"
    ),
    "environment": (
        "environment: state CPU, memory, kernel and versions with the file. Otherwise, the "
        "measurement cannot be repeated"
    ),
}

#: Sentences on several series at once.
_MOST_CAVEATS = 12
#: Sentences on what files state.
_MOST_FILES = 6


def findings(audit: Audit) -> list[Finding]:
    """Answer the questions of an audit's page, in reading order."""
    platforms = [] if audit.platforms is None else [*audit.platforms.findings]
    if audit.cold is not None and audit.cold.found:
        platforms.append(_cold(audit, audit.cold))
    if audit.question.finding is not None:
        return [*platforms, _trust(audit)]
    tasks = audit.tasks
    of_tasks = tasks.findings if tasks is not None and tasks.are_enough else ()
    if audit.is_of_tasks:
        return [*of_tasks, _trust(audit), _specification(audit)]
    return [
        _trust(audit),
        *of_tasks,
        *platforms,
        _runs(audit),
        _assumptions(audit),
        *([comparison_finding(audit)] if audit.comparisons else []),
        *map(_variance, audit.variance),
        *_times_of_day(audit),
        _specification(audit),
    ]


def _cold(audit: Audit, cold: ColdStart) -> Finding:
    """Answer whether the first value of a series is a cold start."""
    what = item_name(audit.question)
    later: tuple[Message, ...] = ()
    if cold.later is None and audit.question.columns.block is not None:
        later = (
            message(
                "the same {what} always comes first: a slow {what} and a cold start look alike",
                what=what,
            ),
        )
    return Finding(
        name="cold-start",
        question=message("Is the first {what} of a series a cold start?", what=what),
        answer=begins(cold, what),
        summary=begins(cold, what),
        verdict="yes",
        caveats=later,
        tables=(_firsts(cold, what),),
    )


def _firsts(cold: ColdStart, what: str) -> Table:
    units = {f.series.series.unit for f in cold.firsts}
    unit = (units.pop() if len(units) == 1 else None) or "1"
    return Table.of(
        message("First values"),
        (
            "series",
            Column(key="first", title="first", unit=unit),
            Column(key="rest", title="median of the others", unit=unit),
            Column(key="ratio", title="ratio", unit="1"),
            Column(key="later", title=f"expected of this {what}", unit=unit),
            Column(key="largest", title="the largest"),
        ),
        [(f.series.name, f.value, f.rest, f.ratio, f.expected, f.largest) for f in cold.firsts],
        message(
            "Expected: the time of the same {what} in series where it comes later, relative "
            "to the others there",
            what=what,
        ),
    )


def kinds(audit: Audit) -> list[tuple[str, str | None, list[SeriesAudit]]]:
    """Part series by metric and unit: what can stand in one table, on one scale."""
    return [(name, of[0].series.unit, of) for name, of in by_kind(_arranged(audit)).items()]


def _arranged(audit: Audit) -> list[SeriesAudit]:
    """Series in the order of their levels."""
    return in_order(audit.series, lambda s: s.key)


def _trust(audit: Audit) -> Finding:
    if audit.tasks is not None and audit.is_of_tasks:
        return Finding(
            name="trust",
            question=message("Can these numbers be trusted?"),
            answer=tuple(words.task_caveats(audit.tasks)),
            verdict=audit.verdict,
        )
    reasons = [(v, r.of("series", len(audit.series))) for v, r in words.reasons(audit)]
    first = [words.named_headline(audit), *words.precision(audit)]
    return Finding(
        name="trust",
        question=message("Can these numbers be trusted?"),
        answer=(*first, *(reason for _, reason in reasons[:1])),
        verdict=audit.verdict,
        summary=(*first, *(reason for _, reason in reasons[:2])),
        tables=tuple(_series_table(audit, *kind) for kind in kinds(audit)),
        caveats=tuple(
            message("{verdict}: {said}", verdict=verdict, said=reason)
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
        *interval_columns("median", "median", stored, "median "),
        *(c for q in map(quantile_name, others) for c in interval_columns(q, q, stored, f"{q} ")),
        *interval_columns("mean", "mean", stored, "mean "),
        *interval_columns("sd", "SD", stored, "sd "),
        Column(key="covered", title="simulated coverage of mean, SD"),
        Column(key="cov", title="CoV", unit="%"),
        Column(key="cov_robust", title="robust CoV", unit="%"),
        Column(key="verdict", title="verdict"),
    ]
    short = [q for q, _ in some[0].quantiles if any(dict(s.quantiles)[q].refusal for s in some)]
    needs = [
        message(
            "{quantile} ≥ {trials}",
            quantile=quantile_name(q),
            trials=trials_needed(q, audit.question.confidence),
        )
        for q in short
    ]
    return Table(
        title=message(phrases.TRUST_TABLE, metric=metric),
        columns=tuple(columns),
        rows=tuple(_series_row(s) for s in some),
        confidence=audit.question.confidence,
        note=message(
            "{confidence} intervals. Quantiles: exact order statistics, adjusted for "
            "autocorrelation. Mean and SD: percentile bootstrap, with its simulated coverage "
            "for values like these{% if needs %}. An interval needs that many independent "
            "trials: {needs | listing}{% endif %}",
            confidence=Chosen(audit.question.confidence),
            needs=needs,
        ),
    )


def series_overview(some: Sequence[SeriesAudit], quantiles: Sequence[float]) -> Table:
    """Lay out series in a terminal's columns, with the quantiles that were asked for."""
    names, question = [*map(quantile_name, quantiles)], some[0].question
    rows = []
    for s in some:
        unit = s.series.unit or "1"
        known = {quantile_name(q): words.estimate(i, unit) for q, i in s.quantiles if s.n}
        cov = None if s.cov is None else percent(s.cov)
        rows.append((s.name, s.n, words.median(s), *map(known.get, names), cov, words.runs(s),
                     s.runs_assured, s.trust.verdict))  # fmt: skip
    target = shown(Chosen(question.precision))
    return Table.of(
        message("Medians with {level} intervals", level=Chosen(question.confidence)),
        (
            "series", "n", "median", *names, Column(key="cov", title="CoV"),
            Column(key="runs", title=f"runs for ± {target}"), "assured", "verdict",
        ),
        rows,
    )  # fmt: skip


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
    needed = [n for s in audit.series if s.reached and (n := s.runs_needed) is not None]
    is_known = any(s.reached for s in audit.series)
    answer = words.missed(audit.series) or message(
        (
            "these runs reach ± {target}; how many are enough is unknown, because values "
            "change over time"
        )
        if is_known
        else "no series has an interval of its median",
        target=target,
    )
    if needed:
        answer = message(
            "{least}{% if most > least %} to {most}{% endif %} runs are enough for ± {target}"
            "{% if total > 1 %} in {% if enough == total %}all {total}{% else %}{enough} of "
            "{total}{% endif %} series{% endif %}",
            least=min(needed),
            most=max(needed),
            target=target,
            enough=len(needed),
            total=len(audit.series),
        )
    return Finding(
        name="repetitions",
        closed=False,
        question=message("How many runs are enough?"),
        answer=answer,
        verdict="none",
        tables=(_runs_table(audit, target),),
        caveats=(
            *words.restless(audit),
            message(
                "With the expected number of runs, well under half of samples reach the target. "
                "With the assured number, 90 % do. Neither is a rule for when to stop"
            ),
        ),
    )


def _runs_table(audit: Audit, target: Chosen) -> Table:
    rows = []
    for s in _arranged(audit):
        half = s.median.half_width
        reached = None if half is None else 100 * half
        rows.append((s.name, s.n, s.runs_needed, s.runs_assured, reached,
                     s.converges if s.n else None))  # fmt: skip
    return Table.of(
        message("Runs for ± {target} of the median", target=target),
        (
            "series",
            "n",
            Column(key="needed", title="runs expected"),
            Column(key="assured", title="runs assured (90 %)"),
            Column(key="reached", title="reached: ±", unit="%"),
            Column(key="converges", title="intervals narrow"),
        ),
        rows,
        message(
            "Reached: the longer side of the interval. CONFIRM in closed form: the expected "
            "interval of every number of these runs. Where the precision was missed: as if "
            "widths fell as the root of the number of runs, to two digits. –: too far beyond "
            "the data, or more runs do not help"
        ),
    )


def _assumptions(audit: Audit) -> Finding:
    total = len(audit.series)
    tested = [(s.name, s.assumptions) for s in _arranged(audit)]
    if total == 1:
        answer, *caveats = (getattr(tested[0][1], part).sentence for part, _ in PARTS)
        return assumptions.finding(tested, "series", "series", answer=answer, caveats=(*caveats,))
    of_all: list[Said] = []
    for part, _ in PARTS:
        checked = [(s.name, getattr(s.assumptions, part)) for s in audit.series]
        broken = [(name, one.sentence) for name, one in checked if one.ok is False]
        groups = words.shared(broken, lambda one: one[1:], lambda one: one[0])
        of_all += [g.of("series", total) for g in groups[:2]]
    return assumptions.finding(tested, "series", "series", caveats=(*of_all[:_MOST_CAVEATS],))


def _variance(v: Explained) -> Finding:
    """Answer what explains the variance of a metric, first at the head of the page."""
    return msgspec.structs.replace(
        variance.finding(v),
        name=f"variance of {v.metric}",
        question=message("What explains the variance of {metric}?", metric=v.metric),
        summary=variance.sentences(v)[0],
        charts=(),
    )


def _times_of_day(audit: Audit) -> Iterator[Finding]:
    """Answer whether the values of each metric depend on the time of day or the day of the week."""
    for metric, some in audit.timed.items():
        for found in (time_of_day.finding(some), time_of_day.week_finding(some)):
            if found is not None:
                name = found.name if len(audit.timed) == 1 else f"{found.name} of {metric}"
                yield msgspec.structs.replace(found, name=name, charts=())


def _specification(audit: Audit) -> Finding:
    """Answer whether the files state how their numbers were measured."""
    full = not any(f.missing for f in audit.files)
    stated = words.specifications(audit.files)
    more = sum(number(one.args["n"]) for one in stated[_MOST_FILES:])
    return Finding(
        name="specification",
        question=message(
            "{% if files == 1 %}Does the file{% else %}Do the files{% endif %} state how the "
            "numbers were measured?",
            files=len(audit.files),
        ),
        answer=(
            *stated[:_MOST_FILES],
            *([message("{n} more files", n=int(more))] if more > 0 else []),
        ),
        verdict="yes" if full else "no",
        caveats=tuple(
            message(_SPECIFICATION_TEXTS[name])
            for name in CRITERIA
            if any(name in f.missing for f in audit.files)
        ),
        tables=(
            Table.of(
                message("Criteria of CLOUDNET's survey, and the environment"),
                (
                    "file",
                    *(Column(key=name, title=f"{name}: {what}") for name, what in CRITERIA.items()),
                    "score",
                ),
                [
                    (
                        f.path.name,
                        *(said and text(said) for said in f.specification.values()),
                        f"{f.points} of {len(CRITERIA)}",
                    )
                    for f in audit.files
                ],
            ),
        ),
    )
