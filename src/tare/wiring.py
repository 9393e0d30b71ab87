"""Every command, and what the pipeline is handed of features: questions, charts, probing.

Nothing registers itself, and nothing below imports a feature. A new feature is a folder in
``features`` and its lines here; where its units are, `tare.registry.PACKAGES` says.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from tare.experiment.supplies import Supplies
from tare.options.command import Entry, Group
from tare.options.option import Options, flag

if TYPE_CHECKING:
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


def _units(kind: str) -> dict[str, Any]:
    from tare.registry import units_of

    return units_of(kind)


#: What every experiment is handed.
SUPPLIES = Supplies(
    findings=partial(_units, "finding"),
    charts=partial(_units, "chart"),
    probing=_probing,
    reading=_reading,
    on_fleet=_on_fleet,
)


class RootOptions(Options):
    """Options without a command."""

    version: bool = flag("Print the version.")
    install_completion: bool = flag("Install completion for the current shell.")
    show_completion: bool = flag("Print completion for the current shell, to copy it.")


#: Each command with the part of the help in which it stands, and where it is.
ROOT = Group(
    help="""Measure performance in controlled experiments.

        tare run -- sleep 0.1
        tare compare 'sleep 0.1' 'sleep 0.103'
    """,
    options=RootOptions,
    commands={
        name: Entry(f"tare.features.{place}", heading)
        for heading, commands in {
            "Measure": {
                "run": "measure.run.command:run",
                "compare": "measure.compare.command:compare",
                "ci": "measure.compare.ci_command:ci",
                "experiment": "experiment.command:GROUP",
                "tasks": "tasks.command:GROUP",
                "net": "network.command:GROUP",
                "fleet": "fleet.command:GROUP",
            },
            "Machine": {
                "doctor": "machine.doctor.command:doctor",
                "selftest": "machine.selftest.command:selftest",
                "describe": "machine.describe:describe",
                "cleanup": "machine.cleanup:cleanup",
                "fingerprint": "machine.fingerprint.command:GROUP",
                "calibrate": "calibration.command:GROUP",
            },
            "Results": {
                "audit": "audit.command:audit",
                "report": "experiment.report:report",
                "export": "experiment.export:export",
            },
        }.items()
        for name, place in commands.items()
    },
)


def enter() -> int:
    """Run the command line and return its exit code."""
    from tare.cli import app

    return app.enter(ROOT, SUPPLIES)


def main() -> None:
    """Run the command of the command line, and exit."""
    # What the scripts of `--install-completion` ask.
    if sys.argv[1:2] == ["--complete"]:
        from tare.options import completion

        sys.stdout.write(completion.answer(ROOT, sys.argv[2], sys.argv[3:]))
        return
    from tare.cli import terminated

    terminated.listen()
    sys.exit(enter())
