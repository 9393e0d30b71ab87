"""``tare doctor``: whether this machine is fit to measure on, and what would make it so."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tare.cli import output, quantities
from tare.errors import ExperimentError

if TYPE_CHECKING:
    from tare.doctor import Purpose, Report
    from tare.doctor.noise_readings import Noise


def doctor(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="With --fix: hold while this runs, after `--`.", metavar="-- COMMAND…"),
    ] = None,
    fix: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[=VALUE],…",
            help="Hold settings, or `all` that would do good, and put them back at the end.",
        ),
    ] = None,
    hold_for: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help="With --fix and no command: hold so long.  [default: 1h]"
        ),
    ] = None,
    as_root: Annotated[
        bool, typer.Option("--as-root", help="Under sudo: run COMMAND as root, not as you.")
    ] = False,
    purpose: Annotated[
        list[str] | None,
        typer.Option(help="Judge by this purpose only: times, speed, …; may be repeated."),
    ] = None,
    quiet_window: Annotated[
        str, typer.Option(metavar="TIME", help="How long to listen to the machine's noise.")
    ] = "10 s",
    fast: Annotated[
        bool, typer.Option("--fast", "--no-wait", help="Listen and count over no time at all.")
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Also what is good, and what is hidden, line by line.")
    ] = False,
    sources: Annotated[
        bool, typer.Option("--sources", help="Also say where the size of each effect is from.")
    ] = False,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="As JSON; `-`: standard output.")
    ] = None,
) -> int:
    """Tell whether this machine is fit to measure on, for what, and what would change that.

    Exit code 0: nothing speaks against it; 1: something does. With --fix it changes what was asked
    while COMMAND runs, or for an hour, and puts everything back to what it was.
    Example: tare doctor --fast
    """
    output.check_writable(json)
    if fix is not None:
        from tare.cli.doctor_fix import hold

        return hold(fix, command or [], hold_for=hold_for, as_root=as_root, json=json)
    if command or hold_for is not None:
        raise ExperimentError(
            "nothing is asked to be held", "tare doctor --fix all -- COMMAND   (or: --for 1h)"
        )
    wanted = _purposes(purpose)
    report = _examine(quantities.wait("--quiet-window", quiet_window), fast=fast)
    if json is not None:
        output.write_json(told(report), json)
    if json != "-":
        from tare.cli.doctor_screen import show

        show(report, wanted, every=all_, sources=sources)
    return 1 if any(name in wanted for name in report.unfit()) else 0


def told(report: Report) -> dict[str, Any]:
    """Return a report as programs read it."""
    from tare.render import data

    return {
        "version": 2,
        "fit": report.fit(),
        "unfit": report.unfit(),
        "fixes": report.fixes(),
        "checks": data.builtins(report.diagnoses),
    }


def _examine(quiet_s: float, *, fast: bool) -> Report:
    from tare import doctor as machine

    if fast:
        return machine.attainable(machine.examine(machine.look(watch_s=0)))
    return machine.attainable(machine.examine(machine.look(noise=lambda: _listen(quiet_s))))


def _listen(quiet_s: float) -> Noise:
    """Measure noise, with the time left for whoever waits."""
    from rich.progress import BarColumn, Progress, TextColumn

    from tare.doctor import listening

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=output.err, transient=True) as bar:
        if not sys.stderr.isatty():
            bar.disable = True
            output.err.print(f"Listening to the machine's noise for {output.seconds(quiet_s)}")
        task = bar.add_task("listening", total=quiet_s)

        def tell(elapsed_s: float) -> None:
            left = output.seconds(max(0.0, quiet_s - elapsed_s))
            bar.update(task, completed=elapsed_s, description=f"listening to noise, {left} left")

        return listening.listen(quiet_s, tell)


def _purposes(asked: list[str] | None) -> list[Purpose]:
    from tare.doctor import PURPOSES

    for name in asked or ():
        if name not in PURPOSES:
            raise ExperimentError(f"there is no purpose {name!r}", f"one of: {', '.join(PURPOSES)}")
    return [name for name in PURPOSES if not asked or name in asked]
