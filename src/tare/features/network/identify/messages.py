"""Values of a network's trace as its messages have them."""

from __future__ import annotations

from tare.results.message import Amount, Chosen


def stamp(seconds: float) -> Chosen:
    """Return a moment of a trace as it would be looked up there: "2,993 s"."""
    return Chosen(float(f"{seconds:.4g}"), "s")


def rate_of(bps: float) -> Amount:
    """Return a rate: "5.02 Gbit/s"."""
    return Amount(float(bps), "bits/s")


def bits_of(bits: float) -> Amount:
    """Return an amount of data: "7,510 Gbit"."""
    return Amount(float(bits), "bits")


def share_of(share: float) -> Amount:
    """Return a share: "6.3 %"."""
    return Amount(float(share), "share")
