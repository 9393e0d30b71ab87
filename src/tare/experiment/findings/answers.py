"""All answers of an experiment, in reading order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from tare.experiment.findings.cells import answer_metric, more_is_better
from tare.experiment.findings.finding import FindingUnit, uncompared
from tare.experiment.results import Results
from tare.experiment.sweep.trials import swept
from tare.results.finding import Finding
from tare.results.message import message


def all_findings(
    results: Results,
    questions: Mapping[str, FindingUnit],
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> list[Finding]:
    """Ask every question that applies.

    Parameters
    ----------
    results : Results
        What an experiment has stored so far.
    questions : mapping
        Every question by name: :attr:`tare.experiment.supplies.Supplies.findings`.
    tell : callable
        Told how many questions of how many were asked.

    Returns
    -------
    list of Finding
        In reading order; the same results always give the same findings.
    """
    units = sorted(questions.values(), key=lambda unit: unit.order)
    if swept(results) is not None:
        units = [unit for unit in units if unit.of_sweeps]
    elif more_is_better(results, answer_metric(results)):
        units = [unit for unit in units if unit.of_sweeps or unit.of_rates]
    answered = []
    for number, unit in enumerate(units):
        tell(number, len(units))
        answered.append(_answer(unit, results))
    return [found for found in answered if found is not None]


def _answer(unit: FindingUnit, results: Results) -> Finding | None:
    """Ask one question, of the session that levels are taken from where it is about levels."""
    if unit.over_sessions or results.levels_of is None:
        return _of_all(unit, results)
    found = _of_all(unit, results.of_levels)
    return None if found is None else msgspec.structs.replace(found, session=results.levels_of)


def _of_all(unit: FindingUnit, results: Results) -> Finding | None:
    """Ask one question of all trials, or, saying so, of those that ended by themselves."""
    killed = len(results.trial_table.where(status="killed"))
    if unit.killed == "used" or not killed:
        return unit.find(results)
    found = unit.find(results.without_killed)
    if found is None:
        return None
    counts = {"killed": killed, "trials": len(results.counted)}
    if unit.killed == "refused":
        return uncompared(
            unit.description,
            message(
                "{killed} of {trials | counted('trial')} exceeded the time limit, so how far "
                "values spread is not known: use a longer limit",
                **counts,
            ),
        )
    left_out = message(
        "{killed} of {trials | counted('trial')} exceeded the time limit and are left out "
        "here: this holds for the trials that ended",
        **counts,
    )
    return msgspec.structs.replace(found, caveats=(left_out, *found.caveats))
