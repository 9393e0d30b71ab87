"""``tare selftest``: whether tare itself tells the truth here."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare.cli import console
from tare.cli.call import Call
from tare.cli.command_line import folder_in_memory
from tare.errors import ExperimentError, InterruptError, StoreError, Typed
from tare.options import kinds, measuring, shared
from tare.options.command import command
from tare.options.measuring import SessionOptions
from tare.options.option import HOW_MANY, WHAT, WHERE, Options, flag, like, option
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.features.machine.selftest.accuracy import Accuracy
    from tare.features.machine.selftest.control import FalseAlarms

#: Trials of each program in each place: enough for an interval, and within the budget where
#: there is a container engine too.
TRIALS = 12
#: Seconds: measuring takes no longer; starting and judging comes on top.
BUDGET_S, ALARMS_BUDGET_S = 35.0, 120.0
#: Enough to tell a rate of 5 % from one of 10 %.
COMPARISONS = 200
#: More at once than any machine has CPUs for.
_MOST_WORKERS = 1024


class SelftestOptions(Options):
    """Options of ``tare selftest``."""

    false_alarms: bool = flag("Instead: how often a program differs from itself.", group=WHAT)
    trials: int | None = like(shared.TRIALS, help="Trials of each program.", shown=str(TRIALS))
    budget: float | None = option(
        kinds.DURATION, "Time limit.", group=HOW_MANY, shown="35 s; false alarms: 2 min"
    )
    seed: int | None = shared.SEED
    platform: list[str] = option(
        measuring.STACK, "Stack of layers; repeatable.", group=WHERE, short="-p",
        shown="all that work", repeatable=True,
    )  # fmt: skip
    image: str | None = like(SessionOptions.records["image"])
    workers: tuple[int, ...] | None = option(
        kinds.by_commas(
            kinds.whole(1, _MOST_WORKERS), f"numbers from 1 to {_MOST_WORKERS}, such as 1,2,4",
            "N,N…",
        ),
        "Concurrent runs.", group=WHERE, shown="1, one and two per CPU",
    )  # fmt: skip
    as_root: bool = shared.AS_ROOT
    store: bool = shared.STORE
    quiet: bool = shared.QUIET
    json: str | None = shared.JSON


@command(SelftestOptions)
def selftest(given: SelftestOptions, call: Call) -> Report:
    """Check tare's figures against programs of known cost.

    On every platform that works here. Exit code 0: within the specified errors; 1: not.

        tare selftest
    """
    from tare.features.machine.selftest import report

    console.check_writable(given.json)
    if given.false_alarms and given.given & {"workers", "trials", "image", "as_root"}:
        raise ExperimentError(
            "--workers, --trials, --image and --as-root are not for --false-alarms",
            Typed("tare selftest --false-alarms --budget '5 min'"),
        )
    seed = secrets.randbits(48) if given.seed is None else given.seed
    found: Accuracy | FalseAlarms
    try:
        if given.false_alarms:
            found = _control(given.platform, given.budget or ALARMS_BUDGET_S, seed)
        else:
            found = _accuracy(given, seed)
    except KeyboardInterrupt as error:
        raise InterruptError("interrupted; nothing was kept", Typed("tare selftest")) from error
    if given.store:
        try:
            report.keep(found)
        except StoreError as error:
            console.err.print(f"Note: not kept for later results: {error.message}")
    return report.make(found, seed)


def _accuracy(given: SelftestOptions, seed: int) -> Accuracy:
    import os

    from tare import platforms as stacks
    from tare.features.machine.selftest import accuracy
    from tare.features.machine.selftest.programs import degrees, experiment
    from tare.features.machine.selftest.progress import Progress

    asked = experiment(
        given.platform or stacks.offered(),
        tuple(sorted(set(given.workers or ()))) or degrees(len(os.sched_getaffinity(0))),
        trials=given.trials or TRIALS,
        budget_s=given.budget or BUDGET_S,
        seed=seed,
        image=given.image,
    )
    prepared = accuracy.prepare(asked)
    with folder_in_memory() as folder, Progress() as progress:
        return accuracy.measure(prepared, folder, progress, as_root=given.as_root)


def _control(platforms: Sequence[str], budget_s: float, seed: int) -> FalseAlarms:
    from tare.cli.stages import Progress
    from tare.features.machine.selftest import control

    if len(platforms) > 1:
        raise ExperimentError(
            "a program is compared with itself on one platform", Typed("--platform bare")
        )
    with Progress() as progress:
        return control.measure(
            (*platforms, "bare")[0],
            COMPARISONS,
            budget_s,
            seed,
            folder_in_memory,
            progress,
        )
