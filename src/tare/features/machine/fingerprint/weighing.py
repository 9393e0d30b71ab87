"""From what was measured in several platforms to what each of them weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare import registry
from tare.experiment.catalogue import catalogue
from tare.experiment.fingerprints.machine.difference import Change, Rule, differences, rule
from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.features.machine.fingerprint import trial_probe
from tare.features.machine.fingerprint.figures import assemble, figure
from tare.features.machine.fingerprint.measured_platform import MeasuredPlatform
from tare.features.machine.fingerprint.request import Asked
from tare.features.machine.fingerprint.weights import Cost, Holding, Starting, Weighed
from tare.render.words import text
from tare.results.message import message


def weighed(
    measured: Sequence[MeasuredPlatform], asked: Asked, started: str, seconds: float
) -> tuple[Weighed, ...]:
    """Put together the overhead of each platform vs. the first.

    Parameters
    ----------
    measured : sequence of MeasuredPlatform
    asked : Asked
        What was measured.
    started, seconds
        When, and for how long.
    """
    prints = [
        assemble(
            one.choice,
            one.rounds,
            effort=asked.effort,
            platform=one.stack,
            started=started,
            seconds=seconds,
            folder=one.folder,
            facts=one.facts,
        )
        for one in measured
    ]
    found = []
    for one, own in zip(measured, prints, strict=True):
        costs = () if one is measured[0] else _costs(prints[0], own, len(measured) - 1)
        found.append(
            Weighed(
                platform=one.stack,
                emulated=bool(one.facts.get("emulated")),
                why=None if one.why is None else _told(one),
                starting=_starting(one),
                holding=_holding(one),
                costs=costs,
                fingerprint=own if own.metrics or own.curves else None,
                problems=own.problems,
            )
        )
    return tuple(found)


def _told(one: MeasuredPlatform) -> str:
    assert one.why is not None
    return text(
        message("{why}{% if hint %} ({hint}){% endif %}", why=one.why.message, hint=one.why.hint)
    )


def _starting(one: MeasuredPlatform) -> Starting | None:
    if len(one.starts) < 2 or not one.stops:
        return None
    return Starting(
        cold=figure([float(one.starts[0])], "ns"),
        warm=figure(list(map(float, one.starts[1:])), "ns"),
        stop=figure(list(map(float, one.stops)), "ns"),
    )


def _holding(one: MeasuredPlatform) -> Holding | None:
    if not one.weights:
        return None
    (began, first), (ended, last) = one.weights[0], one.weights[-1]
    used = last.around.cpu_ns - first.around.cpu_ns
    return Holding(
        around_memory_bytes=last.around.memory_bytes,
        # Less than before: it was started again meanwhile.
        around_cpu_share=used / (ended - began) if ended > began and used >= 0 else None,
        agent_memory_bytes=None if last.agent is None else last.agent.memory_bytes,
    )


def _costs(first: Fingerprint, own: Fingerprint, beside: int) -> tuple[Cost, ...]:
    """Return each figure as a multiple of the first platform's, over all platforms together."""
    rules = _rules(first, own)
    changes = differences(
        [{m: first.metrics[m].values for m in rules}],
        [{m: own.metrics[m].values for m in rules}],
        rules,
        beside,
    )
    return tuple(_cost(change, rules[change.metric]) for change in changes)


def _rules(first: Fingerprint, own: Fingerprint) -> Mapping[str, Rule]:
    """Return the rule of each figure that both have and of which one direction is better."""
    probes: dict[str, registry.Probe] = {
        trial_probe.NAME: trial_probe.PROBE, **catalogue().probes
    }  # fmt: skip
    found = {m: rule(m, f.unit, probes) for m, f in first.metrics.items() if m in own.metrics}
    return {m: one for m, one in found.items() if one.better != "neither"}


def _cost(change: Change, rule: Rule) -> Cost:
    ratio, low, high = change.ratio, change.low, change.high
    if rule.better == "higher":
        ratio, low, high = 1 / ratio, high and 1 / high, low and 1 / low
    words = {"worse": "costs", "better": "saves", None: change.verdict}
    return Cost(
        metric=change.metric,
        ratio=ratio,
        low=low,
        high=high,
        verdict=words[change.direction],
        margin=change.margin,
    )
