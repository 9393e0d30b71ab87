"""Tables of the pages of calibrations."""

from __future__ import annotations

from tare.calibration.document import Interval
from tare.calibration.mapping_document import Equal, Side
from tare.calibration.mapping_document import Mapping as Between
from tare.calibration.mapping_telling import also, linear, share
from tare.calibration.matrix import Matrix, Standing
from tare.calibration.rates import unit_for
from tare.render.tables import ABSENT, Head, Laid
from tare.render.words import text
from tare.report.calibration_charts import Sweep
from tare.results.message import message
from tare.units import percent, significant


def standings(matrix: Matrix) -> Laid:
    """Lay out how the settings compare, the fairest first."""
    rows = matrix.standings
    scale, unit = unit_for(matrix.work or "execution", [row.maximum.value for row in rows])
    return Laid(
        title="The settings, the fairest first",
        heads=(
            Head("settings", "", numeric=False),
            Head("", "", numeric=False),
            Head("how it scales", "", numeric=False),
            Head("R²", "", numeric=True),
            Head("one line errs by", "", numeric=True),
            Head("maximum [95 %]", unit, numeric=True),
            Head("of the fastest's", "", numeric=True),
            Head("mean over steps [95 %]", unit, numeric=True),
            Head("of the fastest's", "", numeric=True),
        ),
        rows=tuple(_standing(row, scale) for row in rows),
        note="Fairest: the straightest line. A tie: the errors do not differ significantly.",
    )


def _standing(row: Standing, scale: float) -> tuple[str, ...]:
    return (
        row.label,
        "fairest" if row.fairest else "",
        row.verdict,
        ABSENT if row.r2 is None else f"{row.r2:.4f}",
        ABSENT if row.largest_error is None else percent(row.largest_error),
        _interval(row.maximum, scale),
        percent(row.maximum_share.value),
        _interval(row.mean, scale),
        percent(row.mean_share.value),
    )


def _interval(found: Interval, scale: float) -> str:
    text = significant(found.value / scale)
    if found.low is None or found.high is None:
        return text
    return f"{text} [{significant(found.low / scale)}, {significant(found.high / scale)}]"


def equals(found: Between) -> Laid:
    """Lay out which CPU on B is as fast as which on A."""
    rates = [one.rate for one in found.equals if one.rate is not None]
    scale, unit = unit_for(found.work, rates)
    rows = [_equal(one, scale) for one in found.equals]
    heads = (
        Head(f"CPUs on {found.a.name}", "", numeric=True),
        Head("rate", unit, numeric=True),
        Head(f"CPUs on {found.b.name} [95 %]", "", numeric=True),
        Head("docker run", "", numeric=False),
        Head("otherwise", "", numeric=False),
    )
    kept = [i for i in range(len(heads)) if any(row[i] != ABSENT for row in rows)]
    return Laid(
        title="As fast as each other",
        heads=tuple(heads[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in rows),
    )


def _equal(one: Equal, scale: float) -> tuple[str, ...]:
    others = also(one)
    return (
        f"{one.cpus:.3g}",
        ABSENT if one.rate is None else significant(one.rate / scale),
        text(share(one.on[0])) if one.on else ABSENT,
        one.flag or ABSENT,
        one.why or (text(others) if others else ABSENT),
    )


def sides(found: Between) -> list[tuple[str, str]]:
    """Say in a few words which machines they are."""
    return [(side.name, _side(side)) for side in (found.a, found.b)]


def _side(side: Side) -> str:
    return text(
        message(
            "calibration.page.side",
            cpu=side.cpu or message("calibration.page.no_cpu"),
            platform=side.platform,
            spans=linear(side),
        )
    )


def pieces(sweep: Sweep) -> Laid:
    """Lay out the straight pieces of a sweep."""
    return Laid(
        title="The pieces",
        heads=(
            Head("", "", numeric=False),
            Head("from", "CPUs", numeric=True),
            Head("to", "CPUs", numeric=True),
            Head("slope", f"{sweep.unit} per CPU", numeric=True),
            Head("intercept", sweep.unit, numeric=True),
        ),
        rows=tuple(
            (p.letter, f"{p.start:.3g}", f"{p.end:.3g}", significant(p.slope),
             significant(p.intercept))
            for p in sweep.pieces
        ),
    )  # fmt: skip


def line(sweep: Sweep) -> Laid:
    """Lay out the one straight line, as CALIBRATE fits it."""
    found, scale = sweep.scaling.line, sweep.scale
    slope = Interval(value=found.slope, low=found.slope_low, high=found.slope_high)
    start = Interval(value=found.intercept, low=found.intercept_low, high=found.intercept_high)
    return Laid(
        title="One straight line, as CALIBRATE fits it",
        heads=(
            Head("slope [95 %]", f"{sweep.unit} per CPU", numeric=True),
            Head("intercept [95 %]", sweep.unit, numeric=True),
            Head("R²", "", numeric=True),
            Head("p (slope)", "", numeric=True),
            Head("maximum", sweep.unit, numeric=True),
            Head("n", "", numeric=True),
        ),
        rows=(
            (
                _interval(slope, scale),
                _interval(start, scale),
                ABSENT if found.r2 is None else f"{found.r2:.4f}",
                ABSENT if found.p is None else f"{found.p:.2g}",
                significant(found.maximum / scale),
                f"{found.n}",
            ),
        ),
        note="Least squares with HC3 errors over all values.",
    )
