"""Every command, and what the pipeline is handed of features: questions, charts, probing.

Nothing registers itself, and nothing below imports a feature. A new feature is a folder in
``features`` and its lines here; where its units are, `tare.registry.PACKAGES` says.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tare.experiment.supplies import Supplies
from tare.registry import units_of

if TYPE_CHECKING:
    from tare.cli.commands import Commands
    from tare.experiment.session import Progress
    from tare.experiment.session.request import Probing, Weigh
    from tare.results.report import Report


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


def _on_fleet(*asked: Any, **options: Any) -> Report:
    from tare.features.fleet.command import run

    return run(*asked, supplies=SUPPLIES, **options)


#: What every experiment is handed.
SUPPLIES = Supplies(
    findings=partial(units_of, "finding"),
    charts=partial(units_of, "chart"),
    probing=_probing,
    reading=_reading,
    on_fleet=_on_fleet,
)


#: Each command with the part of the help in which it stands: its name, where it is, and whether
#: it takes the words of a command to measure.
_COMMANDS = (
    ("run", "Measure", "tare.features.run.command:run", True),
    ("compare", "Measure", "tare.features.compare.command:compare", True),
    ("ci", "Measure", "tare.features.compare.ci_command:ci", True),
    ("experiment", "Measure", "tare.features.experiment.command:app", False),
    ("tasks", "Measure", "tare.features.tasks.command:app", False),
    ("net", "Measure", "tare.features.network.command:app", False),
    ("fleet", "Measure", "tare.features.fleet.command:app", False),
    ("doctor", "Machine", "tare.features.machine.doctor.command:doctor", False),
    ("fingerprint", "Machine", "tare.features.machine.fingerprint.command:app", False),
    ("calibrate", "Machine", "tare.features.calibration.command:app", False),
    ("selftest", "Machine", "tare.features.machine.selftest.command:selftest", False),
    ("describe", "Machine", "tare.features.machine.describe:describe", False),
    ("cleanup", "Machine", "tare.features.machine.cleanup:cleanup", False),
    ("audit", "Results", "tare.features.audit.command:audit", False),
    ("report", "Results", "tare.features.experiment.report:report", False),
    ("export", "Results", "tare.features.experiment.export:export", False),
)


@cache
def command_line(typed: str | None = None) -> Commands:
    """Return the command line: the command that was typed alone, where it is one, else all."""
    from tare.cli.app import build

    commands = build(SUPPLIES)
    names = {name for name, *_ in _COMMANDS}
    for name, panel, place, measures in _COMMANDS:
        if typed in names and name != typed:
            continue
        module, _, attribute = place.partition(":")
        made = getattr(import_module(module), attribute)
        if attribute == "app":
            commands.add_typer(made, name=name, rich_help_panel=panel)
        elif measures:
            from tare.cli.lines import LineCommand

            commands.command(name, cls=LineCommand, rich_help_panel=panel)(made)
        else:
            commands.command(name, rich_help_panel=panel)(made)
    return commands


def enter() -> int:
    """Run the command line and return its exit code."""
    from tare.cli.app import enter

    return enter(command_line(*sys.argv[1:2]))


def main() -> None:
    """Run the command of the command line, and exit."""
    from tare.cli import terminated

    terminated.listen()
    try:
        command_line(*sys.argv[1:2])
    except KeyboardInterrupt:
        # Loading takes a second, and nothing has begun.
        print("tare: interrupted", file=sys.stderr)
        sys.exit(terminated.exit_code())
    sys.exit(enter())
