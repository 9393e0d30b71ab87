"""Why a platform takes longer than bare: where the time goes, by paired trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tare.experiment.findings import emulated_cpu
from tare.experiment.findings import phrases as findings_phrases
from tare.experiment.findings.cells import Basis, Pair, cells_of
from tare.experiment.findings.disturbance import without_throttling
from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, answered, uncompared
from tare.experiment.findings.level_names import unit_of, where
from tare.experiment.findings.platform_cells import cost_basis
from tare.experiment.metrics import DRIVER, PRINTED, ranked
from tare.experiment.results import Results
from tare.registry import Description
from tare.results import phrases as results_phrases
from tare.results.finding import Column, Estimate, Finding, Table, interval_columns
from tare.results.message import Amount, Message, message
from tare.statistics.signed_rank import hodges_lehmann, signed_rank_interval

_DESCRIPTION = Description(
    name="platform_why",
    title="Time that a platform takes more than bare, by what it was spent in",
    question="Why does a platform cost what it costs?",
    source="PINNING",
)
#: Metric and name of times that may explain a longer wall time. Concurrent threads add up to
#: more than the wall time.
_PARTS = (
    ("throttled_ns", "throttled time"),
    ("cpu_ns", "CPU time"),
    ("wait_ns", "run-queue wait"),
    ("off_cpu_preempted_ns", "preempted time"),
    ("off_cpu_blocked_ns", "blocked time"),
)
#: Times in which threads are ready and have no CPU, and the throttled time in them.
_READY = {
    "wait_ns": "throttled_ns",
    "off_cpu_preempted_ns": "throttled_ns",
    "service_preempted_ns": "service_throttled_ns",
}
#: What goes with it, but is no time of its own.
_OTHER_METRICS = (
    ("system_ns", "in the kernel"),
    ("voluntary_switches", "voluntary switches"),
    ("involuntary_switches", "involuntary switches"),
    ("migrations", "migrations"),
    ("minor_faults", "minor faults"),
    ("major_faults", "major faults"),
)
#: The same of applications that serve: while they are under load, of all their threads.
_SERVICE_PARTS = (
    ("service_throttled_ns", "throttled time per request"),
    ("service_cpu_ns", "CPU time per request"),
    ("service_preempted_ns", "preempted time per request"),
    ("service_disk_ns", "disk wait per request"),
    ("service_network_ns", "socket wait per request"),
)
_OTHER_SERVICE_METRICS = (("service_blocked_ns", "blocked time per request"),)
#: What a load generator prints of requests that it makes before those that count.
WARM_UP_REQUESTS = "warm_up_requests"
#: Idle servers wait for a socket as well, so that it is a cause only where nothing else is.
_LAST_NAMED = "service_network_ns"
#: What is given with its interval, of commands and of services.
_TIMES = (*_PARTS, _OTHER_METRICS[0], *_SERVICE_PARTS, *_OTHER_SERVICE_METRICS)
_METHOD = "Hodges–Lehmann median of paired differences on common blocks, signed-rank interval"
#: What is smaller than this share of the extra time is not named.
_NOTABLE = 0.1
#: What is named of one platform.
_MOST_NAMED = 2
_MOST_SENTENCES = 4


class Part(NamedTuple):
    """What one metric differs by, in the median of paired differences."""

    value: float
    low: float | None
    high: float | None

    @property
    def sure(self) -> bool:
        """Whether it is surely more than on the reference."""
        return self.low is not None and self.low > 0

    @property
    def amount(self) -> Amount:
        """As a value to be shown."""
        return Amount(self.value, "ns", self.low, self.high)


@dataclass(frozen=True)
class Extra:
    """A platform relative to its reference: the extra time, and what else differs."""

    pair: Pair
    time: Part
    parts: dict[str, Part]
    #: Whether its workload is an application that serves.
    serves: bool

    @property
    def known_parts(self) -> tuple[tuple[str, str], ...]:
        """Times that may grow with its time: metric and name."""
        return _SERVICE_PARTS if self.serves else _PARTS

    @property
    def throttled(self) -> Part | None:
        """Throttled time, where it grows enough to be named; None: it does not."""
        (_, name), *_ = self.known_parts
        return dict(self.named).get(name)

    @property
    def other_metrics(self) -> tuple[tuple[str, str], ...]:
        """What else is compared."""
        return _OTHER_SERVICE_METRICS if self.serves else _OTHER_METRICS

    @property
    def named(self) -> list[tuple[str, Part]]:
        """What there surely is more of, and enough to be named; the largest first."""
        found = [
            (metric, name, part)
            for metric, name in self.known_parts
            if (part := self.parts.get(metric)) is not None
            and part.sure
            and part.value >= _NOTABLE * self.time.value
        ]
        found.sort(key=lambda one: (one[0] == _LAST_NAMED, -one[2].value))
        return [(name, part) for _, name, part in found]


def find(results: Results) -> Finding | None:
    """Divide the extra time of every platform that takes longer than bare."""
    if len(results.levels("platform")) < 2:
        return None
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    if basis.unit != "ns":
        return None
    some = _extras(results, basis)
    apart = emulated_cpu.note(results)
    if not some:
        return uncompared(_DESCRIPTION, apart or message(findings_phrases.NO_COMMON_CELL))
    requests = (
        message(
            "of services: sums over their threads under load, divided by the number of requests, "
            "with those of a warm-up if the load generator prints them. Socket wait includes "
            "waiting for requests with nothing else to do"
        )
        if any(one.serves for one in some)
        else None
    )
    overlap = message(
        "these times overlap and are sums over threads: they are not shares of the extra "
        "time and may exceed it"
    )
    return answered(
        _DESCRIPTION,
        answer=_answer(some, results),
        verdict="none" if any(one.time.sure for one in some) else "inconclusive",
        settle=None if any(one.time.sure for one in some) else message(results_phrases.SETTLE_MORE),
        summary=_throttled(some, results),
        basis=str(basis),
        estimates=tuple(e for one in some for e in _estimates(one)),
        tables=(_table(some, results, str(basis)),),
        caveats=(_absent(some), overlap, requests, apart),
        charts=("stretches",),
    )


def _extras(results: Results, basis: Basis) -> list[Extra]:
    """Compare every real platform with bare, on the same cells and common blocks."""
    serving = {one.name for one in results.experiment.workloads if one.serves}
    found = []
    for pair in cells_of(results, basis).pairs("platform"):
        serves = pair.levels["workload"] in serving
        time = part(pair.trial_values[1] - pair.trial_values[0])
        found.append(Extra(pair, time, _parts(results, pair, serves), serves))
    return found


def _parts(results: Results, pair: Pair, serves: bool) -> dict[str, Part]:
    """Return the difference in each metric, from the best source that all these trials have.

    What services do is divided by the trial's requests, as their response time is of one. They are
    recorded during the warm-up of the load as well, so its requests count.
    """
    found: dict[str, Part] = {}
    metrics = (*_SERVICE_PARTS, *_OTHER_SERVICE_METRICS) if serves else (*_PARTS, *_OTHER_METRICS)
    requests = [
        _requests(results, trials) if serves else np.ones(len(trials)) for trials in pair.row_trials
    ]
    for metric, _ in sorted(metrics):
        for source in ranked(metric, results.sample_table.sources(metric)):
            first, second = (
                _time(results, metric, source, trials) / each
                for trials, each in zip(pair.row_trials, requests, strict=True)
            )
            if np.isfinite(first).all() and np.isfinite(second).all():
                found[metric] = part(second - first)
                break
    return found


def _time(results: Results, metric: str, source: str, trials: np.ndarray) -> np.ndarray:
    """Return a metric of trials, without the throttled time where threads are ready in it."""
    values = results.values_of(metric, source, trials)
    if (throttled := _READY.get(metric)) is None:
        return values
    for of in ranked(throttled, results.sample_table.sources(throttled)):
        values = without_throttling(values, results.values_of(throttled, of, trials))
        break
    return values


def _requests(results: Results, trials: np.ndarray) -> np.ndarray:
    """Return the requests of each trial, with those of the warm-up where the driver prints them."""
    warm_up = results.values_of(WARM_UP_REQUESTS, PRINTED, trials)
    absent = np.isnan(warm_up).all()
    return results.values_of("requests", DRIVER, trials) + (0.0 if absent else warm_up)


def part(differences: np.ndarray) -> Part:
    """Return the Hodges–Lehmann median of differences with its signed-rank interval."""
    bounds = signed_rank_interval(differences)
    low, high = (None, None) if bounds is None else bounds
    return Part(hodges_lehmann(differences), low, high)


def _answer(some: Sequence[Extra], results: Results) -> Iterator[Message]:
    """Say of the platforms that surely take longer what else grows, the costliest first."""
    sure = [one for one in some if one.time.sure]
    if not sure:
        unknown = all(one.time.low is None for one in some)
        blocks = max(one.pair.n for one in some) if unknown else None
        yield message(
            "no platform is shown to take longer than its reference{% if blocks %}. There is "
            "no interval with {blocks | counted('common block')}{% endif %}",
            blocks=blocks,
        )
    sure.sort(key=lambda one: -one.time.value / float(np.median(one.pair.trial_values[0])))
    for one in sure[:_MOST_SENTENCES]:
        yield _extra_time(one, results)
    if len(sure) > _MOST_SENTENCES:
        yield message("{others} more in the table", others=len(sure) - _MOST_SENTENCES)


def _throttled(some: Sequence[Extra], results: Results) -> Message | None:
    """Name the platform that a CPU quota throttles most, relative to its time; None: none does."""
    throttled = [(one, part) for one in some if one.time.sure and (part := one.throttled)]
    if not throttled:
        return None
    one, part = max(
        throttled,
        key=lambda found: found[1].value / float(np.median(found[0].pair.trial_values[0])),
    )
    return message(
        "a CPU quota throttles {platform}{% if where.levels %} ({where}){% endif %} for "
        "{time} more than {reference}; it takes {extra} longer{% if others %} ({others} more "
        "in the report){% endif %}",
        platform=one.pair.level,
        reference=one.pair.reference,
        time=part.amount,
        extra=Amount(one.time.value, "ns"),
        where=where(one.pair.levels, results.varied),
        others=len(throttled) - 1,
    )


def _extra_time(one: Extra, results: Results) -> Message:
    """Say how much longer a platform takes, and what else there is more of in the same trials."""
    return message(
        "{platform} takes {time} longer than {reference}{% if where.levels %} ({where})"
        "{% endif %}{% if parts %}, with {parts | listing}{% else %}. No recorded time grows "
        "with it{% endif %}",
        platform=one.pair.level,
        reference=one.pair.reference,
        time=one.time.amount,
        where=where(one.pair.levels, results.varied),
        parts=[
            message("{name} +{time}", name=name, time=part.amount)
            for name, part in one.named[:_MOST_NAMED]
        ],
    )


def _estimates(one: Extra) -> list[Estimate]:
    """Return the extra time, and what else there is more of, each with its interval."""
    found = [("extra time", one.time)]
    found += [(f"more {name}", one.parts[m]) for m, name in _TIMES if m in one.parts]
    levels = one.pair.compared_levels
    return [
        Estimate.of(name, levels, part, _METHOD, one.pair.n, trials=one.pair.trials, unit="ns")
        for name, part in found
    ]


def _absent(some: Sequence[Extra]) -> Message | None:
    recorded = {metric for one in some for metric in one.parts}
    looked_for = dict.fromkeys(known for one in some for known in one.known_parts)
    missing = [name for metric, name in looked_for if metric not in recorded]
    if not missing:
        return None
    return message("not recorded on both platforms: {missing | listing}", missing=missing)


def _table(some: Sequence[Extra], results: Results, basis: str) -> Table:
    varied = [f for f in results.varied if f != "platform"]
    columns = [
        *level_columns(["platform", *varied]),
        Column(key="n", title="common blocks"),
        *interval_columns("extra", "extra time", "ns"),
    ]
    compared = dict.fromkeys(
        known for one in some for known in (*one.known_parts, *one.other_metrics)
    )
    for metric, title in compared:
        columns.append(Column(key=metric, title=f"more {title}", unit=unit_of(metric)))
    rows = (
        (
            *map(one.pair.compared_levels.get, ("platform", *varied)),
            *(one.pair.n, one.time.value, one.time.low, one.time.high),
            *(one.parts[m].value if m in one.parts else None for m, _ in compared),
        )
        for one in some
    )
    return Table.of(
        message(
            "Extra time and counts vs. {reference}, {basis}",
            reference=some[0].pair.reference,
            basis=basis,
        ),
        columns,
        rows,
        note=message(
            "Means over a trial's workers and iterations. Values: {method}. Time in the "
            "kernel includes the accounting of control groups. Empty: not recorded on both "
            "platforms",
            method=_METHOD,
        ),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=33, find=find)
