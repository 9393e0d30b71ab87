"""Traces of made-up buckets, with noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tare.networks.shaping.specification import Bucket
from tare.networks.shaping.trace import Trace

GIGA = 10**9


def bucket(
    high: float = 10.0,
    low: float = 1.0,
    budget: float = 500.0,
    *,
    refill: float | None = None,
    initial: float | None = None,
) -> Bucket:
    """Rates in Gbit/s, amounts in Gbit."""
    return Bucket(
        high_bps=round(high * GIGA),
        low_bps=round(low * GIGA),
        refill_bps=round((low if refill is None else refill) * GIGA),
        capacity_bits=round(budget * GIGA),
        initial_bits=None if initial is None else round(initial * GIGA),
    )


def noisy(trace: Trace, sd: float = 0.03, seed: int = 1) -> Trace:
    factor = 1 + sd * np.random.default_rng(seed).standard_normal(len(trace))
    return replace(trace, bits=trace.bits * np.maximum(0.02, factor))


def flat(rates_gbps: np.ndarray, on: np.ndarray | None = None, seconds: float = 1.0) -> Trace:
    start = np.arange(len(rates_gbps)) * seconds
    sent = np.full(len(start), seconds) if on is None else on * seconds
    return Trace(start, start + seconds, rates_gbps * GIGA * sent, sent)
