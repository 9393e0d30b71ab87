"""What it takes to start and to end an instance of each platform, as the experiment did it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.columns import Columns
from tare.results.finding import Column, Estimate, Finding, Table, columns_of, interval_columns
from tare.results.message import Amount, Message, message
from tare.statistics.intervals import Interval
from tare.statistics.quantiles import quantiles
from tare.statistics.statistic import FloatArray

_DESCRIPTION = Description(
    name="starts",
    title="Time that it takes to start and to end an instance of each platform",
    question="What does it take to start each platform?",
    source="measured around the start and the end of every instance",
)
#: Instances below which a median has no interval worth the name.
_FEWEST = 6


def find(results: Results) -> Finding | None:
    """Give medians of starts and ends, the first of each platform apart from those after it."""
    instances = results.instances
    if len(instances.distinct("platform")) < 2:
        return None
    rows = [_row(name, instances.where(platform=name)) for name in instances.distinct("platform")]
    enough = [row for row in rows if row["n"] >= _FEWEST]
    if len(enough) < 2:
        return None
    by_time = sorted(enough, key=lambda row: float(row["start"]))
    anew = results.experiment.fresh == "trial"
    return answered(
        _DESCRIPTION,
        answer=_medians(by_time, intervals=True),
        verdict="none",
        summary=_medians(by_time, intervals=False) if anew else None,
        estimates=tuple(_estimate(row) for row in enough),
        tables=(_table(rows),),
        caveats=(
            message(
                "a start is the time from the call that starts an instance to the agent's first "
                "answer in it. Instances that start concurrently share the CPUs"
            ),
        ),
    )


def _row(platform: str, some: Columns) -> dict[str, Any]:
    warm, cold = some.where(cold=False), some.where(cold=True)
    start, stop = _median(warm["start_ns"]), _median(warm["stop_ns"])
    first = cold["start_ns"]
    return {
        "platform": platform,
        "n": start.n if start else 0,
        **_bounds("start", start),
        **_bounds("stop", stop),
        "first": float(first[0]) if len(first) else None,
    }


def _median(values: FloatArray) -> Interval | None:
    numbers = values[~np.isnan(values)].astype(float)
    return quantiles(numbers, [0.5])[0] if len(numbers) else None


def _bounds(key: str, found: Interval | None) -> dict[str, Any]:
    if found is None:
        return {key: None, f"{key} low": None, f"{key} high": None}
    return {key: found.estimate, f"{key} low": found.low, f"{key} high": found.high}


def _medians(rows: list[dict[str, Any]], *, intervals: bool) -> Message:
    def time(row: dict[str, Any]) -> Amount:
        ends = (row["start low"], row["start high"]) if intervals else ()
        return Amount(row["start"], "ns", *ends)

    return message(
        "starting one more instance takes {starts | listing} (medians)",
        starts=[
            message("{time} on {platform}", time=time(r), platform=r["platform"]) for r in rows
        ],
    )


def _estimate(row: dict[str, Any]) -> Estimate:
    levels, ends = (
        {"platform": row["platform"]},
        (row["start"], row["start low"], row["start high"]),
    )
    return Estimate.of("start", levels, ends, "median, exact order statistics", row["n"], unit="ns")


def _table(rows: list[dict[str, Any]]) -> Table:
    return Table(
        title=message("Starts and ends of instances"),
        columns=(
            *columns_of(platform="platform", n="n"),
            *interval_columns("start", "start, median", "ns", "start "),
            *interval_columns("stop", "end, median", "ns", "stop "),
            Column(key="first", title="the very first start", unit="ns"),
        ),
        rows=tuple(rows),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=35, find=find)
