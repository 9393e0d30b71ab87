"""A report as one document: what it says, in order, which any machine can render in any format."""

from __future__ import annotations

from typing import Any

import msgspec

from tare.results.finding import Finding, Table
from tare.results.message import Amount, Ratio, Said, each
from tare.results.verdict import GateAnswer, worst

#: By which a saved report is recognised, and the version of its form.
FORMAT = "tare-report"
VERSION = 1
#: Answers that stand above the picture and the table.
_LEADING = 3
#: Tables that belong to the one of all cells: what its values were measured under.
_BELOW = {"service_load"}


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
    """Whether what is compared passes.

    Attributes
    ----------
    margin : float
        It fails where its ratio is safely above 1 + margin.
    outcome : str
    answer : Said
        The outcome with its evidence.
    """

    margin: float
    outcome: GateAnswer
    answer: Said


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison with a reference, as a CI judges it.

    Attributes
    ----------
    first, second : str
        What is compared, as people named it; the first is the reference.
    metric, source : str
        Of the values.
    verdict : str
        ``slower (within 2 %)``.
    conclusive : bool
    answer : Said
        The verdict with its evidence.
    ratio : Ratio
    medians : (Amount, Amount)
        Of the first and of the second.
    n : int
        Pairs, or sessions, that it rests on.
    paired : bool
        Whether it rests on pairs.
    counted : Said
        How many, and how they were analysed.
    evidence : tuple of Said
        Besides: the size of the effect, the spreads.
    method : Said
    settle : Said or None
        What would settle what is inconclusive, here or for the gate.
    gate : Gate or None
        None: nobody asked for one.
    failing : str
        Why a gate fails where it does: ``slower``, or ``failed`` where the program itself does.
    seconds : float
        What measuring it took.
    """

    first: str
    second: str
    metric: str
    source: str
    verdict: str
    conclusive: bool
    answer: Said
    ratio: Ratio
    medians: tuple[Amount, Amount]
    n: int
    paired: bool
    counted: Said
    evidence: tuple[Said, ...]
    method: Said
    settle: Said | None
    gate: Gate | None
    failing: str
    seconds: float

    @property
    def outcome(self) -> GateAnswer:
        """What a CI makes of it: without a gate nothing fails."""
        if self.gate is not None:
            return self.gate.outcome
        return "pass" if self.conclusive else "inconclusive"


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that is compared with nothing, since every trial of it failed.

    Attributes
    ----------
    first, second : str
        The reference, and the candidate.
    gate : Gate
        What the gate answers because of it.
    """

    first: str
    second: str
    gate: Gate


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

    commands: tuple[str, ...]
    versions: tuple[str, ...]
    digests: tuple[tuple[str, str], ...] = ()
    seed: int | None = None
    file: str | None = None
    title: str = "How to measure the same again"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report.

    Attributes
    ----------
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
    compared : tuple of Compared
        What a CI judges; empty where nothing was asked to be compared.
    lost : tuple of Lost
        Candidates that a CI judges without a comparison.
    overview : tuple of Figure
        Charts of all cells that no single question owns, below the answer.
    cells : Table or None
        All cells, a row each, below that.
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

    format: str = FORMAT
    version: int = VERSION
    name: str
    question: Said
    answers: tuple[Said, ...]
    strip: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    origin: Origin
    lead: str | None = None
    caveats: tuple[Said, ...] = ()
    missing: tuple[Said, ...] = ()
    failed: tuple[Said, ...] = ()
    notes: tuple[Said, ...] = ()
    compared: tuple[Compared, ...] = ()
    lost: tuple[Lost, ...] = ()
    overview: tuple[Figure, ...] = ()
    cells: Table | None = None
    stops: Table | None = None
    doubts: tuple[Said, ...] = ()
    machine: tuple[Table, ...] = ()
    doubtful: str = "Failed or doubtful"
    calm: str = "No trial failed, and nothing was doubtful."
    rest: str = "tare export DIR --table findings --json -"
    badges: bool = True
    unfolded: int = 14

    @property
    def figures(self) -> list[Figure]:
        """Every chart of the report, in order."""
        return [*self.overview, *(figure for one in self.sections for figure in one.figures)]

    @property
    def top(self) -> tuple[Figure, ...]:
        """The picture of the answer: of all cells, or the first that there is."""
        return self.overview or tuple(self.figures[:1])

    @property
    def below(self) -> tuple[Table, ...]:
        """Tables that stand below that of all cells, where there is one, not in their section."""
        if self.cells is None:
            return ()
        tables = (table for one in self.sections for table in one.finding.tables)
        return tuple(table for table in tables if table.id in _BELOW)

    @property
    def gate(self) -> Gate | None:
        """The gate's answer for all candidates: the worst; None without a gate."""
        gates = [one.gate for one in self.lost]
        gates += [one.gate for one in self.compared if one.gate is not None]
        if not gates:
            return None
        answer = worst([one.outcome for one in gates])
        return next(one for one in gates if one.outcome == answer)

    @property
    def led(self) -> Section | None:
        """The section whose answer is the first."""
        return next((one for one in self.sections if one.finding.name == self.lead), None)

    @property
    def leading(self) -> tuple[Said, ...]:
        """The answers that stand above everything else, the first first."""
        return self.answers[:_LEADING]

    @property
    def also(self) -> tuple[Said, ...]:
        """What is said after these answers and stands at the head of no question."""
        findings = [one.finding for one in self.sections]
        heads = [said for one in findings for said in one.head]
        heads += [line.brief for one in findings for line in one.waiting]
        return (*(said for said in self.answers[_LEADING:] if said not in heads), *self.notes)

    @property
    def inconclusive(self) -> list[Finding]:
        """What more trials, or nothing, would settle."""
        findings = (section.finding for section in self.sections)
        return [one for one in findings if one.verdict in ("inconclusive", "partly")]
