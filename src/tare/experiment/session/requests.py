"""The requests of one trial: what a load generator left, judged and kept next to the journal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path

from tare import workloads
from tare.agent import record
from tare.applications import expressions, output, requests
from tare.applications.refusal import Refusal
from tare.applications.rows import RowsError
from tare.experiment.metrics import DRIVER, SUPERVISED, ranked
from tare.experiment.session import trial_rows
from tare.experiment.session.driving import Driving
from tare.experiment.session.failing import Why
from tare.experiment.session.printed import Printed
from tare.experiment.store import row_file
from tare.results.message import Amount, message
from tare.workloads import placeholders
from tare.workloads.application import Application

#: Microseconds taken for nanoseconds are a thousand times off: requests, if they are not few, span
#: at least such a part of the time in which the load generator ran.
MOST_TIMES, FEW = 900.0, 10
#: By how much they may span more: its clock need not be tare's.
SLACK_S = 2.0


#: What nobody writes to, or what never ends, is not waited for.
PLAIN = '[ -f "$0" ] && exec cat "$0"'


class Judging:
    """What a load came to, from what its generator left.

    Parameters
    ----------
    driving : Driving
        The load, which has ended by itself.
    values : mapping
        What placeholders stand for.
    reading : callable
        Reads the formats of other tools.
    data : Path or None
        What the application prepared.

    Raises
    ------
    TrialError
        If there is no file of requests.
    """

    def __init__(
        self,
        driving: Driving,
        values: Mapping[str, str],
        reading: output.Reading,
        data: Path | None,
    ) -> None:
        self._driving = driving
        self._values = values
        self._data = data
        self._printed = Printed(workloads.CAPTURE_LIMIT_BYTES, reading)
        for got in driving.records:
            if isinstance(got, record.Output | record.Sample):
                self._printed.add(got)
        assert self._application.driver is not None
        self._driver = self._application.driver
        try:
            self._rows = requests.read(_fetched(driving), self._driver.format)
        except RowsError as error:
            raise Why.of(error.refusal).error from error

    @property
    def _application(self) -> Application:
        return self._driving.application

    @cached_property
    def _load(self) -> requests.Load:
        return requests.load(self._rows)

    def keep(self, folder: Path) -> None:
        """Keep the requests next to the journal."""
        row_file.write(requests.REQUESTS, self._rows, folder, self._driving.trial)

    def refusal(self) -> Refusal | None:
        """Return why the trial is not valid; None: it is."""
        fill = partial(placeholders.fill, levels=self._values)
        counted, pattern = self._counted(), self._driver.count
        if pattern is not None and counted is None:
            return Refusal(
                "serving.uncounted",
                message(
                    "the load generator printed no number of requests by count = {pattern}",
                    pattern=pattern,
                ),
            )
        asked = self._driving.asked
        refused = requests.refusal(asked, self._load, self._rows, counted)
        return (
            # In another unit, a load seems faster or slower than asked as well.
            self._other_units()
            or refused
            or self._printed.judged(self._application, fill, self._data)
        )

    def _counted(self) -> float | None:
        """Return how many requests the load generator counted itself; None: it does not say."""
        pattern = self._driver.count
        printed = self._printed.standard_output
        found = None if pattern is None else expressions.last(pattern, printed)
        try:
            number = math.nan if found is None else float(found)
        except ValueError:
            return None
        return number if math.isfinite(number) else None

    def _other_units(self) -> Refusal | None:
        """Return that the times of the file cannot be those of the load, where that is so."""
        wall_s = (self._time("wall_ns") or 0.0) / 1e9
        # A response that takes longer than all was counted by two clocks.
        span_s = max(self._load.span_s, self._load.max_ns / 1e9)
        short = span_s < wall_s / MOST_TIMES and self._load.requests >= FEW
        if not wall_s or not (short or span_s > wall_s + SLACK_S):
            return None
        return Refusal(
            "serving.results.units",
            message(
                "the load generator's file spans {span}, though it ran for {wall}: its times "
                "are not those of the load, or not in {% if jmeter %}milliseconds{% else %}"
                "nanoseconds{% endif %}",
                span=Amount(1e9 * span_s, "ns"),
                wall=Amount(1e9 * wall_s, "ns"),
                jmeter=self._driver.format == "jmeter",
            ),
        )

    def samples(self) -> Iterator[record.Sample]:
        """Yield the values of the trial."""
        load = self._load
        found: dict[str, float | None] = {
            "response_mean_ns": load.mean_ns,
            "response_p50_ns": load.p50_ns,
            "response_p95_ns": load.p95_ns,
            "response_p99_ns": load.p99_ns,
            "response_p999_ns": load.p999_ns,
            "response_max_ns": load.max_ns,
            "request_throughput": load.throughput,
            "request_rate": load.rate,
            "request_error_share": load.error_share,
            "requests": load.requests,
            "request_late_ns": load.late_ns,
            "requests_at_once": load.at_once,
            "driver_cpus": self._cpus(),
            "driver_own_cpus": self._driving.resident.own_cpus,
        }
        for metric, value in found.items():
            if value is not None:
                yield self._sample(metric, DRIVER, value)
        yield self._sample("services_ready_ns", SUPERVISED, max(self._driving.ready_ns, default=0))
        yield from self._printed.samples(self._application, self._driving.trial)

    def _sample(self, metric: str, source: str, value: float) -> record.Sample:
        return record.Sample(
            id=0, trial=self._driving.trial, worker=None, iteration=None, phase="measured",
            metric=metric, source=source, value=value,
        )  # fmt: skip

    def _cpus(self) -> float | None:
        """Return how many CPUs the load generator used."""
        cpu_ns, wall_ns = self._time("cpu_ns"), self._time("wall_ns")
        return cpu_ns / wall_ns if cpu_ns is not None and wall_ns else None

    def _time(self, metric: str) -> float | None:
        """Return a time of the load generator, as its agent measured it."""
        found = {
            got.source: got.value
            for got in self._driving.records
            if isinstance(got, record.Sample) and got.metric == metric
        }
        return found[ranked(metric, found)[0]] if found else None


def _fetched(driving: Driving) -> bytes:
    """Return the file that a load generator left.

    Raises
    ------
    TrialError
        If there is none, or it is too large.
    """
    from tare.applications.rows import MOST_BYTES

    assert driving.application.driver is not None
    name = driving.application.driver.results
    try:
        found = trial_rows.output(
            driving.resident.ask(("sh", "-c", PLAIN, name), MOST_BYTES), MOST_BYTES
        )
    except trial_rows.LargeError:
        large = message(
            "the load generator's file {file} has more than {most}",
            file=name,
            most=Amount(MOST_BYTES, "bytes"),
        )
        raise Why.of(Refusal("serving.results.large", large)).error from None
    if found is None:
        raise Why.of(
            Refusal(
                "serving.results.missing",
                message("the load generator left no plain file {file}", file=name),
            )
        ).error
    return found
