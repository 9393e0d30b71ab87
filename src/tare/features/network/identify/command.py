"""``tare net identify``: what shapes a network, as traces of its bandwidth say."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import console, options
from tare.errors import InputError
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.features.network.identify.reading import Pattern
    from tare.readers.units import Unit


def identify(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR|FILE…", help="Folders of tare net measure --out, CSV, or iperf3 -J."
        ),
    ],
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="ON-OFF",
            help="Seconds of sending and of idle periods: 10-30; idle; full-speed.",
        ),
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="C", help="Column of the bandwidth.")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Columns that make the series: instance,run also summarizes runs by instance.",
        ),
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="C", help="Column of time: seconds or dates.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(metavar="Gbit/s", help="Unit of bandwidth, where its column has none."),
    ] = None,
    line_rate: Annotated[
        str | None,
        typer.Option(metavar="10Gbit", help="Line rate of the interface, to recognise a cap."),
    ] = None,
    report: options.Report = None,
    json: options.Json = None,
) -> Report:
    """Identify what shapes a network's bandwidth.

    Nothing, noise, steps, a token bucket, a cap, or outages.

        tare net identify week.csv --time second --value bandwidth_gbps
    """
    from tare import units
    from tare.cli.quantities import read as typed
    from tare.features.network.identify.identifying import identify as find
    from tare.features.network.identify.reading import Asked, read
    from tare.features.network.identify.report import make
    from tare.features.network.identify.types import summarize
    from tare.render import files

    console.check_writable(json, report)
    if report is not None:
        files.format_of(report)
    asked = Asked(
        time=time,
        value=value,
        series=tuple(n.strip() for word in group or () for n in word.split(",") if n.strip()),
        unit=None if unit is None else _unit(unit),
        pattern=None if pattern is None else _pattern(pattern),
    )
    rate = None if line_rate is None else float(typed(units.rate, "--line-rate", line_rate))
    found = []
    for source in sources:
        for one in read(source, asked):
            key = {"file": source.name, **one.key} if len(sources) > 1 else one.key
            found.append((one, find(one.trace, key, rate or one.interface_bps)))
    # Where each file is of one instance, the only column names the type.
    columns = asked.series if len(asked.series) == 1 < len(sources) else asked.series[:-1]
    types = summarize([one for _, one in found], columns)
    return make(
        found,
        types,
        shlex.join(["tare", *sys.argv[1:]]),
        # A file that says by itself how to read it can be replayed.
        sources[0] if len(found) == len(sources) and not (time or value or group or unit) else None,
        charts=report is not None,
    )


def _unit(text: str) -> Unit:
    from tare.readers import units

    bare = text.strip()
    found = units.unit(bare) or units.unit(f"{bare}/s")
    if found is None or found.base not in ("bits/s", "bytes/s"):
        raise InputError(f"--unit: {text!r} is no unit of bandwidth", "--unit Gbit/s")
    return found


def _pattern(text: str) -> Pattern:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)\s*", text)
    if text.strip() == "idle":
        return "idle"
    if text.strip() == "full-speed":
        return 1.0, 0.0
    if found is None or float(found[1]) <= 0:
        raise InputError(
            f"--pattern: {text!r} is not seconds of sending and of idle periods",
            "--pattern 10-30, --pattern idle or --pattern full-speed",
        )
    return float(found[1]), float(found[2])
