"""``tare fingerprint``: what this machine can do; ``tare fingerprint diff``: what has changed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tare.cli import output
from tare.cli.failed import Group
from tare.errors import ExperimentError, InterruptError, TrialError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.fingerprint.asked import Asked
    from tare.fingerprint.document import Fingerprint
    from tare.record import Peer

#: Seconds of the whole command, without writing a page: a minute and ten, with something to spare.
_TOTAL_S = {"quick": 57.0, "whole": 585.0}


class _Words(Group):
    """Takes words that are no commands as those of ``take``: ``tare fingerprint memory``."""

    standard = "take"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if known else [self.standard, *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return ("" if name == self.standard else name), command, rest


app = typer.Typer(cls=_Words, help="Measure what this machine can do, or what has changed of it.")


@app.command()
def take(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Probes, metrics, or how their names begin: memory, syscall.getpid; default: all.",
            metavar="PROBE…",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Core figures in a minute; what happens by default.")
    ] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Everything, in ten minutes.")] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Measure no longer than this.  [default: what is left of a minute, or of ten; "
            "what is named ends sooner, after 100 rounds, or 20 long ones]"
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            help="Stop when medians are known this well, where 50 rounds fit the budget.  "
            "[default: 2%]"
        ),
    ] = None,
    platform: Annotated[
        list[str] | None,
        typer.Option(
            "--platform",
            "-p",
            help="Where: a stack of layers, outside-in; several: what each weighs beside the "
            "first.  [default: bare]",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Most memory that a probe may take.  [default: 1 GiB, or a quarter of what is "
            "available]"
        ),
    ] = None,
    files: Annotated[str, typer.Option(help="Most that a probe may write to a file.")] = "256 MiB",
    directory: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where files are made.  [default: /var/tmp]"),
    ] = None,
    remote: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="One on another machine's file system: also read there."),
    ] = None,
    peer: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]", help="Where `tare net serve` listens: also measure to there."
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The secret that both ends share.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides random orders.")] = 1,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="All figures as JSON; `-`: standard output."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="A page with curves: .html, or .md."),
    ] = None,
) -> None:
    """Measure what this machine can do: clocks, calls, system calls, memory, network, files.

    Every figure has an interval and, where the hardware tells, what it was to be expected. What
    cannot be measured here is told, and the rest goes on. With several platforms: how long each
    takes to start and to end, and what it costs, figure by figure. `tare fingerprint diff A B`
    tells what changed between two. Example: tare fingerprint --json machine.json
    """
    from tare import units
    from tare.cli import quantities
    from tare.fingerprint.asked import Asked

    if quick and whole:
        raise ExperimentError("--quick and --whole exclude each other", "leave one of them out")
    output.check_writable(json, report)
    if report is not None:
        from tare.report import fingerprint_page, format_of

        format_of(report, fingerprint_page.OPTION)
    stacks = platform or ["bare"]
    _measure(
        stacks,
        Asked(
            words=tuple(words or ()),
            effort="whole" if whole else "quick",
            platform=stacks[0],
            budget_s=None if budget is None else quantities.wait("--budget", budget),
            precision=quantities.share("--precision", precision or "2%"),
            soon=bool(words) and budget is None and precision is None,
            memory_bytes=None
            if memory is None
            else quantities.read(units.size, "--memory", memory),
            file_bytes=quantities.read(units.size, "--files", files),
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
    before: Annotated[Path, typer.Argument(help="What --json FILE wrote.", metavar="A")],
    after: Annotated[Path, typer.Argument(help="The same, later or elsewhere.", metavar="B")],
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Also as JSON; `-`: standard output."),
    ] = None,
) -> None:
    """Tell what changed between two fingerprints; exit 0: the same, 1: changed, 2: inconclusive.

    Example: tare fingerprint diff yesterday.json today.json
    """
    from tare.cli import fingerprint_diff

    raise typer.Exit(fingerprint_diff.diff(before, after, json))


def _measure(stacks: Sequence[str], asked: Asked, json: str | None, report: Path | None) -> None:
    from tare.cli import fingerprint_several
    from tare.fingerprint import measure

    if len(stacks) > 1:
        fingerprint_several.measure(stacks, _timed(asked, len(stacks)), json, report)
        return
    from tare.cli.fingerprint_progress import Bar
    from tare.cli.fingerprint_screen import show

    asked = _timed(asked)
    with Bar() as bar:
        found, interrupted = measure.take(asked, bar)
        unwritten = fingerprint_several.write(found, json)
    if json != "-":
        show(found, named=bool(asked.words))
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
        output.out.print(_next(json, written), soft_wrap=True)


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
    from tare.catalogue import catalogue
    from tare.cli.fingerprint_several import typed
    from tare.report import fingerprint_page

    for path in fingerprint_page.write(found, catalogue().probes, destination, typed()):
        output.err.print(f"Wrote   {path}")
    return True


def _next(json: str | None, reported: bool) -> str:
    """Return the next command worth typing."""
    from tare.cli.fingerprint_several import typed

    if json is None:
        return f"Next    {typed()} --json machine.json   (keeps it, to compare with later)"
    if not reported:
        return f"Next    {typed()} --report machine.html   (a page with the curves)"
    return f"Next    tare fingerprint diff {json} LATER.json   (what has changed?)"


def _peer(address: str | None, key: Path | None) -> Peer | None:
    """Return the other end of the network."""
    from tare import peering
    from tare.record import Peer

    if address is None and key is None:
        return None
    if address is None or key is None:
        raise ExperimentError("--peer and --key belong together", "--peer HOST --key FILE")
    return Peer(address=peering.numeric(address), key=peering.read_key(key))
