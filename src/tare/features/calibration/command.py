"""``tare calibrate``: how this machine's speed follows the CPU time that it is given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from tare.cli import console, options
from tare.cli.commands import Commands, Group
from tare.results.report import Report

_SETTING = re.compile(r"[a-z_]+=\S+")


class _Words(Group):
    """Takes words that are no commands as those of ``sweep``: ``tare calibrate --step 0.2``."""

    standard = "sweep"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, each_its_option(args))


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


app = Commands(cls=_Words, help="Measure how speed scales with CPU time.")


@app.command()
def sweep(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="Command whose executions are counted, instead of LINPACK's.",
            metavar="[-- COMMAND…]",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="quota, cpuset, vcpus, or memory. [default: quota]"),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:P=N,…]",
            help="Kernel, such as linpack:size=2000; several are interleaved. [default: linpack]",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE…",
            help="Sweep under each value: turbo=on,off.",
        ),
    ] = None,
    step: Annotated[
        str | None, typer.Option(metavar="CPUS", help="Step between quotas. [default: 0.1]")
    ] = None,
    quotas: Annotated[
        str | None,
        typer.Option(metavar="CPUS,…", help="Quotas instead of --step, such as 0.1,0.5,1."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Concurrent executions. [default: one per CPU]"),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(metavar="TIME,…", help="Periods of the quota, interleaved. [default: 100 ms]"),
    ] = None,
    periods: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, hidden=True, help="Periods in a window. [default: 20]"),
    ] = None,
    windows: Annotated[
        int | None, typer.Option(metavar="N", help="Windows at each step. [default: 7]")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Instead of --windows: as many as fit.")
    ] = None,
    seed: options.Seed = None,
    platform: Annotated[
        str | None,
        typer.Option("--platform", "-p", metavar="STACK", help="Stack of layers. [default: bare]"),
    ] = None,
    image: options.Image = None,
    as_root: options.AsRoot = False,
    strict: options.Strict = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder for the results. [default: calibration]"
        ),
    ] = None,
    resume: options.Resume = False,
    fingerprint: Annotated[
        bool, typer.Option("--fingerprint", help="Probe the machine before and after (5 s each).")
    ] = False,
    json: options.Json = None,
) -> Report:
    """Measure how speed scales with CPU time.

    Is half of the CPU half of the speed here? LINPACK at quotas from 0.1 to all CPUs: one line or
    several, where more CPU time gives no more speed, and why. Takes 5 min with 2 CPUs.

        tare calibrate --budget '2 min'
    """
    from tare.features.calibration import sweep_command
    from tare.features.calibration.options import Options

    console.check_writable(json)
    asked = Options(
        by=by, platform=platform, image=image, step=step, quotas=quotas, kernel=tuple(kernel or ()),
        threads=threads, period=period, periods=periods, windows=windows, budget=budget,
        settings=tuple(settings or ()), seed=seed, fingerprint=fingerprint,
        command=tuple(command or ()),
    )  # fmt: skip
    folder = sweep_command.folder_for(asked, out, resume=resume)
    # The page is written to the same folder.
    ctx.params["out"] = folder
    return sweep_command.sweep(
        asked, folder, json, ctx.obj, resume=resume, as_root=as_root, strict=strict
    )


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="File of --json, or folder of --out.", metavar="A")],
    second: Annotated[Path, typer.Argument(help="The same of another machine.", metavar="B")],
    cpus: Annotated[
        str | None,
        typer.Option(metavar="CPUS,…", help="CPUs on A, such as 0.7,1. [default: A's steps]"),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="MB,…", help="Instead, where A was measured by memory: 512,1769."),
    ] = None,
    report: options.Report = None,
    json: options.Json = None,
) -> Report:
    """Convert CPU time on one machine to CPU time or memory on another.

    For each quota on A, the quota on B with the same speed, for `docker run --cpus`. What
    `tare calibrate fit --json` wrote of a platform without tare can be A or B.

        tare calibrate compare laptop.json server.json
    """
    from tare.features.calibration import compare_command

    return compare_command.compare(first, second, cpus, json, report, memory)


@app.command()
def forget(json: options.Json = None) -> Report:
    """Remove the stored calibrations of this machine.

    Those of this user; `sudo tare` has its own. Folders with results stay.

        tare calibrate forget
    """
    from tare.features.calibration import forget_command

    console.check_writable(json)
    return forget_command.forget()


@app.command()
def fit(
    file: Annotated[
        Path | None,
        typer.Argument(help="Table with columns quota and gflops.", metavar="[FILE.csv]"),
    ] = None,
    quota: Annotated[
        str, typer.Option(metavar="C", help="Column of the quota: CPUs; …_mb is memory in MB.")
    ] = "quota",
    value: Annotated[str, typer.Option(metavar="C", help="Column of the speed.")] = "gflops",
    slope: Annotated[
        float | None,
        typer.Option(metavar="N", help="Published line instead of a table: per CPU, or per MB."),
    ] = None,
    intercept: Annotated[
        float | None, typer.Option(metavar="N", help="Intercept of the published line.")
    ] = None,
    range: Annotated[
        str | None,
        typer.Option(metavar="FROM,TO", help="CPUs or MB that the published line covers."),
    ] = None,
    r_squared: Annotated[
        float | None, typer.Option(metavar="N", help="R² of the published line.")
    ] = None,
    maximum: Annotated[
        float | None, typer.Option(metavar="N", help="Maximum that was published with it.")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(metavar="NAME", help='What was measured, such as "Intel\'s LINPACK".'),
    ] = None,
    report: options.Report = None,
    json: options.Json = None,
) -> Report:
    """Fit lines to a measured sweep, or keep a published line.

    One line, several, or a ceiling, with slope, intercept, R² and p as in CALIBRATE. With --json,
    `tare calibrate compare` reads it: how much of that platform is as fast as this machine?

        tare calibrate fit sweep.csv
    """
    from tare.features.calibration import fit_command
    from tare.features.calibration.fit_command import Published

    line = Published(
        slope=slope, intercept=intercept, range=range, r_squared=r_squared, maximum=maximum
    )
    return fit_command.fit(file, json, report, quota, value, workload, line)
