"""From what was asked of one host to what the agent is told: quantiles become steps of rates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tare.agent import record
from tare.networks.shaping.specification import Bucket, Distribution, Rate, Replay, Shaping

#: Steps that are drawn of a distribution before it begins anew: more than five hours of 5 s.
DRAWN_STEPS = 4096
#: Of what has no seed of its own, so that who does it again gets the same.
SEED = 1
_FOR_EVER_NS = 86_400 * 10**9


def shape(
    shaping: Shaping, *, host: int = 1, draw: int = 0, carry: bool = False
) -> record.Unshaped | record.Bucket | record.Steps:
    """Return what the agent is told of one host.

    Parameters
    ----------
    shaping : Shaping
        What was asked; a replay with its steps.
    host : int
        From 1; each draws rates of its own.
    draw : int
        Which of several draws, as of the trials of an experiment.
    carry : bool
        A bucket keeps the tokens that were left, instead of beginning with its initial budget.
    """
    match shaping:
        case None:
            return record.Unshaped()
        case Rate():
            return record.Steps(
                steps=(record.Step(duration_ns=_FOR_EVER_NS, rate_bps=shaping.rate_bps),)
            )
        case Bucket():
            return record.Bucket(
                high_bps=shaping.high_bps,
                low_bps=shaping.low_bps,
                refill_bps=shaping.refill_bps,
                capacity_bits=shaping.capacity_bits,
                tokens_bits=None if carry else shaping.begins_with(host),
            )
        case Distribution():
            rates = drawn(shaping, host=host, draw=draw)
            return _steps((shaping.every_s, rate) for rate in rates)
        case Replay():
            assert shaping.steps, "read by tare.networks.replay"
            return _steps(shaping.steps)


def drawn(
    distribution: Distribution, *, host: int = 1, draw: int = 0, count: int = DRAWN_STEPS
) -> tuple[int, ...]:
    """Return rates drawn independently, uniformly between neighbouring quantiles.

    What lies below the first and above the last known quantile is never drawn.
    """
    known, rates = zip(*distribution.quantiles_bps, strict=True)
    seed = SEED if distribution.seed is None else distribution.seed
    stream = np.random.default_rng([seed, host, draw])
    at = stream.uniform(known[0], known[-1], count)
    return tuple(int(rate) for rate in np.rint(np.interp(at, known, np.array(rates, float))))


def _steps(pairs: Iterable[tuple[float, int]]) -> record.Steps:
    return record.Steps(
        steps=tuple(
            record.Step(duration_ns=round(1e9 * seconds), rate_bps=rate) for seconds, rate in pairs
        )
    )
