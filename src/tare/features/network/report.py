"""``tare net report``: the page of measured networks."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tare.cli import console
from tare.cli.delivery import deliver


def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR…", help="Folders of tare net measure --out.")
    ],
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Page: .html, .md, or .json. [default: DIR/report.html]"),
    ] = None,
) -> int:
    """Write a page of measured networks.

    Bandwidth, round trips, retransmissions and totals, also while it still measures.

        tare net report week
    """
    from tare.features.network.measure import page as network_page
    from tare.networks.recording.writer import REPORT, read_asked
    from tare.render import files

    for folder in folders:
        # Whether it is one is worth more than whether the page could be written there.
        read_asked(folder)
    destination = report or folders[0] / REPORT
    files.format_of(destination)
    console.check_writable(destination)
    words = ["tare", "net", "report", *(str(folder) for folder in folders)]
    command = shlex.join([*words, *(["--report", str(report)] if report else [])])
    return deliver(network_page.make(folders, command), {"report": destination})
