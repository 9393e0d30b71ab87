"""A measurement live, as lines of JSON: an object an interval, with its unit in every name."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import IO, Any

import msgspec

from tare.agent.record import Connected, Gap, Histogram, Interval, Sending
from tare.cli.console import check_writable
from tare.errors import AgentError, StoreError
from tare.networks.recording.histogram import quantile_ns
from tare.networks.recording.lines import Happening, pattern

#: Of the interval as it is.
_SAME = (
    "acked_bytes", "received_bytes", "segments", "retransmits", "segment_bytes", "min_rtt_ns",
    "rtt_variation_ns", "window_segments", "busy_ns", "receiver_limited_ns", "buffer_limited_ns",
    "sender_cpu_ns", "receiver_cpu_ns", "sender_waited_ns", "receiver_waited_ns",
    "round_trips_waited_ns",
)  # fmt: skip
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class Lines:
    """Writes lines while they happen; a reader that goes away ends nothing.

    Parameters
    ----------
    destination : str
        A file, or ``-``: standard output.
    """

    def __init__(self, destination: str) -> None:
        check_writable(destination)
        self._where = destination
        self._offset_ns = 0
        try:
            self._file: IO[bytes] | None = (
                os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
                if destination == "-"
                else open(destination, "wb", buffering=0)  # noqa: SIM115, PTH123
            )
        except OSError as error:
            raise self._error(error) from error

    def begins(self, orders: Sequence[Sending]) -> None:
        """Take what is to be measured; nobody is told."""

    def connected(self, connected: Connected) -> None:
        """Write what is known of both ends."""
        self._offset_ns = connected.realtime_ns - connected.at_ns
        self.write(
            {
                "record": "connected",
                "time": self._time(connected.at_ns),
                "here": {fact.name: fact.value for fact in connected.here},
                "there": {fact.name: fact.value for fact in connected.there},
            }
        )

    def happened(self, order: Sending, happening: Happening) -> None:
        """Write an interval, a gap, or that the other end is back."""
        match happening:
            case Connected():
                self.connected(happening)
            case Gap():
                self.write(
                    {
                        "record": "gap", "time": self._time(happening.end_ns),
                        "start_s": happening.start_ns / 1e9, "end_s": happening.end_ns / 1e9,
                        "why": happening.why,
                    }
                )  # fmt: skip
            case Interval():
                self.write(self._interval(order, happening))

    def restarts(self, error: AgentError) -> None:
        """Write that the agent is started anew."""
        self.write({"record": "restart", "why": error.message})

    def write(self, value: dict[str, Any]) -> None:
        """Write one line."""
        if self._file is None:
            return
        try:
            self._file.write(msgspec.json.encode(value) + b"\n")
        except BrokenPipeError:
            self._file = None
        except OSError as error:
            raise self._error(error) from error

    def _interval(self, order: Sending, one: Interval) -> dict[str, Any]:
        return {
            "record": "interval",
            "time": self._time(one.end_ns),
            "start_s": one.start_ns / 1e9,
            "end_s": one.end_ns / 1e9,
            "on_s": one.on_ns / 1e9,
            "pattern": pattern(order.on_ns, order.off_ns),
            "write_bytes": order.write_bytes,
            "direction": one.direction,
            "bandwidth_bps": 8e9 * one.acked_bytes / one.on_ns if one.on_ns else None,
            **{name: getattr(one, name) for name in _SAME},
            **_times("round_trip", one.round_trips),
            **_times("smoothed_rtt", one.smoothed_rtt),
        }

    def _time(self, at_ns: int) -> str:
        moment = datetime.fromtimestamp((self._offset_ns + at_ns) / 1e9, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _error(self, error: OSError) -> StoreError:
        return StoreError(
            f"cannot write {self._where}: {error.strerror}", "choose another --ndjson FILE, or -"
        )


def _times(name: str, some: Histogram) -> dict[str, float | None]:
    found: dict[str, float | None] = {
        f"{name}_{word}_ns": quantile_ns(some, q) for word, q in _QUANTILES.items()
    }
    return found | {f"{name}_max_ns": some.max_ns}
