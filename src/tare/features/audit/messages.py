"""Sentences on an audit, as messages: the same for the terminal and the page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from tare.experiment.task_sets.caveats import crashed_alike, other_tasks
from tare.features.audit.audit import CRITERIA, VERDICTS, Audit, FileAudit
from tare.features.audit.comparison import ComparisonAudit
from tare.features.audit.naming import in_order
from tare.features.audit.pairing import FEWEST
from tare.features.audit.series import SeriesAudit
from tare.features.audit.task_sets import TaskSets
from tare.readers.series import Timeline
from tare.render.escaping import on_one_line
from tare.results.message import Amount, Chosen, Deviation, Message, Ratio, Said, each, message
from tare.statistics.changes import changes
from tare.statistics.intervals import Interval
from tare.statistics.trust import ReasonKind
from tare.units import percent, quantity

_COMPARISON_NAME = "{second} vs. {first}{% if where %} ({where}){% endif %}"
_MEDIAN_INTERVAL = "{value}"
#: Half of an interval's width below which only that is said.
_LEAST_HALF = 1e-4
#: Reasons of series whose values are not known to be executions of their own.
_UNKNOWN_TRIALS: frozenset[ReasonKind] = frozenset({"trials", "executions"})
#: Series that are named one by one.
_NAMED = 3
#: Digits of a median: it is often known to less than 0.1 %.
_DIGITS = 4

T = TypeVar("T")
Noun = Literal["series", "comparisons", "files"]


def uncompared(c: ComparisonAudit) -> Message:
    """Say why there is no ratio, and the difference where there is one."""
    d, unit = c.difference, c.first.series.unit or "1"
    return message(
        "{% if difference %}{word}: difference {difference} ({why}){% else %}not compared: "
        "{why}{% endif %}",
        word=c.word,
        difference=None if d is None else Amount(d.middle, unit, d.low, d.high),
        why=c.refusal,
    )


def median(s: SeriesAudit) -> Message:
    """Write a median with its interval, or the one that the file states."""
    unit = s.series.unit or "1"
    if s.n == 0:
        stated = s.series.reported.get("median", s.series.reported.get("mean"))
        known = stated is not None and math.isfinite(stated)
        return message(
            "{% if value %}{value} (stated){% else %}no values{% endif %}",
            value=quantity(stated, unit, _DIGITS) if known else None,
        )
    return estimate(s.median, unit)


def estimate(i: Interval, unit: str) -> Message:
    """Write a quantile: "241.8 ms ± 0.2 %", or both bounds where the interval's sides differ."""
    half = i.half_width
    if i.above is not None and (math.isinf(i.estimate) or i.high == math.inf):
        amount = Amount.of(i.estimate, unit, i.low, i.high, i.above)
        return message(_MEDIAN_INTERVAL, value=amount)
    if i.low is not None and (half is None or (i.is_asymmetric and half >= _LEAST_HALF)):
        return message(_MEDIAN_INTERVAL, value=Amount(i.estimate, unit, i.low, i.high))
    return message(
        "{value}{% if half %} ± {% if below %}< {% endif %}{half}{% else %} (no interval)"
        "{% endif %}",
        value=quantity(i.estimate, unit, _DIGITS),
        half=None if half is None else Amount(max(half, _LEAST_HALF), "share"),
        below=half is not None and half < _LEAST_HALF,
    )


def runs(s: SeriesAudit) -> Message:
    """Write how many runs the precision takes: "23", "≈ 1,200", "none: clock".

    CONFIRM counts independent runs; of autocorrelated ones it takes more.
    """
    return message(
        "{% if not n %}{% if coarse %}none{% if counts %}, if ticks{% else %}: clock"
        "{% endif %}{% elif unsteady %}none: unsteady{% else %}–{% endif %}"
        "{% elif not reached %}≈ {n}{% else %}{n}{% endif %}",
        n=s.runs_needed,
        coarse=s.clock_too_coarse,
        counts=s.may_be_counts,
        unsteady=s.median.low is not None and not s.more_runs_help,
        reached=bool(s.reached),
    )


@dataclass(frozen=True)
class Shared:
    """A sentence that several have in common, but for its numbers.

    Attributes
    ----------
    said : str or Message
        As the first of them has it.
    names : tuple of str
        Of those that have it.
    varies : bool
        Whether the numbers differ.
    n : int
        How many have it; several may have the same name.
    """

    said: Said
    names: tuple[str, ...]
    varies: bool
    n: int

    def of(self, noun: Noun, total: int) -> Said:
        """Say the sentence once, and for how many it holds."""
        if total == 1:
            return self.said
        return message(
            "{% if n == 1 %}{name}{% elif n < total %}{n} of {total} {noun}{% elif n == 2 %}both "
            "{noun}{% else %}all {n} {noun}{% endif %}{% if n > 1 and varies %}, e.g. {name}"
            "{% endif %}: {said}",
            n=self.n,
            total=total,
            noun=noun,
            name=self.names[0],
            varies=self.varies,
            said=self.said,
        )


