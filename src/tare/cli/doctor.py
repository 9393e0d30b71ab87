"""``tare doctor``: whether this machine is fit to measure on, and what would make it so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tare.cli import output
from tare.errors import ExperimentError

if TYPE_CHECKING:
    from tare.doctor import Diagnosis, Report
    from tare.doctor.noise_readings import Noise

#: How a judgement is shown: a sign and its word, so that no one depends on colour.
SIGNS = {"good": "✓ good", "note": "· note", "bad": "✕ bad", "hidden": "? hidden"}
SIGN_WIDTH = 8
STYLES = {"good": "green", "note": "", "bad": "bold red", "hidden": "dim"}


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
        str | None, typer.Option("--for", metavar="TIME", help="Hold so long, such as 1h.")
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
    sources: Annotated[
        bool, typer.Option("--sources", help="Also say where the size of each effect is from.")
    ] = False,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="As JSON; `-`: standard output.")
    ] = None,
) -> int:
    """Tell whether this machine is fit to measure on, for what, and what would change that.

    Exit code 0: nothing speaks against it; 1: something does. With --fix it changes what was asked
    for as long as it is held, and puts everything back to what it was. Example: tare doctor --fast
    """
    output.check_writable(json)
    if fix is not None:
        from tare.cli.doctor_fix import hold

        return hold(fix, command or [], hold_for=hold_for, as_root=as_root, json=json)
    if command or hold_for is not None:
        raise ExperimentError(
            "nothing is asked to be held", "tare doctor --fix governor --for 1h   (or: -- COMMAND)"
        )
    report = _examine(seconds(quiet_window, "--quiet-window"), fast=fast)
    wanted = _purposes(purpose)
    if json is not None:
        output.write_json(told(report), json)
    if json != "-":
        show(report, wanted, sources=sources)
    return 1 if any(name in wanted for name in report.unfit()) else 0


def seconds(text: str, option: str) -> float:
    """Read a time, whose unit may stand at its number: ``1h``.

    Raises
    ------
    ExperimentError
        If it is none.
    """
    from tare.experiment_file.kinds import seconds as kind

    expected = kind(positive=True)
    try:
        return float(expected.read(text))
    except ValueError as error:
        raise ExperimentError(
            f"{option} = {text!r} is not {expected.expected}", f"{option} 10s"
        ) from error


def told(report: Report) -> dict[str, Any]:
    """Return a report as programs read it."""
    import msgspec

    return {
        "version": 1,
        "fit": report.fit(),
        "unfit": report.unfit(),
        "fixes": report.fixes(),
        "checks": msgspec.to_builtins(report.diagnoses),
    }


def show(report: Report, wanted: list[str], *, sources: bool) -> None:
    """Print the summary, then what each check says."""
    output.out.print(summary(report, wanted))
    output.out.print()
    width = max(len(_title(name)) for name in report.diagnoses)
    for name, diagnosis in report.diagnoses.items():
        if diagnosis.purposes and not set(diagnosis.purposes) & set(wanted):
            continue
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, width=SIGN_WIDTH)
        table.add_column(no_wrap=True, width=width)
        table.add_column(overflow="fold")
        sign = Text(SIGNS[diagnosis.judgement], STYLES[diagnosis.judgement])
        table.add_row(sign, _title(name), diagnosis.value)
        output.out.print(table)
        for words in _details(diagnosis, sources):
            output.out.print(Padding(Text(words), (0, 0, 0, SIGN_WIDTH + 2)))


def summary(report: Report, wanted: list[str]) -> str:
    """Say what the machine is fit for, what not and why, and what to type."""
    from tare.doctor import PURPOSES

    unfit = {name: checks for name, checks in report.unfit().items() if name in wanted}
    fit = [PURPOSES[name] for name in report.fit() if name in wanted]
    lines = [f"Fit for {_list(fit)}." if fit else "Fit for nothing that was asked."]
    # Purposes that fail for the same reasons are told together.
    reasons: dict[tuple[str, ...], list[str]] = {}
    for name, checks in unfit.items():
        reasons.setdefault(tuple(checks), []).append(PURPOSES[name])
    for against, purposes in reasons.items():
        lines.append(f"Not fit for {_list(purposes)}, because of {_list(map(_title, against))}.")
    if fixes := report.fixes():
        count = f"{len(fixes)} setting{'s' * (len(fixes) > 1)}"
        lines.append(f"{count} could be changed: {_sudo()}tare doctor --fix all")
    return "\n".join(lines)


def _details(diagnosis: Diagnosis, sources: bool) -> list[str]:
    """Return what stands below a line that is not good."""
    from tare.doctor import PURPOSES

    if diagnosis.judgement not in ("bad", "note"):
        return []
    against = "bad for " if diagnosis.judgement == "bad" else "concerns "
    words = [against + ", ".join(PURPOSES[p] for p in diagnosis.purposes)] * bool(
        diagnosis.purposes
    )
    if diagnosis.why:
        words = [f"{': '.join([*words, diagnosis.why])}"]
    if diagnosis.effect:
        words.append(f"size: {diagnosis.effect}")
    if sources and diagnosis.source:
        words.append(f"source: {diagnosis.source}")
    if diagnosis.change:
        words.append(f"change: {diagnosis.change}")
    if diagnosis.fix:
        fixes = ",".join(f"{name}={value}" for name, value in diagnosis.fix.items())
        words.append(f"while tare holds it: {_sudo()}tare doctor --fix {fixes} -- COMMAND")
    return words


def _examine(quiet_s: float, *, fast: bool) -> Report:
    from tare import doctor as machine

    if fast:
        return machine.examine(machine.look(watch_s=0))
    return machine.examine(machine.look(noise=lambda: _listen(quiet_s)))


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


def _purposes(asked: list[str] | None) -> list[str]:
    from tare.doctor import PURPOSES

    for name in asked or ():
        if name not in PURPOSES:
            raise ExperimentError(f"there is no purpose {name!r}", f"one of: {', '.join(PURPOSES)}")
    return list(asked or PURPOSES)


def _title(name: str) -> str:
    from tare.registry import scan

    return str(scan("doctor")[name].description.title)


def _list(words: Any) -> str:
    *most, last = list(words)
    return f"{', '.join(most)} and {last}" if most else str(last)


def _sudo() -> str:
    import os

    return "" if os.geteuid() == 0 else f"sudo {Path(sys.argv[0]).parent.absolute()}/"
