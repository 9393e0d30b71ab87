"""``tare net fingerprint``: a network's reference figures; ``diff``: what has changed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tare.cli import console
from tare.cli.again import FILES, again
from tare.cli.call import Call
from tare.errors import IncompleteError, InterruptError, StoreError, TrialError, Typed
from tare.options import kinds, shared
from tare.options.command import Entry, Group, command
from tare.options.option import HOW_MANY, WHAT, Options, argument, flag, option
from tare.results.message import message
from tare.results.report import NextStep, Report

if TYPE_CHECKING:
    from tare.experiment.fingerprints.network.document import NetworkFingerprint
    from tare.features.network.fingerprint.session import Wanted

#: Longest search for a bucket by default; a c5.xlarge's takes ten minutes to empty (CLOUDNET).
LONGEST_S = 900.0
_BRIEF = {"idle_s": 1.0, "fresh_s": 3.0, "write_s": 0.8, "rest_s": 30.0}


_PLACE = "tare.features.network.fingerprint.command"

GROUP = Group(
    help="Measure a network's reference figures, or compare two results.",
    commands={"take": Entry(f"{_PLACE}:take"), "diff": Entry(f"{_PLACE}:diff")},
    # A word that names no command is the host to measure: tare net fingerprint 192.0.2.1
    standard="take",
)


class TakeOptions(Options):
    """Options of ``tare net fingerprint``."""

    host: str = argument(
        kinds.WORD, "HOST[:PORT]", "Where tare net serve listens.", is_required=True,
    )  # fmt: skip
    direction: Literal["out", "in"] = option(
        kinds.choice(("out", "in"), "WAY"), "out (from here), or in.", group=WHAT, default="out",
    )  # fmt: skip
    streams: int = option(kinds.whole(1, 64), "Concurrent streams.", group=WHAT, default=1)
    duration: float = option(
        kinds.DURATION, "Longest search for a bucket.", group=HOW_MANY, default=LONGEST_S,
        shown="15min",
    )  # fmt: skip
    quick: bool = flag("Ten seconds; search for a bucket only with a limit.", group=HOW_MANY)
    max_bytes: int | None = option(
        kinds.DATA, "Most to send for a bucket: 500GB, 4Tbit.", group=HOW_MANY,
    )  # fmt: skip
    key: Path | None = shared.KEY
    store: bool = shared.STORE
    report: Path | None = shared.REPORT
    quiet: bool = shared.QUIET
    json: str | None = shared.JSON
    congestion: str = option(
        kinds.WORD, "Congestion control; kernel: its own choice.", metavar="NAME", rare=True,
        default="cubic",
    )  # fmt: skip


class DiffOptions(Options):
    """Options of ``tare net fingerprint diff``."""

    before: Path = argument(kinds.PATH, "A", "File of --json.", is_required=True)
    after: Path = argument(kinds.PATH, "B", "The same, later or elsewhere.", is_required=True)
    json: str | None = shared.JSON


@command(TakeOptions)
def take(given: TakeOptions, call: Call) -> int:
    """Measure a network's reference figures.

    Unpaced latency, base bandwidth, loaded latency, the effect of write sizes, and the token bucket
    if there is one (CLOUDNET, F5.2), to publish with results. Sends at full speed until a bucket is
    known or the time is over: mind the cost of traffic.

        tare net fingerprint 192.0.2.1 --key lab.key --json network.json
    """
    console.check_writable(given.json, given.report)
    if given.report is not None:
        from tare.render import files

        files.format_of(given.report)
    return _take(_wanted(given), given.json, given.report, remember=given.store)


@command(DiffOptions)
def diff(given: DiffOptions, call: Call) -> Report:
    """Compare two fingerprints of networks.

    Exit code 0: the same; 1: different; 2: inconclusive.

        tare net fingerprint diff yesterday.json today.json
    """
    from tare.features.network.fingerprint import diff_command

    console.check_writable(given.json)
    return diff_command.diff(given.before, given.after)


def _wanted(given: TakeOptions) -> Wanted:
    from tare.features.network.fingerprint.search import Bounds
    from tare.features.network.fingerprint.session import FEW_SIZES, SIZES, Wanted
    from tare.features.network.measure.checked import KERNEL, read_key

    bounds = Bounds(
        seconds=given.duration,
        bits=None if given.max_bytes is None else float(given.max_bytes),
    )
    searches = not given.quick or not given.given.isdisjoint({"duration", "max_bytes"})
    return Wanted(
        end=given.host,
        key=read_key("tare net fingerprint", given.host, given.key),
        effort="brief" if given.quick else "full",
        bucket=bounds if searches else None,
        sizes=FEW_SIZES if given.quick else SIZES,
        direction=given.direction,
        streams=given.streams,
        congestion=None if given.congestion == KERNEL else given.congestion,
        **(_BRIEF if given.quick else {}),
    )


def _take(wanted: Wanted, json: str | None, page: Path | None, *, remember: bool) -> int:
    from tare.cli.delivery import deliver
    from tare.features.network.fingerprint import page as reports
    from tare.features.network.fingerprint import session
    from tare.features.network.fingerprint.progress import Bar

    if wanted.bucket is not None:
        longest = console.seconds(wanted.bucket.seconds)
        console.err.print(
            f"Searches for a bucket at full speed for up to {longest} (skip with --quick)."
        )
    with Bar() as bar:
        found, cut = session.take(wanted, bar)
    unwritten = _keep(found, json, remember=remember and cut is None)
    out = None if json == "-" else json
    complete = unwritten is None and cut is None and bool(found.figures)
    next_step = _next(out, reported=page is not None) if complete else None
    made = reports.make(found, shlex.join(["tare", *sys.argv[1:]]), next_step)
    # The file of --json is the fingerprint, which other commands read.
    code = deliver(made, {"report": page, "export_json": json})
    if unwritten is not None:
        raise unwritten
    if cut is not None:
        kept = "" if out is None else f"; what was measured is in {out}"
        if isinstance(cut, InterruptError):
            raise InterruptError(f"interrupted{kept}")
        raise IncompleteError(f"not complete: {cut.message}{kept}", cut.hint)
    if not found.figures:
        raise TrialError(
            "nothing could be measured",
            Typed(f"tare net measure {shlex.quote(wanted.end)} --help"),
        )
    return code


def _keep(found: NetworkFingerprint, json: str | None, *, remember: bool) -> StoreError | None:
    """Write what was measured wherever it is to be; returns the first that could not be."""
    from tare.experiment.fingerprints.network import cache, file

    failed: list[StoreError] = []

    def attempt(write: Any) -> None:
        try:
            write()
        except StoreError as error:
            failed.append(error)

    if json is not None and json != "-":
        attempt(lambda: file.write(found, Path(json)))
    elif json is not None:
        console.write_json(found, json)
    # A part of it would hide an older one that is whole.
    if remember and found.figures:
        try:
            cache.remember(found)
        except StoreError as error:
            console.err.print(f"Note: later sessions will not know of it: {error.message}")
    return failed[0] if failed else None


def _next(out: str | None, *, reported: bool) -> NextStep:
    """Return the next command worth typing."""
    if out is None:
        return NextStep(again("net fingerprint", {"--json": "network.json"}), message("keeps it"))
    if not reported:
        return NextStep(
            again("net fingerprint", {"--report": "network.html"}),
            message("a page with the distributions"),
        )
    later = again("net fingerprint", {"--json": "later.json"}, FILES)
    return NextStep(
        f"{later} && {shlex.join(['tare', 'net', 'fingerprint', 'diff', out, 'later.json'])}",
        message("later: is it still the same network?"),
    )
