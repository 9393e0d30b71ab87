"""``tare calibrate``: how this machine's speed follows the CPU time that it is given."""

from __future__ import annotations

from tare.cli import console
from tare.cli.call import Call
from tare.cli.delivery import Delivered
from tare.features.calibration.options import (
    CompareOptions,
    FitOptions,
    ForgetOptions,
    SweepOptions,
)
from tare.options.command import Entry, Group, command
from tare.results.report import Report

GROUP = Group(
    help="Measure how speed scales with CPU time.",
    standard="sweep",
    commands={
        name: Entry(f"tare.features.calibration.command:{name}")
        for name in ("sweep", "compare", "forget", "fit")
    },
)


@command(SweepOptions)
def sweep(given: SweepOptions, call: Call) -> Delivered:
    """Measure how speed scales with CPU time.

    Is half of the CPU half of the speed here? LINPACK at quotas from 0.1 to all CPUs: one line or
    several, where more CPU time gives no more speed, and why. Takes 5 min with 2 CPUs.

        tare calibrate --budget '2 min'
    """
    from tare.features.calibration import sweep_command

    console.check_writable(given.json)
    return sweep_command.sweep(given, sweep_command.folder_for(given), call.supplies)


@command(CompareOptions)
def compare(given: CompareOptions, call: Call) -> Report:
    """Convert CPU time on one machine to CPU time or memory on another.

    For each quota on A, the quota on B with the same speed, for `docker run --cpus`. What
    `tare calibrate fit --json` wrote of a platform without tare can be A or B.

        tare calibrate compare laptop.json server.json
    """
    from tare.features.calibration import compare_command

    return compare_command.compare(given)


@command(ForgetOptions)
def forget(given: ForgetOptions, call: Call) -> Report:
    """Remove the stored calibrations of this machine.

    Those of this user; `sudo tare` has its own. Folders with results stay.

        tare calibrate forget
    """
    from tare.features.calibration import forget_command

    console.check_writable(given.json)
    return forget_command.forget()


@command(FitOptions)
def fit(given: FitOptions, call: Call) -> Report:
    """Fit lines to a measured sweep, or keep a published line.

    One line, several, or a ceiling, with slope, intercept, R² and p as in CALIBRATE. With --json,
    `tare calibrate compare` reads it: how much of that platform is as fast as this machine?

        tare calibrate fit sweep.csv
    """
    from tare.features.calibration import fit_command

    return fit_command.fit(given)
