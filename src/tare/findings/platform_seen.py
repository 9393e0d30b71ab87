"""What a program sees of the machine on each platform: CPUs and memory, beside what it is given."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tare.findings.finding import FindingUnit
from tare.findings.platform_cells import FREE, given_cores, named, size_name
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.units import counted

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
    ("cpus_visible", "CPUs that affinity and quota come to", "1"),
    ("memory_total_bytes", "memory in all", "bytes"),
    ("memory_limit_bytes", "limit of memory", "bytes"),
)
#: What says to which cells an instance belongs.
_KEYS = ("platform", "size", "pinning")


def find(results: Results) -> Finding | None:
    """Lay the facts of instances out by platform, size and pinning."""
    rows = seen(results)
    if not rows or not {"platform", *_KEYS, "quota"} & set(results.varied):
        return None
    keys = [k for k in ("platform", "pinning", "size") if any(r.get(k) is not None for r in rows)]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=_answer(rows),
        verdict="none",
        tables=(
            Table(
                title="What a program sees",
                columns=(
                    *(Column(key=k, title=k) for k in keys),
                    Column(key="cores", title="CPUs given", unit="1"),
                    *(Column(key=name, title=title, unit=unit) for name, title, unit in _SEEN),
                ),
                rows=tuple(
                    {k: v for k, v in r.items() if k in keys or k not in _KEYS} for r in rows
                ),
                note="As the agent inside sees it. A program that starts a thread for each CPU "
                "goes by its affinity: under a quota that is more than it is given.",
            ),
        ),
    )


def seen(results: Results) -> list[dict[str, Any]]:
    """Return a row for each platform, size and pinning; none where no agent has told."""
    names = [name for name, *_ in _SEEN]
    instances = results.instances
    if instances.empty:
        return []
    told = instances[instances[names].notna().any(axis=1)]
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in told.to_dict("records"):
        levels = {k: str(one[k]) for k in _KEYS}
        cores = _given(results, one, levels)
        known = {n: None if pd.isna(one[n]) else int(one[n]) for n in names}
        # Instances of the same size see the same: the last one stands for all.
        rows[(*levels.values(), cores)] = {**levels, "cores": cores, **known}
    asked = results.experiment.factors.get("platform", ("bare",))
    order = {str(name): i for i, name in enumerate(asked)}
    return sorted(
        rows.values(),
        key=lambda r: (order.get(r["platform"], len(order)), r["cores"] or 0, r["pinning"]),
    )


def _given(results: Results, one: dict[Any, Any], levels: dict[str, str]) -> float | None:
    """CPUs that an instance was given: its quota or its size; of a set, as many as are in it."""
    if one["cores"] is not None and not pd.isna(one["cores"]):
        return float(one["cores"])
    limits = results.experiment.limits(levels["size"])
    if limits.cores is None and limits.cpuset is None and isinstance(one["cpus"], list | tuple):
        return float(len(one["cpus"]))
    return given_cores(results, levels)


def _answer(rows: list[dict[str, Any]]) -> str:
    """Name what sees more CPUs than it is given, and what sees its own."""
    more = [
        r for r in rows if r["cores"] is not None and (r.get("cpus_affinity") or 0) > r["cores"]
    ]
    own = [r for r in rows if r["cores"] is not None and r.get("cpus_affinity") == r["cores"]]
    told = []
    if more:
        worst = max(more, key=lambda r: r["cpus_affinity"] / r["cores"])
        told.append(
            f"{_named(worst)} at {size_name(worst['cores'])} sees "
            f"{counted(int(worst['cpus_affinity']), 'CPU')}: a program that starts a thread for "
            f"each starts {worst['cpus_affinity'] / worst['cores']:g} times as many as it is given"
            f"{_among(more)}."
        )
    if own:
        told.append(_own(own, more))
    if not told:
        told = [
            f"{r['platform']} sees {counted(int(r['cpus_affinity']), 'CPU')}."
            for r in rows
            if r.get("cpus_affinity") is not None
        ]
    return " ".join(told) or "The table says what was told."


def _own(own: list[dict[str, Any]], more: list[dict[str, Any]]) -> str:
    """Name what sees as many as it is given: at every size, or only at some."""
    part = {_named(r) for r in more}
    names = dict.fromkeys(
        _named(r) + (f" at {size_name(r['cores'])}" if _named(r) in part else "") for r in own
    )
    return f"As many CPUs as they are given see {listing(names)}."


def _named(row: dict[str, Any]) -> str:
    return named(str(row["platform"]), row["pinning"] or FREE)


def _among(more: list[dict[str, Any]]) -> str:
    return f" (the worst of {len(more)} that see more)" if len(more) > 1 else ""


UNIT = FindingUnit(description=_DESCRIPTION, order=34, find=find, of_rates=True)