def shared(
    some: Sequence[T], sentences: Callable[[T], Sequence[Said]], name: Callable[[T], str]
) -> list[Shared]:
    """Put what differs in its values only together, the most frequent first."""
    found: dict[object, list[tuple[Said, int]]] = {}
    for place, one in enumerate(some):
        for said in sentences(one):
            wording = said.wording if isinstance(said, Message) else said
            found.setdefault(wording, []).append((said, place))
    groups = [
        Shared(
            said=alike[0][0],
            names=tuple(dict.fromkeys(name(some[place]) for _, place in alike)),
            varies=any(said != alike[0][0] for said, _ in alike),
            n=len({place for _, place in alike}),
        )
        for alike in found.values()
    ]
    return sorted(groups, key=lambda g: -g.n)


def reasons(audit: Audit) -> list[tuple[str, Shared]]:
    """Give the reasons of all verdicts, each once, the worst first."""
    found: list[tuple[str, Shared]] = []
    if _only_imprecise(audit) is not None:
        return found
    for worst in reversed(VERDICTS):
        some = [s for s in audit.series if s.trust.verdict == worst]
        # Until it is known what a trial is, other reasons may not be reasons.
        for sentences in (_unknown_trials, _other_reasons):
            found += [(worst, g) for g in shared(some, sentences, lambda s: s.name)]
    return found


def _unknown_trials(s: SeriesAudit) -> list[Message]:
    return [one.said for one in s.trust.grounds if one.kind in _UNKNOWN_TRIALS]


def _other_reasons(s: SeriesAudit) -> list[Message]:
    """Return the other reasons that the headline does not have: all but a known precision."""
    told = _UNKNOWN_TRIALS if s.trust.extent is None else {*_UNKNOWN_TRIALS, "imprecise"}
    return [one.said for one in s.trust.grounds if one.kind not in told]


def missed(some: Sequence[SeriesAudit]) -> Message | None:
    """Report medians that are known less precisely than the target; None if all meet it."""
    worse = [s for s in some if s.reached is False]
    if not worse:
        return None
    needed = [n for s in worse if (n := s.runs_needed) is not None]
    target = Chosen(worse[0].question.precision)
    few = len(some) > 1 and len(worse) <= _NAMED
    few = few and all(s.median.half_width is not None for s in worse)
    each = [
        message(
            "{name} ± {half}{% if runs %} (≈ {runs} runs for ± {target}){% endif %}",
            name=s.name,
            half=Amount(s.median.half_width, "share"),
            runs=s.runs_needed,
            target=target,
        )
        for s in worse
    ]
    return message(
        "precision: {% if each %}{each | listing}{% else %}{span}{% endif %}"
        "{% if missed < total %} in {missed} of {total} series{% endif %}"
        "{% if runs and not each %}; ≈ {runs} runs{% if several %} each{% endif %} give ± "
        "{target}{% endif %}{% if counts %}; if these whole numbers are ticks of a clock, it "
        "is too coarse for ± {target}{% elif coarse %}; the clock is too coarse for ± "
        "{target}{% if coarse < missed %} of {coarse} of them{% endif %}, with any number of "
        "runs{% endif %}",
        each=each if few else None,
        missed=len(worse),
        total=len(some),
        span=_span([h for s in worse if (h := s.median.half_width) is not None]),
        target=target,
        runs=max(needed, default=None),
        several=len(needed) > 1,
        coarse=sum(s.clock_too_coarse for s in worse),
        counts=any(s.clock_too_coarse and s.may_be_counts for s in worse),
    )


def _span(halves: Sequence[float]) -> Message:
    least, most = min(halves), max(halves)
    return message(
        "± {least}{% if most %} {% if n == 2 %}and{% else %}to{% endif %} ± {most}{% endif %}",
        least=Amount(least, "share"),
        most=None if percent(least) == percent(most) else Amount(most, "share"),
        n=len(halves),
    )


