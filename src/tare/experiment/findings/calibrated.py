"""Whether CPU shares are in a range in which the machine scales linearly.

The calibration itself is judged in :mod:`tare.features.calibration.findings.calibration`; here are
the experiments after it, which have it as facts (:mod:`tare.experiment.sweep.cache`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.results import Results
from tare.experiment.sweep.numbers import cpus, span
from tare.registry import Description
from tare.render.words import text
from tare.results.finding import Answer, Finding, Table, columns_of
from tare.results.message import Amount, Chosen, Message, message

_DESCRIPTION = Description(
    name="calibrated",
    title="CPU shares and the ranges in which this machine scales linearly",
    question="Are the CPU shares in a range in which this machine scales linearly?",
    source="CALIBRATE (Manner and Wirtz, 2021)",
)
_RANGE = re.compile(r"\A([0-9.e+-]{1,12}) to ([0-9.e+-]{1,12})\Z")
#: The fact without which a calibration is inconclusive.
_LOST = "calibration_lost_share"
#: Ranges are stored with three digits.
_NEAR = 0.005

#: Gives the value of a fact by its name; None where there is none.
Fact = Callable[[str], Any]
Range = tuple[float, float]


def find(results: Results) -> Finding | None:
    """Find each quota in the ranges of the calibration that the sessions cite."""
    shares = dict(_shares(results))
    if not shares:
        return None
    scaling = cpu_scaling(results.fact)
    if scaling is None:
        return _finding(
            "inconclusive", message("CPU scaling was not measured on this machine: tare calibrate")
        )
    if results.fact("calibration_changed") is not None or results.fact(_LOST) is None:
        return _finding("inconclusive", scaling)
    found = ranges(results.fact)
    if not found:
        return _finding(
            "inconclusive", message("no linear range was found: tare calibrate"), scaling
        )
    ranges_of = {label: _range(share, found) for label, share in shares.items()}
    verdict, judged = _judged(shares, ranges_of)
    return _finding(
        verdict,
        judged,
        scaling,
        tables=(_table(shares, ranges_of),),
        caveats=_caveats(results),
    )


def _finding(verdict: Answer, *answer: Message, **more: Any) -> Finding:
    return answered(
        _DESCRIPTION,
        closed=True,
        answer=answer,
        verdict=verdict,
        settle=message("tare calibrate") if verdict == "inconclusive" else None,
        **more,
    )


def cpu_scaling(fact: Fact) -> Message | None:
    """Say how this machine scales: by which calibration, how well, and what has changed since.

    Parameters
    ----------
    fact : callable
        Value of a fact by its name.

    Returns
    -------
    Message or None
        None where it was not calibrated.
    """
    date, verdict = fact("calibration_date"), fact("calibration_verdict")
    if not isinstance(date, str) or not isinstance(verdict, str):
        return None
    r2, lost = fact("calibration_r_squared"), fact(_LOST)
    source = message(
        "{date}, {workload} on {platform}{% if r2 is not none %}, R² = {r2 | r_squared}"
        "{% endif %}{% if lost %}, {lost} of the CPU time went to other work{% endif %}",
        date=date,
        workload=str(fact("calibration_workload")),
        platform=str(fact("calibration_platform")),
        r2=r2 if isinstance(r2, float) else None,
        lost=Amount(lost, "share") if isinstance(lost, int | float) else None,
    )
    changed = fact("calibration_changed")
    if isinstance(changed, str):
        return message(
            "CPU scaling of this machine is out of date, because it has changed ({changed}): "
            "tare calibrate. Last calibration: {source}",
            changed=changed,
            source=source,
        )
    if lost is None:
        return message(
            "CPU scaling of this machine is uncertain, because CPU use by others was not "
            "recorded: tare calibrate. Last calibration: {source}",
            source=source,
        )
    linear = [_named(one) for one in ranges(fact)]
    return message(
        "CPU scaling of this machine: {% if verdict != 'linear' or not ranges %}{verdict}"
        "{% if ranges %}, {% endif %}{% endif %}{% if ranges %}linear from {ranges | listing}"
        "{% endif %} ({source})",
        verdict=verdict,
        ranges=linear,
        source=source,
    )


def _named(of: Range) -> Message:
    low, high = (Chosen(cpus, "1") for cpus in of)
    return message(
        "{low}{% if high != low %} to {high}{% endif %} CPU"
        "{% if high.value != 1 or high != low %}s{% endif %}",
        low=low,
        high=high,
    )


def ranges(fact: Fact) -> list[Range]:
    """Return where the machine scales linearly; nothing where that is not known."""
    parts = [_RANGE.match(part) for part in str(fact("calibration_linear")).split(", ")]
    try:
        return [(float(part[1]), float(part[2])) for part in parts if part]
    except ValueError:
        return []


def _shares(results: Results) -> Iterator[tuple[str, float]]:
    """Yield each level that limits CPU time, with the CPUs that it gives to all workers."""
    experiment = results.experiment
    if experiment.window is not None and len(experiment.factors.get("quota", ())) > 1:
        return
    factors = [f for f in ("quota", "size", "workers") if f in results.trial_table]
    for _, rows in results.trial_table.groups(*factors):
        levels = {factor: rows[factor][0] for factor in factors}
        size = experiment.limits(str(levels.get("size")))
        share = _number(levels.get("quota")) or size.cores or size.cpuset
        if share is None:
            continue
        own = experiment.instances == "own" and not size.cpuset
        workers = int(levels.get("workers", 1)) if own else 1
        name = f"quota {levels['quota']}" if _number(levels.get("quota")) else levels["size"]
        yield f"{name} × {workers}" if workers > 1 else str(name), float(share) * workers


def _number(level: Any) -> float | None:
    try:
        return float(level)
    except (TypeError, ValueError):
        return None


def _range(share: float, found: Sequence[Range]) -> Range | None:
    return next(
        (one for one in found if one[0] * (1 - _NEAR) <= share <= one[1] * (1 + _NEAR)), None
    )


def _judged(
    shares: Mapping[str, float], ranges_of: Mapping[str, Range | None]
) -> tuple[Answer, Message]:
    outside = {share for label, share in shares.items() if ranges_of[label] is None}
    if outside:
        some = [Chosen(share, "1") for share in sorted(outside)]
        return "no", message(
            "{shares | listing} {% if shares | length == 1 and shares[0].value == 1 %}CPU"
            "{% else %}CPUs{% endif %} {% if shares | length == 1 %}is{% else %}are"
            "{% endif %} outside every linear range: speed there does not follow from that "
            "of other shares",
            shares=some,
        )
    used = sorted({one for one in ranges_of.values() if one is not None})
    if len(used) > 1:
        return "no", message(
            "the CPU shares are in {ranges | length} linear ranges ({ranges | listing}): "
            "across them, half of the CPU is not half of the speed",
            ranges=[_named(one) for one in used],
        )
    return "yes", message(
        "all CPU shares are in one linear range ({linear})", linear=_named(used[0])
    )


def _table(shares: Mapping[str, float], ranges_of: Mapping[str, Range | None]) -> Table:
    return Table.of(
        message("CPU shares and their linear ranges"),
        (
            "level",
            *columns_of(cpus="CPU for all workers", range="linear range"),
        ),
        (
            (label, text(cpus(share)), found and text(span(*found)))
            for label, share in sorted(shares.items(), key=lambda item: item[1])
            for found in (ranges_of[label],)
        ),
    )


def _caveats(results: Results) -> Iterator[Message]:
    workload, platform = (str(results.fact(f"calibration_{w}")) for w in ("workload", "platform"))
    yield message(
        "calibrated by {workload}: work that waits for memory or disks may scale differently",
        workload=workload,
    )
    others = sorted(set(results.levels("platform")) - {platform})
    if others:
        yield message(
            "calibrated on {platform}: whether {others | listing} scales alike is unknown",
            platform=platform,
            others=others,
        )
    changed = results.fact("calibration_changed_kernel")
    if isinstance(changed, str):
        yield message(
            "changed since the calibration: {changed}. Quotas may be enforced differently",
            changed=changed,
        )


UNIT = FindingUnit(description=_DESCRIPTION, order=120, find=find, killed="used")
