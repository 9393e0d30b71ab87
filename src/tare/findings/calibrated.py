"""Whether CPU shares lie where the machine scales linearly, as its last calibration says.

What a calibration says of itself is :mod:`tare.findings.calibration`; here are the experiments
after it, which have it as facts (:mod:`tare.calibration.remembered`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tare.calibration.numbers import cpus, span
from tare.findings.finding import FindingUnit
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Answer, Column, Finding, Table
from tare.units import percent, significant

_DESCRIPTION = Description(
    name="calibrated",
    title="CPU shares beside the ranges in which this machine scales linearly",
    question="Do the CPU shares given here lie where this machine scales linearly?",
    source="CALIBRATE (Manner and Wirtz, 2021)",
)
_RANGE = re.compile(r"\A([0-9.e+-]{1,12}) to ([0-9.e+-]{1,12})\Z")
#: The fact without which a calibration decides nothing.
_LOST = "calibration_lost_share"
_AGAIN = "calibrate it again (tare calibrate)"
#: Ranges are remembered with three digits.
_NEAR = 0.005

#: Gives the value of a fact by its name; None where there is none.
Fact = Callable[[str], Any]
Range = tuple[float, float]


def find(results: Results) -> Finding | None:
    """Look where each quota lies in the ranges of the calibration that the sessions cite."""
    shares = dict(_shares(results))
    if not shares:
        return None
    told = sentence(results.fact)
    if told is None:
        return _finding(
            "inconclusive",
            "Nobody has calibrated this machine, so that it is not known whether half of the CPU "
            "is half of the speed here: tare calibrate.",
        )
    if results.fact("calibration_changed") is not None or results.fact(_LOST) is None:
        return _finding("inconclusive", told)
    found = ranges(results.fact)
    if not found:
        return _finding("inconclusive", f"{told} Where it is linear could not be said: {_AGAIN}.")
    where = {label: _range(share, found) for label, share in shares.items()}
    verdict, judged = _judged(shares, where)
    return _finding(
        verdict,
        f"{told} {judged}",
        tables=(_table(shares, where),),
        caveats=tuple(_caveats(results)),
    )


def _finding(verdict: Answer, answer: str, **more: Any) -> Finding:
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=answer,
        verdict=verdict,
        **more,
    )


def sentence(fact: Fact) -> str | None:
    """Tell what this machine was calibrated to be: when, how well, and what has changed since.

    Parameters
    ----------
    fact : callable
        Value of a fact by its name.

    Returns
    -------
    str or None
        None where nobody has calibrated it.
    """
    date, verdict = fact("calibration_date"), fact("calibration_verdict")
    if not isinstance(date, str) or not isinstance(verdict, str):
        return None
    by = ", ".join([
        f"by {fact('calibration_workload')} on {fact('calibration_platform')}", *_quality(fact)
    ])  # fmt: skip
    changed = fact("calibration_changed")
    if isinstance(changed, str):
        return (
            f"This machine was calibrated on {date} ({by}), but it has changed since, {changed}: "
            f"{_AGAIN}."
        )
    if fact(_LOST) is None:
        return (
            f"This machine was calibrated on {date} ({by}), but whether other work had its CPUs "
            f"meanwhile was not recorded: {_AGAIN}."
        )
    found = ranges(fact)
    linear = f", linear from {listing(span(*one) for one in found)}" if found else ""
    return f"This machine was calibrated on {date} ({by}): {verdict}{linear}."


def _quality(fact: Fact) -> Iterator[str]:
    """Tell how well one line fits, and how much of the CPU time other work had meanwhile."""
    r2, lost = fact("calibration_r_squared"), fact(_LOST)
    if isinstance(r2, float):
        yield f"R² {significant(r2, 4)}"
    if isinstance(lost, int | float):
        yield f"while other work had {percent(lost)} of the CPU time"


def ranges(fact: Fact) -> list[Range]:
    """Return where the machine scales linearly; nothing where that is not known."""
    told = fact("calibration_linear")
    parts = [_RANGE.match(part) for part in str(told).split(", ")]
    try:
        return [(float(part[1]), float(part[2])) for part in parts if part]
    except ValueError:
        return []


def _shares(results: Results) -> Iterator[tuple[str, float]]:
    """Yield each level that limits CPU time, with the CPUs that it gives to all workers."""
    experiment = results.experiment
    if experiment.window is not None and len(experiment.factors.get("quota", ())) > 1:
        return
    factors = [f for f in ("quota", "size", "workers") if f in results.trial_table.columns]
    some: Any = results.trial_table[factors].drop_duplicates().to_dict("records")
    for levels in some:
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


def _judged(shares: Mapping[str, float], where: Mapping[str, Range | None]) -> tuple[Answer, str]:
    outside = [share for label, share in shares.items() if where[label] is None]
    if outside:
        some = listing(f"{share:.3g}" for share in sorted(set(outside)))
        verb = "lies" if len(set(outside)) == 1 else "lie"
        return "no", f"{some} CPU {verb} outside: speed there does not follow from the others'."
    used = sorted({one for one in where.values() if one is not None})
    if len(used) > 1:
        names = listing(span(*one) for one in used)
        return "no", (
            f"The shares given here lie in {len(used)} of its ranges ({names}), between which half "
            "of the CPU is not half of the speed."
        )
    return "yes", f"All shares given here lie in {span(*used[0])}."


def _table(shares: Mapping[str, float], where: Mapping[str, Range | None]) -> Table:
    return Table(
        title="CPU shares and the linear ranges that they lie in",
        columns=(
            Column(key="level", title="level"),
            Column(key="cpus", title="CPU for all workers"),
            Column(key="range", title="linear range"),
        ),
        rows=tuple(
            {
                "level": label,
                "cpus": cpus(share),
                "range": None if (found := where[label]) is None else span(*found),
            }
            for label, share in sorted(shares.items(), key=lambda item: item[1])
        ),
    )


def _caveats(results: Results) -> Iterator[str]:
    workload, platform = (results.fact(f"calibration_{w}") for w in ("workload", "platform"))
    yield (
        f"Calibrated by {workload}: what waits for memory, disks or others does not follow the CPU "
        "that it is given in this way."
    )
    others = sorted(set(results.trial_table["platform"].astype(str)) - {str(platform)})
    if others:
        yield f"Calibrated on {platform}: that {listing(others)} scales so, too, is not known."
    changed = results.fact("calibration_changed_kernel")
    if isinstance(changed, str):
        yield f"Since the calibration changed {changed}, which may change how quotas are kept."


UNIT = FindingUnit(description=_DESCRIPTION, order=120, find=find)
