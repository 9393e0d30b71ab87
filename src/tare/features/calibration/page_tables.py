"""Tables of the pages of calibrations."""

from __future__ import annotations

from typing import Any

import msgspec

from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.rates import unit_for
from tare.features.calibration.charts.sweep import Sweep
from tare.features.calibration.findings.tables import ends, with_ends
from tare.features.calibration.mapping import Mapping as Between
from tare.features.calibration.mapping import also, linear, share
from tare.features.calibration.matrix import Matrix, Standing
from tare.render.screen import MOST_ROWS
from tare.results.finding import Column, Table
from tare.results.message import Amount, Chosen, Message, message


def standings(matrix: Matrix) -> Table:
    """Lay out how the settings compare, the fairest first."""
    rows = matrix.standings
    scale, unit = unit_for(matrix.work or "execution", [row.maximum.value for row in rows])
    return Table(
        title=message("The settings, the fairest first"),
        columns=(
            Column(key="settings", title="settings"),
            Column(key="place", title=""),
            Column(key="verdict", title="verdict"),
            Column(key="r2", title="R²", unit="1"),
            Column(key="largest_error", title="errs by"),
            *with_ends("maximum", "maximum", unit),
            Column(key="maximum_share", title="of best"),
        ),
        rows=tuple(_standing(row, scale) for row in rows),
        note=message(
            "Fairest: the straightest line. A tie: the errors do not differ significantly."
        ),
    )


def _standing(row: Standing, scale: float) -> dict[str, Any]:
    error, share = row.largest_error, row.maximum_share
    bounds = () if share.low == share.high else (share.low, share.high)
    return {
        "settings": row.label,
        "place": "fairest" if row.fairest else None,
        "verdict": row.verdict,
        "r2": row.r2,
        "largest_error": None if error is None else _within(error, row.uncertainty),
        **ends("maximum", row.maximum, scale),
        "maximum_share": Amount(share.value, "share", *bounds),
    }


def _within(error: float, doubt: float | None) -> Amount:
    return Amount(error, "share", *(() if doubt is None else (error - doubt, error + doubt)))


def equals(found: Between) -> Table:
    """Lay out which CPU on B is as fast as which on A."""
    rates = [one.rate for one in found.equals if one.rate is not None]
    scale, unit = unit_for(found.work, rates or [found.a.fastest])
    return Table(
        title=message("As fast as each other"),
        columns=(
            Column(key="a", title=f"{AXES[found.a.axis].unit} on {found.a.name}", unit="1"),
            Column(key="rate", title="rate", unit=unit),
            Column(key="b", title=f"{AXES[found.b.axis].unit} on {found.b.name} [95 %]", unit="1"),
            Column(key="docker", title="docker run"),
            Column(key="otherwise", title="otherwise"),
        ),
        rows=tuple(
            {
                "a": Chosen(one.at, "1"),
                "rate": None if one.rate is None else one.rate / scale,
                "b": share(one.on[0], one.at) if one.on else None,
                "docker": one.flag,
                "otherwise": one.why or also(one),
            }
            for one in found.equals
        ),
    )


def thinned(found: Between) -> tuple[Table, ...]:
    """Lay out as many of them, evenly apart, as a terminal shows; none where there are none."""
    there = [one for one in found.equals if one.on]
    # From where one CPU stays in: the numbers that are read are whole.
    stride = -(-len(there) // MOST_ROWS) or 1
    shown = msgspec.structs.replace(found, equals=tuple(there[stride - 1 :: stride]))
    return (equals(shown),) if there else ()


def sides(found: Between) -> list[tuple[str, Message]]:
    """Say in a few words which machines they are, by their names."""
    return [
        (
            side.name,
            message(
                "{cpu}, {platform}, {date}; linear from {spans | listing}",
                cpu=side.cpu or message("unknown CPU"),
                platform=side.platform,
                date=(side.measured or "")[:10] or message("unknown date"),
                spans=linear(side),
            ),
        )
        for side in (found.a, found.b)
    ]


def pieces(sweep: Sweep) -> Table:
    """Lay out the straight pieces of a sweep."""
    return Table.of(
        message("The pieces"),
        (
            Column(key="piece", title=""),
            Column(key="from", title="from", unit=AXES[sweep.axis].unit),
            Column(key="to", title="to", unit=AXES[sweep.axis].unit),
            Column(key="slope", title="slope", unit=f"{sweep.unit} per {sweep.per}"),
            Column(key="intercept", title="intercept", unit=sweep.unit),
        ),
        ((p.letter, p.start, p.end, sweep.slope(p), p.intercept) for p in sweep.pieces),
    )
