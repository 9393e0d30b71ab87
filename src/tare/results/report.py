"""The result of a command as one document, which any machine can render in any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from tare.results.finding import Finding, Table
from tare.results.message import Amount, Chosen, Message, Open, Ratio, Said, each, message
from tare.results.verdict import GateAnswer, word_at_gate
from tare.units import chosen
from tare.version import __version__

#: By which a saved report is recognised, and the version of its form.
FORMAT = "tare-report"
VERSION = 2
#: Answers that stand above the picture and the table.
_LEADING = 3
#: Tables that belong to the one of all cells: what its values were measured under.
_BELOW = {"service_load"}


#: How a terminal shows a statement.
Emphasis = Literal["strong", "quiet"]


class Entry(msgspec.Struct, frozen=True):
    """A labelled statement, such as "Time: 41.2 ms".

    Attributes
    ----------
    label : str
        Empty: continues the entry before it.
    said : Said
    emphasis : {"strong", "quiet"} or None
    picture : tuple of str
        Lines of characters, drawn below it.
    """

    label: str
    said: Said
    emphasis: Emphasis | None = None
    picture: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        label: str,
        said: Said,
        emphasis: Emphasis | None = None,
        picture: tuple[str, ...] = (),
    ) -> Entry:
        """Return an entry that is a sentence."""
        return cls(label, message("{said | sentence}", said=said), emphasis, picture)

    @classmethod
    def each(
        cls, label: str, some: Iterable[Said], emphasis: Emphasis | None = None
    ) -> Iterator[Entry]:
        """Yield sentences, of which the first has the label."""
        for i, said in enumerate(some):
            yield cls.of("" if i else label, said, emphasis)


class NextStep(msgspec.Struct, frozen=True):
    """A command that is worth typing after a result.

    Attributes
    ----------
    command : str
        A line of a shell that runs as it stands.
    brings : Said or None
        What it brings; None: the command says it.
    """

    command: str
    brings: Said | None = None

    @property
    def said(self) -> Message:
        """The command, and in parentheses what it brings."""
        return message(
            "{command}{% if brings %}   ({brings}){% endif %}",
            command=self.command,
            brings=self.brings,
        )


class Failure(msgspec.Struct, frozen=True):
    """Why a command failed.

    Attributes
    ----------
    type : str
        Name of the error's class; ``Usage``, ``Fault`` where there is none of tare's.
    exit_code : int
        Of the command.
    message, hint : str
        What happened, and what to type next, as on the terminal.
    """

    type: str
    exit_code: int
    message: str
    hint: str | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What the JSON of every command begins with, also where it failed.

    Attributes
    ----------
    tare : str
        Version that wrote it.
    command : str
        As typed: ``run``, ``compare``, ``ci``; empty for what is written by another way.
    exit_code : int
        Of the command.
    error : Failure or None
        What ended it.
    """

    format: str = FORMAT
    version: int = VERSION
    tare: str = __version__
    command: str = ""
    exit_code: int = 0
    error: Failure | None = None


class Figure(msgspec.Struct, frozen=True):
    """A chart with its text alternative.

    Attributes
    ----------
    spec : dict
        Vega-Lite with its data, and colours by name.
    alternative : str
        The same in words, for whoever cannot see it.
    """

    name: str
    title: str
    spec: dict[str, Any]
    alternative: str


class Section(msgspec.Struct, frozen=True):
    """A question, its answer and tables, and the charts that show it."""

    finding: Finding
    figures: tuple[Figure, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        question: Said,
        answer: Iterable[Said],
        figures: Iterable[Figure | None] = (),
        tables: Iterable[Table] = (),
    ) -> Section:
        """Return a section that measures something, and judges nothing."""
        finding = Finding(
            name=name, question=question, answer=tuple(answer), verdict="none", tables=tuple(tables)
        )
        return cls(finding, tuple(figure for figure in figures if figure is not None))

    @property
    def anchor(self) -> str:
        """Where a link leads."""
        return self.finding.name.replace(" ", "-")

    @property
    def details(self) -> tuple[Said, ...]:
        """Sentences of the answer that the head of the page does not have.

        The answer's first sentence is repeated where others follow, which lean on it. All are
        repeated where the section would otherwise be empty.
        """
        said = each(self.finding.answer)
        others = tuple(one for one in said if one not in self.finding.head)
        if others:
            return others if others[0] == said[0] else (said[0], *others)
        return () if self.finding.tables or self.figures else said


