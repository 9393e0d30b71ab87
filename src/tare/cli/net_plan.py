"""``tare net plan``: what trials will spend of a bucket, and how long to rest between them."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs
from rich.text import Text

from tare import units
from tare.cli import options, output, quantities
from tare.errors import ExperimentError
from tare.units import chosen

if TYPE_CHECKING:
    from tare.conclude import Prepared
    from tare.network_fingerprint.rests import RestPlan, Spending

_SPEND = "--spend measured   (executes one trial of each cell; or --spend 10Gbit)"


def plan(
    fingerprint: Annotated[
        Path,
        typer.Argument(metavar="FINGERPRINT", help="File of tare net fingerprint --json."),
    ],
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT", help="Experiment file (TOML).")
    ],
    spend: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AMOUNT",
            help="What a trial sends: 12Gbit, or WORKLOAD=12Gbit; measured[:IFACE]; or a session's "
            "folder.",
        ),
    ] = None,
    trials: options.Trials = None,
    json: options.Json = None,
) -> None:
    """Plan the idle periods that a token bucket needs between trials.

    Trials that deplete a token bucket slow those after them. --spend measured counts the traffic of
    one trial of each cell; a folder is that of a session on an emulated network.

        tare net plan network.json experiment.toml --spend measured:eth0
    """
    from tare import conclude
    from tare.network_fingerprint import file, rests

    output.check_writable(json)
    found = file.read(fingerprint)
    prepared = conclude.prepare(experiment, skip_missing=True)
    spendings, doubts = _spendings(prepared, spend or [])
    asked = prepared.experiment.stopping.trials if trials is None else trials
    searched = found.searched
    made = rests.plan(
        rests.bucket_of(found), spendings, asked, None if searched is None else searched.bits
    )
    made = structs.replace(made, doubts=(*made.doubts, *doubts))
    if json is not None:
        output.write_json(made, json)
    if json != "-":
        _show(made, prepared, fingerprint)


def _spendings(prepared: Prepared, words: list[str]) -> tuple[list[Spending], list[str]]:
    """Return what each cell spends, and what makes that less certain."""
    from tare import store
    from tare.cli import net_plan_measured as measuring
    from tare.network_fingerprint import spending

    if not words:
        raise ExperimentError("--spend: what does a trial send?", _SPEND)
    if any(word.partition(":")[0] == measuring.WORD for word in words):
        if len(words) > 1:
            raise ExperimentError(
                f"--spend {measuring.WORD} counts every workload, and takes no amounts",
                f"--spend {measuring.WORD}   (by itself)",
            )
        counts = measuring.measured(prepared, words[0])
        return spending.counted(prepared.cells, counts), spending.doubts(counts.values())
    folders = [Path(word) for word in words if Path(word).is_dir()]
    if folders and len(words) > 1:
        raise ExperimentError(
            "--spend takes one folder, or amounts", f"--spend {folders[0]}   (by itself)"
        )
    if folders:
        return spending.measured(prepared.cells, store.load(folders[0]), folders[0].name), []
    amounts: dict[str, float] = {}
    for word in words:
        name, _, amount = word.rpartition("=")
        amounts[name] = float(quantities.read(units.bits, "--spend", amount))
    return spending.given(prepared.cells, amounts), []


def _show(made: RestPlan, prepared: Prepared, fingerprint: Path) -> None:
    from tare.render.terminal import fitted

    out = output.out
    out.print(headline(made), style="bold")
    out.print()
    for line in fitted(_table(made), out.width):
        out.print(Text(line), soft_wrap=True)
    out.print()
    for line in _account(made):
        out.print(line)
    for doubt in (*made.doubts, *_doubts(prepared)):
        out.print(f"Note    {doubt}", style="yellow")
    lines = _lines(made, prepared)
    if lines:
        out.print()
        out.print("Write into the experiment file:")
        for line in lines:
            out.print(f"    {line}")
    if made.verdict == "beyond":
        out.print(
            f"Next    tare net fingerprint HOST --key FILE --json {fingerprint}   (look further)",
            soft_wrap=True,
        )


def headline(made: RestPlan) -> str:
    """Say in one sentence what the plan is."""
    rest = output.seconds(made.rest_s)
    match made.verdict:
        case "ample":
            return "No rests are needed: a full bucket suffices for the whole experiment."
        case "rests":
            return f"Rest {rest} between trials: each then begins with a full bucket."
        case "dry":
            return (
                "Some trial empties even a full bucket: it will measure the bucket as well. With "
                f"{rest} of rest between trials, all of them do so alike."
            )
        case "unseen":
            return (
                "No rests are needed, as far as is known: no bucket was seen within what the "
                "whole experiment sends."
            )
        case "beyond":
            return (
                "Not known: no bucket was seen, but the experiment sends more, or may, than was "
                "sent to look for one."
            )


def _table(made: RestPlan) -> list[tuple[str, ...]]:

    rows: list[tuple[str, ...]] = [
        (
            "trial",
            "sends",
            "needs of the bucket",
            "full bucket suffices",
            "refills in",
            "from",
        )
    ]
    for one in made.trials:
        known = one.draws_bits is not None
        rows.append(
            (
                one.cell,
                chosen(one.spends_bits, "bits"),
                chosen(one.draws_bits or 0, "bits") if known else "–",
                "–" if one.suffices is None else "yes" if one.suffices else "no",
                output.seconds(ceil(one.rest_s)) if known else "–",
                one.source,
            )
        )
    return rows


def _account(made: RestPlan) -> list[str]:
    from tare.units import counted

    told = []
    bucket = made.bucket
    if bucket is not None:
        told.append(
            f"Bucket  {chosen(bucket.budget_bits, 'bits')}, "
            f"{chosen(bucket.high_bps, 'bits/s')} then "
            f"{chosen(bucket.low_bps, 'bits/s')}; {chosen(bucket.refill_bps, 'bits/s')} come "
            "back (the "
            "careful end of each interval)."
        )
    blocks = made.blocks_without_rest
    told.append(
        f"Block   {chosen(made.block_bits, 'bits')} for each cell once"
        + ("." if blocks is None else f"; without rests, {blocks} of them fit.")
    )
    if made.experiment_bits is not None and made.n is not None:
        told.append(
            f"In all  {chosen(made.experiment_bits, 'bits')} for {counted(made.n, 'block')}."
        )
    if made.least_rest_s is not None:
        told.append(
            f"Least   With {output.seconds(made.least_rest_s)} between trials none would run dry "
            "either, but they begin with unlike budgets."
        )
    if made.total_s is not None:
        told.append(f"Time    {output.seconds(made.total_s)} with the rests, as trials last.")
    if bucket is not None and made.verdict != "ample":
        full = output.seconds(bucket.refill_s(bucket.budget_bits))
        told.append(f"Before  Rest {full} before the first trial, if the bucket may be empty.")
    told.append("Order   Random blocks, so that no cell always follows the one that spends most.")
    return told


def _doubts(prepared: Prepared) -> list[str]:
    from tare.network_fingerprint.spending import own_buckets

    told = []
    if prepared.experiment.order != "blocks":
        told.append('The file says order = "sequential": a cell always follows the same one.')
    emulated = own_buckets(prepared.cells)
    if emulated:
        budget = prepared.experiment.network.budget
        how = (
            "every trial begins with the level's own budget, and needs no rest"
            if budget == "reset"
            else 'rest = "refill" in [network] waits until every bucket is full'
        )
        told.append(f"Under network {', '.join(emulated)} this plan does not hold: {how}.")
    return told


def _lines(made: RestPlan, prepared: Prepared) -> list[str]:
    lines = []
    if made.rest_s > prepared.experiment.rest_s:
        lines.append(f'rest = "{made.rest_s:.0f} s"')
    if prepared.experiment.order != "blocks":
        lines.append('order = "blocks"')
    return ["[experiment]", *lines] if lines else []
