"""``tare fleet``, and ``tare experiment run --fleet``: one experiment on many hosts."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tare import extras
from tare.cli import console, options
from tare.cli.again import again as typed_again
from tare.cli.commands import Commands
from tare.cli.delivery import reporting
from tare.errors import IncompleteError, InterruptError, StoreError, UsageError
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.experiment.supplies import Supplies
    from tare.features.fleet.folder import Record
    from tare.features.fleet.results import Fleet

app = Commands(
    no_args_is_help=True,
    help="""Measure on many hosts at once, and compare these (extra fleet).

        tare experiment run examples/demo.toml --fleet local:2
    """,
)

#: States of a host that ended before all its trials were measured.
_SHORT = ("lost", "refused", "failed", "interrupted")


@app.command()
def report(
    ctx: typer.Context,
    folders: Annotated[
        list[Path],
        typer.Argument(help="Folder of a fleet; or several, of fleets and hosts.", metavar="DIR…"),
    ],
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Page: .html, .md, or .json. [default: DIR/report.html; of several: hosts.html]",
        ),
    ] = None,
    json: options.Json = None,
) -> Report:
    """Compare the hosts of a fleet, and write the report.

    Several folders are joined: results of one experiment on hosts of different size show the
    overhead by CHR (cores of the container / cores of the host).

        tare fleet report mine
        tare fleet report on-16-cores on-112-cores
    """
    from tare.render import files

    default = folders[0] / "report.html" if len(folders) == 1 else Path("hosts.html")
    # Without the option, the page is written all the same.
    ctx.params["report"] = report or default
    files.format_of(ctx.params["report"])
    made, fleet = _report(folders, "fleet report")
    with reporting(made):
        _check_whole(fleet, folders)
    return made


@app.command()
def check(
    ctx: typer.Context,
    address: Annotated[
        str,
        typer.Argument(help="ssh:HOST,HOST, local:N, or a scheduler of Dask.", metavar="ADDRESS"),
    ],
    network: Annotated[
        bool, typer.Option("--network", help="Also measure the network between hosts.")
    ] = False,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --network: search for a bucket for so long."),
    ] = None,
    report: options.Report = None,
    json: options.Json = None,
) -> Report:
    """Look at every host of a fleet, and name those unlike the others.

    What each is and what it can do; with --network, also what each way between two hosts can.
    Exit code 0: alike; 1: not alike; 2: there is only one host.

        tare fleet check local:3
    """
    extras.need("distributed")
    from tare.cli import quantities
    from tare.features.fleet import check_page, work
    from tare.features.fleet.progress import FleetBar
    from tare.render import files

    console.check_writable(json, report)
    if duration is not None and not network:
        raise UsageError("--duration is for --network", "add --network, or leave --duration out")
    if report is not None:
        files.format_of(report)
    if network and address.startswith("ssh:"):
        raise UsageError(
            "hosts by ssh meet in tunnels, so their network cannot be measured this way",
            "leave --network out, and use tare net measure   (between two machines)",
        )
    search_s = None if duration is None else quantities.wait("--duration", duration)
    with FleetBar() as bar:
        found = work.look(address, bar, ctx.obj, network=network, search_s=search_s)
    return check_page.make(found, shlex.join(["tare", *sys.argv[1:]]))


@app.command(hidden=True)
def node(role: Annotated[str, typer.Argument(help="For readers of ps.")] = "") -> None:
    """Run the scheduler or a worker of a fleet, by orders on standard input.

    --fleet local: and --fleet ssh: start these.

        tare fleet node
    """
    extras.need("distributed")
    from tare.features.fleet.node import main

    main()


def run(
    file: Path,
    address: str,
    folder: Path,
    *,
    skip_missing: bool,
    as_root: bool,
    resume: bool,
    supplies: Supplies,
) -> Report:
    """Run an experiment on all hosts of a fleet and return its report."""
    extras.need("distributed")
    from tare.features.fleet import work
    from tare.features.fleet.progress import FleetBar

    again = typed_again("experiment run", {"--out": str(folder), "--resume": None})
    try:
        with FleetBar() as bar:
            record = work.execute(
                file, address, folder, bar,
                skip_missing=skip_missing, as_root=as_root, resume=resume, supplies=supplies,
            )  # fmt: skip
    except KeyboardInterrupt as error:
        if not resume and not _any_block(folder):
            raise InterruptError("interrupted before a block had ended", again) from error
        shows = shlex.join(["tare", "fleet", "report", str(folder)])
        raise InterruptError(
            f"interrupted; all blocks that had ended are kept in {folder}",
            f"{again}   (goes on)   or: {shows}",
        ) from error
    made, fleet = _report([folder], "experiment run")
    with reporting(made):
        _check_complete(record, again)
        _check_whole(fleet, [folder])
    return made


def _any_block(folder: Path) -> bool:
    from tare.features.fleet import folder as folders

    record = folders.before(folder)
    return record is not None and any(host.blocks for host in record.hosts)


def _check_complete(record: Record, again: str) -> None:
    short = [host.name for host in record.hosts if host.ended in _SHORT]
    if short:
        raise IncompleteError(
            f"{len(short)} of {len(record.hosts)} hosts were not measured to the end: "
            f"{_some(short)}",
            f"{again}   (goes on where each was, once what was missing is there)",
        )


def _check_whole(fleet: Fleet, folders: Sequence[Path]) -> None:
    from tare.experiment.plan_file import HOSTS

    names = sorted({*fleet.silent, *(name for some in fleet.lacking.values() for name in some)})
    if names:
        hosts = len(fleet.hosts) + len(fleet.silent)
        raise IncompleteError(
            f"{len(names)} of {hosts} hosts lack good trials of a cell: {_some(names)}",
            f"tare experiment report {folders[0] / HOSTS / names[0]}   (why they failed)"
            if len(folders) == 1
            else "tare experiment report DIR   (why they failed)",
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _report(folders: Sequence[Path], command: str) -> tuple[Report, Fleet]:
    """Return what follows from all hosts, and the fleet; raise where some are damaged."""
    from tare.features.fleet import page as pages
    from tare.features.fleet.progress import FleetBar
    from tare.features.fleet.results import load

    with FleetBar("working out the answers") as bar:
        fleet = load(*folders, watch=bar.count)
        again = shlex.join(["tare", "fleet", "report", *map(str, folders)])
        made = msgspec.structs.replace(pages.make(fleet, again), command=command)
    if fleet.damaged:
        name, why = next(iter(fleet.damaged.items()))
        with reporting(made):
            raise StoreError(
                f"{len(fleet.damaged)} of {len(fleet.damaged) + len(fleet.hosts)} hosts are left "
                f"out, as they cannot be read; {name}: {why}",
                "restore their folders from a copy, or remove them",
            )
    return made, fleet