def headline(audit: Audit) -> Said:
    """Answer whether the numbers can be trusted, in one sentence."""
    total, worst = len(audit.series), audit.count(audit.verdict)
    failed = [s.name for s in audit.series if s.failed]
    if audit.tasks is not None and audit.is_of_tasks:
        return best(audit.tasks)[0]
    if audit.doubts and audit.count("TRUST") == total:
        return message(
            "these numbers are doubtful: {doubts | join('; ')}", doubts=audit.doubts[:_NAMED]
        )
    if audit.verdict == "TRUST" and worst < total:
        doubtful = [s.name for s in audit.series if s.trust.verdict != "TRUST"]
        return message(
            "{claim}; {n} of {total} series {% if n == 1 %}is{% else %}are{% endif %} "
            "doubtful, as many as chance gives: {names}",
            n=len(doubtful),
            total=total,
            names=_first_names(doubtful),
            claim=audit.trust.claim,
        )
    lacking = missed(audit.series) if total > 1 else None
    is_sound = worst == total and all(s.trust.is_sound for s in audit.series)
    every = message("every run of {names} failed", names=_first_names(failed)) if failed else None
    return message(
        "{% if worst < total %}{worst} of {total} series {% if verdict == 'DOUBT' %}"
        "{% if worst == 1 %}is{% else %}are{% endif %} doubtful{% else %}allow"
        "{% if worst == 1 %}s{% endif %} no conclusions{% endif %}: {counts | join(', ')}"
        "{% elif verdict == 'TRUST' %}{claim}{% elif imprecise %}{imprecise}"
        "{% elif sound and missed %}{missed}{% elif verdict == 'DOUBT' %}these numbers are "
        "doubtful{% else %}do not draw conclusions from these numbers{% endif %}"
        "{% if worst == total and not (missed or failed) %}{% if total > 1 %} ("
        "{% if total == 2 %}both{% else %}all {total}{% endif %} series){% else %}"
        "{% if imprecise %};{% else %}:{% endif %} {% if n %}median {median}, n = {n}"
        "{% else %}{median}{% endif %}{% endif %}{% endif %}"
        "{% for one in closing %}{% if loop.first %}.{% endif %} {one | sentence}{% endfor %}",
        verdict=audit.verdict,
        worst=worst,
        total=total,
        counts=[
            message("{verdict} {n}", verdict=v, n=n) for v in VERDICTS if (n := audit.count(v))
        ],
        claim=audit.trust.claim,
        imprecise=_only_imprecise(audit),
        missed=lacking,
        sound=is_sound,
        failed=failed[:_NAMED],
        median=median(audit.series[0]),
        n=audit.series[0].n,
        closing=[
            said
            for said in (every, _partly_failed(audit), None if is_sound else lacking)
            if said is not None
        ],
    )


def _first_names(names: Sequence[str]) -> Message:
    """Name the first few."""
    return message(
        "{% if others %}{names | join(', ')} and {others} more{% else %}{names | listing}"
        "{% endif %}",
        names=names[:_NAMED],
        others=len(names[_NAMED:]),
    )


def named_headline(audit: Audit) -> Said:
    """Return the headline with its verdict in front, where it continues it or stands alone."""
    said = headline(audit)
    if not continues_verdict(audit) and audit.question.finding is None:
        return said
    return message("{verdict} {said}", verdict=audit.verdict, said=said)


def continues_verdict(audit: Audit) -> bool:
    """Whether the headline continues the verdict: "to ± 0.4 % in this session"."""
    if audit.tasks is not None and audit.is_of_tasks:
        return False
    return audit.verdict == "TRUST" or _only_imprecise(audit) is not None


def _only_imprecise(audit: Audit) -> Message | None:
    """Return the imprecision of the only series where nothing else speaks against it."""
    found = audit.series[0].trust
    return found.imprecision if len(audit.series) == 1 and found.is_sound else None


def best(tasks: TaskSets) -> tuple[Said, ...]:
    """Answer which configuration of a set is best, or what the only one solves."""
    return each(tasks.findings[0].answer)


def task_answers(tasks: TaskSets) -> tuple[Said, ...]:
    """Return the first answers of a set, and of the other questions what is worth a line each."""
    # Of many pairs, the page has the ratios.
    alone = len(tasks.compared) == 1
    others = [
        said
        for one in tasks.findings
        if one.name == "faster" and alone
        for said in each(one.summary)
    ]
    return (*best(tasks), *others)


