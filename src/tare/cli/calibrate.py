"""``tare calibrate``: how this machine's speed follows the CPU time that it is given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from tare.cli import output
from tare.cli.failed import Group

_SETTING = re.compile(r"[a-z_]+=\S+")


class _Words(Group):
    """Takes words that are no commands as those of ``sweep``: ``tare calibrate --step 0.2``."""

    standard = "sweep"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = bool(args) and args[0] in self.commands
        args = args if known else [self.standard, *each_its_option(args)]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return ("" if name == self.standard else name), command, rest


def each_its_option(args: list[str]) -> list[str]:
    """Let every setting that follows ``--settings`` have its own: ``--settings a=1 b=2``."""
    found: list[str] = []
    following = False
    for number, word in enumerate(args):
        if word == "--":
            return found + args[number:]
        if following and _SETTING.fullmatch(word):
            found += [] if found[-1] == "--settings" else ["--settings"]
        else:
            following = word == "--settings"
        found.append(word)
    return found


app = typer.Typer(
    cls=_Words, help="Measure how this machine's speed follows the CPU time that it is given."
)


@app.command()
def sweep(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="Any command, after `--`, whose executions are counted instead of LINPACK's.",
            metavar="[-- COMMAND…]",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="What is given in steps: quota, cpuset (whole CPUs), vcpus (those of virtual "
            "machines) or memory (as function platforms do).  [default: quota]"
        ),
    ] = None,
    platform: Annotated[
        str | None, typer.Option("--platform", "-p", help="A stack of layers.  [default: bare]")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Image for docker.")] = None,
    step: Annotated[str | None, typer.Option(help="From quota to quota.  [default: 0.1]")] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="The first quota.  [default: a step]")
    ] = None,
    stop: Annotated[
        str | None, typer.Option("--to", help="The last quota.  [default: all CPUs]")
    ] = None,
    quotas: Annotated[
        str | None, typer.Option(help="Instead of steps: a list, such as 0.1,0.5,1.")
    ] = None,
    memory_sizes: Annotated[
        str | None,
        typer.Option(help="With --by memory: a list of MB (of 2^20 bytes).  [default: the preset]"),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="With --by memory: lambda (AWS: 1769 MB are 1 vCPU).  [default: lambda]"),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:P=N,…]",
            help="A kernel with its parameters: `tare describe kernels`.  [default: linpack]",
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(min=1, help="The kernel's size: LINPACK's n.  [default: 1000]"),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Executions side by side.  [default: one for each CPU]"),
    ] = None,
    one_lu: Annotated[
        bool, typer.Option("--one-lu", help="One LINPACK by all threads, not one by each.")
    ] = False,
    period: Annotated[
        str | None,
        typer.Option(
            help="After which CPU time is handed out; several, such as '5 ms,100 ms', are tried "
            "beside each other.  [default: 100 ms]"
        ),
    ] = None,
    periods: Annotated[
        int | None, typer.Option(min=1, help="Whole periods in a window.  [default: 20]")
    ] = None,
    windows: Annotated[
        int | None, typer.Option(help="At each step, in random order.  [default: 7]")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Instead of --windows: as many as fit a time."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,…",
            help="Sweep under every combination of settings, such as governor=powersave,performance"
            " turbo=on,off; put back afterwards.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Decides random orders.  [default: 1]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Keep trials and page here.  [default: calibration, or calibration-2 …]",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the sweep in --out DIR.")
    ] = False,
    fingerprint: Annotated[
        bool,
        typer.Option(help="Probe the machine for 5 s before and after the trials."),
    ] = False,
    as_root: Annotated[
        bool, typer.Option("--as-root", help="Under sudo: run a command as root, not as you.")
    ] = False,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="The calibration; `-`: standard output."),
    ] = None,
) -> None:
    """Measure how this machine's speed follows the CPU time that it is given.

    LINPACK at quotas from 0.1 to all CPUs, in windows of whole periods: a straight line or several,
    where more CPU time gives no more, and why. `tare calibrate fit FILE.csv` judges others' sweeps,
    `tare calibrate compare A B` tells what CPU time on A is worth on B.
    Example: tare calibrate --step 0.2
    """
    from tare.cli import calibrate_sweep
    from tare.cli.calibrate_asked import Options

    output.check_writable(json)
    options = Options(
        by=by, platform=platform, image=image, step=step, start=start, stop=stop, quotas=quotas,
        memory_sizes=memory_sizes, preset=preset, kernel=kernel, size=size, threads=threads,
        one_lu=one_lu, period=period, periods=periods, windows=windows, budget=budget,
        settings=tuple(settings or ()), seed=seed, fingerprint=fingerprint,
        command=tuple(command or ()),
    )  # fmt: skip
    calibrate_sweep.sweep(options, out, json, resume=resume, as_root=as_root)


@app.command()
def compare(
    first: Annotated[
        Path, typer.Argument(help="What --json FILE wrote, or the folder of --out.", metavar="A")
    ],
    second: Annotated[Path, typer.Argument(help="The same, of another machine.", metavar="B")],
    cpus: Annotated[
        str | None,
        typer.Option(help="CPUs on A that are asked for, such as 0.7,1.  [default: A's steps]"),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Also as JSON; `-`: standard output."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="A page: .html, or .md.")
    ] = None,
) -> None:
    """Tell which CPU time on B is as fast as which on A, for `docker run --cpus`.

    Example: tare calibrate compare laptop.json server.json
    """
    from tare.cli import calibrate_compare

    calibrate_compare.compare(first, second, cpus, json, report)


@app.command()
def forget(
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Also as JSON; `-`: standard output."),
    ] = None,
) -> None:
    """Remove the calibrations of this machine that later sessions would cite.

    Those of this user; `sudo tare` has its own. Folders with trials and pages stay.
    Example: tare calibrate forget
    """
    from tare.cli import calibrate_forget

    calibrate_forget.forget(json)


@app.command()
def fit(
    file: Annotated[
        Path, typer.Argument(help="A table with columns quota and gflops.", metavar="FILE.csv")
    ],
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Also as JSON; `-`: standard output."),
    ] = None,
    quota: Annotated[str, typer.Option(help="Column of what was given.")] = "quota",
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="A page: .html, or .md.")
    ] = None,
    value: Annotated[str, typer.Option(help="Column of what it achieved.")] = "gflops",
) -> None:
    """Tell whether speeds that others measured follow the quota along one line.

    One line, several, or a ceiling; with the slope, intercept, R² and p that CALIBRATE has.
    Example: tare calibrate fit sweep.csv
    """
    from tare.cli import calibrate_fit

    calibrate_fit.fit(file, json, report, quota, value)
