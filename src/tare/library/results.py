"""Results of `tare.run`, `tare.compare` and `tare.audit`: frozen, with text, HTML and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tare import decoding, units
from tare.cli import console
from tare.experiment.findings.known import Known
from tare.experiment.findings.level_names import unit_of
from tare.render import files
from tare.render.words import sentence, sentences, text
from tare.results.finding import Finding
from tare.results.report import Origin, Report

if TYPE_CHECKING:
    from tare.experiment.findings.judgement import Difference
    from tare.experiment.results import Results
    from tare.experiment.supplies import Supplies
    from tare.features.audit.audit import Audit
    from tare.features.audit.series import SeriesAudit
    from tare.features.measure.run.summary import Summary
    from tare.library.options import StrPath
    from tare.results.verdict import GateAnswer
    from tare.statistics.intervals import Interval
    from tare.statistics.statistic import FloatArray
    from tare.statistics.trust import Trust, Verdict


class Result:
    """What every result has: JSON as the command writes it, a page, and a notebook's display."""

    def _document(self) -> dict[str, Any]:
        raise NotImplementedError

    def _answer(self) -> str:
        raise NotImplementedError

    def _shown(self) -> Report:
        return self.report()

    def report(self) -> Report:
        """Return the report that ``--report`` writes."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return the text that ``--json`` writes."""
        return console.json_text(self._document())

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` writes, as dictionaries, lists and plain values."""
        found: dict[str, Any] = decoding.builtins(self.to_json())
        return found

    def write(self, file: StrPath) -> Path:
        """Write the report as a page: ``.html``, ``.md`` (extra ``images``), or ``.json``.

        Raises
        ------
        tare.errors.StoreError
            If the name has another ending, or the file cannot be written.
        """
        return files.write(self.report(), Path(file))[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._answer()}>"

    def _repr_html_(self) -> str:
        """Return what a notebook displays."""
        from tare.render import notebook

        return notebook.render(self._shown())


def _fixed(values: FloatArray) -> FloatArray:
    """Return a copy that cannot be changed."""
    copy = values.copy()
    copy.flags.writeable = False
    return copy


def _scale(unit: str) -> tuple[float, str]:
    """Return the divisor and the unit of what callers get: seconds instead of nanoseconds."""
    return (1e9, "s") if unit == "ns" else (1.0, unit)


def _bounds(interval: Interval, divisor: float = 1.0) -> tuple[float, float] | None:
    if interval.low is None or interval.high is None:
        return None
    return interval.low / divisor, interval.high / divisor


@dataclass(frozen=True, eq=False, repr=False)
class RunResult(Result):
    """How long a command takes, or another metric of it.

    Attributes
    ----------
    command : str
    results : Results
        All trials and samples as data frames and columns.
    ended : str
        Why the measurement ended: ``finished`` or ``budget``.
    notes : tuple of str
        What else is to be known of the figures.
    """

    command: str
    results: Results
    ended: str
    notes: tuple[str, ...]
    _summary: Summary = field()
    _made: Report = field()
    _supplies: Supplies = field()
    _call: str = field()

    @cached_property
    def _known(self) -> Known:
        found = self._summary.known(self.metric, 0.5)
        assert found is not None, "a run without values raises"
        return found

    @property
    def metric(self) -> str:
        """Name of the metric: ``wall_ns``; the first one where several were asked for."""
        return self._summary.metric

    @property
    def source(self) -> str:
        """What measured the values: ``self``, ``switch`` …."""
        return self._known.source

    @property
    def unit(self) -> str:
        """Unit of values, median and interval: ``s``, ``bytes``, ``hz``, or ``1`` for none."""
        return _scale(unit_of(self.metric))[1]

    @property
    def values(self) -> FloatArray:
        """One value per trial, in order of time; read-only. Infinite: killed at the time limit."""
        values = self._summary.values(self.metric, self.source)
        return _fixed(values / _scale(unit_of(self.metric))[0])

    @property
    def n(self) -> int:
        """Trials behind the median."""
        return self._known.interval.n

    @property
    def failed(self) -> int:
        """Trials that failed."""
        return len(self._summary.trials) - len(self._summary.good)

    @property
    def median(self) -> float:
        """Median of the values; infinite where it is above the time limit."""
        return self._known.interval.estimate / _scale(unit_of(self.metric))[0]

    @property
    def interval(self) -> tuple[float, float] | None:
        """Confidence interval of the median; None where there are too few trials.

        The upper bound is infinite where runs that exceeded the time limit leave it open.
        """
        return _bounds(self._known.interval, _scale(unit_of(self.metric))[0])

    @property
    def killed(self) -> int:
        """Trials that were killed at the time limit: their values are above it."""
        return self._known.killed

    @property
    def confidence(self) -> float:
        """Confidence level of the interval."""
        return self._known.interval.confidence

    @cached_property
    def _trust(self) -> Trust:
        return self._summary.judged(self._known)

    @property
    def verdict(self) -> Verdict:
        """Whether the values may be trusted: ``TRUST``, ``DOUBT`` or ``REJECT``."""
        return self._trust.verdict

    @property
    def extent(self) -> float | None:
        """Longer side of the median's interval, relative to the median; None without one."""
        return self._trust.extent

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the values are doubtful; empty for ``TRUST``."""
        return tuple(sentences(self._trust.reasons))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Answers to all questions that the trials allow."""
        return _findings(self.results, self._supplies)

    def report(self) -> Report:
        """Return the report that ``--report`` writes."""
        return _with_page(self._made, self.results, self.findings, self._supplies, self._call)

    def _document(self) -> dict[str, Any]:
        return files.plain(self._made)

    def _repr_html_(self) -> str:
        """Return what a notebook displays, with the verdict and its reasons."""
        from tare.render import notebook

        return notebook.render(self._shown(), _claimed(self._trust), self._trust.reasons)

    def _answer(self) -> str:
        return f"{self.command}: {self._known}, n = {self.n}, {_claimed(self._trust)}"


def _claimed(found: Trust) -> str:
    """Write a verdict with its extent: "TRUST to ± 0.4 % in this session", "DOUBT"."""
    return f"TRUST {text(found.claim)}" if found.verdict == "TRUST" else found.verdict


@dataclass(frozen=True, eq=False)
class ComparedCommands:
    """A command compared with the reference.

    Attributes
    ----------
    first, second : str
        Names of the reference, and of the command.
    metric, source : str
    unit : str
        Of values and medians.
    values : (array, array)
        Trial values of both from common blocks, in order of time; read-only. Infinite: killed at
        the time limit.
    medians : (float, float)
        Infinite: above the time limit.
    ratio : float
        Of the second to the first; NaN where killed runs leave it open.
    interval : (float, float) or None
        Confidence interval of the ratio; None where there are too few pairs. Bounds of 0 and
        infinity are open because of killed runs.
    confidence : float
    n : int
        Pairs.
    verdict : str
        ``slower``, ``faster``, ``equivalent`` or ``inconclusive``, where a difference is smaller
        than the margin with ``(within 2 %)``; of other metrics ``higher`` or ``lower``.
    conclusive : bool
    gate : str or None
        ``pass``, ``fail`` or ``inconclusive``; None without a gate.
    more_pairs : int or None
        About how many more pairs would settle an inconclusive verdict; None where it is not known.
    answer : str
        The verdict as a sentence.
    """

    first: str
    second: str
    metric: str
    source: str
    unit: str
    values: tuple[FloatArray, FloatArray] = field(repr=False)
    medians: tuple[float, float]
    ratio: float
    interval: tuple[float, float] | None
    confidence: float
    n: int
    verdict: str
    conclusive: bool
    gate: GateAnswer | None
    more_pairs: int | None
    answer: str = field(repr=False)


def compared(d: Difference, gate: float | None) -> ComparedCommands:
    """Return one difference for callers."""
    c = d.comparison
    divisor, unit = _scale(d.basis.unit)
    first, second = d.medians
    return ComparedCommands(
        first=d.first,
        second=d.second,
        metric=d.basis.metric,
        source=d.basis.source,
        unit=unit,
        values=(_fixed(d.first_values / divisor), _fixed(d.second_values / divisor)),
        medians=(first.estimate / divisor, second.estimate / divisor),
        ratio=c.ratio,
        interval=None if c.low is None or c.high is None else (c.low, c.high),
        confidence=c.confidence,
        n=c.n,
        verdict=d.words.of(c.verdict, units.chosen(d.margin)),
        conclusive=c.verdict.conclusive,
        gate=None if gate is None else d.gate(gate),
        more_pairs=c.more_pairs,
        answer=sentence(d.answer),
    )


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult(Result):
    """Which of several commands is slower, and by how much.

    Attributes
    ----------
    comparisons : tuple of ComparedCommands
        Each command after the first, compared with the first.
    gate : str or None
        Answer of the gate for all of them; None without a gate.
    results : Results
        All trials and samples as data frames and columns.
    ended : str
        Why the measurement ended: ``finished`` or ``budget``.
    notes : tuple of str
        What else is to be known of the figures.
    """

    comparisons: tuple[ComparedCommands, ...]
    gate: GateAnswer | None
    results: Results
    ended: str
    notes: tuple[str, ...]
    _made: Report = field()
    _supplies: Supplies = field()
    _call: str = field()

    @property
    def verdict(self) -> str:
        """Verdict on the second command; of several see ``comparisons``."""
        return self.comparisons[0].verdict

    @property
    def ratio(self) -> float:
        """Ratio of the second command to the first."""
        return self.comparisons[0].ratio

    @property
    def interval(self) -> tuple[float, float] | None:
        """Confidence interval of the second command's ratio."""
        return self.comparisons[0].interval

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Answers to all questions that the trials allow."""
        return _findings(self.results, self._supplies)

    def report(self) -> Report:
        """Return the report that ``--report`` writes."""
        return _with_page(self._made, self.results, self.findings, self._supplies, self._call)

    def _shown(self) -> Report:
        return self._made

    def _document(self) -> dict[str, Any]:
        return files.plain(self._made)

    def _answer(self) -> str:
        gate = "" if self.gate is None else f"gate {self.gate}; "
        return gate + "; ".join(text(one.answer) for one in self._made.comparisons)


@dataclass(frozen=True, eq=False)
class AuditedSeries:
    """A series of values, and whether it may be trusted.

    Attributes
    ----------
    name : str
        Levels that distinguish the series from the others.
    key : dict of str to str
        The same as levels by column.
    metric : str
    unit : str or None
        Of values, median and interval; None where the file does not state it.
    values : array, shape (n,)
        One per trial, as the audit uses them; read-only.
    median : float
    interval : (float, float) or None
        Confidence interval of the median; None where there are too few trials.
    confidence : float
    n : int
        Trials.
    verdict : str
        ``TRUST``, ``DOUBT`` or ``REJECT``.
    extent : float or None
        Longer side of the interval, relative to the median; None without an interval.
    reasons : tuple of str
        Why the values are doubtful; empty for ``TRUST``.
    """

    name: str
    key: dict[str, str]
    metric: str
    unit: str | None
    values: FloatArray = field(repr=False)
    median: float
    interval: tuple[float, float] | None
    confidence: float
    n: int
    verdict: Verdict
    extent: float | None
    reasons: tuple[str, ...]


def audited(s: SeriesAudit) -> AuditedSeries:
    """Return one series of an audit for callers."""
    return AuditedSeries(
        name=s.name,
        key=dict(s.key),
        metric=s.series.metric,
        unit=s.series.unit,
        values=_fixed(s.trials.values),
        median=s.median.estimate,
        interval=_bounds(s.median),
        confidence=s.median.confidence,
        n=s.n,
        verdict=s.trust.verdict,
        extent=s.trust.extent,
        reasons=tuple(sentences(s.trust.reasons)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult(Result):
    """Whether the results in files may be trusted.

    Attributes
    ----------
    audit : Audit
        Everything that was found, with the analyses of each series.
    """

    audit: Audit
    _call: str = field()

    @property
    def verdict(self) -> Verdict:
        """Verdict on all series together: ``TRUST``, ``DOUBT`` or ``REJECT``."""
        return self.audit.verdict

    @property
    def extent(self) -> float | None:
        """Widest extent of all series; None where no median has an interval."""
        return self.audit.trust.extent

    @property
    def exit_code(self) -> int:
        """Exit code of the command."""
        return self.audit.exit_code

    @cached_property
    def series(self) -> tuple[AuditedSeries, ...]:
        """The series, in the order of the files."""
        return tuple(map(audited, self.audit.series))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Answers of the audit, in reading order."""
        from tare.features.audit.answers import findings

        return tuple(findings(self.audit))

    def report(self) -> Report:
        """Return the report that ``--report`` writes."""
        from tare.features.audit import report

        return msgspec.structs.replace(report.make(self.audit, self._call), rest="to_dict()")

    def _document(self) -> dict[str, Any]:
        from tare.features.audit import report

        return files.plain(report.make(self.audit, self._call, page=False))

    def _answer(self) -> str:
        from tare.features.audit.messages import headline

        if self.audit.is_of_tasks:
            return f"{self.verdict}; {sentence(headline(self.audit))}"
        counts: Callable[[Verdict], int] = self.audit.count
        verdicts: Sequence[Verdict] = ("TRUST", "DOUBT", "REJECT")
        told = ", ".join(f"{counts(v)} {v}" for v in verdicts if counts(v))
        return f"{_claimed(self.audit.trust)}; {len(self.audit.series):,} series: {told}"


def _findings(results: Results, supplies: Supplies) -> tuple[Finding, ...]:
    from tare.experiment.findings.answers import all_findings

    return tuple(all_findings(results, supplies.findings()))


def _with_page(
    made: Report, results: Results, findings: Sequence[Finding], supplies: Supplies, call: str
) -> Report:
    """Add the page to the report of results whose folder may be gone."""
    from tare.experiment.report import page
    from tare.features.measure.comparison.session import merged

    origin = Origin(commands=(call,), seed=results.experiment.seed)
    drawn = page.make(results, findings, origin, supplies.charts())
    return merged(made, msgspec.structs.replace(drawn, rest="findings"))
