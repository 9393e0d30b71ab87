"""``tare net fingerprint``: a network's reference figures; ``diff``: what has changed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tare.cli import console, options
from tare.cli.commands import Commands, Group
from tare.errors import IncompleteError, InterruptError, StoreError, TrialError, UsageError
from tare.results.message import Message, message
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.experiment.fingerprints.network.document import NetworkFingerprint
    from tare.features.network.fingerprint.session import Wanted

#: Longest search for a bucket by default; a c5.xlarge's takes ten minutes to empty (CLOUDNET).
LONGEST = "15min"
_BRIEF = {"idle_s": 1.0, "fresh_s": 3.0, "write_s": 0.8, "rest_s": 30.0}


class _Hosts(Group):
    """Takes what is no command as the host of ``take``: ``tare net fingerprint 192.0.2.1``."""

    standard = "take"


app = Commands(cls=_Hosts, help="Measure a network's reference figures, or compare two results.")


@app.command()
def take(
    host: Annotated[
        str, typer.Argument(metavar="HOST[:PORT]", help="Where tare net serve listens.")
    ],
    direction: Annotated[str, typer.Option(metavar="WAY", help="out (from here), or in.")] = "out",
    streams: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="Concurrent streams.")
    ] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="Ten seconds; search for a bucket only with a limit.")
    ] = False,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"Longest search for a bucket. [default: {LONGEST}]"),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Most to send for a bucket: 500GB, 4Tbit."),
    ] = None,
    key: options.Key = None,
    store: options.Store = True,
    report: options.Report = None,
    json: options.Json = None,
    congestion: Annotated[
        str,
        typer.Option(
            metavar="NAME", hidden=True, help="Congestion control; kernel: its own choice."
        ),
    ] = "cubic",
) -> int:
    """Measure a network's reference figures.

    Unpaced latency, base bandwidth, loaded latency, the effect of write sizes, and the token bucket
    if there is one (CLOUDNET, F5.2), to publish with results. Sends at full speed until a bucket is
    known or the time is over: mind the cost of traffic.

        tare net fingerprint 192.0.2.1 --key lab.key --json network.json
    """
    console.check_writable(json, report)
    if report is not None:
        from tare.render import files

        files.format_of(report)
    wanted = _wanted(
        host, key, quick=quick, search=not quick or bool(duration or max_bytes),
        duration=duration, max_bytes=max_bytes,
        streams=streams, direction=direction, congestion=congestion,
    )  # fmt: skip
    return _take(wanted, json, report, remember=store)


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(help="File of --json.", metavar="A")],
    after: Annotated[Path, typer.Argument(help="The same, later or elsewhere.", metavar="B")],
    json: options.Json = None,
) -> Report:
    """Compare two fingerprints of networks.

    Exit code 0: the same; 1: different; 2: inconclusive.

        tare net fingerprint diff yesterday.json today.json
    """
    from tare.features.network.fingerprint import diff_command

    console.check_writable(json)
    return diff_command.diff(before, after)


def _wanted(
    host: str,
    key: Path | None,
    *,
    quick: bool,
    search: bool,
    duration: str | None,
    max_bytes: str | None,
    streams: int,
    direction: str,
    congestion: str,
) -> Wanted:
    from tare.cli import quantities
    from tare.features.network.fingerprint.search import Bounds
    from tare.features.network.fingerprint.session import FEW_SIZES, SIZES, Wanted
    from tare.features.network.measure.options import KERNEL, read_key

    secret = read_key("tare net fingerprint", host, key)
    if direction not in ("out", "in"):
        raise UsageError(f"--direction {direction!r} is neither out nor in", "--direction out")
    bounds = Bounds(
        seconds=quantities.wait("--duration", duration or LONGEST),
        bits=None if max_bytes is None else _bits(max_bytes),
    )
    return Wanted(
        end=host,
        key=secret,
        effort="brief" if quick else "full",
        bucket=bounds if search else None,
        sizes=FEW_SIZES if quick else SIZES,
        direction="in" if direction == "in" else "out",
        streams=streams,
        congestion=None if congestion == KERNEL else congestion,
        **(_BRIEF if quick else {}),
    )


def _bits(text: str) -> float:
    from tare import units
    from tare.cli import quantities

    bits = float(quantities.read(units.bits, "--max-bytes", text))
    if bits <= 0:
        raise UsageError("--max-bytes: nothing may be sent", "--quick   (searches for none)")
    return bits


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
    following = (_next(wanted.end, out, reported=page is not None),) if complete else ()
    made = reports.make(found, shlex.join(["tare", *sys.argv[1:]]), following)
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
        raise TrialError("nothing could be measured", "tare net measure HOST --key FILE")
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


def _next(host: str, out: str | None, *, reported: bool) -> Message:
    """Return the next command worth typing."""
    if out is None:
        return message("tare net fingerprint {host} … --json network.json   (keeps it)", host=host)
    if not reported:
        return message(
            "tare net plan {file} EXPERIMENT.toml   (idle periods between trials)", file=out
        )
    return message(
        "tare net fingerprint diff {file} LATER.json   (is it still the same network?)", file=out
    )
