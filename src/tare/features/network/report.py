"""``tare net report``: the page of measured networks."""

from __future__ import annotations

import shlex
from pathlib import Path

from tare.cli import console
from tare.cli.call import Call
from tare.cli.delivery import Delivered
from tare.options import kinds, shared
from tare.options.command import command
from tare.options.option import Options, argument, like


class ReportOptions(Options):
    """Options of ``tare net report``."""

    folders: list[Path] = argument(
        kinds.FOLDER, "DIR…", "Folders of tare net measure --out.", repeatable=True,
        is_required=True,
    )  # fmt: skip
    report: Path | None = like(
        shared.REPORT, help="Page: .html, .md, or .json.", shown="DIR/report.html",
    )  # fmt: skip


@command(ReportOptions)
def report(given: ReportOptions, call: Call) -> Delivered:
    """Write a page of measured networks.

    Bandwidth, round trips, retransmissions and totals, also while it still measures.

        tare net report week
    """
    from tare.features.network.measure import page as network_page
    from tare.networks.recording.writer import REPORT, read_asked
    from tare.render import files

    for folder in given.folders:
        # Whether it is one is worth more than whether the page could be written there.
        read_asked(folder)
    page = given.report or given.folders[0] / REPORT
    files.format_of(page)
    console.check_writable(page)
    words = ["tare", "net", "report", *map(str, given.folders)]
    if given.report is not None:
        words += ["--report", str(given.report)]
    return Delivered(network_page.make(given.folders, shlex.join(words)), page=page)