def task_caveats(tasks: TaskSets) -> list[Message]:
    """Say what weakens a comparison over tasks: broken configurations, files, other conditions."""
    said = [*crashed_alike(tasks.sets)]
    pairs = tasks.ranking.versus if tasks.ranking is not None else ()
    if any(one.pair.apart for one in pairs):
        said.append(
            message(
                "configurations are of different files: what changed on the machine between them "
                "counts as a difference"
            )
        )
    if len(machines := list(dict.fromkeys(one.machine for one in tasks.sets if one.machine))) > 1:
        said.append(
            message(
                "the files name different machines ({names | listing}): differences may be theirs",
                names=machines[:_NAMED],
            )
        )
    said += other_tasks([one.given for one in tasks.sets])
    if len(tasks.limits) > 1:
        said.append(
            message(
                "the time limits differ: who has less time solves less; PAR2 counts what is not "
                "solved by each one's own"
            )
        )
    runs = max(int(one.outcomes.runs.max(initial=0)) for one in tasks.sets)
    return [
        *said,
        message(
            "tasks are the replicates: {runs | counted('run')} of each say{% if runs == 1 %}s"
            "{% endif %} nothing of a single task, for which {needs} are needed",
            runs=runs,
            needs=FEWEST,
        ),
    ]


def _partly_failed(audit: Audit) -> Message | None:
    """Count the failed runs of series that are doubtful since some of their runs failed."""
    counts = [(s.name, s.partly_failed) for s in audit.series]
    known = [(name, failed) for name, failed in counts if failed is not None]
    if not known:
        return None
    return message(
        "{n} of {total | counted('run')} of {names} failed",
        n=sum(failed.n for _, failed in known),
        total=sum(failed.total for _, failed in known),
        names=_first_names([name for name, _ in known]),
    )


def precision(audit: Audit) -> list[Message]:
    """Say how exactly the medians are known; nothing where that is in the headline, or unknown."""
    halves = [s.median.half_width for s in audit.series]
    known = [h for h in halves if h is not None]
    said = audit.verdict == "TRUST" or missed(audit.series) is not None
    if len(audit.series) == 1 or not known or said:
        return []
    found = message(
        "medians: {span}, {% if reached %}{reached} of {total}{% else %}none{% endif %} "
        "within ± {target}{% if unknown %}, {unknown} without an interval{% endif %}",
        span=_span(known),
        reached=sum(h <= audit.question.precision for h in known),
        total=len(halves),
        target=Chosen(audit.question.precision),
        unknown=len(halves) - len(known),
    )
    return [found]


def inside(s: SeriesAudit) -> list[tuple[Timeline, Message]]:
    """Describe what is known of the inside of the only run: the range, drift or a level shift."""
    return [(one, _timeline(one, s.question.precision)) for one in s.series.timelines]


def _timeline(one: Timeline, precision: float) -> Message:
    values, unit = one.values, one.unit or "1"
    found = changes(values, precision)
    size = found.largest if found.drift is None else found.drift
    return message(
        "in {n | counted('interval')} of the run, {metric} was {least} to {most}"
        "{% if drift %}; it drifted by {size} from the first to the last{% elif at %}; its level "
        "shifted {% if shifts > 1 %}{shifts} times, most {% endif %}by {size} at interval {at}"
        "{% elif steady %}; no drift or level shift is shown"
        "{% endif %}",
        metric=one.metric,
        n=len(values),
        least=Amount(float(values.min()), unit),
        most=Amount(float(values.max()), unit),
        drift=found.drift is not None,
        size=None if size is None else Deviation(size, "share"),
        at=None if found.at is None else found.at + 1,
        shifts=len(found.points),
        steady=bool(found.ok),
    )


def restless(audit: Audit) -> list[Message]:
    """Name the series of which more runs do not help, as their intervals do not narrow."""
    names = [s.name for s in audit.series if not s.converges]
    if not names:
        return []
    return [
        message(
            "{names}: intervals do not narrow as runs are added in their order. More such runs "
            "do not help",
            names=_first_names(names),
        )
    ]


def name_of(c: ComparisonAudit) -> Message:
    """Name a comparison: "docker vs. bare (workers 1)"."""
    return message(_COMPARISON_NAME, first=c.a, second=c.b, where=c.where)


def pair(c: ComparisonAudit) -> Message:
    """Name the two levels of a comparison: "docker vs. bare"."""
    return message(_COMPARISON_NAME, first=c.a, second=c.b, where="")


def ratio(c: ComparisonAudit) -> Ratio | None:
    """Return the ratio with its interval; None where there is none."""
    found = c.location
    return None if found is None else Ratio.of(found.ratio, found.low, found.high)


def verdict(c: ComparisonAudit) -> Said:
    """Write a verdict, or why there is none."""
    return uncompared(c) if c.location is None else c.word