class Gate(msgspec.Struct, frozen=True):
    """Whether what is compared passes: the answer for the worst candidate.

    Attributes
    ----------
    margin : float
        It fails where a ratio is safely above 1 + margin.
    answer : str
    reason : Said
        The evidence.
    of : int
        Candidates.
    """

    margin: float
    answer: GateAnswer
    reason: Said
    of: int = 1

    @property
    def word(self) -> str:
        """The answer as a verb: "passes"."""
        return {"pass": "passes", "fail": "fails"}.get(self.answer, "is inconclusive")

    @property
    def said(self) -> Message:
        """The answer with its evidence, as it follows "Gate"."""
        return message(
            "{margin} {word}: {evidence}",
            margin=Chosen(self.margin),
            word=self.word,
            evidence=self.evidence,
        )

    @property
    def limit(self) -> Message:
        """The margin as it is written: "5 %"."""
        return message("{margin}", margin=Chosen(self.margin))

    @property
    def evidence(self) -> Message:
        """The reason, and that of how many candidates it is the worst's."""
        return message(
            "{reason}{% if of > 1 %} (the worst of {of}){% endif %}", reason=self.reason, of=self.of
        )


class Median(msgspec.Struct, frozen=True, kw_only=True):
    """The median of one side of a comparison.

    Attributes
    ----------
    name : str
    median : float or None
        None: above the limit.
    median_ci : (float or None, float or None)
    n : int
        Trials.
    above : float or None
        Time limit that some values exceed; None: there are none.
    """

    name: str
    median: float | None
    median_ci: tuple[float | None, float | None]
    n: int
    above: float | None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison with a reference, for a CI and for scripts.

    Attributes
    ----------
    a, b : str
        What is compared, as people named it; the first is the reference.
    metric, source, unit : str
        Of the values.
    verdict : str
        ``slower``, ``inconclusive`` …
    within_margin : bool
        Whether any difference is shown to be smaller than ``margin``.
    ratio : float or None
        Of b to a; None: not known.
    ratio_ci : (float or None, float or None)
        Its interval; a bound of None is open, or there is none.
    ratio_open : {"low", "high", "both"} or None
        Bounds that values above a limit leave open.
    confidence, margin : float
        Of the interval; relative difference that matters.
    method : str
        How the interval came about.
    gate : str or None
        Answer of the gate to this comparison, and its evidence in ``gate_reason``.
    gate_on, gate_ratio, gate_ratio_ci, gate_ratio_open
        Statistic that a gate judges, and its ratio with bounds, as above.
    n : int
        Pairs, or sessions, that it rests on.
    paired : bool
        Whether it rests on pairs.
    counted : Said
        How many, and how they were analysed.
    more_pairs, more_s : int, float or None
        Pairs and seconds that would settle it; None: none would, or not known.
    settle : Said or None
        The same in words.
    answer : Said
        The verdict with its evidence.
    evidence : tuple of Said
        Besides: the size of the effect, the spreads.
    medians : (Median, Median)
    failing : str
        Why a gate fails where it does: ``slower``, or ``failed`` where the program itself does.
    seconds : float
        What measuring it took.
    extremes, spread, trials, written_bytes, looks, values
        For scripts: see docs/reference/json.md.
    """

    a: str
    b: str
    metric: str
    source: str
    unit: str
    verdict: str
    within_margin: bool
    ratio: float | None
    ratio_ci: tuple[float | None, float | None]
    ratio_open: Open | None = None
    confidence: float
    margin: float
    method: str
    gate: GateAnswer | None
    gate_on: str
    gate_ratio: float | None = None
    gate_ratio_ci: tuple[float | None, float | None]
    gate_ratio_open: Open | None = None
    n: int
    paired: bool
    counted: Said
    more_pairs: int | None
    more_s: float | None
    settle: Said | None
    cliffs_delta: float
    median_ratio: float | None
    medians: tuple[Median, Median]
    seconds: float
    failing: str
    answer: Said
    gate_reason: Said | None
    evidence: tuple[Said, ...]
    extremes: dict[str, Any] | None
    spread: dict[str, Any] | None
    trials: tuple[dict[str, Any], ...] | None
    written_bytes: tuple[float | None, float | None]
    looks: tuple[dict[str, Any], ...]
    values: tuple[tuple[float | None, ...], tuple[float | None, ...]]

    @property
    def conclusive(self) -> bool:
        """Whether there is a verdict."""
        return self.verdict != "inconclusive"

    @property
    def word(self) -> str:
        """The verdict as it is written: "slower (within 2 %)"."""
        if not self.conclusive:
            return word_at_gate(self.gate, failed=self.failing == "failed") or self.verdict
        return (
            f"{self.verdict} (within {chosen(self.margin)})" if self.within_margin else self.verdict
        )

    @property
    def estimate(self) -> Ratio:
        """The ratio with its interval."""
        return Ratio(self.ratio, *self.ratio_ci, self.ratio_open or msgspec.UNSET)

    @property
    def gated(self) -> Ratio | None:
        """The ratio that a gate judges, where that is not the pairs' median."""
        if self.gate is None or self.gate_on == "median":
            return None
        return Ratio(self.gate_ratio, *self.gate_ratio_ci, self.gate_ratio_open or msgspec.UNSET)

    @property
    def amounts(self) -> tuple[Amount, Amount]:
        """The medians without their intervals."""
        first, second = (
            Amount(one.median, self.unit, above=msgspec.UNSET if one.above is None else one.above)
            for one in self.medians
        )
        return first, second

    @property
    def outcome(self) -> GateAnswer:
        """What a CI makes of it: without a gate nothing fails."""
        if self.gate is not None:
            return self.gate
        return "pass" if self.conclusive else "inconclusive"


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that is compared with nothing, since every trial of it failed.

    Attributes
    ----------
    a, b : str
        The reference, and the candidate.
    trials, failed, killed : int
        Trials of the candidate; how many failed, and how many were killed at a limit.
    above_s : float or None
        The limit, in seconds.
    gate : str
        What the gate answers because of it, with the evidence in ``gate_reason``.
    """

    a: str
    b: str
    trials: int
    failed: int
    killed: int
    above_s: float | None
    gate: GateAnswer
    gate_reason: Said


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The files and the programs behind a report.

    Attributes
    ----------
    commands : tuple of str
        To type, in order, for the same again.
    versions : tuple of str
        Versions of tare that measured.
    digests : tuple of (str, str)
        What is identified, and its SHA-256.
    seed : int or None
        None: nothing was drawn by lot that could be drawn again.
    file : str or None
        The experiment file; None: there is none.
    title : str
        What the commands are there for.
    """

    commands: tuple[str, ...] = ()
    versions: tuple[str, ...] = (__version__,)
    digests: tuple[tuple[str, str], ...] = ()
    seed: int | None = None
    file: str | None = None
    title: str = "How to measure the same again"


