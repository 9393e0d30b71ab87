"""How ``tare experiment plan`` shows a plan."""

from __future__ import annotations

from rich.table import Table

from tare.cli import output, planning_network
from tare.conclude import Prepared
from tare.experiment import Experiment
from tare.pilot import Forecast
from tare.render.words import listing
from tare.units import counted

#: Rows shown; ``--json`` has all.
ROWS = 40


def show_plan(prepared: Prepared, forecast: Forecast, json: str | None) -> None:
    """Print cells, trials and the time that they take; write them as JSON where asked."""
    experiment, cells = prepared.experiment, prepared.cells
    stopping = experiment.stopping
    if json is not None:
        data = {
            "version": 2,
            "name": experiment.name,
            "question": experiment.question,
            "cells": [cell.levels() for cell in cells],
            "trials_per_cell": stopping.trials,
            "budget_s": stopping.budget_s,
            "forecast": {
                "block_s": forecast.block_s,
                "starts_s": forecast.starts_s,
                "once_s": forecast.once_s,
                "total_s": forecast.total_s(stopping.trials, stopping.budget_s),
                "blocks": blocks(experiment, forecast),
                "executed_cells": forecast.executed,
                "failures": forecast.failures,
            },
            **({"network": planning_network.as_json(experiment)} if experiment.networked else {}),
            "left_out": [note.detail for note in prepared.notes if note.detail],
            "notes": [note.message for note in prepared.notes],
        }
        output.write_json(data, json)
        if json == "-":
            return
    levels = [cell.levels() for cell in cells]
    varied = [f for f in levels[0] if len({str(row.get(f)) for row in levels}) > 1] or ["workload"]
    output.out.print(experiment.question, style="bold")
    table = Table(box=None)
    for factor in varied:
        table.add_column(factor)
    for row in levels[:ROWS]:
        table.add_row(*(row.get(factor, "") for factor in varied))
    output.out.print(table)
    if len(levels) > ROWS:
        output.out.print(f"… and {len(levels) - ROWS} more cells (--json - lists all)")
    if experiment.networked:
        planning_network.show(experiment)
    for note in prepared.notes:
        output.out.print(f"Note: {note.message}")
    for failure in forecast.failures:
        output.out.print(f"Failed: {listing(failure.cells)}: {failure.reason}", soft_wrap=True)
    for line in lines(experiment, forecast):
        output.out.print(line)


def blocks(experiment: Experiment, forecast: Forecast) -> int | None:
    """Return how many whole blocks there will be; None: the precision decides."""
    stopping = experiment.stopping
    if stopping.budget_s is None:
        return stopping.trials
    fitting = forecast.blocks(stopping.budget_s)
    return fitting if stopping.trials is None else min(stopping.trials, fitting)


def lines(experiment: Experiment, forecast: Forecast) -> list[str]:
    """Tell how long an experiment takes, and what a budget leaves of it."""
    trials, budget_s = experiment.stopping.trials, experiment.stopping.budget_s
    each = " of each" if forecast.cells > 1 else ""
    starts = (
        f"starting the platforms {output.about(forecast.starts_s)}"
        if forecast.starts_s
        else "starts included"
    )
    few = forecast.executed < forecast.cells
    told = [
        f"{counted(forecast.cells, 'cell')}. One trial{each} takes "
        f"{output.about(forecast.block_s)}, {starts}"
        + (f" (from trials of {forecast.executed} of them)." if few else ".")
    ]
    total = output.about(forecast.total_s(trials, budget_s) or 0.0)
    room = blocks(experiment, forecast)
    if trials is not None:
        needed = output.about(forecast.measuring_s(trials))
        budget = output.seconds(budget_s or 0.0)
        if room == trials:
            told += [f"{trials} trials{each} take {total} in all."] if trials > 1 else []
        elif room:
            told.append(
                f"{trials} trials{each} would take {needed}. The budget of {budget} ends it after "
                f"about {room}{each}, {total} in all."
            )
        else:
            told.append(
                f"The budget of {budget} ends it before every cell has one trial; "
                f"{trials} trials{each} would take {needed}."
            )
    else:
        known = f"It ends when the medians are known to {100 * experiment.stopping.precision:g} %"
        told.append(
            f"{known}: no budget ends it before."
            if budget_s is None
            else f"{known}, after {total} at the latest, in which there is room for about "
            f"{room} trials{each}."
        )
    if experiment.networked and experiment.network.rest == "refill":
        told.append("Rests until buckets are full come on top; they count into the budget.")
    return told
