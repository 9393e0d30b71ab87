"""How ``tare experiment plan`` shows a plan."""

from __future__ import annotations

from rich.table import Table

from tare import plan
from tare.cli import output, planning_network
from tare.conclude import Prepared
from tare.findings.phrasing import counted

#: A kernel's iteration with the repetitions that are found; a command's is not known beforehand.
TYPICAL_S = 0.2
#: Rows shown; ``--json`` has all.
ROWS = 40


def show_plan(prepared: Prepared, json: str | None) -> None:
    """Print cells, trials and estimated time; write them as JSON where asked."""
    experiment, cells = prepared.experiment, prepared.cells
    trials = experiment.stopping.trials
    per_block = plan.estimate(experiment, cells, TYPICAL_S)
    if json is not None:
        data = {
            "version": 1,
            "name": experiment.name,
            "question": experiment.question,
            "cells": [cell.levels() for cell in cells],
            "trials_per_cell": trials,
            "block_s": per_block,
            "budget_s": experiment.stopping.budget_s,
            **({"network": planning_network.as_json(experiment)} if experiment.networked else {}),
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
    told = _sentence(len(cells), trials, per_block, experiment.stopping.budget_s)
    if experiment.networked and experiment.network.rest == "refill":
        told += " Rests until buckets are full come on top; they count into the budget."
    output.out.print(told)


def _sentence(cells: int, trials: int | None, block_s: float, budget_s: float | None) -> str:
    told = f"{counted(cells, 'cell')}; one block of all takes {output.about(block_s)}"
    if trials is not None and trials > 1:
        told += f", {trials} blocks {output.about(block_s * trials)}"
    if budget_s is not None:
        told += f"; the budget is {output.seconds(budget_s)} and outranks the rest"
    return told + "."
