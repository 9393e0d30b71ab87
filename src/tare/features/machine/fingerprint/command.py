"""``tare fingerprint``: what this machine can do; ``tare fingerprint diff``: what has changed."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tare.cli import console, options
from tare.cli.commands import Commands, Group
from tare.cli.delivery import reporting
from tare.errors import ExperimentError, InterruptError, TrialError, UsageError
from tare.results.message import Message, message
from tare.results.report import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.agent.record import Peer
    from tare.experiment.fingerprints.machine.document import Fingerprint
    from tare.features.machine.fingerprint.predictions import UserPrediction
    from tare.features.machine.fingerprint.request import Asked
    from tare.features.machine.fingerprint.weights import Weights

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
        str | None,
        typer.Option(metavar="SIZE", help="Most to write to a file. [default: 256 MiB]"),
    ] = None,
    file_cache: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Group of file.cache_size, or machine. [default: 1 GiB]",
        ),
    ] = None,
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
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='Your predictions, TOML: syscall.getpid = "120 ns".'),
    ] = None,
    report: options.Report = None,
    json: options.Json = None,
) -> Report:
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
    return _measure(
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
            file_bytes=None
            if max_file_size is None
            else quantities.read(units.size, "--max-file-size", max_file_size),
            file_cache=_file_cache(file_cache, words or (), full=full),
            directory=directory,
            remote=remote,
            peer=_peer(peer, key),
            seed=seed,
            predictions=_predictions(predictions),
        ),
        json,
        report,
    )


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(help="File of --json.", metavar="A")],
    after: Annotated[Path, typer.Argument(help="The same, later or elsewhere.", metavar="B")],
    json: options.Json = None,
) -> Report:
    """Compare two fingerprints.

    Exit code 0: the same; 1: changed; 2: inconclusive.

        tare fingerprint diff yesterday.json today.json
    """
    from tare.features.machine.fingerprint import diff_command

    console.check_writable(json)
    return diff_command.diff(before, after)


def _measure(stacks: Sequence[str], asked: Asked, json: str | None, report: Path | None) -> Report:
    """Measure one platform, or several relative to the first, and return the report."""
    from tare.experiment.catalogue import catalogue
    from tare.experiment.fingerprints.machine.document import Fingerprint
    from tare.features.machine.fingerprint import measure, page, several, weights_page
    from tare.features.machine.fingerprint.progress import Bar

    alone = len(stacks) == 1
    if not alone and asked.predictions:
        raise ExperimentError(
            "--predictions are of one machine, not of several platforms",
            "leave it out, or name one --platform",
        )
    if not alone and (asked.peer is not None or asked.remote is not None):
        raise ExperimentError(
            "--peer and --remote measure another machine, not platforms of this one",
            "leave them out, or name one --platform",
        )
    found: Fingerprint | Weights
    timed = _timed(asked, len(stacks))
    with Bar() as bar:
        if alone:
            found, interrupted = measure.take(timed, bar)
        else:
            found, interrupted = several.take(stacks, timed, bar)
    paged = report is not None
    next_ = _next(found, timed, json, reported=paged)
    make = (
        partial(page.make, found, catalogue().probes)
        if isinstance(found, Fingerprint)
        else partial(weights_page.make, found)
    )
    made = make(
        _typed(),
        named=bool(asked.words),
        paged=paged,
        next=() if next_ is None else (next_,),
    )
    with reporting(made):
        if interrupted:
            raise InterruptError(f"interrupted{'' if json is None else f'; what there is: {json}'}")
        if isinstance(found, Fingerprint) and not found.metrics and not found.curves:
            raise TrialError("nothing could be measured", "tare describe probes")
    return made


def _timed(asked: Asked, platforms: int) -> Asked:
    """Give it what is left of the time of the whole command, where nobody said another."""
    from tare.experiment.machine_facts import own_age_s

    if asked.budget_s is not None:
        return asked
    # Everything has been loaded, so that little is to come.
    return replace(asked, budget_s=max(1.0, _TOTAL_S[asked.effort] * platforms - own_age_s()))


def _next(
    found: Fingerprint | Weights, asked: Asked, json: str | None, *, reported: bool
) -> Message | None:
    """Return the next command worth typing, and what it brings; what is open is settled first."""
    from tare.cli.again import again
    from tare.experiment.fingerprints.machine.document import Fingerprint
    from tare.features.machine.fingerprint.request import AGAIN
    from tare.units import duration

    def next_(command: str, brings: Message) -> Message:
        return message("{command}   ({brings})", command=command, brings=brings)

    page = f"{_typed()} --report machine.html"
    if isinstance(found, Fingerprint):
        if json is None:
            return next_(
                f"{_typed()} --json machine.json", message("keeps it, to compare with later")
            )
        if not reported:
            return next_(page, message("a page with the curves"))
        return next_(f"tare fingerprint diff {json} LATER.json", message("what has changed?"))
    open_ = any(cost.verdict == "inconclusive" for one in found.platforms for cost in one.costs)
    if open_ and asked.budget_s is not None:
        command = again("fingerprint", {"--budget": duration(AGAIN * asked.budget_s)})
        return next_(command, message("more rounds: settles what is inconclusive"))
    return None if reported else next_(page, message("a page with every figure"))


def _typed() -> str:
    """Return what was typed, to be typed again."""
    return shlex.join(["tare", *sys.argv[1:]])


def _file_cache(
    typed: str | None, words: Sequence[str], *, full: bool
) -> int | Literal["machine"] | None:
    """Return the memory that files may fill, in bytes."""
    from tare import units
    from tare.cli import quantities
    from tare.features.machine.fingerprint.file_cache import LEAST_BYTES, PROBE

    if typed is None:
        return None
    if not full and not any(f"{PROBE}.".startswith(f"{word}.") for word in words):
        raise UsageError(f"--file-cache is for {PROBE}", f"tare fingerprint {PROBE}, or --full")
    if typed == "machine":
        return "machine"
    size = quantities.read(units.size, "--file-cache", typed)
    if size < LEAST_BYTES:
        least = units.quantity(LEAST_BYTES, "bytes")
        raise UsageError(f"--file-cache {typed!r} is below {least}", "--file-cache '64 MiB'")
    return size


def _predictions(path: Path | None) -> dict[str, UserPrediction]:
    """Return the user's predictions by figure; none without a file."""
    from tare.experiment.catalogue import catalogue
    from tare.features.machine.fingerprint import predictions

    return {} if path is None else predictions.read(path, catalogue().probes)


def _peer(address: str | None, key: Path | None) -> Peer | None:
    """Return the other end of the network."""
    from tare.agent.record import Peer
    from tare.networks import peering

    if address is None and key is None:
        return None
    if address is None or key is None:
        raise ExperimentError("--peer and --key belong together", "--peer HOST --key FILE")
    return Peer(address=peering.numeric(address), key=peering.read_key(key))
