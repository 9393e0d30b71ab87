"""How far a machine is from its specification: the section of a fingerprint's page."""

from __future__ import annotations

from math import log
from typing import Any

from tare.fingerprint.document import Fingerprint
from tare.render.words import listing
from tare.report.fingerprint_groups import interval_told, ordered, ratio
from tare.report.machine_charts import beside
from tare.report.machine_charts.beside import NEAR, Beside
from tare.report.page import Figure, Section
from tare.results.finding import Finding
from tare.units import change, counted, quantity

#: Rows of the chart; the tables have all.
_MOST_ROWS = 60


def section(fingerprint: Fingerprint) -> Section | None:
    """Compare with the hardware's specification, where that tells anything."""
    figures = _figures(fingerprint)
    if not figures:
        return None
    ratios = {n: r for n, f in fingerprint.metrics.items() if (r := ratio(f)) is not None}
    near = sum(1 / NEAR <= r <= NEAR for r in ratios.values())
    silent = len(fingerprint.metrics) - len(ratios)
    text = (
        f"{near} of {counted(len(ratios), 'figure')} lie within a quarter of what the "
        "specification lets expect."
    )
    if silent:
        text += f" Of {counted(silent, 'more figure')} it tells nothing."
    finding = Finding(
        name="specification",
        closed=False,
        question="How far is it from its specification?",
        answer=text,
        verdict="none",
        basis="why each differs, where that can be known, stands in the tables below",
    )
    return Section("specification", finding, figures, ())


def _figures(fingerprint: Fingerprint) -> tuple[Figure, ...]:
    """Draw every figure beside its prediction."""
    known = {n: (f, r) for n, f in ordered(fingerprint).items() if (r := ratio(f)) is not None}
    if not known:
        return ()
    shown = dict(list(known.items())[:_MOST_ROWS])
    rows = [
        Beside(
            name=name,
            ratio=r,
            low=None if f.ci is None or f.ci[0] <= 0 else f.ci[0] / (f.predicted or 1.0),
            high=None if f.ci is None or f.ci[0] <= 0 else f.ci[1] / (f.predicted or 1.0),
            measured=interval_told(f),
            predicted=quantity(f.predicted, f.unit),
        )
        for name, (f, r) in shown.items()
    ]
    near = sum(1 / NEAR <= r <= NEAR for _, r in known.values())
    far = sorted(known.items(), key=lambda one: -abs(log(one[1][1])))[:3]
    text = (
        f"Each figure as a multiple of its prediction, with its interval: "
        f"{near} of {counted(len(known), 'figure')} lie within a quarter (band; circles), the "
        "others are triangles that point to where they lie. Furthest: "
        f"{listing(f'{name} {change(r)}' for name, (_, r) in far)}."
    )
    if len(shown) < len(known):
        text += f" {len(known) - len(shown)} more are in the tables."
    chart: Any = beside(rows)
    return (Figure("predictions", "Measured beside predicted", chart.to_dict(), text),)
