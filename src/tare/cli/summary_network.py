"""What ``tare run --network`` tells of the network: what was sent, and whether it ran dry."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Protocol

from tare import units
from tare.shaping.rates import format_amount

_SOURCE = "qdisc"


class Measured(Protocol):
    """A trial, as far as it is needed here."""

    def get(self, metric: str, source: str) -> float | None:
        """Return the value of a metric from a source."""


def told(trials: Sequence[Measured]) -> str | None:
    """Say what all hosts sent in a trial, and for how long their buckets were empty.

    None where there was no network of tare's.
    """
    sent = [s for t in trials if (s := t.get("network_sent_bytes", _SOURCE)) is not None]
    dry = [d for t in trials if (d := t.get("network_dry_ns", _SOURCE)) is not None]
    if not sent:
        return None
    text = f"{format_amount(round(8 * median(sent)))} sent a trial, headers included"
    if times := sum(d > 0 for d in dry):
        lasted = units.amount("ns", median(d for d in dry if d > 0))
        text += f"; a bucket ran dry in {times} of {len(dry)}, for {lasted} over all hosts"
    return text
