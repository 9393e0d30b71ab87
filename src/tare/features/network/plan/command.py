"""``tare net plan``: what trials will use of a bucket, and the idle periods between them."""

from __future__ import annotations

import shlex
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from tare import files, units
from tare.cli import console
from tare.cli.again import again
from tare.cli.call import Call
from tare.errors import ExperimentError, Typed
from tare.options import kinds, shared
from tare.options.command import command
from tare.options.option import WHAT, Options, argument, option
from tare.render.words import text
from tare.results.finding import Cell, Table
from tare.results.message import Amount, Chosen, Duration, Message, message
from tare.results.report import Entry, NextStep, Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tare.experiment.fingerprints.network.document import NetworkFingerprint
    from tare.experiment.pipeline import Prepared
    from tare.features.network.plan.rests import RestPlan, TrialPlan, TrialTraffic

_PLAN_TEXTS = {
    "ample": "no idle periods are needed: a full bucket suffices for the whole experiment",
    "unseen": (
        "no idle periods are needed, as far as is known: no bucket was seen within what the "
        "experiment sends"
    ),
}
_PLAN_TEXTS_OF_REST = {
    "rests": "wait {rest} between trials: each then begins with a full bucket",
    "dry": (
        "wait {rest} between trials. Some trial depletes even a full bucket: it measures the "
        "bucket as well, in every repetition alike"
    ),
}

#: Factor on an experiment's traffic up to which a bucket is searched, so a bucket of that size is
#: found.
_FURTHER = 1.1
#: Trials per cell that are suggested where only time bounds an experiment.
_TRIALS = 30
#: Of ``--spend``: that it is to be measured.
MEASURED = "measured"
_SPEND = Typed("--spend measured   (executes one trial of each cell; or --spend 10Gbit)")


#: What a trial sends: ``measured[:IFACE]``, the folder of a session, or bits of a workload.
Spend: TypeAlias = str | Path | tuple[str, int]


def _spend(text: str) -> Spend:
    if text.partition(":")[0] == MEASURED:
        return text
    if files.is_folder(text):
        return Path(text)
    name, _, amount = text.rpartition("=")
    return name, units.bits(amount)


class PlanOptions(Options):
    """Options of ``tare net plan``."""

    fingerprint: Path = argument(
        kinds.PATH, "FINGERPRINT", "File of tare net fingerprint --json.", is_required=True,
    )  # fmt: skip
    experiment: Path = argument(
        kinds.PATH, "EXPERIMENT", "Experiment file (TOML).", is_required=True,
    )  # fmt: skip
    spend: list[Spend] = option(
        kinds.quantity(_spend, 'an amount of data, such as "12Gbit"', "AMOUNT").offering(
            lambda: (MEASURED,)
        ),
        "What a trial sends: 12Gbit, or WORKLOAD=12Gbit; measured[:IFACE]; or a session's folder.",
        group=WHAT, repeatable=True,
    )  # fmt: skip
    trials: int | None = shared.TRIALS
    json: str | None = shared.JSON


@command(PlanOptions)
def plan(given: PlanOptions, call: Call) -> Report:
    """Plan the idle periods that a token bucket needs between trials.

    Trials that deplete a token bucket slow those after them. --spend measured counts the traffic of
    one trial of each cell; a folder is that of a session on an emulated network.

        tare net plan network.json experiment.toml --spend measured:eth0
    """
    from tare.experiment import pipeline
    from tare.experiment.fingerprints.network import file
    from tare.features.network.plan import rests

    console.check_writable(given.json)
    found = file.read(given.fingerprint)
    prepared = pipeline.prepare(given.experiment, skip_missing=True)
    spendings, doubts = _spendings(prepared, given.spend)
    asked = prepared.experiment.stopping.trials if given.trials is None else given.trials
    searched = found.searched
    made = rests.plan(
        rests.bucket_of(found), spendings, asked, None if searched is None else searched.bits
    )
    made = structs.replace(made, doubts=(*made.doubts, *doubts))
    said = headline(made, None if searched is None else searched.bits)
    return Report(
        command="net plan",
        # Version is the report's; doubts are notes.
        figures={
            name: value
            for name, value in structs.asdict(made.stored()).items()
            if name not in ("version", "doubts")
        },
        name="net plan",
        question=message("How long must idle periods between trials be?"),
        entries=(
            Entry.of("Answer", said, "strong"),
            *(Entry.of(label, said) for label, said in _account(made).items()),
            *(Entry.of("Note", doubt) for doubt in (*made.doubts, *_doubts(prepared))),
            *(Entry.of("Note", further) for further in _search_further(made, found)),
            *_lines(made, prepared),
        ),
        next_steps=_next(made),
        further=(_table(made),),
    )


