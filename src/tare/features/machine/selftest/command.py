"""``tare selftest``: whether tare itself tells the truth here."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import console, options, quantities
from tare.cli.command_line import folder_in_memory
from tare.errors import ExperimentError, InterruptError, StoreError
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.features.machine.selftest.accuracy import Accuracy
    from tare.features.machine.selftest.control import FalseAlarms

#: Trials of each program in each place: enough for an interval, and within the budget where
#: there is a container engine too.
TRIALS = 12
#: Measuring takes no longer; starting and judging comes on top.
BUDGET, ALARMS_BUDGET = "35 s", "2 min"
#: Enough to tell a rate of 5 % from one of 10 %.
COMPARISONS = 200


def selftest(
    false_alarms: Annotated[
        bool,
        typer.Option("--false-alarms", help="Instead: how often a program differs from itself."),
    ] = False,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            "-n",
            metavar="N",
            min=1,
            help=f"Trials of each program. [default: {TRIALS}]",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"Time limit. [default: {BUDGET}; false alarms: {ALARMS_BUDGET}]",
        ),
    ] = None,
    seed: options.Seed = None,
    platform: Annotated[
        list[str] | None,
        typer.Option(
            "--platform",
            "-p",
            metavar="STACK",
            help="Stack of layers; repeatable. [default: all that work]",
        ),
    ] = None,
    image: options.Image = None,
    workers: Annotated[
        str | None,
        typer.Option(metavar="N,N…", help="Concurrent runs. [default: 1, one and two per CPU]"),
    ] = None,
    as_root: options.AsRoot = False,
    store: options.Store = True,
    json: options.Json = None,
) -> Report:
    """Check tare's figures against programs of known cost.

    On every platform that works here. Exit code 0: within the specified errors; 1: not.

        tare selftest
    """
    from tare.features.machine.selftest import report

    console.check_writable(json)
    if false_alarms and (workers, trials, image, as_root) != (None, None, None, False):
        raise ExperimentError(
            "--workers, --trials, --image and --as-root are not for --false-alarms",
            "tare selftest --false-alarms --budget '5 min'",
        )
    seed = secrets.randbits(48) if seed is None else seed
    found: Accuracy | FalseAlarms
    try:
        if false_alarms:
            found = _control(platform, ALARMS_BUDGET if budget is None else budget, seed)
        else:
            found = _accuracy(
                platform,
                _degrees(workers),
                TRIALS if trials is None else trials,
                BUDGET if budget is None else budget,
                seed,
                image,
                as_root,
            )
    except KeyboardInterrupt as error:
        raise InterruptError("interrupted; nothing was kept", "tare selftest") from error
    if store:
        try:
            report.keep(found)
        except StoreError as error:
            console.err.print(f"Note: not kept for later results: {error.message}")
    return report.make(found, seed)


def _accuracy(
    platforms: list[str] | None,
    workers: tuple[int, ...] | None,
    trials: int,
    budget: str,
    seed: int,
    image: str | None,
    as_root: bool,
) -> Accuracy:
    import os

    from tare import platforms as stacks
    from tare.features.machine.selftest import accuracy
    from tare.features.machine.selftest.programs import degrees, experiment
    from tare.features.machine.selftest.progress import Progress

    asked = experiment(
        platforms or stacks.offered(),
        workers or degrees(len(os.sched_getaffinity(0))),
        trials=trials,
        budget_s=quantities.wait("--budget", budget),
        seed=seed,
        image=image,
    )
    prepared = accuracy.prepare(asked)
    with folder_in_memory() as folder, Progress() as progress:
        return accuracy.measure(prepared, folder, progress, as_root=as_root)


def _control(platforms: list[str] | None, budget: str, seed: int) -> FalseAlarms:
    from tare.cli.stages import Progress
    from tare.features.machine.selftest import control

    if platforms is not None and len(platforms) > 1:
        raise ExperimentError(
            "a program is compared with itself on one platform", "--platform bare"
        )
    with Progress() as progress:
        return control.measure(
            (platforms or ["bare"])[0],
            COMPARISONS,
            quantities.wait("--budget", budget),
            seed,
            folder_in_memory,
            progress,
        )


def _degrees(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        found = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        found = ()
    if not found or found[0] < 1 or found[-1] > 1024:
        raise ExperimentError(
            f"--workers: {text!r} is not possible; expected numbers from 1 to 1024",
            "--workers 1,2,4",
        )
    return found
