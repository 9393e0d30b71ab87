"""Comparisons as a report keeps them for a CI."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tare
from tare.experiment.findings import caveats, sessions, trusted
from tare.experiment.findings.difference import question
from tare.experiment.findings.disturbance import disturbance, said
from tare.experiment.findings.failures import by_level
from tare.experiment.findings.judgement import Difference, judged_before, lost
from tare.experiment.findings.known import amount
from tare.experiment.results import Results
from tare.results.message import Change, Chosen, Message, message
from tare.results.report import Compared, Gate, Lost, Origin, Report
from tare.units import chosen

#: What is known of the machine, in a word each.
_FACTS = ("cpu", "cpus", "kernel", "system")


def document(results: Results, found: Sequence[Difference], gate: float | None) -> Report:
    """Lay out what a CI shows of comparisons, without charts and other questions."""
    names, words = [d.second for d in found], found[0].words
    trust = trusted.note(results)
    facts = ((name, results.fact(name)) for name in _FACTS)
    return Report(
        name=results.experiment.name,
        question=question(names, found[0].first, gate, words.higher),
        answers=tuple(d.answer for d in found),
        strip=tuple((name, str(value)) for name, value in facts if value is not None),
        sections=(),
        origin=Origin(commands=(), versions=(tare.__version__,), seed=results.experiment.seed),
        caveats=caveats_of(results, found),
        failed=tuple(by_level(results)),
        notes=(*([trust] if trust else []), said(disturbance(results))),
        compared=make(found, gate),
        lost=lost_of(results),
    )


def lost_of(results: Results) -> tuple[Lost, ...]:
    """Lay out the candidates of which every trial failed; empty without a gate."""
    gate = results.experiment.stopping.gate
    if gate is None:
        return ()
    return tuple(
        Lost(
            first=one.failures.reference.name,
            second=one.failures.candidate.name,
            gate=Gate(gate, one.gate, one.answer),
        )
        for one in lost(results)
    )


def caveats_of(results: Results, found: Sequence[Difference]) -> tuple[Message, ...]:
    """Return what weakens comparisons: machines that changed, earlier verdicts, unequal output."""
    changed = caveats.sentences(sessions.caveats(results), results.levels_of)
    before = judged_before(results)
    written = (d.written_apart for d in found)
    return (*changed, *([before] if before else []), *(one for one in written if one))


def make(found: Sequence[Difference], gate: float | None) -> tuple[Compared, ...]:
    """Lay comparisons out, each with the answer to a gate where there is one."""
    return tuple(_compared(d, gate) for d in found)


def _compared(d: Difference, gate: float | None) -> Compared:
    c, unit = d.comparison, d.basis.unit
    first, second = (amount(unit, m) for m in d.medians)
    answered = None if gate is None else Gate(gate, d.gate(gate), d.gate_answer(gate))
    return Compared(
        first=d.first,
        second=d.second,
        metric=d.basis.metric,
        source=d.basis.source,
        verdict=d.words.of(c.verdict, chosen(d.margin)),
        conclusive=c.verdict.conclusive,
        answer=d.answer,
        ratio=d.estimate,
        medians=(first, second),
        n=c.n,
        paired=d.paired,
        counted=d.counted,
        evidence=(
            *([d.each_pair] if d.each_pair else []),
            message(
                "compared.effect",
                delta=round(c.cliffs_delta, 2),
                medians=Change(c.median_ratio) if 0 < c.median_ratio < math.inf else None,
            ),
            d.steadiness,
            *([both] if d.failures and (both := d.failures.two_sided) else []),
        ),
        method=message(
            "compared.method",
            method=d.method,
            confidence=Chosen(c.confidence),
            margin=Chosen(d.margin),
        ),
        settle=d.settle(gate),
        gate=answered,
        failing="failed" if _crashes(d) else d.words.higher,
        seconds=d.seconds * c.n,
    )


def _crashes(d: Difference) -> bool:
    return d.failures is not None and d.failures.gate == "fail"
