"""The steady part of an experiment's trials: iterations, or trials, without their warm-up."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import msgspec
import numpy as np

from tare.errors import TrialError
from tare.experiment import plan
from tare.experiment.results import Results
from tare.experiment.samples import Samples
from tare.render.words import text
from tare.results.columns import Columns
from tare.results.message import Said, message
from tare.statistics.warmup import warm_up


def steady_part(results: Results) -> Results:
    """Leave out the warm-up of each cell: of its trials' iterations, else of its trials.

    Blocks in which one cell still warms up are left out whole, since cells are compared in blocks.

    Raises
    ------
    TrialError
        If a cell has no steady part.
    """
    metric = plan.metric(results.experiment)
    source = next(iter(results.sources(metric)), None)
    if source is None:
        return results
    begins: dict[int, int] = {}
    unsteady_blocks: set[tuple[int, int]] = set()
    first_trial = 0
    for _, cell in results.values(metric, source).groups("cell"):
        trials = cell["trial"].tolist()
        inside = results.iterations(metric, source, trials)
        if len(inside) > len(set(inside["trial"].tolist())):
            timeline = results.timeline(metric, source, trials)
            if timeline is not None:
                begin = _checked(timeline.steady_from, timeline.sentence)
                begins |= dict.fromkeys(trials, begin)
        else:
            found = warm_up(np.where(np.isfinite(cell["value"]), cell["value"], cell["above"]))
            begin = 0
            if found.shape != "too short":
                begin = _checked(found.steady_from, found.sentence)
            first_trial = max(first_trial, begin)
            rows = zip(cell["session"].tolist(), cell["block"].tolist(), strict=True)
            unsteady_blocks |= set(list(rows)[:begin])
    if begins:
        results = dataclasses.replace(results, sample_table=_without(results.sample_table, begins))
    if unsteady_blocks:
        results = _without_blocks(results, unsteady_blocks)
    if begins:
        several = len({*begins.values()}) > 1
        said = message(
            "values are means of iterations from {first} on{% if several %}; fewer are left "
            "out in some cells{% endif %} (--steady)",
            first=max(begins.values()) + 1,
            several=several,
        )
    elif first_trial:
        said = message("values are those from trial {trial} on (--steady)", trial=first_trial + 1)
    else:
        said = message("no warm-up is shown: all values count (--steady)")
    return dataclasses.replace(results, steady=said, notes=[*results.notes, text(said)])


def _checked(begin: int | None, why: Said) -> int:
    if begin is None:
        raise TrialError(
            f"there is no steady part: {text(why)}",
            "leave --steady out, or measure more iterations or trials",
        )
    return begin


def _without(samples: Samples, begins: Mapping[int, int]) -> Samples:
    """Leave out the first measured iterations of trials, of every metric."""
    return Samples({
        key: part.rows(_counts(part, begins)) if key.phase == "measured" else part
        for key, part in samples
    })  # fmt: skip


def _counts(part: Columns, begins: Mapping[int, int]) -> np.ndarray:
    """Return which samples belong to the steady part, or to whole trials."""
    trial, iteration = part["trial"], part["iteration"]
    numbers, places = np.unique(trial, return_inverse=True)
    first = np.full(len(numbers), np.inf)
    inside = ~np.isnan(iteration)
    np.minimum.at(first, places[inside], iteration[inside])
    begin = np.array([begins.get(number, 0) for number in numbers.tolist()], dtype=float)
    return np.asarray(~inside | (iteration >= (first + begin)[places]))


def _without_blocks(results: Results, blocks: set[tuple[int, int]]) -> Results:
    table = results.trial_table
    of_trial = zip(table["session"].tolist(), table["block"].tolist(), strict=True)
    trials = table.rows(np.array([one not in blocks for one in of_trial], dtype=bool))
    kept = set(trials["trial"].tolist())
    samples = results.sample_table.of_trials(kept)
    stopping = results.experiment.stopping
    if stopping.trials is not None:
        # Trials that are left out are not missing.
        fewer = max(stopping.trials - len(blocks), 1)
        stopping = msgspec.structs.replace(stopping, trials=fewer)
    experiment = msgspec.structs.replace(results.experiment, stopping=stopping)
    return dataclasses.replace(
        results, experiment=experiment, trial_table=trials, sample_table=samples
    )