def _spendings(prepared: Prepared, some: list[Spend]) -> tuple[list[TrialTraffic], list[Message]]:
    """Return what each cell spends, and what makes that less certain."""
    from tare.experiment import store
    from tare.features.network.plan import spending

    if not some:
        raise ExperimentError("--spend is needed: how much does one trial send?", _SPEND)
    words = [one for one in some if isinstance(one, str)]
    if words:
        if len(some) > 1:
            raise ExperimentError(
                f"--spend {MEASURED} counts every workload, and takes no amounts",
                Typed(f"--spend {MEASURED}   (by itself)"),
            )
        from tare.features.network.plan.measured import measured

        counts = measured(prepared, words[0].removeprefix(MEASURED).removeprefix(":"))
        return spending.counted(prepared.cells, counts), spending.doubts(counts.values())
    folders = [one for one in some if isinstance(one, Path)]
    if folders and len(some) > 1:
        raise ExperimentError(
            "--spend takes one folder, or amounts",
            Typed(f"--spend {shlex.quote(str(folders[0]))}   (by itself)"),
        )
    if folders:
        return spending.measured(prepared.cells, store.load(folders[0]), folders[0].name), []
    amounts = {one[0]: float(one[1]) for one in some if isinstance(one, tuple)}
    return spending.given(prepared.cells, amounts), []


def _next(made: RestPlan) -> tuple[NextStep, ...]:
    """Return what settles a plan whose experiment may send any amount."""
    if made.verdict != "beyond" or made.experiment_bits is not None:
        return ()
    return (
        NextStep(
            again("net plan", {"--trials": str(_TRIALS)}),
            message("a number of trials: what they send is then known"),
        ),
    )


def _search_further(made: RestPlan, found: NetworkFingerprint) -> Iterator[Message]:
    """Say how to search for a bucket as far as the experiment sends."""
    from tare.features.network.fingerprint.command import LONGEST_S

    if made.verdict != "beyond" or made.experiment_bits is None:
        return
    bits = _FURTHER * made.experiment_bits
    base = found.figures.get("bandwidth.fresh")
    # Where the search would end before it has sent as much.
    time_s = 0.0 if base is None or base.value <= 0 else _FURTHER * bits / base.value
    yield message(
        "with --max-bytes {bits}{% if time %} --duration '{time}'{% endif %}, tare net fingerprint "
        "{end} searches as far as the experiment sends",
        end=shlex.quote(found.end),
        bits=units.typed_bits(int(float(f"{bits:.3g}"))),
        time=Duration(time_s) if time_s > LONGEST_S else None,
    )


def headline(made: RestPlan, seen_bits: float | None) -> Message:
    """Say in one sentence what the plan is.

    Parameters
    ----------
    made : RestPlan
    seen_bits : float or None
        What was sent to look for a bucket; None: nothing.
    """
    if made.verdict == "beyond":
        whole = made.experiment_bits
        return message(
            "inconclusive: no token bucket was found, but the experiment sends {% if whole %}"
            "{whole}; the search sent {% if seen %}only {seen}{% else %}nothing{% endif %}"
            "{% else %}as much as its budget of time allows{% endif %}",
            whole=None if whole is None else Chosen(whole, "bits"),
            seen=None if seen_bits is None else Amount(seen_bits, "bits"),
        )
    if made.verdict in ("rests", "dry"):
        return message(_PLAN_TEXTS_OF_REST[made.verdict], rest=Duration(made.rest_s))
    return message(_PLAN_TEXTS[made.verdict])


