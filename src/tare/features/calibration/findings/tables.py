"""The tables of a calibration: its points, its ranges with their causes, its models."""

from __future__ import annotations

from typing import Any

from tare.experiment.sweep import messages
from tare.experiment.sweep.document import Calibration, Interval, Point
from tare.experiment.sweep.rates import unit_for
from tare.results.finding import Column, Table
from tare.results.message import Message, message

_STEPS = {
    "quota": "CPU requested (quota)",
    "cpuset": "CPUs given",
    "memory": "CPU requested",
}
_CAUSES = {
    "none": "–",
    "frequency": "frequency",
    "heat": "heat",
    "steal": "time stolen by the hypervisor",
    "quota": "quota not delivered",
    "saturated": "no more can be used",
    "unseen": "unknown",
}


def points_table(found: Calibration, *, several: bool) -> Table:
    """Lay out every step: CPU time asked for, CPU time delivered, work done."""
    size, unit = _unit(found)
    columns = (
        Column(key="memory", title="memory", unit="bytes"),
        Column(key="cpus", title=_STEPS[found.by], unit="1"),
        Column(key="rate", title="speed", unit=unit),
        Column(key="rate_low", title="from", unit=unit),
        Column(key="rate_high", title="to", unit=unit),
        Column(key="delivered", title="CPU delivered", unit="1"),
        Column(key="delivered_low", title="from", unit="1"),
        Column(key="delivered_high", title="to", unit="1"),
        Column(key="per_cpu", title=f"{unit} per CPU requested", unit="1"),
        Column(key="clock_hz", title="clock (chain)", unit="Hz"),
        Column(key="frequency_hz", title="frequency (cpufreq)", unit="Hz"),
        Column(key="throttled", title="periods throttled", unit="%"),
        Column(key="steal", title="CPUs stolen", unit="1"),
        Column(key="heat", title="thermal throttles", unit="1"),
        Column(key="residual", title="largest residual", unit="1"),
        Column(key="n", title="n"),
    )
    return Table(
        title=_title("points", found, several=several),
        columns=columns,
        rows=tuple(_point_row(p, size) for p in found.points),
        note="Means of trials with 95 % intervals (Student's t). "
        "Speed: work of all workers over the wall time of windows of whole quota periods. CPU "
        "delivered: their own CPU time in the window. Clock: by chains of dependent additions "
        "between the pieces of work.",
    )


def _point_row(point: Point, size: float) -> dict[str, Any]:
    share = point.throttled_share
    return {
        "memory": point.memory_bytes,
        "cpus": point.cpus,
        **_interval("rate", point.rate, size),
        **_interval("delivered", point.delivered, 1.0),
        "per_cpu": point.rate.value / size / point.cpus,
        "clock_hz": point.clock_hz,
        "frequency_hz": point.frequency_hz,
        "throttled": None if share is None else 100 * share,
        "steal": point.steal_cpus,
        "heat": point.thermal_throttles,
        "residual": point.residual,
        "n": point.n,
    }


def _interval(key: str, interval: Interval | None, size: float) -> dict[str, float | None]:
    if interval is None:
        return {key: None, f"{key}_low": None, f"{key}_high": None}
    low, high = interval.low, interval.high
    return {
        key: interval.value / size,
        f"{key}_low": None if low is None else low / size,
        f"{key}_high": None if high is None else high / size,
    }


def regimes_table(found: Calibration, *, several: bool) -> Table:
    """Lay out the ranges: how fast each is, and why."""
    return Table(
        title=_title("regimes", found, several=several),
        columns=(
            Column(key="range", title="CPUs"),
            Column(key="speed", title="work per CPU, relative to the fastest range", unit="%"),
            Column(key="cause", title="cause"),
            Column(key="evidence", title="evidence"),
        ),
        rows=tuple(
            {
                "range": f"{r.start:.3g} – {r.end:.3g}",
                "speed": 100 * r.relative_speed,
                "cause": _CAUSES[r.cause],
                "evidence": r.evidence,
            }
            for r in found.regimes
        ),
        note="A cause explains at least half of the loss; otherwise it is unknown.",
    )


def models_table(found: Calibration, *, several: bool) -> Table:
    """Lay out one straight line against the CPU asked for, and against the CPU delivered."""
    size, unit = _unit(found)
    kinds = (("requested", found.asked), ("delivered", found.delivered))
    return Table(
        title=_title("models", found, several=several),
        columns=(
            Column(key="against", title="against the CPU"),
            Column(key="slope", title=f"slope, {unit} per CPU", unit="1"),
            Column(key="slope_low", title="from", unit="1"),
            Column(key="slope_high", title="to", unit="1"),
            Column(key="intercept", title="intercept", unit=unit),
            Column(key="intercept_low", title="from", unit=unit),
            Column(key="intercept_high", title="to", unit=unit),
            Column(key="r2", title="R²", unit="1"),
            Column(key="p", title="p (slope)", unit="1"),
            Column(key="maximum", title="maximum", unit=unit),
            Column(key="error", title="largest error", unit="%"),
            Column(key="verdict", title="verdict"),
            Column(key="n", title="n"),
        ),
        rows=tuple(
            {
                "against": kind,
                **_numbers(model.line.slope, model.line.slope_low, model.line.slope_high, "slope",
                           size),
                **_numbers(model.line.intercept, model.line.intercept_low,
                           model.line.intercept_high, "intercept", size),
                "r2": model.line.r2,
                "p": model.line.p,
                "maximum": model.line.maximum / size,
                "error": None if model.largest_error is None else 100 * model.largest_error,
                "verdict": model.verdict,
                "n": model.line.n,
            }
            for kind, model in kinds
            if model is not None
        ),
        note="Least squares with HC3 errors over all trials. The verdict chooses between one, two "
        "and three lines through the means (1.5 × BIC, growth of errors fitted). A high R² does "
        "not mean linear.",
    )  # fmt: skip


def _numbers(
    value: float, low: float | None, high: float | None, key: str, size: float
) -> dict[str, float | None]:
    return _interval(key, Interval(value=value, low=low, high=high), size)


def _unit(found: Calibration) -> tuple[float, str]:
    return unit_for(found.work, [p.rate.value for p in found.points])


def _title(table: str, found: Calibration, *, several: bool) -> Message:
    subject = messages.subject(found) if several else None
    return message(f"calibration.table.{table}", subject=subject)
