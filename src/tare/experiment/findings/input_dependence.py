"""Whether times depend on the generated input, or vary among inputs as they do by chance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tare.experiment.findings.cells import Cell, Cells, basis_of, cells_of
from tare.experiment.findings.comparison_summary import share
from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, answered, uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.columns import Columns
from tare.results.finding import Answer, Column, Finding, Table, columns_of
from tare.results.message import Amount, Message, message
from tare.statistics.grouping import GroupEffect, group_effect
from tare.statistics.holm import holm

_DESCRIPTION = Description(
    name="input_dependence",
    title="Spread of means and SDs over generated inputs vs. by chance",
    question="Do times depend on the input?",
    source="STABILITY",
)
_ALPHA = 0.05


def find(results: Results) -> Finding | None:
    """Compare the trials of different inputs inside each cell."""
    if results.experiment.inputs < 2 or "seed" not in results.trial_table:
        return None
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    effects = [(c, e) for c in cells.all if (e := _effect(c, cells)) is not None]
    if not effects:
        return uncompared(
            _DESCRIPTION,
            message(
                "nothing to compare: with {inputs} inputs, no cell has two inputs with two "
                "trials each. Run more trials, or use fewer inputs",
                inputs=results.experiment.inputs,
            ),
        )
    p_mean = holm([e.p_mean for _, e in effects])
    p_spread = holm([e.p_spread for _, e in effects])
    rows = [_row(c, e, p, q, cells) for (c, e), p, q in zip(effects, p_mean, p_spread, strict=True)]
    verdict: Answer = "yes" if min(p_mean) < _ALPHA or min(p_spread) < _ALPHA else "no"
    return answered(
        _DESCRIPTION,
        closed=True,
        answer=_answer(rows, cells),
        verdict=verdict,
        basis=str(basis),
        tables=(_table(rows, cells), _each_input(effects, cells)),
        charts=("input_ranges", "input_dependence"),
    )


def _effect(cell: Cell, cells: Cells) -> GroupEffect | None:
    values = Columns({"trial": cell.row_trials, "value": cell.trial_values})
    seeds = cells.results.trial_table.only("trial", "seed")
    groups = [rows["value"] for _, rows in values.joined(seeds, "trial").groups("seed")]
    return group_effect(groups, seed=cells.results.experiment.seed)


def _row(
    cell: Cell, effect: GroupEffect, p_mean: float, p_spread: float, cells: Cells
) -> dict[str, Any]:
    return {
        **{f: cell.levels[f] for f in cells.factors},
        "n": cell.n,
        "inputs": len(effect.means),
        "range": float(effect.means.max() - effect.means.min()),
        "chance": effect.range_by_chance,
        "share": effect.share,
        "p": p_mean,
        "smallest_sd": float(effect.sds.min()),
        "largest_sd": float(effect.sds.max()),
        "p_spread": p_spread,
        "relative": float((effect.means.max() - effect.means.min()) / effect.means.mean()),
    }


def _answer(rows: list[dict[str, Any]], cells: Cells) -> Iterator[Message]:
    means = [r for r in rows if r["p"] < _ALPHA]
    spreads = [r for r in rows if r["p_spread"] < _ALPHA]
    of_spreads = message("SDs depend on the input in {share}", share=share(len(spreads), len(rows)))
    if spreads and not means:
        # What answers the question with yes stands first.
        yield of_spreads
    if means:
        clearest = max(means, key=lambda r: r["share"])
        yield message("means depend on the input in {share}", share=share(len(means), len(rows)))
    else:
        clearest = min(rows, key=lambda r: r["p"])
        yield message(
            "means are not shown to depend on the input (smallest p = {p}, Holm)", p=clearest["p"]
        )
    yield message(
        "for {where}{% if several %}, the clearest case{% endif %}, means range over {width} "
        "({relative}). By chance, they range over at most {chance} (95 %){% if variance %}. "
        "The input explains {variance} of the variance{% endif %}",
        where=where({f: clearest[f] for f in cells.factors}, cells.varied),
        width=Amount(clearest["range"], cells.basis.unit),
        relative=Amount(clearest["relative"], "share"),
        chance=Amount(clearest["chance"], cells.basis.unit),
        variance=Amount(clearest["share"], "share") if means else None,
        several=len(means) > 1,
    )
    if not spreads:
        yield message("SDs are not shown to depend on the input")
    elif means:
        yield of_spreads
    yield message(
        "at least {inputs | counted('input')} and {n | counted('trial')} per cell",
        inputs=min(r["inputs"] for r in rows),
        n=min(r["n"] for r in rows),
    )


def _table(rows: list[dict[str, Any]], cells: Cells) -> Table:
    u = cells.basis.unit
    columns = (
        *level_columns(cells.varied or ["workload"]),
        *columns_of(n="trials", inputs="inputs"),
        *columns_of(u, range="range of means", chance="range by chance (95 %)"),
        *columns_of("1", share="variance between inputs", p="p of means"),
        *columns_of(u, smallest_sd="smallest SD", largest_sd="largest SD"),
        Column(key="p_spread", title="p of SDs", unit="1"),
    )
    return Table(
        title=message("Trials by input, {basis}", basis=str(cells.basis)),
        columns=columns,
        rows=tuple({c.key: r[c.key] for c in columns} for r in rows),
        note=message(
            "p after Holm over this table: Kruskal–Wallis for the means, Brown–Forsythe for "
            "the SDs; the range by chance is that of shuffled trials."
        ),
    )


def _each_input(effects: list[tuple[Cell, GroupEffect]], cells: Cells) -> Table:
    """Lay out mean and SD of every input, as STABILITY's histogram needs them."""
    factors = cells.varied or ["workload"]
    return Table.of(
        message("Each input, {basis}", basis=str(cells.basis)),
        (
            *factors,
            "input",
            Column(key="n", title="trials"),
            *columns_of(cells.basis.unit, mean="mean", sd="SD"),
        ),
        (
            (*(cell.levels[f] for f in factors), i, n, float(mean), float(sd))
            for cell, effect in effects
            for i, (n, mean, sd) in enumerate(
                zip(effect.sizes, effect.means, effect.sds, strict=True), 1
            )
        ),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=70, find=find)
