"""How far a machine is from its specification: the section of a fingerprint's page."""

from __future__ import annotations

from math import log
from typing import Any

from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.features.machine.fingerprint import summary
from tare.features.machine.fingerprint.page_groups import ordered
from tare.features.machine.fingerprint.summary import ratio
from tare.render import words
from tare.render.charts.beside import Beside, beside
from tare.render.words import sentence, text
from tare.results.finding import Finding
from tare.results.message import message
from tare.results.report import Figure, Section
from tare.units import change, quantity

#: Rows of the chart; the tables have all.
_MOST_ROWS = 60


def section(fingerprint: Fingerprint) -> Section | None:
    """Compare with the hardware's specification, where it says anything."""
    figures = _figures(fingerprint)
    near = summary.predicted(fingerprint)
    if not figures or near is None:
        return None
    finding = Finding(
        name="specification",
        closed=False,
        question="How far is it from its specification?",
        answer=near,
        verdict="none",
        basis=text(message("fingerprint.page.reasons")),
    )
    return Section(finding, figures)


def _figures(fingerprint: Fingerprint) -> tuple[Figure, ...]:
    """Draw every figure relative to its prediction."""
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
            measured=words.shown(f.amount),
            predicted=quantity(f.predicted, f.unit),
        )
        for name, (f, r) in shown.items()
    ]
    far = sorted(known.items(), key=lambda one: -abs(log(one[1][1])))[:3]
    told = message(
        "fingerprint.page.predictions",
        far=[message("fingerprint.page.far", metric=n, ratio=change(r)) for n, (_, r) in far],
        more=len(known) - len(shown),
    )
    chart: Any = beside(rows)
    return (Figure("predictions", "Measured vs. predicted", chart.to_dict(), sentence(told)),)
