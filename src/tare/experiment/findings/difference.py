"""What a sequential comparison shows: each level vs. the reference, with its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tare.experiment.findings.cells import cells_of
from tare.experiment.findings.evidence import (
    cell_table,
    comparison_estimate,
    ratio_cells,
    verdict_cells,
)
from tare.experiment.findings.finding import (
    FindingUnit,
    Judged,
    answered,
    first_of,
    judged,
    uncompared,
)
from tare.experiment.findings.judgement import (
    Difference,
    differences,
    emulated_apart,
    gate_columns,
    is_inconclusive,
    judged_before,
    lost,
)
from tare.experiment.findings.known import amount
from tare.experiment.results import Results
from tare.experiment.specification import Stopping
from tare.registry import Description
from tare.render.escaping import on_one_line
from tare.results.finding import Answer, Column, Finding, Table, columns_of, interval_columns
from tare.results.message import Chosen, Message, message
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
    GateAnswer,
    worst,
)
from tare.units import chosen

_DESCRIPTION = Description(
    name="difference",
    title="Each level of the compared factor vs. the reference, by pairs",
    question="Is it different?",
    source="Lan and DeMets 1983; Hodges and Lehmann 1963",
)


def find(results: Results) -> Finding | None:
    """Give the verdict of every comparison that the experiment asks for."""
    if results.experiment.stopping.compare is None:
        return None
    found = differences(results)
    if isinstance(found, Message):
        return uncompared(_DESCRIPTION, found)
    cells = cells_of(results.of_levels, found[0].basis)
    is_open = is_inconclusive(results)
    gate = results.experiment.stopping.gate
    without = tuple(one.answer for one in lost(results))
    return answered(
        _DESCRIPTION,
        closed=gate is not None,
        question=question(
            [d.second for d in found], found[0].first, gate, found[0].words.higher, found[0].gate_on
        ),
        answer=(*without, *(one for d in found for one in _answer(d, gate))),
        **_verdict(found, gate, [one.gate for one in lost(results)]),
        settle=next(filter(None, (d.settle(gate) for d in found if is_open)), None),
        summary=(*without, *(_judged(d, gate) for d in found)),
        basis=str(found[0].basis),
        estimates=tuple(
            comparison_estimate("ratio", d.comparison, d.levels, d.method, d.trials) for d in found
        ),
        tables=(
            _table(found, results.experiment.stopping),
            *(_analyses(d) for d in found if d.looks),
            cell_table(cells.all, cells.varied, cells.basis),
        ),
        caveats=(emulated_apart(results), judged_before(results)),
        charts=("difference",),
    )


def question(
    names: Sequence[str], reference: str, gate: float | None, more: str, gate_on: str | None
) -> Message:
    """Ask whether there is a difference; with a gate, whether it is passed."""
    levels, reference = [on_one_line(name) for name in names], on_one_line(reference)
    if gate is None:
        return message(
            "Is {levels | listing('or')} different from {reference}?",
            levels=levels,
            reference=reference,
        )
    return message(
        "{% if levels | length > 1 %}Do{% else %}Does{% endif %} {levels | listing} pass the "
        "gate: at most {gate} {more} than {reference}{% if on != 'median' %} ({on}){% endif %}?",
        levels=levels,
        more=more,
        reference=reference,
        gate=Chosen(gate),
        on=gate_on or "median",
    )


def _verdict(
    found: Sequence[Difference], gate: float | None, without: Sequence[GateAnswer]
) -> Judged:
    """Answer a gate by yes or no, and otherwise by the verdict of the largest consequence.

    ``without``: what a gate answers because of candidates without a comparison.
    """
    if gate is not None:
        answers: dict[GateAnswer, Answer] = {
            "pass": "yes",
            "fail": "no",
            "inconclusive": "inconclusive",
        }
        return Judged(
            verdict=answers[worst([*(d.gate(gate) for d in found), *without])], within=None
        )
    order = (HIGHER, LOWER, HIGHER_WITHIN, LOWER_WITHIN, INCONCLUSIVE, EQUIVALENT)
    verdict = first_of(order, (d.comparison.verdict for d in found))
    return judged(verdict, found[0].words, Chosen(found[0].margin))


def _judged(d: Difference, gate: float | None) -> Message:
    """Give the answer of a gate; without one the verdict, and what would settle it."""
    if gate is not None:
        return d.gate_answer(gate)
    more = d.settle(gate)
    return d.answer if more is None else message("{answer}; {more}", answer=d.answer, more=more)


def _answer(d: Difference, gate: float | None) -> Iterator[Message]:
    yield _judged(d, gate)
    yield message("{second} vs. {first}: {of}", second=d.second, first=d.first, of=d.counted)
    yield message(
        "spread of {second} vs. {first}: {spread}",
        second=d.second,
        first=d.first,
        spread=d.steadiness,
    )
    if d.medians_apart:
        yield d.medians_apart


def _table(found: Sequence[Difference], stopping: Stopping) -> Table:
    u = found[0].basis.unit
    columns = (
        *columns_of(second="compared", first="reference", n="pairs"),
        *columns_of(u, first_median="median of the reference", second_median="median"),
        *interval_columns("ratio", "difference", "ratio"),
        *columns_of("ratio", median_ratio="of medians"),
        *columns_of("1", cliffs_delta="Cliff's delta"),
        *(gate_columns(stopping)),
        *columns_of(verdict="verdict", more="more pairs"),
    )
    d = found[0]
    return Table(
        title=message("Relative to {reference}, {basis}", reference=d.first, basis=str(d.basis)),
        columns=columns,
        rows=tuple(_row(d, stopping.gate) for d in found),
        note=message(
            "{method}, each at {confidence}. “Equivalent”: within {margin}. Cliff's delta: "
            "how often a compared value is larger, minus how often it is smaller",
            method=d.method,
            confidence=Chosen(d.comparison.confidence),
            margin=Chosen(d.margin),
        ),
    )


def _row(d: Difference, gate: float | None) -> dict[str, Any]:
    c, (first, second) = d.comparison, d.medians
    return {
        "second": d.second,
        "first": d.first,
        "n": c.n,
        "first_median": amount(d.basis.unit, first) if any(c.killed) else first.estimate,
        "second_median": amount(d.basis.unit, second) if any(c.killed) else second.estimate,
        **ratio_cells(c),
        "median_ratio": c.median_ratio if 0 < c.median_ratio < math.inf else None,
        "cliffs_delta": c.cliffs_delta,
        **verdict_cells(c.verdict, d.words, chosen(d.margin)),
        **d.gate_cells(gate),
        "more": c.more_pairs if gate is None else d.more_pairs(gate),
    }


def _analyses(d: Difference) -> Table:
    return Table(
        title=message("Interval of {second} at each interim analysis", second=d.second),
        columns=(
            Column(key="n", title="pairs"),
            *columns_of("1", low="ratio from", high="to", level="error of this analysis"),
        ),
        rows=tuple({"n": k.n, "level": k.level, "low": k.low, "high": k.high} for k in d.looks),
        note=message(
            "All analyses together: a false alarm in at most {error} where nothing differs",
            error=Chosen(1 - d.comparison.confidence),
        ),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=0, find=find, of_sweeps=True, over_sessions=True, killed="used"
)
