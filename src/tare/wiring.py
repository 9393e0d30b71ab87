"""Every command, and what the pipeline is handed of features: questions, charts, probing.

Nothing registers itself, and nothing below imports a feature. A new feature is a folder in
``features`` and its lines here; where its units are, `tare.registry.PACKAGES` says.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tare.experiment.supplies import Supplies
from tare.registry import units_of

if TYPE_CHECKING:
    from tare.cli.commands import Commands
    from tare.experiment.session import Progress
    from tare.experiment.session.request import Probing, Weigh


def _probing(progress: Progress, probing: Probing) -> Weigh:
    from tare.experiment.catalogue import catalogue
    from tare.features.machine.fingerprint.session_takes import SessionTakes
    from tare.render.words import text

    return SessionTakes(catalogue().probes, lambda again: progress.stage(text(again)), probing)


def _reading(
    printed: bytes, format: str, series: str | None, quantile: float | None
) -> float | None:
    from tare.readers.printed import value

    return value(printed, format, series, quantile)


def _on_fleet(*asked: Any, **options: Any) -> None:
    from tare.features.fleet.command import run

    run(*asked, supplies=SUPPLIES, **options)


#: What every experiment is handed.
SUPPLIES = Supplies(
    findings=partial(units_of, "finding"),
    charts=partial(units_of, "chart"),
    probing=_probing,
    reading=_reading,
    on_fleet=_on_fleet,
)


@cache
def command_line() -> Commands:
    """Return the command line: each command with the part of the help in which it stands."""
    from tare.cli.app import build
    from tare.cli.lines import LineCommand
    from tare.features.audit.command import audit
    from tare.features.calibration.command import app as calibrate
    from tare.features.compare.command import compare
    from tare.features.experiment.command import app as experiment
    from tare.features.experiment.export import export
    from tare.features.experiment.report import report
    from tare.features.fleet.command import app as fleet
    from tare.features.machine.cleanup import cleanup
    from tare.features.machine.describe import describe
    from tare.features.machine.doctor.command import doctor
    from tare.features.machine.fingerprint.command import app as fingerprint
    from tare.features.machine.selftest.command import selftest
    from tare.features.network.command import app as net
    from tare.features.run.command import run
    from tare.features.tasks.command import app as tasks

    commands = build(SUPPLIES)
    measure, machine, results = "Measure", "Machine", "Results"
    commands.command(cls=LineCommand, rich_help_panel=measure)(run)
    commands.command(cls=LineCommand, rich_help_panel=measure)(compare)
    commands.add_typer(experiment, name="experiment", rich_help_panel=measure)
    commands.add_typer(tasks, name="tasks", rich_help_panel=measure)
    commands.add_typer(net, name="net", rich_help_panel=measure)
    commands.add_typer(fleet, name="fleet", rich_help_panel=measure)
    commands.command(rich_help_panel=machine)(doctor)
    commands.add_typer(fingerprint, name="fingerprint", rich_help_panel=machine)
    commands.add_typer(calibrate, name="calibrate", rich_help_panel=machine)
    commands.command(rich_help_panel=machine)(selftest)
    commands.command(rich_help_panel=machine)(describe)
    commands.command(rich_help_panel=machine)(cleanup)
    commands.command(rich_help_panel=results)(audit)
    commands.command(rich_help_panel=results)(report)
    commands.command(rich_help_panel=results)(export)
    return commands


def enter() -> int:
    """Run the command line and return its exit code."""
    from tare.cli.app import enter

    return enter(command_line())


def main() -> None:
    """Run the command of the command line, and exit."""
    from tare.cli import terminated

    terminated.listen()
    try:
        command_line()
    except KeyboardInterrupt:
        # Loading takes a second, and nothing has begun.
        print("tare: interrupted", file=sys.stderr)
        sys.exit(terminated.exit_code())
    sys.exit(enter())
