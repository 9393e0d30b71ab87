"""Shapings in words, for people."""

from __future__ import annotations

from tare.shaping.rates import format_amount, format_rate, written
from tare.shaping.specification import Bucket, Distribution, Rate, Replay, Shaping


def describe(shaping: Shaping) -> str:
    """Return what a shaping does, in one line."""
    match shaping:
        case None:
            told, queue = "not shaped", None
        case Rate():
            told, queue = f"{format_rate(shaping.rate_bps)}, always", shaping.queue_bytes
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
            words = [f"rate {written(shaping.rate_bps)}"]
        case Bucket():
            words = [
                f"bucket high={written(shaping.high_bps)} low={written(shaping.low_bps)}",
                f"budget={written(shaping.capacity_bits)} refill={written(shaping.refill_bps)}",
            ]
            if shaping.initial_bits is not None:
                words.append(f"initial={written(shaping.initial_bits)}")
        case Distribution():
            quantiles = [f"{100 * p:.8g}%={written(rate)}" for p, rate in shaping.quantiles_bps]
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
    return format_amount(size).replace("bit", "B")


def _bucket(bucket: Bucket) -> str:
    initial = (
        "full at first"
        if bucket.initial_bits is None
        else f"{format_amount(bucket.initial_bits)} at first"
    )
    as_low = ", as low" if bucket.refill_bps == bucket.low_bps else ""
    return (
        f"{format_rate(bucket.high_bps)} while there are tokens, then "
        f"{format_rate(bucket.low_bps)}; a budget of {format_amount(bucket.capacity_bits)}, "
        f"{initial}; refilled at {format_rate(bucket.refill_bps)}{as_low}"
    )


def _distribution(distribution: Distribution) -> str:
    (least, low), *_, (most, high) = distribution.quantiles_bps
    span = f"{format_rate(low)} to {format_rate(high)}"
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
        f"{format_rate(slowest)} to {format_rate(fastest)}, and again from the beginning"
    )
