"""``tare fingerprint``: what this machine can do; ``tare fingerprint diff``: what has changed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tare import units
from tare.cli import console
from tare.cli.call import Call
from tare.cli.delivery import reporting
from tare.errors import ExperimentError, InterruptError, TrialError, Typed, UsageError
from tare.options import kinds, measuring, shared
from tare.options.command import Entry, Group, command
from tare.options.option import (
    HOW_MANY,
    WHAT,
    WHERE,
    Options,
    argument,
    flag,
    like,
    option,
)
from tare.results.message import message
from tare.results.report import NextStep, Report

if TYPE_CHECKING:
    from tare.agent.record import Peer
    from tare.experiment.fingerprints.machine.document import Fingerprint
    from tare.features.machine.fingerprint.predictions import UserPrediction
    from tare.features.machine.fingerprint.request import Asked
    from tare.features.machine.fingerprint.weights import Weights

#: Seconds of the whole command, without writing a page: a minute and ten, with something to spare.
_TOTAL_S = {"quick": 57.0, "whole": 585.0}
#: Half-width of medians, relative.
_PRECISION = 0.02

GROUP = Group(
    help="Measure what this machine can do, or compare two results.",
    standard="take",
    commands={
        name: Entry(f"tare.features.machine.fingerprint.command:{name}")
        for name in ("take", "diff")
    },
)


def _cache_size(value: Any) -> int:
    """Return the size of a group whose files the probe can fill."""
    from tare.features.machine.fingerprint.file_cache import LEAST_BYTES

    size: int = kinds.SIZE.read(value)
    if size < LEAST_BYTES:
        raise units.QuantityError(f"is below {units.quantity(LEAST_BYTES, 'bytes')}", "'64 MiB'")
    return size


class TakeOptions(Options):
    """Options of ``tare fingerprint``."""

    words: list[str] = argument(
        kinds.WORD, "[PROBE…]",
        "Probes, metrics, or how their names begin: memory, syscall.getpid.", shown="all",
        repeatable=True,
    )  # fmt: skip
    predictions: Path | None = option(
        kinds.PATH, 'Your predictions, TOML: syscall.getpid = "120 ns".', group=WHAT
    )
    precision: float = option(
        kinds.share(0, 1), "Precision of medians at which to stop.", group=HOW_MANY,
        default=_PRECISION, shown="2%",
    )  # fmt: skip
    budget: float | None = option(
        kinds.DURATION, "Time limit.", group=HOW_MANY, shown="1 min; --full: 10 min"
    )
    full: bool = flag("All figures, in ten minutes instead of one.", group=HOW_MANY)
    max_memory: int | None = option(
        kinds.SIZE, "Memory of a probe.", group=HOW_MANY, shown="1 GiB, or 1/4 of free"
    )
    max_file_size: int | None = option(
        kinds.SIZE, "Most to write to a file.", group=HOW_MANY, shown="256 MiB"
    )
    file_cache: int | Literal["machine"] | None = option(
        kinds.either(("machine",), replace(kinds.SIZE, read=_cache_size)),
        "Group of file.cache_size, or machine.", group=HOW_MANY, shown="1 GiB",
    )  # fmt: skip
    seed: int = like(shared.SEED, group=HOW_MANY, rare=False, default=1)
    platform: list[str] = option(
        measuring.STACK, "Stack of layers; several: overhead vs. the first.", group=WHERE,
        short="-p", shown="bare", repeatable=True,
    )  # fmt: skip
    directory: Path | None = option(
        kinds.FOLDER, "Where files are made.", group=WHERE, shown="/var/tmp"
    )
    remote: Path | None = option(kinds.FOLDER, "Also read on this remote file system.", group=WHERE)
    peer: str | None = option(
        kinds.WORD, "Also measure to where tare net serve listens.", group=WHERE,
        metavar="HOST[:PORT]",
    )  # fmt: skip
    key: Path | None = shared.KEY
    report: Path | None = shared.REPORT
    quiet: bool = shared.QUIET
    json: str | None = shared.JSON


class DiffOptions(Options):
    """Options of ``tare fingerprint diff``."""

    before: Path = argument(kinds.PATH, "A", "File of --json.", is_required=True)
    after: Path = argument(kinds.PATH, "B", "The same, later or elsewhere.", is_required=True)
    json: str | None = shared.JSON


@command(TakeOptions)
def take(given: TakeOptions, call: Call) -> Report:
    """Measure what this machine can do.

    Clocks, calls, system calls, memory, network, files: each figure with an interval and, where the
    hardware reports it, the expected value. With several platforms: how long each takes to start
    and to end, and its overhead.

        tare fingerprint --json machine.json
    """
    from tare.features.machine.fingerprint.request import Asked

    console.check_writable(given.json, given.report)
    if given.report is not None:
        from tare.render import files

        files.format_of(given.report)
    if given.file_cache is not None:
        _check_file_cache(given)
    stacks = given.platform or ["bare"]
    return _measure(
        stacks,
        Asked(
            words=tuple(given.words),
            effort="whole" if given.full else "quick",
            platform=stacks[0],
            budget_s=given.budget,
            precision=given.precision,
            soon=bool(given.words) and not given.given & {"budget", "precision"},
            memory_bytes=given.max_memory,
            file_bytes=given.max_file_size,
            file_cache=given.file_cache,
            directory=given.directory,
            remote=given.remote,
            peer=_peer(given.peer, given.key),
            seed=given.seed,
            predictions=_predictions(given.predictions),
        ),
        given.json,
        given.report,
    )


@command(DiffOptions)
def diff(given: DiffOptions, call: Call) -> Report:
    """Compare two fingerprints.

    Exit code 0: the same; 1: changed; 2: inconclusive.

        tare fingerprint diff yesterday.json today.json
    """
    from tare.features.machine.fingerprint import diff_command

    console.check_writable(given.json)
    return diff_command.diff(given.before, given.after)


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
    next_step = _next(found, timed, json, reported=paged)
    make = (
        partial(page.make, found, catalogue().probes)
        if isinstance(found, Fingerprint)
        else partial(weights_page.make, found)
    )
    made = make(
        _typed(),
        named=bool(asked.words),
        paged=paged,
        next_step=next_step,
    )
    with reporting(made):
        if interrupted:
            raise InterruptError(f"interrupted{'' if json is None else f'; what there is: {json}'}")
        if isinstance(found, Fingerprint) and not found.metrics and not found.curves:
            raise TrialError("nothing could be measured", Typed("tare describe probes"))
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
) -> NextStep | None:
    """Return the next command worth typing, and what it brings; what is open is settled first."""
    from tare.cli.again import FILES, again
    from tare.experiment.fingerprints.machine.document import Fingerprint
    from tare.features.machine.fingerprint.request import AGAIN
    from tare.units import duration

    page = again("fingerprint", {"--report": "machine.html"})
    if isinstance(found, Fingerprint):
        if json is None:
            return NextStep(
                again("fingerprint", {"--json": "machine.json"}),
                message("keeps it, to compare with later"),
            )
        if not reported:
            return NextStep(page, message("a page with the curves"))
        if json == "-":
            return None
        later = again("fingerprint", {"--json": "later.json"}, FILES)
        return NextStep(
            f"{later} && {shlex.join(['tare', 'fingerprint', 'diff', json, 'later.json'])}",
            message("later: what has changed?"),
        )
    open_ = any(cost.verdict == "inconclusive" for one in found.platforms for cost in one.costs)
    if open_ and asked.budget_s is not None:
        command = again("fingerprint", {"--budget": duration(AGAIN * asked.budget_s)})
        return NextStep(command, message("more rounds: settles what is inconclusive"))
    return None if reported else NextStep(page, message("a page with every figure"))


def _typed() -> str:
    """Return what was typed, to be typed again."""
    return shlex.join(["tare", *sys.argv[1:]])


def _check_file_cache(given: TakeOptions) -> None:
    """Refuse a size of the file cache where that is not measured."""
    from tare.features.machine.fingerprint.file_cache import PROBE

    if not given.full and not any(f"{PROBE}.".startswith(f"{word}.") for word in given.words):
        raise UsageError(f"--file-cache is for {PROBE}", Typed(f"--full   (or name {PROBE})"))


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
        raise ExperimentError(
            "--peer and --key belong together",
            "name the host with --peer, and its key file with --key",
        )
    return Peer(address=peering.numeric(address), key=peering.read_key(key))
