"""``tare net fingerprint``: a network's reference figures; ``diff``: what has changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tare.cli import output
from tare.cli.failed import Group
from tare.errors import IncompleteError, InterruptError, StoreError, TrialError, UsageError

if TYPE_CHECKING:
    from tare.network_fingerprint.document import NetworkFingerprint
    from tare.network_fingerprint.measuring import Wanted

#: How long a bucket is looked for: that of a c5.xlarge takes ten minutes to empty (CLOUDNET).
_LONGEST = "15min"
_BRIEF = {"idle_s": 1.0, "fresh_s": 3.0, "write_s": 0.8, "rest_s": 30.0}
#: The kernel's own choice of congestion control.
_KERNEL = "kernel"


class _Hosts(Group):
    """Takes what is no command as the host of ``take``: ``tare net fingerprint 192.0.2.1``."""

    standard = "take"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if known else [self.standard, *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return ("" if name == self.standard else name), command, rest


app = typer.Typer(
    cls=_Hosts, help="Measure a network's reference figures, or what has changed of them."
)


@app.command()
def take(
    host: Annotated[
        str, typer.Argument(metavar="HOST[:PORT]", help="Where `tare net serve` listens.")
    ],
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The secret that both ends share.")
    ] = None,
    brief: Annotated[
        bool,
        typer.Option(
            "--brief",
            help="Take ten seconds: four sizes of writes, and no search for a bucket, unless "
            "--for or --most bounds one.",
        ),
    ] = False,
    lasts: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help=f"Search for a bucket for up to this long.  [default: {_LONGEST}]",
        ),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT", help="Send no more than this to search for a bucket: 500GB, 4Tbit."
        ),
    ] = None,
    streams: Annotated[int, typer.Option(min=1, max=64, help="Data streams side by side.")] = 1,
    direction: Annotated[str, typer.Option(help="out: from here; in: to here.")] = "out",
    congestion: Annotated[
        str, typer.Option(help=f"Congestion control; {_KERNEL}: the kernel's own choice.")
    ] = "cubic",
    remember: Annotated[
        bool, typer.Option(help="Store it with the results of later sessions on this machine.")
    ] = True,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Keep the fingerprint; `-`: standard output."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A page with pictures: .html, or .md."),
    ] = None,
) -> None:
    """Measure a network's reference figures: to publish with results, and to check again.

    Unpaced latency, base bandwidth, loaded latency, what the size of writes does, and the token
    bucket, if one is seen (CLOUDNET, F5.2). Later sessions on this machine store it as facts. It
    sends at full speed until a bucket is known or the time is over: mind what traffic costs.
    Example: tare net fingerprint 192.0.2.1 --key lab.key --json network.json
    """
    output.check_writable(json, report)
    if report is not None:
        from tare.report import format_of

        format_of(report, "--report network.html")
    wanted = _wanted(
        host, key, brief=brief, search=not brief or bool(lasts or most),
        lasts=lasts, most=most,
        streams=streams, direction=direction, congestion=congestion,
    )  # fmt: skip
    _take(wanted, json, report, remember=remember)


@app.command()
def diff(
    before: Annotated[Path, typer.Argument(help="What --json FILE wrote.", metavar="A")],
    after: Annotated[Path, typer.Argument(help="The same, later or elsewhere.", metavar="B")],
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Also as JSON; `-`: standard output."),
    ] = None,
) -> None:
    """Tell what differs between two fingerprints; exit 0: the same, 1: differs, 2: inconclusive.

    Example: tare net fingerprint diff yesterday.json today.json
    """
    from tare.cli import net_fingerprint_diff

    raise typer.Exit(net_fingerprint_diff.diff(before, after, json))


def _wanted(
    host: str,
    key: Path | None,
    *,
    brief: bool,
    search: bool,
    lasts: str | None,
    most: str | None,
    streams: int,
    direction: str,
    congestion: str,
) -> Wanted:
    from tare import peering
    from tare.cli import quantities
    from tare.network_fingerprint.measuring import FEW_SIZES, SIZES, Wanted
    from tare.network_fingerprint.searching import Bounds

    if key is None:
        raise UsageError(
            "--key is missing: the key file that the other end was started with",
            f"tare net fingerprint {host} --key FILE   (a copy of the other end's)",
        )
    if direction not in ("out", "in"):
        raise UsageError(f"--direction {direction!r} is neither out nor in", "--direction out")
    bounds = Bounds(
        seconds=quantities.wait("--for", lasts or _LONGEST),
        bits=None if most is None else _bits(most),
    )
    return Wanted(
        end=host,
        key=peering.read_key(key),
        effort="brief" if brief else "full",
        bucket=bounds if search else None,
        sizes=FEW_SIZES if brief else SIZES,
        direction="in" if direction == "in" else "out",
        streams=streams,
        congestion=None if congestion == _KERNEL else congestion,
        **(_BRIEF if brief else {}),
    )


def _bits(text: str) -> float:
    from tare import units
    from tare.cli import quantities

    bits = float(quantities.read(units.bits, "--most", text))
    if bits <= 0:
        raise UsageError("--most: nothing may be sent", "--brief   (searches for none)")
    return bits


def _take(wanted: Wanted, json: str | None, report: Path | None, *, remember: bool) -> None:
    from tare.cli.net_fingerprint_progress import Bar
    from tare.cli.net_fingerprint_screen import show
    from tare.network_fingerprint import measuring

    if wanted.bucket is not None:
        longest = output.seconds(wanted.bucket.seconds)
        output.err.print(
            f"Searches for a bucket at full speed for up to {longest} (skip with --brief)."
        )
    with Bar() as bar:
        found, cut = measuring.take(wanted, bar)
    unwritten = _keep(found, json, remember=remember and cut is None)
    if json != "-":
        show(found)
    written = _report(found, report)
    out = None if json == "-" else json
    if unwritten is not None:
        raise unwritten
    if cut is not None:
        kept = "" if out is None else f"; what was measured is in {out}"
        if isinstance(cut, InterruptError):
            raise InterruptError(f"interrupted{kept}")
        raise IncompleteError(f"not complete: {cut.message}{kept}", cut.hint)
    if not found.figures:
        raise TrialError("nothing could be measured", "tare net measure HOST --key FILE")
    if json != "-":
        output.out.print(_next(wanted.end, out, written), soft_wrap=True)


def _keep(found: NetworkFingerprint, json: str | None, *, remember: bool) -> StoreError | None:
    """Write what was measured wherever it is to be; returns the first that could not be."""
    from tare.network_fingerprint import file, remembered

    failed: list[StoreError] = []

    def attempt(write: Any) -> None:
        try:
            write()
        except StoreError as error:
            failed.append(error)

    if json is not None and json != "-":
        attempt(lambda: file.write(found, Path(json)))
    elif json is not None:
        output.write_json(found, json)
    # A part of it would hide an older one that is whole.
    if remember and found.figures:
        try:
            remembered.remember(found)
        except StoreError as error:
            output.err.print(f"Note: later sessions will not know of it: {error.message}")
    return failed[0] if failed else None


def _report(found: NetworkFingerprint, destination: Path | None) -> bool:
    if destination is None:
        return False
    import shlex

    from tare.report import network_fingerprint_page

    command = shlex.join(["tare", *sys.argv[1:]])
    for path in network_fingerprint_page.write(found, destination, command):
        output.err.print(f"Wrote   {path}")
    return True


def _next(host: str, out: str | None, reported: bool) -> str:
    """Return the next command worth typing."""
    if out is None:
        return f"Next    tare net fingerprint {host} … --json network.json   (keeps it)"
    if not reported:
        return f"Next    tare net plan {out} EXPERIMENT.toml   (how long to rest between trials)"
    return f"Next    tare net fingerprint diff {out} LATER.json   (is it still the same network?)"
