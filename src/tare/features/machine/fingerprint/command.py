"""``tare fingerprint``: what this machine can do; ``tare fingerprint diff``: what has changed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import console, options
from tare.cli.commands import Commands, Group
from tare.errors import ExperimentError, InterruptError, TrialError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.agent.record import Peer
    from tare.experiment.fingerprints.machine.document import Fingerprint
    from tare.features.machine.fingerprint.request import Asked

#: Seconds of the whole command, without writing a page: a minute and ten, with something to spare.
_TOTAL_S = {"quick": 57.0, "whole": 585.0}


class _Words(Group):
    """Takes words that are no commands as those of ``take``: ``tare fingerprint memory``."""

    standard = "take"


app = Commands(cls=_Words, help="Measure what this machine can do, or compare two results.")


@app.command()
def take(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Probes, metrics, or how their names begin: memory, syscall.getpid. "
            "[default: all]",
            metavar="[PROBE…]",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="All figures, in ten minutes instead of one.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time limit. [default: 1 min; --full: 10 min]"),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT", help="Precision of medians at which to stop. [default: 2%]"
        ),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory of a probe. [default: 1 GiB, or 1/4 of free]"),
    ] = None,
    max_file_size: Annotated[
        str, typer.Option(metavar="SIZE", help="Most to write to a file.")
    ] = "256 MiB",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of random orders.")] = 1,
    platform: Annotated[
        list[str] | None,
        typer.Option(
            "--platform",
            "-p",
            metavar="STACK",
            help="Stack of layers; several: overhead vs. the first. [default: bare]",
        ),
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where files are made. [default: /var/tmp]")
    ] = None,
    remote: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also read on this remote file system.")
    ] = None,
    peer: Annotated[
        str | None,
        typer.Option(metavar="HOST[:PORT]", help="Also measure to where tare net serve listens."),
    ] = None,
    key: options.Key = None,
    report: options.Report = None,
    json: options.Json = None,
) -> None:
    """Measure what this machine can do.

    Clocks, calls, system calls, memory, network, files: each figure with an interval and, where the
    hardware reports it, the expected value. With several platforms: how long each takes to start
    and to end, and its overhead.

        tare fingerprint --json machine.json
    """
    from tare import units
    from tare.cli import quantities
    from tare.features.machine.fingerprint.request import Asked

    console.check_writable(json, report)
    if report is not None:
        from tare.render import files

        files.format_of(report)
    stacks = platform or ["bare"]
    _measure(
        stacks,
        Asked(
            words=tuple(words or ()),
            effort="whole" if full else "quick",
            platform=stacks[0],
            budget_s=None if budget is None else quantities.wait("--budget", budget),
            precision=quantities.share("--precision", precision or "2%"),
            soon=bool(words) and budget is None and precision is None,
            memory_bytes=None
            if max_memory is None
            else quantities.read(units.size, "--max-memory", max_memory),
            file_bytes=quantities.read(units.size, "--max-file-size", max_file_size),
            directory=directory,
            remote=remote,
            peer=_peer(peer, key),
            seed=seed,
        ),
        json,
        report,
    )


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(help="File of --json.", metavar="A")],
    after: Annotated[Path, typer.Argument(help="The same, later or elsewhere.", metavar="B")],
    json: options.Json = None,
) -> None:
    """Compare two fingerprints.

    Exit code 0: the same; 1: changed; 2: inconclusive.

        tare fingerprint diff yesterday.json today.json
    """
    from tare.features.machine.fingerprint import diff_command

    raise typer.Exit(diff_command.diff(before, after, json))


def _measure(stacks: Sequence[str], asked: Asked, json: str | None, report: Path | None) -> None:
    from tare.features.machine.fingerprint import measure, several_command

    if len(stacks) > 1:
        several_command.measure(stacks, _timed(asked, len(stacks)), json, report)
        return
    from tare.features.machine.fingerprint.progress import Bar
    from tare.features.machine.fingerprint.screen import show

    asked = _timed(asked)
    with Bar() as bar:
        found, interrupted = measure.take(asked, bar)
        unwritten = several_command.write(found, json)
    if json != "-":
        show(found, named=bool(asked.words), json=json)
    written = _report(found, report)
    if unwritten is not None:
        # Only now: what took minutes is at least seen.
        raise unwritten
    if interrupted:
        kept = " ".join(f"what was measured is in {file}" for file in [json] if file)
        raise InterruptError(f"interrupted{kept and '; '}{kept}")
    if not found.metrics and not found.curves:
        raise TrialError("nothing could be measured", "tare describe probes")
    if json != "-":
        console.out.print(_next(json, written), soft_wrap=True)


def _timed(asked: Asked, platforms: int = 1) -> Asked:
    """Give it what is left of the time of the whole command, where nobody said another."""
    if asked.budget_s is not None:
        return asked
    # Everything has been loaded, so that little is to come.
    return replace(asked, budget_s=max(1.0, _TOTAL_S[asked.effort] * platforms - _spent_s()))


def _spent_s() -> float:
    """Return the seconds since this process was started; loading takes its time, too."""
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


def _report(found: Fingerprint, destination: Path | None) -> bool:
    if destination is None:
        return False
    from tare.experiment.catalogue import catalogue
    from tare.features.machine.fingerprint import page as fingerprint_page
    from tare.features.machine.fingerprint.several_command import typed
    from tare.render import files

    page = fingerprint_page.make(found, catalogue().probes, typed())
    for path in files.write(page, destination):
        console.err.print(f"Wrote   {path}")
    return True


def _next(json: str | None, reported: bool) -> str:
    """Return the next command worth typing."""
    from tare.features.machine.fingerprint.several_command import follow, typed

    if json is None:
        return follow(f"{typed()} --json machine.json", "keep")
    if not reported:
        return follow(f"{typed()} --report machine.html", "page")
    return follow(f"tare fingerprint diff {json} LATER.json", "diff")


def _peer(address: str | None, key: Path | None) -> Peer | None:
    """Return the other end of the network."""
    from tare.agent.record import Peer
    from tare.networks import peering

    if address is None and key is None:
        return None
    if address is None or key is None:
        raise ExperimentError("--peer and --key belong together", "--peer HOST --key FILE")
    return Peer(address=peering.numeric(address), key=peering.read_key(key))
