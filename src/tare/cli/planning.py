"""How ``tare experiment plan`` shows a plan."""

from __future__ import annotations

from rich.table import Table

from tare.cli import output, planning_network
from tare.conclude import Prepared
from tare.pilot import Forecast

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
                "blocks": _blocks(prepared, forecast),
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
        output.out.print(f"Failed: {failure}", soft_wrap=True)
    for line in _lines(prepared, forecast):
        output.out.print(line)


def _blocks(prepared: Prepared, forecast: Forecast) -> int | None:
    """Return how many whole blocks there will be; None: the precision decides."""
    stopping = prepared.experiment.stopping
    if stopping.budget_s is None:
        return stopping.trials
    fitting = forecast.blocks(stopping.budget_s)
    return fitting if stopping.trials is None else min(stopping.trials, fitting)


def _lines(prepared: Prepared, forecast: Forecast) -> list[str]:
    experiment = prepared.experiment
    trials, budget_s = experiment.stopping.trials, experiment.stopping.budget_s
    cells = f"{forecast.cells} cell{'s' * (forecast.cells > 1)}"
    told = [
        f"{cells}. One trial of each takes {output.seconds(forecast.block_s)}, starting the "
        f"platforms {output.seconds(forecast.starts_s)}"
        if forecast.starts_s
        else f"{cells}. One trial of each takes {output.seconds(forecast.block_s)}, starts included"
    ]
    few = forecast.executed < forecast.cells
    told[0] += f" (from trials of {forecast.executed} of them)." if few else "."
    total_s = forecast.total_s(trials, budget_s)
    whole = _blocks(prepared, forecast)
    if trials is not None and whole == trials:
        told.append(f"{trials} trials of each take {output.seconds(total_s or 0.0)} in all.")
    elif trials is not None and budget_s is not None:
        needed_s = forecast.measuring_s(trials)
        told.append(
            f"{trials} trials of each would take {output.seconds(needed_s)}. The budget of "
            f"{output.seconds(budget_s)} ends it after {whole} of each, "
            f"{output.seconds(total_s or 0.0)} in all."
            if whole
            else f"The budget of {output.seconds(budget_s)} ends it before every cell has one "
            f"trial; {trials} of each would take {output.seconds(needed_s)}."
        )
    elif budget_s is not None:
        told.append(
            f"It ends when the medians are known to {100 * experiment.stopping.precision:g} %, "
            f"after {output.seconds(total_s or 0.0)} at the latest; until then there is room for "
            f"{whole} trials of each."
        )
    else:
        told.append(
            f"It ends when the medians are known to {100 * experiment.stopping.precision:g} %: "
            "no budget ends it before."
        )
    if experiment.networked and experiment.network.rest == "refill":
        told.append("Rests until buckets are full come on top; they count into the budget.")
    return told
