"""``tare fleet``, and ``tare experiment run --fleet``: one experiment on many hosts."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare import extras
from tare.cli import console
from tare.cli.again import again as typed_again
from tare.cli.call import Call
from tare.cli.delivery import Delivered, reporting
from tare.errors import IncompleteError, InterruptError, StoreError, Typed, UsageError
from tare.options import kinds, shared
from tare.options.command import Entry, Group, command
from tare.options.option import HOW_MANY, WHERE, Options, argument, flag, like, option
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.experiment.supplies import Supplies
    from tare.features.fleet.folder import Record
    from tare.features.fleet.results import Fleet

GROUP = Group(
    help="""Measure on many hosts at once, and compare these (extra fleet).

        tare experiment run examples/demo.toml --fleet local:2
    """,
    commands={
        name: Entry(f"tare.features.fleet.command:{name}", is_hidden=name == "node")
        for name in ("report", "check", "node")
    },
)

#: The page of one fleet, in its folder; and of several.
PAGE, JOINED = "report.html", "hosts.html"
#: States of a host that ended before all its trials were measured.
_SHORT = ("lost", "refused", "failed", "interrupted")


class ReportOptions(Options):
    """Options of ``tare fleet report``."""

    folders: list[Path] = argument(
        kinds.FOLDER, "DIR…", "Folder of a fleet; or several, of fleets and hosts.",
        repeatable=True, is_required=True,
    )  # fmt: skip
    report: Path | None = like(
        shared.REPORT, help="Page: .html, .md, or .json.",
        shown=f"DIR/{PAGE}; of several: {JOINED}",
    )  # fmt: skip
    json: str | None = shared.JSON


@command(ReportOptions)
def report(given: ReportOptions, call: Call) -> Delivered:
    """Compare the hosts of a fleet, and write the report.

    Several folders are joined: results of one experiment on hosts of different size show the
    overhead by CHR (cores of the container / cores of the host).

        tare fleet report mine
        tare fleet report on-16-cores on-112-cores
    """
    from tare.render import files

    if given.report is not None:
        files.format_of(given.report)
    made, fleet = _report(given.folders, "fleet report")
    with reporting(made):
        _check_whole(fleet, given.folders)
    return made


class CheckOptions(Options):
    """Options of ``tare fleet check``."""

    address: str = argument(
        kinds.WORD, "ADDRESS", "ssh:HOST,HOST, local:N, or a scheduler of Dask.",
        is_required=True,
    )  # fmt: skip
    duration: float | None = option(
        kinds.DURATION, "With --network: search for a bucket for so long.", group=HOW_MANY,
    )  # fmt: skip
    network: bool = flag("Also measure the network between hosts.", group=WHERE)
    report: Path | None = shared.REPORT
    json: str | None = shared.JSON


@command(CheckOptions)
def check(given: CheckOptions, call: Call) -> Report:
    """Look at every host of a fleet, and name those unlike the others.

    What each is and what it can do; with --network, also what each way between two hosts can.
    Exit code 0: alike; 1: not alike; 2: there is only one host.

        tare fleet check local:3
    """
    extras.need("distributed")
    from tare.features.fleet import check_page, work
    from tare.features.fleet.progress import FleetBar
    from tare.render import files

    console.check_writable(given.json, given.report)
    if given.duration is not None and not given.network:
        raise UsageError("--duration is for --network", "add --network, or leave --duration out")
    if given.report is not None:
        files.format_of(given.report)
    if given.network and given.address.startswith("ssh:"):
        raise UsageError(
            "hosts by ssh meet in tunnels, so their network cannot be measured this way",
            "leave --network out, and use tare net measure   (between two machines)",
        )
    with FleetBar() as bar:
        found = work.look(
            given.address, bar, call.supplies, network=given.network, search_s=given.duration
        )
    return check_page.make(found, shlex.join(["tare", *sys.argv[1:]]))


class NodeOptions(Options):
    """Options of ``tare fleet node``."""

    role: str = argument(kinds.WORD, "[ROLE]", "For readers of ps.", default="")


@command(NodeOptions)
def node(given: NodeOptions, call: Call) -> None:
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
            raise InterruptError("interrupted before a block had ended", Typed(again)) from error
        shows = shlex.join(["tare", "fleet", "report", str(folder)])
        raise InterruptError(
            f"interrupted; all blocks that had ended are kept in {folder}",
            Typed(f"{again}   (goes on; {shows} shows what there is)"),
        ) from error
    made, fleet = _report([folder], "experiment run")
    with reporting(made):
        _check_complete(record, again)
        _check_whole(fleet, [folder])
    return made.report


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
            Typed(f"{again}   (goes on where each was, once what was missing is there)"),
        )


def _check_whole(fleet: Fleet, folders: Sequence[Path]) -> None:
    from tare.experiment.plan_file import HOSTS

    names = sorted({*fleet.silent, *(name for some in fleet.lacking.values() for name in some)})
    if names:
        hosts = len(fleet.hosts) + len(fleet.silent)
        raise IncompleteError(
            f"{len(names)} of {hosts} hosts lack good trials of a cell: {_some(names)}",
            Typed(
                f"tare experiment report {shlex.quote(str(folders[0] / HOSTS / names[0]))}   "
                "(why they failed)"
            )
            if len(folders) == 1
            else "see why they failed with tare experiment report and the folder of each",
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _report(folders: Sequence[Path], command: str) -> tuple[Delivered, Fleet]:
    """Return what follows from all hosts, with its page, and the fleet.

    Raises
    ------
    StoreError
        If some hosts are damaged; with the report.
    """
    from tare.features.fleet import page as pages
    from tare.features.fleet.progress import FleetBar
    from tare.features.fleet.results import load

    with FleetBar("working out the answers") as bar:
        fleet = load(*folders, watch=bar.count)
        again = shlex.join(["tare", "fleet", "report", *map(str, folders)])
        document = msgspec.structs.replace(pages.make(fleet, again), command=command)
    made = Delivered(document, page=folders[0] / PAGE if len(folders) == 1 else Path(JOINED))
    if fleet.damaged:
        name, why = next(iter(fleet.damaged.items()))
        with reporting(made):
            raise StoreError(
                f"{len(fleet.damaged)} of {len(fleet.damaged) + len(fleet.hosts)} hosts are left "
                f"out, as they cannot be read; {name}: {why}",
                "restore their folders from a copy, or remove them",
            )
    return made, fleet