def more_trials(c: ComparisonAudit) -> int | None:
    """Return the number of trials more of each that would settle a comparison."""
    if c.location is None or c.location.verdict.conclusive:
        return None
    return c.location.more_pairs or None


def clearest(some: Sequence[ComparisonAudit], most: int) -> list[ComparisonAudit]:
    """Choose the comparisons that differ most clearly, in the order of their levels."""

    def weight(i: int) -> tuple[bool, float]:
        found = some[i].location
        if found is None or not found.verdict.differs:
            return True, 0.0
        return False, -abs(math.log(found.ratio)) if found.ratio > 0 else -math.inf

    kept = sorted(sorted(range(len(some)), key=weight)[:most])
    return in_order([some[i] for i in kept], lambda c: c.key)


def verdicts(some: Sequence[ComparisonAudit]) -> Message:
    """Count the verdicts of all comparisons, or give that of the only one."""
    if len(some) == 1:
        (c,) = some
        found = c.location
        return message(
            "{name} by {metric}: {word}{% if ratio %}, {ratio}{% endif %}{% if spread %}; "
            "spread {spread}{% endif %}{% if more %} (≈ {more | counted('more trial')} each)"
            "{% endif %}",
            name=name_of(c),
            metric=c.metric,
            word=c.word if found else uncompared(c),
            ratio=ratio(c),
            spread=c.spread_word,
            more=None if found is None or found.verdict.conclusive else found.more_pairs,
        )
    metrics = {(c.metric, c.first.series.lower_is_better) for c in some}
    metric, lower_is_better = metrics.pop() if len(metrics) == 1 else (None, None)
    return message(
        "{total} pairs{% if metric and lower_is_better is not none %} by {metric} ("
        "{% if lower_is_better %}less{% else %}more{% endif %} is faster){% endif %}: "
        "{counts | listing}",
        total=len(some),
        counts=[
            message(
                "{n} {word}{% if below %} by < {below}{% endif %}",
                n=n,
                word=word,
                below=None if below is None else Chosen(below),
            )
            for (word, below), n in Counter(map(_short, some)).most_common()
        ],
        metric=metric,
        lower_is_better=lower_is_better,
    )


def _short(c: ComparisonAudit) -> tuple[str, float | None]:
    """Return the verdict, and the margin where there is a difference that is below it."""
    if c.verdict.differs and c.verdict.within_margin:
        return c.words.of(c.verdict), c.margin
    return c.word, None


def doubtful(some: Sequence[ComparisonAudit]) -> Iterator[Message]:
    """Say how many comparisons rest on a series that is not trusted."""
    if n := sum(c.doubtful for c in some):
        yield message(
            "{% if total == 1 %}the comparison uses{% elif n == total %}{% if n == 2 %}both"
            "{% else %}all {n}{% endif %} comparisons use{% else %}{n} of {total} "
            "comparisons use"
            "{% endif %} series that are not trusted",
            n=n,
            total=len(some),
        )


def chance_of_family(some: Sequence[ComparisonAudit]) -> Iterator[Message]:
    """Say how many differ by their own interval, but not at the level of all comparisons."""
    if n := sum(c.differs_alone for c in some) if len(some) > 1 else 0:
        yield message(
            "{n} of {total} comparisons {% if n == 1 %}is{% else %}are{% endif %} inconclusive "
            "although {% if n == 1 %}its interval excludes{% else %}their intervals exclude"
            "{% endif %} 0: at the level of the family of {total} (Holm), {% if n == 1 %}it"
            "{% else %}they{% endif %} may be chance",
            n=n,
            total=len(some),
        )


def specifications(files: Sequence[FileAudit]) -> list[Message]:
    """Say what files state of their numbers, and what they leave out; once of those alike."""
    alike: dict[tuple[str, tuple[str, ...]], list[FileAudit]] = {}
    for file in (one for one in files if one.imported.series):
        alike.setdefault((file.imported.format, file.missing), []).append(file)
    return [
        message(
            "{file or (n | counted('file'))} ({format}) {% if n == 1 %}states{% else %}state"
            "{% endif %} {% if missing %}{points} of {of} things that a reader needs. "
            "Missing: {missing | listing}. State {% if missing | length == 1 %}it{% else %}"
            "them{% endif %} with the file{% if n > 1 %}s{% endif %}{% else %}all {of} "
            "things that a reader needs{% endif %}",
            file=on_one_line(some[0].path.name) if len(some) == 1 else None,
            n=len(some),
            format=format_,
            missing=missing,
            points=some[0].points,
            of=len(CRITERIA),
        )
        for (format_, missing), some in alike.items()
    ]
