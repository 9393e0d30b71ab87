"""The requests that a load generator made: each with its intended and actual start.

What it leaves is hostile until parsed: the measured services answer it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from tare.applications.refusal import Refusal
from tare.applications.rows import (
    LONGEST,
    MOST_DURATION_NS,
    MOST_NS,
    ColumnError,
    Kind,
    RowsError,
    TableError,
    Type,
    csv_pieces,
)
from tare.results.columns import Column, Columns, objects
from tare.results.message import Amount, message
from tare.workloads.serving import AskedLoad

_RESULTS_VALUE = (
    "the load generator's file has an impossible value of {column}: a negative or missing "
    "one, or too large"
)

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

_COLUMNS: Mapping[str, Type] = MappingProxyType(
    {
        "intended_ns": "integer", "start_ns": "integer", "duration_ns": "integer",
        #: An absent error: it succeeded.
        "label": "text", "error": "text",
        #: Received with the answer; absent: the load generator does not count them.
        "bytes": "integer",
    }
)  # fmt: skip
#: No answer has more, in bytes.
_MOST_ANSWER_BYTES = 1 << 50


def read(data: bytes, format_: Literal["requests", "jmeter"]) -> Columns:
    """Read the requests that a load generator left, in order of their intended start.

    Returns
    -------
    Columns
        ``intended_ns``, ``start_ns``, ``duration_ns``, ``label``, ``error``, which is None where a
        request succeeded, and ``bytes``, which is NaN where they were not counted.

    Raises
    ------
    RowsError
        If it is no such file.
    """
    texts = _Texts()
    try:
        pieces = [texts.bounded(piece) for piece in _pieces(data, format_)]
    except TableError as error:
        raise RowsError(
            "serving.results.unread",
            message(
                "the load generator's file is no CSV of requests: {why}", why=str(error)[:LONGEST]
            ),
        ) from None
    except ColumnError as error:
        raise RowsError(
            "serving.results.column",
            message("the load generator's file has not one column {column}", column=error.column),
        ) from None
    rows = Columns.concatenated(pieces)
    check(rows)
    return rows.sorted_by("intended_ns", "start_ns")


def _pieces(data: bytes, format_: Literal["requests", "jmeter"]) -> Iterator[Columns]:
    if format_ == "jmeter":
        return map(_of_jmeter, csv_pieces(data, _JMETER, _OPTIONAL))
    return map(_of_requests, csv_pieces(data, _COLUMNS, ("bytes",)))


class _Texts:
    """Distinct labels and error texts of a file of requests, collected while it is read."""

    def __init__(self) -> None:
        self._labels: set[str] = set()
        self._errors: dict[str, str] = {}

    def bounded(self, piece: Columns) -> Columns:
        """Refuse too many labels, and write "another error" where there are too many errors."""
        self._labels.update(piece["label"])
        if len(self._labels) > MOST_LABELS:
            raise RowsError(
                "serving.results.labels",
                message(
                    "the load generator's file has more than {most} different labels: a "
                    "label names a kind of request, not a single one",
                    most=MOST_LABELS,
                ),
            )
        errors = piece["error"].tolist()
        for error in errors:
            if error is not None and len(self._errors) < MOST_ERRORS:
                self._errors[error] = error
        kept = [error and self._errors.get(error, "another error") for error in errors]
        return piece.with_columns(error=objects(kept))


_JMETER: Mapping[str, Type] = MappingProxyType(
    {
        "timeStamp": "integer", "elapsed": "integer", "label": "text", "success": "text",
        "responseCode": "text", "responseMessage": "text", "failureMessage": "text",
        "intended": "number", "bytes": "integer",
    }
)  # fmt: skip
_OPTIONAL = frozenset({"responseCode", "responseMessage", "failureMessage", "intended", "bytes"})
_MS = 10**6


def _of_requests(found: Columns) -> Columns:
    errors = [error or None for error in found["error"].tolist()]
    return _rows(found, found["intended_ns"], found["start_ns"], found["duration_ns"], errors)


def _of_jmeter(found: Columns) -> Columns:
    start = _ns(found["timeStamp"])
    intended = start
    if "intended" in found:
        # JMeter cuts off what is below a millisecond.
        exact = np.clip(found["intended"], -1.0, MOST_NS / _MS) * _MS
        known = np.isfinite(exact) & (exact < start)
        intended = np.where(known, np.where(known, exact, 0).astype(np.int64), start)
    texts = ("responseCode", "responseMessage", "failureMessage", "success")
    rows = zip(*(found[name].tolist() if name in found else itertools.repeat("")
                 for name in texts), strict=False)  # fmt: skip
    errors = [None if success.lower() == "true" else _why(*why) for *why, success in rows]
    return _rows(found, intended, start, _ns(found["elapsed"]), errors)


def _ns(milliseconds: Column) -> Column:
    """Return milliseconds as nanoseconds; impossible values remain so without an overflow."""
    return np.clip(milliseconds, -1, MOST_NS // _MS + 1) * _MS


def _why(code: str, said: str, assertion: str) -> str:
    """Return why a request of JMeter failed."""
    # Without an answer, each assertion fails as well: the cause is the connection's error.
    if code.startswith("Non HTTP") and said:
        return said
    return assertion or said or code or "failed"


def _rows(
    found: Columns,
    intended: Column,
    start: Column,
    duration: Column,
    errors: Sequence[str | None],
) -> Columns:
    labels = found["label"]
    cut = {text: text[:LONGEST] for text in {*labels.tolist(), *errors} if text is not None}
    return Columns({
        "intended_ns": intended,
        "start_ns": start,
        "duration_ns": duration,
        "label": objects(cut[label] for label in labels),
        "error": objects(error and cut[error] for error in errors),
        "bytes": found["bytes"] if "bytes" in found else np.full(len(labels), np.nan),
    })  # fmt: skip


def check(rows: Columns) -> None:
    """Check that there are requests, and that their times can be times.

    Raises
    ------
    RowsError
        If not.
    """
    if not rows:
        raise RowsError(
            "serving.results.empty", message("the load generator's file has no request")
        )
    for name, most in (
        ("intended_ns", MOST_NS),
        ("start_ns", MOST_NS),
        ("duration_ns", MOST_DURATION_NS),
    ):
        values = rows[name]
        # A column with absent values is one of floating-point numbers.
        if values.dtype != np.int64 or not 0 <= values.min() <= values.max() <= most:
            raise RowsError("serving.results.value", message(_RESULTS_VALUE, column=name))
    received = rows["bytes"][~np.isnan(rows["bytes"])]
    if len(received) and not 0 <= received.min() <= received.max() <= _MOST_ANSWER_BYTES:
        raise RowsError("serving.results.value", message(_RESULTS_VALUE, column="bytes"))
    if np.any(rows["start_ns"] < rows["intended_ns"]):
        raise RowsError(
            "serving.results.early",
            message(
                "the load generator's file has requests that started before they were intended"
            ),
        )


def failures(rows: Columns) -> np.ndarray:
    """Mark the requests that failed."""
    return np.array([error is not None for error in rows["error"].tolist()], dtype=bool)


#: What is kept of them.
REQUESTS = Kind(
    name="requests",
    columns=_COLUMNS,
    optional=frozenset({"error", "bytes"}),
    added=frozenset({"bytes"}),
    check=check,
    failed=lambda rows: int(failures(rows).sum()),
    derived=lambda rows: rows.inserted(rows.names.index("label"), response_ns=response_ns(rows)),
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
    p999_ns: float
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


def response_ns(rows: Columns) -> np.ndarray:
    """Return the response time of each request, from its intended start."""
    return rows["start_ns"] + rows["duration_ns"] - rows["intended_ns"]


def quantiles(values: np.ndarray, wanted: Sequence[float]) -> np.ndarray:
    """Return for each share the least value that so many of the values are not above.

    It is one of the values, as load generators define it: nothing is interpolated.
    """
    found: np.ndarray = np.quantile(values, wanted, method="inverted_cdf")
    return found


def load(rows: Columns) -> Load:
    """Compute what a load came to from all of its requests."""
    intended, start, duration = (rows[name] for name in ("intended_ns", "start_ns", "duration_ns"))
    response = response_ns(rows).astype(float)
    errors = int(failures(rows).sum())
    p50, p95, p99, p999 = quantiles(response, (0.5, 0.95, 0.99, 0.999))
    end = start + duration
    span_s = (int(end.max()) - int(intended.min())) / 1e9
    # As many are answered a second as start, where each is answered before the next one is due.
    every_s = 1 / found if (found := _rate(intended)) else 0.0
    answering_s = max(span_s, len(rows) * every_s)
    return Load(
        requests=len(rows),
        errors=errors,
        mean_ns=float(response.mean()),
        p50_ns=float(p50),
        p95_ns=float(p95),
        p99_ns=float(p99),
        p999_ns=float(p999),
        max_ns=float(response.max()),
        throughput=(len(rows) - errors) / answering_s if answering_s > 0 else 0.0,
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


def refusal(asked: AskedLoad, found: Load, rows: Columns, counted: float | None) -> Refusal | None:
    """Return why a load makes no valid trial; None: it does.

    Parameters
    ----------
    asked : AskedLoad
        With all of its numbers.
    found : Load
        What it came to.
    rows : Columns
        Its requests.
    counted : float or None
        How many the load generator counted itself; None: it does not.
    """
    if (typical := _typical_ns(rows)) is not None and typical < LEAST_NS:
        return Refusal(
            "serving.results.fast",
            message(
                "half of the requests were answered within {typical} by the load generator's "
                "file: duration_ns is not in nanoseconds",
                typical=Amount(typical, "ns"),
            ),
        )
    if counted is not None and counted != found.requests:
        return Refusal(
            "serving.lost",
            message(
                "the load generator counts {counted} requests, but its file has {rows}",
                rows=found.requests,
                counted=round(counted),
            ),
        )
    if found.error_share > (asked.errors or 0.0):
        first = next(error for error in rows["error"] if error is not None)
        return Refusal("serving.errors", message(
            "{errors} of {requests} requests failed ({share}); the first: {first}"
            "{% if setting %}; if the load is too large: --set {setting}=…{% endif %}",
            errors=found.errors, requests=found.requests,
            share=Amount(found.error_share, "share"), first=first, setting=asked.setting,
        ))  # fmt: skip
    if asked.rate is not None:
        return _of_open(asked, asked.rate, found)
    # Times that are cut off to milliseconds may overlap.
    if asked.users is not None and found.at_once > 1 + asked.users * OVERLAP:
        return Refusal(
            "serving.users",
            message(
                "{most} requests were under way at once, more than the {users} users of the load",
                most=found.at_once,
                users=round(asked.users),
            ),
        )
    return None


def _typical_ns(rows: Columns) -> float | None:
    """Return the median duration of what was answered; None: a clock was too coarse for all."""
    durations = rows["duration_ns"][~failures(rows)]
    # What a coarse clock counts as nothing says nothing of the unit.
    above = durations[durations > 0]
    return float(np.median(above)) if len(above) else None


def _of_open(asked: AskedLoad, rate: float, found: Load) -> Refusal | None:
    # What comes at random comes as often as not a little less often, or a little more.
    slack = min(DEVIATIONS / np.sqrt(found.requests), MOST_SLACK)
    given = Amount(rate, "1")
    late = found.rate < asked.reached * found.intended_rate
    if found.intended_rate < asked.reached * rate * (1 - slack) or late:
        # What started late is of what was due, which comes at random.
        due = Amount(found.intended_rate, "1") if late else given
        reached = Amount(found.rate, "1")
        return Refusal(
            "serving.rate",
            message(
                "the load was not reached: {reached} of {rate} requests a second; use a "
                "lower rate{% if setting %}, --set {setting}=…,{% endif %} or a larger --size",
                reached=reached,
                rate=due,
                setting=asked.setting,
            ),
        )
    if found.intended_rate > (2 - asked.reached) * rate * (1 + slack):
        return Refusal(
            "serving.faster",
            message(
                "the load was faster than asked: {intended} of {rate} requests a second",
                intended=Amount(found.intended_rate, "1"),
                rate=given,
            ),
        )
    # Arrivals at random are hardly ever that far from an even stream.
    if found.uneven > 2 + DEVIATIONS * np.sqrt(found.requests):
        return Refusal(
            "serving.uneven",
            message(
                "the requests were not intended to come at {rate} a second, but in a burst",
                rate=given,
            ),
        )
    return None
