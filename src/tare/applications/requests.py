"""The requests that a load generator made: each with its intended and actual start.

What it leaves is hostile until parsed: the measured services answer it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tare.applications.rows import (
    LONGEST,
    MOST_DURATION_NS,
    MOST_NS,
    ColumnError,
    Kind,
    RowsError,
    csv_pieces,
)
from tare.results.message import Amount, Message, message
from tare.workloads.serving import AskedLoad

#: Of different labels of a trial, and of different errors, of which others are not told apart.
MOST_LABELS, MOST_ERRORS = 1000, 1000
#: Deviations of the number of arrivals at random that are no lack of load.
DEVIATIONS = 3.0
#: Of few arrivals no more than this is left to chance.
MOST_SLACK = 0.5
#: Nothing answers within a microsecond: what took less was not counted in nanoseconds.
LEAST_NS = 1000
#: Requests at once by users of a closed load.
OVERLAP = 1.05

SCHEMA = pa.schema(
    [
        ("intended_ns", pa.int64()),
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("label", pa.string()),
        #: Absent: it succeeded.
        ("error", pa.string()),
    ]
)


def read(data: bytes, format_: Literal["requests", "jmeter"]) -> pa.Table:
    """Read the requests that a load generator left, in order of their intended start.

    Returns
    -------
    Table
        With ``SCHEMA``.

    Raises
    ------
    RowsError
        If it is no such file.
    """
    texts = _Texts()
    try:
        pieces = [texts.bounded(piece) for piece in _pieces(data, format_)]
    except pa.ArrowInvalid as error:
        raise RowsError(message("serving.results.unread", why=str(error)[:LONGEST])) from None
    except ColumnError as error:
        raise RowsError(message("serving.results.column", column=error.column)) from None
    table = pa.concat_tables(pieces) if pieces else SCHEMA.empty_table()
    check(table)
    return table.sort_by([("intended_ns", "ascending"), ("start_ns", "ascending")])


def _pieces(data: bytes, format_: Literal["requests", "jmeter"]) -> Iterator[pa.Table]:
    jmeter = format_ == "jmeter"
    names = _JMETER if jmeter else _REQUESTS
    as_table = _of_jmeter if jmeter else _of_requests
    return map(as_table, csv_pieces(data, names, _OPTIONAL, newlines=jmeter))


class _Texts:
    """The different labels and errors of a file so far."""

    def __init__(self) -> None:
        self._labels: set[str] = set()
        self._errors: dict[str, None] = {}

    def bounded(self, piece: pa.Table) -> pa.Table:
        """Refuse too many labels, and write "another error" where there are too many errors."""
        self._labels.update(pc.unique(piece["label"]).to_pylist())
        if len(self._labels) > MOST_LABELS:
            raise RowsError(message("serving.results.labels", most=MOST_LABELS))
        for error in pc.unique(pc.drop_null(piece["error"])).to_pylist():
            if len(self._errors) < MOST_ERRORS:
                self._errors[error] = None
        kept = pa.array([*self._errors], pa.string())
        rare = pc.and_(pc.is_valid(piece["error"]), pc.invert(pc.is_in(piece["error"], kept)))
        error = pc.if_else(rare, pa.scalar("another error"), piece["error"])
        return piece.set_column(SCHEMA.names.index("error"), SCHEMA.field("error"), error)


_REQUESTS: Mapping[str, pa.DataType] = MappingProxyType(
    {name: SCHEMA.field(name).type for name in SCHEMA.names}
)
_JMETER: Mapping[str, pa.DataType] = MappingProxyType(
    {
        "timeStamp": pa.int64(), "elapsed": pa.int64(), "label": pa.string(),
        "success": pa.string(), "responseCode": pa.string(), "responseMessage": pa.string(),
        "failureMessage": pa.string(), "intended": pa.float64(),
    }
)  # fmt: skip
_OPTIONAL = frozenset({"responseCode", "responseMessage", "failureMessage", "intended"})
_MS = 10**6


def _of_requests(found: pa.Table) -> pa.Table:
    error = found["error"]
    kept = pc.if_else(pc.equal(error, ""), pa.scalar(None, pa.string()), error)
    return _table(found["intended_ns"], found["start_ns"], found["duration_ns"],
                  found["label"], kept)  # fmt: skip


def _of_jmeter(found: pa.Table) -> pa.Table:
    start = pc.multiply(found["timeStamp"], _MS)
    intended = start
    if "intended" in found.column_names:
        exact = pc.cast(pc.multiply(found["intended"], float(_MS)), pa.int64(), safe=False)
        # JMeter cuts off what is below a millisecond.
        intended = pc.min_element_wise(pc.coalesce(exact, start), start)
    why = pa.scalar("failed")
    for name in ("responseCode", "responseMessage", "failureMessage"):
        if name in found.column_names:
            why = pc.if_else(pc.equal(found[name], ""), why, found[name])
    if {"responseCode", "responseMessage"} <= {*found.column_names}:
        # Where nothing was answered, what an assertion says of it is beside the point.
        unanswered = pc.starts_with(found["responseCode"], "Non HTTP")
        why = pc.if_else(unanswered, found["responseMessage"], why)
    failed = pc.not_equal(pc.utf8_lower(found["success"]), "true")
    error = pc.if_else(failed, why, pa.scalar(None, pa.string()))
    return _table(intended, start, pc.multiply(found["elapsed"], _MS), found["label"], error)


def _table(
    intended: pa.Array, start: pa.Array, duration: pa.Array, label: pa.Array, error: pa.Array
) -> pa.Table:
    texts = (pc.utf8_slice_codeunits(one, 0, LONGEST) for one in (label, error))
    return pa.table([intended, start, duration, *texts], schema=SCHEMA)


def check(table: pa.Table) -> None:
    """Look that there are requests, and that their times can be times.

    Raises
    ------
    RowsError
        If not.
    """
    if not table.num_rows:
        raise RowsError(message("serving.results.empty"))
    for name, most in (
        ("intended_ns", MOST_NS),
        ("start_ns", MOST_NS),
        ("duration_ns", MOST_DURATION_NS),
    ):
        column = table[name]
        least, largest = pc.min_max(column).as_py().values()
        if column.null_count or not 0 <= least <= largest <= most:
            raise RowsError(message("serving.results.value", column=name))
    if pc.any(pc.less(table["start_ns"], table["intended_ns"])).as_py():
        raise RowsError(message("serving.results.early"))


def _failed(table: pa.Table) -> int:
    found: int = table.num_rows - table["error"].null_count
    return found


def _with_response(table: pa.Table) -> pa.Table:
    response = pa.array(response_ns(table), pa.int64())
    return table.add_column(table.column_names.index("label"), "response_ns", response)


#: What is kept of them.
REQUESTS = Kind(
    name="requests",
    kept=SCHEMA.insert(0, pa.field("trial", pa.int64())),
    texts=("label", "error"),
    optional=("error",),
    check=check,
    failed=_failed,
    derived=_with_response,
)


class Load(NamedTuple):
    """What a load came to: the values of a trial."""

    requests: int
    errors: int
    #: Of response times, from the intended start.
    mean_ns: float
    p50_ns: float
    p95_ns: float
    p99_ns: float
    max_ns: float
    #: Requests that were answered without an error, a second.
    throughput: float
    #: Requests that were started, a second.
    rate: float
    #: The same as intended.
    intended_rate: float
    #: How late 99 % of the requests started at most, as the load generator was busy or waited.
    late_ns: float
    #: Most requests that were under way at once.
    at_once: int
    #: From the first start to the last end.
    span_s: float
    #: Requests that were intended beyond those that the rate says, at most, at any moment.
    uneven: float

    @property
    def error_share(self) -> float:
        """The share of failed requests."""
        return self.errors / self.requests


def response_ns(table: pa.Table) -> np.ndarray:
    """Return the response time of each request, from its intended start."""
    intended, start, duration = (
        table[name].to_numpy() for name in ("intended_ns", "start_ns", "duration_ns")
    )
    found: np.ndarray = start + duration - intended
    return found


def quantiles(values: np.ndarray, wanted: Sequence[float]) -> np.ndarray:
    """Return for each share the least value that so many of the values are not above.

    It is one of the values, as load generators define it: nothing is interpolated.
    """
    found: np.ndarray = np.quantile(values, wanted, method="inverted_cdf")
    return found


def load(table: pa.Table) -> Load:
    """Compute what a load came to from all of its requests."""
    intended, start, duration = (
        table[name].to_numpy() for name in ("intended_ns", "start_ns", "duration_ns")
    )
    response = response_ns(table).astype(float)
    errors = table.num_rows - table["error"].null_count
    p50, p95, p99 = quantiles(response, (0.5, 0.95, 0.99))
    end = start + duration
    span_s = (int(end.max()) - int(intended.min())) / 1e9
    # As many are answered a second as start, where each is answered before the next one is due.
    every_s = 1 / found if (found := _rate(intended)) else 0.0
    answering_s = max(span_s, table.num_rows * every_s)
    return Load(
        requests=table.num_rows,
        errors=errors,
        mean_ns=float(response.mean()),
        p50_ns=float(p50),
        p95_ns=float(p95),
        p99_ns=float(p99),
        max_ns=float(response.max()),
        throughput=(table.num_rows - errors) / answering_s if answering_s > 0 else 0.0,
        rate=_rate(start),
        intended_rate=_rate(intended),
        late_ns=float(quantiles(start - intended, (0.99,))[0]),
        at_once=_most_at_once(start, end),
        span_s=(int(end.max()) - int(start.min())) / 1e9,
        uneven=_uneven(intended),
    )


def _most_at_once(start: np.ndarray, end: np.ndarray) -> int:
    """Return how many overlap at most; what begins when another one ends does not."""
    moments = np.concatenate([end, start])
    steps = np.concatenate([np.full(len(end), -1), np.full(len(start), 1)])
    # Ends come first in a stable order.
    return int(np.cumsum(steps[np.argsort(moments, kind="stable")]).max())


def _uneven(intended: np.ndarray) -> float:
    """Return how far the count of starts is from the line of their mean rate, at most."""
    span = int(intended[-1]) - int(intended[0])
    if not span:
        return 0.0
    line = (intended - intended[0]) / span * (len(intended) - 1)
    return float(np.abs(np.arange(len(intended)) - line).max())


def _rate(starts: np.ndarray) -> float:
    """Return so many a second, from the first to the last."""
    span_s = (int(starts.max()) - int(starts.min())) / 1e9
    return (len(starts) - 1) / span_s if span_s > 0 else 0.0


def refusal(
    asked: AskedLoad, found: Load, table: pa.Table, counted: float | None
) -> Message | None:
    """Return why a load makes no valid trial; None: it does.

    Parameters
    ----------
    asked : AskedLoad
        With all of its numbers.
    found : Load
        What it came to.
    table : Table
        Its requests.
    counted : float or None
        How many the load generator counted itself; None: it does not.
    """
    if (typical := _typical_ns(table)) is not None and typical < LEAST_NS:
        return message("serving.results.fast", typical=Amount(typical, "ns"))
    if counted is not None and counted != found.requests:
        return message("serving.lost", rows=found.requests, counted=round(counted))
    if found.error_share > (asked.errors or 0.0):
        first = pc.drop_null(table["error"])[0].as_py()
        return message(
            "serving.errors", errors=found.errors, requests=found.requests,
            share=Amount(found.error_share, "share"), first=first, setting=asked.setting,
        )  # fmt: skip
    if asked.rate is not None:
        return _of_open(asked, asked.rate, found)
    # Times that are cut off to milliseconds may overlap.
    if asked.users is not None and found.at_once > 1 + asked.users * OVERLAP:
        return message("serving.users", most=found.at_once, users=round(asked.users))
    return None


def _typical_ns(table: pa.Table) -> float | None:
    """Return the median duration of what was answered; None: a clock was too coarse for all."""
    durations = table["duration_ns"].filter(pc.is_null(table["error"])).to_numpy()
    # What a coarse clock counts as nothing says nothing of the unit.
    above = durations[durations > 0]
    return float(np.median(above)) if len(above) else None


def _of_open(asked: AskedLoad, rate: float, found: Load) -> Message | None:
    # What comes at random comes as often as not a little less often, or a little more.
    slack = min(DEVIATIONS / np.sqrt(found.requests), MOST_SLACK)
    given = Amount(rate, "1")
    late = found.rate < asked.reached * found.intended_rate
    if found.intended_rate < asked.reached * rate * (1 - slack) or late:
        # What started late is of what was due, which comes at random.
        due = Amount(found.intended_rate, "1") if late else given
        reached = Amount(found.rate, "1")
        return message("serving.rate", reached=reached, rate=due, setting=asked.setting)
    if found.intended_rate > (2 - asked.reached) * rate * (1 + slack):
        return message("serving.faster", intended=Amount(found.intended_rate, "1"), rate=given)
    # Arrivals at random are hardly ever that far from an even stream.
    if found.uneven > 2 + DEVIATIONS * np.sqrt(found.requests):
        return message("serving.uneven", rate=given)
    return None
