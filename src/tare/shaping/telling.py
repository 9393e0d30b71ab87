"""Shapings in words, for people."""

from __future__ import annotations

from tare.shaping.specification import Bucket, Distribution, Rate, Replay, Shaping
from tare.units import chosen, typed_bits


def describe(shaping: Shaping) -> str:
    """Return what a shaping does, in one line."""
    match shaping:
        case None:
            told, queue = "not shaped", None
        case Rate():
            told, queue = f"{chosen(shaping.rate_bps, 'bits/s')}, always", shaping.queue_bytes
        case Bucket():
            told, queue = _bucket(shaping), shaping.queue_bytes
        case Distribution():
            told, queue = _distribution(shaping), shaping.queue_bytes
        case Replay():
            told, queue = _replay(shaping), shaping.queue_bytes
    return told + ("" if queue is None else f"; a queue of {format_bytes(queue)}")


def specification(shaping: Shaping) -> str:
    """Return the specification of a shaping, which :func:`parse` reads back."""
    match shaping:
        case None:
            return "none"
        case Rate():
            words = [f"rate {typed_bits(shaping.rate_bps)}"]
        case Bucket():
            words = [
                f"bucket high={typed_bits(shaping.high_bps)} low={typed_bits(shaping.low_bps)}",
                f"budget={typed_bits(shaping.capacity_bits)} "
                f"refill={typed_bits(shaping.refill_bps)}",
            ]
            if shaping.initial_bits is not None:
                words.append(f"initial={typed_bits(shaping.initial_bits)}")
        case Distribution():
            quantiles = [f"{100 * p:.8g}%={typed_bits(rate)}" for p, rate in shaping.quantiles_bps]
            words = ["distribution", *quantiles, f"every={shaping.every_s:.10g}s"]
            if shaping.seed is not None:
                words.append(f"seed={shaping.seed}")
        case Replay():
            words = [f"replay:{shaping.origin}"]
    if shaping.queue_bytes is not None:
        words.append(f"queue={shaping.queue_bytes}B")
    return " ".join(words)


def format_bytes(size: int) -> str:
    """Return bytes as people read them: ``1.25 MB``."""
    return chosen(size, "bytes")


def _bucket(bucket: Bucket) -> str:
    initial = (
        "full at first"
        if bucket.initial_bits is None
        else f"{chosen(bucket.initial_bits, 'bits')} at first"
    )
    as_low = ", as low" if bucket.refill_bps == bucket.low_bps else ""
    return (
        f"{chosen(bucket.high_bps, 'bits/s')} while there are tokens, then "
        f"{chosen(bucket.low_bps, 'bits/s')}; a budget of {chosen(bucket.capacity_bits, 'bits')}, "
        f"{initial}; refilled at {chosen(bucket.refill_bps, 'bits/s')}{as_low}"
    )


def _distribution(distribution: Distribution) -> str:
    (least, low), *_, (most, high) = distribution.quantiles_bps
    span = f"{chosen(low, 'bits/s')} to {chosen(high, 'bits/s')}"
    if (least, most) != (0.0, 1.0):
        span += f" ({100 * least:g}% to {100 * most:g}%, beyond which nothing is known)"
    return (
        f"{span}, drawn anew every {distribution.every_s:g} s, evenly between "
        f"{len(distribution.quantiles_bps)} quantiles"
    )


def _replay(replay: Replay) -> str:
    if not replay.steps:
        return f"as measured in {replay.origin}"
    lasts = sum(seconds for seconds, _ in replay.steps)
    slowest, fastest = (f(rate for _, rate in replay.steps) for f in (min, max))
    return (
        f"as measured in {replay.origin}: {len(replay.steps)} steps in {lasts:g} s, "
        f"{chosen(slowest, 'bits/s')} to {chosen(fastest, 'bits/s')}, and again from the beginning"
    )