def _table(made: RestPlan) -> Table:
    """Return a row for all cells of the same values, with the columns that have any."""
    cells: dict[tuple[Cell, ...], list[str]] = {}
    for one in made.trials:
        cells.setdefault(_values(one), []).append(one.cell)
    return Table.of(
        message("What trials send"),
        ("cells", "each trial sends", "draws from the bucket", "full bucket suffices", "refills in",
         "source"),
        [(_together(some, made), *values) for values, some in cells.items()],
    )  # fmt: skip


def _values(one: TrialPlan) -> tuple[Cell, ...]:
    sends, source = Chosen(one.spends_bits, "bits"), text(one.source)
    if one.draws_bits is None:
        return sends, None, None, None, source
    suffices = "yes" if one.suffices else "no"
    return (
        sends, Chosen(one.draws_bits, "bits"), suffices, Duration(ceil(one.rest_s)), source
    )  # fmt: skip


def _together(cells: list[str], made: RestPlan) -> str:
    """Name cells by the levels that they share."""
    if len(cells) == 1:
        return cells[0]
    if len(cells) == len(made.trials):
        return text(message("all {n} cells", n=len(cells)))
    levels = [cell.split(", ") for cell in cells]
    common = [level for level in levels[0] if all(level in some for some in levels)]
    return text(
        message(
            "{levels | join(', ')}{% if levels %} {% endif %}({n} cells)",
            levels=common,
            n=len(cells),
        )
    )


def _account(made: RestPlan) -> dict[str, Message]:
    """Return what the plan rests on, by label."""
    said = {}
    bucket = made.bucket
    if bucket is not None:
        said["Bucket"] = message(
            "{budget}, {high}, then {low}; refills at {refill} (conservative ends of the "
            "intervals)",
            budget=Chosen(bucket.budget_bits, "bits"),
            high=Chosen(bucket.high_bps, "bits/s"),
            low=Chosen(bucket.low_bps, "bits/s"),
            refill=Chosen(bucket.refill_bps, "bits/s"),
        )
    block = Chosen(made.block_bits, "bits")
    said["Block"] = message(
        "{block} for one trial of each cell{% if blocks is not none %}; {% if bucket %}a "
        "full bucket suffices for {blocks | counted('block')}{% else %}the search for a "
        "bucket sent as much as {blocks | counted('block')}{% endif %}{% endif %}",
        block=block,
        blocks=made.blocks_without_rest,
        bucket=bucket is not None,
    )
    if made.experiment_bits is not None and made.n is not None:
        whole = Chosen(made.experiment_bits, "bits")
        said["In all"] = message("{whole} for {n | counted('block')}", whole=whole, n=made.n)
    if made.least_rest_s is not None:
        said["Least"] = message(
            "{least} between trials avoid depletion, too, but trials begin with unequal budgets",
            least=Duration(made.least_rest_s),
        )
    if made.total_s is not None:
        said["Time"] = message("{total} with the idle periods", total=Duration(made.total_s))
    if bucket is not None and made.verdict != "ample":
        full = Duration(bucket.refill_s(bucket.budget_bits))
        said["Before"] = message(
            "wait {full} before the first trial, if the bucket may be empty", full=full
        )
    said["Order"] = message("random blocks: no cell always follows the one that sends most")
    return said


def _doubts(prepared: Prepared) -> list[Message]:
    from tare.features.network.plan.spending import own_buckets

    said = []
    if prepared.experiment.order != "blocks":
        said.append(message('order = "sequential" in the file: a cell always follows the same one'))
    emulated = own_buckets(prepared.cells)
    if emulated:
        reset = prepared.experiment.network.budget == "reset"
        said.append(
            message(
                "this plan does not hold under network {networks | join(', ')}: {% if reset %}"
                "every trial begins with the level's own budget and needs no idle period"
                '{% else %}rest = "refill" in [network] waits until every bucket is full'
                "{% endif %}",
                networks=[*emulated],
                reset=reset,
            )
        )
    return said


def _lines(made: RestPlan, prepared: Prepared) -> tuple[Entry, ...]:
    """State what to write into the experiment file, if anything."""
    lines = []
    if made.rest_s > prepared.experiment.rest_s:
        lines.append(f'rest = "{made.rest_s:.0f} s"')
    if prepared.experiment.order != "blocks":
        lines.append('order = "blocks"')
    if not lines:
        return ()
    said = message("write into the experiment file:")
    return (Entry.of("File", said, picture=("[experiment]", *lines)),)
