"""``tare doctor``: whether this machine is fit to measure on, and what would make it so."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import console, options, quantities
from tare.errors import ExperimentError
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.host.check import Purpose
    from tare.host.view import Noise


def doctor(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="With --fix: hold while this runs.", metavar="[-- COMMAND…]"),
    ] = None,
    fix: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[=VALUE],…",
            help="Hold settings, or all that help, and restore them afterwards.",
        ),
    ] = None,
    purpose: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Judge by this purpose: times, speed, …; repeatable."),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --fix: hold so long. [default: 1 h]"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not watch the machine, nor measure noise.")
    ] = False,
    noise_window: Annotated[
        str, typer.Option(metavar="TIME", help="How long to measure noise.")
    ] = "10 s",
    as_root: options.AsRoot = False,
    all: Annotated[
        bool, typer.Option("--all", help="Print values and reasons of all checks.")
    ] = False,
    json: options.Json = None,
) -> Report | int:
    """Check whether this machine is fit for measuring.

    For what, and what would improve it. Exit code 0: nothing is wrong; 1: something is. With --fix,
    settings are changed while COMMAND runs, or for an hour, and then restored.

        tare doctor --quick
    """
    from tare.features.machine.doctor import examination, report

    console.check_writable(json)
    if fix is not None:
        from tare.features.machine.doctor.fix import hold

        return hold(fix, command or [], duration=duration, as_root=as_root, json=json)
    if command or duration is not None:
        raise ExperimentError(
            "nothing is asked to be held", "tare doctor --fix all -- COMMAND   (or: --duration 1h)"
        )
    wanted = _purposes(purpose)
    noise_s = quantities.wait("--noise-window", noise_window)
    view = (
        examination.look(watch_s=0) if quick else examination.look(noise=lambda: _listen(noise_s))
    )
    return report.make(examination.attainable(examination.examine(view)), wanted, every=all)


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


def _purposes(asked: list[str] | None) -> list[Purpose]:
    from tare.host.check import PURPOSES

    for name in asked or ():
        if name not in PURPOSES:
            raise ExperimentError(f"there is no purpose {name!r}", f"one of: {', '.join(PURPOSES)}")
    return [name for name in PURPOSES if not asked or name in asked]