class Report(Envelope, frozen=True, kw_only=True):
    """The result of a command: its figures, what they mean, and what to type next.

    Attributes
    ----------
    gate : Gate or None
        None: no gate was requested.
    comparisons : tuple of Compared
        What a CI judges; empty where nothing was asked to be compared.
    lost : tuple of Lost
        Candidates that a CI judges without a comparison.
    figures : dict
        Numbers for scripts, which JSON has at the top level.
    entries : tuple of Entry
        The result in a terminal, the answer first; on a page where there are no sections.
    next_steps : tuple of NextStep
        What to type next, the most useful first.
    question : str
        Its title.
    answers : tuple of Said
        The answer first, then what else matters, in order of importance.
    strip : tuple of (str, str)
        Size and place of what was measured, in a few words each.
    lead : str or None
        Name of the finding whose verdict stands beside the answer.
    caveats : tuple of Said
        What weakens everything below; stands above it.
    missing : tuple of Said
        What a budget ended too early, or was stopped as it kept failing; stands above the answer.
    failed : tuple of Said
        What failed besides, and why; stands below the answer.
    notes : tuple of Said
        What holds for all answers, and what was not measured.
    overview : tuple of Figure
        Charts of all cells that no single question owns, below the answer.
    cells : Table or None
        All cells, a row each, below that.
    shows_cells : bool
        Whether a terminal has that table, too: of two commands, the entries say it.
    further : tuple of Table
        Tables below that of all cells, in place of the same ones in their sections.
    stops : Table or None
        How far each cell got; None for what tare did not measure itself.
    doubts : tuple of Said
        What is doubtful, below ``doubtful``; where nothing is, ``calm`` is said.
    machine : tuple of Table
        Its facts.
    rest : str
        Command that shows the rows of a table that are left out here.
    badges : bool
        Whether questions have verdicts: nobody asks a machine for yes or no.
    unfolded : int
        Rows up to which the first table of a section is shown as a whole.
    """

    # Readers of files recognise trials, which are figures, near the beginning.
    gate: Gate | None = None
    comparisons: tuple[Compared, ...] = ()
    lost: tuple[Lost, ...] = ()
    figures: dict[str, Any] = {}
    name: str
    question: Said
    answers: tuple[Said, ...] = ()
    entries: tuple[Entry, ...] = ()
    next_steps: tuple[NextStep, ...] = ()
    strip: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    origin: Origin = Origin()
    lead: str | None = None
    caveats: tuple[Said, ...] = ()
    missing: tuple[Said, ...] = ()
    failed: tuple[Said, ...] = ()
    notes: tuple[Said, ...] = ()
    overview: tuple[Figure, ...] = ()
    cells: Table | None = None
    shows_cells: bool = True
    further: tuple[Table, ...] = ()
    stops: Table | None = None
    doubts: tuple[Said, ...] = ()
    machine: tuple[Table, ...] = ()
    doubtful: str = "Failed or doubtful"
    calm: str = "No trial failed, and nothing was doubtful."
    rest: str = "tare export DIR --table findings --json -"
    badges: bool = True
    unfolded: int = 14

    @property
    def concludes(self) -> bool:
        """Whether it has anything to show besides an error."""
        return bool(self.entries or self.answers or self.sections or self.cells)

    @property
    def unanswered(self) -> tuple[Entry, ...]:
        """Entries, where no sections of a page say the same."""
        return () if self.sections else self.entries

    @property
    def is_labelled(self) -> bool:
        """Whether a terminal shows entries; otherwise it shows the answers of the page."""
        return bool(self.entries) or not (self.answers or self.sections)

    @property
    def charts(self) -> list[Figure]:
        """Every chart of the report, in order."""
        return [*self.overview, *(figure for one in self.sections for figure in one.figures)]

    @property
    def top(self) -> tuple[Figure, ...]:
        """The picture of the answer: of all cells, or the first that there is."""
        return self.overview or tuple(self.charts[:1])

    @property
    def table(self) -> Table | None:
        """The table of all cells, where there are several: a single one is in the answer."""
        return self.cells if self.cells is not None and len(self.cells.rows) > 1 else None

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that a short form of it has: that of all cells, else the further ones."""
        return self.further if self.cells is None else (self.cells,)

    @property
    def below(self) -> tuple[Table, ...]:
        """Tables that stand below that of all cells, where there is one, not in their section."""
        if self.table is None or not self.sections:
            return self.further
        tables = (table for one in self.sections for table in one.finding.tables)
        return tuple(table for table in tables if table.id in _BELOW) or self.further

    @property
    def led(self) -> Section | None:
        """The section whose answer is the first."""
        return next((one for one in self.sections if one.finding.name == self.lead), None)

    @property
    def leading(self) -> tuple[Said, ...]:
        """The answers that stand above everything else, the first first."""
        return self._ungated[:_LEADING]

    @property
    def others(self) -> tuple[Said, ...]:
        """The answers that follow them."""
        return self._ungated[_LEADING:]

    @property
    def _ungated(self) -> tuple[Said, ...]:
        # The line of a gate, which stands first, has its reason already.
        reason = None if self.gate is None else self.gate.reason
        return tuple(one for one in self.answers if one != reason)

    @property
    def also(self) -> tuple[Said, ...]:
        """What is said after these answers and stands at the head of no question."""
        findings = [one.finding for one in self.sections]
        heads = [said for one in findings for said in one.head]
        heads += [line.brief for one in findings for line in one.waiting]
        notes = () if self.unanswered else self.notes
        return (*(said for said in self.others if said not in heads), *notes)

    @property
    def inconclusive(self) -> list[Finding]:
        """What more trials, or nothing, would settle."""
        findings = (section.finding for section in self.sections)
        return [one for one in findings if one.verdict in ("inconclusive", "partly")]
