"""``tare net identify``: what shapes a network, as traces of its bandwidth say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import output
from tare.errors import InputError

if TYPE_CHECKING:
    from tare.interop.units import Unit


def identify(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="STORE|FILE…", help="Folders of `tare net measure --out`, CSV, iperf3 -J."
        ),
    ],
    time: Annotated[
        str | None, typer.Option("--time", metavar="C", help="Column of time: seconds or dates.")
    ] = None,
    value: Annotated[
        str | None, typer.Option("--value", metavar="C", help="Column of the bandwidth.")
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option("--series", metavar="A,B", help="Columns whose levels make the traces."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="Gbit/s", help="Of the bandwidth, where its column does not say."
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", metavar="ON-OFF", help="Seconds of sending and of rest: 10-30."),
    ] = None,
    interface: Annotated[
        str | None,
        typer.Option(
            "--interface", metavar="10Gbit", help="What the interface can do, to tell a cap."
        ),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write it as JSON; `-`: standard output."),
    ] = None,
) -> None:
    """Say what shapes a network: nothing, noise, steps, a token bucket, a cap, outages.

    Example: tare net identify week.csv --time second --value bandwidth_gbps
    """
    from tare import units
    from tare.cli.net_identify_screen import show
    from tare.cli.quantities import read as typed
    from tare.identification.document import Document
    from tare.identification.identifying import identify as find
    from tare.identification.reading import Asked, read

    output.check_writable(json)
    asked = Asked(
        time=time,
        value=value,
        series=tuple(n.strip() for word in series or () for n in word.split(",") if n.strip()),
        unit=None if unit is None else _unit(unit),
        pattern=None if pattern is None else _pattern(pattern),
    )
    rate = None if interface is None else float(typed(units.rate, "--interface", interface))
    found = []
    for source in sources:
        for one in read(source, asked):
            key = {"file": source.name, **one.key} if len(sources) > 1 else one.key
            found.append((one, find(one.trace, key, rate or one.interface_bps)))
    if json is not None:
        output.write_json(
            Document(
                series=tuple(one for _, one in found), lacks=tuple(one.lacks for one, _ in found)
            ),
            json,
        )
    if json != "-":
        show(found, sources, as_is=not (time or value or series or unit))


def _unit(text: str) -> Unit:
    from tare.interop import units

    bare = text.strip()
    found = units.unit(bare) or units.unit(f"{bare}/s")
    if found is None or found.base not in ("bits/s", "bytes/s"):
        raise InputError(f"--unit: {text!r} is no unit of bandwidth", "--unit Gbit/s")
    return found


def _pattern(text: str) -> tuple[float, float]:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)\s*", text)
    if text.strip() == "full-speed":
        return 1.0, 0.0
    if found is None or float(found[1]) <= 0:
        raise InputError(
            f"--pattern: {text!r} is not seconds of sending and of rest", "--pattern 10-30"
        )
    return float(found[1]), float(found[2])
