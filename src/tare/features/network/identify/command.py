"""``tare net identify``: what shapes a network, as traces of its bandwidth say."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tare import units
from tare.cli import console
from tare.cli.call import Call
from tare.options import kinds, shared
from tare.options.command import command
from tare.options.option import COLUMNS, WHAT, WHERE, Options, argument, option
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.features.network.identify.reading import Pattern
    from tare.readers.units import Unit


def _pattern(text: str) -> Pattern:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)\s*", text)
    if text.strip() == "idle":
        return "idle"
    if text.strip() == "full-speed":
        return 1.0, 0.0
    if found is None or float(found[1]) <= 0:
        raise units.QuantityError(
            "is not seconds of sending and of idle periods",
            "10-30, --pattern idle or --pattern full-speed",
        )
    return float(found[1]), float(found[2])


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _unit(text: str) -> Unit:
    from tare.readers.units import unit

    bare = text.strip()
    found = unit(bare) or unit(f"{bare}/s")
    if found is None or found.base not in ("bits/s", "bytes/s"):
        raise units.QuantityError("is no unit of bandwidth", "Gbit/s")
    return found


_PATTERN = kinds.quantity(_pattern, 'seconds of sending and of idle periods: "10-30"', "ON-OFF")


class IdentifyOptions(Options):
    """Options of ``tare net identify``."""

    sources: list[Path] = argument(
        kinds.PATH, "DIR|FILE…", "Folders of tare net measure --out, CSV, or iperf3 -J.",
        repeatable=True, is_required=True,
    )  # fmt: skip
    pattern: Pattern | None = option(
        _PATTERN.offering(lambda: ("idle", "full-speed", "10-30")),
        "Seconds of sending and of idle periods: 10-30; idle; full-speed.", group=WHAT,
    )  # fmt: skip
    value: str | None = option(kinds.WORD, "Column of the bandwidth.", group=COLUMNS, metavar="C")
    group: list[tuple[str, ...]] = option(
        kinds.Kind("names of columns", str, parse=_columns, metavar="A,B"),
        "Columns that make the series: instance,run also summarizes runs by instance.",
        group=COLUMNS, repeatable=True,
    )  # fmt: skip
    time: str | None = option(
        kinds.WORD, "Column of time: seconds or dates.", group=COLUMNS, metavar="C",
    )  # fmt: skip
    unit: Unit | None = option(
        kinds.quantity(_unit, 'a unit of bandwidth, such as "Gbit/s"', "Gbit/s"),
        "Unit of bandwidth, where its column has none.", group=COLUMNS,
    )  # fmt: skip
    line_rate: int | None = option(
        kinds.quantity(units.rate, 'a rate with its unit, such as "10Gbit"', "10Gbit"),
        "Line rate of the interface, to recognise a cap.", group=WHERE,
    )  # fmt: skip
    report: Path | None = shared.REPORT
    json: str | None = shared.JSON


@command(IdentifyOptions)
def identify(given: IdentifyOptions, call: Call) -> Report:
    """Identify what shapes a network's bandwidth.

    Nothing, noise, steps, a token bucket, a cap, or outages.

        tare net identify week.csv --time second --value bandwidth_gbps
    """
    from tare.features.network.identify.identifying import identify as find
    from tare.features.network.identify.reading import Asked, read
    from tare.features.network.identify.report import make
    from tare.features.network.identify.types import summarize
    from tare.render import files

    console.check_writable(given.json, given.report)
    if given.report is not None:
        files.format_of(given.report)
    asked = Asked(
        time=given.time,
        value=given.value,
        series=tuple(name for some in given.group for name in some),
        unit=given.unit,
        pattern=given.pattern,
    )
    rate = None if given.line_rate is None else float(given.line_rate)
    sources = given.sources
    found = []
    for source in sources:
        for one in read(source, asked):
            key = {"file": source.name, **one.key} if len(sources) > 1 else one.key
            found.append((one, find(one.trace, key, rate or one.interface_bps)))
    # Where each file is of one instance, the only column names the type.
    columns = asked.series if len(asked.series) == 1 < len(sources) else asked.series[:-1]
    types = summarize([one for _, one in found], columns)
    # A file that says by itself how to read it can be replayed.
    explains_itself = given.given.isdisjoint({"time", "value", "group", "unit"})
    return make(
        found,
        types,
        shlex.join(["tare", *sys.argv[1:]]),
        sources[0] if len(found) == len(sources) and explains_itself else None,
        charts=given.report is not None,
    )
