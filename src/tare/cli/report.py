"""``tare report``: a saved report, rendered on whatever machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tare.cli import options, output


def report(
    file: Annotated[
        Path, typer.Argument(help="Saved by --report FILE.json of any command.", metavar="FILE")
    ],
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Page: .html, .md, or .json.")
    ] = None,
    charts: options.Charts = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for --charts. [default: charts]"),
    ] = None,
) -> None:
    """Render a saved report, also one of another machine.

    tare report demo.json --report demo.html
    """
    from tare.render import files

    options.check_charts(charts, out, report)
    if report is not None:
        files.format_of(report)
    output.check_writable(report)
    saved = files.load(file)
    written = [] if report is None else files.write(saved, report)
    if charts is not None:
        written = files.write_charts(saved, charts, out or Path("charts"))
    output.show(saved, written)
    strip = " · ".join(f"{name} {value}" for name, value in saved.strip)
    output.out.print(strip, style="dim", soft_wrap=True)
    if not written:
        output.out.print(f"Next: tare report {file} --report report.html", soft_wrap=True)
