"""From rounds to figures: medians over rounds, with exact intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from tare.agent import client
from tare.errors import AgentError
from tare.experiment import machine_facts
from tare.experiment.fingerprints.machine.difference import Fact
from tare.experiment.fingerprints.machine.document import (
    Axis,
    Curve,
    Figure,
    Fingerprint,
    Point,
    Problem,
)  # fmt: skip
from tare.experiment.session.probing import Round
from tare.features.machine.fingerprint import cycles, derived, predictions
from tare.features.machine.fingerprint.choice import Choice
from tare.features.machine.fingerprint.predictions import UserPrediction
from tare.features.machine.fingerprint.specification import Prediction, predict
from tare.host import hardware
from tare.host.hardware import Hardware
from tare.registry import Probe, ProbeMetric
from tare.render.words import text
from tare.results.message import Said, message
from tare.statistics.intervals import quantile_interval
from tare.version import __version__

#: Rounds below which there is no interval.
_FEWEST = 6
#: Different complaints of one probe that are kept; the last one says how many more there are.
_MOST_PROBLEMS = 4


@dataclass
class Gathered:
    """Figures and curves of a session."""

    metrics: dict[str, Figure] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def gather(choice: Choice, rounds: Sequence[Round]) -> Gathered:
    """Put rounds together.

    Parameters
    ----------
    choice : Choice
        What was asked for; what else a probe measured is left out.
    rounds : sequence of Round
        In order of time.

    Returns
    -------
    Gathered
        In the order of the probes and of what they measure.
    """
    found = Gathered(problems=list(choice.problems))
    for probe in choice.probes:
        own = [one for one in rounds if one.probe == probe.name]
        _probe(found, probe, own)
        found.problems += _problems(probe.name, own)
    found.metrics = {name: one for name, one in found.metrics.items() if choice.wants(name)}
    found.curves = {
        name: curve
        for name, curve in found.curves.items()
        if choice.wants(name) or any(metric.startswith(name) for metric in found.metrics)
    }
    return found


def assemble(
    choice: Choice,
    rounds: Sequence[Round],
    *,
    effort: str,
    platform: str,
    started: str,
    seconds: float,
    folder: Path | None,
    facts: Mapping[str, Fact],
    problems: Sequence[Problem] = (),
    user_predictions: Mapping[str, UserPrediction] | None = None,
) -> Fingerprint:
    """Make a fingerprint of rounds.

    Parameters
    ----------
    choice, rounds
        As of :func:`gather`.
    effort, platform, started, seconds
        How, where, when and for how long they were performed.
    folder : Path or None
        Whose disk they used.
    facts : mapping
        What is known of the platform, beside those of the machine.
    problems : sequence of Problem
        What else could not be measured.
    user_predictions : mapping, optional
        By figure; they take the place of those from the specification.
    """
    found, here = gather(choice, rounds), hardware.read(folder)
    if not facts.get("emulated"):
        # The clock of an emulated processor has no cycles.
        cycles.count(found.metrics, found.curves)
    # Of an emulated machine nothing is promised.
    metrics = found.metrics if facts.get("emulated") else predicted(found.metrics, here, facts)
    metrics, unjudged = predictions.apply(metrics, user_predictions or {})
    return Fingerprint(
        tare=__version__,
        agent=client.digest(),
        started=started,
        seconds=seconds,
        effort=effort,
        platform=platform,
        metrics=metrics,
        curves=found.curves,
        facts={**_machine_facts(), **hardware.facts(here), **facts},
        problems=(*found.problems, *problems, *unjudged),
    )


def _machine_facts() -> dict[str, Fact]:
    """Return what the kernel says of the machine; without sysfs that is less."""
    try:
        topology = machine_facts.topology()
    except AgentError:
        topology = {}
    return {fact.name: fact.value for fact in machine_facts.facts(topology)}


def predicted(
    metrics: Mapping[str, Figure], here: Hardware, facts: Mapping[str, Fact] | None = None
) -> dict[str, Figure]:
    """Add to each figure what the hardware's specification predicts."""
    expected = predict(here, {name: one.value for name, one in metrics.items()}, facts)
    return {name: _beside(one, expected.get(name)) for name, one in metrics.items()}


