"""How long threads are on a CPU, and off it, at a time: histograms as BCC's cpudist draws them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.platform_cells import named
from tare.experiment.findings.platform_why import UNIT as FINDING
from tare.experiment.results import Results
from tare.render.charts.by_size import by_size
from tare.render.drawing import Chart
from tare.render.words import text
from tare.results.finding import Finding
from tare.results.message import Chosen, Message, message

#: Of which there are histograms, and what they are called.
STATES = {
    "on_cpu": "on a CPU",
    "off_cpu_preempted": "ready, without a CPU",
    "off_cpu_blocked": "waiting for something",
}
#: Unit of the axis of lengths: 1.024 µs.
_UNIT_NS = 2.0**10
#: Where the lengths are from.
SOURCE = "perf_cpu"
#: Lines in a panel.
_MOST = 8


def histogram(results: Results, state: str, trials: np.ndarray) -> dict[int, float]:
    """Return the mean number of stretches per execution in each bucket that has some, by its K.

    Empty where an execution of these trials has no such record at all.
    """
    known = results.sample_table.of("on_cpu_ns", SOURCE)
    executions = int(np.isin(known["trial"], trials).sum())
    if not executions or not np.isin(trials, known["trial"]).all():
        return {}
    found = {}
    for bucket, counts in results.sample_table.histogram(f"{state}_stretches", SOURCE).items():
        total = float(counts["value"][np.isin(counts["trial"], trials)].sum())
        if total:
            found[bucket] = total / executions
    return found


def _first_levels(results: Results) -> dict[str, str]:
    """Return the level at which factors other than platform and pinning are drawn."""
    others = [f for f in results.varied if f not in ("platform", "pinning")]
    return {factor: results.levels(factor)[0] for factor in others}


def _lines(results: Results) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each platform with its pinning, and its good trials."""
    good = results.good.where(**_first_levels(results))
    for platform in results.levels("platform"):
        for pinning in results.levels("pinning") if "pinning" in results.factors else ["none"]:
            own = good.where(platform=platform)
            own = own.where(pinning=pinning) if "pinning" in results.factors else own
            if len(own):
                yield text(named(platform, pinning)), own["trial"]


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel for each state, with a line for each platform."""
    rows = [
        {
            "panel": title,
            "series": name,
            "x": 2.0**bucket / _UNIT_NS,
            "at": count,
            "low": None,
            "high": None,
        }
        for state, title in STATES.items()
        for name, trials in [*_lines(results)][:_MOST]
        for bucket, count in histogram(results, state, trials).items()
    ]
    if not rows:
        return None
    sizes = "length, from (× 1.024 µs)"
    return by_size(rows, "stretches per execution", sizes=sizes, logarithmic=True)


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what is drawn, and which length of stretch is most frequent."""
    # Levels that are the default, such as no load, are named as well: others are not drawn.
    levels = [f"{factor} {level}" for factor, level in _first_levels(results).items()]
    said = [
        message(
            "number of uninterrupted stretches of all threads, per execution, by their length in "
            "powers of two{% if levels %}. Drawn: {levels | listing} only{% endif %}. No call "
            "stacks: perf and BCC's offcputime have them",
            levels=levels,
        )
    ]
    for name, trials in [*_lines(results)][:2]:
        counts = histogram(results, "on_cpu", trials)
        if counts:
            most = max(counts, key=lambda bucket: counts[bucket])
            low, high = (Chosen(2.0**k, "ns") for k in (most, most + 1))
            said.append(
                message(
                    "{name}: most stretches on a CPU take {low} to {high}",
                    name=name,
                    low=low,
                    high=high,
                )
            )
    return tuple(said)


UNIT = chart_of(
    FINDING.description,
    "Lengths of stretches on and off the CPU",
    draw,
    alternative,
    name="stretches",
    source="PINNING: cpudist and offcputime of BCC",
)
