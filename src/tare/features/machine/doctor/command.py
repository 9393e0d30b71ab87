"""``tare doctor``: whether this machine is fit to measure on, and what would make it so."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare.cli import console
from tare.cli.call import Call
from tare.errors import ExperimentError, Typed
from tare.features.machine.doctor.options import DoctorOptions
from tare.host.check import PURPOSES, Purpose
from tare.options.command import command
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.host.view import Noise


@command(DoctorOptions)
def doctor(given: DoctorOptions, call: Call) -> Report | int:
    """Check whether this machine is fit for measuring.

    For what, and what would improve it. Exit code 0: nothing is wrong; 1: something is. With --fix,
    settings are changed while COMMAND runs, or for an hour, and then restored.

        tare doctor --quick
    """
    from tare.features.machine.doctor import examination, report

    console.check_writable(given.json)
    if given.fix is not None:
        from tare.features.machine.doctor.fix import hold

        return hold(given.fix, given)
    if given.command or given.duration is not None:
        raise ExperimentError("nothing is asked to be held", Typed("--fix all"))
    view = (
        examination.look(watch_s=0)
        if given.quick
        else examination.look(noise=lambda: _listen(given.noise_window))
    )
    found = examination.attainable(examination.examine(view))
    return report.make(found, _purposes(given.purpose), every=given.all)


def _listen(quiet_s: float) -> Noise:
    """Measure noise, with the time left for whoever waits."""
    from tare.cli.progress import Live
    from tare.features.machine.doctor import listening

    if not sys.stderr.isatty():
        console.err.print(f"Listening to the machine's noise for {console.seconds(quiet_s)}")
    with Live("listening to noise", bar=False) as line:

        def tell(elapsed_s: float) -> None:
            left = console.seconds(max(0.0, quiet_s - elapsed_s))
            line.stage(f"listening to noise, {left} left")

        return listening.listen(quiet_s, tell)


def _purposes(asked: Sequence[Purpose]) -> list[Purpose]:
    return [name for name in PURPOSES if not asked or name in asked]