def _beside(one: Figure, said: Prediction | None) -> Figure:
    if said is None:
        return one
    reasons: list[Said] = [*said.why, *([one.why] if one.why else [])]
    why = text(message("{reasons | join('; ')}", reasons=reasons)) if reasons else None
    return msgspec.structs.replace(one, predicted=said.value, why=why)


def _probe(found: Gathered, probe: Probe, rounds: Sequence[Round]) -> None:
    by_metric = {metric.name: _points(metric, rounds) for metric in probe.metrics}
    for metric in probe.metrics:
        series = _series(by_metric[metric.name])
        if not metric.axes or metric.listed:
            for at, values in series.items():
                name = ".".join([metric.name, *map(str, at)])
                found.metrics[name] = figure(values, metric.unit)
        elif series:
            found.curves[metric.name] = _curve(metric, series)
    curves = {
        metric.name: by_metric[metric.name]
        for metric in probe.metrics
        if metric.axes and not metric.listed
    }
    seen = derived.find(probe.name, curves)
    for name, values in seen.values.items():
        one = figure(values, derived.unit(name))
        found.metrics[name] = msgspec.structs.replace(one, why=seen.remarks.get(name))


def figure(values: Sequence[float], unit: str) -> Figure:
    """Return the figure of a metric from its value in each round.

    What most rounds see nothing of, as time stolen in ticks of 10 ms, has a mean but no median.
    """
    rare = _is_rare(values)
    value, ci = _mean(values) if rare else middle(values)
    why = text(message("the mean: most rounds had none")) if rare else None
    return Figure(
        value=value, ci=ci, unit=unit, n=len(values), sd=_deviation(values), values=tuple(values),
        why=why,
    )  # fmt: skip


def _deviation(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _is_rare(values: Sequence[float]) -> bool:
    return 2 * sum(value == 0 for value in values) >= len(values) and any(values)


def _mean(values: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Return the mean with Student's interval, which ends where nothing is seen."""
    mean = float(np.mean(values))
    if (n := len(values)) < _FEWEST:
        return mean, None
    from scipy import special

    half = float(special.stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n))
    return mean, (max(0.0, mean - half), mean + half)


def middle(values: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Return the median with its exact interval; None: too few rounds."""
    interval = quantile_interval(np.array(values, dtype=float), tick=0.0)
    if interval.low is None or interval.high is None:
        return interval.estimate, None
    return interval.estimate, (interval.low, interval.high)


def _points(metric: ProbeMetric, rounds: Sequence[Round]) -> list[derived.Points]:
    """Return the points of each round that brought some; of a point that came twice, the last."""
    places = len(metric.axes)
    told = [
        {
            reading.at: reading.value
            for reading in one.readings
            if reading.metric == metric.name
            and len(reading.at) == places
            and math.isfinite(reading.value)
        }
        for one in rounds
    ]
    return [points for points in told if points]


def _series(rounds: Iterable[derived.Points]) -> dict[tuple[int, ...], list[float]]:
    series: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for points in rounds:
        for at, value in points.items():
            series[at].append(value)
    return dict(sorted(series.items()))


def _curve(metric: ProbeMetric, series: Mapping[tuple[int, ...], list[float]]) -> Curve:
    points = []
    for at, values in series.items():
        value, ci = middle(values)
        points.append(Point(at=at, value=value, ci=ci, n=len(values), sd=_deviation(values)))
    axes = tuple(Axis(name=axis.name, unit=axis.unit) for axis in metric.axes)
    return Curve(unit=metric.unit, axes=axes, points=tuple(points))


def _problems(probe: str, rounds: Sequence[Round]) -> list[Problem]:
    """Return what rounds complained of, each complaint once."""
    said: dict[str, int] = {}
    for one in rounds:
        for fault in one.faults:
            why = fault.message.removeprefix(f"{probe}: ")
            said[why] = said.get(why, 0) + 1
    told = [
        message(
            "{why}{% if rounds < of %} (in {rounds} of {of} rounds){% endif %}",
            why=why,
            rounds=count,
            of=len(rounds),
        )
        for why, count in said.items()
    ]
    more = len(told) - _MOST_PROBLEMS
    if more > 0:
        told = [*told[:_MOST_PROBLEMS], message("and {n} more complaints like these", n=more)]
    return [Problem(probe=probe, why=text(why)) for why in told]
