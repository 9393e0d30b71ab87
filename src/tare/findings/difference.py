"""What a sequential comparison says: each level beside the reference, with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.findings import emulation
from tare.findings.cells import cells_of
from tare.findings.evidence import cell_table, verdict_cells
from tare.findings.finding import FindingUnit, uncompared
from tare.findings.judgement import (
    Difference,
    GateAnswer,
    differences,
    earlier_ends,
    worst,
)
from tare.findings.pairing import ERROR
from tare.frames import Results
from tare.harmless import on_one_line
from tare.registry import Description
from tare.render.words import listing, sentence, text
from tare.results.finding import Answer, Column, Estimate, Finding, Table
from tare.results.message import Message, Said
from tare.units import chosen, counted

_DESCRIPTION = Description(
    name="difference",
    title="Each level of the compared factor beside the reference, judged pair by pair",
    question="Is it different?",
    source="Lan and DeMets 1983; Hodges and Lehmann 1963",
)


def find(results: Results) -> Finding | None:
    """Tell the verdict of every comparison that the experiment asked for."""
    if results.experiment.stopping.compare is None:
        return None
    found = differences(results)
    if isinstance(found, Message):
        return uncompared(_DESCRIPTION, found)
    cells = cells_of(results.of_levels, found[0].basis)
    gate = results.experiment.stopping.gate
    return Finding(
        name=_DESCRIPTION.name,
        question=question([d.second for d in found], found[0].first, gate, found[0].words.higher),
        answer=" ".join(_told(d, gate) for d in found),
        verdict=_verdict(found, gate),
        summary=" ".join(_sentence(d, gate) for d in found),
        basis=str(found[0].basis),
        estimates=tuple(_estimate(d) for d in found),
        tables=(
            _table(found),
            *(_looks(d) for d in found if d.looks),
            cell_table(cells.all, cells.varied, cells.basis),
        ),
        caveats=_caveats(results),
        charts=("difference",),
    )


def question(names: Sequence[str], reference: str, gate: float | None, more: str) -> str:
    """Ask whether there is a difference; with a gate, whether it is too large."""
    names, reference = [on_one_line(name) for name in names], on_one_line(reference)
    if gate is None:
        return f"Is {listing(names, 'or')} different from {reference}?"
    return f"Is {listing(names, 'or')} {more} than {reference} by {chosen(gate)} or more?"


def _verdict(found: Sequence[Difference], gate: float | None) -> Answer:
    if gate is not None:
        answers: dict[GateAnswer, Answer] = {
            "pass": "no",
            "fail": "yes",
            "inconclusive": "inconclusive",
        }
        return answers[worst([d.gate(gate) for d in found])]
    if any(d.comparison.verdict.differs for d in found):
        return "yes"
    return "no" if all(d.comparison.verdict.conclusive for d in found) else "inconclusive"


def _sentence(d: Difference, gate: float | None) -> str:
    told = text(d.answer if gate is None else d.gate_answer(gate))
    waiting = gate is None or d.gate(gate) == "inconclusive"
    further = f"; {text(d.further)}" if d.further and waiting else ""
    # What begins with a command's name stays as the command is written.
    named = gate is None and d.comparison.verdict.conclusive
    begin = told[:1] if named else told[:1].upper()
    return f"{begin}{told[1:]}{further}."


def _told(d: Difference, gate: float | None) -> str:
    more = f" {sentence(d.medians_apart)}" if d.medians_apart else ""
    return (
        f"{_sentence(d, gate)} It rests on {text(d.counted)}. Spread: {text(d.steadiness)}.{more}"
    )


def _estimate(d: Difference) -> Estimate:
    c = d.comparison
    return Estimate(
        name="ratio",
        levels=dict(d.levels),
        value=c.ratio,
        unit="1",
        low=c.low,
        high=c.high,
        confidence=c.confidence,
        method=d.method,
        n=c.n,
        trials=d.trials,
    )


def _table(found: Sequence[Difference]) -> Table:
    u = found[0].basis.unit
    columns = (
        Column(key="second", title="compared"),
        Column(key="first", title="with"),
        Column(key="n", title="pairs"),
        Column(key="first_median", title="median of the reference", unit=u),
        Column(key="second_median", title="median", unit=u),
        Column(key="ratio", title="ratio", unit="1"),
        Column(key="low", title="from", unit="1"),
        Column(key="high", title="to", unit="1"),
        Column(key="median_ratio", title="ratio of medians", unit="1"),
        Column(key="cliffs_delta", title="Cliff's delta", unit="1"),
        Column(key="verdict", title="verdict"),
        Column(key="more", title="further pairs"),
    )
    margin = chosen(found[0].margin)
    return Table(
        title=f"vs. {found[0].first}, {found[0].basis}",
        columns=columns,
        rows=tuple(_row(d) for d in found),
        note=f"{found[0].method[:1].upper()}{found[0].method[1:]}, each at "
        f"{chosen(found[0].comparison.confidence)}; “equivalent”: within {margin}. Cliff's delta: "
        "how often a value of the compared is larger, minus how often it is smaller.",
    )


def _row(d: Difference) -> dict[str, Any]:
    c, (first, second) = d.comparison, d.medians
    return {
        "second": d.second,
        "first": d.first,
        "n": c.n,
        "first_median": first.estimate,
        "second_median": second.estimate,
        "ratio": c.ratio,
        "low": c.low,
        "high": c.high,
        "median_ratio": c.median_ratio,
        "cliffs_delta": c.cliffs_delta,
        **verdict_cells(c.verdict, d.words, chosen(d.margin)),
        "more": c.more_pairs,
    }


def _looks(d: Difference) -> Table:
    return Table(
        title=f"How the interval of {d.second} narrowed",
        columns=(
            Column(key="n", title="pairs"),
            Column(key="level", title="error that the look could take", unit="1"),
            Column(key="low", title="from", unit="1"),
            Column(key="high", title="to", unit="1"),
        ),
        rows=tuple({"n": k.n, "level": k.level, "low": k.low, "high": k.high} for k in d.looks),
        note="All looks together alarm in at most "
        f"{chosen(1 - d.comparison.confidence)} where nothing differs.",
    )


def _caveats(results: Results) -> tuple[Said, ...]:
    apart = emulation.note(results) if results.experiment.stopping.compare == "platform" else None
    told: list[Said] = [apart] if apart else []
    ends = earlier_ends(results)
    if ends and results.experiment.stopping.trials is None:
        told.append(
            f"The comparison was judged at the end of {counted(ends, 'earlier session')} as well, "
            f"so that the chance of any false alarm is not {chosen(ERROR)} but may reach "
            f"{chosen(ERROR * (1 + ends))}."
        )
    return tuple(told)


UNIT = FindingUnit(description=_DESCRIPTION, order=0, find=find, of_sweeps=True, over_sessions=True)
