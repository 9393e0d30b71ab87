"""Visible resources of each platform: CPUs and memory that a program sees, and what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.findings.platform_cells import FREE, given_cores, named, size_name
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Column, Finding, Table
from tare.results.message import Chosen, Message, message

_DESCRIPTION = Description(
    name="platform_seen",
    title="CPUs and memory that a program sees, by platform, size and pinning",
    question="What do programs see of the machine?",
    source="PINNING",
)
#: Fact, what it is called, unit.
_SEEN = (
    ("cpus_affinity", "CPUs by affinity (nproc)", "1"),
    ("cpus_online", "CPUs online", "1"),
    ("cpus_visible", "CPUs by affinity and quota", "1"),
    ("memory_total_bytes", "total memory", "bytes"),
    ("memory_limit_bytes", "memory limit", "bytes"),
)
#: What says to which cells an instance belongs.
_KEYS = ("platform", "size", "pinning")


def find(results: Results) -> Finding | None:
    """Lay the facts of instances out by platform, size and pinning."""
    rows = seen(results)
    if not rows or not {"platform", *_KEYS, "quota"} & set(results.varied):
        return None
    keys = [k for k in ("platform", "pinning", "size") if any(r.get(k) is not None for r in rows)]
    return answered(
        _DESCRIPTION,
        answer=_answer(rows),
        verdict="none",
        tables=(
            Table(
                title=message("Visible resources"),
                columns=(
                    *level_columns(keys),
                    Column(key="cores", title="CPUs given", unit="1"),
                    *(Column(key=name, title=title, unit=unit) for name, title, unit in _SEEN),
                ),
                rows=tuple(
                    {k: v for k, v in r.items() if k in keys or k not in _KEYS} for r in rows
                ),
                note=message(
                    "As the agent inside sees it. A program that starts a thread for each "
                    "CPU uses its affinity: under a quota that is more than it is given"
                ),
            ),
        ),
    )


def seen(results: Results) -> list[dict[str, Any]]:
    """Return a row for each platform, size and pinning; none where no agent reported them."""
    names = [name for name, *_ in _SEEN]
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in results.instances.records():
        known = {n: None if one[n] is None else int(one[n]) for n in names}
        if all(value is None for value in known.values()):
            continue
        levels = {k: str(one[k]) for k in _KEYS}
        cores = _given(results, one, levels)
        # Instances of the same size see the same: the last one stands for all.
        rows[(*levels.values(), cores)] = {**levels, "cores": cores, **known}
    asked = results.experiment.factors.get("platform", ("bare",))
    order = {str(name): i for i, name in enumerate(asked)}
    return sorted(
        rows.values(),
        key=lambda r: (order.get(r["platform"], len(order)), r["cores"] or 0, r["pinning"]),
    )


def _given(results: Results, one: Mapping[str, Any], levels: dict[str, str]) -> float | None:
    """CPUs that an instance was given: its quota or its size; of a set, as many as are in it."""
    if one["cores"] is not None:
        return float(one["cores"])
    limits = results.experiment.limits(levels["size"])
    if limits.cores is None and limits.cpuset is None and isinstance(one["cpus"], list | tuple):
        return float(len(one["cpus"]))
    return given_cores(results, levels)


def _answer(rows: list[dict[str, Any]]) -> Message:
    """Name what sees most CPUs for those that it is given."""
    known = [r for r in rows if r["cores"] is not None and r["cpus_affinity"] is not None]
    if not known:
        return message("the number of CPUs that programs see was not recorded")
    more = [r for r in known if r["cpus_affinity"] > r["cores"]]
    if not more:
        return message("no program sees more CPUs than it is given")
    worst = max(more, key=lambda r: r["cpus_affinity"] / r["cores"])
    return message(
        "{name} with {given}: programs see {cpus | counted('CPU')}{% if of > 1 %} (the worst "
        "of {of} that see more than they are given){% endif %}. A program with a thread for "
        "each CPU starts {times} × as many as it is given",
        name=named(*_key(worst)),
        given=size_name(worst["cores"]),
        cpus=int(worst["cpus_affinity"]),
        times=Chosen(round(worst["cpus_affinity"] / worst["cores"], 2), "1"),
        of=len(more),
    )


def _key(row: dict[str, Any]) -> tuple[str, str]:
    return str(row["platform"]), row["pinning"] or FREE


UNIT = FindingUnit(description=_DESCRIPTION, order=34, find=find, killed="used", of_rates=True)
